"""Plans before code: stated with a confidence, carried out in its order, given up where their attempts are spent."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import external_file

from rolecall_analysis import Index
from rolecall_server.craft.history import recall
from rolecall_server.errors import NothingToChange, NoUsableEdit
from rolecall_server.model import Chosen, estimate_tokens
from rolecall_server.settings import read_settings
from rolecall_server.team.experience.experiences import load_experiences
from rolecall_server.team.request import Repository, RoleName, RunRequest
from rolecall_server.team.roles.engineer_plans import StatedPlan, read_plans
from rolecall_server.workspace import Workspace
from support.edits import block
from support.role_run import Finished, ask_role
from support.scripted_model import ScriptedModel
from support.stores import open_store
from support.workspaces import FILES, environment, write_workspace

PRICE, TEST = "shop/price.py", "tests/test_price.py"
PLANS = """\
Plan 1 (60 %): round in total
1. shop/price.py: total rounds.

Plan 2 (80 %): round where items are added
1. shop/price.py: total adds rounded items.
"""
WRONG = block(PRICE, "    return sum(items)\n", "    return sum(items) + 1\n")
STILL_WRONG = block(PRICE, "    return sum(items) + 1\n", "    return sum(items) + 2\n")
RIGHT = block(PRICE, "    return sum(items)\n", "    return round(sum(items), 2)\n")
NOWHERE = block(PRICE, "    return nothing(items)\n", "    return 0\n")


@pytest.mark.parametrize(
    ("reply", "plans"),
    [
        (PLANS, [(2, 80), (1, 60)]),
        ("**Plan 1 (90%):** round", [(1, 90)]),
        ("- Plan 1 (50 %): one\n- Plan 2 (50 %): two\n- Plan 3 (50 %): three", [(1, 50), (2, 50), (3, 50)]),
        ("### Plan 1 (70 %). round\nPlan 1 (75 %): the same again", [(1, 75)]),
        ("My plan (80 %): round", []),
        ("I see no way.", []),
    ],
)
def test_plans_are_read_with_the_surest_first(reply: str, plans: list[tuple[int, int]]) -> None:
    assert [(plan.number, plan.percent) for plan in read_plans(reply, 3)] == plans


def test_no_more_plans_are_taken_than_are_wanted() -> None:
    assert read_plans(PLANS, 1) == (StatedPlan(2, 80, "round where items are added"),)


@given(st.text())
def test_any_reply_can_be_read(reply: str) -> None:
    read_plans(reply, 3)


def repository(folder: Path, n_plans: int = 3) -> Repository:
    root = write_workspace(folder / "work", FILES)
    index = Index(root)
    index.scan()
    given = {"team": {"plans": n_plans, "repairs": 2, "doubt": False}, "experience": {"use": "keep"}}
    settings, problems = read_settings(given, {})
    assert not problems
    snapshot = index.snapshot()
    index.close()
    return Repository(Workspace(root), snapshot, open_store(folder / "rolecall.db"), settings, environment(folder))


async def implemented(at: Repository, *replies: str) -> tuple[Finished, ScriptedModel]:
    model = ScriptedModel(replies)
    request = RunRequest(RoleName.ENGINEER, PRICE, "", "Let total round.")
    finished = await ask_role(request, at, Chosen(model, "the test names it"))
    assert len(model.asked) == len(replies)
    return finished, model


async def test_the_surest_plan_is_carried_out_and_named_in_the_proposal(tmp_path: Path) -> None:
    finished, model = await implemented(repository(tmp_path), PLANS, f"I round.\n\n{RIGHT}")
    assert finished.proposal.rationale == "Plan 2 (80 %): round where items are added\n\nI round."
    asked, carried_out = model.asked
    assert asked[-1].text.endswith("Write no code and no edits yet.")
    assert [one.role for one in carried_out] == ["system", "user", "assistant", "user"]
    assert carried_out[-1].text.startswith("Carry out plan 2 now")


async def test_a_plan_whose_attempts_are_spent_is_given_up_and_the_next_begins_anew(tmp_path: Path) -> None:
    at = repository(tmp_path)
    finished, model = await implemented(at, PLANS, WRONG, STILL_WRONG, RIGHT)
    assert finished.proposal.rationale.startswith("Plan 1 (60 %): round in total")
    (change,) = finished.proposal.files
    assert [line for hunk in change.hunks for line in hunk.new_lines] == ["    return round(sum(items), 2)\n"]
    told = model.asked[3][-1].text
    assert told.startswith("Plan 2 is given up, and what it changed is taken back: tests/test_price.py::test_total_of")
    assert "Carry out plan 1 now" in told
    assert len(model.asked[3]) == 4, "it is a conversation of its own"
    (kept,) = load_experiences(at.store, at.workspace.root)
    assert [(one.kept.number, one.kept.built_on) for one in kept.attempts] == [(1, 0), (2, 1), (3, 0)]


async def test_where_no_plan_works_the_best_is_proposed_with_what_fails(tmp_path: Path) -> None:
    finished, _ = await implemented(repository(tmp_path, 1), PLANS, WRONG, STILL_WRONG, NOWHERE, NOWHERE)
    assert finished.proposal.evidence.after is not None
    assert finished.proposal.evidence.after.failed == 1


REDUCED = "def reduced(items):\n    return discount(sum(items), 0.5)\n"
PART = (
    block(PRICE, "", f"\n\n{REDUCED}")
    + block(TEST, "from shop.price import total\n", "from shop.price import reduced, total\n")
    + block(TEST, "", "\n\ndef test_reduced_is_half():\n    assert reduced([4]) == 2\n")
)
MEANT_SO = block(TEST, "", "\n\ndef test_total_is_one_more():\n    assert total([1]) == 2\n")
WITH_A_PART = WRONG + PART + MEANT_SO


async def test_what_passing_tests_ran_of_a_plan_that_is_given_up_is_offered_to_the_next(tmp_path: Path) -> None:
    _, model = await implemented(repository(tmp_path), PLANS, WITH_A_PART, STILL_WRONG, RIGHT)
    told = model.asked[3][-1].text
    called, kept = (
        told.index("- shop/price.py: `def discount(price, rate=0.1)`"),
        told.index("shop/price.py::reduced\n"),
    )
    assert called < kept, "the repository's own functions come first"
    assert REDUCED.rstrip() in told
    assert "def total" not in told, "a test that fails ran it, beside one that passes"
    assert told.index("Plan 2 is given up") < called
    assert kept < told.index("Carry out plan 1 now")


async def test_what_is_offered_has_an_end(tmp_path: Path) -> None:
    long = WITH_A_PART.replace(
        "    return discount", "".join(f"    items[{n}:]\n" for n in range(900)) + "    return discount"
    )
    _, model = await implemented(repository(tmp_path), PLANS, long, STILL_WRONG, RIGHT)
    told = model.asked[3][-1].text
    assert "def discount(price, rate=0.1)" in told
    assert "shop/price.py::reduced" not in told
    assert estimate_tokens(told) < 1_700


async def test_what_a_draft_runs_is_not_kept_for_what_stands_in_the_repository(tmp_path: Path) -> None:
    at = repository(tmp_path)
    await implemented(at, PLANS, RIGHT + PART)
    known = recall(at.store, at.workspace.root)
    assert {one.name for one in known.functions} == {"test_total_of_nothing", "total"}


async def test_a_plan_without_an_edit_that_fits_is_given_up_too(tmp_path: Path) -> None:
    finished, model = await implemented(repository(tmp_path), PLANS, NOWHERE, NOWHERE, RIGHT)
    assert finished.proposal.rationale.startswith("Plan 1")
    assert "Plan 2 is given up" in model.asked[3][-1].text


async def test_a_reply_without_plans_costs_one_call_and_code_is_written_at_once(tmp_path: Path) -> None:
    finished, model = await implemented(repository(tmp_path), "It is plain.", RIGHT)
    assert [one.role for one in model.asked[1]] == ["system", "user"]
    assert "First, plans" not in model.asked[1][1].text
    assert not finished.proposal.rationale.startswith("Plan")


async def test_why_nothing_has_to_change_is_told_and_no_other_plan_is_tried(tmp_path: Path) -> None:
    with pytest.raises(NothingToChange):
        await implemented(repository(tmp_path), PLANS, "No change: it rounds already.")


async def test_where_no_plan_comes_to_an_edit_the_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoUsableEdit):
        await implemented(repository(tmp_path), PLANS, *[NOWHERE] * 4)


async def test_nobody_plans_unless_that_is_wanted(tmp_path: Path) -> None:
    _, model = await implemented(repository(tmp_path, 0), RIGHT)
    assert "First, plans" not in model.asked[0][1].text


async def test_all_that_is_asked_about_plans(tmp_path: Path) -> None:
    _, model = await implemented(repository(tmp_path), PLANS, WRONG, STILL_WRONG, RIGHT)
    asked = model.asked[0][-1].text
    told = [asked[asked.index("# First, plans") :], model.asked[1][-1].text, model.asked[3][-1].text]
    assert "\n\n=====\n\n".join(told) + "\n" == external_file("prompts/engineer_plans.txt")
