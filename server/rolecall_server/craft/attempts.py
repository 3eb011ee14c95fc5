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
from rolecall_server.craft.replies import prose_of, text_beside_edits
from rolecall_server.craft.trial import breaks_the_run, new_failures
from rolecall_server.errors import NoUsableEdit, RolecallError
from rolecall_server.model import ChatMessage, ModelClient, Wishes
from rolecall_server.review.evidence import Finding
from rolecall_server.review.syntax import syntax_errors
from rolecall_server.sandbox import NotRun, TestOutcome, TestRun

MAX_REPAIRS = 3
MAX_CORRECTIONS = 2
"""How often a block that fits nowhere is asked for again before it is given up."""

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
    is_answer: Callable[[str], bool] = lambda reply: False
    """Whether a reply without edits will do where failing tests were shown."""
    draft: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """The files as the edits so far have them; kept up by the loop, for whoever looks things up meanwhile."""
    is_whole: Callable[[str], bool] = lambda reply: False
    """Whether a reply without edits is a whole answer, whatever was asked: nothing has to change, and why."""
    begin_repair: Callable[[Attempt], tuple[ChatMessage, ...]] | None = None
    """A conversation of its own about the failing tests; ``None``: that with the role goes on."""


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

    def tell(self, text: str) -> None:
        self.messages.append(ChatMessage("user", text))


async def work_out(work: Work, client: ModelClient, report: Report) -> Outcome:
    """The best attempt at *work* that *client* and at most `MAX_REPAIRS` repairs lead to.

    Raises:
        NoUsableEdit: the model gave no edit that fits, even when asked again.
        RolecallError: the model failed before there was anything to keep.
    """
    talk = _Talk(client, list(work.opening), report)
    report("asking the model", None)
    reply, edited = await _edits(work, talk, Edited({}, ()))
    if not edited.files:
        raise NoUsableEdit(_no_edit(reply, talk.given_up))
    best = attempt = await _attempt(work, edited, talk)
    rationale, repairs = prose_of(reply), 0
    try:
        while talk.interrupted is None and repairs < _repairs_due(best):
            repairs += 1
            report(f"repair {repairs} of {MAX_REPAIRS}: showing the model what failed", None)
            _complain(work, talk, attempt)
            _, edited = await _edits(work, talk, Edited(attempt.files, (), attempt.renames))
            if edited.files == attempt.files:
                best = replace(best, failures=work.to_mend(best.failures, talk.said))
                break
            attempt = await _attempt(work, edited, talk)
            best = max(best, attempt, key=Attempt.rank)
    except RolecallError as error:
        return Outcome(best, rationale, repairs - 1, tuple(talk.given_up), error, talk.said)
    return Outcome(best, rationale, repairs, tuple(talk.given_up), talk.interrupted, talk.said)


def _repairs_due(attempt: Attempt) -> int:
    """How many repairs *attempt* deserves: one where only the code graph finds fault, which tests may not notice."""
    return MAX_REPAIRS if not attempt.works else min(1, len(attempt.certain_findings))


async def _edits(work: Work, talk: _Talk, so_far: Edited) -> tuple[str, Edited]:
    """The model's first reply, and *so_far* with its edits, asked again for those that fit nowhere."""
    merged, renames = dict(so_far.files), dict(so_far.renames)

    def read(path: str) -> str | None:
        return merged[path] if path in merged else work.read_text(path)

    refused: set[Problem] = set()
    first_reply = reply = await talk.ask()
    for correction in range(MAX_CORRECTIONS + 1):
        steps = parse_edit_blocks(reply)
        edited = _checked(work, apply_edit_blocks(steps, read, Edited(merged, (), renames)))
        merged |= edited.files
        work.draft.update(merged)
        renames = joined_renames(renames, edited.renames)
        is_answer = work.is_whole(reply) or (so_far.files and work.is_answer(reply))
        if not edited.problems and (steps or merged != so_far.files or is_answer):
            break
        if edited.problems and refused.issuperset(edited.problems):
            talk.given_up += _left_out(edited.problems)
            break
        refused |= {problem for problem in edited.problems if problem.is_refusal}
        if correction == MAX_CORRECTIONS:
            talk.given_up += _left_out(edited.problems)
            break
        talk.report("asking again for an edit that fits nowhere", None)
        talk.tell(describe_problems(edited.problems))
        try:
            reply = await talk.ask()
        except RolecallError as error:
            if merged == so_far.files:
                raise
            talk.given_up += _left_out(edited.problems)
            talk.interrupted = error
            break
    changed = {path: text for path, text in merged.items() if text != work.read_text(path)}
    moved = {old: new for old, new in renames.items() if changed.get(old, "") is None and changed.get(new) is not None}
    return first_reply, Edited(changed, (), moved)


def _left_out(problems: Sequence[Problem]) -> list[str]:
    return [
        f"An edit of {problem.path or 'a file'} was left out: {_first_line(problem.reason)}" for problem in problems
    ]


def _checked(work: Work, edited: Edited) -> Edited:
    """*edited* without the files the role may not change, each a problem now; what is renamed stays whole."""
    refusals = {path: reason for path, text in edited.files.items() if (reason := _refusal(work, path, text))}
    for old, new in edited.renames.items():
        if reason := refusals.get(old) or refusals.get(new):
            refusals |= {old: reason, new: reason}
    allowed = {path: text for path, text in edited.files.items() if path not in refusals}
    problems = tuple(Problem(path, reason, is_refusal=True) for path, reason in refusals.items())
    renames = {old: new for old, new in edited.renames.items() if old in allowed}
    return Edited(allowed, edited.problems + problems, renames)


def _refusal(work: Work, path: str, text: str | None) -> str | None:
    if text is None and not work.moves_files:
        return f"{path} has to stay where it is."
    return work.refusal(path) or (work.objection(path, text) if text is not None else None)


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
        talk.messages[:] = work.begin_repair(attempt)
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


def _no_edit(reply: str, given_up: Sequence[str]) -> str:
    said = " ".join(prose_of(reply, 300).split()) or "nothing"
    return " ".join(["The model gave no edit that can be used.", *given_up[:2], f"It said: {said}"])


def _first_line(text: str) -> str:
    return text.partition("\n")[0].partition(" The nearest lines")[0]
