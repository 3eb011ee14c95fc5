"""The edits of a sprint as one change: run with its tests, repaired, and mended where the review found something."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rolecall_analysis import is_test
from rolecall_server.craft.attempt import Attempt, AttemptWork
from rolecall_server.craft.attempts import EDIT_FORMAT, FILE_OPERATIONS, work_out
from rolecall_server.craft.edits.edit_blocks import parse_edit_blocks
from rolecall_server.craft.feedback import describe_failures, describe_findings
from rolecall_server.craft.test_quality.test_text import function_of, written_tests
from rolecall_server.craft.trial import breaks_the_run, evidence, new_failures
from rolecall_server.craft.verdicts import findings_in, to_mend
from rolecall_server.errors import NothingToChange, ReplyUnusable
from rolecall_server.model import ChatMessage, Reply
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.review.checks.graph_checks import check_changes
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.sandbox import NotRun, TestRun
from rolecall_server.store.messages import MessageRow, NewMessage
from rolecall_server.team.documents import (
    Design,
    ExecutionReport,
    Finding,
    Kind,
    Outcome,
    Response,
    Review,
    TaskList,
    TestOutcome,
)
from rolecall_server.team.documents.values import one_line
from rolecall_server.team.messages.board import Pool, as_draft, body_of, content_of
from rolecall_server.team.messages.edits import Edits, desk_with, fingerprints, joined
from rolecall_server.team.messages.rendering import diff_of, tell
from rolecall_server.team.model_stack import RememberingClient, conversation
from rolecall_server.team.plan.agenda import agenda_of
from rolecall_server.team.plan.steps import Step
from rolecall_server.team.request import Desk
from rolecall_server.team.room import Room
from rolecall_server.team.sprint.building import prose_alone
from rolecall_server.team.sprint.edit_scope import answer_wishes, files_of, read_wishes
from rolecall_server.team.sprint.layout import settled_layout
from rolecall_server.team.test_quality.trials import Trials, red_and_green
from rolecall_server.text_work import beside_the_loop
from rolecall_server.workspace import file_exists, read_for_model, why_not_changed

_ROLES = Path(__file__).parents[1] / "roles"
_PROMPTS = prompts_beside(__file__)
_ANSWERED = re.compile(
    r"^[ \t>*_`-]*+ANSWER\s++(F\d++)[\s*_`]*+:[\s*_`]*+(fixed|declined)\b[\s:,.*_`-]*+(.*)$",
    re.MULTILINE | re.IGNORECASE,
)
_DETAIL_CHARACTERS = 300


@dataclass(frozen=True)
class _Whole:
    """All of a sprint's edits, and how their tests went."""

    edits: Edits
    attempt: Attempt
    before: TestRun | NotRun | None
    lacks: tuple[str, ...] = ()
    """The things that are missing and that no test shows, a point each: a file that a task names, say."""

    @property
    def is_sound(self) -> bool:
        """Return whether nothing in the change has to be repaired."""
        return self.attempt.works and not self.attempt.certain_findings and not self.lacks


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
    whole = await settle(await _tried(desk, joined([*code, *tests])))
    repairs = 0
    documents = await asyncio.to_thread(tell, _documents_of(step), desk.workspace)
    if code and not whole.is_sound:
        reach = _reach(step, whole, tests[0].files if tests else ())
        whole, repairs = await _repaired(desk, whole, documents, reach)
        whole = await settle(whole)
    if not whole.attempt.works and tests:
        whole, more = await _tests_corrected(desk, whole, documents, tests[0])
        repairs += more
    shown = await red_and_green(desk, _evidence(desk, whole, repairs), whole.edits.files)
    checked = whole.edits.model_copy(update={"evidence": shown})
    return (
        as_draft("change", checked.model_dump(mode="json"), step.subject),
        as_draft(Kind.EXECUTION_REPORT, report_of(whole.attempt.run, step.subject), step.subject),
    )


