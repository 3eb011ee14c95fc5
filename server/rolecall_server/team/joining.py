"""The edits of a sprint as one change: run with its tests, repaired, and mended where the review found something."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from rolecall_analysis import is_test_path
from rolecall_server.craft.attempts import EDIT_FORMAT, FILE_OPERATIONS, Attempt, Work, work_out
from rolecall_server.craft.edit_blocks import parse_edit_blocks
from rolecall_server.craft.feedback import describe_failures, describe_findings
from rolecall_server.craft.trial import breaks_the_run, evidence, new_failures
from rolecall_server.errors import ReplyUnusable
from rolecall_server.model import ChatMessage
from rolecall_server.review.checks import check_changes
from rolecall_server.review.evidence import Evidence
from rolecall_server.sandbox import NotRun, TestRun
from rolecall_server.store.messages import Draft, MessageRow
from rolecall_server.team.agenda import agenda_of
from rolecall_server.team.building import prose_alone
from rolecall_server.team.documents import (
    ExecutionReport,
    Finding,
    Kind,
    Outcome,
    Response,
    Review,
    TestOutcome,
)
from rolecall_server.team.documents.values import one_line
from rolecall_server.team.edits import Edits, desk_with, fingerprints, joined
from rolecall_server.team.fence import Overheard
from rolecall_server.team.pool import Pool, as_draft, content_of
from rolecall_server.team.request import Desk
from rolecall_server.team.room import Room
from rolecall_server.team.steps import Step
from rolecall_server.team.telling import diff_of, tell
from rolecall_server.team.trials import Trials
from rolecall_server.workspace import read_for_model, why_not_changed

_ROLES = Path(__file__).parent / "roles"
_REPAIR = (
    "Correct the code. Tests belong to the QA Engineer, who wrote them from the requirements without seeing the code: "
    "where one contradicts them, leave it and say so in a sentence that begins with `Finding:`."
)
_CORRECT = (
    "The code was written by somebody else from the same requirements. Correct the tests that ask for something the "
    "requirements do not say; leave those that are right as they are, failing, and say so in a sentence that begins "
    "with `Finding:`."
)
_ANSWER = (
    "Answer each finding of the review in a line of its own, outside the edits: `ANSWER F1: fixed: how`, or "
    "`ANSWER F1: declined: why`. A blocker is fixed. Send the edits for what you fix, and no others."
)
_ANSWERED = re.compile(r"^[\s>*-]*ANSWER\s+(F\d+)\s*:\s*(fixed|declined)\b[\s:,.-]*(.*)$", re.MULTILINE | re.IGNORECASE)
_FINDING = re.compile(r"[\s>*-]*Finding:\s*\S")
"""Begins what a role says of a test or of code that it may not change."""
_DETAIL_CHARACTERS = 300


@dataclass(frozen=True)
class _Whole:
    """All of a sprint's edits, and how their tests went."""

    edits: Edits
    attempt: Attempt
    before: TestRun | NotRun | None


async def integrate(step: Step, room: Room, pool: Pool) -> tuple[Draft, ...]:
    """The edits of all tasks and the tests as one change, with what was checked of it.

    Where tests fail the Engineer repairs the code, then the QA Engineer the tests; the best state is kept, and said to
    be failing if it is.
    """
    desk = room.desk(step, pool)
    by_task = {message.subject.partition("/")[2]: content_of(message, Edits) for message in step.messages("edits")}
    code = [by_task[task.id] for task in agenda_of(pool).tasks]
    tests = [content_of(message, Edits) for message in step.messages("tests")]
    desk.report("putting the edits together", None)
    whole = await _tried(desk, joined([*code, *tests]))
    repairs = 0
    documents = await asyncio.to_thread(tell, _documents_of(step), desk.workspace)
    if code and not _is_sound(whole.attempt):
        whole, repairs = await _repaired(desk, whole, documents, has_tests=bool(tests))
    if not whole.attempt.works and tests:
        whole, more = await _tests_corrected(desk, whole, documents, tests[0])
        repairs += more
    checked = whole.edits.model_copy(update={"evidence": _evidence(desk, whole, repairs)})
    return (
        as_draft("change", checked.model_dump(mode="json"), step.subject),
        as_draft(Kind.EXECUTION_REPORT, report_of(whole.attempt.run, step.subject), step.subject),
    )


