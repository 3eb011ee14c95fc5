"""Names that are read where some way gives them no value."""

from __future__ import annotations

from collections.abc import Iterator

from rolecall_analysis.faults.possible import PossibleFault, Waypoint
from rolecall_analysis.faults.reading import ParsedFile, Reader
from rolecall_analysis.faults.ways import Sight, find_way
from rolecall_analysis.unbound import UnboundRead, unbound_reads
from rolecall_analysis.unbound.flowgraph import Act, Event


def unassigned_names(source: ParsedFile, _reader: Reader) -> Iterator[PossibleFault]:
    """Yield the reads of local and module variables that may have no value."""
    for read in unbound_reads(source.path, source.text):
        verb = "has no value" if read.certain else "may have no value"
        way = (*_decisions(source, read), Waypoint(source.path, read.span, f"`{read.name}` is read"))
        yield PossibleFault(source.path, read.span, "", read.scope, f"`{read.name}` {verb} here.", way)


def _decisions(source: ParsedFile, read: UnboundRead) -> Iterator[Waypoint]:
    """Yield what is decided on the way to a read on which the name gets no value."""

    def judge(event: Event) -> Sight:
        if event.name == read.name and event.act is Act.READ and event.node is not None:
            return Sight.FAULT if source.span(event.node) == read.span else Sight.GO_ON
        is_bound = event.act is Act.BIND and event.name == read.name
        return Sight.SAFE if is_bound or event.act is Act.BIND_ALL else Sight.GO_ON

    for graph in source.graphs:
        way = find_way(graph, 0, -1, judge) if graph.scope == read.scope else None
        if way is not None:
            yield from way.waypoints(source)
            return
