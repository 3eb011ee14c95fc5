"""The facts of a file as bytes, to send between processes and to keep."""

from __future__ import annotations

from msgspec import Struct, msgpack
from msgspec.structs import replace

from rolecall_analysis.values import Call, Definition, FileFacts, Import, Problem, Reference


class _Names(Struct, frozen=True, array_like=True):
    """The beginning of the packed facts: read without the rest."""

    names: frozenset[str]


class _Packed(Struct, frozen=True, array_like=True):
    names: frozenset[str]
    path: str
    docstring: str
    definitions: tuple[Definition, ...]
    imports: tuple[Import, ...]
    calls: tuple[Call, ...]
    references: tuple[Reference, ...]
    local_names: tuple[tuple[str, str], ...]
    problems: tuple[Problem, ...]
    exported: tuple[str, ...] | None


_encoder = msgpack.Encoder()
_decoder = msgpack.Decoder(_Packed)
_names_decoder = msgpack.Decoder(_Names)


def pack(facts: FileFacts) -> bytes:
    """*facts* as bytes: the same for the same facts."""
    return _encoder.encode(
        (
            sorted(facts.names),
            facts.path,
            facts.docstring,
            facts.definitions,
            facts.imports,
            facts.calls,
            facts.references,
            sorted(facts.local_names),
            facts.problems,
            facts.exported,
        )
    )


def unpack(path: str, packed: bytes) -> FileFacts:
    """The facts in *packed*, as of the file at *path*.

    Raises:
        msgspec.DecodeError: they were not packed by this version.
    """
    found = _decoder.decode(packed)
    moved = found.path != path
    return FileFacts(
        path,
        found.docstring,
        tuple(replace(one, path=path) for one in found.definitions) if moved else found.definitions,
        found.imports,
        found.calls,
        found.references,
        frozenset(found.local_names),
        tuple(replace(one, path=path) for one in found.problems) if moved else found.problems,
        found.exported,
    )


def mentioned_names(packed: bytes) -> frozenset[str]:
    """Every identifier of the file, without reading the rest of its facts."""
    return _names_decoder.decode(packed).names
