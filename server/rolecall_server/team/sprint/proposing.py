"""A sprint's change as a proposal, its hunks tied to the tasks and requirements they serve; and what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial

from rolecall_server.errors import HunkStale, NoUsableEdit
from rolecall_server.review.checks.hunk_needs import link_hunks
from rolecall_server.review.proposals.changes import changes_of, without_needs_of_off
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkState, Proposal
from rolecall_server.review.proposals.proposal_store import (
    Reviewed,
    load_proposal,
    proposal_adapter,
    save_proposal,
    supersede_earlier,
)
from rolecall_server.review.proposals.rendering import describe_hunk
from rolecall_server.store import Store
from rolecall_server.store.messages import MessageRow, NewMessage, messages_of
from rolecall_server.team.documents import HunkDecision, Kind, SprintReview, TestPlan
from rolecall_server.team.documents.links.linking import lacks, linked, unshown
from rolecall_server.team.documents.values import one_line
from rolecall_server.team.lessons.rejections import decided_by_developer
from rolecall_server.team.messages.board import DEVELOPER, TEAM, Pool, as_draft, body_of, content_of, publish
from rolecall_server.team.messages.edits import Edits, moved_files
from rolecall_server.team.messages.rendering import document_in
from rolecall_server.team.plan.agenda import Agenda, agenda_of
from rolecall_server.team.plan.briefs import title_of_brief
from rolecall_server.team.plan.steps import Step
from rolecall_server.team.room import Room
from rolecall_server.team.sprint.unmet import without_unmet
from rolecall_server.workspace import Workspace, file_exists


async def propose(step: Step, room: Room, pool: Pool) -> tuple[NewMessage, ...]:
    """Store the sprint's one proposal, and return the message that says so.

    Raises:
        HunkStale: a file was changed since the team read it; taken up again, its task is done anew.
    """
    answered = step.message("answered") or step.message("change")
    assert answered is not None
    edits = content_of(answered, Edits)
    if not edits.files:
        raise NoUsableEdit(
            f"Nothing changes in {step.sprint}: {one_line(edits.rationale) or 'no role gave an edit.'}",
            "Say in the brief or in the task list what is missing, or leave it at that.",
        )
    repository = room.repository
    if moved := moved_files(edits, repository.workspace):
        raise HunkStale(
            f"{', '.join(moved)} changed while the team was at work.",
            f"`rolecall resume {room.run_id}` does what rests on it again.",
        )
    plan = step.message(Kind.TEST_PLAN)
    agenda = agenda_of(pool)
    tests = _requirements_of_tests(content_of(plan, TestPlan)) if plan else {}
    edits, off = await without_unmet(room.desk(step, pool), edits, _test_files(pool, step.sprint), tests)
    changes = await asyncio.to_thread(changes_of, repository.workspace, edits.files, edits.renames, off)
    linked = without_needs_of_off(await asyncio.to_thread(link_hunks, changes, repository.snapshot))
    files = tuple(_serving(change, edits, agenda, tests) for change in linked)
    title = _title(pool, agenda)
    shown = edits.evidence or Evidence(ran=False, reason="Nothing was run.")
    proposal = Proposal(
        id=_id_of(repository.store, room.run_id, title),
        run_id=room.run_id,
        role=step.role.title,
        title=title,
        rationale=edits.rationale,
        origin=_origin(pool),
        files=files,
        evidence=replace(shown, notes=(*shown.notes, *_notes(edits))),
    )
    save_proposal(repository.store, proposal)
    supersede_earlier(repository.store, repository.workspace.root, proposal)
    return (as_draft("proposal", {"proposalId": proposal.id, "sprint": step.sprint}, step.subject),)


def work_to_redo(store: Store, pool: Pool) -> tuple[str, ...]:
    """Return the tasks and test files that come again, by the developer's reasons, once the run is taken up again."""
    reviews = [review for review, _ in _new_reviews(store, pool)]
    return tuple(dict.fromkeys(one for review in reviews for one in (*review.undone, *review.undone_tests)))


