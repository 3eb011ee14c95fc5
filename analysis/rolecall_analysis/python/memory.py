"""The memory of what was read of an open document before: functions that did not change are not read again."""

from __future__ import annotations

from typing import NamedTuple

from rolecall_analysis.facts.packed import DefinitionRow, ImportRow
from rolecall_analysis.python.reading import ModuleReading
from rolecall_analysis.python.region import Region

_Key = tuple[str, str]
"""The scope a function stands in, and its text."""


class FunctionCache:
    """The functions of one document as they were last read; not for use by two threads at once."""

    def __init__(self) -> None:
        self._known: dict[_Key, Piece] = {}
        self._used: dict[_Key, Piece] = {}

    def take(self, key: _Key) -> Piece | None:
        """Return the piece that is known under *key*, once: of two functions with the same text the second is read
        again.
        """
        return self._known.pop(key, None)

    def keep(self, key: _Key, piece: Piece) -> None:
        """Have *piece* known the next time the document is read."""
        self._used[key] = piece

    def forget_others(self) -> None:
        """Forget what was not kept since the last call."""
        self._known, self._used = self._used, {}


class Piece(NamedTuple):
    """The facts that were found in a function."""

    start: int
    """The offset of its first byte, when it was read."""
    regions: list[Region]
    definitions: list[DefinitionRow]
    attributes: list[DefinitionRow]
    imports: list[ImportRow]
    typing_blocks: list[tuple[int, int]]


def piece_of(start: int, part: ModuleReading) -> Piece:
    """Return the piece that *part*, the reading of a function that begins at *start*, has found."""
    return Piece(start, part.regions, part.definitions, part.attributes, part.imports, part.typing_blocks)


def move(piece: Piece, start: int) -> Piece:
    """Return *piece* as if its function began at *start*; *piece* itself must not be used afterwards."""
    by = start - piece.start
    if not by:
        return piece
    for region in piece.regions:
        _move_region(region, by)
    return Piece(
        start,
        piece.regions,
        [_moved_definition(row, by) for row in piece.definitions],
        [_moved_definition(row, by) for row in piece.attributes],
        [(*row[:6], row[6] + by, row[7] + by, row[8] + by, row[9] + by) for row in piece.imports],
        [(start + by, end + by) for start, end in piece.typing_blocks],
    )


def add(reading: ModuleReading, piece: Piece) -> None:
    """Have *reading* find what is in *piece*."""
    reading.regions.extend(piece.regions)
    reading.definitions.extend(piece.definitions)
    reading.attributes.extend(piece.attributes)
    reading.imports.extend(piece.imports)
    reading.typing_blocks.extend(piece.typing_blocks)


def _moved_definition(row: DefinitionRow, by: int) -> DefinitionRow:
    return (*row[:8], row[8] + by, row[9] + by, row[10] + by, row[11] + by)


def _move_region(region: Region, by: int) -> None:
    for starts in region.starts.values():
        starts[:] = [at + by for at in starts]
    if region.spread:
        for starts in region.spread.values():
            starts[:] = [at + by for at in starts]
    region.calls = [(callee, start + by, end + by) for callee, start, end in region.calls]