async def answer_review(step: Step, room: Room, pool: Pool) -> tuple[Draft, ...]:
    """The change after its review: each finding fixed, or declined with a reason; one round.

    Edits that make more tests fail are taken back, and the finding says so.
    """
    change = step.message("change")
    assert change is not None
    edits = content_of(change, Edits)
    findings = _numbered(content_of(message, Review) for message in step.messages(Kind.REVIEW))
    if not findings:
        return (as_draft("answered", edits.model_dump(mode="json"), step.subject),)
    desk = room.desk(step, pool)
    assert desk.client is not None
    desk.report("answering the review", None)
    opening = await asyncio.to_thread(_review_opening, step, desk, edits, findings)
    first = await desk.client.complete(opening)
    overheard = Overheard(desk.client, begun=[first])
    answered = edits
    taken_back = ""
    if parse_edit_blocks(first.text):
        before = await _tried(desk, edits)
        fixed = await _worked_out(desk, before, _Repair(opening, _may_change(desk, edits, tests=True), ""), overheard)
        taken_back = "" if fixed is not before else "The fix made tests fail and was taken back."
        answered = fixed.edits.model_copy(update={"evidence": _evidence(desk, fixed, 0)}) if not taken_back else edits
    said = {
        number: (word.lower(), why.strip()) for number, word, why in _ANSWERED.findall(overheard.said or first.text)
    }
    replies = tuple(_answered(finding, said.get(finding.id), taken_back) for finding in findings)
    review = Review(title=f"What became of the review of {step.subject}", findings=replies)
    answered = answered.model_copy(update={"answers": tuple(map(_sentence, replies))})
    return (
        as_draft("answered", answered.model_dump(mode="json"), step.subject),
        as_draft(Kind.REVIEW, review, f"{step.subject}/answered"),
    )


def report_of(run: TestRun | NotRun, subject: str) -> ExecutionReport:
    """What happened when the tests ran, from the report of the run."""
    if isinstance(run, NotRun) or run.status != "ran":
        why = str(run) if isinstance(run, NotRun) else run.reason
        return ExecutionReport(title=f"The tests of {subject} did not run to their end", output=why)
    outcomes = tuple(
        TestOutcome(test=_named(one.test_id), outcome=Outcome(one.outcome), detail=one.message[:_DETAIL_CHARACTERS])
        for one in run.outcomes
    )
    return ExecutionReport(title=f"The tests of {subject}", outcomes=outcomes)


def _named(test_id: str) -> str:
    """*test_id* on one line, for a document: a parameter may be any text."""
    return one_line(test_id.replace("`", "'")) or "a test without a name"


async def _tried(desk: Desk, edits: Edits) -> _Whole:
    """*edits* with their findings and the run of the tests that reach them."""
    trials = _trials(desk, edits)
    findings = await asyncio.to_thread(check_changes, desk.snapshot, edits.files)
    run = await trials.of_change(edits.files)
    before = trials.before
    attempt = Attempt(
        edits.files,
        run,
        failures=new_failures(before, run),
        breaks_the_run=breaks_the_run(before, run),
        findings=findings,
        renames=edits.renames,
    )
    return _Whole(edits, attempt, before)


def _trials(desk: Desk, edits: Edits) -> Trials:
    return Trials(desk, [path for path in edits.files if path.endswith(".py") and not is_test_path(path)])


def _is_sound(attempt: Attempt) -> bool:
    return attempt.works and not attempt.certain_findings


@dataclass(frozen=True)
class _Repair:
    """One conversation about a change as a whole."""

    opening: tuple[ChatMessage, ...]
    refusal: Callable[[str], str | None]
    on_failure: str


async def _repaired(desk: Desk, whole: _Whole, documents: str, *, has_tests: bool) -> tuple[_Whole, int]:
    assert desk.client is not None
    desk.report("repairing what fails", None)
    told = _told(desk, whole, documents, _REPAIR)
    opening = _opening("engineer.md", told, EDIT_FORMAT + FILE_OPERATIONS)
    refusal = _may_change(desk, whole.edits, tests=not has_tests)
    return await _kept(desk, whole, _Repair(opening, refusal, _REPAIR))


async def _tests_corrected(desk: Desk, whole: _Whole, documents: str, tests: Edits) -> tuple[_Whole, int]:
    desk.report("correcting tests that fail", None)
    told = _told(desk, whole, documents, _CORRECT)
    opening = _opening("requirement_tests.md", told, EDIT_FORMAT)

    def refusal(path: str) -> str | None:
        return None if path in tests.files else f"Only {', '.join(tests.files)} may be changed here."

    return await _kept(desk, whole, _Repair(opening, refusal, _CORRECT))


async def _kept(desk: Desk, whole: _Whole, repair: _Repair) -> tuple[_Whole, int]:
    """The better of *whole* and what a repair makes of it, and how many repairs that took."""
    assert desk.client is not None
    overheard = Overheard(desk.client)
    better = whole
    with suppress(ReplyUnusable):
        better = await _worked_out(desk, whole, repair, overheard)
    return _with_findings(better, overheard.said), 1


def _with_findings(whole: _Whole, said: str) -> _Whole:
    """*whole*, whose rationale tells what a role found wrong and had no business to change."""
    before = whole.edits.rationale
    found = [line.strip() for line in said.splitlines() if _FINDING.match(line) and line.strip() not in before]
    rationale = "\n\n".join(part for part in (before, *dict.fromkeys(found)) if part)
    return replace(whole, edits=whole.edits.model_copy(update={"rationale": rationale}))


