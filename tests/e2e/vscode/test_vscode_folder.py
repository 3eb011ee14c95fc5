"""Tests for a whole folder in a real VS Code: its files are named, then each gets a proposal of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from support.fixture import parse_fixture
from support.stores import open_store

SHOP = """
    #- shop/__init__.py
    #- shop/price.py
    def double(n: int) -> int:
        return n * 2
    #- shop/size.py
    def half(n: int) -> int:
        return n // 2
    #- shop/test_old.py
    def test_old():
        assert True
    #- other.py
    def untouched(): ...
"""


def test_a_developer_has_tests_generated_for_the_files_of_a_folder(
    machine: Path,
    play: Callable[[str, Mapping[str, object]], Mapping[str, Any]],
    start_code_server: Callable[[Mapping[str, object], Mapping[str, str]], str],
) -> None:
    root = parse_fixture(SHOP).write_to(machine / "work").resolve()
    settings = {"rolecall.server.interpreter": sys.executable, "rolecall.model.probeLocal": False}
    address = start_code_server({**settings, "rolecall.tests.interpreter": sys.executable}, {})
    scenario = {"url": f"{address}/?folder={root}", "folder": "shop"}
    report = play("folder.mjs", {**scenario, "said": "2 of 2 files in shop got a proposal of tests"})
    assert "Generate tests for 2 files in shop?" in report["asked"]
    assert "shop/price.py" in report["asked"]
    assert "test_old" not in report["asked"]
    store = open_store(machine / "xdg" / "data" / "rolecall" / "rolecall.db")
    assert [run.path for run in store.runs(root)] == ["shop/price.py", "shop/size.py"]
    store.close()
