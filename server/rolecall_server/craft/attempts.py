"""The loop: edits, a run of the tests, at most three repairs; the best attempt is what comes out.

A model that fails halfway loses nothing: what was tried before is still the result, with the error beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from rolecall_analysis import facts_of, is_python
from rolecall_server.craft.edit_blocks import (
    Edited,
    Problem,
    apply_edit_blocks,
    joined_renames,
    parse_edit_blocks,
)
from rolecall_server.craft.feedback import describe_failures, describe_findings, describe_problems, describe_syntax
from rolecall_server.craft.replies import EditBlock, Step, is_answer, prose_of, text_beside_edits
from rolecall_server.craft.trial import breaks_the_run, new_failures
from rolecall_server.errors import NothingToChange, NoUsableEdit, RolecallError
from rolecall_server.model import ChatMessage, ModelClient, Wishes
from rolecall_server.review.evidence import Finding
from rolecall_server.review.syntax import syntax_errors
from rolecall_server.sandbox import NotRun, TestOutcome, TestRun

MAX_REPAIRS = 3
MAX_CORRECTIONS = 2
"""How often a block that fits nowhere is asked for again before it is given up."""
_STILL = "This is as it was before your last edits."

EDIT_FORMAT = (Path(__file__).parent / "edit_blocks.md").read_text(encoding="utf-8")
FILE_OPERATIONS = (Path(__file__).parent / "file_operations.md").read_text(encoding="utf-8")
"""How files are deleted and renamed; for roles that may (`Work.moves_files`)."""

ReadText = Callable[[str], str | None]
Report = Callable[[str, float | None], None]
"""Told what is going on, and how far it is (0 to 1) where that is known."""


@dataclass(frozen=True)
class Attempt:
    """One state of the change, and how its tests went."""

    files: Mapping[str, str | None]
    """The whole text of each file that changes; ``None`` where it is gone."""
    run: TestRun | NotRun
    syntax_errors: tuple[str, ...] = ()
    failures: tuple[TestOutcome, ...] = ()
    """The tests that fail since, and that the role is to mend."""
    breaks_the_run: bool = False
    """Whether it kept the tests from ending, which they did without it."""
    findings: tuple[Finding, ...] = ()
    """What the code graph says it breaks."""

    @property
    def certain_findings(self) -> tuple[Finding, ...]:
        """Those of which there is no doubt."""
        return tuple(finding for finding in self.findings if finding.certain)

    renames: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """New paths by old ones; under the old ones the files are gone."""

    @property
    def works(self) -> bool:
        """Whether nothing speaks against it; that it could not be run does not."""
        return not self.syntax_errors and not self.failures and not self.breaks_the_run

    def rank(self) -> tuple[int, ...]:
        """Greater is better: parses, runs to its end, fails less, breaks less elsewhere, passes more."""
        run = self.run if isinstance(self.run, TestRun) else None
        n_passed = len(run.passed) if run else 0
        n_broken = len(self.certain_findings)
        return (-len(self.syntax_errors), -int(self.breaks_the_run), -len(self.failures), -n_broken, n_passed)


@dataclass(frozen=True)
class Work:
    """What a role brings to the loop."""

    opening: tuple[ChatMessage, ...]
    """The system prompt and the task."""
    read_text: ReadText
    refusal: Callable[[str], str | None]
    """Why a path may not be changed by this role, or ``None``."""
    try_out: Callable[[Mapping[str, str | None]], Awaitable[TestRun | NotRun]]
    """Runs the tests that concern a change."""
    before: Callable[[], TestRun | NotRun | None]
    """The same tests without it, once they have run."""
    on_failure: str
    """What the role is asked to do about failing tests."""
    check: Callable[[Mapping[str, str | None]], tuple[Finding, ...]] = lambda files: ()
    """What the code graph says a change breaks."""
    moves_files: bool = False
    """Whether the role may delete and rename files."""
    chosen: str = ""
    """What the role chose to work on, and why, for a person to read."""
    objection: Callable[[str, str], str | None] = lambda path, text: None
    """Why the new text of a path may not be had, or ``None``."""
    to_mend: Callable[[tuple[TestOutcome, ...], str], tuple[TestOutcome, ...]] = lambda failures, said: failures
    """Which of the new failures the role is to mend, given all it has said."""
    draft: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """The files as the edits so far have them; kept up by the loop, for whoever looks things up meanwhile."""
    begin_repair: Callable[[Attempt, str], tuple[ChatMessage, ...]] | None = None
    """A conversation of its own about the failing tests, given what was said; ``None``: that with the role goes on."""


@dataclass(frozen=True)
class Outcome:
    """What came out of the loop."""

    attempt: Attempt
    rationale: str
    """The model's own words about its change."""
    repairs: int
    problems: tuple[str, ...] = ()
    """Edits that could not be placed."""
    interrupted: RolecallError | None = None
    """What ended the loop early, if anything did."""
    said: str = ""
    """All that the model said beside its edits."""


