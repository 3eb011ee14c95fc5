"""The first minutes with the extension: from installing it to a passing test that was accepted, without a model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

MODULE = '''\
def discount(price: int, rate: int = 10) -> int:
    """The price less *rate* percent."""
    if rate > 100:
        raise ValueError("rate")
    return price - price * rate // 100
'''
MOST_CLICKS = 6


def test_a_newcomer_has_a_passing_test_on_disk_after_at_most_six_clicks(
    machine: Path,
    play: Callable[[str, Mapping[str, object]], Mapping[str, str]],
    start_code_server: Callable[[Mapping[str, object], Mapping[str, str]], str],
) -> None:
    root = machine / "shop"
    root.mkdir()
    (root / "price.py").write_text(MODULE, encoding="utf-8")
    settings = {
        "rolecall.server.interpreter": sys.executable,
        "rolecall.tests.interpreter": sys.executable,
        "rolecall.model.probeLocal": False,
    }
    address = start_code_server(settings, {})
    report = play("newcomer.mjs", {"url": f"{address}/?folder={root}", "file": "price.py"})
    assert int(report["clicks"]) <= MOST_CLICKS
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout
    assert " passed" in ended.stdout
