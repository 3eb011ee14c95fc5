"""A run of the team from its brief to a proposal: who acts when, what is done again and what is not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rolecall_analysis.retrieval import Corpus
from rolecall_server.craft.edits.replies import is_answer
from rolecall_server.errors import ConnectionFailed, DocumentUnusable, KeyRefused, NoUsableEdit
from rolecall_server.model import NO_WISHES, ChatMessage, Chosen, Parameters, Reply, Wishes
from rolecall_server.review.proposals.proposal import HunkState
from rolecall_server.review.proposals.proposal_store import decide, load_proposal, put_aside
from rolecall_server.settings import BudgetSettings, Settings
from rolecall_server.store.usage import usage
from rolecall_server.team.control import Control
from rolecall_server.team.documents import Kind, Question, Requirements, Review, SprintReview, TestPlan, render
from rolecall_server.team.documents.links.linking import check_links
from rolecall_server.team.engine.reworking import branch_with, edit_document, rerun
from rolecall_server.team.engine.scheduler import carry_out_run
from rolecall_server.team.messages.board import body_of, content_of, load_pool
from rolecall_server.team.messages.rendering import document_in
from rolecall_server.team.plan.planning import LEAN
from rolecall_server.team.roles.declarations import our_roles
from rolecall_server.team.room import Developer
from rolecall_server.team.sprint.edit_scope import read_wishes
from rolecall_server.team.sprint.proposing import missing_tasks, take_up_missing, work_to_redo
from rolecall_server.workspace import Workspace
from support.edits import block
from support.patience import PATIENCE_S
from support.scripted_model import ScriptedModel
from support.shop_team import BRIEF, DESIGN, RECEIPT, REQUIREMENTS, TASKS, TAX, TESTS, shop_speeches
from support.team_model import TeamModel, fenced
from support.team_run import TeamRun, team_run
from support.workspaces import FILES

SPRINTS = [{"id": "S1", "title": "the tax", "tasks": ["T1"]}, {"id": "S2", "title": "the receipt", "tasks": ["T2"]}]
UNTESTED = {"tests": {"run": False}}
ALONE = ["product_manager", "architect", "project_manager", "engineer"]


def asked_after(model: TeamModel, n_before: int) -> list[str]:
    return sorted(model.asked[n_before:])


# From the brief to the proposal


async def test_each_role_asks_the_model_that_is_set_for_it_and_the_ledger_has_that_models_prices(
    tmp_path: Path,
) -> None:
    settings = Settings.model_validate(
        {
            "model": {"promptPrice": 1, "completionPrice": 2},
            "roles": {
                "architect": {"model": "deep", "temperature": 0.1, "promptPrice": 30, "completionPrice": 60},
                "engineer": {"replyTokens": 900},
            },
        }
    )
    model = TeamModel(shop_speeches())
    run = team_run(tmp_path, model, settings=settings).begin(BRIEF)
    assert (await run.go_on()).state == "finished"
    asked = {who.split()[0]: wishes.parameters for who, wishes in zip(model.asked, model.wishes, strict=True)}
    assert asked["Architect"] == Parameters(model="deep", temperature=0.1)
    assert asked["Engineer"] == Parameters(reply_tokens=900)
    assert asked["Reviewer"] == Parameters()
    money = {used.group[0]: used.nanos for used in usage(run.store, ["role"])}
    assert money["architect"] == 100 * 30_000 + 50 * 60_000
    assert money["reviewer"] == 100 * 1_000 + 50 * 2_000


async def test_a_brief_goes_through_all_roles_to_one_proposal(tmp_path: Path) -> None:
    model = TeamModel(shop_speeches())
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    assert (ended.state, ended.proposal_id, ended.errors) == ("finished", "p1", ())
    assert run.store.run(run.run_id).state == "finished"
    story = run.story
    assert story[:7] == [
        "team plan v1",
        "developer brief v1",
        "product_manager requirements v1",
        "team answers v1",
        "architect design v1",
        "project_manager task list v1",
        "team change plan S1 v1",
    ]
    assert sorted(story[7:11]) == [
        "engineer edits S1/T1 v1",
        "engineer edits S1/T2 v1",
        "qa_engineer test plan S1 v1",
        "qa_engineer tests S1 v1",
    ]
    assert story[11:] == [
        "engineer change S1 v1",
        "engineer execution report S1 v1",
        "reviewer review S1/reviewer v1",
        "engineer answered S1 v1",
        "engineer proposal S1 v1",
    ]
    assert len(model.asked) == 7


async def test_the_words_of_the_repository_are_read_once_for_all_roles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    class Counted(Corpus):
        def __init__(self, root: Path) -> None:
            super().__init__(root)
            read.append(root)

    monkeypatch.setattr("rolecall_server.team.request.Corpus", Counted)
    monkeypatch.setattr("rolecall_server.context.found.Corpus", Counted)
    run = team_run(tmp_path, TeamModel(shop_speeches())).begin(BRIEF)
    await run.go_on()
    assert read == [run.root]


async def test_each_hunk_says_which_task_and_requirement_it_is_there_for(tmp_path: Path) -> None:
    run = team_run(tmp_path, TeamModel(shop_speeches())).begin(BRIEF)
    await run.go_on()
    proposal = load_proposal(run.store, "p1").proposal
    assert {(change.path, hunk.symbol): hunk.serves for change, hunk in proposal.hunks()} == {
        ("shop/price.py", "total"): ("T1", "R1"),
        ("shop/receipt.py", ""): ("T2", "R2"),
        ("shop/receipt.py", "receipt"): ("T2", "R2"),
        ("tests/test_tax.py", ""): ("R1", "R2"),
        ("tests/test_tax.py", "test_tax_is_added"): ("R1",),
        ("tests/test_tax.py", "test_receipt_names_the_total"): ("R2",),
    }


async def test_who_published_what_because_of_what_and_who_read_it_is_known(tmp_path: Path) -> None:
    run = team_run(tmp_path, TeamModel(shop_speeches())).begin(BRIEF)
    await run.go_on()
    pool = run.pool
    design, tasks = pool.latest(Kind.DESIGN), pool.latest(Kind.TASK_LIST)
    assert design is not None
    assert tasks is not None
    assert design.sender == "architect"
    assert {pool.message(number).kind for number in design.because} == {"brief", "requirements", "answers"}
    assert set(pool.readers[tasks.id]) == {"team", "engineer", "qa_engineer", "reviewer"}
    assert [message.kind for message in run.messages] == [message.kind for message in pool.messages[2:]]


class Meeting(TeamModel):
    """Answers the Engineer and the QA Engineer once all three of their conversations have begun."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.barrier = asyncio.Barrier(3)

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        reply = await super().complete(messages, wishes)
        if self.asked[-1].startswith(("Engineer", "QA")):
            await asyncio.wait_for(self.barrier.wait(), PATIENCE_S)
        return reply


async def test_tasks_that_do_not_need_each_other_are_done_at_the_same_time_as_their_tests(tmp_path: Path) -> None:
    run = team_run(tmp_path, Meeting(shop_speeches())).begin(BRIEF)
    assert (await run.go_on()).errors == ()


async def test_no_more_are_at_work_at_once_than_the_settings_allow(tmp_path: Path) -> None:
    settings = Settings.model_validate({"team": {"atOnce": 1}})
    model = TeamModel(shop_speeches(), latency_s=0.01)
    run = team_run(tmp_path, model, settings=settings).begin(BRIEF)
    assert (await run.go_on()).errors == ()
    assert model.most_at_once == 1


