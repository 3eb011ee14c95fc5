"""New and changed tests on the code as it was, and the tests they were before on the code as it will be."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from rolecall_server.craft.test_quality.test_text import WrittenTest, function_of, written_tests
from rolecall_server.craft.trial import Bench
from rolecall_server.review.proposals.evidence import AlteredTest, Evidence, TestWithout
from rolecall_server.sandbox import TestResult, TestRun

_FOLDERS_OF_TESTS = frozenset({"test", "tests"})


async def with_red_and_green(
    shown: Evidence,
    bench: Bench,
    files: Mapping[str, str | None],
    base_of: Callable[[str], str | None],
    is_test: Callable[[str], bool],
) -> Evidence:
    """Return *shown* with how the tests that *files* add or change end without the rest of *files*.

    Of the tests that they change it tells the assertions that are gone, and how the tests they were end with the rest
    of *files*. Nothing is run where *files* change only tests, or no test, or where no test ran before.
    """
    tests = {path: text for path, text in files.items() if is_test(path)}
    code = {path: text for path, text in files.items() if path not in tests and not _belongs_to_tests(path)}
    if not tests or not code or not shown.ran:
        return shown
    touched = {path: _touched(text or "", base_of(path)) for path, text in tests.items()}
    there = [path for path, text in tests.items() if text is not None and touched[path]]
    without = await bench.run({path: files[path] for path in files.keys() - code.keys()}, there, ()) if there else None
    found = [
        TestWithout(f"{path}::{name}", _fails(ends))
        for path in there
        for name in touched[path]
        if (ends := _ends(without, path, name))
    ]
    altered = [one for path, text in tests.items() for one in _altered(path, text or "", base_of(path))]
    with_code = await bench.run(code, sorted({_path_of(one.test) for one in altered}), ()) if altered else None
    ended = tuple(replace(one, ends=_how(_ends(with_code, *one.test.split("::", 1)))) for one in altered)
    return replace(shown, without=tuple(found), altered=ended)


def _belongs_to_tests(path: str) -> bool:
    """Return whether *path* is laid over the old code together with the tests: fixtures, and data beside the tests."""
    place = PurePosixPath(path)
    return place.name == "conftest.py" or not _FOLDERS_OF_TESTS.isdisjoint(place.parts[:-1])


def _touched(text: str, base: str | None) -> tuple[str, ...]:
    """Return the tests of *text* that *base* does not have, or has in another form."""
    known = {test.name: ast.dump(test.node) for test in written_tests(base or "")}
    return tuple(test.name for test in written_tests(text) if known.get(test.name) != ast.dump(test.node))


def _altered(path: str, text: str, base: str | None) -> Iterator[AlteredTest]:
    """Yield the tests of *base* that lose assertions in *text*."""
    now = {test.name: _assertions(test) for test in written_tests(text)}
    for test in written_tests(base or ""):
        gone = tuple(one for one in _assertions(test) if one not in now.get(test.name, ()))
        if gone:
            yield AlteredTest(f"{path}::{test.name}", gone)


def _assertions(test: WrittenTest) -> tuple[str, ...]:
    """Return the assertions of *test*, as source: ``assert``, ``self.assertEqual(...)`` and ``with
    pytest.raises(...)``.
    """
    return tuple(ast.unparse(node) for node in ast.walk(test.node) if _asserts(node))


def _asserts(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Assert)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return name.startswith("assert") or name in ("raises", "warns")


def _ends(run: object, path: str, name: str) -> tuple[TestResult, ...]:
    """Return the outcomes of the cases of a test in *run*, or of its file if that could not be collected."""
    outcomes = run.outcomes if isinstance(run, TestRun) else ()
    return tuple(
        one
        for one in outcomes
        if one.test_id == path or (_path_of(one.test_id) == path and function_of(one.test_id) == name)
    )


def _fails(ends: tuple[TestResult, ...]) -> bool:
    return any(one.outcome in ("failed", "error") for one in ends)


def _how(ends: tuple[TestResult, ...]) -> str:
    """Return a few words on how a test ended; empty if it was not run."""
    bad = next((one for one in ends if _fails((one,))), None)
    return f"fails: {bad.message}" if bad else "passes" if ends else ""


def _path_of(test_id: str) -> str:
    return test_id.partition("::")[0]
