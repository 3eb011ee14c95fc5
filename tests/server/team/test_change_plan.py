"""Which files each task will touch is known before code is written, and the developer may drop tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from rolecall_server.errors import DocumentUnusable, NotFound, RunPaused
from rolecall_server.team.documents import ChangePlan, Kind, Question, TaskList, render
from rolecall_server.team.engine.reworking import edit_document
from rolecall_server.team.messages.board import content_of
from rolecall_server.team.messages.rendering import describe_message, document_in
from rolecall_server.team.sprint.change_plan import ALL_OF_IT, STOP, drop_tasks
from support.shop_team import BRIEF, TASKS, large_speeches, shop_speeches
from support.team_model import TeamModel, fenced
from support.team_run import TeamRun, team_run


class Asked:
    """A developer who gives the same answer each time, and remembers the questions."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.questions: list[Question] = []

    async def __call__(self, questions: Sequence[Question]) -> Mapping[str, str]:
        self.questions += questions
        return {question.id: self.answer for question in questions if self.answer}


def large_run(folder: Path, asked: Asked) -> TeamRun:
    return team_run(folder, TeamModel(large_speeches()), ask=asked).begin(BRIEF)


def engineers(run: TeamRun) -> list[str]:
    assert isinstance(run.model, TeamModel)
    return sorted(who for who in run.model.asked if who.startswith("Engineer T"))


def listed(run: TeamRun) -> TaskList:
    message = run.pool.latest(Kind.TASK_LIST)
    assert message is not None
    return content_of(message, TaskList)


async def test_the_files_of_each_task_are_told_before_anybody_writes_code(tmp_path: Path) -> None:
    run = team_run(tmp_path, TeamModel(shop_speeches())).begin(BRIEF)
    await run.go_on()
    assert run.story[6] == "team change plan S1 v1"
    message = run.pool.latest(Kind.CHANGE_PLAN, "S1")
    assert message is not None
    told = "shop/price.py (T1: tax in total); shop/receipt.py (T2: the receipt)"
    assert describe_message(message).endswith(told)


async def test_files_that_the_design_does_not_name_are_told_as_such(tmp_path: Path) -> None:
    tasks = {**TASKS, "tasks": [{**TASKS["tasks"][0], "files": ["shop/price.py", "shop/cart.py"]}, TASKS["tasks"][1]]}
    run = team_run(tmp_path, TeamModel(shop_speeches(Project_Manager=fenced(tasks)))).begin(BRIEF)
    await run.go_on()
    message = run.pool.latest(Kind.CHANGE_PLAN, "S1")
    assert message is not None
    assert [one.path for one in content_of(message, ChangePlan).files_outside_the_design] == ["shop/cart.py"]


async def test_a_small_change_is_begun_without_a_question(tmp_path: Path) -> None:
    asked = Asked("")
    run = team_run(tmp_path, TeamModel(shop_speeches()), ask=asked).begin(BRIEF)
    assert (await run.go_on()).errors == ()
    assert asked.questions == []


@pytest.mark.parametrize("answer", [ALL_OF_IT, ""])
async def test_a_larger_change_is_asked_about_and_silence_begins_all_of_it(tmp_path: Path, answer: str) -> None:
    asked = Asked(answer)
    run = large_run(tmp_path, asked)
    assert (await run.go_on()).errors == ()
    (question,) = asked.questions
    assert question.title.startswith("S1 changes 4 files in 4 tasks. T1 tax in total: shop/price.py; T2 the receipt: ")
    assert engineers(run) == ["Engineer T1", "Engineer T2", "Engineer T3", "Engineer T4"]


def backlog(run: TeamRun) -> list[str]:
    planned = {task_id for sprint in listed(run).sprints for task_id in sprint.tasks}
    return [task.id for task in listed(run).tasks if task.id not in planned]


@pytest.mark.parametrize("answer", ["leave out T3", "Not T3, please."])
async def test_a_task_that_is_left_out_is_not_done_and_stays_in_the_backlog(tmp_path: Path, answer: str) -> None:
    asked = Asked(answer)
    run = large_run(tmp_path, asked)
    assert (await run.go_on()).errors == ()
    assert len(asked.questions) == 1, "what is left is not asked about again"
    assert engineers(run) == ["Engineer T1", "Engineer T2", "Engineer T4"]
    assert backlog(run) == ["T3"]
    plan = run.pool.latest(Kind.CHANGE_PLAN, "S1")
    assert plan is not None
    assert content_of(plan, ChangePlan).tasks == ("T1", "T2", "T4")


async def test_what_needs_a_task_that_is_left_out_is_left_out_with_it(tmp_path: Path) -> None:
    run = large_run(tmp_path, Asked("leave out T1"))
    await run.go_on()
    assert backlog(run) == ["T1", "T2"]


async def test_the_developer_may_stop_there_and_edit_the_task_list(tmp_path: Path) -> None:
    asked = Asked(STOP)
    run = large_run(tmp_path, asked)
    ended = await run.go_on()
    assert (ended.state, type(ended.error)) == ("paused", RunPaused)
    assert engineers(run) == []
    message = run.pool.latest(Kind.TASK_LIST)
    assert message is not None
    edit_document(run.store, run.run_id, "task list", render(document_in(message)).replace("T1, T2, T3, T4", "T1, T4"))
    assert (await run.go_on()).errors == ()
    assert len(asked.questions) == 1, "the developer's own list is not asked about"
    assert engineers(run) == ["Engineer T1", "Engineer T4"]


async def test_tasks_can_be_named_that_are_left_out_when_the_run_is_taken_up_again(tmp_path: Path) -> None:
    run = large_run(tmp_path, Asked(STOP))
    await run.go_on()
    drop_tasks(run.store, run.pool, ["T2", "T3"])
    assert (await run.go_on()).errors == ()
    assert engineers(run) == ["Engineer T1", "Engineer T4"]


@pytest.mark.parametrize(("dropped", "error"), [(["T9"], NotFound), (["T1", "T3", "T4"], DocumentUnusable)])
async def test_a_task_that_is_not_there_or_all_of_them_cannot_be_left_out(
    tmp_path: Path, dropped: list[str], error: type[Exception]
) -> None:
    run = large_run(tmp_path, Asked(STOP))
    await run.go_on()
    with pytest.raises(error):
        drop_tasks(run.store, run.pool, dropped)