async def test_a_task_sees_what_the_tasks_it_needs_have_done(tmp_path: Path) -> None:
    tasks = {**TASKS, "tasks": [TASKS["tasks"][0], {**TASKS["tasks"][1], "needs": ["T1"]}]}
    model = TeamModel(shop_speeches(Project_Manager=fenced(tasks)))
    run = team_run(tmp_path, model).begin(BRIEF)
    assert (await run.go_on()).errors == ()
    assert "def total(items, tax=0):" in model.told("Engineer T2")


async def test_tasks_that_change_the_same_file_are_done_one_after_the_other(tmp_path: Path) -> None:
    tasks = {**TASKS, "tasks": [TASKS["tasks"][0], {**TASKS["tasks"][1], "files": ["shop/price.py"]}]}
    second = block("shop/price.py", "def discount(price, rate=0.1):\n", "def discount(price, rate=0.2):\n")
    model = TeamModel(shop_speeches(Project_Manager=fenced(tasks), Engineer_T2=second))
    run = team_run(tmp_path, model).begin(BRIEF, ALONE)
    ended = await run.go_on()
    assert ended.errors == ()
    change = load_proposal(run.store, ended.proposal_id).proposal.change_of("shop/price.py")
    assert change is not None
    assert len(change.hunks) == 2


async def test_a_small_team_needs_no_documents(tmp_path: Path) -> None:
    model = TeamModel({"Engineer": TAX})
    run = team_run(tmp_path, model).begin("Let total take a tax.", ["engineer"])
    ended = await run.go_on()
    assert (ended.state, model.asked) == ("finished", ["Engineer"])
    assert load_proposal(run.store, ended.proposal_id).proposal.title == "Let total take a tax."


async def test_a_role_alone_leaves_its_document(tmp_path: Path) -> None:
    run = team_run(tmp_path, TeamModel(shop_speeches())).begin(BRIEF, ["architect"])
    ended = await run.go_on()
    assert (ended.state, ended.proposal_id) == ("finished", "")
    assert run.story == ["team plan v1", "developer brief v1", "architect design v1"]


# The fence around a task


async def test_files_outside_the_design_are_refused(tmp_path: Path) -> None:
    cart = block("shop/cart.py", "    return total(cart)\n", "    return total(cart, 0)\n")
    model = TeamModel(shop_speeches(Engineer_T1=[cart, TAX]))
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    assert load_proposal(run.store, ended.proposal_id).proposal.change_of("shop/cart.py") is None
    again = [talk for who, talk in zip(model.asked, model.conversations, strict=True) if who == "Engineer T1"][1]
    assert "shop/cart.py is not among the files of T1 (shop/price.py)" in again[-1].text


async def test_the_engineer_may_ask_for_a_file_outside_the_design_and_the_proposal_says_so(tmp_path: Path) -> None:
    cart = block("shop/cart.py", "    return total(cart)\n", "    return total(cart, 0)\n")
    widened = f"WIDEN: shop/cart.py: its call must name the tax\n\n{TAX}\n{cart}"
    run = team_run(tmp_path, TeamModel(shop_speeches(Engineer_T1=widened))).begin(BRIEF)
    ended = await run.go_on()
    proposal = load_proposal(run.store, ended.proposal_id).proposal
    assert proposal.change_of("shop/cart.py") is not None
    (note,) = proposal.evidence.notes
    assert note == "shop/cart.py is outside the design; the Engineer asked to change it: its call must name the tax"
    assert "WIDEN" not in proposal.rationale


async def test_a_file_of_another_task_stays_its_own(tmp_path: Path) -> None:
    greedy = f"WIDEN: shop/receipt.py: I am at it\n\n{TAX}\n{RECEIPT}"
    model = TeamModel(shop_speeches(Engineer_T1=[greedy, TAX, TAX]))
    run = team_run(tmp_path, model).begin(BRIEF)
    await run.go_on()
    again = [talk for who, talk in zip(model.asked, model.conversations, strict=True) if who == "Engineer T1"][1]
    assert "shop/receipt.py belongs to T2" in again[-1].text


async def test_tests_belong_to_the_qa_engineer(tmp_path: Path) -> None:
    meddling = f"{TAX}\n{TESTS}"
    model = TeamModel(shop_speeches(Engineer_T1=[meddling, TAX, TAX]))
    run = team_run(tmp_path, model).begin(BRIEF)
    await run.go_on()
    again = [talk for who, talk in zip(model.asked, model.conversations, strict=True) if who == "Engineer T1"][1]
    assert "tests/test_tax.py is for tests, which the QA Engineer writes" in again[-1].text


async def test_tests_that_the_qa_engineer_has_written_already_are_refused_for_the_same_reason(tmp_path: Path) -> None:
    model = TeamModel(shop_speeches(Engineer_T1=[f"{TAX}\n{TESTS}", TAX, TAX]))
    run = team_run(tmp_path, model).begin(BRIEF)
    model.waits["Engineer T1"] = lambda: bool(run.pool.of_kind("tests"))
    await run.go_on()
    again = [talk for who, talk in zip(model.asked, model.conversations, strict=True) if who == "Engineer T1"][1]
    assert "tests/test_tax.py is for tests, which the QA Engineer writes" in again[-1].text


NAMED_LIKE_A_TEST = "shop/utils/test_utils.py"


def asks_for_test_utils(edits: str) -> TeamModel:
    """A team whose second task makes a product module with a test's name."""
    design = {**DESIGN, "files_to_add": [*DESIGN["files_to_add"], {"path": NAMED_LIKE_A_TEST, "what": "for callers"}]}
    tasks = {
        **TASKS,
        "tasks": [TASKS["tasks"][0], {**TASKS["tasks"][1], "files": ["shop/receipt.py", NAMED_LIKE_A_TEST]}],
    }
    said = shop_speeches(Architect=fenced(design), Project_Manager=fenced(tasks), Engineer_T2=f"{RECEIPT}\n{edits}")
    return TeamModel(said)


async def test_a_product_file_named_like_a_test_is_the_engineers_where_a_task_names_it(tmp_path: Path) -> None:
    model = asks_for_test_utils(block(NAMED_LIKE_A_TEST, "", "def make_items():\n    return [1]\n"))
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    assert ended.errors == ()
    assert load_proposal(run.store, ended.proposal_id).proposal.change_of(NAMED_LIKE_A_TEST) is not None
    assert model.asked.count("Engineer T2") == 1, "nothing was refused"


async def test_the_qa_engineer_is_told_that_a_file_of_a_task_is_not_its_own(tmp_path: Path) -> None:
    model = asks_for_test_utils(block(NAMED_LIKE_A_TEST, "", "def make_items():\n    return [1]\n"))
    meddling = TESTS + "\n" + block(NAMED_LIKE_A_TEST, "", "def test_it(): ...\n")
    model.speeches = {**model.speeches, "QA Engineer": [meddling, TESTS]}
    run = team_run(tmp_path, model).begin(BRIEF)
    assert (await run.go_on()).errors == ()
    again = [talk for who, talk in zip(model.asked, model.conversations, strict=True) if who == "QA Engineer"][1]
    assert f"{NAMED_LIKE_A_TEST} is the Engineer's, who does T2" in again[-1].text


async def test_what_tests_need_beside_them_is_the_qa_engineers(tmp_path: Path) -> None:
    beside = {
        "tests/conftest.py": "import pytest\n",
        "tests/__init__.py": '"""Tests."""\n',
        "tests/data/one.json": "1\n",
    }
    said = TESTS + "".join(f"\n{block(path, '', text)}" for path, text in beside.items())
    model = TeamModel(shop_speeches(QA_Engineer=said))
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    assert ended.errors == ()
    proposal = load_proposal(run.store, ended.proposal_id).proposal
    assert all(proposal.change_of(path) for path in beside)
    assert model.asked.count("QA Engineer") == 1, "nothing was refused"