async def _worked_out(desk: Desk, whole: _Whole, repair: _Repair, client: Overheard) -> _Whole:
    """*whole* with the edits of a conversation on top, if it is no worse with them."""
    laid = desk_with(desk, whole.edits)
    trials = _trials(desk, whole.edits)
    trials.before = whole.before

    async def try_out(files: Mapping[str, str | None]) -> TestRun | NotRun:
        return await trials.of_change({**whole.edits.files, **files})

    work = Work(
        opening=repair.opening,
        read_text=lambda path: read_for_model(laid.workspace, path),
        refusal=repair.refusal,
        try_out=try_out,
        before=lambda: trials.before,
        on_failure=repair.on_failure,
        check=lambda files: check_changes(desk.snapshot, {**whole.edits.files, **files}),
        moves_files=True,
    )
    outcome = await work_out(work, client, desk.report)
    if outcome.interrupted is not None:
        raise outcome.interrupted
    attempt = outcome.attempt
    if attempt.rank()[:4] < whole.attempt.rank()[:4]:
        return whole
    paths = {*attempt.files, *attempt.renames}
    change = Edits(
        files=attempt.files,
        renames=attempt.renames,
        bases=fingerprints(desk.workspace, sorted(paths)),
        tasks={path: _tasks_near(whole.edits, path) for path in attempt.files},
        rationale=prose_alone(outcome.rationale),
    )
    return replace(whole, edits=joined([whole.edits, change]), attempt=attempt, before=trials.before)


def _tasks_near(edits: Edits, path: str) -> tuple[str, ...]:
    """The tasks that changed *path*; all of them where none did."""
    return edits.tasks.get(path) or tuple(dict.fromkeys(task for tasks in edits.tasks.values() for task in tasks))


def _told(desk: Desk, whole: _Whole, documents: str, request: str) -> str:
    attempt = whole.attempt
    broken = describe_findings(attempt.certain_findings) if attempt.certain_findings else ""
    failing = (
        describe_failures(attempt.run, new_failures(whole.before, attempt.run), request) if not attempt.works else ""
    )
    parts = [
        documents,
        f"# The change so far; the files are as it leaves them\n\n{diff_of(whole.edits, desk.workspace)}",
        f"# What is wrong\n\n{chr(10).join(part for part in (failing, broken) if part)}",
    ]
    return "\n".join(part for part in parts if part)


def _opening(profile: str, told: str, edit_format: str) -> tuple[ChatMessage, ...]:
    system = (_ROLES / profile).read_text(encoding="utf-8")
    return ChatMessage("system", f"{system}\n# How to answer\n\n{edit_format}"), ChatMessage("user", told)


def _may_change(desk: Desk, edits: Edits, *, tests: bool) -> Callable[[str], str | None]:
    """The refusal of files that the change does not touch, and of tests where they are somebody else's."""

    def refusal(path: str) -> str | None:
        if path not in edits.files:
            return f"{path} is not part of the change; only {', '.join(edits.files)} may be changed now."
        if not tests and is_test_path(path):
            return f"{path} holds tests, which the QA Engineer wrote from the requirements. Leave it as it is."
        return why_not_changed(desk.workspace, path)

    return refusal


def _documents_of(step: Step) -> list[MessageRow]:
    """What the change is to be measured by."""
    measures = (Kind.REQUIREMENTS, "answers", Kind.DESIGN, Kind.TASK_LIST)
    return [message for message in step.read if message.kind in measures]


def _review_opening(step: Step, desk: Desk, edits: Edits, findings: tuple[Finding, ...]) -> tuple[ChatMessage, ...]:
    listed = "\n".join(
        f"- {one.id} ({one.severity}, {one.rests_on}) {one.file}, lines {one.first_line}-{one.last_line}: {one.title} "
        f"{one.text}".rstrip()
        for one in findings
    )
    told = (
        f"{tell(_documents_of(step), desk.workspace)}\n"
        f"# Your change; the files are as it leaves them\n\n{diff_of(edits, desk.workspace)}\n"
        f"# The review\n\n{listed}\n\n# What to do now\n\n{_ANSWER}"
    )
    return _opening("engineer.md", told, EDIT_FORMAT + FILE_OPERATIONS)


def _numbered(reviews: Iterable[Review]) -> tuple[Finding, ...]:
    """The findings of all reviews, numbered through."""
    findings = [finding for review in reviews for finding in review.findings]
    return tuple(one.model_copy(update={"id": f"F{number}"}) for number, one in enumerate(findings, start=1))


def _answered(finding: Finding, said: tuple[str, str] | None, taken_back: str) -> Finding:
    if said is None:
        return finding
    word, why = said
    if word == "fixed" and taken_back:
        return finding.model_copy(update={"response": Response.DECLINED, "reason": taken_back})
    response = Response.FIXED if word == "fixed" else Response.DECLINED
    return finding.model_copy(update={"response": response, "reason": why or "no reason given"})


def _sentence(finding: Finding) -> str:
    response = f"{finding.response}: {finding.reason}" if finding.response else "not answered"
    return f"{finding.id} ({finding.severity}) {finding.title} {response}"


def _evidence(desk: Desk, whole: _Whole, repairs: int) -> Evidence:
    assert desk.client is not None
    attempt = whole.attempt
    return evidence(
        whole.before,
        attempt.run,
        problems=attempt.syntax_errors,
        findings=attempt.findings,
        repairs=repairs,
        model=desk.client.label,
    )