def review_sprint(store: Store, pool: Pool, workspace: Workspace) -> bool:
    """Publish what the developer made of the open sprint's proposal, once all of it is decided; return whether any was.

    What was rejected of an earlier sprint after that was closed comes with it: its review has another version then.
    While something of the open sprint is undecided, that waits.
    """
    if _open_proposal(pool) is not None and _decided(store, pool) is None:
        return False
    reviews = [*_new_reviews(store, pool)]
    for review, because in reviews:
        held = _held_to_what_is_there(review, store, pool, workspace)
        publish(store, pool.run_id, TEAM, as_draft(Kind.SPRINT_REVIEW, held, held.sprint or ""), [because])
    return bool(reviews)


def missing_tasks(store: Store, pool: Pool, workspace: Workspace) -> dict[str, str]:
    """Return the tasks of decided sprints that are not done, and do not come again by themselves: what they lack."""
    return {task: what for task, (_, what) in _missing(store, pool, workspace).items()}


def take_up_missing(store: Store, pool: Pool, workspace: Workspace) -> None:
    """Have the tasks that are missing done in the next sprint: the developer's version of the sprint reviews."""
    missing = _missing(store, pool, workspace)
    for message in reversed(pool.of_kind(Kind.SPRINT_REVIEW)):  # a sprint's is heeded where none of a later one follows
        mine = {task: what for task, (where, what) in missing.items() if where is message}
        if mine:
            review = _taken_up(content_of(message, SprintReview), mine, pool, message)
            publish(store, pool.run_id, DEVELOPER, as_draft(Kind.SPRINT_REVIEW, review, message.subject), [message.id])


def _taken_up(before: SprintReview, missing: Mapping[str, str], pool: Pool, message: MessageRow) -> SprintReview:
    answered = any(other.id > message.id for other in pool.of_kind(Kind.SPRINT_REVIEW))
    return before.model_copy(
        update={
            "undone": (*(() if answered else before.undone), *missing),
            "undone_tests": () if answered else before.undone_tests,
            "missing": tuple(line for line in before.missing if line.partition(":")[0] not in missing),
            "feedback": "\n".join(
                f"{task} is to be done after all. It lacks: {what}." for task, what in missing.items()
            ),
        }
    )


def _missing(store: Store, pool: Pool, workspace: Workspace) -> dict[str, tuple[MessageRow, str]]:
    """Return each task that is missing, with the sprint review that says so last and what it lacks now."""
    found: dict[str, tuple[MessageRow, str]] = {}
    for message in sorted(pool.of_kind(Kind.SPRINT_REVIEW), key=lambda one: one.id):
        review = content_of(message, SprintReview)
        for task in (*review.done, *review.undone):
            found.pop(task, None)
        tasks = tuple(line.partition(":")[0] for line in review.missing)
        held = _held_to_what_is_there(review.model_copy(update={"done": tasks}), store, pool, workspace)
        found |= {line.partition(":")[0]: (message, line.partition(": ")[2]) for line in held.missing}
    return {task: told for task, told in found.items() if task not in {one.id for one in agenda_of(pool).tasks}}


def _held_to_what_is_there(review: SprintReview, store: Store, pool: Pool, workspace: Workspace) -> SprintReview:
    """Return *review*, in which a task that lacks something is not done, but missing, with what no test shows."""
    whole = [pool.latest(kind) for kind in (Kind.DESIGN, Kind.TASK_LIST)]
    parts = [message for kind in (Kind.TEST_PLAN, Kind.REVIEW) for message in pool.of_kind(kind, review.sprint or "")]
    documents = [document_in(message) for message in (*whole, *parts) if message is not None]
    run = linked(documents, [load_proposal(store, review.proposal)] if review.proposal else [])
    found = {
        one: lacks(run.tasks[one], run, partial(file_exists, workspace)) for one in review.done if one in run.tasks
    }
    lacking = {one: what for one, what in found.items() if what}
    missing = tuple(f"{one}: {'; '.join(what)}" for one, what in lacking.items())
    done = tuple(one for one in review.done if one not in lacking)
    not_shown = tuple(f"{one}: {what}" for one in done if one in run.tasks for what in unshown(run.tasks[one], run))
    return review.model_copy(update={"done": done, "missing": missing, "not_shown": not_shown})


