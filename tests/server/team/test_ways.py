"""The middle way: requirements, one Engineer, tests by somebody who does not see the code, a review."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall_server.cli.arguments import WAYS
from rolecall_server.errors import FileRefused
from rolecall_server.review.proposals.proposal_store import load_proposal
from rolecall_server.team.documents import TestPlan
from rolecall_server.team.messages.board import as_draft, content_of, load_pool, publish
from rolecall_server.team.plan.planning import plan_for, planned_roster
from rolecall_server.team.roles.declarations import RunWay, Verb, find_roles, our_roles, roles_on, roster_of
from rolecall_server.workspace import Workspace
from support.edits import block
from support.shop_team import BRIEF, RECEIPT, REQUIREMENTS, TAX, TESTS, shop_speeches
from support.stores import open_store
from support.team_model import TeamModel, fenced
from support.team_run import TeamRun, team_run
from support.workspaces import write_workspace

MIDDLE = ("product_manager", "engineer", "qa_engineer", "reviewer")


def middle_run(folder: Path, model: TeamModel) -> TeamRun:
    """A run of the shop in the middle way, about to begin."""
    return team_run(folder, model).begin(BRIEF, way=RunWay.MIDDLE)


def middle_model(**others: str) -> TeamModel:
    """A team whose one Engineer does both tasks of the shop at once."""
    return TeamModel(shop_speeches(**{"Engineer": f"Both.\n\n{TAX}\n{RECEIPT}", **others}))


# Who works that way


def test_the_command_line_knows_every_way() -> None:
    assert tuple(RunWay) == WAYS


def test_a_role_has_the_duties_of_the_way_and_its_others_as_ever() -> None:
    engineer = our_roles()["engineer"]
    assert [duty.does for duty in engineer.on(RunWay.MIDDLE).duty] == [
        Verb.ANSWER,
        Verb.PROPOSE,
        Verb.IMPLEMENT,
        Verb.INTEGRATE,
    ]
    assert all(duty.way is None for duty in engineer.on(RunWay.TEAM).duty)
    assert not any("task list" in duty.reads for duty in roster_of(our_roles(), MIDDLE, RunWay.MIDDLE)["reviewer"].duty)


def test_a_role_of_the_repository_joins_a_way_by_a_duty(tmp_path: Path) -> None:
    files = {
        ".rolecall/roles/security.toml": 'title = "Security"\ngoal = "No holes."\n[[duty]]\ndoes = "write"\n'
        'way = "middle"\nwatches = ["change"]\npublishes = ["review"]\n',
        ".rolecall/roles/security.md": "Look.",
    }
    found = find_roles(Workspace(write_workspace(tmp_path / "work", files)))
    assert found is not None
    assert roles_on(RunWay.MIDDLE, {**our_roles(), **found.roles}) == (*MIDDLE, "security")
    assert roles_on(RunWay.ENGINEER, {**our_roles(), **found.roles}) == ("engineer",)


def test_a_duty_outlines_only_what_it_watches(tmp_path: Path) -> None:
    profile = 'title = "x"\ngoal = "x"\n[[duty]]\ndoes = "test"\noutlines = ["edits"]\npublishes = ["tests"]\n'
    root = write_workspace(tmp_path / "work", {".rolecall/roles/odd.toml": profile, ".rolecall/roles/odd.md": "x"})
    with pytest.raises(FileRefused, match="it outlines edits, which it does not watch"):
        find_roles(Workspace(root))


def test_a_run_that_an_earlier_rolecall_planned_goes_on_as_the_whole_team(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    run_id = store.add_run(tmp_path, "team", "", "A tax.")
    publish(store, run_id, "team", as_draft("plan", {"roles": list(MIDDLE), "why": "You chose them."}))
    roster = planned_roster(load_pool(store, run_id), our_roles())
    assert all(duty.way is None for role in roster.values() for duty in role.duty)


# What happens


async def test_four_calls_lead_from_a_brief_to_a_proposal_with_tests(tmp_path: Path) -> None:
    model = middle_model()
    run = middle_run(tmp_path, model)
    ended = await run.go_on()
    assert (ended.state, model.asked) == ("finished", ["Product Manager", "Engineer", "QA Engineer", "Reviewer"])
    proposal = load_proposal(run.store, ended.proposal_id).proposal
    assert {file.path for file in proposal.files} == {"shop/price.py", "shop/receipt.py", "tests/test_tax.py"}
    assert {one for _, hunk in proposal.hunks() for one in hunk.serves} == {"R1", "R2", "T1"}
    plan = run.pool.latest("test plan", "S1")
    assert plan is not None
    assert [case.verifies for case in content_of(plan, TestPlan).cases] == [("R1",), ("R2",)]


async def test_what_is_to_be_tested_is_the_code_that_changes_most_and_no_document(tmp_path: Path) -> None:
    files = {"README.md": "# Shop\n", "setup.py": "NAME = 'shop'\n"}
    written = block("README.md", "# Shop\n", "# Shop with tax\n") + block("setup.py", "NAME = 'shop'\n", "NAME = 's'\n")
    model = middle_model(Engineer=f"Both.\n\n{written}\n{TAX}\n{RECEIPT}")
    run = middle_run(tmp_path, model)
    write_workspace(run.root, files)
    await run.go_on()
    assert "shop/price.py (what is to be tested" in model.told("QA Engineer")


async def test_the_qa_engineer_sees_signatures_and_docstrings_and_no_body(tmp_path: Path) -> None:
    model = middle_model()
    await middle_run(tmp_path, model).go_on()
    told = model.told("QA Engineer")
    assert "def total(items, tax=0)" in told
    assert "The sum of the prices, with tax." in told
    assert "def receipt(items)" in told
    assert "total([100], tax=0.5) == 150" in told, "the requirement"
    assert "(1 + tax)" not in told
    assert 'f"total: ' not in told
    assert "Both." not in told, "nor what the Engineer says of the code"


async def test_the_engineer_alone_may_have_tests_of_somebody_who_sees_the_brief_and_signatures(tmp_path: Path) -> None:
    model = middle_model()
    run = team_run(tmp_path, model).begin(BRIEF, roles=("engineer", "qa_engineer"))
    ended = await run.go_on()
    assert (ended.state, model.asked) == ("finished", ["Engineer", "QA Engineer"])
    told = model.told("QA Engineer")
    assert BRIEF in told
    assert "def total(items, tax=0)" in told
    assert "(1 + tax)" not in told
    assert "tests/test_tax.py" in {file.path for file in load_proposal(run.store, ended.proposal_id).proposal.files}


async def test_the_engineer_is_told_what_is_wanted_and_that_another_writes_the_tests(tmp_path: Path) -> None:
    model = middle_model()
    await middle_run(tmp_path, model).go_on()
    told = model.told("Engineer")
    assert BRIEF in told
    assert "total([100], tax=0.5) == 150" in told
    assert "The QA Engineer writes the tests of it" in told
    assert "task list" not in told, "a list with one task tells nobody anything"


async def test_the_developers_answers_reach_everybody(tmp_path: Path) -> None:
    question = {"id": "Q1", "title": "Is the tax in the price?", "options": ["yes", "no"], "recommended": "no"}
    model = middle_model(Product_Manager=fenced({**REQUIREMENTS, "questions": [question]}))
    await middle_run(tmp_path, model).go_on()
    assert all("Is the tax in the price?" in model.told(who) for who in ("Engineer", "QA Engineer", "Reviewer"))


async def test_the_engineer_may_change_any_file_of_the_code_and_a_test_that_the_brief_contradicts(
    tmp_path: Path,
) -> None:
    rewritten = block("tests/test_price.py", "", "def test_nothing():\n    assert True\n")
    more = block("tests/test_price.py", "def test_nothing():\n", "def test_one():\n    pass\n\n\ndef test_nothing():\n")
    cart = block("shop/cart.py", "    return total(cart)\n", "    return total(cart) + 0\n")
    model = middle_model(Engineer=f"All.\n\n{TAX}\n{RECEIPT}\n{cart}\n{rewritten}", QA_Engineer=f"{TESTS}\n{more}")
    run = middle_run(tmp_path, model)
    ended = await run.go_on()
    assert model.asked.count("Engineer") == model.asked.count("QA Engineer") == 1, "nobody is refused anything"
    files = {file.path: file for file in load_proposal(run.store, ended.proposal_id).proposal.files}
    assert {"shop/cart.py", "tests/test_price.py"} <= files.keys()
    assert "def test_nothing()" in model.told("QA Engineer"), "the tests as the Engineer leaves them"


async def test_what_the_engineer_writes_the_qa_engineer_leaves_alone(tmp_path: Path) -> None:
    own = block("shop/receipt.py", "", "def receipt(items):\n    return 'mine'\n")
    model = middle_model(QA_Engineer=f"{TESTS}\n{own}")
    run = middle_run(tmp_path, model)
    ended = await run.go_on()
    texts = run.pool.latest("change", "S1")
    assert ended.state == "finished"
    assert texts is not None
    assert "mine" not in texts.body


async def test_findings_of_the_review_are_answered(tmp_path: Path) -> None:
    finding = {
        "id": "F1",
        "title": "tax has no bound",
        "severity": "minor",
        "file": "shop/price.py",
        "first_line": 1,
        "last_line": 1,
        "rests_on": "R1",
    }
    review = {"title": "One", "summary": "One thing.", "findings": [finding]}
    model = middle_model(Reviewer=fenced(review), Engineer_answer="ANSWER F1: declined: nobody asked for one")
    run = middle_run(tmp_path, model)
    assert (await run.go_on()).state == "finished"
    assert model.asked[-1] == "Engineer answer"


@pytest.mark.parametrize(("way", "n_calls"), [(RunWay.ENGINEER, 1), (RunWay.MIDDLE, 5), (RunWay.TEAM, 9)])
def test_the_plan_says_what_each_way_would_take(way: RunWay, n_calls: int) -> None:
    from rolecall_server.settings import Settings

    plan = plan_for("word " * 301, our_roles(), Settings(), way=way)
    assert (plan.way, plan.estimate.calls) == (way, n_calls)
    assert plan.why.endswith("(301 words, 1 wish).")
    assert plan.costs.startswith("Each way may take about: engineer 1 call, ")
    assert "; middle 5 calls, " in plan.costs
    assert "; team 9 calls, " in plan.costs
