"""The context pack: what a role is shown of the repository, in the order of its use, within a budget.

Three zoom levels: a whole file, a definition's body, a definition's signature. The item a role works on comes first
and is never left out; the rest is taken while it fits. What changes least stands first, so that the beginning of one
prompt is often that of the next, which providers need not read twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO, StringIO
from pathlib import Path

from rolecall_analysis import (
    CallSite,
    Definition,
    Snapshot,
    callers,
    definitions_in,
    find_definition,
    is_test,
    tests_of,
    uses,
)
from rolecall_analysis.queries.symbols import definitions_named
from rolecall_server.context.at_hand import AtHand, at_hand
from rolecall_server.context.exercising import exercising, nearest_tests
from rolecall_server.context.found import Likely, corpus_of, found, found_within
from rolecall_server.context.house_rules import Consent, house_rules
from rolecall_server.context.items import (
    NO_ROOM,
    ContextItem,
    LeftOut,
    PackSource,
    beginning,
    body,
    check_shown,
    lines_around,
    outline,
    signatures,
    whole_file,
)
from rolecall_server.context.named import changes_in_commit, named_commits, named_passages
from rolecall_server.context.orientation import ROOT, a_map, changelog, head, how_it_runs, is_changelog
from rolecall_server.context.parts import alone, in_parts
from rolecall_server.errors import FileRefused, RequestRefused
from rolecall_server.workspace import read_text_or_none

_MAX_CALL_SITES = 6
_MAX_OF_EACH = 2
"""Of the calls of one definition, where several are looked at: one that all call would leave no room for others."""
_CALL_SITE_LINES = 2
_MAX_OTHER_TESTS = 3
_LONGEST_OUTLINE = 40
"""Lines of the outline of a test file that is not the one to extend."""
_SHARE_OF_TESTS = 0.4
"""Of what the focus leaves: tests show the house style, but a long test file must not crowd out the callers."""
_SHARE_OF_EXERCISING = 0.08
"""The same for the tests that exercise files which the brief finds."""
_SHARE_OF_MAP = 0.045
_SHARE_OF_ALSO = 0.1
"""Of what the focus leaves, for each file that is shown beside what the focus is about."""
_SHARE_OF_PART = 0.6
"""Of what there is room for, for one file in parts."""
_SHARE_AT_HAND = 0.15
"""Of what the focus leaves, for one piece of what the developer has at hand."""


_OF_PYTHON = frozenset(name for kind in (str, bytes, list, dict, set, BytesIO, StringIO, Path) for name in dir(kind))
"""Names that say nothing about whose they are: another object's ``write`` is no caller of ours."""


@dataclass(frozen=True)
class Parts:
    """Definitions of a file that are to be shown with what is around them, and the reason."""

    path: str
    names: tuple[str, ...]
    """Dotted, within the file; empty: all of it."""
    reason: str
    is_alone: bool = False
    """They are shown with what they use of what is around them, and nothing else."""


