"""The links of ids in documents: requirement, design element, task, test case, and what is missing between them.

No model is asked. A flaw names what it is about, so that an editor can show it there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from rolecall_server.review.proposals.anchor import lines_from, path_now
from rolecall_server.review.proposals.proposal_store import ReadText, Reviewed
from rolecall_server.team.documents.checking import Response, Review, Severity, TestPlan
from rolecall_server.team.documents.closing import SprintReview
from rolecall_server.team.documents.design import Design, SymbolWork
from rolecall_server.team.documents.document import Content, Document
from rolecall_server.team.documents.requirements import Requirements
from rolecall_server.team.documents.tasks import ChangePlan, Task, TaskList

Held = TypeVar("Held")
_REQUIREMENT = re.compile(r"R[1-9][0-9]*")


@dataclass(frozen=True)
class Flaw:
    """Something that does not fit together."""

    about: str
    """An id, a path or a symbol of the document; empty for the whole of it."""
    what: str


@dataclass(frozen=True)
class Served:
    """A hunk of a proposal, and what it is there for."""

    code: str
    """``p7/h2``"""
    path: str
    symbol: str
    serves: tuple[str, ...]
    state: str = ""
    """As `HunkState`; empty while nobody asked."""


@dataclass(frozen=True)
class Linked:
    """The documents of one run, and the hunks they led to."""

    documents: tuple[Document, ...]
    hunks: tuple[Served, ...] = field(default=())
    failing: frozenset[str] = frozenset()
    """The tests that fail with the latest of the proposals that was run, as ``path::name``."""
    is_tested: bool = False
    """A test ran with that proposal."""

    def held(self, kind: type[Held]) -> Iterator[Held]:
        """Return the contents of that kind."""
        return (document.content for document in self.documents if isinstance(document.content, kind))

    @property
    def accepted_files(self) -> frozenset[str]:
        """The files of which the developer accepted a hunk."""
        return frozenset(hunk.path for hunk in self.hunks if hunk.state == "accepted")

    @property
    def requirement_ids(self) -> frozenset[str]:
        """Every requirement's."""
        return frozenset(each.id for held in self.held(Requirements) for each in held.requirements)

    @property
    def tasks(self) -> Mapping[str, Task]:
        """By their ids."""
        return {task.id: task for held in self.held(TaskList) for task in held.tasks}

    @property
    def design_elements(self) -> Iterator[SymbolWork]:
        """The symbols that are to be changed or added."""
        return (each for held in self.held(Design) for each in (*held.symbols_to_change, *held.symbols_to_add))


def served_by(proposals: Iterable[Reviewed]) -> tuple[Served, ...]:
    """Return the hunks of *proposals* with what they serve, in order."""
    return tuple(
        Served(
            f"{each.proposal.id}/{hunk.id}",
            change.renamed_to or change.path,
            hunk.symbol,
            hunk.serves,
            each.states[hunk.id],
        )
        for each in proposals
        for change, hunk in each.proposal.hunks()
    )


def linked(documents: Iterable[Document], proposals: Sequence[Reviewed]) -> Linked:
    """Return *documents* of a run with what became of its *proposals*."""
    runs = [one.proposal.evidence for one in proposals if one.proposal.evidence.ran]
    # The cases of a parametrized test end in brackets; a test plan names the function alone.
    failing = {failure.test_id.partition("[")[0] for failure in runs[-1].failures} if runs else set[str]()
    failing |= {defect.test for defect in runs[-1].defects if defect.offered} if runs else set[str]()
    return Linked(tuple(documents), served_by(proposals), frozenset(failing), bool(runs) and runs[-1].is_tested)


def check_links(document: Document, others: Iterable[Document]) -> tuple[Flaw, ...]:
    """Return the flaws of *document*: what leads nowhere, or in a circle, given the *others* of its run.

    Ids of a kind of document that is not there yet are not looked for.
    """
    run = Linked((document, *(other for other in others if other.id != document.id)))
    return tuple(_flaws(document.content, run))


