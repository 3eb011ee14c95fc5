"""A summary of what has been read of a file, as packed facts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tree_sitter import Node

from rolecall_analysis.facts.line_starts import line_lengths, wide_gaps
from rolecall_analysis.facts.packed import CallRow, DefinitionRow, ImportRow, Occurrences, Sections, write
from rolecall_analysis.python.exports import exported_names
from rolecall_analysis.python.reading import ModuleReading, clean

MAX_SYNTAX_PROBLEMS = 20
"""A file of another language has thousands; nobody reads the twenty-first."""

_NOT_NAMES = frozenset({"", "?", "*", "super()"})

_Names = tuple[Occurrences, Occurrences]


def packed_facts(reading: ModuleReading, source: bytes, root: Node) -> bytes:
    """Return the packed facts of a file that has been read to its end."""
    calls: dict[str, list[CallRow]] = {}
    local_names: dict[str, set[str]] = {}
    references: dict[tuple[str, str], _Names] = {}
    shared: frozenset[str] = frozenset()
    for region in reading.regions:
        if reading.is_broken:  # an identifier may be missing
            region.starts.pop("", None)
            region.bound.discard("")
        if region.calls:
            calls.setdefault(region.name, []).extend(region.calls)
        if region.bound:
            local_names.setdefault(region.name, set()).update(region.bound - region.rebound)
        shared |= region.shared
        if region.starts or region.spread:
            where = region.name, region.owner
            found = region.starts, region.spread or {}
            references[where] = _united(references[where], found) if where in references else found
    # A `global` in a function binds a name of the module, even where the module itself never does.
    if shared and (unbound := shared - _module_names(reading)):
        local_names.setdefault("", set()).update(unbound)
    sections = Sections(
        line_lengths(source),
        wide_gaps(source),
        reading.docstring,
        _definitions(reading),
        _imports(reading),
        calls,
        [(*where, *found) for where, found in references.items()],
        {scope: sorted(names) for scope, names in local_names.items()},
        list(_problems(root)),
        exported_names(reading, root),
    )
    if not source.isascii():
        _clean_names(sections)
    return write(_names(sections), sections)


def _module_names(reading: ModuleReading) -> set[str]:
    """Return the names that the module itself defines and imports."""
    names = {row[0] for row in reading.definitions if not row[2]}
    return names | {row[2] or row[1] or row[0].partition(".")[0] for row in reading.imports if not row[4]}


def _united(left: _Names, right: _Names) -> _Names:
    starts, spread = (
        {name: before.get(name, []) + after.get(name, []) for name in before | after}
        for before, after in zip(left, right, strict=True)
    )
    return starts, spread


def _definitions(reading: ModuleReading) -> list[DefinitionRow]:
    """In the order of the source; a variable once, an attribute only if the class's body does not define it."""
    known = {(row[2], row[0]) for row in reading.definitions} if reading.attributes else set[tuple[str, str]]()
    rows = reading.definitions + [row for row in reading.attributes if (row[2], row[0]) not in known]
    told: set[tuple[str, str]] = set()
    found: list[DefinitionRow] = []
    for row in sorted(rows, key=_start):
        if row[3] == "variable":
            if (row[2], row[0]) in told:
                continue
            told.add((row[2], row[0]))
        found.append(row)
    return found


def _start(row: DefinitionRow) -> int:
    return row[8]


def _imports(reading: ModuleReading) -> list[ImportRow]:
    blocks = reading.typing_blocks
    rows = [
        (*row[:5], any(start <= row[6] < end for start, end in blocks), *row[6:]) if blocks else row
        for row in reading.imports
    ]
    return sorted(rows, key=lambda row: row[6])


def _names(sections: Sections) -> set[str]:
    """Return every identifier that is defined, imported or read."""
    dotted = [row[0] for row in sections.definitions]
    dotted += [f"{row[0]}.{row[1] or ''}.{row[2] or ''}" for row in sections.imports]
    for _, _, starts, spread in sections.references:
        dotted += starts
        dotted += spread
    return set(".".join(dotted).split(".")) - _NOT_NAMES


def _clean_names(sections: Sections) -> None:
    """Turn identifiers with a character for each byte into what they are meant to be, if there are any."""
    names = chain(_names(sections), *sections.local_names.values())
    if all(map(str.isascii, names)):
        return
    sections.definitions = [(clean(row[0]), clean(row[1]), clean(row[2]), *row[3:]) for row in sections.definitions]
    sections.imports = [
        (clean(row[0]), row[1] and clean(row[1]), row[2] and clean(row[2]), row[3], clean(row[4]), *row[5:])
        for row in sections.imports
    ]
    sections.calls = {
        clean(scope): [(clean(callee), start, end) for callee, start, end in calls]
        for scope, calls in sections.calls.items()
    }
    sections.references = [
        (clean(scope), clean(owner), _clean_keys(starts), _clean_keys(spread))
        for scope, owner, starts, spread in sections.references
    ]
    sections.local_names = {clean(scope): list(map(clean, names)) for scope, names in sections.local_names.items()}


def _clean_keys(occurrences: Occurrences) -> Occurrences:
    return {clean(name): places for name, places in occurrences.items()}


def _problems(root: Node) -> Iterator[tuple[str, tuple[int, int]]]:
    n_found = 0
    stack = [root] if root.has_error else []
    while stack and n_found < MAX_SYNTAX_PROBLEMS:
        node = stack.pop()
        if node.is_missing or node.is_error:
            n_found += 1
            what = f"Expected {node.type!r}." if node.is_missing else "Syntax error."
            yield what, (node.start_byte, node.end_byte)
        else:
            stack.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)
