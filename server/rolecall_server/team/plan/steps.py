"""The steps that a run can take: a role acts when everything it watches is there, and nobody is about to change it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from rolecall_server.store.messages import MessageRow
from rolecall_server.team.documents import Kind
from rolecall_server.team.messages.board import Pool, step_key
from rolecall_server.team.plan.agenda import Agenda, agenda_of
from rolecall_server.team.roles.declarations import SCOPES, Duty, Role, Scope

Slot = tuple[str, str]
"""A kind of document and its subject."""


@dataclass(frozen=True)
class Step:
    """One duty of a role, with the versions of the documents it reads."""

    role: Role
    duty: Duty
    subject: str
    """Its subject: empty for the whole run, ``S1`` for a sprint, ``S1/T2`` for a task."""
    read: tuple[MessageRow, ...]
    writes: tuple[Slot, ...]
    key: str
    """The same for the same work; see `board.step_key`."""
    awaits: tuple[Slot, ...] = ()
    """The messages that must be there, and are not read."""

    @property
    def sprint(self) -> str:
        """``S1``"""
        return self.subject.partition("/")[0]

    @property
    def task_id(self) -> str:
        """``T2``; empty where it is about no single task."""
        return self.subject.partition("/")[2]

    @property
    def label(self) -> str:
        """``Engineer T2``: who does it, and for which task."""
        return f"{self.role.title} {self.task_id}".rstrip()

    def message(self, kind: str) -> MessageRow | None:
        """Return the message of *kind* that it reads, if there is one."""
        return next((message for message in self.read if message.kind == kind), None)

    def messages(self, kind: str) -> tuple[MessageRow, ...]:
        """Return all messages of *kind* that the step reads."""
        return tuple(message for message in self.read if message.kind == kind)

    def __str__(self) -> str:
        about = f" ({self.subject})" if self.subject else ""
        return f"{self.role.title}: {' and '.join(self.duty.publishes)}{about}"


def possible_steps(pool: Pool, roster: Mapping[str, Role]) -> tuple[Step, ...]:
    """Return every step whose documents are there, done or not; those of sprints that are decided are left out.

    Raises:
        DocumentUnusable: the task list has no order.
    """
    agenda = agenda_of(pool)
    table = _Table(pool, roster, agenda)
    found = (
        _step(table, role, duty, subject)
        for role in roster.values()
        for duty in role.duty
        for subject in _subjects(duty, agenda)
    )
    return tuple(step for step in found if step is not None)


def steps_to_take(pool: Pool, steps: Sequence[Step], settled: Set[str]) -> tuple[Step, ...]:
    """Return those of *steps* that can be taken now. *settled* are the keys of steps that failed.

    One that reads what another is about to publish waits for it, so that no role works on a document that is being
    written anew.
    """
    open_steps = [step for step in steps if step.key not in settled and not _is_done(pool, step)]
    pending = {slot for step in open_steps for slot in step.writes}
    grown = True
    while grown:
        grown = False
        # Steps that are done as well: what they published changes next, if what they read does.
        for step in steps:
            if pending.isdisjoint(_watched(step)) or pending.issuperset(step.writes):
                continue
            pending.update(step.writes)
            grown = True
    return tuple(step for step in open_steps if (pending - set(step.writes)).isdisjoint(_watched(step)))


def _is_done(pool: Pool, step: Step) -> bool:
    row = pool.steps.get(step.key)
    return row is not None and row.state == "done"


def _watched(step: Step) -> set[Slot]:
    """Return the documents that *step* watches for a next version, and those it waits for."""
    # Not what it heeds: the correction that requirements heed comes from a step that reads the requirements,
    # so that each would wait for the other.
    read = {(message.kind, message.subject) for message in step.read if message.kind in step.duty.watches}
    return read.union(step.awaits)


@dataclass(frozen=True)
class _Table:
    """The things on the table: the documents, who is there, and what is to be done."""

    pool: Pool
    roster: Mapping[str, Role]
    agenda: Agenda


def _step(table: _Table, role: Role, duty: Duty, subject: str) -> Step | None:
    pool, roster, agenda = table.pool, table.roster, table.agenda
    read: list[MessageRow] = []
    for kind in duty.watches:
        awaited = any(other.publishes(kind) for other in roster.values())
        for slot in _slots(kind, subject, agenda, roster):
            message = pool.latest(kind, slot)
            if message is not None:
                read.append(message)
            # What nobody in this run publishes is done without, so that one role can work where others do not.
            elif awaited:
                return None
    awaits = tuple(
        (kind, slot)
        for kind in duty.awaits
        if any(other.publishes(kind) for other in roster.values())
        for slot in _slots(kind, subject, agenda, roster)
    )
    if not all(pool.latest(*slot) for slot in awaits):
        return None
    for kind in duty.heeds:
        read += [message for slot in _slots(kind, subject, agenda, roster) if (message := pool.latest(kind, slot))]
    if not read:
        return None
    writes = tuple((kind, _written_subject(kind, subject, role)) for kind in duty.publishes)
    # With what it only heeds: a correction does not hold a step up, but makes it one to be taken anew.
    key = step_key(role.name, duty.does, subject, read)
    return Step(role, duty, subject, tuple(read), writes, key, awaits)


def _subjects(duty: Duty, agenda: Agenda) -> Iterator[str]:
    if duty.scope is Scope.RUN:
        yield ""
    elif agenda.sprint and duty.scope is Scope.TASK:
        yield from (f"{agenda.sprint}/{task.id}" for task in agenda.tasks)
    elif agenda.sprint:
        yield agenda.sprint


def _written_subject(kind: str, subject: str, role: Role) -> str:
    return f"{subject}/{role.name}" if SCOPES[kind] is Scope.ROLE else subject


def _slots(kind: str, subject: str, agenda: Agenda, roster: Mapping[str, Role]) -> Iterator[str]:
    """Yield the subjects of the documents of *kind* that a step about *subject* reads."""
    sprint, _, task_id = subject.partition("/")
    scope = SCOPES[kind]
    if scope is Scope.RUN:
        yield ""
    elif kind == Kind.SPRINT_REVIEW:
        number = int(sprint[1:] or "0")
        # The latest first: `Step.message` returns the first that it finds.
        yield from (f"S{earlier}" for earlier in range(number - 1, 0, -1))
    elif scope is Scope.ROLE:
        yield from (f"{sprint}/{role.name}" for role in roster.values() if role.publishes(kind))
    elif scope is Scope.TASK:
        wanted = agenda.needs[task_id] if task_id else [task.id for task in agenda.tasks]
        yield from (f"{sprint}/{one}" for one in wanted)
    else:
        yield sprint