def orphans(run: Linked) -> dict[str, str]:
    """Return, by id, what each requirement lacks: a design element or a task, a test case; and each task: a hunk.

    Only what a later document or proposal could have brought is missed: before there is a design, nothing is.
    """
    lacking: dict[str, str] = {}
    planned = {name for each in run.design_elements for name in each.serves}
    planned |= {name for task in run.tasks.values() for name in task.serves}
    tested = {name for plan in run.held(TestPlan) for case in plan.cases for name in case.verifies}
    has_design = any(run.held(Design)) or any(run.held(TaskList))
    for name in run.requirement_ids:
        lacks = [
            *(["no design element and no task"] if has_design and name not in planned else []),
            *(["no test case"] if any(run.held(TestPlan)) and name not in tested else []),
        ]
        if lacks:
            lacking[name] = f"{name} has {' and '.join(lacks)}"
    served = {name for hunk in run.hunks if hunk.state != "rejected" for name in hunk.serves}
    for name in {task.id for task in _begun(run)} - served:
        lacking[name] = f"{name} has no hunk"
    return lacking


def lacks(task: Task, run: Linked, exists: Callable[[str], bool]) -> tuple[str, ...]:
    """Return what *task* lacks to be done, once its sprint is decided, a sentence each; nothing where it is done.

    It is done if the files it names exist, if something that was accepted serves it or there is a test of what it is
    for, if no such test fails, and if no blocker is open. *exists* tells of a path whether it is there.
    """
    return tuple(dict.fromkeys((*_unmade(task, run, exists), *_unmet(task, run), *_blocked(task, run))))


def _unmade(task: Task, run: Linked, exists: Callable[[str], bool]) -> Iterator[str]:
    """Yield a complaint for each missing file of *task*; a file that was to be changed, or was accepted, may have been
    removed on purpose.
    """
    known = {each.path for design in run.held(Design) for each in design.files_to_change}
    known |= run.accepted_files
    yield from (f"{path} does not exist" for path in task.files if path not in known and not exists(path))


def _unmet(task: Task, run: Linked) -> Iterator[str]:
    """Yield a complaint for each failing test of what *task* is for; or one that nothing accepted serves it, where
    there is nothing.
    """
    tests = _tests_of(task, run)
    yield from (f"{test} fails" for test in tests if test in run.failing)
    if not tests and not any(task.id in hunk.serves for hunk in run.hunks if hunk.state == "accepted"):
        yield "nothing that was accepted serves it"


def _tests_of(task: Task, run: Linked) -> list[str]:
    """Return the tests of what *task* is for, without those that were rejected."""
    # The symbol of a hunk has dots between its parts, the name of a test has colons.
    gone = {f"{hunk.path}::{hunk.symbol.replace('.', '::')}" for hunk in run.hunks if hunk.state == "rejected"}
    cases = [case for plan in run.held(TestPlan) for case in plan.cases if {*case.verifies} & {*task.serves}]
    return [case.test for case in cases if case.test and case.test not in gone]


def _blocked(task: Task, run: Linked) -> Iterator[str]:
    """Yield the blockers that nobody fixed and that concern *task*: about its files or requirements, or about nothing
    that can be assigned.
    """
    findings = [finding for review in run.held(Review) for finding in review.findings]
    fixed = {(one.file, one.title) for one in findings if one.response is Response.FIXED}
    paths = {*task.files, *(hunk.path for hunk in run.hunks if task.id in hunk.serves)}
    known = {path for other in run.tasks.values() for path in other.files} | {hunk.path for hunk in run.hunks}
    for one in findings:
        rests_on = {*_REQUIREMENT.findall(one.rests_on)}
        is_about = one.file in paths or not rests_on.isdisjoint(task.serves) or not (one.file in known or rests_on)
        if one.severity is Severity.BLOCKER and is_about and (one.file, one.title) not in fixed:
            yield f"a blocker in {one.file} is open: {one.title}"


def closed_tasks(run: Linked) -> tuple[Task, ...]:
    """Return the tasks of the sprints of which all hunks are decided."""
    begun = _begun(run)
    waiting = {name for hunk in run.hunks if hunk.state not in ("accepted", "rejected") for name in hunk.serves}
    open_sprints = [tasks for tasks in _sprints(run) if not waiting.isdisjoint(tasks)]
    return tuple(task for task in begun if not any(task.id in tasks for tasks in open_sprints))