@dataclass
class _Talk:
    """The conversation with the model, as it grows."""

    client: ModelClient
    messages: list[ChatMessage]
    report: Report
    given_up: list[str] = field(default_factory=list[str])
    interrupted: RolecallError | None = None
    """What kept the model from correcting edits of which others fit."""
    said: str = ""
    """All that the model said beside its edits."""
    answer: str = ""
    """The reply in which the model said why it makes no edit, if it did."""

    async def ask(self) -> str:
        n_characters = 0

        def count(text: str) -> None:
            nonlocal n_characters
            n_characters += len(text)
            self.report(f"the model is writing ({n_characters:,} characters)", None)

        reply = await self.client.complete(self.messages, Wishes(on_text=count))
        self.messages.append(ChatMessage("assistant", reply.text))
        self.said += text_beside_edits(reply.text)
        return reply.text

    async def ask_again(self, request: str) -> str:
        self.report("asking again for an edit that could not be used", None)
        self.tell(request)
        return await self.ask()

    def tell(self, text: str) -> None:
        told = {message.text for message in self.messages}
        while text in told:
            text = f"{_STILL}\n\n{text}"
        self.messages.append(ChatMessage("user", text))


async def work_out(work: Work, client: ModelClient, report: Report) -> Outcome:
    """The best attempt at *work* that *client* and at most `MAX_REPAIRS` repairs lead to.

    Raises:
        NothingToChange: the model gave no edit, and said why.
        NoUsableEdit: the model gave no edit that fits, even when asked again.
        RolecallError: the model failed before there was anything to keep.
    """
    talk = _Talk(client, list(work.opening), report)
    report("asking the model", None)
    reply, edited = await _edits(work, talk, Edited({}, ()))
    if not edited.files:
        raise _no_edit(reply, talk)
    best = attempt = await _attempt(work, edited, talk)
    rationale, repairs, tried = prose_of(reply), 0, [edited.files]
    try:
        while talk.interrupted is None and repairs < _repairs_due(best):
            repairs += 1
            report(f"repair {repairs} of {MAX_REPAIRS}: showing the model what failed", None)
            _complain(work, talk, attempt)
            _, edited = await _edits(work, talk, replace(edited, problems=()))
            if edited.files in tried:
                best = replace(best, failures=work.to_mend(best.failures, talk.said))
                break
            tried.append(edited.files)
            attempt = await _attempt(work, edited, talk)
            best = max(best, attempt, key=Attempt.rank)
    except RolecallError as error:
        return Outcome(best, rationale, repairs - 1, tuple(talk.given_up), error, talk.said)
    return Outcome(best, rationale, repairs, tuple(talk.given_up), talk.interrupted, talk.said)


def _repairs_due(attempt: Attempt) -> int:
    """How many repairs *attempt* deserves: one where only the code graph finds fault, which tests may not notice."""
    return MAX_REPAIRS if not attempt.works else min(1, len(attempt.certain_findings))