async def test_a_test_file_that_the_design_does_not_name_may_be_asked_for_too(tmp_path: Path) -> None:
    price = block("tests/test_price.py", "    assert total([]) == 0\n", "    assert total([], tax=1) == 0\n")
    model = TeamModel(shop_speeches(Engineer_T1=f"{TAX}\n{price}\nWIDEN: tests/test_price.py: it names the tax now"))
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    assert load_proposal(run.store, ended.proposal_id).proposal.change_of("tests/test_price.py") is not None
    assert model.asked.count("Engineer T1") == 1


@pytest.mark.parametrize(
    ("line", "wishes"),
    [
        ("WIDEN: shop/cart.py: it calls it", {"shop/cart.py": "it calls it"}),
        ("`WIDEN: shop/cart.py: it calls it`", {"shop/cart.py": "it calls it"}),
        ("- **WIDEN:** `shop/cart.py`: it calls it", {"shop/cart.py": "it calls it"}),
        ("WIDEN: shop/cart.py - it calls it", {"shop/cart.py": "it calls it"}),
        ("WIDEN: shop/cart.py \N{EM DASH} it calls it", {"shop/cart.py": "it calls it"}),
        ("WIDEN: shop/cart.py (it calls it)", {"shop/cart.py": "it calls it"}),
        ("WIDEN: ./shop/cart.py", {"shop/cart.py": "no reason given"}),
        (
            "WIDEN: a.py, `b.py` and c/Makefile: all do",
            dict.fromkeys(("a.py", "b.py", "c/Makefile"), "all do"),
        ),
        ("WIDEN: a b/c.py: a path with a space", {"a b/c.py": "a path with a space"}),
        (block("a.py", "", "WIDEN: b.py: no wish, but a line of a file"), {}),
        ("I would widen the shop: it is small.", {}),
    ],
)
def test_files_are_asked_for_in_any_usual_form(line: str, wishes: dict[str, str]) -> None:
    assert read_wishes(f"I add the tax.\n\n{line}\n") == wishes


async def test_who_only_asks_for_a_file_is_answered_before_it_sends_its_edits(tmp_path: Path) -> None:
    cart = block("shop/cart.py", "    return total(cart)\n", "    return total(cart, 0)\n")
    wish = "WIDEN: shop/cart.py, shop/receipt.py: they call it"
    model = TeamModel(shop_speeches(Engineer_T1=[wish, f"{TAX}\n{cart}"]))
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    assert load_proposal(run.store, ended.proposal_id).proposal.change_of("shop/cart.py") is not None
    again = [talk for who, talk in zip(model.asked, model.conversations, strict=True) if who == "Engineer T1"][1]
    assert again[-1].text == (
        "You may change shop/cart.py as well. shop/receipt.py belongs to T2, which may be at work on it. Leave it out."
        "\n\n"
        f"## shop/cart.py\n\n````\n{(run.root / 'shop/cart.py').read_text().rstrip()}\n````\n\n"
        "Send the edits now."
    )


async def test_the_qa_engineer_writes_the_tests_without_having_seen_the_code(tmp_path: Path) -> None:
    model = TeamModel(shop_speeches())
    run = team_run(tmp_path, model).begin(BRIEF)
    await run.go_on()
    assert "tax=0)" not in model.told("QA Engineer")
    assert "sum(items) * (1 + tax)" not in model.told("QA Engineer")


async def test_a_test_that_covers_no_requirement_is_shown_as_such(tmp_path: Path) -> None:
    uncovered = TESTS.replace("COVERS: tests/test_tax.py::test_receipt_names_the_total R2 (basic): the total\n", "")
    run = team_run(tmp_path, TeamModel(shop_speeches(QA_Engineer=uncovered))).begin(BRIEF)
    await run.go_on()
    message = run.pool.latest(Kind.TEST_PLAN, "S1")
    assert message is not None
    assert [str(flaw.what) for flaw in check_links(document_in(message), ())] == ["C2 verifies no requirement"]
    assert content_of(message, TestPlan).cases[1].test == "tests/test_tax.py::test_receipt_names_the_total"
    hunks = load_proposal(run.store, "p1").proposal.hunks()
    assert [hunk.serves for _, hunk in hunks if hunk.symbol == "test_receipt_names_the_total"] == [()]


async def test_tests_that_were_there_before_are_not_part_of_the_plan(tmp_path: Path) -> None:
    more = block("tests/test_price.py", "", "def test_total_takes_a_tax():\n    assert total([2], 0.5) == 3\n")
    covers = "COVERS: tests/test_price.py::test_total_takes_a_tax R1 (basic): 3\n\n"
    run = team_run(tmp_path, TeamModel(shop_speeches(QA_Engineer=covers + more))).begin(BRIEF)
    await run.go_on()
    message = run.pool.latest(Kind.TEST_PLAN, "S1")
    assert message is not None
    assert [case.test for case in content_of(message, TestPlan).cases] == [
        "tests/test_price.py::test_total_takes_a_tax"
    ]


# Answers without an edit


async def test_a_refused_edit_is_told_of_once(tmp_path: Path) -> None:
    model = TeamModel(shop_speeches(Engineer_T1=[f"{TAX}\n{RECEIPT}", RECEIPT]))
    run = team_run(tmp_path, model).begin(BRIEF)
    assert (await run.go_on()).errors == ()
    assert model.asked.count("Engineer T1") == 2
    talks = [talk for who, talk in zip(model.asked, model.conversations, strict=True) if who == "Engineer T1"]
    assert talks[-1][-1].text == (
        "These edits are not yours to make:\n\n"
        "About block 2 of 2:\n"
        "- shop/receipt.py belongs to T2, which may be at work on it. Leave it out.\n\n"
        "Send the edits that take their place; where there are none, a line `No change: why`.\n\n"
        "Applied already, and not to be sent again: block 1 of 2."
    )


async def test_a_task_for_which_nothing_has_to_change_is_answered_with_the_reason(tmp_path: Path) -> None:
    why = "`No change: T1 prints it already.`"
    model = TeamModel(shop_speeches(Engineer_T2=why, Engineer_repair=why))
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    assert ended.errors == ()
    assert model.asked.count("Engineer T2") == 1
    assert "No change: T1 prints it already." in load_proposal(run.store, ended.proposal_id).proposal.rationale


async def test_a_sprint_of_which_nothing_can_be_tested_goes_without_tests(tmp_path: Path) -> None:
    model = TeamModel(shop_speeches(QA_Engineer="No change: only the README changes."))
    run = team_run(tmp_path, model).begin(BRIEF)
    assert (await run.go_on()).errors == ()
    assert model.asked.count("QA Engineer") == 1


async def test_a_sprint_in_which_nothing_changes_says_so(tmp_path: Path) -> None:
    speeches = {"Engineer_T1": "No change: it does.", "Engineer_T2": "No change: it is there."}
    model = TeamModel(shop_speeches(**speeches, Engineer_repair="No change: it is there."))
    run = team_run(tmp_path, model).begin(BRIEF, ALONE)
    ended = await run.go_on()
    assert isinstance(ended.error, NoUsableEdit)
    assert ended.error.what == "Nothing changes in S1: No change: it does. No change: it is there."


