"""The facts of a file as bytes, to send between processes and to keep; read back section by section, when asked for.

Packed facts are the file's identifiers, each on a line, an empty line, and the other sections in MessagePack. These
count bytes of the source instead of lines and columns: cheaper to write, and converted only where somebody looks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import Any

from msgspec import Raw, Struct, msgpack

from rolecall_analysis.facts.line_starts import Layout, lengths_that_hold
from rolecall_analysis.values import Call, Definition, DefinitionKind, FileFacts, Import, Problem, Reference

DefinitionRow = tuple[
    str, str, str, DefinitionKind, str, str, tuple[str, ...], tuple[str, ...], int, int, int, int
]  # fmt: skip
"""Name, qualified name, scope, kind, signature, docstring, decorators, bases, span, name span."""
ImportRow = tuple[str, str | None, str | None, int, str, bool, int, int, int, int]
"""Module, name, alias, level, scope, for types only, span, name span."""
CallRow = tuple[str, int, int]
"""Callee and span."""
Occurrences = dict[str, list[int]]
ReferenceGroup = tuple[str, str, Occurrences, Occurrences]
"""Scope, owner, where names begin that are written without a gap, and where each part of the others does."""


class Sections(Struct, array_like=True, gc=False):
    """The data that is packed beside the identifiers. A place is a byte offset."""

    line_lengths: list[int]
    wide_gaps: list[int]
    docstring: str
    definitions: list[DefinitionRow]
    imports: list[ImportRow]
    calls: dict[str, list[CallRow]]
    """By scope."""
    references: list[ReferenceGroup]
    local_names: dict[str, list[str]]
    """By scope."""
    problems: list[tuple[str, tuple[int, int] | None]]
    exported: tuple[str, ...] | None


class _RawSections(Struct, array_like=True, gc=False):
    line_lengths: Raw
    wide_gaps: Raw
    docstring: Raw
    definitions: Raw
    imports: Raw
    calls: Raw
    references: Raw
    local_names: Raw
    problems: Raw
    exported: Raw


_encoder = msgpack.Encoder()
_sections_decoder = msgpack.Decoder(_RawSections)
_lengths_decoder = msgpack.Decoder(list[int])
_docstring_decoder = msgpack.Decoder(str)
_definitions_decoder = msgpack.Decoder(list[DefinitionRow])
_imports_decoder = msgpack.Decoder(list[ImportRow])
_calls_decoder = msgpack.Decoder(dict[str, list[CallRow]])
_references_decoder = msgpack.Decoder(list[ReferenceGroup])
_local_names_decoder = msgpack.Decoder(dict[str, list[str]])
_problems_decoder = msgpack.Decoder(list[tuple[str, tuple[int, int] | None]])
_exported_decoder = msgpack.Decoder(tuple[str, ...] | None)


def pack(facts: FileFacts) -> bytes:
    """Return *facts* as bytes."""
    # `dataclasses.replace` makes one that has all its fields, and no bytes that agree with them.
    if isinstance(facts, _Unpacked) and "packed" in facts.__dict__:
        return facts.packed
    return write(facts.names, _sections_of(facts))


def unpack(path: str, packed: bytes) -> FileFacts:
    """Return the facts in *packed*, as of the file at *path*; each section is read when it is first asked for.

    Raises:
        ValueError: these are no packed facts. Damage inside a section is met only when that section is read.
    """
    # Past `__init__`, which sets all fields: one that is not set is what `__getattr__` waits for.
    facts = _Unpacked.__new__(_Unpacked)
    facts.__dict__.update(path=path, packed=packed, sections=_sections_decoder.decode(packed[_end_of_names(packed) :]))
    return facts


def mentioned_names(packed: bytes) -> frozenset[str]:
    """Return every identifier of the file (`FileFacts.names`), without reading its facts."""
    return frozenset(packed[1 : _end_of_names(packed)].decode().split("\n")) - {""}


def mentions(packed: bytes, name: str) -> bool:
    """Return whether *name* is among the file's identifiers; a search in bytes, faster than `mentioned_names`."""
    # An empty name would be found at the empty line that ends the identifiers.
    return name != "" and packed.find(b"\n%b\n" % name.encode("utf-8", "replace"), 0, _end_of_names(packed)) >= 0


def write(names: Iterable[str], sections: Sections) -> bytes:
    """Packed facts from their *sections* and the file's identifiers."""
    lines = "".join(f"{name}\n" for name in sorted(names))
    # The line end at the front lets a search for a whole line find the first name too.
    return b"\n%b\n%b" % (lines.encode("utf-8", "replace"), _encoder.encode(sections))


def _end_of_names(packed: bytes) -> int:
    return packed.index(b"\n\n") + 2


class _Unpacked(FileFacts):
    """Facts that are read from bytes, section by section, when they are asked for."""

    packed: bytes
    sections: _RawSections

    def __getattr__(self, name: str) -> Any:
        # Only reached for what is not in the instance yet.
        read = _READERS.get(name)
        if read is None or "sections" not in self.__dict__:
            raise AttributeError(name)
        # Two threads may read it at once: both get what was put in first.
        return self.__dict__.setdefault(name, read(self))

    @cached_property
    def layout(self) -> Layout:
        sections = self.sections
        return Layout(_lengths_decoder.decode(sections.line_lengths), _lengths_decoder.decode(sections.wide_gaps))

    @cached_property
    def names(self) -> frozenset[str]:
        return mentioned_names(self.packed) if "packed" in self.__dict__ else super().names


def _read_definitions(facts: _Unpacked) -> tuple[Definition, ...]:
    path, span = facts.path, facts.layout.span
    return tuple(
        Definition(path, name, qualified, kind, signature, docstring, decorators, bases, span(a, b), span(c, d), scope)
        for name, qualified, scope, kind, signature, docstring, decorators, bases, a, b, c, d in (
            _definitions_decoder.decode(facts.sections.definitions)
        )
    )