def _new_reviews(store: Store, pool: Pool) -> Iterator[tuple[SprintReview, int]]:
    """Yield the open sprint's review, then those of closed ones of which more was rejected; each with its cause."""
    agenda = agenda_of(pool)
    reviewed = _decided(store, pool)
    message = _open_proposal(pool)
    if reviewed is not None and message is not None:
        tasks = tuple(task.id for task in agenda.tasks)
        by_developer = decided_by_developer(store, reviewed.proposal.id)
        yield (
            sprint_review_of(reviewed, agenda.sprint, tasks, _test_files(pool, agenda.sprint), by_developer),
            message.id,
        )
    for message in pool.of_kind(Kind.SPRINT_REVIEW):
        if (late := _late_review(store, pool, message)) is not None:
            yield late, message.id


def _late_review(store: Store, pool: Pool, message: MessageRow) -> SprintReview | None:
    """Return another version of a sprint review, where the developer rejected more of that sprint with a reason."""
    before = content_of(message, SprintReview)
    if before.proposal is None or before.sprint is None:
        return None
    reviewed = load_proposal(store, before.proposal)
    known = {decision.hunk.rpartition("/")[2] for decision in before.rejected if decision.reason}
    rejected = {hunk_id for hunk_id, state in reviewed.states.items() if state is HunkState.REJECTED}
    # Another proposal may have put hunks aside: only those that the developer rejected ask for work.
    late = decided_by_developer(store, before.proposal) & rejected - known
    if not any(reviewed.reasons.get(hunk_id) for hunk_id in late):
        return None
    answered = any(other.id > message.id for other in pool.of_kind(Kind.SPRINT_REVIEW))
    files = _test_files(pool, before.sprint)
    counted = late if answered else late | known
    tasks = (*before.done, *before.undone, *(line.partition(":")[0] for line in before.missing))
    return sprint_review_of(reviewed, before.sprint, tasks, files, counted)


def _decided(store: Store, pool: Pool) -> Reviewed | None:
    """Return the open sprint's proposal, if all of it is decided."""
    message = _open_proposal(pool)
    reviewed = load_proposal(store, body_of(message)["proposalId"]) if message else None
    return None if reviewed is None or reviewed.undecided else reviewed


def _open_proposal(pool: Pool) -> MessageRow | None:
    """Return the message that brought the proposal of the open sprint, if there is a sprint and it has one."""
    sprint = agenda_of(pool).sprint
    return pool.latest("proposal", sprint) if sprint else None


def _test_files(pool: Pool, sprint: str) -> frozenset[str]:
    """Return the files that the QA Engineer wrote in a sprint."""
    return frozenset(path for message in pool.of_kind("tests", sprint) for path in content_of(message, Edits).files)


