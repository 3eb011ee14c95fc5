"""The main job in a real VS Code: the packaged extension, a workbench in a browser, a developer's clicks and keys."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

StartCodeServer = Callable[[Mapping[str, object], Mapping[str, str]], str]

HERE = Path(__file__).parent
ARTIFACTS = HERE.parents[2] / "artifacts" / "vscode"
STEP_TIMEOUT_MS = 60_000

PRICE = '''\
def net(gross: int, tax: int = 0) -> int:
    """What is left of *gross* without *tax*."""
    if tax > gross:
        raise ValueError("the tax is more than the price")
    return gross - tax


def total(prices: list[int]) -> int:
    return sum(prices)
'''

TESTS = """\
from shop.price import net, total


def test_net_without_tax_is_gross() -> None:
    assert net(10) == 10


def test_total_of_nothing_is_nothing() -> None:
    assert total([]) == 0
"""

ACCEPTED = """\
from shop.price import net, total



def test_h1() -> None:
    assert net(10) == 10

def test_net_without_tax_is_gross() -> None:
    assert net(10) == 10


def test_total_of_nothing_is_nothing() -> None:
    assert total([]) == 0
"""


def write_shop(root: Path) -> None:
    for path, text in {"shop/__init__.py": "", "shop/price.py": PRICE, "tests/test_price.py": TESTS}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8", newline="\n")


def play(scenario: Mapping[str, object], node: Path) -> Iterator[str]:
    """What the driver says as it goes; it waits wherever the caller has not yet asked for the next line."""
    command = [node, HERE / "drive.mjs", json.dumps(scenario)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdin and driver.stdout and driver.stderr
        for line in driver.stdout:
            yield line.strip()
            if line.strip() == "unsaved":
                driver.stdin.write("go on\n")
                driver.stdin.flush()
        errors = driver.stderr.read()
        assert driver.wait() == 0, f"{errors}\nScreenshots: {ARTIFACTS}"


def test_a_hunk_accepted_by_code_action_is_in_the_buffer_and_once_saved_it_alone_is_on_disk(
    machine: Path, chromium: str, playwright: Path, node: Path, start_code_server: StartCodeServer
) -> None:
    shop = machine / "shop"
    write_shop(shop)
    address = start_code_server(
        {"rolecall.server.interpreter": sys.executable, "rolecall.tests.interpreter": sys.executable},
        {},
    )
    scenario = {
        "url": f"{address}/?folder={shop}",
        "chromium": chromium,
        "playwright": str(playwright),
        "screenshots": str(ARTIFACTS),
        "timeoutMs": STEP_TIMEOUT_MS,
        "open": ["shop", "price.py"],
        "hunks": ["p1/h1", "p1/h2"],
        "accept": "p1/h1",
        "hunkFile": "test_price.py",
        "acceptedText": "test_h1",
    }
    test_file = shop / "tests" / "test_price.py"
    for said in play(scenario, node):
        if said == "unsaved":
            assert test_file.read_text(encoding="utf-8") == TESTS
    assert test_file.read_text(encoding="utf-8") == ACCEPTED
    assert (shop / "shop" / "price.py").read_text(encoding="utf-8") == PRICE