BROKEN = TAX.replace("items, tax=0", "items, tax")
"""Leaves the call in shop/cart.py without its tax."""


async def test_a_finding_alone_ends_a_repair(tmp_path: Path) -> None:
    finding = "Finding: test_total_of_nothing: it has to name a tax by R1."
    model = TeamModel(shop_speeches(Engineer_T1=[BROKEN, finding], Engineer_repair=finding))
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    assert (model.asked.count("Engineer T1"), model.asked.count("Engineer repair")) == (2, 1)
    assert load_proposal(run.store, ended.proposal_id).proposal.rationale.count(finding) == 1


async def test_a_repair_may_change_the_file_that_the_change_breaks(tmp_path: Path) -> None:
    cart = block("shop/cart.py", "    return total(cart)\n", "    return total(cart, 0)\n")
    line = '    return f"total: {total(items)}"\n'
    test = block("tests/test_price.py", "    assert total([]) == 0\n", "    assert total([], 0) == 0\n")
    every = "\n".join((cart, test, block("shop/receipt.py", line, line.replace("(items)", "(items, 0)"))))
    model = TeamModel(shop_speeches(Engineer_T1=[BROKEN, "No change: cart.py is not mine."], Engineer_repair=every))
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    assert model.asked.count("Engineer repair") == 1
    assert load_proposal(run.store, ended.proposal_id).proposal.change_of("shop/cart.py") is not None


async def test_who_needs_another_file_for_a_repair_is_shown_it(tmp_path: Path) -> None:
    wish = "WIDEN: pyproject.toml: the version changes with the call"
    cart = block("shop/cart.py", "    return total(cart)\n", "    return total(cart, 0)\n")
    version = block("pyproject.toml", 'version = "1"\n', 'version = "2"\n')
    model = TeamModel(
        shop_speeches(
            Engineer_T1=[BROKEN, "No change: cart.py is not mine."], Engineer_repair=[wish, f"{cart}\n{version}"]
        )
    )
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    again = [talk for who, talk in zip(model.asked, model.conversations, strict=True) if who == "Engineer repair"][1]
    assert again[-1].text.startswith("You may change pyproject.toml as well.\n\n## pyproject.toml\n\n````\n[project]\n")
    proposal = load_proposal(run.store, ended.proposal_id).proposal
    assert {change.path for change in proposal.files} >= {"shop/cart.py", "pyproject.toml"}


async def test_a_file_that_a_task_names_and_nobody_made_is_asked_for_before_the_review(tmp_path: Path) -> None:
    model = TeamModel(shop_speeches(Engineer_T2="No change: somebody else does it.", Engineer_repair=RECEIPT))
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    assert ended.errors == ()
    assert "- The tasks name shop/receipt.py, and nobody has made it." in model.told("Engineer repair")
    assert load_proposal(run.store, ended.proposal_id).proposal.change_of("shop/receipt.py") is not None


@pytest.mark.parametrize(
    "reply",
    [
        "Finding: test_tax: it should be 150 by R1.",
        "I looked at it.\n\n- **Finding:** test_tax: it should be 150.",
        "ANSWER F1: declined: it may be.",
        "`No change: T1 did it.`",
    ],
)
def test_a_reply_that_says_why_there_is_no_edit_is_an_answer(reply: str) -> None:
    assert is_answer(reply, was_asked_again=False)
    assert not is_answer(f"{reply}\n\n{TAX}", was_asked_again=False), "edits are to be made"
    assert not is_answer("I would change total so that it takes a tax.", was_asked_again=False)


# Questions


QUESTION = {"id": "Q1", "title": "Is the tax in the price?", "options": ["yes", "no"], "recommended": "no"}
OPEN = {**REQUIREMENTS, "questions": [QUESTION]}


async def test_the_developer_is_not_shown_the_lines_that_were_for_us(tmp_path: Path) -> None:
    covers = "".join(f"COVERS: tests/test_tax.py::test_{number} R1 (basic): it is told\n" for number in range(99))
    model = TeamModel(shop_speeches(QA_Engineer=f"I test the tax.\n{covers}{TESTS}"))
    run = team_run(tmp_path, model).begin(BRIEF)
    proposal = load_proposal(run.store, (await run.go_on()).proposal_id).proposal
    assert "I test the tax." in proposal.rationale
    assert "COVERS" not in proposal.rationale


async def test_a_role_reads_all_that_the_team_wrote_however_long(tmp_path: Path) -> None:
    wordy = fenced(
        {**REQUIREMENTS, "assumptions": [f"{number} is a number as good as others" for number in range(300)]}
    )
    settings = Settings.model_validate({"model": {"contextTokens": 1000}})
    model = TeamModel(shop_speeches(Product_Manager=wordy))
    ended = await team_run(tmp_path, model, settings=settings).begin(BRIEF).go_on()
    assert ended.errors == ()
    assert "299 is a number" in model.told("Reviewer")


async def test_silence_keeps_what_was_recommended_and_says_so(tmp_path: Path) -> None:
    model = TeamModel(shop_speeches(Product_Manager=fenced(OPEN)))
    run = team_run(tmp_path, model).begin(BRIEF)
    assert (await run.go_on()).errors == ()
    answers = run.pool.latest("answers")
    assert answers is not None
    assert body_of(answers)["answers"] == [
        {
            "id": "Q1",
            "question": "Is the tax in the price?",
            "answer": "no",
            "recommended": "no",
            "by": "nobody answered, so what was recommended holds",
        }
    ]
    assert "no (nobody answered, so what was recommended holds)" in model.told("Architect")
    assert model.asked.count("Product Manager") == 1


async def test_an_answer_that_was_not_recommended_goes_back_to_the_product_manager(tmp_path: Path) -> None:
    asked: list[str] = []

    async def answer(questions: Sequence[Question]) -> Mapping[str, str]:
        asked.extend(question.title for question in questions)
        return {"Q1": "yes"}

    model = TeamModel(shop_speeches(Product_Manager=[fenced(OPEN), fenced(REQUIREMENTS)]))
    run = team_run(tmp_path, model, ask=answer).begin(BRIEF)
    assert (await run.go_on()).errors == ()
    assert asked == ["Is the tax in the price?"]
    assert model.asked.count("Product Manager") == 2
    second = model.conversations[[n for n, who in enumerate(model.asked) if who == "Product Manager"][1]]
    assert "Is the tax in the price?\n  yes (the developer)" in second[1].text
    assert "# Your earlier version" in second[1].text
    assert model.asked.count("Architect") == 1, "nobody designs while the requirements are being written anew"


async def test_choosing_what_is_recommended_is_an_answer_that_every_reader_hears(tmp_path: Path) -> None:
    async def answer(questions: Sequence[Question]) -> Mapping[str, str]:
        return {question.id: question.recommended for question in questions}

    model = TeamModel(shop_speeches(Product_Manager=fenced(OPEN)))
    run = team_run(tmp_path, model, ask=answer).begin(BRIEF)
    assert (await run.go_on()).errors == ()
    readers = [who for who in dict.fromkeys(model.asked) if who != "Product Manager"]
    assert len(readers) == 6
    for who in readers:
        assert "Is the tax in the price?\n  no (the developer)" in model.told(who), who