@dataclass(frozen=True)
class Focus:
    """The subject of a role's work: a file, a symbol in it, and the brief."""

    path: str
    """Empty where the developer named no file: then those are shown that the brief is most likely about."""
    symbol: str = ""
    """A dotted name within the file; empty for all of it."""
    label: str = "the file to work on"
    """The name under which the file is shown."""
    test_path: str = ""
    """The test file that is to be extended, where there is one."""
    style_path: str = ""
    """A test file to imitate where none is to be extended."""
    brief: str = ""
    hand: AtHand = field(default_factory=AtHand)
    rules: Consent = "off"
    """The repository's own rules are shown."""
    role: str = ""
    """The role that works, such as ``engineer``: rules for it count too."""
    accepted_rules: str = ""
    """The text of those, where the developer accepted it."""
    also: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files whose beginning is shown in any case, each with the reason."""
    writes_code: bool = False
    """The role changes the code, or decides where: the tests that exercise it and the head of the changelog are
    shown."""
    parts: tuple[Parts, ...] = ()
    """If there are any, these are shown and nothing around them."""
    named: tuple[str, ...] = ()
    """Files that the brief names; of long ones the passages that it is about are shown."""


@dataclass(frozen=True)
class ContextPack:
    """The context that a model is shown, and what was left out of it."""

    items: tuple[ContextItem, ...]
    left_out: tuple[LeftOut, ...]
    budget_tokens: int

    @property
    def tokens(self) -> int:
        """The estimated tokens of all items."""
        return sum(item.tokens for item in self.items)


def pack(view: PackSource, focus: Focus, budget_tokens: int) -> ContextPack:
    """Return the items that a role needs to see to work on *focus*, in at most *budget_tokens*.

    It takes seconds on a large repository where the focus names no file, unless *view* brings a corpus that was used
    before: every file is read, and what git remembers.

    Raises:
        FileRefused: the file in focus cannot be read, or is kept from models.
        RequestRefused: it does not fit the budget, not even the one definition in focus.
    """
    if focus.path:
        check_shown(view, focus.path)
    # Made once: several of the parts below ask for it.
    view = replace(view, corpus=corpus_of(view))
    first = list(_focus_items(view, focus, budget_tokens))
    room = budget_tokens - sum(item.tokens for item in first)
    choice = _with_rules(view, focus, room)
    # Not by `take`, which may leave an item out.
    choice.items += first
    for candidate in _parts(view, focus, room) if focus.parts else _surroundings(view, focus, room):
        choice.take(candidate)
    return ContextPack(tuple(choice.items), tuple(choice.left_out), budget_tokens)


def pack_rules(view: PackSource, focus: Focus, budget_tokens: int) -> ContextPack:
    """Return the rules and how the repository is run, for a role that works from documents."""
    choice = _with_rules(view, focus, budget_tokens)
    for told in how_it_runs(view):
        choice.take(told)
    return ContextPack(tuple(choice.items), tuple(choice.left_out), budget_tokens)


def _with_rules(view: PackSource, focus: Focus, room_tokens: int) -> _Choice:
    choice = _Choice(view, room_tokens)
    for rule in house_rules(view, focus.rules, room_tokens, focus.role, focus.accepted_rules):
        if rule.path != focus.path:
            choice.take(rule)
    return choice


class _Choice:
    """The items that are taken while they fit, and those that are not, with the reason."""

    def __init__(self, view: PackSource, room_tokens: int) -> None:
        self.items: list[ContextItem] = []
        self.left_out: list[LeftOut] = []
        self._view, self._left = view, room_tokens

    def take(self, candidate: ContextItem | LeftOut) -> None:
        """Take *candidate* if it fits, may be shown and is not shown already."""
        if isinstance(candidate, LeftOut):
            self._leave(candidate, candidate.tokens, candidate.why)
        elif not any(_shows(item, candidate) for item in self.items):
            try:
                check_shown(self._view, candidate.path)
            except FileRefused as error:
                self._leave(candidate, 0, error.what)
                return
            if candidate.tokens > self._left:
                self._leave(candidate, candidate.tokens, NO_ROOM)
            else:
                self._left -= candidate.tokens
                self.items.append(candidate)

    def _leave(self, one: ContextItem | LeftOut, tokens: int, why: str) -> None:
        left_out = LeftOut(one.path, one.reason, one.zoom, one.first_line, tokens, why)
        if left_out not in self.left_out:
            self.left_out.append(left_out)


def _shows(shown: ContextItem, other: ContextItem) -> bool:
    """Return whether a reader of *shown* has seen all of *other*."""
    if shown.path != other.path or {shown.zoom, other.zoom} & {"diff", "notes"}:
        return shown == other
    if other.lines:
        return all(any(a <= first and last <= b for a, b in shown.lines) for first, last in other.lines)
    return shown.zoom in ("file", "parts") or (shown.zoom, shown.first_line) == (other.zoom, other.first_line)


def render(context: ContextPack) -> str:
    """Return the pack as text for a model: each item under a heading with its path and reason, fenced."""
    parts: list[str] = []
    for item in context.items:
        where = f", from line {item.first_line}" if item.zoom in ("body", "signature") else ""
        fence = _fence(item.text)
        title = f"{item.path}{where} ({item.reason})" if item.path != ROOT else item.reason
        parts.append(f"## {title}\n{fence}\n{item.text.rstrip()}\n{fence}\n")
    return "\n".join(parts)


def _fence(text: str) -> str:
    """Return a fence that no line of *text* ends."""
    fence = "```"
    while fence in text:
        fence += "`"
    return fence


def _focus_items(view: PackSource, focus: Focus, budget_tokens: int) -> Iterator[ContextItem]:
    if not focus.path:
        return
    whole = whole_file(view, focus.path, focus.label)
    if whole.tokens <= budget_tokens * 0.7:
        yield whole
        return
    definition = find_definition(view.snapshot, focus.path, focus.symbol) if focus.symbol else None
    if definition is None and focus.brief.strip():
        parts = found_within(view, focus.path, focus.brief, int(budget_tokens * 0.5), focus.label)
        if parts.tokens <= budget_tokens * 0.7:
            yield parts
            return
    if definition is None:
        raise RequestRefused(
            f"{focus.path} takes about {whole.tokens:,} tokens, more than rolecall.model.contextTokens "
            f"({budget_tokens:,}) leaves for it.",
            "Choose one function or class in it, or raise that setting.",
        )
    wanted = body(view, definition, "what to work on")
    if wanted.tokens > budget_tokens:
        raise RequestRefused(
            f"{focus.symbol} takes about {wanted.tokens:,} tokens, more than rolecall.model.contextTokens allows.",
            "Choose a smaller function, or raise that setting.",
        )
    yield wanted
    for rest in outline(view, focus.path, "the rest of that file"):
        if wanted.tokens + rest.tokens <= budget_tokens:
            yield rest


def _surroundings(view: PackSource, focus: Focus, room_tokens: int) -> Iterator[ContextItem | LeftOut]:
    likely = found(view, focus.brief, room_tokens) if not focus.path and focus.brief.strip() else Likely()
    changed = list(_changed_in_commits(view, focus, room_tokens))
    # What a commit changed says better which parts of a file matter than the words of a brief like "Revert 196acd2".
    better = {one.path for one in changed if one.zoom != "diff"}
    found_first = (one for one in likely.items if one.path not in better)
    shown = [*found_first, *_front_and_named(view, focus, room_tokens), *changed]
    if focus.path or focus.style_path or focus.test_path:
        shown += _tests_to_follow(view, focus, int(room_tokens * _SHARE_OF_TESTS))
    elif focus.writes_code and likely.paths:
        shown += exercising(view, focus.brief, likely, int(room_tokens * _SHARE_OF_EXERCISING))
    if focus.writes_code:
        shown += changelog(view)
    yield from shown
    yield from how_it_runs(view)
    if focus.path:
        yield from _around_the_file(view, focus)
    else:
        known = {one.path for one in shown if isinstance(one, ContextItem)}
        yield from a_map(view, likely.likely, known, int(room_tokens * _SHARE_OF_MAP))
    yield from _in_hand(view, focus, room_tokens)


def _parts(view: PackSource, focus: Focus, room_tokens: int) -> Iterator[ContextItem]:
    """Yield the parts of *focus*: the file in parts, or where its own level is too long the definitions alone."""
    for one in focus.parts:
        if one.is_alone:
            yield alone(view, one.path, one.names, one.reason)
            continue
        item = in_parts(view, one.path, one.names, one.reason) if one.names else whole_file(view, one.path, one.reason)
        if item.tokens <= room_tokens * _SHARE_OF_PART:
            yield item
            continue
        found = (find_definition(view.snapshot, one.path, name) for name in one.names)
        yield from (body(view, definition, one.reason) for definition in found if definition is not None)


def _front_and_named(view: PackSource, focus: Focus, room_tokens: int) -> Iterator[ContextItem | LeftOut]:
    for path, reason in focus.also.items():
        if path not in focus.named and read_text_or_none(view.workspace, path):
            yield beginning(view, path, reason, int(room_tokens * _SHARE_OF_ALSO))
    for path in focus.named:
        if is_changelog(path):
            yield from head(view, path)
        elif path != focus.path:
            yield from named_passages(view, path, focus.brief, room_tokens)


def _changed_in_commits(view: PackSource, focus: Focus, room_tokens: int) -> Iterator[ContextItem | LeftOut]:
    for commit in named_commits(view.workspace.root, focus.brief) if focus.writes_code else ():
        yield from changes_in_commit(view, commit, (focus.path, *focus.named), room_tokens)


def _in_hand(view: PackSource, focus: Focus, room_tokens: int) -> Iterator[ContextItem | LeftOut]:
    others = [focus.test_path] if focus.test_path else []
    for item in at_hand(view, focus.path, focus.hand, others):
        if item.tokens > room_tokens * _SHARE_AT_HAND:
            yield LeftOut(item.path, item.reason, item.zoom, item.first_line, item.tokens, NO_ROOM)
        else:
            yield item


def _tests_to_follow(view: PackSource, focus: Focus, budget_tokens: int) -> Iterator[ContextItem]:
    """Yield the test file to extend, else the one to imitate; of a long one whole tests, those that matter first."""
    text = f"{focus.brief}\n{focus.symbol}"
    if focus.test_path:
        yield nearest_tests(view, focus.test_path, text, budget_tokens, "the test file to extend")
    elif focus.style_path:
        yield nearest_tests(view, focus.style_path, text, budget_tokens, "how this repository writes tests")


def _around_the_file(view: PackSource, focus: Focus) -> Iterator[ContextItem | LeftOut]:
    """Yield items for what the file in focus uses, for the calls of it, and for its other tests."""
    definition = find_definition(view.snapshot, focus.path, focus.symbol) if focus.symbol else None
    yield from _used(view, focus.path, definition)
    targets = (
        [definition] if definition else [d for d in definitions_in(view.snapshot, focus.path) if d.kind != "variable"]
    )
    yield from _call_sites(view, focus.path, targets)
    for path in tests_of(view.snapshot, focus.path)[:_MAX_OTHER_TESTS]:
        if path != focus.test_path:
            yield from _short_outline(view, path, "tests that import it")


def _short_outline(view: PackSource, path: str, reason: str) -> Iterator[ContextItem]:
    """Yield the outline of *path*; of a long one the beginning, which says how much it is not."""
    for item in outline(view, path, reason):
        lines = item.text.splitlines()
        if len(lines) <= _LONGEST_OUTLINE:
            yield item
            continue
        text = "\n".join([*lines[:_LONGEST_OUTLINE], f"... {len(lines) - _LONGEST_OUTLINE} more"])
        yield replace(item, text=text, tokens=view.count_tokens(text))


def _call_sites(view: PackSource, path: str, targets: Sequence[Definition]) -> Iterator[ContextItem]:
    """Yield the lines around calls of *targets* from other files that are no tests; of each caller the first."""
    seen: set[tuple[str, int]] = set()
    most = _MAX_CALL_SITES if len(targets) == 1 else _MAX_OF_EACH
    for target in targets:
        sites = [
            site
            for site in callers(view.snapshot, target)
            if site.path != path and not is_test(view.snapshot, site.path) and _is_caller(view, site, target)
        ]
        # Reversed, for a dictionary keeps the last value of a key and the first call of each caller is wanted.
        of_each = {(site.path, site.caller): site for site in reversed(sites)}
        for site in list(reversed(of_each.values()))[:most]:
            place = (site.path, site.call.span.start.line)
            if place in seen:
                continue
            if len(seen) >= _MAX_CALL_SITES:
                return
            seen.add(place)
            sure = "calls" if site.certain else "may call"
            yield from lines_around(view, *place, _CALL_SITE_LINES, f"{sure} {target.qualified_name}")


def _is_caller(view: PackSource, site: CallSite, target: Definition) -> bool:
    """Return whether *site* calls *target* for sure, or by a name that nothing else in the repository, and no type of
    Python's own, has.
    """
    if site.certain:
        return True
    return names_one_thing(view.snapshot, target.name)


def names_one_thing(snapshot: Snapshot, name: str) -> bool:
    """Return whether one definition alone has *name*, and no type of Python's own: then a call by it means that one."""
    return name not in _OF_PYTHON and len(definitions_named(snapshot, name)) == 1


def _used(view: PackSource, path: str, definition: Definition | None) -> Iterator[ContextItem]:
    """Yield the signatures that *path*, or *definition* in it, uses of other files, an item for each file; of a class,
    its methods too.
    """
    by_path: dict[str, list[Definition]] = {}
    for used in uses(view.snapshot, path, definition):
        if used.path != path:
            by_path.setdefault(used.path, []).append(used)
    for other, defined in by_path.items():
        text = "\n".join(dict.fromkeys(line for used in defined for line in signatures(view, used)))
        first_line = defined[0].span.start.line + 1
        reason = "what the file in focus uses of it"
        yield ContextItem(other, reason, "signature", text, first_line, view.count_tokens(text))