def _brief_in(pool: Pool) -> str:
    message = pool.latest("brief")
    return body_of(message)["text"] if message else ""


async def _settled(desk: Desk, named: Collection[str], brief: str, whole: _Whole) -> _Whole:
    """Return *whole* with what it lacks: files that tasks name, and what a repository that was empty needs besides."""
    there = whole.edits.files
    unmade = (path for path in dict.fromkeys(named) if path not in there and not file_exists(desk.workspace, path))
    edits, lacks = await settled_layout(desk, whole.edits, brief)
    attempt = replace(whole.attempt, files=edits.files)
    points = (*(_PROMPTS["unmade"].format(path=path) for path in unmade), *lacks)
    return replace(whole, edits=edits, attempt=attempt, lacks=points)


async def checked_anew(desk: Desk, edits: Edits, repairs: int) -> Evidence:
    """Return what was checked of *edits* as they are, which took so many *repairs*."""
    whole = await _tried(desk, edits)
    return await red_and_green(desk, _evidence(desk, whole, repairs), edits.files)


async def answer_review(step: Step, room: Room, pool: Pool) -> tuple[NewMessage, ...]:
    """Answer the review of a change in one round, and return the change: each finding is fixed, or declined with a
    reason.

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
    answered, spoken, taken_back = edits, first.text, ""
    if await beside_the_loop("Reading the reply", _wants_edits, first.text):
        answered, spoken, taken_back = await _mended(desk, step, edits, opening, first)
    said = {number: (word.lower(), why.strip(" *_`")) for number, word, why in _ANSWERED.findall(spoken)}
    replies = tuple(_answered(finding, said.get(finding.id), taken_back) for finding in findings)
    review = Review(title=f"What became of the review of {step.subject}", findings=replies)
    answered = answered.model_copy(update={"answers": tuple(map(_sentence, replies))})
    return (
        as_draft("answered", answered.model_dump(mode="json"), step.subject),
        as_draft(Kind.REVIEW, review, f"{step.subject}/answered"),
    )


def _wants_edits(said: str) -> bool:
    return bool(parse_edit_blocks(said) or read_wishes(said))


async def _mended(
    desk: Desk, step: Step, edits: Edits, opening: tuple[ChatMessage, ...], first: Reply
) -> tuple[Edits, str, str]:
    """Return *edits* after the answer to a review that begins with *first*, all that was said in it, and why its fix
    was taken back.
    """
    before = await _tried(desk, edits)
    reach = _reach(step, before, ())
    overheard = _conversation(desk, before, reach, begun=[first])
    try:
        fixed = await _worked_out(desk, before, _Repair(opening, reach, _PROMPTS["unfixed"]), overheard)
    except NothingToChange:
        return edits, overheard.said, ""
    if fixed is before:
        return edits, overheard.said, "The fix made tests fail and was taken back."
    shown = await red_and_green(desk, _evidence(desk, fixed, 0), fixed.edits.files)
    return fixed.edits.model_copy(update={"evidence": shown}), overheard.said, ""


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


async def _tried(desk: Desk, edits: Edits) -> _Whole:
    """Check *edits* and run the tests that reach them; return them with their findings and the run."""
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
    return Trials(desk, [path for path in edits.files if path.endswith(".py") and not is_test(desk.snapshot, path)])


@dataclass(frozen=True)
class _Reach:
    """The files that may be changed while a change is repaired."""

    known: frozenset[str]
    """Those of the change, of the tasks and the design, and those that it breaks; another one needs a reason."""
    others: Collection[str] = ()
    """Those of somebody else."""
    is_closed: bool = False
    """No reason opens another file."""


@dataclass(frozen=True)
class _Repair:
    """One conversation about a change as a whole."""

    opening: tuple[ChatMessage, ...]
    reach: _Reach
    on_failure: str


async def _repaired(desk: Desk, whole: _Whole, documents: str, reach: _Reach) -> tuple[_Whole, int]:
    desk.report("repairing what fails", None)
    request = f"{_PROMPTS['repair']} {_PROMPTS['leave tests']}" if reach.others else _PROMPTS["repair"]
    opening = _opening("engineer.md", _told(desk, whole, documents, request), EDIT_FORMAT + FILE_OPERATIONS)
    return await _kept(desk, whole, _Repair(opening, reach, request))


async def _tests_corrected(desk: Desk, whole: _Whole, documents: str, tests: Edits) -> tuple[_Whole, int]:
    desk.report("correcting tests that fail", None)
    told = _told(desk, whole, documents, _PROMPTS["correct tests"])
    opening = _opening("requirement_repair.md", told, EDIT_FORMAT)
    reach = _Reach(frozenset(tests.files), is_closed=True)
    return await _kept(desk, whole, _Repair(opening, reach, _PROMPTS["correct tests"]))


async def _kept(desk: Desk, whole: _Whole, repair: _Repair) -> tuple[_Whole, int]:
    """Try a repair of *whole* and return the better of the two, and how many repairs that took."""
    overheard = _conversation(desk, whole, repair.reach)
    better = whole
    with suppress(ReplyUnusable):
        better = await _worked_out(desk, whole, repair, overheard)
    failing = replace(better.attempt, failures=new_failures(better.before, better.attempt.run))
    return _with_findings(replace(better, attempt=failing), overheard.said), 1


def _conversation(desk: Desk, whole: _Whole, reach: _Reach, begun: Sequence[Reply] = ()) -> RememberingClient:
    """Return a client for a conversation about *whole*, in which who asks for another file is shown it."""
    overheard = conversation(desk, looks_up=False, begun=begun)
    laid = desk_with(desk, whole.edits).workspace
    overheard.answer = lambda said: answer_wishes(laid, lambda path: _refusal(desk, reach, path, said), said)
    return overheard


def _with_findings(whole: _Whole, said: str) -> _Whole:
    """Return *whole* with its rationale extended by what a role found wrong and was not allowed to change."""
    before = whole.edits.rationale
    found = [line for line in findings_in(said) if line not in before]
    rationale = "\n\n".join(part for part in (before, *found) if part)
    return replace(whole, edits=whole.edits.model_copy(update={"rationale": rationale}))


async def _worked_out(desk: Desk, whole: _Whole, repair: _Repair, client: RememberingClient) -> _Whole:
    """Hold a conversation about *whole* and return it with the edits on top, if it is no worse with them."""
    laid = desk_with(desk, whole.edits)
    trials = _trials(desk, whole.edits)
    trials.before = whole.before

    async def try_out(files: Mapping[str, str | None]) -> TestRun | NotRun:
        return await trials.of_change({**whole.edits.files, **files})

    work = AttemptWork(
        opening=repair.opening,
        read_text=lambda path: read_for_model(laid.workspace, path),
        refusal=lambda path: _refusal(desk, repair.reach, path, client.said),
        try_out=try_out,
        before=lambda: trials.before,
        on_failure=repair.on_failure,
        check=lambda files: check_changes(desk.snapshot, {**whole.edits.files, **files}),
        moves_files=True,
        to_mend=to_mend,
    )
    outcome = await work_out(work, client, desk.report)
    if outcome.interrupted is not None:
        raise outcome.interrupted
    attempt = outcome.attempt
    if attempt.rank()[:4] < whole.attempt.rank()[:4]:
        return whole
    paths = {*attempt.files, *attempt.renames}
    wishes = read_wishes(client.said)
    change = Edits(
        files=attempt.files,
        renames=attempt.renames,
        bases=fingerprints(desk.workspace, sorted(paths)),
        tasks={path: _tasks_near(whole.edits, path) for path in attempt.files},
        widened={path: wishes[path] for path in attempt.files.keys() - repair.reach.known if path in wishes},
        rationale=prose_alone(outcome.rationale),
    )
    return replace(whole, edits=joined([whole.edits, change]), attempt=attempt, before=trials.before)


def _tasks_near(edits: Edits, path: str) -> tuple[str, ...]:
    """Return the tasks that changed *path*; all of them where none did."""
    return edits.tasks.get(path) or tuple(dict.fromkeys(task for tasks in edits.tasks.values() for task in tasks))


def _told(desk: Desk, whole: _Whole, documents: str, request: str) -> str:
    attempt = whole.attempt
    broken = describe_findings(attempt.certain_findings) if attempt.certain_findings else ""
    failing = describe_failures(attempt.run, new_failures(whole.before, attempt.run), "") if not attempt.works else ""
    found = "\n".join(f"- {line}" for line in findings_in(whole.edits.rationale))
    so_far = diff_of(whole.edits, desk.workspace, _lines_of_passing_tests(whole))
    parts = [
        documents,
        f"# The change so far; the files are as it leaves them\n\n{so_far}",
        f"# What is wrong\n\n{chr(10).join(part for part in (failing, broken, *whole.lacks) if part)}\n",
        f"# What others say of it\n\n{found}\n" if found else "",
        f"# What to do now\n\n{request}",
    ]
    return "\n".join(part for part in parts if part)


def _lines_of_passing_tests(whole: _Whole) -> dict[str, frozenset[int]]:
    """Return the lines, from 0, of the tests of the change that passed, by file; none where the run did not end."""
    run = whole.attempt.run
    if not isinstance(run, TestRun) or run.status != "ran":
        return {}
    ended = {(one.test_id.partition("::")[0], function_of(one.test_id)) for one in run.outcomes}
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


def _opening(profile: str, told: str, edit_format: str) -> tuple[ChatMessage, ...]:
    system = (_ROLES / profile).read_text(encoding="utf-8")
    return ChatMessage("system", f"{system}\n# How to answer\n\n{edit_format}"), ChatMessage("user", told)


def _reach(step: Step, whole: _Whole, others: Collection[str]) -> _Reach:
    """Return the files that the Engineer may change in a sprint's change, *others* left aside."""
    design, tasks = step.message(Kind.DESIGN), step.message(Kind.TASK_LIST)
    named = {path for task in content_of(tasks, TaskList).tasks for path in task.files} if tasks else set[str]()
    named |= {*files_of(content_of(design, Design))} if design else set()
    broken = {place.path for finding in whole.attempt.findings for place in finding.places}
    broken |= {finding.path for finding in whole.attempt.findings}
    return _Reach(frozenset((*whole.edits.files, *named, *broken)), others)