async def test_an_answer_taken_back_to_what_is_recommended_is_told_to_who_heeded_the_other(tmp_path: Path) -> None:
    async def answer(questions: Sequence[Question]) -> Mapping[str, str]:
        return {"Q1": "yes"}

    model = TeamModel(shop_speeches(Product_Manager=fenced(OPEN)))
    run = team_run(tmp_path, model, ask=answer).begin(BRIEF, ["product_manager"])
    assert (await run.go_on()).errors == ()
    written = run.pool.latest(Kind.REQUIREMENTS)
    assert written is not None
    page = render(document_in(written)).replace("- **Answer:**", "- **Answer:** no")
    edit_document(run.store, run.run_id, "requirements", page)
    assert (await run.go_on()).errors == ()
    last = model.conversations[-1]
    assert "Is the tax in the price?\n  no (the developer)" in last[1].text
    assert "yes (the developer)" not in last[1].text


async def test_the_project_manager_is_shown_the_brief(tmp_path: Path) -> None:
    model = TeamModel(shop_speeches())
    await team_run(tmp_path, model).begin(BRIEF).go_on()
    assert f"# The brief\n\n{BRIEF}" in model.told("Project Manager")


# Sprints


def in_two_sprints(**others: Any) -> TeamModel:
    return TeamModel(shop_speeches(Project_Manager=fenced({**TASKS, "sprints": SPRINTS}), **others))


def accept(run: TeamRun, proposal_id: str) -> None:
    """Accept everything, on the disk and in the store."""
    accept_all_but(run, proposal_id)


def accept_all_but(run: TeamRun, proposal_id: str, rejected: str = "", reason: str = "") -> None:
    """Accept all hunks but one, which is rejected, on the disk and in the store."""
    reviewed = load_proposal(run.store, proposal_id)
    for change in reviewed.proposal.files:
        path = run.root / change.path
        lines = list(change.base_lines)
        hunks = [hunk for hunk in change.hunks if hunk.id != rejected]
        for hunk in reversed(hunks):
            lines[hunk.start : hunk.end] = hunk.new_lines
        if hunks:
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(lines))
    if rejected:
        reject(run, proposal_id, reason, rejected)
    decide(run.store, reviewed, dict.fromkeys(reviewed.states.keys() - {rejected}, HunkState.ACCEPTED))


def accept_rest(run: TeamRun, proposal_id: str) -> None:
    """Accept what is undecided, in the store alone."""
    reviewed = load_proposal(run.store, proposal_id)
    decide(run.store, reviewed, dict.fromkeys(reviewed.undecided, HunkState.ACCEPTED))


def reject(run: TeamRun, proposal_id: str, reason: str, *hunk_ids: str) -> None:
    """Have the developer reject some hunks."""
    states = dict.fromkeys(hunk_ids, HunkState.REJECTED)
    decide(run.store, load_proposal(run.store, proposal_id), states, reason, run.store.add_act(run.root, "reject"))


async def test_each_sprint_ends_in_a_proposal_that_waits_for_its_decision(tmp_path: Path) -> None:
    model = in_two_sprints()
    run = team_run(tmp_path, model).begin(BRIEF, ALONE)
    ended = await run.go_on()
    assert (ended.state, ended.proposal_id) == ("waiting", "p1")
    assert [change.path for change in load_proposal(run.store, "p1").proposal.files] == ["shop/price.py"]
    assert (await run.go_on()).state == "waiting", "nothing is decided yet"
    assert "Engineer T2" not in model.asked
    accept(run, "p1")
    ended = await run.go_on()
    assert (ended.state, ended.proposal_id) == ("finished", "p2")
    assert [change.path for change in load_proposal(run.store, "p2").proposal.files] == ["shop/receipt.py"]
    assert load_proposal(run.store, "p2").proposal.title.startswith("S2: ")
    review = run.pool.latest(Kind.SPRINT_REVIEW, "S1")
    assert review is not None
    assert content_of(review, SprintReview).done == ("T1",)


async def test_the_next_sprint_answers_what_was_rejected(tmp_path: Path) -> None:
    model = in_two_sprints()
    run = team_run(tmp_path, model).begin(BRIEF, ALONE)
    await run.go_on()
    reject(run, "p1", "Round the tax.", "h1")
    ended = await run.go_on()
    assert ended.errors == ()
    assert model.asked.count("Engineer T1") == 2
    second = model.conversations[[n for n, who in enumerate(model.asked) if who == "Engineer T1"][1]]
    assert "Round the tax." in second[1].text
    paths = [change.path for change in load_proposal(run.store, ended.proposal_id).proposal.files]
    assert sorted(paths) == ["shop/price.py", "shop/receipt.py"]


async def test_what_was_rejected_of_the_last_sprint_is_answered_in_one_more(tmp_path: Path) -> None:
    rounded = TAX.replace("(1 + tax)", "(1 + round(tax, 2))")
    model = in_two_sprints(Engineer_T1=[TAX, rounded])
    run = team_run(tmp_path, model).begin(BRIEF, ALONE)
    await run.go_on()
    accept(run, "p1")
    assert (await run.go_on()).state == "finished"
    reject(run, "p2", "Shorter.", "h1", "h2")
    n_before = len(model.asked)
    ended = await run.go_on()
    assert (ended.state, ended.proposal_id, ended.errors) == ("finished", "p3", ())
    assert asked_after(model, n_before) == ["Engineer T2"]
    assert "Shorter." in model.conversations[-1][1].text
    assert load_proposal(run.store, "p3").proposal.title.startswith("S3: ")
    accept(run, "p3")
    ended = await run.go_on()
    assert (ended.state, ended.proposal_id) == ("finished", ""), "nothing is left"
    assert len(model.asked) == n_before + 1


async def test_what_is_rejected_of_a_sprint_that_was_closed_is_done_again_once_all_else_is_decided(
    tmp_path: Path,
) -> None:
    rounded = TAX.replace("(1 + tax)", "(1 + round(tax, 2))")
    model = in_two_sprints(Engineer_T1=[TAX, rounded])
    run = team_run(tmp_path, model).begin(BRIEF, ALONE)
    await run.go_on()
    accept(run, "p1")
    assert (await run.go_on()).proposal_id == "p2"
    (run.root / "shop/price.py").write_text(FILES["shop/price.py"])
    reject(run, "p1", "Round the tax.", "h1")
    assert work_to_redo(run.store, run.pool) == ("T1",)
    n_before = len(model.asked)
    assert (await run.go_on()).proposal_id == "p2"
    assert len(model.asked) == n_before, "p2 waits for its decision"
    accept(run, "p2")
    ended = await run.go_on()
    assert (ended.state, ended.proposal_id, ended.errors) == ("finished", "p3", ())
    assert asked_after(model, n_before) == ["Engineer T1"]
    assert "Round the tax." in model.conversations[-1][1].text
    assert [change.path for change in load_proposal(run.store, "p3").proposal.files] == ["shop/price.py"]
    accept(run, "p3")
    assert (await run.go_on()).proposal_id == "", "nothing is left"
    assert work_to_redo(run.store, run.pool) == ()
    assert len(model.asked) == n_before + 1


async def test_a_finished_run_is_taken_up_again_for_what_is_rejected_of_it_later(tmp_path: Path) -> None:
    run = team_run(tmp_path, TeamModel(shop_speeches())).begin(BRIEF, ALONE)
    await run.go_on()
    accept(run, "p1")
    assert (await run.go_on()).state == "finished"
    (run.root / "shop/price.py").write_text(FILES["shop/price.py"])
    reject(run, "p1", "Round the tax.", "h1")
    assert (await run.go_on()).proposal_id == "p2"


async def test_a_hunk_that_code_put_aside_is_no_reason_to_do_its_task_again(tmp_path: Path) -> None:
    run = team_run(tmp_path, TeamModel(shop_speeches())).begin(BRIEF, ALONE)
    await run.go_on()
    put_aside(run.store, load_proposal(run.store, "p1"), ["h1"], "p9 took its place.")
    accept_rest(run, "p1")
    assert work_to_redo(run.store, run.pool) == ()