async def _edits(work: Work, talk: _Talk, so_far: Edited) -> tuple[str, Edited]:
    """The model's first reply, and *so_far* with its edits, asked again for those that could not be used."""
    draft = _Edits(work, so_far)
    first_reply = reply = await talk.ask()
    for correction in range(MAX_CORRECTIONS + 1):
        steps = draft.take(reply)
        if not steps:
            is_late = bool(correction or so_far.files)
            talk.answer = reply if is_answer(reply, was_asked_again=is_late) else ""
            if talk.answer or draft.merged != so_far.files:
                break
        request = draft.request(steps)
        if not request or correction == MAX_CORRECTIONS:
            break
        try:
            reply = await talk.ask_again(request)
        except RolecallError as error:
            if draft.merged == so_far.files:
                raise
            talk.interrupted = error
            break
    talk.given_up += _left_out((*draft.repeated, *draft.problems))
    return first_reply, draft.result()


class _Edits:
    """What the replies to one request have brought so far."""

    def __init__(self, work: Work, so_far: Edited) -> None:
        self.merged = dict(so_far.files)
        self.problems: tuple[Problem, ...] = ()
        """Those of the last reply that held edits."""
        self.repeated: tuple[Problem, ...] = ()
        """Those that were there before, and are not asked about again."""
        self._work = work
        self._renames = dict(so_far.renames)
        self._applied: tuple[EditBlock, ...] = so_far.applied
        self._fresh: tuple[int, ...] = ()
        self._asked: set[object] = set()
        """What the model was asked for again."""
        self._shown = "\n".join(message.text for message in work.opening)

    def take(self, reply: str) -> Sequence[Step]:
        """Apply the edits of *reply*, and return them."""
        if not (steps := parse_edit_blocks(reply)):
            return steps
        earlier = Edited(self.merged, (), self._renames, self._applied)
        edited = _checked(self._work, apply_edit_blocks(steps, self._read, earlier, self._shown))
        self.merged |= edited.files
        self._work.draft.update(self.merged)
        self._renames = joined_renames(self._renames, edited.renames)
        self._applied += edited.applied
        self._fresh = tuple(block.number for block in edited.applied)
        self.problems = edited.problems
        return steps

    def request(self, steps: Sequence[Step]) -> str:
        """What the model is told after *steps*; empty where there is nothing to ask, or nothing new."""
        matters = {_matter(problem, steps): problem for problem in self.problems} if steps else {"": None}
        fresh = [problem for matter, problem in matters.items() if matter not in self._asked]
        if steps:
            self.repeated += tuple(problem for problem in self.problems if problem not in fresh)
            self.problems = tuple(problem for problem in self.problems if problem in fresh)
        if not fresh:
            return ""
        self._asked |= matters.keys()
        n_blocks = sum(isinstance(step, EditBlock) for step in steps)
        return describe_problems(self.problems if steps else (), n_blocks, self._fresh)

    def result(self) -> Edited:
        """All edits, as far as they change anything."""
        read_text = self._work.read_text
        changed = {path: text for path, text in self.merged.items() if text != read_text(path)}
        moved = {
            old: new
            for old, new in self._renames.items()
            if changed.get(old, "") is None and changed.get(new) is not None
        }
        return Edited(changed, (), moved, self._applied)

    def _read(self, path: str) -> str | None:
        return self.merged[path] if path in self.merged else self._work.read_text(path)


def _matter(problem: Problem, steps: Sequence[Step]) -> object:
    """What a problem is about: the same block again, word for word, or the same refusal, is the same matter."""
    bodies = [step.body for step in steps if isinstance(step, EditBlock) and step.number in problem.blocks]
    return problem.path, tuple(bodies) if bodies and not problem.is_refusal else problem.reason


def _left_out(problems: Sequence[Problem]) -> list[str]:
    told = (
        f"An edit of {problem.path or 'a file'} was left out: {_first_line(problem.reason)}" for problem in problems
    )
    return list(dict.fromkeys(told))


