"""Names that may be read before they have a value, from the syntax of one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from tree_sitter import Node

from rolecall_analysis.syntax import parse
from rolecall_analysis.text import CodePoints, code_points
from rolecall_analysis.unbound.exits import read_exits
from rolecall_analysis.unbound.flowgraph import Act, FlowGraph
from rolecall_analysis.unbound.solve import Read, Solution, late_reads, questions, solve
from rolecall_analysis.unbound.statements import function_body, suite
from rolecall_analysis.unbound.trail import TooManyWays, Trail, walk
from rolecall_analysis.values import Position, Span


@dataclass(frozen=True, slots=True)
class UnboundRead:
    """A name that is read where it may have no value."""

    path: str
    name: str
    scope: str
    """The qualified name of the function that reads it; empty for the module and its class bodies."""
    span: Span
    certain: bool
    """No path to it gives the name a value. Otherwise only some path does not."""


def unbound_reads(path: str, text: str) -> tuple[UnboundRead, ...]:
    """Return the reads of local and module variables that some way through the code reaches without a value.

    Once a read was told, what follows it has a value. Closures are judged only where no value is ever given.
    Conditions that are tested again give the same answer unless one of their names changed. Functions with syntax
    errors, and with more ways through them than can be followed, are left out.
    """
    syntax = parse(text)
    if syntax.tree is None:
        return ()
    source = syntax.source
    graphs = list(flow_graphs(path, source, syntax.tree.root_node))
    found = [(graph.scope, read) for graph, read in _reads(graphs)]
    columns = code_points(source)
    told = {
        _span(columns, read.node): UnboundRead(path, read.name, scope, _span(columns, read.node), read.certain)
        for scope, read in found
    }
    return tuple(told[span] for span in sorted(told))


def _reads(graphs: Sequence[FlowGraph]) -> Iterator[tuple[FlowGraph, Read]]:
    asked = [question for question in questions(graphs) if not question.graph.is_broken]
    solutions = {id(question.graph): solve(question) for question in asked}
    for question in asked:
        yield from ((question.graph, read) for read in solutions[id(question.graph)].reads)
    yield from _hopeless(graphs, solutions)


def _hopeless(graphs: Sequence[FlowGraph], solutions: Mapping[int, Solution]) -> Iterator[tuple[FlowGraph, Read]]:
    """Yield the reads in functions of the module's names that the module leaves without a value.

    A name bound for type checkers need only lack it on some path, unless its import is allowed to fail.
    """
    module = solutions.get(id(graphs[0])) if graphs else None
    if module is None:
        return
    events = (event for block in graphs[0].blocks for event in block.events)
    removed = {event.name for event in events if event.act is Act.UNBIND}
    never = module.never_bound_at_end - removed
    possibly = module.maybe_unbound_at_end & graphs[0].for_type_checkers - removed - graphs[0].optional_imports
    told: set[tuple[int, str]] = set()
    for graph, event in late_reads(graphs, solutions):
        name = event.name
        if event.node is not None and name in never | possibly and (id(graph), name) not in told:
            told.add((id(graph), name))
            yield graph, Read(event.node, name, certain=name in never and not event.in_annotation)


def _span(columns: CodePoints, node: Node) -> Span:
    (first, start), (last, end) = node.start_point, node.end_point
    return Span(
        Position(first, columns.column(node.start_byte, start)), Position(last, columns.column(node.end_byte, end))
    )


def _evaluates_annotations(path: str, root: Node) -> bool:
    """Return whether annotations run where they stand, as they do before Python 3.14 without the
    ``__future__`` import.
    """
    futures = (child for child in root.named_children if child.type == "future_import_statement")
    return not path.endswith(".pyi") and not any(b"annotations" in (child.text or b"") for child in futures)


def flow_graphs(path: str, source: bytes, root: Node) -> Iterator[FlowGraph]:
    """Yield the module's graph, then those of its functions, outer ones first."""
    exits = read_exits(source, root)
    evaluates_annotations = _evaluates_annotations(path, root)
    is_package = PurePath(path).stem == "__init__"
    waiting: list[tuple[Node, str, FlowGraph | None]] = [(root, "", None)]
    for node, name, parent in waiting:
        graph = FlowGraph(name, parent, None if parent is None else node, is_broken=node.has_error)
        trail = Trail(source, exits, graph, evaluates_annotations, is_package and parent is None)
        trail.enter(trail.block())
        try:
            walk(suite(trail, node) if parent is None else function_body(trail, node))
        except TooManyWays:
            continue
        graph.exit = trail.block()
        trail.link(graph.exit)
        waiting += [(function, own_name, graph) for function, own_name in trail.functions.values()]
        yield graph
