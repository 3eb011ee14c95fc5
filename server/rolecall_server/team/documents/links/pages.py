"""Documents as pages that refer to each other: where an id or a piece of code is named, and what it means.

A page is a document with the text that the developer sees of it, which may be ahead of what is stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rolecall_server.team.documents.checking import TestPlan
from rolecall_server.team.documents.document import Document, Kind
from rolecall_server.team.documents.links.linking import Linked
from rolecall_server.team.documents.markdown.escaping import fenced_lines, heading
from rolecall_server.team.documents.requirements import Requirements
from rolecall_server.team.documents.tasks import TaskList

_ID = r"[RTCQFSH][1-9][0-9]{0,5}"
_NAMED = re.compile(rf"`(?P<code>[^`\n]+)`|(?<![\w.:/-])(?P<id>{_ID})(?![\w/]|-\w|\.\w)")
_ENTRY = re.compile(rf" {{0,3}}#+[ \t]+({_ID})(?!\w)")
_SHARED = {"R": Kind.REQUIREMENTS, "T": Kind.TASK_LIST, "S": Kind.TASK_LIST, "C": Kind.TEST_PLAN}
"""Whose ids other documents name; all other ids belong to their own document."""


@dataclass(frozen=True)
class Mention:
    """A name in the text of a page."""

    name: str
    """``R3``, ``shop/price.py::total``"""
    is_code: bool
    line: int
    """From 0."""
    start: int
    """In code points of the line; the backticks are not part of it."""
    end: int
    is_entry: bool = False
    """It is the heading that says what the name stands for."""


@dataclass(frozen=True)
class Page:
    """A document, and its text now."""

    document: Document
    text: str

    @cached_property
    def lines(self) -> Sequence[str]:
        """Its lines, without their ends."""
        return self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    @cached_property
    def mentions(self) -> tuple[Mention, ...]:
        """Every name in it, in order; none in diagrams and other fenced blocks."""
        fenced = fenced_lines(self.lines)
        start = self.lines.index("---", 1) + 1 if self.lines[0] == "---" and "---" in self.lines[1:] else 0
        return tuple(
            mention
            for number, line in enumerate(self.lines)
            if number >= start and number not in fenced
            for mention in _mentions(number, line)
        )

    def at(self, line: int, column: int) -> Mention | None:
        """Return the name at a place of the page, if one is there."""
        # Its end as well: there the cursor stands right behind the name.
        here = (each for each in self.mentions if each.line == line and each.start <= column <= each.end)
        return next(here, None)

    def line_of(self, name: str) -> int:
        """Return the line of the entry *name*, else of its first mention, else of the title."""
        found = sorted((each for each in self.mentions if each.name == name), key=lambda each: not each.is_entry)
        if found:
            return found[0].line
        return next((number for number, line in enumerate(self.lines) if line.startswith("# ")), 0)

    @cached_property
    def headings(self) -> tuple[tuple[int, int, str], ...]:
        """The line, the level and the text of each heading."""
        fenced = fenced_lines(self.lines)
        found = ((number, heading(line, 3)) for number, line in enumerate(self.lines) if number not in fenced)
        return tuple((number, *each) for number, each in found if each is not None and each[1])


def _mentions(number: int, line: str) -> Iterator[Mention]:
    entry = _ENTRY.match(line)
    for match in _NAMED.finditer(line):
        group = "code" if match["code"] else "id"
        is_entry = entry is not None and match.start() == entry.start(1)
        yield Mention(match[group], group == "code", number, *match.span(group), is_entry)


def is_shared(name: str) -> bool:
    """Return whether other documents may name that id."""
    return name[0] in _SHARED


def entry_of(pages: Iterable[Page], name: str, seen_from: Page) -> tuple[Page, Mention] | None:
    """Return the place where the id *name* is explained, for somebody who reads *seen_from*; ``None`` if
    there is none.
    """
    own = [page for page in pages if page.document.id == seen_from.document.id]
    others = [page for page in pages if is_shared(name) and page.document.kind is _SHARED[name[0]]]
    for page in (*own, *others):
        for mention in page.mentions:
            if mention.is_entry and mention.name == name:
                return page, mention
    return None


def mentions_of(pages: Iterable[Page], name: str, seen_from: Page) -> Iterator[tuple[Page, Mention]]:
    """Yield every place that means by *name* the same as *seen_from* does."""
    for page in pages:
        if is_shared(name) or "/" in name or page.document.id == seen_from.document.id:
            yield from ((page, mention) for mention in page.mentions if mention.name == name)


def explain(name: str, run: Linked) -> tuple[str, ...]:
    """Explain the requirement, task or case *name*, and what serves it, as lines of Markdown; none where it is none."""
    if name in run.requirement_ids:
        return tuple(_explain_requirement(name, run))
    if name in run.tasks:
        return tuple(_explain_task(name, run))
    for plan in run.held(TestPlan):
        for case in plan.cases:
            if case.id == name:
                where = f" in `{case.test}`" if case.test else ", not written yet"
                return (f"**{name}: {case.title}**", f"Expects: {case.expects}", f"{_verifies(case.verifies)}{where}.")
    return ()


def _explain_requirement(name: str, run: Linked) -> Iterator[str]:
    wanted = next(each for held in run.held(Requirements) for each in held.requirements if each.id == name)
    yield f"**{name}: {wanted.title}** ({wanted.priority})"
    yield wanted.consequence
    elements = [f"`{each.symbol}`" for each in run.design_elements if name in each.serves]
    yield f"Design: {', '.join(elements) or 'nothing'}"
    tasks = [f"{task.id} {task.title}" for task in run.tasks.values() if name in task.serves]
    yield f"Tasks: {'; '.join(tasks) or 'none'}"
    yield _hunks({name, *(task.id for task in run.tasks.values() if name in task.serves)}, run)
    cases = [
        f"{case.id} {case.title}" + (f" (`{case.test}`)" if case.test else "")
        for plan in run.held(TestPlan)
        for case in plan.cases
        if name in case.verifies
    ]
    yield f"Tests: {'; '.join(cases) or 'none'}"


def _explain_task(name: str, run: Linked) -> Iterator[str]:
    task = run.tasks[name]
    yield f"**{name}: {task.title}**"
    yield from (f"- {line}" for line in task.acceptance)
    sprints = [sprint.id for held in run.held(TaskList) for sprint in held.sprints if name in sprint.tasks]
    yield f"Serves {', '.join(task.serves) or 'nothing'}; in {', '.join(sprints) or 'the backlog'}"
    yield _hunks({name}, run)


def _hunks(names: set[str], run: Linked) -> str:
    found = [f"{each.code} {each.state}".strip() for each in run.hunks if not names.isdisjoint(each.serves)]
    return f"Hunks: {', '.join(found) or 'none'}"


def _verifies(names: Sequence[str]) -> str:
    return f"Verifies {', '.join(names) or 'nothing'}"
