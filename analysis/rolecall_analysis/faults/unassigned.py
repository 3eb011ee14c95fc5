"""Names that are read where some way gives them no value."""

from __future__ import annotations

from collections.abc import Iterator

from rolecall_analysis.faults.possible import PossibleFault, Waypoint
from rolecall_analysis.faults.reading import ParsedFile, Reader
from rolecall_analysis.unbound import unbound_reads


def unassigned_names(source: ParsedFile, _reader: Reader) -> Iterator[PossibleFault]:
    """Yield the reads of local and module variables that may have no value."""
    for read in unbound_reads(source.path, source.text):
        verb = "has no value" if read.certain else "may have no value"
        way = Waypoint(source.path, read.span, f"`{read.name}` is read")
        yield PossibleFault(source.path, read.span, "", read.scope, f"`{read.name}` {verb} here.", (way,))
