"""The files that a step of a sprint may change while others are at work, and what a model says to get more."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from rolecall_server.craft.edits.replies import parse_edit_blocks, text_beside_edits
from rolecall_server.craft.feedback import fenced
from rolecall_server.review.guards.edit_paths import why_not_changed
from rolecall_server.team.documents import Design, Kind, TaskList
from rolecall_server.team.messages.board import Pool, content_of
from rolecall_server.team.messages.edits import Edits
from rolecall_server.team.model_stack import RememberingClient
from rolecall_server.team.plan.agenda import Agenda
from rolecall_server.team.plan.steps import Step
from rolecall_server.team.request import Desk
from rolecall_server.team.room import Room
from rolecall_server.team.test_quality.test_placement import Whose, is_for_tests, whose
from rolecall_server.workspace import Workspace, read_for_model

_WIDEN = re.compile(r"^[ \t>*_`-]*+WIDEN[\s*_`]*+:[\s*_]*+(\S.*)$", re.MULTILINE)
# The repeats have bounds: a search without them takes quadratic time on a long line of such signs.
_BEFORE_REASON = re.compile(r"[`*_]{0,20}\s{0,20}:\s|[`*_]{0,20}\s{1,20}[-\N{EN DASH}\N{EM DASH}(]\s*")
_MOST_SHOWN = 40_000
"""Characters of a file that is shown to who asks to change it."""
_BETWEEN_PATHS = re.compile(r"[,;]|\sand\s")


def read_wishes(said: str) -> dict[str, str]:
    """Return the files that ``WIDEN:`` lines beside the edits of *said* ask for, with the reason for each."""
    found: dict[str, str] = {}
    for rest in _WIDEN.findall(text_beside_edits(said)):
        paths, *why = _BEFORE_REASON.split(rest, maxsplit=1)
        for path in _BETWEEN_PATHS.split(paths):
            if name := path.strip(" \t`'\"*_").removeprefix("./"):
                found.setdefault(name, " ".join(why).strip(" *_`()") or "no reason given")
    return found


def answer_wishes(workspace: Workspace, refusal: Callable[[str], str | None], said: str) -> str:
    """Return the answer to a reply of ``WIDEN:`` lines without an edit; empty to any other.

    It gives the reasons of *refusal*, and the other files as they stand in *workspace*.
    """
    wishes = read_wishes(said)
    if not wishes or parse_edit_blocks(said):
        return ""
    refused = {path: reason for path in wishes if (reason := refusal(path))}
    allowed = [path for path in wishes if path not in refused]
    answers = [f"You may change {', '.join(allowed)} as well."] if allowed else []
    shown = [text for path in allowed if (text := _as_it_stands(workspace, path))]
    return "\n\n".join([" ".join([*answers, *refused.values()]), *shown, "Send the edits now."])


def _as_it_stands(workspace: Workspace, path: str) -> str:
    """Return *path* under a heading, at most `_MOST_SHOWN` characters of it; empty where there is no such file yet."""
    text = read_for_model(workspace, path)
    if not text:
        return ""
    if len(text) > _MOST_SHOWN:
        text = "\n".join([text[:_MOST_SHOWN].rpartition("\n")[0], "... the rest is left out"])
    return f"## {path}\n\n{fenced(text.rstrip())}"


@dataclass
class EditScope:
    """The files that a step of a sprint may change, while other steps change others."""

    room: Room
    pool: Pool
    agenda: Agenda
    step: Step
    overheard: RememberingClient
    widened: dict[str, str] = field(default_factory=dict[str, str])

    def refusal(self, desk: Desk, path: str) -> str | None:
        """Return why the Engineer may not change *path* for its task, or ``None``."""
        with self.room.claiming:
            return self._refusal(desk, path)

    def _refusal(self, desk: Desk, path: str) -> str | None:
        if (reason := why_not_changed(desk.workspace, path)) is not None:
            return reason
        if path in self.own_files():
            return None
        if owner := self._owner(path):
            return _of_the_tester(path) if owner == Whose.TESTER else _of_another(path, owner)
        if refused := self._why_not_without_a_wish(path):
            return refused
        self.room.claims[path] = self.step.task_id
        return None

    def refusal_of_tests(self, desk: Desk, path: str) -> str | None:
        """Return why the QA Engineer may not change *path*, or ``None``."""
        if (reason := why_not_changed(desk.workspace, path)) is not None:
            return reason
        with self.room.claiming:
            owner = self._owner(path)
            if owner or self.whose(path) is not Whose.TESTER:
                by = f", who does {owner}" if owner else ""
                return f"{path} is the Engineer's{by}: it is no test file, nor does it lie with tests. Leave it out."
            self.room.claims[path] = Whose.TESTER
        return None

    def own_files(self) -> frozenset[str]:
        """Return the files of the task; where it names none, those of the design except the tester's."""
        own = frozenset(self.agenda.task(self.step.task_id).files)
        return own or frozenset(path for path in self.design_files if self.whose(path) is not Whose.TESTER)

    def whose(self, path: str) -> Whose:
        """Return who writes *path* in this run."""
        return whose(path, self._task_files, self.design_files, self.room.repository.snapshot)

    @cached_property
    def _task_files(self) -> frozenset[str]:
        message = self.step.message(Kind.TASK_LIST)
        tasks = content_of(message, TaskList).tasks if message else self.agenda.tasks
        return frozenset(path for task in tasks for path in task.files)

    @cached_property
    def design_files(self) -> tuple[str, ...]:
        """The files that the design names, in order; none where there is no design."""
        design = self.step.message(Kind.DESIGN)
        return files_of(content_of(design, Design)) if design else ()

    def _why_not_without_a_wish(self, path: str) -> str:
        """Return the reason why a file of no task stays as it is; empty, and the wish noted, where the Engineer asked
        for it.
        """
        wish = read_wishes(self.overheard.said).get(path, "")
        if is_for_tests(self.room.repository.snapshot, path):
            if not self.room.has_tester:
                return ""
            if not wish or path in self.design_files:
                return _of_the_tester(path)
        elif not wish:
            return (
                f"{path} is not among the files of {self.step.task_id} ({', '.join(sorted(self.own_files()))}). "
                f"Do without it; or, where the task cannot be done so, write a line `WIDEN: {path}: why` and send "
                "the edit again."
            )
        self.widened[path] = wish
        return ""

    def _owner(self, path: str) -> str:
        """Return the task that may be changing *path* now, or the QA Engineer; a task that this one builds on is done
        and does not count.
        """
        me = self.step.task_id or Whose.TESTER
        done = (message.subject.partition("/")[2] for message in self.step.messages("edits"))
        mine = {me, *done, *self.agenda.needs.get(me, ())}
        edited = {
            path: message.subject.partition("/")[2] or Whose.TESTER
            for kind in ("edits", "tests")
            for message in self.pool.of_kind(kind, self.step.sprint)
            for path in content_of(message, Edits).files
        }
        named = [task.id for task in self.agenda.tasks if path in task.files]
        claimed = [owner for owner in (self.room.claims.get(path), edited.get(path)) if owner]
        return next((owner for owner in (*named, *claimed) if owner not in mine), "")


def _of_the_tester(path: str) -> str:
    return f"{path} is for tests, which the QA Engineer writes from the requirements. Leave it out."


def _of_another(path: str, task_id: str) -> str:
    return f"{path} belongs to {task_id}, which may be at work on it. Leave it out."


def files_of(design: Design) -> tuple[str, ...]:
    """Return the files that a design names, in order."""
    symbols = (work.symbol.partition("::")[0] for work in (*design.symbols_to_change, *design.symbols_to_add))
    files = (work.path for work in (*design.files_to_change, *design.files_to_add))
    return tuple(dict.fromkeys((*files, *symbols)))
