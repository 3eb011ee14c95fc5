"""A failing test is mended: it fails here first, its cause is looked for, and what is proposed makes it pass."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from inline_snapshot import external_file

from rolecall_analysis import Index
from rolecall_server.errors import BriefMissing, NotFound, NothingToChange, NotReproduced
from rolecall_server.model import Chosen, Reply, ToolCall, estimate_tokens
from rolecall_server.sandbox import NotRun, TestResult, TestRun
from rolecall_server.settings import read_settings
from rolecall_server.team.messages.board import load_pool
from rolecall_server.team.plan.planning import begin_run, request_of
from rolecall_server.team.repair.reproducing import still_failing
from rolecall_server.team.request import FailureToMend, Repository, RunRequest
from rolecall_server.team.run import locate_failure
from rolecall_server.workspace import Workspace
from support.edits import block
from support.fixture import parse_fixture
from support.role_run import Finished, ask_role
from support.scripted_model import ScriptedModel
from support.stores import open_store
from support.workspaces import environment, write_workspace

SHOP = parse_fixture("""
    #- shop/__init__.py
    #- shop/price.py
    def total(items):
        return add(items)


    def add(items):
        result = 0
        for item in items[1:]:
            result += item
        return result


    def label(items):
        return f"{total(items)} EUR"
    #- tests/test_price.py
    from shop.price import label, total


    def test_total_of_nothing():
        assert total([]) == 0


    def test_total_adds():
        assert total([1, 2]) == 3


    def test_label_begins_with_a_number():
        assert label([])[0] == "0"
""")
TEST = "tests/test_price.py::test_total_adds"
FIX = block("shop/price.py", "    for item in items[1:]:\n", "    for item in items:\n")
WRONG = block("shop/price.py", "    return add(items)\n", "    return add(items) + 1\n")
WEAKER = block("tests/test_price.py", "    assert total([1, 2]) == 3\n", "    assert total([1, 2]) == 2\n")
LOG = """
Traceback (most recent call last):
  File "/app/shop/price.py", line 8, in add
    result += item
