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


@pytest.mark.parametrize(("rest_s", "others"), [(PATIENCE_S, ["test_one", "test_c", "test_a"]), (0, [])])
async def test_tests_that_can_wait_come_after_the_other_first_ones_in_the_time_of_the_rest(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, rest_s: float, others: list[str]
) -> None:
    suite = Suite(("tests/test_b.py",), rest_s, later=["tests/test_b.py::test_one"])
    run = await run_in_shadow(workspace_of(ENGINE), suite=suite)
    assert [name.partition("::")[2] for name in names(run)] == ["test_two", *others]
    assert run.collected == 4


@pytest.mark.parametrize(("workspace", "first"), [(ENGINE, "tests/test_a.py::test_a"), (CASES, "test_a.py::A::test_a")])
async def test_none_of_the_others_begins_when_their_time_is_over(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, workspace: str, first: str
) -> None:
    run = await run_in_shadow(workspace_of(workspace), suite=Suite((first.partition("::")[0],), rest_s=0))
    assert (run.status, names(run)) == ("ran", [first])
    assert run.collected > 1


async def test_files_that_are_named_run_as_the_repository_collects_them_and_no_other_is_read(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    workspace = workspace_of(ENGINE + "    #- tests/test_broken.py\n    raise SystemExit\n")
    named = ["tests/test_b.py", "tests/check_c.py", "engine/tests.py", "tests/test_old.py"]
    run = await run_in_shadow(workspace, named)
    assert run.status == "ran", run.reason
    assert names(run) == ["tests/test_b.py::test_one", "tests/test_b.py::test_two", "tests/check_c.py::test_c"]
    assert (run.collected, [*run.uncollected]) == (0, ["engine/tests.py", "tests/test_old.py"])


async def test_a_file_called_tests_runs_where_it_is_meant_and_no_other_of_that_name_does(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    workspace = workspace_of("""
        #- tests.py
        import pytest
        def test_here(): pass
        #- engine/tests.py
        def test_odd(value): return value % 2
        #- test_more.py
        def test_more(): pass
    """)
    run = await run_in_shadow(workspace, suite=Suite(("tests.py",), rest_s=PATIENCE_S))
    assert (run.status, names(run)) == ("ran", ["tests.py::test_here", "test_more.py::test_more"])
    assert run.uncollected == {}


async def test_where_the_repository_takes_in_none_of_the_named_files_the_reason_says_so(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    run = await run_in_shadow(workspace_of(ENGINE), ["engine/tests.py"])
    assert run.status == "no tests"
    assert run.reason == (
        "The repository's own tests do not take in engine/tests.py: its name does not match python_files "
        "(test_*.py check_*.py)."
    )


async def test_unittest_runs_all_of_them_too(workspace_of: WorkspaceOf, run_in_shadow: RunInShadow) -> None:
    run = await run_in_shadow(workspace_of(CASES), suite=Suite(("test_b.py",), rest_s=PATIENCE_S))
    assert names(run) == ["test_b.py::B::test_b", "test_a.py::A::test_a"]
    assert (run.status, run.collected) == ("ran", 2)


SHOP = """
    #- shop.py
    def total(items): return rounded(sum(items))
    def rounded(value): return (lambda: round(value))()
    def unused(): ...
    #- test_shop.py
    import pytest
    from shop import rounded, total
    @pytest.fixture
    def items(): return [1, 2]
    @pytest.mark.parametrize("more", [[], [3]])
    def test_total(items, more): assert total(items + more) >= 3
    def test_rounded(): assert rounded(1.2) == 1
    def test_fails(): raise ValueError(total([]))
"""


async def test_a_suite_tells_which_functions_each_test_runs(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    suite = Suite(rest_s=PATIENCE_S, known=())
    run = await run_in_shadow(workspace_of(SHOP), measure=["shop.py"], suite=suite)
    assert run.status == "ran", run.reason
    assert {test: sorted(ran) for test, ran in run.functions.items()} == {
        "test_shop.py::test_total": [
            ("shop.py", 1),
            ("shop.py", 2),
            ("test_shop.py", 3),
            ("test_shop.py", 5),
        ],
        "test_shop.py::test_rounded": [("shop.py", 2), ("test_shop.py", 7)],
        "test_shop.py::test_fails": [("shop.py", 1), ("shop.py", 2), ("test_shop.py", 8)],
    }
    assert run.coverage["shop.py"].ratio == 1.0, "coverage is measured beside it"


async def test_what_is_known_of_a_test_is_not_watched_again(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    known = ["test_shop.py::test_total", "test_shop.py::test_fails"]
    run = await run_in_shadow(workspace_of(SHOP), suite=Suite(rest_s=PATIENCE_S, known=known))
    assert [*run.functions] == ["test_shop.py::test_rounded"]
    assert not (await run_in_shadow(workspace_of(SHOP), suite=Suite(rest_s=PATIENCE_S))).functions


async def test_none_is_watched_when_the_time_for_that_is_over(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    run = await run_in_shadow(workspace_of(SHOP), suite=Suite(("test_shop.py",), rest_s=1e-9, known=()))
    assert (run.status, len(run.outcomes), dict(run.functions)) == ("ran", 4, {})


async def test_unittest_tells_it_too_and_a_test_that_profiles_itself_is_left_in_peace(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    workspace = workspace_of("""
        #- shop.py
        def total(): return 1
        #- test_shop.py
        import cProfile, unittest
        from shop import total
        class Total(unittest.TestCase):
            def test_profile(self):
                profile = cProfile.Profile()
                self.assertEqual(profile.runcall(total), 1)
            def test_total(self):
                self.assertEqual(total(), 1)
        def load_tests(loader, tests, pattern): return tests
    """)
    run = await run_in_shadow(workspace, suite=Suite(rest_s=PATIENCE_S, known=()))
    assert (run.status, run.failed) == ("ran", ())
    assert ("shop.py", 1) in run.functions["test_shop.py::Total::test_total"]


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


async def test_a_suite_whose_time_was_over_before_anything_ran_is_not_begun_once_more(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    workspace = workspace_of("""
        #- tests/test_a.py
        def test_one(): pass

        while True: pass
    """)
    run = await run_in_shadow(workspace, suite=Suite(("tests/test_a.py",), rest_s=2), timeout_s=2)
    assert (run.status, run.outcomes) == ("timed out", ())
    assert "The rest of the suite" not in run.reason, "which is said where its first files were run by name"
