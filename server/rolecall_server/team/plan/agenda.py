"""The order of the work: sprints, the tasks of each, and which task builds on which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import chain, count

from rolecall_server.errors import DocumentUnusable
from rolecall_server.store.messages import MessageRow
from rolecall_server.team.documents import Kind, SprintReview, Task, TaskList
from rolecall_server.team.messages.board import Pool, content_of


@dataclass(frozen=True)
class Agenda:
    """The work that is to be done now."""

    sprint: str
    """Its id, such as ``S1``; empty where no sprint is left."""
    tasks: tuple[Task, ...]
    """Those of the sprint, each after those it builds on."""
    needs: Mapping[str, tuple[str, ...]]
    """The tasks of the sprint on which each builds, directly or not, in order."""
    is_last: bool
    """No sprint follows."""
    undone_tests: tuple[str, ...] = ()
    """The test files in which the developer rejected something in the sprint before, with a reason."""

    def task(self, task_id: str) -> Task:
        """Return one task of the sprint."""
        return next(task for task in self.tasks if task.id == task_id)


NOTHING_LEFT = Agenda("", (), {}, is_last=True)


def agenda_of(pool: Pool) -> Agenda:
    """Return the agenda of the first sprint whose proposal is not decided.

    What the developer rejected with a reason comes again in the sprint that is next then; after the last one planned,
    in one more. A review that is later than those of all sprints after its own tells of rejections that none of them
    has answered.

    Raises:
        DocumentUnusable: the tasks need each other in a circle.
    """
    message = pool.latest(Kind.TASK_LIST)
    if message is None:
        return NOTHING_LEFT
    listed = content_of(message, TaskList)
    sprints = sprints_of(listed)
    reviews: list[MessageRow] = []
    # `_further` has no end: the loop ends at the first sprint that was not reviewed.
    for number, (sprint, planned) in enumerate(chain(sprints, _further(sprints))):
        review = pool.latest(Kind.SPRINT_REVIEW, sprint)
        if review is None:
            unanswered = [content_of(each, SprintReview) for each in _later_than_what_follows(reviews)]
            carried = {task for became in unanswered for task in became.undone}
            undone_tests = tuple(dict.fromkeys(path for became in unanswered for path in became.undone_tests))
            tasks = [task for task in listed.tasks if task.id in carried.union(planned)]
            if not tasks and not undone_tests:
                return NOTHING_LEFT
            return replace(_agenda(sprint, tasks, is_last=number >= len(sprints) - 1), undone_tests=undone_tests)
        reviews.append(review)
    return NOTHING_LEFT


def _later_than_what_follows(reviews: Sequence[MessageRow]) -> list[MessageRow]:
    """Return those of *reviews*, which are in the order of their sprints, that no later sprint's review came after."""
    return [each for number, each in enumerate(reviews) if all(each.id > later.id for later in reviews[number + 1 :])]


def _further(sprints: Iterable[tuple[str, tuple[str, ...]]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Sprints after those that were planned, without tasks of their own."""
    # Not their number: `sprints_of` leaves out those without tasks, and the ids have gaps then.
    highest = max(int(sprint[1:]) for sprint, _ in sprints)
    return ((f"S{number}", ()) for number in count(highest + 1))


def sprints_of(listed: TaskList) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each sprint with the ids of its tasks, in order; one of all tasks where none is planned."""
    known = {task.id for task in listed.tasks}
    planned = [(sprint.id, tuple(one for one in sprint.tasks if one in known)) for sprint in listed.sprints]
    return tuple((name, tasks) for name, tasks in planned if tasks) or (
        ("S1", tuple(task.id for task in listed.tasks)),
    )


def circle_of(tasks: Sequence[Task]) -> tuple[str, ...]:
    """Tasks that need each other in a circle, the first one again at the end; empty where there are none."""
    try:
        TopologicalSorter({task.id: task.needs for task in tasks}).prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return ()


def _agenda(sprint: str, tasks: Sequence[Task], *, is_last: bool) -> Agenda:
    if circle := circle_of(tasks):
        raise DocumentUnusable(
            f"The tasks {' → '.join(circle)} need each other in a circle.",
            "Edit the task list so that one of them needs no other.",
        )
    direct = _direct_needs(tasks)
    by_id = {task.id: task for task in tasks}
    order = [one for one in TopologicalSorter(direct).static_order() if one in by_id]
    needs: dict[str, tuple[str, ...]] = {}
    for one in order:
        below = {one for need in direct[one] for one in (need, *needs[need])}
        needs[one] = tuple(each for each in order if each in below)
    return Agenda(sprint, tuple(by_id[one] for one in order), needs, is_last)


def _direct_needs(tasks: Sequence[Task]) -> dict[str, tuple[str, ...]]:
    """Return, for each task, the tasks it needs and the earlier tasks that change one of its files.

    So two tasks that are done at the same time never change the same file.
    """
    here = {task.id for task in tasks}
    declared = {task.id: [need for need in task.needs if need in here] for task in tasks}
    order = list(TopologicalSorter(declared).static_order())
    by_id = {task.id: task for task in tasks}
    found: dict[str, tuple[str, ...]] = {}
    for number, one in enumerate(order):
        # Only tasks before it in an order that keeps the declared needs: so no circle can come of it.
        shared = [other for other in order[:number] if {*by_id[other].files} & {*by_id[one].files}]
        found[one] = tuple(dict.fromkeys((*declared[one], *shared)))
    return found
