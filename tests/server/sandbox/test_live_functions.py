"""Mutants that are put into the functions of an imported file: only where that is as if it had been imported so."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

from rolecall_server.sandbox.mutation import mutation_run

CHILD = Path(mutation_run.__file__).parents[1] / "child"
NAME = "of_live_functions"
CODE = dedent("""
    import functools

    def doubling(function):
        @functools.wraps(function)
        def doubled(n):
            return function(n) * 2
        return doubled

    @doubling
    def plus(n, by=1):
        return n + by

    def table():
        return [1, 2]

    TABLE = table()

    class Box:
        size = 3

        @property
        def wide(self):
            return [self.size + each for each in TABLE]

        @staticmethod
        def adder(n):
            def add(m):
                return m + n
            return add

        def tall(self):
            return (lambda n: n + 4)(self.size)
""")


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, Callable[[str], bool]]]:
    """The module with `CODE`, imported while it was watched, and what puts another text into its functions."""
    monkeypatch.syspath_prepend(str(CHILD))
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / f"{NAME}.py"
    file.write_text(CODE, "utf-8")
    in_place: Any = importlib.import_module("rolecall_in_place")
    live = in_place.LiveFunctions(str(file), CODE)
    live.watch()
    module = importlib.import_module(NAME)
    live.look()
    yield module, live.replace
    for name in (NAME, "rolecall_in_place"):
        del sys.modules[name]


@pytest.mark.parametrize(
    ("was", "becomes", "answer"),
    [
        ("n + by", "n - by", lambda module: module.plus(3) == 4),
        ("function(n) * 2", "function(n) * 5", lambda module: module.plus(3) == 20),
        ("self.size + each", "self.size - each", lambda module: module.Box().wide == [2, 1]),
        ("m + n", "m - n", lambda module: module.Box.adder(1)(3) == 2),
        ("n + 4", "n * 4", lambda module: module.Box().tall() == 12),
        ("by=1):\n    return n + by", "by=1):\n    pass", lambda module: module.doubling(lambda n: n)(2) == 4),
    ],
    ids=["decorated", "wrapper", "comprehension", "closure", "lambda", "statement gone"],
)
def test_what_a_function_does_when_it_is_called_is_replaced(
    imported: tuple[ModuleType, Callable[[str], bool]], was: str, becomes: str, answer: Callable[[ModuleType], bool]
) -> None:
    module, replace = imported
    assert replace(CODE.replace(was, becomes))
    assert answer(module)


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("size = 3", "size = 4"),
        ("by=1", "by=2"),
        ("[1, 2]", "[2, 2]"),
        ("TABLE = table()", "TABLE = None"),
        ("@doubling\n", "\n"),
        ("return function(n) * 2", "return 2"),
        ("return doubled", "return None"),
        ("import functools", "import ("),
    ],
    ids=["class body", "default", "ran", "module", "decorator", "closes over less", "decorator ran", "no Python"],
)
def test_what_runs_at_import_is_left_to_another_import(
    imported: tuple[ModuleType, Callable[[str], bool]], was: str, becomes: str
) -> None:
    _, replace = imported
    assert not replace(CODE.replace(was, becomes))


def test_a_file_that_nobody_has_imported_yet_is_read_from_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(CHILD))
    in_place: Any = importlib.import_module("rolecall_in_place")
    live = in_place.LiveFunctions(str(tmp_path / "other.py"), "SIZE = 1\n")
    live.watch()
    live.look()
    assert live.replace("SIZE = 2\n")
    del sys.modules["rolecall_in_place"]
