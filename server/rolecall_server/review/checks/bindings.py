"""The names that the hunks of one version of the repository bind, and those that they use."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from rolecall_analysis import Definition, FileFacts, Import, Position, Snapshot, is_python, text_in
from rolecall_analysis.modules import find_module
from rolecall_analysis.queries.arguments.parameters import Arguments, arguments_in, parameters_of
from rolecall_analysis.resolution.exports import Module, Target, import_targets
from rolecall_analysis.resolution.names import OWN_NAMES, outwards, resolve, resolve_steps, scope_definition, values_of
from rolecall_server.review.checks.literal_names import LiteralName, literal_names
from rolecall_server.workspace import split_lines

Key = tuple[str, str, str]
"""A path, the scope in it, and a name bound there; both empty names for the file itself."""

MEMBER, FIXTURE = "any value", "any test"
"""In place of a path: an attribute or a key of a value that is not known, and what pytest hands to a test."""


@dataclass
class Side:
    """One version of the repository, and which of its lines belong to which hunk."""

    snapshot: Snapshot
    ranges: dict[str, list[tuple[int, int, str]]] = field(default_factory=dict[str, list[tuple[int, int, str]]])
    """Start, end and hunk by path, in order."""
    _texts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def add(self, path: str, start: int, end: int, hunk_id: str) -> None:
        """Give the lines from *start* to *end* to a hunk, which comes after those that *path* has already."""
        self.ranges.setdefault(path, []).append((start, end, hunk_id))

    def hunk_at(self, path: str, line: int) -> str | None:
        """Return the hunk that the line belongs to."""
        ranges = self.ranges.get(path, [])
        at = bisect_right(ranges, line, key=lambda one: one[0]) - 1
        # A hunk without lines on this side may begin where the next one does.
        while at >= 0 and ranges[at][0] == ranges[at][1] == line:
            at -= 1
        return ranges[at][2] if at >= 0 and ranges[at][0] <= line < ranges[at][1] else None

    def hunks_within(self, path: str, first: int, last: int) -> Iterator[tuple[int, int, str]]:
        """Return the line ranges and ids of the hunks that have some of the lines from *first* to *last*."""
        return (one for one in self.ranges.get(path, ()) if one[0] <= last and first < one[1])

    def facts(self) -> Iterator[FileFacts]:
        """Return the facts of each file that has hunks."""
        return (self.snapshot.files[path] for path in self.ranges if path in self.snapshot.files)

    def lines(self, path: str) -> list[str]:
        """Return the lines of *path*."""
        if path not in self._texts:
            self._texts[path] = split_lines(self.snapshot.text(path) or "")
        return self._texts[path]


def bound_names(side: Side) -> Iterator[tuple[str, Key]]:
    """Yield each hunk with each name that a statement in it binds."""
    for facts in side.facts():
        for definition in facts.definitions:
            hunk = side.hunk_at(facts.path, definition.name_span.start.line)
            if hunk is not None:
                yield hunk, (facts.path, definition.scope, definition.name)
                if _is_fixture(definition):
                    yield hunk, (FIXTURE, "", definition.name)
                elif definition.scope:
                    yield hunk, (MEMBER, "", definition.name)
        for imported in facts.imports:
            hunk = side.hunk_at(facts.path, imported.name_span.start.line)
            if hunk is not None and not imported.is_star:
                yield hunk, (facts.path, imported.scope, imported.bound_name)
        yield from ((hunk, (MEMBER, "", one.name)) for hunk, one in _literals(side, facts) if one.gives)


def bound_locals(side: Side, facts: FileFacts, fresh: set[tuple[str, str]]) -> Iterator[tuple[str, Key]]:
    """Yield each hunk with those of the *fresh* parameters and variables, as (scope, name), that it may bind.

    The graph does not tell where a variable is bound: wherever its name stands and is not read.
    """
    read = {
        (line, column)
        for reference in facts.references
        for line, column in _starts(reference.places, reference.name.count(".") + 1)
    }
    lines = side.lines(facts.path)
    for scope, name in fresh:
        # A comprehension is a scope without lines of its own: it lies in the function around it.
        definition = next((found for outer in outwards(scope) if (found := scope_definition(facts, outer))), None)
        last = len(lines) if definition is None else definition.span.end.line
        for start, end, hunk in side.hunks_within(facts.path, definition.span.start.line if definition else 0, last):
            places = ((n, match.start()) for n in range(start, end) for match in re.finditer(rf"\b{name}\b", lines[n]))
            if any(place not in read for place in places):
                yield hunk, (facts.path, scope, name)


def used_names(side: Side) -> Iterator[tuple[str, Key]]:
    """Yield each hunk with each name that its lines use, once for every place that may define it."""
    for facts in side.facts():
        for reference in facts.references:
            # Places are flat: a line, its column, the next line.
            hunks = {side.hunk_at(facts.path, line) for line in set(reference.places[::2])} - {None}
            if hunks:
                keys = set(_keys_of(side.snapshot, facts, reference.scope, reference.name))
                yield from ((hunk, key) for hunk in hunks if hunk is not None for key in keys)
        for imported in facts.imports:
            hunk = side.hunk_at(facts.path, imported.name_span.start.line)
            if hunk is not None:
                yield from ((hunk, key) for key in _imported_keys(side.snapshot, facts.path, imported))
        yield from ((hunk, (MEMBER, "", one.name)) for hunk, one in _literals(side, facts) if not one.gives)
        yield from _handed_to_tests(side, facts)
        yield from _exported(side, facts)


def calls_in(side: Side) -> Iterator[tuple[str, tuple[Definition, ...], Arguments]]:
    """Yield each call in the lines of a hunk, with the definitions that it may reach and the arguments that
    it gives.
    """
    for facts in side.facts():
        if not is_python(facts.path):
            continue
        text = side.snapshot.text(facts.path) or ""
        for call in facts.calls:
            hunks = list(side.hunks_within(facts.path, call.span.start.line, call.span.end.line))
            if not hunks:
                continue
            meaning = values_of(side.snapshot, resolve(side.snapshot, facts.path, call.scope, call.callee))
            targets = tuple(target for target in meaning.targets if isinstance(target, Definition))
            if targets:
                # In brackets: a chain over several lines is no expression by itself.
                given = arguments_in(f"({text_in(text, call.span)})")
                outermost = given[max(given, key=lambda span: (span.end, _before(span.start)))] if given else ()
                yield hunks[0][2], targets, outermost


def defines(facts: FileFacts | None, scope: str, name: str) -> bool:
    """Return whether the file binds *name* in *scope*, in whatever way."""
    if facts is None:
        return False
    key = scope, name
    return key in facts.definitions_by_name or key in facts.imports_by_name or key in facts.local_names


def is_defined_anywhere(side: Side, name: str) -> bool:
    """Return whether some file has a definition of that name, or one with hunks gives it by a string."""
    snapshot = side.snapshot
    return any(
        one.name == name for path in snapshot.mentioning(name) for one in snapshot.files[path].definitions
    ) or any(
        one.gives and one.name == name
        for facts in side.facts()
        if is_python(facts.path)
        for one in literal_names(snapshot.text(facts.path) or "")
    )


def _literals(side: Side, facts: FileFacts) -> Iterator[tuple[str, LiteralName]]:
    """Yield each hunk with each name that a string in its lines gives or reads."""
    for one in literal_names(side.snapshot.text(facts.path) or "") if is_python(facts.path) else ():
        hunk = side.hunk_at(facts.path, one.line)
        if hunk is not None:
            yield hunk, one


def _before(position: Position) -> tuple[int, int]:
    return -position.line, -position.column


def _starts(places: tuple[int, ...], n_parts: int) -> Iterator[tuple[int, int]]:
    # A dotted name has a place for each of its parts; the first is where it begins.
    return ((places[n], places[n + 1]) for n in range(0, len(places), 2 * n_parts))


def _keys_of(snapshot: Snapshot, facts: FileFacts, scope: str, dotted: str) -> Iterator[Key]:
    head, *rest = dotted.split(".")
    if head not in OWN_NAMES:
        yield from _own_key(facts, scope, head)
    steps = list(resolve_steps(snapshot, facts.path, scope, dotted))
    for n_part, meaning in enumerate(steps):
        if n_part or head not in OWN_NAMES:
            yield from (key for target in meaning.targets for key in _target_keys(snapshot, target))
        modules = [target for target in meaning.targets if isinstance(target, Module)]
        if modules and n_part < len(rest):
            yield from ((path, "", rest[n_part]) for one in modules for path, _, _ in _target_keys(snapshot, one))
    followed = sum(bool(meaning.targets) for meaning in steps)
    # The steps begin with the head, which *rest* lacks; what could not be followed goes by its name alone.
    yield from ((MEMBER, "", name) for name in rest[max(0, followed - 1) :])


def _own_key(facts: FileFacts, scope: str, name: str) -> Iterator[Key]:
    """Yield the key under which the file itself binds *name* for the scope, if it does."""
    for outer in outwards(scope):
        definition = scope_definition(facts, outer) if outer and outer != scope else None
        # Python's own rule: names in the body of a class are not seen by its methods.
        if (definition is None or definition.kind != "class") and defines(facts, outer, name):
            yield facts.path, outer, name
            return


def _target_keys(snapshot: Snapshot, target: Target) -> Iterator[Key]:
    if isinstance(target, Module):
        path = snapshot.modules.files.get(target.location)
        if path is not None:
            yield path, "", ""
    else:
        yield target.path, target.scope, target.name


def _imported_keys(snapshot: Snapshot, path: str, imported: Import) -> Iterator[Key]:
    source = find_module(snapshot.modules, path, imported.module, imported.level) if is_python(path) else None
    if source is not None and imported.name is not None:
        yield from ((module, "", imported.name) for module, _, _ in _target_keys(snapshot, Module(source)))
    for target in import_targets(snapshot, path, imported):
        yield from _target_keys(snapshot, target)
        if isinstance(target, Definition):
            yield target.path, "", ""


def _is_fixture(definition: Definition) -> bool:
    return any(one.partition("(")[0].endswith("fixture") for one in definition.decorators)


def _handed_to_tests(side: Side, facts: FileFacts) -> Iterator[tuple[str, Key]]:
    for definition in facts.definitions:
        if definition.kind in ("function", "method") and (
            definition.name.startswith("test") or _is_fixture(definition)
        ):
            hunk = side.hunk_at(facts.path, definition.name_span.start.line)
            parameters = parameters_of(definition.signature) if hunk is not None else None
            yield from ((hunk, (FIXTURE, "", one.name)) for one in parameters or () if hunk is not None)


def _exported(side: Side, facts: FileFacts) -> Iterator[tuple[str, Key]]:
    for definition in facts.definitions_by_name.get(("", "__all__"), ()):
        lines = side.lines(facts.path)
        for start, end, hunk in side.hunks_within(facts.path, definition.span.start.line, definition.span.end.line):
            text = "".join(lines[start:end])
            names = (name for name in facts.exported or () if re.search(rf"[\"']{re.escape(name)}[\"']", text))
            yield from ((hunk, (facts.path, "", name)) for name in names)