def _refusal(desk: Desk, reach: _Reach, path: str, said: str) -> str | None:
    """Return the reason why *path* may not be changed by the one who *said* that, or ``None``."""
    if path in reach.others:
        return _PROMPTS["not yours"].format(path=path)
    if path not in reach.known and reach.is_closed:
        return _PROMPTS["closed"].format(known=", ".join(sorted(reach.known)), path=path)
    if path not in reach.known and desk.snapshot.files and path not in read_wishes(said):  # else all of it is new
        return _PROMPTS["unknown"].format(path=path)
    return why_not_changed(desk.workspace, path)


def _documents_of(step: Step) -> list[MessageRow]:
    """Return the documents by which the change is to be measured."""
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
        f"# The review\n\n{listed}\n\n# What to do now\n\n{_PROMPTS['answer']}"
    )
    return _opening("engineer.md", told, EDIT_FORMAT + FILE_OPERATIONS)


def _numbered(reviews: Iterable[Review]) -> tuple[Finding, ...]:
    """Return the findings of all reviews, numbered through."""
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
    shown = evidence(
        whole.before,
        attempt.run,
        problems=attempt.syntax_errors,
        findings=attempt.findings,
        repairs=repairs,
        model=desk.client.label,
        changed=whole.edits.files,
    )
    lacks = (one.removeprefix("- ").partition("\n")[0] for one in whole.lacks)
    return replace(shown, notes=(*shown.notes, *lacks, *desk.bench.kept_back.notes))