def _checked(work: Work, edited: Edited) -> Edited:
    """*edited* without the files the role may not change, each a problem now; what is renamed stays whole."""
    refusals = {
        path: problem for path, text in edited.files.items() if (problem := _refusal(work, path, text)) is not None
    }
    for old, new in edited.renames.items():
        if problem := refusals.get(old) or refusals.get(new):
            refusals |= {old: replace(problem, path=old), new: replace(problem, path=new)}
    allowed = {path: text for path, text in edited.files.items() if path not in refusals}
    problems = tuple(
        replace(problem, blocks=tuple(block.number for block in edited.applied if block.path == path))
        for path, problem in refusals.items()
    )
    renames = {old: new for old, new in edited.renames.items() if old in allowed}
    applied = tuple(block for block in edited.applied if block.path not in refusals)
    return Edited(allowed, edited.problems + problems, renames, applied)


def _refusal(work: Work, path: str, text: str | None) -> Problem | None:
    if text is None and not work.moves_files:
        return Problem(path, f"{path} has to stay where it is.", is_refusal=True)
    if (reason := work.refusal(path)) is not None:
        return Problem(path, reason, is_refusal=True)
    objection = work.objection(path, text) if text is not None else None
    return Problem(path, objection) if objection is not None else None


async def _attempt(work: Work, edited: Edited, talk: _Talk) -> Attempt:
    files, renames = edited.files, edited.renames
    bases = {path: work.read_text(path) for path in files} | {new: work.read_text(old) for old, new in renames.items()}
    errors = tuple(
        error for path, text in files.items() if text is not None for error in _syntax_errors(path, text, bases[path])
    )
    if errors:
        return Attempt(files, NotRun("The change does not parse."), errors, renames=renames)
    findings = await asyncio.to_thread(work.check, files)
    talk.report("running the tests", None)
    run = await work.try_out(files)
    before = work.before()
    failures = work.to_mend(new_failures(before, run), talk.said)
    return Attempt(files, run, (), failures, breaks_the_run(before, run), findings, renames)


def _syntax_errors(path: str, text: str, base: str | None) -> tuple[str, ...]:
    """The syntax errors *text* has where *base* had none; whoever broke a file may go on working in it."""
    if not is_python(path) or (base is not None and syntax_errors(facts_of(path, base), base)):
        return ()
    return tuple(str(error) for error in syntax_errors(facts_of(path, text), text) if error.certain)


def _complain(work: Work, talk: _Talk, attempt: Attempt) -> None:
    """Tell the model what is wrong with its attempt, in a conversation of its own where the role has one for that."""
    only_failures = attempt.failures and not (attempt.breaks_the_run or attempt.certain_findings)
    if work.begin_repair is not None and only_failures and not attempt.syntax_errors:
        talk.messages[:] = work.begin_repair(attempt, talk.said)
    else:
        talk.tell(_complaint(work, attempt))


def _complaint(work: Work, attempt: Attempt) -> str:
    if attempt.syntax_errors:
        return describe_syntax(attempt.syntax_errors)
    broken = [describe_findings(attempt.certain_findings)] if attempt.certain_findings else []
    if attempt.works:
        return "\n".join(broken)
    failures = describe_failures(attempt.run, attempt.failures, work.on_failure)
    return "\n\n".join([failures, *broken])


def _no_edit(reply: str, talk: _Talk) -> NoUsableEdit:
    said = " ".join(prose_of(talk.answer or reply, 300).split()) or "nothing"
    if talk.answer:
        what = " ".join(["The model proposes no change.", *talk.given_up[:2], f"It said: {said}"])
        return NothingToChange(what, said=text_beside_edits(talk.answer).strip())
    return NoUsableEdit(" ".join(["The model gave no edit that can be used.", *talk.given_up[:2], f"It said: {said}"]))


def _first_line(text: str) -> str:
    return text.partition("\n")[0].partition(" The nearest lines")[0]
