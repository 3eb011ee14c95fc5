"""Places that look like faults: what a reviewer should look at, found without a model.

Each query errs on the side of telling; who reads the answer judges it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from rolecall_analysis.faults.checks import constant_checks
from rolecall_analysis.faults.coroutines import forgotten_awaits
from rolecall_analysis.faults.defaults import changed_defaults
from rolecall_analysis.faults.exchanged import exchanged_arguments
from rolecall_analysis.faults.injected import injections
from rolecall_analysis.faults.nothing import none_dereferenced
from rolecall_analysis.faults.possible import ConstantClaim, PossibleFault, Waypoint
from rolecall_analysis.faults.reading import ParsedFile, Reader
from rolecall_analysis.faults.resources import unclosed_resources
from rolecall_analysis.faults.swallowed import swallowed_exceptions
from rolecall_analysis.faults.unassigned import unassigned_names
from rolecall_analysis.snapshot import Snapshot

__all__ = ["QUERIES", "ConstantClaim", "PossibleFault", "Waypoint", "find_faults"]

QUERIES: Mapping[str, Callable[[ParsedFile, Reader], Iterator[PossibleFault]]] = {
    "changed_defaults": changed_defaults,
    "constant_checks": constant_checks,
    "exchanged_arguments": exchanged_arguments,
    "forgotten_awaits": forgotten_awaits,
    "injections": injections,
    "none_dereferenced": none_dereferenced,
    "swallowed_exceptions": swallowed_exceptions,
    "unassigned_names": unassigned_names,
    "unclosed_resources": unclosed_resources,
}
"""All queries there are, by name."""


def find_faults(
    snapshot: Snapshot, paths: Iterable[str], queries: Collection[str] = tuple(QUERIES)
) -> tuple[PossibleFault, ...]:
    """Return what *queries* find in the Python files *paths*, by file and place; each place once for a query."""
    reader = Reader(snapshot)
    found: dict[tuple[str, object, str], PossibleFault] = {}
    for path in sorted(set(paths)):
        source = reader.source(path)
        if source is None:
            continue
        for query in sorted(queries):
            for fault in QUERIES[query](source, reader):
                found.setdefault((path, fault.span, query), replace(fault, query=query))
    return tuple(sorted(found.values(), key=lambda one: (one.path, one.span, one.query)))
