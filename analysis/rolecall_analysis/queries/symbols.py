"""The outline of a file, and the search for a definition by a part of its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from rolecall_analysis.queries.collection import is_test
from rolecall_analysis.queries.definitions import definitions_in
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition, FileFacts

MAX_OUTLINE_DEPTH = 40
"""Symbols that are nested deeper are shown at this depth: clients draw trees by recursion."""

MAX_FUZZY_NAMES = 4_000
"""So many names that merely contain the letters are ranked; a query with more is too short to mean one of them."""

_LONGEST_QUERY = 200
"""Letters of a query. Each query becomes a pattern, and Python keeps the last 512 of them: a page of text that is
pasted into the search would take a second to compile, and 200 kB for the rest of the session."""

_WORD_START = re.compile(r"(?:^|(?<=_))[^\W_]|[A-Z](?![A-Z])|(?<![A-Z])[A-Z]")


@dataclass(frozen=True, slots=True)
class OutlineSymbol:
    """A definition and what is in it."""

    definition: Definition
    children: tuple[OutlineSymbol, ...]


@dataclass(frozen=True, slots=True)
class _SymbolTable:
    """Every definition of a snapshot by its name."""

    names: str
    """A line for each name: in small letters, a tab, as it is."""
    places: dict[str, list[tuple[bool, str, int]]]
    """For each definition of a name: it is in a test, its path, its number within the file."""


def outline(snapshot: Snapshot, path: str) -> tuple[OutlineSymbol, ...]:
    """Return the definitions of a file as a tree, in the order of the source."""
    return symbol_tree(definitions_in(snapshot, path))


def symbol_tree(definitions: tuple[Definition, ...]) -> tuple[OutlineSymbol, ...]:
    """Return *definitions*, which are in the order of the source, as a tree by their scopes."""
    open_at: list[tuple[Definition | None, list[OutlineSymbol]]] = [(None, [])]
    for definition in definitions:
        while len(open_at) > 1 and not _holds(open_at[-1][0], definition):
            _close(open_at)
        if len(open_at) > MAX_OUTLINE_DEPTH:
            _close(open_at)
        open_at.append((definition, []))
    while len(open_at) > 1:
        _close(open_at)
    return tuple(open_at[0][1])


def find_symbols(
    snapshot: Snapshot, query: str, limit: int = 100, is_wanted: Callable[[str], bool] = lambda path: True
) -> tuple[Definition, ...]:
    """Return the definitions, of files whose paths are wanted, whose name has the letters of *query* in that order, the
    likeliest first.

    Case is ignored. The whole name goes before its beginning, that before the beginning of a word in it, before the
    first letters of its words (``qs`` finds ``QuerySet``), before any part of it, before scattered letters.
    What is before the last dot must be in the qualified name.
    An empty query finds the first definitions by path; one of more than 200 letters finds none.
    """
    container, _, wanted = "".join(query.split()).lower().rpartition(".")
    if len(wanted) > _LONGEST_QUERY:
        return ()
    table = snapshot.derived(_table, _table)
    names = sorted((_rank(name, wanted), len(name), name) for name in _matching_names(table.names, wanted))
    places = ((path, number) for *_, name in names for _, path, number in sorted(table.places[name]))
    found = (snapshot.files[path].definitions[number] for path, number in places if is_wanted(path))
    inside = (definition for definition in found if not container or container in definition.qualified_name.lower())
    return tuple(islice(inside, limit))


def definitions_named(snapshot: Snapshot, name: str) -> tuple[Definition, ...]:
    """Return every definition of exactly that name; those of tests last, then by path."""
    places = snapshot.derived(_table, _table).places.get(name, ())
    return tuple(snapshot.files[path].definitions[number] for _, path, number in sorted(places))


def _holds(outer: Definition | None, inner: Definition) -> bool:
    return outer is not None and outer.qualified_name == inner.scope and outer.kind != "variable"


def _close(open_at: list[tuple[Definition | None, list[OutlineSymbol]]]) -> None:
    definition, children = open_at.pop()
    assert definition is not None
    open_at[-1][1].append(OutlineSymbol(definition, tuple(children)))


def _table(snapshot: Snapshot) -> _SymbolTable:
    places: dict[str, list[tuple[bool, str, int]]] = {}
    for path in snapshot.files:
        for_tests = is_test(snapshot, path)
        # Kept for each version of a file, so that an edit has the names of one file read anew, not of all.
        for number, name in enumerate(snapshot.derived_from_file(_defined_names, path, _defined_names)):
            places.setdefault(name, []).append((for_tests, path, number))
    return _SymbolTable("".join(f"\n{name.lower()}\t{name}" for name in places), places)


def _defined_names(facts: FileFacts) -> tuple[str, ...]:
    return tuple(definition.name for definition in facts.definitions)


def _matching_names(names: str, wanted: str) -> Iterator[str]:
    """Yield the names in the table *names* that have the letters of *wanted* in order; those that begin with
    it first.
    """
    beginning = re.escape(wanted)
    # Each gap stops at the letter it waits for, so that no line is ever tried in two ways.
    gaps = "".join(rf"[^\n\t{re.escape(letter)}]*{re.escape(letter)}" for letter in wanted)
    yield from (match[1] for match in re.finditer(rf"\n{beginning}[^\n\t]*\t(.*)", names))
    others = re.finditer(rf"\n(?!{beginning}){gaps}[^\n\t]*\t(.*)", names) if wanted else ()
    yield from (match[1] for match in islice(others, MAX_FUZZY_NAMES))


def _rank(name: str, wanted: str) -> tuple[int, int]:
    """Return a rank by how far *name* is from what was asked for, and by how many letters."""
    lower = name.lower().lstrip("_")
    at = lower.find(wanted)
    if at == 0:
        return (0, 0) if lower == wanted else (1, 0)
    if at > 0:
        # Counted from the end, because underscores were taken off at the beginning.
        starts_word = lower[at - 1] == "_" or name[at - len(lower)].isupper()
        return (2, 0) if starts_word else (4, at)
    if "".join(_WORD_START.findall(name)).lower().startswith(wanted):
        return 3, 0
    return 5, _spread(lower, wanted)


def _spread(name: str, wanted: str) -> int:
    """Return the number of letters of *name* that lie between the first and the last match without being matched."""
    start = at = name.find(wanted[0])
    for letter in wanted[1:]:
        at = name.find(letter, at + 1)
    return at - start + 1 - len(wanted)