def unfulfilled(run: Linked, exists: Callable[[str], bool]) -> Iterator[str]:
    """Yield the files and symbols that a design adds and that are not there, once all tasks are closed."""
    if not run.tasks or len(closed_tasks(run)) < len(run.tasks):
        return
    told = {path for task in run.tasks.values() for path in task.files}
    for design in run.held(Design):
        missing = [each.path for each in design.files_to_add if not exists(each.path)]
        yield from (path for path in missing if path not in told)
        symbols = (each.symbol for each in design.symbols_to_add)
        # Where the whole file lacks, nothing is said of each symbol in it.
        yield from (one for one in symbols if exists(one.partition("::")[0]) and not exists(one))


def unmade(run: Linked, exists: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Yield what keeps decided tasks from being done, and what a design adds and nobody made; with what it is about."""
    for task in closed_tasks(run):
        if what := lacks(task, run, exists):
            yield task.id, f"{task.id} is not done: {'; '.join(what)}"
    yield from ((name, f"{name} was to be added, and does not exist") for name in unfulfilled(run, exists))


def unshown(task: Task, run: Linked) -> tuple[str, ...]:
    """Return the acceptance criteria of *task* that no test shows: all where no kept test of what it is for ran.

    They are free text, so that nothing tells which of several tests shows which of them: where there are such tests,
    none is named.
    """
    return () if run.is_tested and any(_tests_of(task, run)) else task.acceptance


def _begun(run: Linked) -> tuple[Task, ...]:
    """Return the tasks of the sprints of which there are hunks."""
    served = {name for hunk in run.hunks for name in hunk.serves}
    begun = {name for tasks in _sprints(run) if not served.isdisjoint(tasks) for name in tasks}
    return tuple(task for task in run.tasks.values() if task.id in begun)


def _sprints(run: Linked) -> list[tuple[str, ...]]:
    """Return the tasks of each sprint; all tasks as one sprint where none is planned."""
    return [sprint.tasks for held in run.held(TaskList) for sprint in held.sprints] or [tuple(run.tasks)]


def changed_since(proposals: Iterable[Reviewed], read_text: ReadText) -> Iterator[tuple[str, str]]:
    """Yield each requirement and task whose accepted code is no longer as it was accepted, with a remark about the
    change.
    """
    for reviewed in proposals:
        for change in reviewed.proposal.files:
            mine = [hunk for hunk in change.hunks if hunk.id in reviewed.accepted and hunk.serves and hunk.new_lines]
            if not mine:
                continue
            path = path_now(change, reviewed.accepted)
            standing = [*lines_from(change, reviewed.accepted, read_text(path) or "").values()]
            for hunk in mine:
                # What a hunk brings in may lie in several parts of the file.
                if standing.count(hunk.id) < sum(end - start for _, _, start, end in change.parts(hunk)):
                    what = f"{path} changed since {reviewed.proposal.id}/{hunk.id} was accepted"
                    yield from ((name, f"{name}: {what}") for name in hunk.serves)


def _flaws(content: Content, run: Linked) -> Iterator[Flaw]:
    match content:
        case Design():
            yield from _flaws_of_design(content, run)
        case TaskList():
            yield from _flaws_of_tasks(content, run)
        case TestPlan():
            for case in content.cases:
                yield from _unknown(case.id, case.verifies, _requirements(run))
                if not case.verifies:
                    yield Flaw(case.id, f"{case.id} verifies no requirement")
        case ChangePlan():
            yield from _unknown("", content.tasks, _tasks(run))
            yield from _outside_the_design(content, run)
        case Review():
            for finding in content.findings:
                yield from _unknown(finding.id, _REQUIREMENT.findall(finding.rests_on), _requirements(run))
        case SprintReview():
            yield from _unknown("", (*content.done, *content.undone), _tasks(run))
        case _:
            pass


def _requirements(run: Linked) -> Collection[str] | None:
    return run.requirement_ids if any(run.held(Requirements)) else None


def _tasks(run: Linked) -> Collection[str] | None:
    return run.tasks if any(run.held(TaskList)) else None


def _unknown(about: str, names: Iterable[str], known: Collection[str] | None) -> Iterator[Flaw]:
    for name in names:
        if known is not None and name not in known:
            yield Flaw(about or name, f"{name} does not exist")


def _flaws_of_design(design: Design, run: Linked) -> Iterator[Flaw]:
    for each in (*design.symbols_to_change, *design.symbols_to_add):
        yield from _unknown(each.symbol, each.serves, _requirements(run))
        if not each.serves:
            yield Flaw(each.symbol, f"{each.symbol} serves no requirement")
    files = {each.path for each in (*design.files_to_change, *design.files_to_add)}
    for each in (*design.symbols_to_change, *design.symbols_to_add):
        path = each.symbol.partition("::")[0]
        if path not in files:
            yield Flaw(each.symbol, f"{path} is not among the files to change or to add")


def _flaws_of_tasks(tasks: TaskList, run: Linked) -> Iterator[Flaw]:
    ids = {task.id for task in tasks.tasks}
    for task in tasks.tasks:
        yield from _unknown(task.id, task.serves, _requirements(run))
        yield from _unknown(task.id, task.needs, ids)
        if not task.serves:
            yield Flaw(task.id, f"{task.id} serves no requirement")
    for circle in circles({task.id: task.needs for task in tasks.tasks}):
        yield Flaw(circle[0], f"{' needs '.join((*circle, circle[0]))}: none of them can be the first")
    yield from _flaws_of_sprints(tasks)
    if designs := [*run.held(Design)]:
        files = {each.path for design in designs for each in (*design.files_to_change, *design.files_to_add)}
        for task in tasks.tasks:
            for path in dict.fromkeys((*task.files, *(symbol.partition("::")[0] for symbol in task.symbols))):
                if path not in files:
                    yield Flaw(task.id, f"{task.id} touches {path}, which the design does not name")


def _flaws_of_sprints(tasks: TaskList) -> Iterator[Flaw]:
    known = {task.id: task for task in tasks.tasks}
    placed: dict[str, int] = {}
    for number, sprint in enumerate(tasks.sprints):
        for name in sprint.tasks:
            if name not in known:
                yield Flaw(sprint.id, f"{name} does not exist")
            elif placed.setdefault(name, number) != number:
                yield Flaw(sprint.id, f"{name} is in {tasks.sprints[placed[name]].id} already")
    for name, number in placed.items():
        for needed in known[name].needs:
            # A task in no sprint counts as one of a later sprint: it is not done by then either.
            if needed in known and placed.get(needed, number + 1) > number:
                where = f"is in {tasks.sprints[placed[needed]].id}" if needed in placed else "is in no sprint"
                yield Flaw(tasks.sprints[number].id, f"{name} needs {needed}, which {where}")


def _outside_the_design(plan: ChangePlan, run: Linked) -> Iterator[Flaw]:
    designs = [*run.held(Design)]
    files = {each.path for design in designs for each in (*design.files_to_change, *design.files_to_add)}
    files |= {each.path for each in plan.files_outside_the_design}
    for step in plan.steps if designs else ():
        path = step.code.partition("::")[0]
        if path not in files:
            yield Flaw(step.code, f"the design does not name {path}, and the plan does not ask for it")


def circles(needs: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the circles in *needs*, each once, from its first member on; a name that needs itself is one."""
    found: list[tuple[str, ...]] = []
    done: set[str] = set()
    for start in needs:
        path: list[str] = []
        waiting = [(start, 0)]
        while waiting:
            name, depth = waiting.pop()
            # What lies deeper on the path belongs to a branch that was walked before.
            del path[depth:]
            if name in path:
                found.append(tuple(path[path.index(name) :]))
            elif name not in done:
                done.add(name)
                path.append(name)
                waiting += [(needed, len(path)) for needed in reversed(needs[name]) if needed in needs]
    return found
