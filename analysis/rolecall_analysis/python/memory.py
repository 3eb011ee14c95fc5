"""What was read of an open document before: functions that did not change are not read again."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from rolecall_analysis.packed import DefinitionRow, ImportRow
from rolecall_analysis.python.reading import Reading
from rolecall_analysis.python.region import Region

_Key = tuple[str, str]
"""The scope a function stands in, and its text."""


class Memory:
    """The functions of one document as they were last read; not for use by two threads at once."""

    def __init__(self) -> None:
        self.known: dict[_Key, Piece] = {}
        self._used: dict[_Key, Piece] = {}

    def keep(self, key: _Key, piece: Piece) -> None:
        """Have *piece* known the next time the document is read."""
        self._used[key] = piece

    def forget_others(self) -> None:
        """Forget what was not kept since the last call."""
        self.known, self._used = self._used, {}


class Piece(NamedTuple):
    """What was found in a function."""

    start: int
    """The offset of its first byte, when it was read."""
    regions: list[Region]
    definitions: list[DefinitionRow]
    attributes: list[DefinitionRow]
    imports: list[ImportRow]
    typing_blocks: list[tuple[int, int]]


def piece_of(start: int, part: Reading) -> Piece:
    """What *part*, the reading of a function that begins at *start*, has found."""
    return Piece(start, part.regions, part.definitions, part.attributes, part.imports, part.typing_blocks)


def moved(piece: Piece, start: int) -> Piece:
    """*piece*, if its function began at *start*."""
    by = start - piece.start
    if not by:
        return piece
    return Piece(
        start,
        [_moved_region(region, by) for region in piece.regions],
        [_moved_definition(row, by) for row in piece.definitions],
        [_moved_definition(row, by) for row in piece.attributes],
        [(*row[:6], row[6] + by, row[7] + by, row[8] + by, row[9] + by) for row in piece.imports],
        [(start + by, end + by) for start, end in piece.typing_blocks],
    )


def add(reading: Reading, piece: Piece) -> None:
    """Have *reading* find what is in *piece*."""
    reading.regions.extend(piece.regions)
    reading.definitions.extend(piece.definitions)
    reading.attributes.extend(piece.attributes)
    reading.imports.extend(piece.imports)
    reading.typing_blocks.extend(piece.typing_blocks)


def _moved_definition(row: DefinitionRow, by: int) -> DefinitionRow:
    return (*row[:8], row[8] + by, row[9] + by, row[10] + by, row[11] + by)


def _moved_region(region: Region, by: int) -> Region:
    after = Region(region.name, region.kind, region.owner, [])
    after.bound = region.bound
    after.rebound = region.rebound
    after.shared = region.shared
    after.starts = defaultdict(list, {name: [at + by for at in found] for name, found in region.starts.items()})
    if region.spread:
        after.spread = {name: [at + by for at in found] for name, found in region.spread.items()}
    after.calls = [(callee, start + by, end + by) for callee, start, end in region.calls]
    return after
