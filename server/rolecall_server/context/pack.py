"""The context pack: what a role is shown of the repository, in the order of its use, within a budget.

Three zoom levels: a whole file, a definition's body, a definition's signature. The item a role works on comes first
and is never left out; the rest is taken while it fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from rolecall_analysis import (
    Definition,
    Snapshot,
    callers,
    definitions_in,
    find_definition,
    is_test_path,
    tests_of,
    uses,
)
from rolecall_analysis.retrieval import Corpus, Query, rank
from rolecall_server.errors import FileRefused, RequestRefused
from rolecall_server.workspace import Workspace, read_text_file, read_text_or_none, split_lines

Zoom = Literal["file", "body", "signature"]

_MAX_CALL_SITES = 6
_MAX_SEARCHED_FILES = 4
_MAX_OUTLINED_FILES = 40
_CALL_SITE_LINES = 2
_SHARE_OF_TESTS = 0.4
"""Of what the focus leaves: tests show the house style, but a long test file must not crowd out the callers."""


@dataclass(frozen=True)
class Focus:
    """What a role is to work on."""

    path: str
    """Empty where the developer named no file: then those are shown that the brief is most likely about."""
    symbol: str = ""
    """A dotted name within the file; empty for all of it."""
    test_path: str = ""
    """The test file that is to be extended, where there is one."""
    style_path: str = ""
    """A test file to imitate where none is to be extended."""
    brief: str = ""


@dataclass(frozen=True)
class ContextItem:
    """One piece of the repository that a model is shown."""

    path: str
    reason: str
    zoom: Zoom
    text: str
    first_line: int
    """From 1; where *text* starts in the file."""
    tokens: int


@dataclass(frozen=True)
class View:
    """What the pack is taken from."""

    workspace: Workspace
    snapshot: Snapshot
    count_tokens: Callable[[str], int]


@dataclass(frozen=True)
class ContextPack:
    """Everything a model is shown, and what did not fit."""

    items: tuple[ContextItem, ...]
    left_out: tuple[ContextItem, ...]
    budget_tokens: int

    @property
    def tokens(self) -> int:
        """The estimated tokens of all items."""
        return sum(item.tokens for item in self.items)


def pack(view: View, focus: Focus, budget_tokens: int) -> ContextPack:
    """What a role needs to see to work on *focus*, in at most *budget_tokens*.

    It takes seconds on a large repository where the focus names no file: every file is read, and what git remembers.

    Raises:
        FileRefused: the file in focus cannot be read.
        RequestRefused: it does not fit the budget, not even the one definition in focus.
    """
    first = list(_focus_items(view, focus, budget_tokens))
    items, left_out = list(first), list[ContextItem]()
    left = budget_tokens - sum(item.tokens for item in first)
    for item in _unseen(_surroundings(view, focus, int(left * _SHARE_OF_TESTS)), first):
        if item.tokens <= left:
            items.append(item)
            left -= item.tokens
        else:
            left_out.append(item)
    return ContextPack(tuple(items), tuple(left_out), budget_tokens)


def render(context: ContextPack) -> str:
    """The pack as text for a model: each item under a heading with its path and reason, fenced."""
    parts: list[str] = []
    for item in context.items:
        where = "" if item.zoom == "file" else f", from line {item.first_line}"
        fence = _fence(item.text)
        parts.append(f"## {item.path}{where} ({item.reason})\n{fence}\n{item.text.rstrip()}\n{fence}\n")
    return "\n".join(parts)


def _fence(text: str) -> str:
    """A fence that no line of *text* ends."""
    fence = "```"
    while fence in text:
        fence += "`"
    return fence


def _focus_items(view: View, focus: Focus, budget_tokens: int) -> Iterator[ContextItem]:
    if not focus.path:
        return
    whole = _whole_file(view, focus.path, "the file to work on")
    if whole.tokens <= budget_tokens * 0.7:
        yield whole
        return
    definition = find_definition(view.snapshot, focus.path, focus.symbol) if focus.symbol else None
    if definition is None:
        raise RequestRefused(
            f"{focus.path} takes about {whole.tokens:,} tokens, more than rolecall.model.contextTokens "
            f"({budget_tokens:,}) leaves for it.",
            "Choose one function or class in it, or raise that setting.",
        )
    body = _body(view, definition, "what to work on")
    if body.tokens > budget_tokens:
        raise RequestRefused(
            f"{focus.symbol} takes about {body.tokens:,} tokens, more than rolecall.model.contextTokens allows.",
            "Choose a smaller function, or raise that setting.",
        )
    yield body
    outline = _outline(view, focus.path, "the rest of that file")
    if outline is not None and body.tokens + outline.tokens <= budget_tokens:
        yield outline


def _surroundings(view: View, focus: Focus, tests_budget: int) -> Iterator[ContextItem]:
    if not focus.path:
        yield from _found(view, focus.brief)
        return
    if focus.test_path:
        yield from _tests_shown(view, focus.test_path, tests_budget)
    elif focus.style_path:
        yield _beginning(view, focus.style_path, "how this repository writes tests", tests_budget)
    definition = find_definition(view.snapshot, focus.path, focus.symbol) if focus.symbol else None
    yield from _used(view, focus.path, definition)
    targets = (
        [definition] if definition else [d for d in definitions_in(view.snapshot, focus.path) if d.kind != "variable"]
    )
    yield from _call_sites(view, focus.path, targets)
    for path in tests_of(view.snapshot, focus.path):
        if path != focus.test_path:
            yield from _some(_outline(view, path, "tests that import it"))


def _found(view: View, brief: str) -> Iterator[ContextItem]:
    """The files *brief* is most likely about: the best whole, the others by their outline; tests are left out."""
    query = Query(brief, limit=_MAX_OUTLINED_FILES)
    ranked = rank(Corpus(view.workspace.root), view.snapshot, query)
    readable = [one for one in ranked if read_text_or_none(view.workspace, one.path)]
    for one in readable[:_MAX_SEARCHED_FILES]:
        yield _whole_file(view, one.path, next(iter(one.reasons), "the brief is about it"))
    for one in readable[_MAX_SEARCHED_FILES:]:
        yield from _some(_outline(view, one.path, "an outline"))


def _tests_shown(view: View, path: str, budget_tokens: int) -> Iterator[ContextItem]:
    """The test file to extend: whole where it fits, else its beginning for the style and its outline."""
    whole = _whole_file(view, path, "the test file to extend")
    if whole.tokens <= budget_tokens:
        yield whole
        return
    yield _beginning(view, path, "the test file to extend", budget_tokens // 2)
    yield from _some(_outline(view, path, "all it defines"))


def _beginning(view: View, path: str, reason: str, budget_tokens: int) -> ContextItem:
    """As many lines from the top of *path* as fit."""
    lines = split_lines(read_text_file(view.workspace, path).text)
    kept, tokens = 0, 0
    while kept < len(lines) and tokens < budget_tokens:
        tokens += view.count_tokens(lines[kept])
        kept += 1
    said = reason if kept == len(lines) else f"{reason}: the first {kept} of {len(lines)} lines"
    return ContextItem(path, said, "file" if kept == len(lines) else "body", "".join(lines[:kept]), 1, tokens)


def _call_sites(view: View, path: str, targets: Iterable[Definition]) -> Iterator[ContextItem]:
    """The lines around calls of *targets* from other files that are no tests."""
    seen: set[tuple[str, int]] = set()
    for target in targets:
        for site in callers(view.snapshot, target):
            place = (site.path, site.call.span.start.line)
            if site.path == path or is_test_path(site.path) or place in seen or len(seen) >= _MAX_CALL_SITES:
                continue
            seen.add(place)
            sure = "calls" if site.certain else "may call"
            yield from _some(_lines_around(view, site.path, place[1], f"{sure} {target.qualified_name}"))


def _unseen(items: Iterable[ContextItem], shown: Iterable[ContextItem]) -> Iterator[ContextItem]:
    """*items* without what was taken before, or what lies in a file that is shown whole."""
    whole = {item.path for item in shown if item.zoom == "file"}
    taken: set[tuple[str, int, Zoom]] = set()
    for item in items:
        key = (item.path, item.first_line, item.zoom)
        if item.path not in whole and key not in taken:
            taken.add(key)
            if item.zoom == "file":
                whole.add(item.path)
            yield item


def _whole_file(view: View, path: str, reason: str) -> ContextItem:
    text = read_text_file(view.workspace, path).text
    return ContextItem(path, reason, "file", text, 1, view.count_tokens(text))


def _body(view: View, definition: Definition, reason: str) -> ContextItem:
    lines = split_lines(read_text_file(view.workspace, definition.path).text)
    start, end = definition.span.start.line, definition.span.end.line + 1
    text = "".join(lines[start:end])
    return ContextItem(definition.path, reason, "body", text, start + 1, view.count_tokens(text))


def _used(view: View, path: str, definition: Definition | None) -> Iterator[ContextItem]:
    """What *path*, or *definition* in it, uses of other files, an item for each; of a class, its methods too."""
    by_path: dict[str, list[Definition]] = {}
    for used in uses(view.snapshot, path, definition):
        if used.path != path:
            by_path.setdefault(used.path, []).append(used)
    for other, found in by_path.items():
        lines = [line for used in found for line in _signatures(view, used)]
        text = "\n".join(dict.fromkeys(lines))
        yield ContextItem(
            other,
            "what the file in focus uses of it",
            "signature",
            text,
            _line_number(found[0]),
            view.count_tokens(text),
        )


def _signatures(view: View, definition: Definition) -> Iterator[str]:
    """The signature of *definition* and the first line of its docstring; of a class, those of its methods too."""
    indent = "    " * definition.qualified_name.count(".")
    yield indent + definition.signature
    if definition.docstring:
        yield f'{indent}    """{definition.docstring.strip().splitlines()[0]}"""'
    if definition.kind == "class":
        for member in definitions_in(view.snapshot, definition.path):
            if member.scope == definition.qualified_name and member.kind == "method":
                yield from _signatures(view, member)


def _line_number(definition: Definition) -> int:
    return definition.span.start.line + 1


def _outline(view: View, path: str, reason: str) -> ContextItem | None:
    """The signatures of everything *path* defines, or ``None`` where that is nothing."""
    lines = [
        "    " * definition.qualified_name.count(".") + definition.signature
        for definition in definitions_in(view.snapshot, path)
        if definition.kind != "variable"
    ]
    text = "\n".join(lines)
    return ContextItem(path, reason, "signature", text, 1, view.count_tokens(text)) if text else None


def _lines_around(view: View, path: str, line: int, reason: str) -> ContextItem | None:
    try:
        lines = split_lines(read_text_file(view.workspace, path).text)
    except FileRefused:
        return None
    start = max(0, line - _CALL_SITE_LINES)
    text = "".join(lines[start : line + _CALL_SITE_LINES + 1])
    return ContextItem(path, reason, "body", text, start + 1, view.count_tokens(text))


def _some(item: ContextItem | None) -> Iterator[ContextItem]:
    if item is not None:
        yield item