async def test_a_test_that_was_rejected_with_a_reason_is_written_again_and_nothing_else_is_done(tmp_path: Path) -> None:
    again = "COVERS: tests/test_tax.py::test_a_tax_of_a_half_is_added R1: 150\n\n" + block(
        "tests/test_tax.py",
        "def test_receipt_names_the_total():\n",
        "def test_a_tax_of_a_half_is_added():\n    assert total([100], tax=0.5) == 150\n\n\n"
        "def test_receipt_names_the_total():\n",
    )
    model = TeamModel(shop_speeches(QA_Engineer=[TESTS, again]))
    run = team_run(tmp_path, model).begin(BRIEF)
    assert (await run.go_on()).state == "finished"
    reviewed = load_proposal(run.store, "p1")
    [rejected] = [hunk.id for _, hunk in reviewed.proposal.hunks() if hunk.symbol == "test_tax_is_added"]
    accept_all_but(run, "p1", rejected, "Say in the name how much.")
    assert work_to_redo(run.store, run.pool) == ("tests/test_tax.py",)
    n_before = len(model.asked)
    ended = await run.go_on()
    assert (ended.state, ended.proposal_id, ended.errors) == ("finished", "p2", ())
    assert asked_after(model, n_before) == ["QA Engineer", "Reviewer"]
    told = model.conversations[n_before][-1].text
    assert "adds test_tax_is_added to tests/test_tax.py (4 lines): Say in the name how much." in told
    assert "Tests of yours in tests/test_tax.py were rejected" in told
    assert "Say in the name how much." in model.conversations[-1][-1].text, "the reviewer does not ask for it again"
    [change] = load_proposal(run.store, "p2").proposal.files
    assert change.path == "tests/test_tax.py"
    assert "test_a_tax_of_a_half_is_added" in "".join(change.hunks[0].new_lines)
    accept(run, "p2")
    assert (await run.go_on()).proposal_id == "", "nothing is left"


async def test_the_tests_of_the_next_sprint_answer_what_was_rejected_of_the_last(tmp_path: Path) -> None:
    model = in_two_sprints()
    run = team_run(tmp_path, model).begin(BRIEF)
    await run.go_on()
    reviewed = load_proposal(run.store, "p1")
    [rejected] = [hunk.id for _, hunk in reviewed.proposal.hunks() if hunk.symbol == "test_tax_is_added"]
    accept_all_but(run, "p1", rejected, "Say in the name how much.")
    n_before = len(model.asked)
    assert (await run.go_on()).errors == ()
    told = next(
        conversation[-1].text
        for who, conversation in zip(model.asked[n_before:], model.conversations[n_before:], strict=True)
        if who == "QA Engineer"
    )
    assert "Write the tests of sprint S2: T2. Tests of yours in tests/test_tax.py were rejected" in told


async def test_what_was_rejected_without_a_word_is_left_at_that(tmp_path: Path) -> None:
    model = TeamModel({"Engineer": TAX})
    run = team_run(tmp_path, model).begin("Let total take a tax.", ["engineer"])
    await run.go_on()
    reject(run, "p1", "", "h1")
    assert (await run.go_on()).state == "finished"
    assert model.asked == ["Engineer"]


async def test_the_engineer_alone_hears_why_its_change_was_rejected(tmp_path: Path) -> None:
    model = TeamModel({"Engineer": [TAX, TAX.replace("(1 + tax)", "(1 + round(tax, 2))")]})
    run = team_run(tmp_path, model).begin("Let total take a tax.", ["engineer"])
    await run.go_on()
    reject(run, "p1", "Round the tax.", "h1")
    ended = await run.go_on()
    assert (ended.state, ended.proposal_id) == ("finished", "p2")
    assert "- p1/h1: changes total in shop/price.py (-3 +3): Round the tax." in model.conversations[-1][1].text


# What is done


def review_of(run: TeamRun) -> SprintReview:
    message = run.pool.latest(Kind.SPRINT_REVIEW, "S1")
    assert message is not None
    return content_of(message, SprintReview)


async def test_a_task_whose_file_was_turned_down_without_a_word_is_not_done_and_stays_in_the_backlog(
    tmp_path: Path,
) -> None:
    run = team_run(tmp_path, TeamModel(shop_speeches())).begin(BRIEF)
    await run.go_on()
    reviewed = load_proposal(run.store, "p1")
    receipt = {hunk.id for change, hunk in reviewed.proposal.hunks() if change.path == "shop/receipt.py"}
    decide(run.store, reviewed, dict.fromkeys(receipt, HunkState.REJECTED))
    others = reviewed.states.keys() - receipt
    decide(run.store, load_proposal(run.store, "p1"), dict.fromkeys(others, HunkState.ACCEPTED))
    n_before = len(run.pool.messages)
    assert (await run.go_on()).errors == ()
    review = review_of(run)
    assert (review.done, review.undone) == (("T1",), ())
    assert review.missing == ("T2: shop/receipt.py does not exist",)
    assert [message.kind for message in run.pool.messages[n_before:]] == [Kind.SPRINT_REVIEW], "nothing is done anew"


async def test_a_task_that_is_missing_is_done_in_one_more_sprint_where_the_developer_wants_it(tmp_path: Path) -> None:
    model = TeamModel(shop_speeches())
    run = team_run(tmp_path, model).begin(BRIEF, ALONE)
    await run.go_on()
    reviewed = load_proposal(run.store, "p1")
    receipt = {hunk.id for change, hunk in reviewed.proposal.hunks() if change.path == "shop/receipt.py"}
    decide(run.store, reviewed, dict.fromkeys(receipt, HunkState.REJECTED))
    accept_rest(run, "p1")
    workspace = Workspace(run.root)
    await run.go_on()
    lacks = "shop/receipt.py does not exist; nothing that was accepted serves it"
    assert missing_tasks(run.store, run.pool, workspace) == {"T2": lacks}
    n_before = len(model.asked)
    take_up_missing(run.store, run.pool, workspace)
    assert missing_tasks(run.store, run.pool, workspace) == {}, "it comes again"
    ended = await run.go_on()
    assert (ended.proposal_id, model.asked[n_before:]) == ("p2", ["Engineer T2"])
    assert [change.path for change in load_proposal(run.store, "p2").proposal.files] == ["shop/receipt.py"]
    assert "It lacks: shop/receipt.py does not exist" in model.conversations[-1][1].text


async def test_a_task_with_a_blocker_that_was_declined_is_not_done(tmp_path: Path) -> None:
    review = fenced({"title": "One", "findings": [{**FINDING, "severity": "blocker"}]})
    model = TeamModel(shop_speeches(Reviewer=review, Engineer_answer="ANSWER F1: declined: it may be."))
    run = team_run(tmp_path, model).begin(BRIEF)
    await run.go_on()
    accept(run, "p1")
    await run.go_on()
    assert review_of(run).done == ("T2",)
    assert review_of(run).missing == ("T1: a blocker in shop/price.py is open: The rate is not checked.",)


async def test_a_task_with_a_blocker_that_was_fixed_is_done(tmp_path: Path) -> None:
    review = fenced({"title": "One", "findings": [{**FINDING, "severity": "blocker"}]})
    model = TeamModel(shop_speeches(Reviewer=review, Engineer_answer=f"ANSWER F1: fixed: it is now\n\n{FIX}"))
    run = team_run(tmp_path, model).begin(BRIEF)
    await run.go_on()
    accept(run, "p1")
    await run.go_on()
    assert (review_of(run).done, review_of(run).missing) == (("T1", "T2"), ())