TypeError: unsupported operand type(s) for +=: 'int' and 'str'
"""


def repository(folder: Path, files: Mapping[str, str] = SHOP.files, strategy: str = "auto") -> Repository:
    write_workspace(folder / "work", dict(files))
    with_index = Index(folder / "work")
    with_index.scan()
    settings, _ = read_settings({"team": {"strategy": strategy}}, {})
    store = open_store(folder / "rolecall.db")
    snapshot = with_index.snapshot()
    with_index.close()
    return Repository(Workspace((folder / "work").resolve()), snapshot, store, settings, environment(folder))


async def mended(
    folder: Path,
    replies: Sequence[str | Reply],
    failure: FailureToMend,
    files: Mapping[str, str] = SHOP.files,
    *,
    strategy: str = "auto",
) -> tuple[Finished, ScriptedModel]:
    model = ScriptedModel(replies)
    request = RunRequest(brief="Make it pass.", mends=failure)
    chosen = Chosen(model, "the test names it", takes_tools=True)
    return await ask_role(request, repository(folder, files, strategy), chosen), model


async def test_a_failing_test_is_mended_and_the_evidence_says_that_it_failed_before(tmp_path: Path) -> None:
    said = f"Hypothesis: shop/price.py::add: the first price is left out.\n\n{FIX}"
    finished, model = await mended(tmp_path, [said], FailureToMend((TEST,)))
    evidence = finished.proposal.evidence
    assert evidence.mended == (TEST,)
    assert (evidence.before and evidence.before.failed, evidence.after and evidence.after.failed) == (1, 0)
    assert evidence.after is not None
    assert evidence.after.passed == 3
    assert [change.path for change in finished.proposal.files] == ["shop/price.py"]
    assert finished.proposal.rationale.startswith("Suspected, by what ran, the traceback and the graph:\n1. shop/price")
    told = model.last_words[0]
    assert "def add(items):" in told
    assert "E   assert 2 == 3" in told
    assert "label" not in told.partition("# What fails")[2], "no failing test runs it"


async def test_all_that_the_first_rung_tells(tmp_path: Path) -> None:
    _, model = await mended(tmp_path, [FIX], FailureToMend((TEST,)))
    said = "\n\n=====\n\n".join(message.text for message in model.asked[0])
    assert said + "\n" == external_file("prompts/repair_first_rung.txt")


async def test_of_the_cases_of_a_test_the_shortest_is_told_whole_and_few_others(tmp_path: Path) -> None:
    cases = [*range(2, 9), 1]
    test = f"@pytest.mark.parametrize('n', {cases})\ndef test_totals(n):\n    assert total([1] * n) == n\n"
    files = {**SHOP.files, "tests/test_totals.py": f"import pytest\nfrom shop.price import total\n\n\n{test}"}
    _, model = await mended(tmp_path, [FIX], FailureToMend(("tests/test_totals.py",)), files)
    told = model.last_words[0].partition("# What fails")[2]
    assert told.count("### tests/test_totals.py::test_totals[") == 1
    assert told.count("\n- [") == 2
    assert "\n- and 5 more\n" in told


async def test_what_does_not_help_is_taken_back_and_each_next_rung_is_shown_more(tmp_path: Path) -> None:
    wrong = f"Hypothesis: total forgets one.\n\n{WRONG}"
    finished, model = await mended(tmp_path, [wrong, wrong, FIX], FailureToMend((TEST,)))
    first, second, third = model.last_words
    assert "## shop/price.py (total: suspected, run by the failing test" in first
    assert "def label" not in first
    assert "total: an attempt changed it" in second
    assert "label: suspected, its words are those of the failure" in second
    assert "def add(items)" not in second
    assert "- shop/price.py::add" in second.partition("Shown before, and not again")[2]
    assert "1. Hypothesis: total forgets one." in second
    assert "taken back" in second
    assert "These edits were made before" in third
    (change,) = finished.proposal.files
    assert len(change.hunks) == 1
    assert finished.proposal.evidence.repairs == 2


async def test_what_the_model_asks_to_see_is_shown_before_whole_files_are(tmp_path: Path) -> None:
    asks = "No change: `shop/price.py::label`, shop/gone.py::label and .env.py\n"
    private = {**SHOP.files, ".env.py": "KEY = 'none'\n", ".aiignore": ".env.py\n"}
    finished, model = await mended(tmp_path, [asks, asks, FIX], FailureToMend((TEST,)), private)
    first, second, third = model.last_words
    assert "def label" not in first
    assert "label: you asked to see it" in second
    assert "def add(items)" in second
    assert "KEY" not in second + third
    assert "What each line of the repository's code computed" not in second
    assert "What each line of the repository's code computed" in third, "it asked for the same again"
    assert [change.path for change in finished.proposal.files] == ["shop/price.py"]


async def test_a_rung_is_told_what_an_earlier_attempt_had_from_memory(tmp_path: Path) -> None:
    looks_up = Reply("", "script-1", 100, 50, (ToolCall("c1", "documentation", '{"name": "acme.sums.exact"}'),))
    note = "Note: acme.sums.exact: adds prices without an error"
    tried = [block("shop/price.py", "    return add(items)\n", f"    return add(items) + {n}\n") for n in (1, 2)]
    remembered = block(
        "shop/price.py", "    return add(items)\n", "    from acme.sums import exact\n\n    return exact(items)\n"
    )
    replies = [*tried, looks_up, f"{note}\n\n{remembered}", FIX]
    _, model = await mended(tmp_path, replies, FailureToMend((TEST,)))
    told = model.last_words[-1].partition("# What was tried")[2]
    assert "nothing has checked it; what is wrong may be wrong there:\n- acme.sums.exact: adds prices without" in told


async def test_a_later_rung_shows_what_was_not_shown_and_no_more_than_the_first_one_did(tmp_path: Path) -> None:
    bodies = (f"def step_{n}(items):\n    # {'-' * 999}\n    return step_{n + 1}(items)\n\n\n" for n in range(20))
    source = f"def total(items):\n    return step_0(items)\n\n\n{''.join(bodies)}def step_20(items):\n    return 1\n"
    test = "from shop.price import total\n\n\ndef test_total_adds():\n    assert total([1, 2]) == 3\n"
    files = {"shop/__init__.py": "", "shop/price.py": source, "tests/test_price.py": test}
    wrong = [block("shop/price.py", "    return step_0(items)\n", f"    return {n}\n") for n in range(7, 10)]
    right = block("shop/price.py", "    return step_0(items)\n", "    return sum(items)\n")
    _, model = await mended(tmp_path, [*wrong, right], FailureToMend((TEST,)), files)
    shown = [{n for n in range(20) if f"def step_{n}(" in said} for said in model.last_words]
    assert all(shown)
    assert sum(map(len, shown)) == len(set[int]().union(*shown)), "none is shown twice"
    assert all("def total(items)" in said for said in model.last_words), "each attempt changed it"
    assert [told < 4_000 for told in map(estimate_tokens, model.last_words)] == [True] * 4
    bounded = ["in at most 2 rounds and 6 calls" in asked[0].text for asked in model.asked]
    assert bounded == [False, False, True, True], "lookups are for the last two"


async def test_a_function_within_another_is_shown_and_told_once(tmp_path: Path) -> None:
    price = """
    def total(items):
        def add(result, item):
            return result - item
        result = 0
        for item in items:
            result = add(result, item)
        return result
    def label(items):
        return f"{total(items)} EUR"
    """
    files = {**SHOP.files, "shop/price.py": textwrap.dedent(price)}
    fix = block("shop/price.py", "        return result - item\n", "        return result + item\n")
    _, model = await mended(tmp_path, [fix], FailureToMend((TEST,)), files)
    (told,) = model.last_words
    assert told.count("def add(result, item)") == 1
    assert "total.add: " not in told


async def test_after_an_attempt_that_helped_only_what_is_left_is_shown_with_its_own_suspects(tmp_path: Path) -> None:
    tests = """
    from shop.half import half
    from shop.price import total


    def test_adds():
        assert total([1, 2]) == 3


    def test_halves():
        assert half(4) == 2
    """
    half = "def half(price):\n    return price / 3\n"
    files = {**SHOP.files, "shop/half.py": half, "tests/test_two.py": textwrap.dedent(tests)}
    other = block("shop/half.py", "    return price / 3\n", "    return price / 2\n")
    finished, model = await mended(tmp_path, [FIX, other], FailureToMend(("tests/test_two.py",)), files)
    first, second = model.last_words
    assert "def test_adds" in first
    assert "def add(items)" in first
    assert "It helped, and is kept" in second
    assert "tests/test_two.py::test_halves" in second.partition("# What was tried")[2]
    assert "def half(price)" in second
    assert "def test_adds" not in second
    assert "def add(items)" not in second
    assert {change.path for change in finished.proposal.files} == {"shop/half.py", "shop/price.py"}


async def test_a_test_is_never_weakened_unless_the_developer_says_so(tmp_path: Path) -> None:
    finished, model = await mended(tmp_path / "kept", [WEAKER, FIX], FailureToMend((TEST,)))
    assert "test_total_adds (line 8) of tests/test_price.py would change" in model.last_words[1]
    assert [change.path for change in finished.proposal.files] == ["shop/price.py"]
    told = FailureToMend((TEST,), changes_tests=True)
    finished, _ = await mended(tmp_path / "told", [WEAKER], told)
    assert [change.path for change in finished.proposal.files] == ["tests/test_price.py"]


async def test_nothing_is_mended_that_does_not_fail_here(tmp_path: Path) -> None:
    with pytest.raises(NotReproduced, match="test_total_of_nothing does not fail here: it passed"):
        await mended(tmp_path / "passes", [], FailureToMend(("tests/test_price.py::test_total_of_nothing",)))
    with pytest.raises(NotFound, match=r"tests/test_cart\.py is no file"):
        await mended(tmp_path / "gone", [], FailureToMend(("tests/test_cart.py::test_it",)))
    with pytest.raises(BriefMissing, match="No test of this repository shows that failure"):
        await mended(tmp_path / "log", [], FailureToMend(log=LOG))


async def test_a_pasted_traceback_is_mended_without_a_test_where_the_developer_says_so(tmp_path: Path) -> None:
    told = FailureToMend(log=LOG, unreproduced=True)
    finished, model = await mended(tmp_path, [FIX], told)
    assert [change.path for change in finished.proposal.files] == ["shop/price.py"]
    assert "TypeError: unsupported operand" in model.last_words[0]
    assert "it was raised there, in line 8" in model.last_words[0]


async def test_what_makes_a_test_fail_that_runs_nothing_of_the_repository_is_mended_too(tmp_path: Path) -> None:
    test = "from pathlib import Path\n\n\ndef test_rates():\n    assert Path('rates.txt').read_text() == 'tax 2\\n'\n"
    files = {**SHOP.files, "rates.txt": "tax 1\n", "tests/test_rates.py": test}
    told = FailureToMend(("tests/test_rates.py::test_rates",))
    finished, _ = await mended(tmp_path, [block("rates.txt", "tax 1\n", "tax 2\n")], told, files)
    assert finished.proposal.evidence.mended == told.tests


@pytest.mark.parametrize(("strategy", "most"), [("quick", 2), ("standard", 4), ("thorough", 6)])
async def test_the_strategy_bounds_the_attempts(tmp_path: Path, strategy: str, most: int) -> None:
    replies = [block("shop/price.py", "    return add(items)\n", f"    return {n}\n") for n in range(7, 7 + most)]
    with pytest.raises(NothingToChange, match=f"None of {most} attempts made it pass"):
        await mended(tmp_path, replies, FailureToMend((TEST,)), strategy=strategy)


@pytest.mark.parametrize(("strategy", "tells"), [("quick", False), ("standard", True)])
async def test_quick_work_is_told_what_the_test_says_and_no_values(
    tmp_path: Path, strategy: str, *, tells: bool
) -> None:
    _, model = await mended(tmp_path, [WRONG, FIX], FailureToMend((TEST,)), strategy=strategy)
    told = model.last_words[1]
    assert "E   assert 2 == 3" in told
    assert ("item = 2" in told) == tells


async def test_a_repair_that_comes_to_nothing_proposes_nothing(tmp_path: Path) -> None:
    replies = [block("shop/price.py", "    return add(items)\n", f"    return {n}\n") for n in range(7, 11)]
    with pytest.raises(NothingToChange, match="None of 4 attempts made it pass"):
        await mended(tmp_path, replies, FailureToMend((TEST,)))


async def test_the_suspects_are_told_without_a_model(tmp_path: Path) -> None:
    found = await locate_failure(repository(tmp_path), FailureToMend((TEST,)), lambda *_: None)
    assert {one.name for one in found.suspects} == {"total", "add"}
    assert [one.test_id for one in found.failing] == [TEST]
    assert "run by the failing test and by 2 of 2 that pass" in found.text


async def test_the_failure_is_part_of_the_stored_request_and_its_secrets_are_not(tmp_path: Path) -> None:
    where = repository(tmp_path)
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    request = RunRequest(brief="Mend it.", mends=FailureToMend((TEST,), f"{LOG}token = '{secret}'\n"))
    run_id = begin_run(where.store, where.workspace.root, request)
    stored = request_of(load_pool(where.store, run_id))
    assert stored is not None
    assert stored.mends is not None
    assert secret not in stored.mends.log
    assert replace(stored.mends, log="") == FailureToMend((TEST,))


def run_of(**ends: str) -> TestRun:
    outcomes = [TestResult(f"t.py::{name}", ended) for name, ended in ends.items()]  # type: ignore[arg-type]
    return TestRun("ran", outcomes=tuple(outcomes))


def test_a_test_that_is_skipped_or_gone_does_not_pass() -> None:
    failing = (TestResult("t.py::test_a", "failed"),)
    assert still_failing(failing, run_of(test_a="passed")) == ()
    for run in (run_of(test_a="skipped"), run_of(test_b="passed"), run_of(test_a="xfailed"), NotRun("off")):
        assert [one.test_id for one in still_failing(failing, run)] == ["t.py::test_a"]


def test_a_file_that_could_not_be_read_passes_once_a_test_of_it_does() -> None:
    failing = (TestResult("t.py", "error"),)
    assert still_failing(failing, run_of(test_a="passed")) == ()
    assert len(still_failing(failing, run_of(test_a="skipped"))) == 1
