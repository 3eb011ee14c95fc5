"""The edits of all tasks of a sprint made one change: joined, run with its tests, and repaired where they fail."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial

from rolecall_server.craft.attempts import EDIT_FORMAT, FILE_OPERATIONS
from rolecall_server.craft.feedback import describe_failures, describe_findings
from rolecall_server.craft.test_quality.test_text import function_of, written_tests
from rolecall_server.craft.trial import failures_to_mend
from rolecall_server.craft.verdicts import findings_in
from rolecall_server.errors import ReplyUnusable
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.sandbox import NotRun, TestRun
from rolecall_server.store.messages import NewMessage
from rolecall_server.team.documents import (
    ExecutionReport,
    Kind,
    Outcome,
    TestOutcome,
)
from rolecall_server.team.documents.values import one_line
from rolecall_server.team.messages.board import Pool, as_draft, body_of, content_of
from rolecall_server.team.messages.edits import Edits, joined
from rolecall_server.team.messages.rendering import change_of, tell
from rolecall_server.team.plan.agenda import agenda_of
from rolecall_server.team.plan.steps import Step
from rolecall_server.team.request import Desk
from rolecall_server.team.room import Room
from rolecall_server.team.sprint.layout import settled_layout
from rolecall_server.team.sprint.whole_change import (
    Repair,
    RepairReach,
    WholeChange,
    evidence_of,
    measures_in,
    reach_of,
    repair_conversation,
    repair_opening,
    try_whole,
    work_out_repair,
)
from rolecall_server.team.test_quality.trials import red_and_green
from rolecall_server.workspace import file_exists

_PROMPTS = prompts_beside(__file__)
_DETAIL_CHARACTERS = 300


async def integrate(step: Step, room: Room, pool: Pool) -> tuple[NewMessage, ...]:
    """Join the edits of all tasks and the tests to one change, and return it with what was checked of it.

    Where tests fail the Engineer repairs the code, then the QA Engineer the tests; the best state is kept, and said to
    be failing if it is.
    """
    desk = room.desk(step, pool)
    by_task = {message.subject.partition("/")[2]: content_of(message, Edits) for message in step.messages("edits")}
    tasks = agenda_of(pool).tasks
    code = [by_task[task.id] for task in tasks]
    tests = [content_of(message, Edits) for message in step.messages("tests")]
    desk.report("putting the edits together", None)
    settle = partial(_settled, desk, [path for task in tasks for path in task.files], _brief_in(pool))
    whole = await settle(await try_whole(desk, joined([*code, *tests])))
    repairs = 0
    documents = await asyncio.to_thread(tell, measures_in(step), desk.workspace)
    if code and not whole.is_sound:
        reach = reach_of(step, whole, tests[0].files if tests else ())
        whole, repairs = await _repaired(desk, whole, documents, reach)
        # Again, as a repair may have made what was missing, or taken away what was there.
        whole = await settle(whole)
    if not whole.attempt.works and tests:
        whole, more = await _tests_corrected(desk, whole, documents, tests[0])
        repairs += more
    shown = await red_and_green(desk, evidence_of(desk, whole, repairs), whole.edits.files)
    checked = whole.edits.model_copy(update={"evidence": shown})
    return (
        as_draft("change", checked.model_dump(mode="json"), step.subject),
        as_draft(Kind.EXECUTION_REPORT, report_of(whole.attempt.run, step.subject), step.subject),
    )


def _brief_in(pool: Pool) -> str:
    message = pool.latest("brief")
    return body_of(message)["text"] if message else ""


async def _settled(desk: Desk, named: Collection[str], brief: str, whole: WholeChange) -> WholeChange:
    """Return *whole* with what it lacks: files that tasks name, and what a repository that was empty needs besides."""
    there = whole.edits.files
    unmade = (path for path in dict.fromkeys(named) if path not in there and not file_exists(desk.workspace, path))
    edits, lacks = await settled_layout(desk, whole.edits, brief)
    attempt = replace(whole.attempt, files=edits.files)
    points = (*(_PROMPTS["unmade"].format(path=path) for path in unmade), *lacks)
    return replace(whole, edits=edits, attempt=attempt, lacks=points)


async def checked_anew(desk: Desk, edits: Edits, repairs: int) -> Evidence:
    """Return what was checked of *edits* as they are, which took so many *repairs*."""
    whole = await try_whole(desk, edits)
    return await red_and_green(desk, evidence_of(desk, whole, repairs), edits.files)


def report_of(run: TestRun | NotRun, subject: str) -> ExecutionReport:
    """Return the report of what happened when the tests ran, from the report of the run."""
    if isinstance(run, NotRun) or run.status != "ran":
        why = str(run) if isinstance(run, NotRun) else run.reason
        return ExecutionReport(title=f"The tests of {subject} did not run to their end", output=why)
    outcomes = tuple(
        TestOutcome(test=_named(one.test_id), outcome=Outcome(one.outcome), detail=one.message[:_DETAIL_CHARACTERS])
        for one in run.outcomes
    )
    return ExecutionReport(title=f"The tests of {subject}", outcomes=outcomes)


def _named(test_id: str) -> str:
    """Return *test_id* on one line, for a document: a parameter may be any text."""
    return one_line(test_id.replace("`", "'")) or "a test without a name"


async def _repaired(desk: Desk, whole: WholeChange, documents: str, reach: RepairReach) -> tuple[WholeChange, int]:
    desk.report("repairing what fails", None)
    request = f"{_PROMPTS['repair']} {_PROMPTS['leave tests']}" if reach.others else _PROMPTS["repair"]
    opening = repair_opening("engineer.md", _told(desk, whole, documents, request), EDIT_FORMAT + FILE_OPERATIONS)
    return await _kept(desk, whole, Repair(opening, reach, request))


async def _tests_corrected(desk: Desk, whole: WholeChange, documents: str, tests: Edits) -> tuple[WholeChange, int]:
    desk.report("correcting tests that fail", None)
    told = _told(desk, whole, documents, _PROMPTS["correct tests"])
    opening = repair_opening("requirement_repair.md", told, EDIT_FORMAT)
    reach = RepairReach(frozenset(tests.files), is_closed=True)
    return await _kept(desk, whole, Repair(opening, reach, _PROMPTS["correct tests"]))


async def _kept(desk: Desk, whole: WholeChange, repair: Repair) -> tuple[WholeChange, int]:
    """Try a repair of *whole* and return the better of the two, and how many repairs that took."""
    overheard = repair_conversation(desk, whole, repair.reach)
    better = whole
    # Without a repair that can be used the change goes on as it is, and its evidence says what fails.
    with suppress(ReplyUnusable):
        better = await work_out_repair(desk, whole, repair, overheard)
    failing = replace(better.attempt, failures=failures_to_mend(better.before, better.attempt.run))
    return _with_findings(replace(better, attempt=failing), overheard.said), 1


def _with_findings(whole: WholeChange, said: str) -> WholeChange:
    """Return *whole* with its rationale extended by what a role found wrong and was not allowed to change."""
    before = whole.edits.rationale
    found = [line for line in findings_in(said) if line not in before]
    rationale = "\n\n".join(part for part in (before, *found) if part)
    return replace(whole, edits=whole.edits.model_copy(update={"rationale": rationale}))


def _told(desk: Desk, whole: WholeChange, documents: str, request: str) -> str:
    attempt = whole.attempt
    broken = describe_findings(attempt.told_findings) if attempt.told_findings else ""
    failing = (
        describe_failures(attempt.run, failures_to_mend(whole.before, attempt.run), "") if not attempt.works else ""
    )
    found = "\n".join(f"- {line}" for line in findings_in(whole.edits.rationale))
    so_far = change_of(whole.edits, desk.workspace, _lines_of_passing_tests(whole))
    parts = [
        documents,
        f"# The change so far; the files are as it leaves them\n\n{so_far}",
        f"# What is wrong\n\n{chr(10).join(part for part in (failing, broken, *whole.lacks) if part)}\n",
        f"# What others say of it\n\n{found}\n" if found else "",
        f"# What to do now\n\n{request}",
    ]
    return "\n".join(part for part in parts if part)


def _lines_of_passing_tests(whole: WholeChange) -> dict[str, frozenset[int]]:
    """Return the lines, from 0, of the tests of the change that passed, by file; none where the run did not end."""
    run = whole.attempt.run
    if not isinstance(run, TestRun) or run.status != "ran":
        return {}
    ended = {(one.test_id.partition("::")[0], function_of(one.test_id)) for one in run.outcomes}
    # A test with several cases passed only if none of them ended otherwise.
    passed = ended - {
        (one.test_id.partition("::")[0], function_of(one.test_id)) for one in run.outcomes if one.outcome != "passed"
    }
    return {
        path: frozenset(
            line
            for test in written_tests(text or "")
            if (path, test.name) in passed
            for line in range(test.start, test.end)
        )
        for path, text in whole.edits.files.items()
    }