async def test_acceptance_criteria_that_no_test_shows_are_named_in_the_review(tmp_path: Path) -> None:
    tasks = [{**TASKS["tasks"][0], "acceptance": ["A tax is added."]}]
    model = TeamModel(shop_speeches(Project_Manager=fenced({**TASKS, "tasks": tasks})))
    run = team_run(tmp_path, model).begin(BRIEF, ALONE)
    await run.go_on()
    accept(run, "p1")
    await run.go_on()
    assert review_of(run).done == ("T1",)
    assert review_of(run).not_shown == ("T1: A tax is added.",)


# Going on, and doing again


async def test_going_on_with_a_run_that_is_done_does_nothing(tmp_path: Path) -> None:
    model = TeamModel(shop_speeches())
    run = team_run(tmp_path, model).begin(BRIEF)
    await run.go_on()
    story, n_calls = run.story, len(model.asked)
    ended = await run.go_on()
    assert (ended.state, ended.proposal_id) == ("finished", "p1")
    assert (run.story, len(model.asked)) == (story, n_calls)


async def test_a_paused_run_finishes_what_it_does_and_goes_on_later(tmp_path: Path) -> None:
    control = Control()

    def pause(messages: Sequence[ChatMessage]) -> str:
        control.pause()
        return fenced(DESIGN)

    model = TeamModel(shop_speeches(Architect=pause))
    run = team_run(tmp_path, model).begin(BRIEF)
    assert (await run.go_on(control)).state == "paused"
    assert run.store.run(run.run_id).state == "paused"
    assert run.story[-1] == "architect design v1"
    assert (await run.go_on()).state == "finished"
    assert len(model.asked) == 7


async def test_what_code_understands_of_the_repository_is_told_once_before_a_team_begins(tmp_path: Path) -> None:
    run = team_run(tmp_path, ScriptedModel([KeyRefused("no")] * 2), settings=Settings.model_validate(UNTESTED))
    run.begin(BRIEF)
    for _ in range(2):
        repository = run.room().repository
        await carry_out_run(run.run_id, repository, Chosen(run.model, "the test"), Developer(lambda *_: None))
    assert run.story[:3] == ["team plan v1", "developer brief v1", "team understanding v1"]
    assert len(run.story) == 3


async def test_the_engineer_alone_is_told_nothing_of_the_repository_in_general(tmp_path: Path) -> None:
    run = team_run(tmp_path, ScriptedModel([KeyRefused("no")]), settings=Settings.model_validate(UNTESTED))
    run.begin(BRIEF, LEAN)
    repository = run.room().repository
    await carry_out_run(run.run_id, repository, Chosen(run.model, "the test"), Developer(lambda *_: None))
    assert "team understanding v1" not in run.story


async def test_a_cancelled_run_can_be_taken_up_again(tmp_path: Path) -> None:
    model = TeamModel(shop_speeches(), latency_s=0.02)
    run = team_run(tmp_path, model).begin(BRIEF)
    task = asyncio.create_task(run.go_on())
    while "Architect" not in model.asked and not task.done():
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert run.store.run(run.run_id).state == "cancelled"
    assert (await run.go_on()).state == "finished"
    assert model.asked.count("Product Manager") == 1


async def test_an_edited_document_has_exactly_its_readers_work_again(tmp_path: Path) -> None:
    model = TeamModel(shop_speeches())
    run = team_run(tmp_path, model).begin(BRIEF)
    await run.go_on()
    n_before = len(model.asked)
    message = run.pool.latest(Kind.TASK_LIST)
    assert message is not None
    text = render(document_in(message)).replace("the receipt", "a receipt to print")
    edit_document(run.store, run.run_id, "task list", text)
    ended = await run.go_on()
    assert ended.errors == ()
    assert asked_after(model, n_before) == ["Engineer T1", "Engineer T2", "QA Engineer", "Reviewer"]
    assert "developer task list v2" in run.story
    assert ended.proposal_id == "p2" or "engineer proposal S1 v2" not in run.story


async def test_what_turns_out_as_before_has_nobody_work_again(tmp_path: Path) -> None:
    model = TeamModel(shop_speeches())
    run = team_run(tmp_path, model).begin(BRIEF)
    await run.go_on()
    story, n_before = run.story, len(model.asked)
    rerun(run.store, run.run_id, our_roles(), "requirements")
    await run.go_on()
    assert asked_after(model, n_before) == ["Product Manager"], "it is asked anew, and says the same"
    assert run.story == story


async def test_a_message_done_again_carries_on_to_what_rests_on_it(tmp_path: Path) -> None:
    dearer = TAX.replace("(1 + tax)", "(1 + tax) + 0")
    model = TeamModel(shop_speeches(Engineer_T1=[TAX, dearer]))
    run = team_run(tmp_path, model).begin(BRIEF)
    await run.go_on()
    n_before = len(model.asked)
    message = run.pool.latest("edits", "S1/T1")
    assert message is not None
    rerun(run.store, run.run_id, our_roles(), message.code)
    ended = await run.go_on()
    assert asked_after(model, n_before) == ["Engineer T1", "Reviewer"]
    assert ended.proposal_id == "p2"
    assert load_proposal(run.store, "p1").states["h1"] is HunkState.REJECTED


async def test_a_run_branches_from_an_edited_document_and_leaves_the_other_alone(tmp_path: Path) -> None:
    model = TeamModel(shop_speeches())
    run = team_run(tmp_path, model).begin(BRIEF)
    await run.go_on()
    story, n_before = run.story, len(model.asked)
    message = run.pool.latest(Kind.DESIGN)
    assert message is not None
    text = render(document_in(message)).replace("A keyword argument", "An optional argument")
    other = TeamRun(run.root, run.store, model, branch_with(run.store, run.root, run.run_id, "design", text))
    assert (await other.go_on()).errors == ()
    assert asked_after(model, n_before) == [
        "Engineer T1",
        "Engineer T2",
        "Project Manager",
        "QA Engineer",
        "Reviewer",
    ]
    assert run.story == story
    assert other.story[2:6] == [
        "product_manager requirements v1",
        "team answers v1",
        "architect design v1",
        "developer design v2",
    ]
    designs = [load_pool(run.store, one).latest(Kind.DESIGN) for one in (run.run_id, other.run_id)]
    assert len({design.document_id for design in designs if design}) == 2


async def test_a_file_that_changed_meanwhile_has_its_task_done_again(tmp_path: Path) -> None:
    def change_the_file(messages: Sequence[ChatMessage]) -> str:
        path = run.root / "shop/price.py"
        path.write_text(path.read_text() + "\n\nLIMIT = 3\n")
        return fenced({"title": "Fine"})

    model = TeamModel(shop_speeches(Reviewer=[change_the_file, fenced({"title": "Fine"})]))
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    assert ended.state == "failed"
    assert "shop/price.py changed while the team was at work" in str(ended.error)
    n_before = len(model.asked)
    ended = await run.go_on()
    assert ended.errors == ()
    assert "Engineer T1" in asked_after(model, n_before)
    assert "Engineer T2" not in asked_after(model, n_before)
    change = load_proposal(run.store, ended.proposal_id).proposal.change_of("shop/price.py")
    assert change is not None
    assert "LIMIT = 3" in (change.base or "")


# The review


