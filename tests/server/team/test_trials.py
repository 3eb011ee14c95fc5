"""Which tests a change is tried with: those that reach it, then the rest of the suite, without it and with it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from rolecall_analysis import Index
from rolecall_server.craft.trial import evidence, new_failures
from rolecall_server.review.proposals.evidence import Evidence, summarise_tests
from rolecall_server.review.proposals.rendering import render_evidence
from rolecall_server.sandbox import NotRun, TestResult, TestRun
from rolecall_server.settings import Settings
from rolecall_server.team.request import Desk, Repository
from rolecall_server.team.run import open_bench
from rolecall_server.team.test_quality.trials import Trials, order_for_change, red_and_green
from rolecall_server.workspace import Workspace
from support.fixture import parse_fixture
from support.stores import open_store
from support.workspaces import environment

SHOP = """
#- filters.py
import json
REGISTER = json.load(open("filters.json"))
def upper(text): return text.upper()
def lower(text): return text.lower()
#- filters.json
{"upper": "filters"}
#- tests/test_by_name.py
import importlib
def test_upper():
    module = importlib.import_module("fil" + "ters")
    assert module.upper("a") == "A"
#- tests/test_known.py
def test_broken_all_along(): assert False
#- tests/test_lower.py
from filters import lower
def test_lower(): assert lower("A") == "a"
#- README.md
Filters.
"""
BROKEN = {
    "filters.py": "def upper(text): return text\ndef lower(text): return text.lower()\n",
}

BROKEN_LOWER = {"filters.py": SHOP.partition("#- filters.py\n")[2].partition("#-")[0].replace(".lower()", "")}
UPPER_BROKEN = "def upper(text): return text\n" + SHOP.partition("text.upper()\n")[2].partition("#-")[0]


@asynccontextmanager
async def trials_in(root: Path, more: str = "", **settings: object) -> AsyncGenerator[Trials]:
    workspace = Workspace(parse_fixture(SHOP + more).write_to(root / "work").resolve())
    index = Index(workspace.root)
    index.scan()
    store = open_store(root / "rolecall.db")
    read = Settings.model_validate({"tests": settings})
    repository = Repository(workspace, index.snapshot(), store, read, environment(root / "home"))
    async with open_bench(repository, lambda *_: None) as bench:
        yield Trials(Desk(workspace, index.snapshot(), read, None, bench, lambda *_: None), ())
    index.close()


def shown(trials: Trials, run: TestRun | NotRun) -> Evidence:
    return evidence(trials.before, run, problems=(), findings=(), repairs=0, model="m")


async def test_the_whole_suite_runs_so_that_a_test_that_nothing_led_to_shows_what_is_broken(tmp_path: Path) -> None:
    async with trials_in(tmp_path) as trials:
        run = await trials.of_change(BROKEN)
    assert isinstance(run, TestRun)
    assert [bad.test_id for bad in new_failures(trials.before, run)] == ["tests/test_by_name.py::test_upper"]
    assert run.outcomes[0].test_id == "tests/test_lower.py::test_lower", "what reaches the change runs first"
    known = "tests/test_known.py::test_broken_all_along"
    assert summarise_tests(shown(trials, run)) == f"1 passed, 2 failed (before: 2 passed, 1 failed: {known})"


async def test_where_there_is_no_time_for_all_the_evidence_says_how_many_ran_and_which_first(tmp_path: Path) -> None:
    async with trials_in(tmp_path, suite_seconds=0) as trials:
        run = await trials.of_change(BROKEN)
    found = shown(trials, run)
    assert summarise_tests(found).endswith("; 1 passed, 0 failed; ran 1 of 3 (before: 1 passed, 0 failed)")
    assert render_evidence(found)[0] == (
        "Not run: 2 of 3 tests, for want of time: those that reach the change came first, likeliest to fail first."
    )


async def test_what_failed_before_is_named_and_so_is_what_passes_now(tmp_path: Path) -> None:
    name = "tests/test_known.py::test_broken_all_along"
    async with trials_in(tmp_path) as trials:
        lines = render_evidence(shown(trials, await trials.of_change(BROKEN)))
        assert f"Failed before too: {name}: AssertionError: assert False" in lines, lines
        mended = {"tests/test_known.py": "def test_broken_all_along(): assert True\n"}
        lines = render_evidence(shown(trials, await trials.of_change(mended)))
        assert f"Failed before, passes now: {name}" in lines


LEAKING = """\
import json
def upper(text): return text.upper()
def lower(text):
    json.LEAK = True
    return text.lower()