def _read_imports(facts: _Unpacked) -> tuple[Import, ...]:
    span = facts.layout.span
    return tuple(
        Import(module, name, alias, level, scope, span(start, end), span(name_start, name_end), for_types_only)
        for module, name, alias, level, scope, for_types_only, start, end, name_start, name_end in (
            _imports_decoder.decode(facts.sections.imports)
        )
    )


def _read_calls(facts: _Unpacked) -> tuple[Call, ...]:
    span = facts.layout.span
    rows = [
        (start, end, callee, scope)
        for scope, calls in _calls_decoder.decode(facts.sections.calls).items()
        for callee, start, end in calls
    ]
    rows.sort(key=_first)
    return tuple(Call(callee, span(start, end), scope) for start, end, callee, scope in rows)


def _first(row: tuple[int, int, str, str]) -> int:
    return row[0]


def _read_references(facts: _Unpacked) -> tuple[Reference, ...]:
    found: list[Reference] = []
    for scope, owner, gapless, spread in _references_decoder.decode(facts.sections.references):
        for name in gapless | spread if spread else gapless:
            places = _places(facts.layout, name, gapless.get(name, []), spread.get(name, ()))
            found.append(Reference(name, scope, owner, places))
    found.sort(key=lambda reference: reference.places[:2])
    return tuple(found)


def _places(layout: Layout, name: str, starts: list[int], spread: Sequence[int]) -> tuple[int, ...]:
    """Line and column of each part of each occurrence, in the order of the source."""
    place = layout.place
    if not spread and "." not in name:
        starts.sort()
        return tuple(chain.from_iterable(map(place, starts)))
    parts = name.split(".")
    shifts = list(accumulate((len(part) + 1 for part in parts[:-1]), initial=0))
    occurrences: list[tuple[int, ...]] = []
    for line, column in map(place, starts):
        occurrences.append(tuple([number for shift in shifts for number in (line, column + shift)]))
    for first in range(0, len(spread), len(parts)):
        occurrences.append(tuple(chain.from_iterable(map(place, spread[first : first + len(parts)]))))
    occurrences.sort()
    return tuple(chain.from_iterable(occurrences))


def _read_local_names(facts: _Unpacked) -> frozenset[tuple[str, str]]:
    found = _local_names_decoder.decode(facts.sections.local_names)
    return frozenset((scope, name) for scope, names in found.items() for name in names)


def _read_problems(facts: _Unpacked) -> tuple[Problem, ...]:
    return tuple(
        Problem(facts.path, message, facts.layout.span(*places) if places else None)
        for message, places in _problems_decoder.decode(facts.sections.problems)
    )


_READERS: dict[str, Callable[[_Unpacked], object]] = {
    "docstring": lambda facts: _docstring_decoder.decode(facts.sections.docstring),
    "definitions": _read_definitions,
    "imports": _read_imports,
    "calls": _read_calls,
    "references": _read_references,
    "local_names": _read_local_names,
    "problems": _read_problems,
    "exported": lambda facts: _exported_decoder.decode(facts.sections.exported),
}


def _sections_of(facts: FileFacts) -> Sections:
    """Return the sections of facts whose source is not at hand: over a text made up from the places they name."""
    lengths = lengths_that_hold(_all_places(facts))
    layout = Layout(lengths, ())
    calls: dict[str, list[CallRow]] = defaultdict(list)
    for call in facts.calls:
        calls[call.scope].append((call.callee, *layout.bytes_of(call.span)))
    local_names: dict[str, list[str]] = defaultdict(list)
    for scope, name in sorted(facts.local_names):
        local_names[scope].append(name)
    return Sections(
        lengths,
        [],
        facts.docstring,
        [_definition_row(layout, one) for one in facts.definitions],
        [_import_row(layout, one) for one in facts.imports],
        calls,
        _reference_groups(layout, facts.references),
        local_names,
        [(one.message, layout.bytes_of(one.span) if one.span else None) for one in facts.problems],
        facts.exported,
    )


def _definition_row(layout: Layout, one: Definition) -> DefinitionRow:
    header = (one.name, one.qualified_name, one.scope, one.kind, one.signature, one.docstring)
    return (*header, one.decorators, one.bases, *layout.bytes_of(one.span), *layout.bytes_of(one.name_span))


def _import_row(layout: Layout, one: Import) -> ImportRow:
    what = (one.module, one.name, one.alias, one.level, one.scope, one.for_types_only)
    return (*what, *layout.bytes_of(one.span), *layout.bytes_of(one.name_span))


def _reference_groups(layout: Layout, references: Iterable[Reference]) -> list[ReferenceGroup]:
    groups: dict[tuple[str, str], tuple[Occurrences, Occurrences]] = {}
    for one in references:
        # Without the source nobody knows which names have gaps, so all of them are noted part by part.
        _, spread = groups.setdefault((one.scope, one.owner), ({}, {}))
        spread[one.name] = [layout.byte(line, column) for line, column in _pairs(one.places)]
    return [(*where, *names) for where, names in groups.items()]


def _all_places(facts: FileFacts) -> Iterator[tuple[int, int]]:
    spans = chain(
        (one.name_span for one in chain(facts.definitions, facts.imports)),
        (one.span for one in chain(facts.definitions, facts.imports, facts.calls, facts.problems) if one.span),
    )
    for span in spans:
        yield span.start.line, span.start.column
        yield span.end.line, span.end.column
    for reference in facts.references:
        yield from _pairs(reference.places)


def _pairs(places: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    return zip(places[::2], places[1::2], strict=True)