def sprint_review_of(
    reviewed: Reviewed, sprint: str, tasks: Collection[str], test_files: Collection[str], counted: Collection[str]
) -> SprintReview:
    """Return what was accepted, edited and rejected of a sprint's proposal.

    A task of which any hunk of *counted* was rejected is undone, and so are tests in *test_files*. A hunk rejected
    without a word takes nothing back: the developer may simply not want it.
    """
    by_state: dict[HunkState, list[HunkDecision]] = {state: [] for state in HunkState}
    edited: list[HunkDecision] = []
    undone: set[str] = set()
    undone_tests: set[str] = set()
    for change, hunk in reviewed.proposal.hunks():
        state, said = reviewed.states[hunk.id], reviewed.reasons.get(hunk.id, "")
        is_unwanted = bool(said) and state is HunkState.REJECTED
        reason = f"{describe_hunk(change, hunk)}: {said}" if is_unwanted else ""
        decision = HunkDecision(hunk=f"{reviewed.proposal.id}/{hunk.id}", serves=hunk.serves, reason=reason)
        by_state[state].append(decision)
        if hunk.id in reviewed.edited:
            own = f"the developer's own text: {describe_hunk(change, hunk)}"
            edited.append(decision.model_copy(update={"reason": own}))
        if not is_unwanted or hunk.id not in counted:
            continue
        if (path := change.renamed_to or change.path) in test_files:
            undone_tests.add(path)
        else:
            undone.update(served for served in hunk.serves if served.startswith("T"))
    return SprintReview(
        title=f"What became of {reviewed.proposal.id}",
        sprint=sprint,
        proposal=reviewed.proposal.id,
        done=tuple(task for task in tasks if task not in undone),
        undone=tuple(task for task in tasks if task in undone),
        undone_tests=tuple(sorted(undone_tests)),
        accepted=tuple(by_state[HunkState.ACCEPTED]),
        edited=tuple(edited),
        rejected=tuple(by_state[HunkState.REJECTED]),
    )


def _id_of(store: Store, run_id: str, title: str) -> str:
    """Return the id of this run's proposal of that title, if one was left behind by a process that was killed; else a
    new one.

    The message that tells of a proposal is stored after it: one without a message may have been left behind.
    """
    messages = (message for message in messages_of(store, run_id) if message.kind == "proposal")
    told = {body_of(message)["proposalId"] for message in messages}
    for body in reversed(store.proposals_of(run_id)):
        proposal = proposal_adapter().validate_json(body)
        if proposal.title == title and proposal.id not in told:
            return proposal.id
    return store.reserve_proposal(run_id)


def _serving(change: FileChange, edits: Edits, agenda: Agenda, tests: Mapping[str, tuple[str, ...]]) -> FileChange:
    """Return *change* with what each of its hunks serves."""
    path = change.renamed_to or change.path
    known = {task.id: task for task in agenda.tasks}
    tasks = [known[one] for one in edits.tasks.get(path, edits.tasks.get(change.path, ())) if one in known]

    def serves(hunk: Hunk) -> tuple[str, ...]:
        if (test := f"{path}::{hunk.symbol.replace('.', '::')}") in tests:
            return tests[test]
        if in_file := tuple(
            dict.fromkeys(one for test, ids in tests.items() if test.startswith(f"{path}::") for one in ids)
        ):
            return in_file
        named = [task for task in tasks if any(_is_about(symbol, path, hunk.symbol) for symbol in task.symbols)]
        meant = named or tasks
        requirements = dict.fromkeys(one for task in meant for one in task.serves)
        return (*(task.id for task in meant), *requirements)

    return replace(change, hunks=tuple(replace(hunk, serves=serves(hunk)) for hunk in change.hunks))


def _is_about(symbol: str, path: str, changed: str) -> bool:
    """Return whether a hunk changes the symbol of a task, or something inside it."""
    file, _, name = symbol.partition("::")
    return file == path and bool(changed) and (changed == name or changed.startswith(f"{name}."))


def _requirements_of_tests(plan: TestPlan) -> dict[str, tuple[str, ...]]:
    return {case.test: case.verifies for case in plan.cases if case.test}


def _title(pool: Pool, agenda: Agenda) -> str:
    brief = pool.latest("brief")
    first = title_of_brief(body_of(brief)["text"]) if brief else ""
    return first if agenda.is_last and agenda.sprint == "S1" else f"{agenda.sprint}: {first}"


def _origin(pool: Pool) -> str:
    brief = pool.latest("brief")
    return body_of(brief)["path"] if brief else ""


def _notes(edits: Edits) -> Iterator[str]:
    for path, why in edits.widened.items():
        yield f"{path} is outside the design; the Engineer asked to change it: {why}"
    for answer in edits.answers:
        yield f"Review: {answer}"
