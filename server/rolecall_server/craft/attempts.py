"""The loop: edits, a run of the tests, at most three repairs; the best attempt is what comes out.

A model that fails halfway loses nothing: what was tried before is still the result, with the error beside it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rolecall_analysis import facts_of, is_python
from rolecall_server.craft.edit_blocks import Edited, Problem, apply_edit_blocks, parse_edit_blocks
from rolecall_server.craft.feedback import describe_failures, describe_problems, describe_syntax
from rolecall_server.craft.trial import breaks_the_run, new_failures
from rolecall_server.errors import NoUsableEdit, RolecallError
from rolecall_server.model import ChatMessage, ModelClient
from rolecall_server.sandbox import NotRun, TestRun

MAX_REPAIRS = 3
MAX_CORRECTIONS = 2
"""How often a block that fits nowhere is asked for again before it is given up."""

EDIT_FORMAT = (Path(__file__).parent / "edit_blocks.md").read_text(encoding="utf-8")

ReadText = Callable[[str], str | None]
Report = Callable[[str, float | None], None]
"""Told what is going on, and how far it is (0 to 1) where that is known."""


@dataclass(frozen=True)
class Attempt:
    """One state of the change, and how its tests went."""

    files: Mapping[str, str]
    """The whole text of each file that changes."""
    run: TestRun | NotRun
    syntax_errors: tuple[str, ...] = ()
    n_new_failures: int = 0
    breaks_the_run: bool = False
    """Whether it kept the tests from ending, which they did without it."""

    @property
    def works(self) -> bool:
        """Whether nothing speaks against it; that it could not be run does not."""
        return not self.syntax_errors and not self.n_new_failures and not self.breaks_the_run

    def rank(self) -> tuple[int, ...]:
        """Greater is better: parses, runs to its end, fails less, passes more."""
        run = self.run if isinstance(self.run, TestRun) else None
        n_passed = len(run.passed) if run else 0
        return (-len(self.syntax_errors), -int(self.breaks_the_run), -self.n_new_failures, n_passed)


@dataclass(frozen=True)
class Work:
    """What a role brings to the loop."""

    opening: tuple[ChatMessage, ...]
    """The system prompt and the task."""
    read_text: ReadText
    refusal: Callable[[str], str | None]
    """Why a path may not be changed by this role, or ``None``."""
    try_out: Callable[[Mapping[str, str]], Awaitable[TestRun | NotRun]]
    """Runs the tests that concern a change."""
    before: Callable[[], TestRun | NotRun | None]
    """The same tests without it, once they have run."""
    on_failure: str
    """What the role is asked to do about failing tests."""


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


@dataclass
class _Talk:
    """The conversation with the model, as it grows."""

    client: ModelClient
    messages: list[ChatMessage]
    report: Report
    given_up: list[str] = field(default_factory=list[str])
    interrupted: RolecallError | None = None
    """What kept the model from correcting edits of which others fit."""

    async def ask(self) -> str:
        n_characters = 0

        def count(text: str) -> None:
            nonlocal n_characters
            n_characters += len(text)
            self.report(f"the model is writing ({n_characters:,} characters)", None)

        reply = await self.client.complete(self.messages, on_text=count)
        self.messages.append(ChatMessage("assistant", reply.text))
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
    reply, edited = await _edits(work, talk, {})
    if not edited:
        raise NoUsableEdit(_no_edit(reply, talk.given_up))
    best = attempt = await _attempt(work, edited, report)
    rationale, repairs = prose_of(reply), 0
    try:
        while not best.works and repairs < MAX_REPAIRS and talk.interrupted is None:
            repairs += 1
            report(f"repair {repairs} of {MAX_REPAIRS}: showing the model what failed", None)
            talk.tell(_complaint(work, attempt))
            _, edited = await _edits(work, talk, attempt.files)
            if edited == attempt.files:
                break
            attempt = await _attempt(work, edited, report)
            best = max(best, attempt, key=Attempt.rank)
    except RolecallError as error:
        return Outcome(best, rationale, repairs - 1, tuple(talk.given_up), error)
    return Outcome(best, rationale, repairs, tuple(talk.given_up), talk.interrupted)


def prose_of(reply: str, max_characters: int = 4000) -> str:
    """What a model said before its first edit."""
    lines: list[str] = []
    for line in reply.splitlines():
        if line.lstrip("#* ").startswith(("FILE:", "<<<<<")):
            break
        lines.append(line)
    text = "\n".join(lines).strip().removesuffix("```").strip()
    return text if len(text) <= max_characters else text[:max_characters].rsplit(" ", 1)[0] + " …"


async def _edits(work: Work, talk: _Talk, files: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The model's first reply, and *files* with its edits, asked again for those that fit nowhere."""
    merged = dict(files)

    def read(path: str) -> str | None:
        return merged[path] if path in merged else work.read_text(path)

    first_reply = reply = await talk.ask()
    for correction in range(MAX_CORRECTIONS + 1):
        blocks = parse_edit_blocks(reply)
        edited = _checked(work, apply_edit_blocks(blocks, read))
        merged |= edited.files
        if not edited.problems and (blocks or merged != files):
            break
        if correction == MAX_CORRECTIONS:
            talk.given_up += _left_out(edited.problems)
            break
        talk.report("asking again for an edit that fits nowhere", None)
        talk.tell(describe_problems(edited.problems))
        try:
            reply = await talk.ask()
        except RolecallError as error:
            if merged == files:
                raise
            talk.given_up += _left_out(edited.problems)
            talk.interrupted = error
            break
    return first_reply, {path: text for path, text in merged.items() if text != work.read_text(path)}


def _left_out(problems: Sequence[Problem]) -> list[str]:
    return [
        f"An edit of {problem.path or 'a file'} was left out: {_first_line(problem.reason)}" for problem in problems
    ]


def _checked(work: Work, edited: Edited) -> Edited:
    """*edited* without the files the role may not change, each a problem now."""
    refusals = {path: reason for path in edited.files if (reason := work.refusal(path)) is not None}
    allowed = {path: text for path, text in edited.files.items() if path not in refusals}
    problems = tuple(Problem(path, reason) for path, reason in refusals.items())
    return Edited(allowed, edited.problems + problems)


async def _attempt(work: Work, files: Mapping[str, str], report: Report) -> Attempt:
    syntax_errors = tuple(
        error for path, text in files.items() for error in _syntax_errors(path, text, work.read_text(path))
    )
    if syntax_errors:
        return Attempt(files, NotRun("The change does not parse."), syntax_errors)
    report("running the tests", None)
    run = await work.try_out(files)
    before = work.before()
    return Attempt(files, run, (), len(new_failures(before, run)), breaks_the_run(before, run))


def _syntax_errors(path: str, text: str, base: str | None) -> tuple[str, ...]:
    """The syntax errors *text* has where *base* had none; whoever broke a file may go on working in it."""
    if not is_python(path) or (base is not None and facts_of(path, base).problems):
        return ()
    return tuple(
        f"{path}, line {problem.span.start.line + 1}: {problem.message}"
        if problem.span
        else f"{path}: {problem.message}"
        for problem in facts_of(path, text).problems
    )


def _complaint(work: Work, attempt: Attempt) -> str:
    if attempt.syntax_errors:
        return describe_syntax(attempt.syntax_errors)
    return describe_failures(attempt.run, new_failures(work.before(), attempt.run), work.on_failure)


def _no_edit(reply: str, given_up: Sequence[str]) -> str:
    said = " ".join(prose_of(reply, 300).split()) or "nothing"
    return " ".join(["The model gave no edit that can be used.", *given_up[:2], f"It said: {said}"])


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else ""
