"""The loop: edits, a run of the tests, a few repairs; the best attempt is what comes out.

A model that fails halfway loses nothing: what was tried before is still the result, with the error beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rolecall_analysis import facts_of, is_python
from rolecall_server.craft.attempt import Attempt, Attempted, AttemptOutcome, AttemptWork, Try
from rolecall_server.craft.edits.edit_blocks import (
    Edited,
    EditProblem,
    apply_edit_blocks,
    joined_renames,
    parse_edit_blocks,
)
from rolecall_server.craft.edits.notes import Note, read_notes, tell_notes, used_in, without_notes
from rolecall_server.craft.edits.replies import EditBlock, Step, is_answer, prose_of, text_beside_edits
from rolecall_server.craft.feedback import describe_failures, describe_findings, describe_problems, describe_syntax
from rolecall_server.craft.trial import breaks_the_run, failures_to_mend
from rolecall_server.errors import NothingToChange, NoUsableEdit, RolecallError
from rolecall_server.model import ChatMessage, ModelClient, Wishes
from rolecall_server.review.checks.syntax import syntax_errors
from rolecall_server.sandbox import NotRun
from rolecall_server.text_work import beside_the_loop, look_at_the_clock

MAX_CORRECTIONS = 2
"""The number of times that a block that fits nowhere is asked for again before it is given up."""
_READING = "Reading the reply"
_MOST_OF_A_TRY = 200
"""Characters of what a model said of an attempt, in the error that tells of all."""
_STILL = "This is as it was before your last edits."

EDIT_FORMAT = (Path(__file__).parent / "edits" / "edit_blocks.md").read_text(encoding="utf-8")
SHORT_EDIT_FORMAT = (Path(__file__).parent / "edits" / "edit_blocks_in_short.md").read_text(encoding="utf-8")
"""The same in a third of the words, for a request that is itself short."""
FILE_OPERATIONS = (Path(__file__).parent / "edits" / "file_operations.md").read_text(encoding="utf-8")
"""The instructions for deleting and renaming files; for roles that may (`Work.moves_files`)."""

Report = Callable[[str, float | None], None]
"""Told what is going on, and how far it is (0 to 1) where that is known."""


@dataclass
class _Talk:
    """The conversation with the model, as it grows."""

    client: ModelClient
    messages: list[ChatMessage]
    report: Report
    given_up: list[str] = field(default_factory=list[str])
    interrupted: RolecallError | None = None
    """The error that kept the model from correcting edits of which others fit."""
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
        self.said += await beside_the_loop(_READING, text_beside_edits, reply.text)
        return reply.text

    async def ask_again(self, request: str) -> str:
        self.report("asking again for an edit that could not be used", None)
        self.tell(request)
        return await self.ask()

    def tell(self, text: str) -> None:
        told = {message.text for message in self.messages}
        # The same words say something else the second time: that the edits since then have mended nothing of it.
        while text in told:
            text = f"{_STILL}\n\n{text}"
        self.messages.append(ChatMessage("user", text))


async def work_out(work: AttemptWork, client: ModelClient, report: Report) -> AttemptOutcome:
    """Do *work* with *client* and return the best attempt, after at most `work.most_repairs` repairs.

    Raises:
        NothingToChange: the model gave no edit, and said why.
        NoUsableEdit: the model gave no edit that fits, even when asked again; or a repair came to nothing.
        RolecallError: the model failed before there was anything to keep.
    """
    talk = _Talk(client, list(work.opening), report)
    report("asking the model", None)
    work.draft.update(work.start.files)
    said, edited = await _edits(work, talk, work.start)
    # A repair may say first what it wants to see; other work that changes nothing has come to its end.
    if edited.files == work.start.files and work.ladder is None:
        raise await beside_the_loop(_READING, _no_edit, said, talk)
    course = _Course(work, talk, work.ladder.start if work.ladder else None)
    goes_on, repairs = await course.take(said, edited), 0
    try:
        while goes_on and talk.interrupted is None and repairs < _repairs_due(work, course.best):
            repairs += 1
            report(f"repair {repairs} of {work.most_repairs}: showing the model what failed", None)
            said, edited = await _edits(work, talk, await course.complain())
            goes_on = await course.take(said, edited)
    except RolecallError as error:
        # The repair that failed was none: the evidence counts those that were tried.
        talk.interrupted, repairs = error, repairs - 1
    return course.outcome(repairs)


class _Course:
    """The attempts so far, and the best of them."""

    def __init__(self, work: AttemptWork, talk: _Talk, start: Attempt | None) -> None:
        self._work, self._talk = work, talk
        self._best = start
        self._last: Attempt | None = None
        self._edited = self._kept = Edited({}, ())
        self._rationale = ""
        self._tried: list[Mapping[str, str | None]] = []
        self._tries: list[Try] = []
        self._n_kept = self._beneath = 0
        self._told = frozenset(one.test_id for one in start.failures) if start else frozenset[str]()

    @property
    def best(self) -> Attempt:
        """The best state so far; of a repair that of the repository itself, until an attempt helps."""
        assert self._best is not None
        return self._best

    async def take(self, said: str, edited: Edited) -> bool:
        """Try the files of *edited*, unless that was done; return whether another attempt has a point."""
        if not edited.files or edited.files in self._tried:
            self._last = None
            self._tries.append(Try(said, is_again=bool(edited.files)))
            if self._work.ladder is None:
                # Words without an edit may settle something: a test that a finding names is for others to mend.
                self._best = replace(self.best, failures=self._work.to_mend(self.best.failures, self._talk.said))
            return self._work.ladder is not None
        self._tried.append(edited.files)
        self._edited = edited
        self._last = attempt = await _attempt(self._work, edited, self._talk)
        helped = self._best is None or attempt.rank() > self._best.rank()
        self._tries.append(Try(said, attempt, helped=helped))
        self._tell(attempt, helped=helped)
        if helped:
            self._best, self._kept, self._n_kept = attempt, edited, len(self._tried)
        # The first reply explains the change, later ones only what they repair; on a ladder each begins anew.
        if helped and (self._work.ladder is not None or not self._rationale):
            self._rationale = without_notes(said) if self._work.unfound else said
        return True

    def _tell(self, attempt: Attempt, *, helped: bool) -> None:
        """Tell of *attempt*, which was tried last."""
        number, conversation = len(self._tried), tuple(self._talk.messages)
        self._work.keep(Attempted(number, self._beneath, attempt, helped, self._told, conversation))
        self._told |= {one.test_id for one in attempt.failures}

    async def complain(self) -> Edited:
        """Tell the model what is wrong, and return the edits that its next ones build on."""
        ladder, last = self._work.ladder, self._last
        # On a ladder a slip of syntax, or a wrong name in what passes, is corrected in place and takes no rung.
        if ladder is None or (last is not None and (last.syntax_errors or self.best.works)):
            assert last is not None
            await beside_the_loop("Telling what failed", _complain, self._work, self._talk, last)
            self._beneath = len(self._tried)
            return replace(self._edited, problems=())
        self._beneath = self._n_kept
        # In place: lookups hold the same dictionary, and must not see what was taken back.
        self._work.draft.clear()
        self._work.draft.update(self._kept.files)
        rung = await ladder.climb(tuple(self._tries), self.best)
        self._talk.messages[:] = rung.messages
        self._talk.client = rung.client or self._talk.client
        return replace(self._kept, problems=())

    def outcome(self, repairs: int) -> AttemptOutcome:
        """Return the best attempt.

        Raises:
            NoUsableEdit: no attempt of a repair helped.
            RolecallError: what interrupted it before one did.
        """
        talk = self._talk
        if not self.best.files:
            raise talk.interrupted or _came_to_nothing(self._tries, talk)
        return AttemptOutcome(self.best, self._rationale, repairs, tuple(talk.given_up), talk.interrupted, talk.said)


def _came_to_nothing(tries: Sequence[Try], talk: _Talk) -> NothingToChange:
    """Return the error for a repair of which no attempt helped, with what each was about."""
    about = "; ".join(" ".join(one.said.split())[:_MOST_OF_A_TRY] or "nothing was said" for one in tries)
    what = " ".join([f"None of {len(tries)} attempts made it pass, and none is kept.", *talk.given_up[:2]])
    return NothingToChange(f"{what} They were about: {about}", said=talk.said)


def _repairs_due(work: AttemptWork, attempt: Attempt) -> int:
    """Return the number of repairs that *attempt* deserves: one where only the code graph finds fault, which tests may
    not notice.
    """
    return min(work.most_repairs, len(attempt.told_findings[:1]) if attempt.works else work.most_repairs)


async def _edits(work: AttemptWork, talk: _Talk, so_far: Edited) -> tuple[str, Edited]:
    """Ask the model for edits, and again for those that cannot be used; return what its first reply says, and the
    last of the corrections, and *so_far* with the edits.
    """
    draft = _Edits(work, so_far)
    first_reply = reply = await talk.ask()
    for correction in range(MAX_CORRECTIONS + 1):
        steps = await beside_the_loop("Applying the edits of the reply", draft.take, reply)
        if not steps:
            is_late = bool(correction or so_far.files != work.start.files)
            answers = await beside_the_loop(_READING, is_answer, reply, was_asked_again=is_late)
            talk.answer = reply if answers else ""
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
    said = await beside_the_loop(_READING, prose_of, first_reply)
    if reply is not first_reply and (later := await beside_the_loop(_READING, prose_of, reply)):
        # The first reply tells what the change is about; the last may have given up a part of it.
        said = f"{said}\n\nAfter corrections: {later}".strip()
    return said, draft.result()


class _Edits:
    """The edits that the replies to one request have brought so far."""

    def __init__(self, work: AttemptWork, so_far: Edited) -> None:
        self.merged = dict(so_far.files)
        self.problems: tuple[EditProblem, ...] = ()
        """Those of the last reply that held edits."""
        self.repeated: tuple[EditProblem, ...] = ()
        """Those that were there before, and are not asked about again."""
        self._work = work
        self._renames = dict(so_far.renames)
        self._applied: tuple[EditBlock, ...] = so_far.applied
        self._fresh: tuple[int, ...] = ()
        self._asked: set[object] = set()
        """The matters (see `_matter`) of the problems that the model was told of."""
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
        """Return the next message to the model after *steps*; empty if there is nothing to ask, or nothing new."""
        # A reply without any edit counts as one matter too, so that it is asked about once.
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
        """Return all edits, as far as they change anything."""
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


def _matter(problem: EditProblem, steps: Sequence[Step]) -> object:
    """Return a key for what a problem is about: equal for the same block again, word for word, and for the same
    refusal.
    """
    bodies = [step.body for step in steps if isinstance(step, EditBlock) and step.number in problem.blocks]
    return problem.path, tuple(bodies) if bodies and not problem.is_refusal else problem.reason


def _left_out(problems: Sequence[EditProblem]) -> list[str]:
    told = (
        f"An edit of {problem.path or 'a file'} was left out: {_first_line(problem.reason)}" for problem in problems
    )
    return list(dict.fromkeys(told))


def _checked(work: AttemptWork, edited: Edited) -> Edited:
    """Return *edited* without the files that the role may not change, each of which becomes a problem; a rename is kept
    or refused as a whole.
    """
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


def _refusal(work: AttemptWork, path: str, text: str | None) -> EditProblem | None:
    if text is None and not work.moves_files:
        return EditProblem(path, f"{path} has to stay where it is.", is_refusal=True)
    if (reason := work.refusal(path)) is not None:
        return EditProblem(path, reason, is_refusal=True)
    objection = work.objection(path, text) if text is not None else None
    return EditProblem(path, objection) if objection is not None else None


async def _attempt(work: AttemptWork, edited: Edited, talk: _Talk) -> Attempt:
    files, renames = edited.files, edited.renames
    notes = await beside_the_loop(_READING, _notes, work, talk, files)
    if errors := await beside_the_loop("Parsing the changed files", _all_syntax_errors, work, edited):
        return Attempt(files, NotRun("The change does not parse."), errors, notes=notes, renames=renames)
    findings = await asyncio.to_thread(work.check, files)
    talk.report("running the tests", None)
    run = await work.try_out(files)
    # Only after the run above, which makes the one without the change where that is not known yet.
    before = work.before()
    since = await beside_the_loop(_READING, work.to_mend, failures_to_mend(before, run), talk.said)
    # By id: a test that the work is for, and that still fails, may be among the new failures too.
    failures = {one.test_id: one for one in (*work.still_failing(run), *since)}
    failing = tuple(failures.values())
    return Attempt(files, run, (), failing, breaks_the_run(before, run), findings, notes, renames)


def _notes(work: AttemptWork, talk: _Talk, files: Mapping[str, str | None]) -> tuple[Note, ...]:
    """Return what the model says from memory of names in *files*, where a lookup found nothing and asked for that."""
    return used_in(read_notes(talk.said), files) if work.unfound else ()


def _all_syntax_errors(work: AttemptWork, edited: Edited) -> tuple[str, ...]:
    """Return the syntax errors that the edits bring, those of files under a new name against their old text."""
    before = {new: old for old, new in edited.renames.items()}
    changed = [(path, text) for path, text in edited.files.items() if text is not None]
    return tuple(
        error for path, text in changed for error in _syntax_errors(path, text, work.read_text(before.get(path, path)))
    )


def _syntax_errors(path: str, text: str, base: str | None) -> tuple[str, ...]:
    """Return the syntax errors of *text*; none where *base* has some too, so that a file that is broken already can be
    worked on.
    """
    look_at_the_clock()
    if not is_python(path) or (base is not None and syntax_errors(facts_of(path, base), base)):
        return ()
    return tuple(str(error) for error in syntax_errors(facts_of(path, text), text) if error.certain)


def _complain(work: AttemptWork, talk: _Talk, attempt: Attempt) -> None:
    """Tell the model what is wrong with its attempt, in a conversation of its own where the role has one for that."""
    only_failures = attempt.failures and not (attempt.breaks_the_run or attempt.told_findings)
    if work.begin_repair is not None and only_failures and not attempt.syntax_errors:
        *before, last = work.begin_repair(attempt, talk.said)
        talk.messages[:] = *before, replace(last, text=_with_notes(last.text, attempt))
    else:
        talk.tell(_with_notes(_complaint(work, attempt), attempt))


def _with_notes(told: str, attempt: Attempt) -> str:
    return "\n\n".join(part for part in (told, tell_notes(attempt.notes)) if part)


def _complaint(work: AttemptWork, attempt: Attempt) -> str:
    if attempt.syntax_errors:
        return describe_syntax(attempt.syntax_errors)
    broken = [describe_findings(attempt.told_findings)] if attempt.told_findings else []
    if attempt.works:
        return "\n".join(broken)
    failures = describe_failures(attempt.run, attempt.failures, work.on_failure)
    return "\n\n".join([failures, *broken])


def _no_edit(said: str, talk: _Talk) -> NoUsableEdit:
    said = " ".join(prose_of(talk.answer or said, 300).split()) or "nothing"
    if talk.answer:
        what = " ".join(["The model proposes no change.", *talk.given_up[:2], f"It said: {said}"])
        return NothingToChange(what, said=text_beside_edits(talk.answer).strip())
    return NoUsableEdit(" ".join(["The model gave no edit that can be used.", *talk.given_up[:2], f"It said: {said}"]))


def _first_line(text: str) -> str:
    return text.partition("\n")[0].partition(" The nearest lines")[0]