FINDING = {
    "id": "F1",
    "title": "The rate is not checked.",
    "severity": "major",
    "file": "shop/price.py",
    "first_line": 4,
    "last_line": 6,
    "rests_on": "R1",
}
FIX = block(
    "shop/price.py",
    "    return sum(items) * (1 + tax)\n",
    '    if tax < 0:\n        raise ValueError("tax")\n    return sum(items) * (1 + tax)\n',
)


@pytest.mark.parametrize(
    ("then", "done"),
    [(f"ANSWER F1: fixed: it is now\n\n{FIX}", ("T1", "T2")), ("ANSWER F1: declined: it may be.", ("T2",))],
    ids=["fixed", "declined"],
)
async def test_who_needs_another_file_to_mend_what_a_review_found_is_shown_it(
    tmp_path: Path, then: str, done: tuple[str, ...]
) -> None:
    review = fenced({"title": "One", "findings": [{**FINDING, "severity": "blocker"}]})
    wish = "WIDEN: shop/cart.py: it gives the rate\nANSWER F1: declined: I lack that file."
    model = TeamModel(shop_speeches(Reviewer=review, Engineer_answer=[wish, then]))
    run = team_run(tmp_path, model).begin(BRIEF)
    await run.go_on()
    accept(run, "p1")
    await run.go_on()
    again = [talk for who, talk in zip(model.asked, model.conversations, strict=True) if who == "Engineer answer"][1]
    assert "def checkout(cart):" in again[-1].text
    assert review_of(run).done == done


async def test_the_engineer_answers_each_finding(tmp_path: Path) -> None:
    second = {**FINDING, "id": "F2", "title": "The name is short.", "severity": "minor"}
    answer = f"ANSWER F1: fixed: it is now\nANSWER F2: declined: the file names things so\n\n{FIX}"
    model = TeamModel(
        shop_speeches(Reviewer=fenced({"title": "Two", "findings": [FINDING, second]}), Engineer_answer=answer)
    )
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    assert ended.errors == ()
    message = run.pool.latest(Kind.REVIEW, "S1/answered")
    assert message is not None
    answered = content_of(message, Review).findings
    assert [(one.response, one.reason) for one in answered] == [
        ("fixed", "it is now"),
        ("declined", "the file names things so"),
    ]
    proposal = load_proposal(run.store, ended.proposal_id).proposal
    assert proposal.evidence.notes == (
        "Review: F1 (major) The rate is not checked. fixed: it is now",
        "Review: F2 (minor) The name is short. declined: the file names things so",
    )
    assert "ANSWER" not in proposal.rationale
    assert any("raise ValueError" in line for _, hunk in proposal.hunks() for line in hunk.new_lines)


async def test_a_finding_that_nobody_answers_says_so(tmp_path: Path) -> None:
    model = TeamModel(
        shop_speeches(Reviewer=fenced({"title": "One", "findings": [FINDING]}), Engineer_answer="It is fine.")
    )
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    proposal = load_proposal(run.store, ended.proposal_id).proposal
    assert proposal.evidence.notes == ("Review: F1 (major) The rate is not checked. not answered",)


# When things go wrong


async def test_a_role_that_fails_keeps_the_others_from_nothing(tmp_path: Path) -> None:
    model = TeamModel(shop_speeches(Engineer_T1=[ConnectionFailed("The model is gone."), TAX]))
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    assert (ended.state, str(ended.error)) == ("failed", f"The model is gone. {ConnectionFailed.next_step}")
    assert {"engineer edits S1/T2 v1", "qa_engineer tests S1 v1"} <= set(run.story)
    n_before = len(model.asked)
    assert (await run.go_on()).state == "finished"
    assert asked_after(model, n_before) == ["Engineer T1", "Reviewer"]


async def test_a_reply_that_cannot_be_used_is_not_used_again(tmp_path: Path) -> None:
    model = TeamModel(shop_speeches(Engineer_T1=["Hm.", "Hm.", "Hm.", TAX]))
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    assert isinstance(ended.error, NoUsableEdit)
    assert (await run.go_on()).state == "finished"


async def test_a_budget_that_is_spent_pauses_the_run_with_all_it_has(tmp_path: Path) -> None:
    settings = Settings().model_copy(update={"budget": BudgetSettings(calls_per_run=3)})
    model = TeamModel(shop_speeches())
    run = team_run(tmp_path, model, settings=settings).begin(BRIEF)
    ended = await run.go_on()
    assert (ended.state, run.store.run(run.run_id).state) == ("paused", "paused")
    assert ended.error is not None
    assert "budget" in ended.error.next_step
    assert run.story[-1] == "team change plan S1 v1"
    run.settings = Settings()
    assert (await run.go_on()).state == "finished"
    assert len(model.asked) == 7


@pytest.mark.parametrize(
    ("too_much", "why"),
    [
        ({"tasks": [{**TASKS["tasks"][0], "id": f"T{number}"} for number in range(1, 202)]}, "it holds 201 tasks"),
        ({"title": "t" * 200_000}, "it has 200,"),
    ],
)
async def test_a_document_that_takes_too_long_to_look_through_is_asked_again_then_refused(
    too_much: dict[str, Any], why: str, tmp_path: Path
) -> None:
    long = fenced({**TASKS, **too_much})
    model = TeamModel(shop_speeches(Project_Manager=[long, long]))
    ended = await team_run(tmp_path, model).begin(BRIEF).go_on()
    assert isinstance(ended.error, DocumentUnusable)
    assert why in ended.error.what
    assert model.asked.count("Project Manager") == 2


async def test_tasks_in_a_circle_are_asked_again_then_refused(tmp_path: Path) -> None:
    first, second = TASKS["tasks"]
    circle = {**TASKS, "tasks": [{**first, "needs": ["T2"]}, {**second, "needs": ["T1"]}]}
    model = TeamModel(shop_speeches(Project_Manager=[fenced(circle), fenced(circle), fenced(TASKS)]))
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    assert ended.state == "failed"
    assert isinstance(ended.error, DocumentUnusable)
    assert "need each other in a circle" in ended.error.what
    assert run.story[-1] == "architect design v1"
    assert (await run.go_on()).state == "finished"


async def test_a_document_that_is_no_document_is_repaired_or_named(tmp_path: Path) -> None:
    wrong = fenced({**REQUIREMENTS, "requirements": [{"id": "first", "title": "x", "priority": "P9"}]})
    model = TeamModel(shop_speeches(Product_Manager=[wrong, wrong, wrong, wrong, fenced(REQUIREMENTS)]))
    run = team_run(tmp_path, model).begin(BRIEF)
    ended = await run.go_on()
    assert ended.state == "failed"
    assert run.story[-1] == "developer brief v1"
    run.store.close()


async def test_a_brief_in_another_language_goes_through(tmp_path: Path) -> None:
    brief = "Lass total() einen Steuersatz annehmen, und drucke eine Quittung. 料金に税を加える。"
    model = TeamModel(shop_speeches())
    run = team_run(tmp_path, model).begin(brief)
    assert (await run.go_on()).state == "finished"
    assert brief in model.told("Product Manager")


async def test_requirements_without_a_requirement_are_nothing_to_build_on(tmp_path: Path) -> None:
    empty = fenced({"title": "Nothing", "requirements": []})
    run = team_run(tmp_path, TeamModel(shop_speeches(Product_Manager=empty))).begin(BRIEF)
    ended = await run.go_on()
    assert isinstance(ended.error, DocumentUnusable)
    assert content_of_latest(run) is None


def content_of_latest(run: TeamRun) -> Requirements | None:
    message = run.pool.latest(Kind.REQUIREMENTS)
    return content_of(message, Requirements) if message else None