"""
CLEAN = """
#- tests/test_zone.py
import json
def test_zone(): assert not hasattr(json, "LEAK")
"""


async def test_a_test_that_passes_when_its_file_runs_once_more_is_told_and_is_no_failure(tmp_path: Path) -> None:
    async with trials_in(tmp_path, CLEAN) as trials:
        run = await trials.of_change({"filters.py": LEAKING})
        lines = render_evidence(shown(trials, run))
    assert new_failures(trials.before, run) == ()
    assert "tests/test_zone.py::test_zone failed at first, and passed when its file ran once more." in lines


async def test_data_may_break_any_test_and_prose_none(tmp_path: Path) -> None:
    async with trials_in(tmp_path) as trials:
        run = await trials.of_change({"filters.json": "no JSON"})
        assert {bad.test_id.partition("::")[0] for bad in new_failures(trials.before, run)} == {
            "tests/test_by_name.py",
            "tests/test_lower.py",
        }
        assert isinstance(await trials.of_change({"README.md": "Filters, and more.\n"}), NotRun)


async def test_a_test_that_was_seen_to_run_what_changes_comes_first_the_next_time(tmp_path: Path) -> None:
    async with trials_in(tmp_path) as trials:
        await trials.without_change((), whole=True)
        run = await Trials(trials.desk, ()).of_change({"filters.py": UPPER_BROKEN})
    assert isinstance(run, TestRun)
    assert [one.test_id for one in run.outcomes] == [
        "tests/test_by_name.py::test_upper",  # nothing in the text leads to it
        "tests/test_lower.py::test_lower",
        "tests/test_known.py::test_broken_all_along",
    ]


async def test_a_run_with_a_change_teaches_how_tests_end_and_not_what_they_run(tmp_path: Path) -> None:
    async with trials_in(tmp_path) as trials:
        memory = trials.desk.bench.memory
        assert memory is not None
        await trials.with_change(BROKEN, (), whole=True)
        assert {test.partition("::")[2]: (one.ends, one.ran) for test, one in memory.recall().tests.items()} == {
            "test_upper": ("f", ()),
            "test_broken_all_along": ("f", ()),
            "test_lower": ("p", ()),
        }
        await trials.without_change((), whole=True)
        assert memory.fresh() == {*memory.recall().tests}
        assert memory.recall().tests["tests/test_by_name.py::test_upper"].ends == "pf"


async def test_where_the_suite_is_known_to_take_too_long_tests_that_do_not_run_the_change_wait(tmp_path: Path) -> None:
    async with trials_in(tmp_path, suite_seconds=30) as trials:
        told: list[str] = []
        desk = replace(trials.desk, report=lambda what, _: told.append(what))
        assert desk.bench.memory is not None
        await Trials(desk, ()).without_change((), whole=True)
        assert order_for_change(desk, BROKEN_LOWER)[1] == frozenset(), "all of it fits"
        tests = desk.bench.memory.recall().tests
        slow = tuple(TestResult(test, "passed", 100.0) for test in tests)
        desk.bench.memory.learn(TestRun("ran", outcomes=slow, collected=3, duration_s=300.0))
        targets, later = order_for_change(desk, BROKEN_LOWER)
        assert targets == ("tests/test_lower.py",)
        assert later == {*tests} - {"tests/test_lower.py::test_lower"}
        run = await Trials(desk, ()).of_change(BROKEN_LOWER)
    assert isinstance(run, TestRun)
    assert run.outcomes[0].test_id == "tests/test_lower.py::test_lower"
    assert told[0] == "running the tests as they are"
    took = "all of which took 300 s before"
    assert told[1] == f"running the tests as they are, {took}: likeliest to fail first, as far as the time goes"


REPAIRED = {
    "filters.py": "def upper(text): return text.upper()\ndef lower(text): return text.lower().strip()\n",
    "tests/test_lower.py": (
        "from filters import lower\n"
        "def test_lower(): assert lower('A ') == 'a'\n"
        "def test_new(): assert lower('B ') == 'b'\n"
        "def test_idle(): assert lower('C') == 'c'\n"
    ),
}


async def test_each_new_or_changed_test_also_runs_without_the_change(tmp_path: Path) -> None:
    async with trials_in(tmp_path) as trials:
        run = await trials.of_change(REPAIRED)
        found = await red_and_green(trials.desk, shown(trials, run), REPAIRED)
    assert {one.test.partition("::")[2]: one.fails for one in found.without} == {
        "test_lower": True,
        "test_new": True,
        "test_idle": False,
    }
    lines = render_evidence(found)
    assert "Of the new and changed tests, 2 fail without the change and 1 pass without it." in lines
    assert "Passes without it: tests/test_lower.py::test_idle" in lines


async def test_assertions_that_a_change_alters_are_told_with_how_the_old_test_ends_on_the_new_code(
    tmp_path: Path,
) -> None:
    changed = {
        "filters.py": "def upper(text): return text\ndef lower(text): return text\n",
        "tests/test_lower.py": "from filters import lower\ndef test_lower(): assert lower('A') == 'A'\n",
    }
    async with trials_in(tmp_path) as trials:
        found = await red_and_green(trials.desk, shown(trials, await trials.of_change(changed)), changed)
        harmless = await red_and_green(trials.desk, shown(trials, await trials.of_change(REPAIRED)), REPAIRED)
    (altered,) = found.altered
    assert altered.test == "tests/test_lower.py::test_lower"
    assert altered.assertions == ("assert lower('A') == 'a'",)
    assert altered.ends.startswith("fails: AssertionError")
    assert "Alters 1 assertion of tests that were there." in render_evidence(found)
    assert harmless.altered[0].ends == "passes"


async def test_a_change_of_tests_alone_or_of_code_alone_runs_nothing_more(tmp_path: Path) -> None:
    async with trials_in(tmp_path) as trials:
        for changed in (BROKEN, {"tests/test_lower.py": REPAIRED["tests/test_lower.py"]}):
            before = shown(trials, await trials.of_change(changed))
            assert await red_and_green(trials.desk, before, changed) == before
