"""What unittest shows of a workspace whose interpreter has no pytest: the same, in the same words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rolecall_server.sandbox import Interpreter, TestRun, Unconfined
from rolecall_server.workspace import Workspace
from support.patience import PATIENCE_S

WorkspaceOf = Callable[..., Workspace]
RunInShadow = Callable[..., Awaitable[TestRun]]

PRICES = """
#- price.py
def discount(total):
    if total > 100:
        return total * 0.9
    return total
#- tests/__init__.py
#- tests/test_price.py
import unittest
from price import discount

class Prices(unittest.TestCase):
    def test_small(self):
        self.assertEqual(discount(50), 50)

    def test_large(self):
        self.assertEqual(discount(200), 100, "a fifth too much")

    def test_breaks(self):
        discount(None)

    def test_rows(self):
        for total in (1, 2, 300):
            with self.subTest(total=total):
                self.assertEqual(discount(total), total)

    @unittest.skip("not today")
    def test_later(self): ...

    @unittest.expectedFailure
    def test_known(self):
        self.fail()

    @unittest.expectedFailure
    def test_better_than_thought(self): ...
"""


@pytest.fixture(scope="session")
def bare(make_environment: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    """An interpreter that has coverage and no pytest."""
    folder = tmp_path_factory.mktemp("environment") / "bare"
    make_environment(folder, with_pytest=False, with_coverage=True)
    return Interpreter(folder / "bin" / "python", "test")


async def test_each_test_ends_as_pytest_would_say_it(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, bare: Interpreter, python: Interpreter
) -> None:
    workspace = workspace_of(PRICES)
    ours = await run_in_shadow(workspace, ["tests/test_price.py"], ["price.py"], interpreter=bare)
    theirs = await run_in_shadow(workspace, ["tests/test_price.py"], ["price.py"], interpreter=python)
    assert ours.status == "ran", ours
    known = {outcome.test_id.rpartition("::")[2]: outcome.outcome for outcome in ours.outcomes}
    assert known == {
        "test_better_than_thought": "failed",
        "test_breaks": "failed",
        "test_known": "xfailed",
        "test_large": "failed",
        "test_later": "skipped",
        "test_rows": "failed",
        "test_small": "passed",
    }
    assert {one.test_id: one.outcome for one in theirs.outcomes} == {one.test_id: one.outcome for one in ours.outcomes}
    assert ours.coverage["price.py"].executed_lines == theirs.coverage["price.py"].executed_lines
    large = {one.test_id: one for one in ours.outcomes}.get("tests/test_price.py::Prices::test_large")
    assert large is not None
    assert large.message == "AssertionError: 180.0 != 100 : a fifth too much"
    assert 'File "tests/test_price.py", line 9' in large.detail
    assert "case.py" not in large.detail


async def test_one_test_can_be_named(workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, bare: Interpreter) -> None:
    run = await run_in_shadow(workspace_of(PRICES), ["tests/test_price.py::Prices::test_small"], interpreter=bare)
    assert [outcome.test_id for outcome in run.passed] == ["tests/test_price.py::Prices::test_small"]


async def test_without_a_name_every_test_file_is_run(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, bare: Interpreter
) -> None:
    run = await run_in_shadow(workspace_of(PRICES), interpreter=bare)
    assert len(run.outcomes) == 7


async def test_a_file_that_cannot_be_imported_is_an_error_of_that_file(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, bare: Interpreter
) -> None:
    text = PRICES + "#- test_broken.py\nimport unittest, nowhere\n"
    run = await run_in_shadow(workspace_of(text), ["test_broken.py", "tests/test_price.py"], interpreter=bare)
    broken = {one.test_id: one for one in run.outcomes}.get("test_broken.py")
    assert broken is not None
    assert (broken.outcome, broken.message) == ("error", "ModuleNotFoundError: No module named 'nowhere'")
    assert len(run.outcomes) == 8


async def test_what_prepares_a_class_and_fails_is_an_error(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, bare: Interpreter
) -> None:
    text = """
#- test_class.py
import unittest
class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no database")
    def test_one(self): ...
"""
    run = await run_in_shadow(workspace_of(text), ["test_class.py"], interpreter=bare)
    assert [(bad.outcome, bad.message) for bad in run.failed] == [("error", "OSError: no database")]


async def test_tests_that_a_function_puts_together_are_run_its_way_even_where_pytest_is(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, python: Interpreter
) -> None:
    text = """
#- test_loaded.py
import unittest
class Case(unittest.TestCase):
    def __init__(self, number):
        super().__init__("check")
        self.number = number
    def check(self):
        self.assertGreater(self.number, 0)
def load_tests(loader, tests, pattern):
    return unittest.TestSuite([Case(1), Case(2)])
"""
    run = await run_in_shadow(workspace_of(text), ["test_loaded.py"], interpreter=python)
    assert run.status == "ran", run
    assert [outcome.test_id for outcome in run.passed] == ["test_loaded.py::Case::check"]


async def test_a_test_that_kills_the_interpreter_is_the_one_that_is_named(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, bare: Interpreter
) -> None:
    text = """
#- test_crash.py
import ctypes, unittest
class Crash(unittest.TestCase):
    def test_a(self): ...
    def test_b(self):
        ctypes.string_at(0)
"""
    run = await run_in_shadow(workspace_of(text), ["test_crash.py"], interpreter=bare)
    assert run.status == "crashed"
    assert run.reason == "Python was ended by SIGSEGV in test_crash.py::Crash::test_b."
    assert len(run.passed) == 1


async def test_each_order_is_another_and_keeps_classes_together(
    workspace_of: WorkspaceOf, bare: Interpreter, run_in_shadow: RunInShadow
) -> None:
    from rolecall_server.sandbox import Shadow, run_repeatedly, shadow_workspace

    classes = "".join(
        f"class C{number}(unittest.TestCase):\n" + "".join(f"    def test_{name}(self): ...\n" for name in "abc")
        for number in range(4)
    )
    workspace = workspace_of(f"#- test_order.py\nimport unittest\n{classes}")
    async with shadow_workspace(workspace, Unconfined()) as shadow:
        assert isinstance(shadow, Shadow)
        repetition = await run_repeatedly(shadow, bare, ["test_order.py"], timeout_s=PATIENCE_S)
    orders = [[outcome.test_id for outcome in run.outcomes] for run in repetition.runs]
    assert {outcome.outcome for run in repetition.runs for outcome in run.outcomes} == {"passed"}
    assert len(repetition.stable) == 12
    assert len({tuple(order) for order in orders}) == 3
    for order in orders:
        of_class = [test.split("::")[1] for test in order]
        assert of_class == sorted(of_class, key=of_class.index)
