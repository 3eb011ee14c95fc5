"""A role that a command asks alone: its run is one step of the team's engine, paused and taken up again like any."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rolecall_server.context import AtHand, EditorDiagnostic
from rolecall_server.errors import (
    DocumentUnusable,
    FileRefused,
    KeyRefused,
    NoUsableEdit,
    RequestRefused,
    RolecallError,
    RunPaused,
)
from rolecall_server.model import NO_WISHES, ChatMessage, Reply, Wishes
from rolecall_server.review.proposals.proposal_store import load_proposal
from rolecall_server.settings import Settings
from rolecall_server.team.control import Control
from rolecall_server.team.engine.reworking import branch_with, edit_document, rerun
from rolecall_server.team.plan.planning import begin_run, change_plan, planned_roster, request_in, request_of
from rolecall_server.team.request import Revision, RoleName, RunRequest
from rolecall_server.team.roles.declarations import find_roles, our_roles
from rolecall_server.team.sprint.proposing import missing_tasks, review_sprint, work_to_redo
from rolecall_server.workspace import Workspace
from support.edits import block
from support.scripted_model import ScriptedModel
from support.team_run import TeamRun, team_run

PATH = "shop/price.py"
BROKEN = block(PATH, "    return sum(items)\n", "    return (sum(items)\n")
MENDED = block(PATH, "    return sum(items)\n", "    return sum(items) * 2\n")
REPAIRED = block(PATH, "    return (sum(items)\n", "    return sum(items) * 2\n")
REQUEST = RunRequest(RoleName.ENGINEER, PATH, "total", "Double it.")


@dataclass
class PausingModel(ScriptedModel):
    """Has the run paused while it is asked."""

    control: Control = field(default_factory=Control)

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        self.control.pause()
        return await super().complete(messages, wishes)


def engineer(folder: Path, model: ScriptedModel, settings: Settings | None = None) -> TeamRun:
    return team_run(folder, model, settings=settings or Settings()).begin_alone(REQUEST)


async def test_a_run_of_one_role_is_a_plan_a_brief_and_a_proposal_that_can_be_read(tmp_path: Path) -> None:
    model = ScriptedModel([MENDED])
    run = engineer(tmp_path, model)
    ended = await run.go_on()
    assert (ended.state, ended.proposal_id, run.store.run("r1").state) == ("finished", "p1", "finished")
    assert run.story == ["team plan v1", "developer brief v1", "engineer proposal v1"]
    assert [message.kind for message in run.messages] == ["proposal"]
    (row,) = run.pool.steps.values()
    assert (row.role, row.state) == ("engineer", "done")


async def test_a_finished_run_is_taken_up_again_without_a_call_and_without_another_proposal(tmp_path: Path) -> None:
    model = ScriptedModel([MENDED])
    run = engineer(tmp_path, model)
    await run.go_on()
    assert await run.go_on() == await run.go_on()
    assert (len(run.store.calls("r1")), len(run.store.proposals_of("r1"))) == (1, 1)


async def test_a_pause_ends_the_run_before_its_next_call_and_what_was_said_is_not_paid_again(tmp_path: Path) -> None:
    model = PausingModel([BROKEN, REPAIRED])
    run = engineer(tmp_path, model)
    ended = await run.go_on(model.control)
    assert (ended.state, ended.proposal_id, type(ended.error)) == ("paused", "", RunPaused)
    assert "`rolecall resume r1` goes on." in str(ended.error)
    assert run.store.run("r1").state == "paused"
    assert (await run.go_on()).state == "finished"
    assert len(model.asked) == 2, "what was said before the pause is not asked again"


async def test_a_pause_after_the_last_call_lets_the_run_finish(tmp_path: Path) -> None:
    model = PausingModel([MENDED])
    run = engineer(tmp_path, model)
    assert (await run.go_on(model.control)).state == "finished"


async def test_a_run_that_was_stopped_in_a_call_goes_on_with_that_call(tmp_path: Path) -> None:
    model = ScriptedModel([BROKEN, asyncio.CancelledError(), REPAIRED])
    run = engineer(tmp_path, model)
    with pytest.raises(asyncio.CancelledError):
        await run.go_on()
    assert run.store.run("r1").state == "cancelled"
    ended = await run.go_on()
    assert (ended.state, ended.proposal_id) == ("finished", "p1")
    assert len(model.asked) == 3


async def test_what_a_limit_cuts_short_is_proposed_and_the_run_goes_on_once_it_is_raised(tmp_path: Path) -> None:
    limited = Settings.model_validate({"budget": {"callsPerRun": 1}})
    model = ScriptedModel([BROKEN, REPAIRED])
    run = engineer(tmp_path, model, settings=limited)
    ended = await run.go_on()
    assert (ended.state, ended.proposal_id) == ("paused", "p1")
    assert "`rolecall resume r1 --set budget.callsPerRun=3` goes on." in str(ended.error)
    run.settings = Settings()
    ended = await run.go_on()
    assert (ended.state, ended.proposal_id) == ("finished", "p2")
    assert len(model.asked) == 2
    assert not load_proposal(run.store, "p1").undecided, "the whole took the place of what was cut short"


async def test_a_file_that_was_to_be_made_is_there_when_the_run_goes_on_after_it_was_accepted(tmp_path: Path) -> None:
    model = ScriptedModel([KeyRefused("no"), block("shop/tax.py", "RATE = 1\n", "RATE = 2\n")])
    run = team_run(tmp_path, model).begin_alone(
        RunRequest(RoleName.ENGINEER, "shop/tax.py", brief="Add the rate.", makes_file=True)
    )
    assert (await run.go_on()).state == "failed"
    assert "shop/tax.py, which does not exist yet" in model.last_words[0]
    (run.root / "shop/tax.py").write_text("RATE = 1\n")
    assert (await run.go_on()).state == "finished"
    assert "does not exist yet" not in model.last_words[1]


async def test_after_a_failure_of_the_endpoint_what_was_said_before_it_still_holds(tmp_path: Path) -> None:
    model = ScriptedModel([BROKEN, KeyRefused("no"), REPAIRED])
    run = engineer(tmp_path, model)
    ended = await run.go_on()
    assert (ended.state, ended.proposal_id, type(ended.error)) == ("failed", "p1", KeyRefused)
    assert (await run.go_on()).state == "finished"
    assert len(model.asked) == 3


async def test_a_model_that_said_nothing_of_use_is_asked_anew(tmp_path: Path) -> None:
    model = ScriptedModel([*["I am not sure."] * 3, MENDED])
    run = engineer(tmp_path, model)
    ended = await run.go_on()
    assert (ended.state, ended.proposal_id, type(ended.error)) == ("failed", "", NoUsableEdit)
    assert (await run.go_on()).state == "finished"


async def test_a_role_does_its_work_again_where_the_developer_wants_it_or_edits_the_brief(tmp_path: Path) -> None:
    model = ScriptedModel([MENDED, MENDED.replace("* 2", "* 3"), MENDED.replace("* 2", "* 4")])
    run = engineer(tmp_path, model)
    await run.go_on()
    rerun(run.store, "r1", our_roles(), "proposal")
    assert (await run.go_on()).proposal_id == "p2"
    edit_document(run.store, "r1", "brief", "Four times.")
    assert (await run.go_on()).proposal_id == "p3"
    assert "Four times." in model.asked[2][1].text


async def test_a_run_of_one_role_branches_into_another_of_that_role(tmp_path: Path) -> None:
    model = ScriptedModel([MENDED, MENDED])
    run = engineer(tmp_path, model)
    await run.go_on()
    run.run_id = branch_with(run.store, run.root, "r1", "brief", "Do it otherwise.")
    assert run.store.run(run.run_id).role == "engineer"
    assert (await run.go_on()).state == "finished"


async def test_nothing_that_belongs_to_sprints_is_made_of_its_proposal(tmp_path: Path) -> None:
    model = ScriptedModel([MENDED])
    run = engineer(tmp_path, model)
    await run.go_on()
    run.store.decide("p1", {"h1": "rejected"}, "Not so.")
    workspace = Workspace(run.root)
    assert work_to_redo(run.store, run.pool) == ()
    assert not review_sprint(run.store, run.pool, workspace)
    assert missing_tasks(run.store, run.pool, workspace) == {}
    assert run.story[-1] == "engineer proposal v1"


def test_what_was_asked_for_is_stored_whole(tmp_path: Path) -> None:
    hand = AtHand((3, 5), (EditorDiagnostic(4, "it may be None", "a checker"),))
    revision = Revision("p7", "h2", "Tests for it", PATH, "shop/prices.py", "-a\n+b\n", "It moved.")
    request = RunRequest(RoleName.QA_ENGINEER, PATH, "total", "Three items.", revision, makes_file=True, hand=hand)
    run = team_run(tmp_path, ScriptedModel([])).begin_alone(request)
    brief = run.pool.latest("brief")
    assert brief is not None
    assert request_in(brief) == request_of(run.pool) == request
    (role,) = planned_roster(run.pool, {}).values()
    assert (role.name, role.title, role.duty[0].does) == ("qa_engineer", "QA Engineer", "revise")


def test_no_secret_that_a_tool_told_of_is_stored_with_the_request(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    hand = AtHand(None, (EditorDiagnostic(1, f"a token {secret} stands here"),))
    run = team_run(tmp_path, ScriptedModel([])).begin_alone(RunRequest(RoleName.ENGINEER, PATH, hand=hand))
    assert secret not in str(run.pool.messages)
    assert "stands here" in str(run.pool.messages)


def test_a_run_is_stored_with_its_plan_and_its_brief_or_not_at_all(tmp_path: Path) -> None:
    run = team_run(tmp_path, ScriptedModel([]))
    with pytest.raises(RolecallError):
        begin_run(run.store, run.root, RunRequest(RoleName.ENGINEER, PATH, "\ud800", "Double it."))
    assert run.store.runs(run.root) == ()


def test_a_run_of_an_earlier_rolecall_is_read_and_not_taken_up_again(tmp_path: Path) -> None:
    run = team_run(tmp_path, ScriptedModel([]))
    run.run_id = run.store.add_run(run.root, "engineer", PATH, "Double it.")
    assert run.pool.messages == ()
    with pytest.raises(DocumentUnusable, match="r1 cannot be taken up again"):
        request_of(run.pool)


def test_a_run_of_one_role_gets_no_others(tmp_path: Path) -> None:
    run = engineer(tmp_path, ScriptedModel([]))
    with pytest.raises(RequestRefused, match="r1 is the work of one role"):
        change_plan(run.store, run.pool, ["architect"], "I want one.")


def test_no_role_of_a_repository_takes_a_whole_run(tmp_path: Path) -> None:
    (tmp_path / ".rolecall/roles").mkdir(parents=True)
    duty = '[[duty]]\ndoes = "alone"\nwatches = ["brief"]\npublishes = ["proposal"]\n'
    (tmp_path / ".rolecall/roles/odd.toml").write_text(f'title = "x"\ngoal = "x"\n{duty}')
    with pytest.raises(FileRefused, match="alone is no duty within a team"):
        find_roles(Workspace(tmp_path))
