"""The parts of the code graph that a hunk touches: the definitions, their callers, and the tests that reach them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from rolecall_analysis import (
    Definition,
    Snapshot,
    callers,
    definitions_in,
    is_test,
    references,
    tests_of,
)
from rolecall_analysis.languages import language_of
from rolecall_server.review.checks.graph_checks import places_of
from rolecall_server.review.proposals.evidence import SourceLine
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkKind

MAX_CALLERS = 5
"""So many places are told; the numbers count them all."""

MAX_FILES = 250
"""Callers are not looked for by a name that occurs in more files: it takes seconds, and few of them would be meant."""


PATIENCE_S = 3.0
"""So long the callers of a proposal's hunks are looked for before it is shown without those of the rest."""


@dataclass(frozen=True)
class Touched:
    """The part of the graph around one hunk, in the repository without the proposal."""

    symbols: tuple[str, ...]
    """The definitions it changes or stands in, and the one it adds, as dotted names within the file."""
    n_callers: int = 0
    """The number of places that certainly call or read them."""
    n_possible_callers: int = 0
    """The number of further places that may, by their names."""
    callers: tuple[SourceLine, ...] = ()
    """The first of these places; certain ones first."""
    tests: tuple[str, ...] = ()
    """The test files it concerns: those that call what it touches, then those that use the file."""
    is_complete: bool = True
    """False: a name is too frequent for its callers to be looked for."""

    @property
    def summary(self) -> str:
        """In half a sentence: ``Cart.total: 3 callers, 2 more possible; 1 test file``."""
        callers = _counted(self.n_callers, "caller")
        possible = f", {self.n_possible_callers} more possible" if self.n_possible_callers else ""
        callers = callers if self.is_complete else f"at least {callers}"
        what = f"{', '.join(self.symbols)}: " if self.symbols else ""
        return f"{what}{callers}{possible}; {_counted(len(self.tests), 'test file')}"


def with_touched(
    changes: tuple[FileChange, ...], snapshot: Snapshot, patience_s: float = PATIENCE_S
) -> tuple[FileChange, ...]:
    """Return *changes* whose hunks say what they touch, as far as there is time within *patience_s* to look it up.

    That nobody calls a test, or what is new, goes without saying.
    """
    until = time.monotonic() + patience_s

    def told(change: FileChange, hunk: Hunk) -> Hunk:
        if hunk.kind is not HunkKind.TEXT or language_of(change.path) is None or time.monotonic() > until:
            return hunk
        touched = touched_by(snapshot, change, hunk)
        is_news = touched.n_callers or touched.n_possible_callers or not is_test(snapshot, change.path)
        is_something = touched.symbols and change.base is not None
        return replace(hunk, touches=touched.summary if is_something and is_news else "")

    return tuple(replace(change, hunks=tuple(told(change, hunk) for hunk in change.hunks)) for change in changes)


def touched_by(snapshot: Snapshot, change: FileChange, hunk: Hunk) -> Touched:
    """Return the definitions, callers and tests that *hunk* touches in *snapshot*, in which its file is taken to have
    the text of its base.
    """
    added = (hunk.symbol,) if hunk.symbol else ()
    if change.base is None:
        return Touched(added)
    path = change.path
    known = snapshot.text(path) == change.base
    there = snapshot if known else snapshot.with_changes({path: change.base})
    definitions = _definitions_at(there, change, hunk)
    sought = [one for one in definitions if sum(1 for _ in there.mentioning(one.name)) <= MAX_FILES]
    places = {place for definition in sought for place in _users(there, definition)}
    certain = {(path, line) for is_possible, path, line in places if not is_possible}
    possible = {(path, line) for is_possible, path, line in places if is_possible} - certain
    return Touched(
        symbols=tuple(dict.fromkeys((*(one.qualified_name for one in definitions), *added))),
        n_callers=len(certain),
        n_possible_callers=len(possible),
        callers=_first_places(there, certain, possible),
        tests=_tests(there, path, certain),
        is_complete=len(sought) == len(definitions),
    )


def _definitions_at(snapshot: Snapshot, change: FileChange, hunk: Hunk) -> tuple[Definition, ...]:
    """Return the innermost definitions on the lines that *hunk* replaces, or on both sides of where it adds."""
    known = definitions_in(snapshot, change.path)
    if hunk.start < hunk.end:
        lines = [line for line in range(hunk.start, hunk.end) if change.base_lines[line].strip()]
        found = (_innermost(known, {line}) for line in lines)
    else:
        found = iter([_innermost(known, {hunk.start - 1, hunk.start})])
    return tuple(dict.fromkeys(one for one in found if one is not None))


def _innermost(definitions: Iterable[Definition], lines: set[int]) -> Definition | None:
    around = (
        one
        for one in definitions
        if all(one.span.start.line <= line <= one.span.end.line for line in lines)
        and (one.kind != "variable" or not one.scope)
    )
    # Of nested definitions the innermost is the one that begins last.
    return max(around, key=lambda one: one.span.start, default=None)


def _users(snapshot: Snapshot, definition: Definition) -> Iterator[tuple[bool, str, int]]:
    """Yield every use of *definition* outside itself: whether the use is only possible, its path and its line."""
    if definition.kind == "variable":
        sites = ((one.certain, one.path, one.span) for one in references(snapshot, definition) if one.kind == "read")
    else:
        sites = ((site.certain, site.path, site.call.span) for site in callers(snapshot, definition))
    inside = range(definition.span.start.line, definition.span.end.line + 1)
    for certain, path, span in sites:
        if path != definition.path or span.start.line not in inside:
            yield not certain, path, span.start.line


def _first_places(snapshot: Snapshot, *groups: set[tuple[str, int]]) -> tuple[SourceLine, ...]:
    wanted = [place for group in groups for place in sorted(group)][:MAX_CALLERS]
    told = {(place.path, place.line): place for place in places_of(snapshot, wanted)}
    return tuple(told[place] for place in wanted)


def _tests(snapshot: Snapshot, path: str, callers: Iterable[tuple[str, int]]) -> tuple[str, ...]:
    if is_test(snapshot, path):
        return (path,)
    calling = sorted({caller for caller, _ in callers if is_test(snapshot, caller)})
    return tuple(dict.fromkeys((*calling, *tests_of(snapshot, path))))


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
