"""All tests that a repository has by its own account, some of them first, within the time there is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from rolecall_server.sandbox import Suite, TestRun
from rolecall_server.workspace import Workspace
from support.patience import PATIENCE_S

WorkspaceOf = Callable[..., Workspace]
RunInShadow = Callable[..., Awaitable[TestRun]]

ENGINE = """
    #- pyproject.toml
    [tool.pytest.ini_options]
    testpaths = ["tests"]
    python_files = ["test_*.py", "check_*.py"]
    #- engine/tests.py
    def test_odd(value): return value % 2 == 1
    #- tests/conftest.py
    collect_ignore = ["test_old.py"]
    #- tests/test_a.py
    def test_a(): pass
    #- tests/test_b.py
    def test_one(): pass
    def test_two(): assert False
    #- tests/check_c.py
    def test_c(): pass
    #- tests/test_old.py
    def test_old(): assert False
"""
CASES = """
    #- test_a.py
    import unittest
    class A(unittest.TestCase):
        def test_a(self): pass
    def load_tests(loader, tests, pattern): return tests
    #- test_b.py
    import unittest
    class B(unittest.TestCase):
        def test_b(self): pass
    def load_tests(loader, tests, pattern): return tests
"""


def names(run: TestRun) -> list[str]:
    return [outcome.test_id for outcome in run.outcomes]


async def test_the_whole_suite_is_what_the_repository_collects_and_some_of_it_runs_first(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    suite = Suite(("tests/test_b.py", "engine/tests.py", "tests/test_old.py"), rest_s=PATIENCE_S)
    run = await run_in_shadow(workspace_of(ENGINE), suite=suite)
    assert run.status == "ran", run.reason
    assert names(run) == [
        "tests/test_b.py::test_one",
        "tests/test_b.py::test_two",
        "tests/check_c.py::test_c",
        "tests/test_a.py::test_a",
    ]
    assert run.collected == 4
    assert run.uncollected == {
        "engine/tests.py": "its name does not match python_files (test_*.py check_*.py)",
        "tests/test_old.py": "a conftest.py, --ignore or norecursedirs leaves it out",
    }


async def test_why_a_file_is_not_collected_is_told(workspace_of: WorkspaceOf, run_in_shadow: RunInShadow) -> None:
    workspace = workspace_of("""
        #- pytest.ini
        [pytest]
        testpaths = tests
        addopts = -m 'not slow'
        markers = slow
        #- test_top.py
        def test_top(): pass
        #- tests/test_empty.py
        ONE = 1
        #- tests/test_slow.py
        import pytest
        @pytest.mark.slow
        def test_slow(): pass
        #- tests/test_a.py
        def test_a(): pass
    """)
    asked = ("test_top.py", "tests/test_empty.py", "tests/test_slow.py", "tests/test_a.py")
    run = await run_in_shadow(workspace, suite=Suite(asked, rest_s=PATIENCE_S))
    assert run.uncollected == {
        "test_top.py": "it lies outside of testpaths (tests)",
        "tests/test_empty.py": "it holds no test",
        "tests/test_slow.py": "-m or -k deselects its tests",
    }


@pytest.mark.parametrize(("workspace", "first"), [(ENGINE, "tests/test_a.py::test_a"), (CASES, "test_a.py::A::test_a")])
async def test_none_of_the_others_begins_when_their_time_is_over(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, workspace: str, first: str
) -> None:
    run = await run_in_shadow(workspace_of(workspace), suite=Suite((first.partition("::")[0],), rest_s=0))
    assert (run.status, names(run)) == ("ran", [first])
    assert run.collected > 1


async def test_unittest_runs_all_of_them_too(workspace_of: WorkspaceOf, run_in_shadow: RunInShadow) -> None:
    run = await run_in_shadow(workspace_of(CASES), suite=Suite(("test_b.py",), rest_s=PATIENCE_S))
    assert names(run) == ["test_b.py::B::test_b", "test_a.py::A::test_a"]
    assert (run.status, run.collected) == ("ran", 2)


async def test_first_tests_are_run_by_name_where_the_suite_cannot_begin(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    workspace = workspace_of("""
        #- test_a.py
        def test_a(): pass
        #- elsewhere/conftest.py
        import os
        os._exit(3)
        #- elsewhere/test_b.py
        def test_b(): pass
    """)
    run = await run_in_shadow(workspace, suite=Suite(("test_a.py",), rest_s=PATIENCE_S))
    assert (run.status, names(run)) == ("ran", ["test_a.py::test_a"])
    assert "The rest of the suite: " in run.reason
