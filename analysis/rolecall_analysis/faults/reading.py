"""Files as the queries read them: parsed once, nodes by kind, ways through functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from tree_sitter import Node

from rolecall_analysis.faults.possible import ConstantClaim, PossibleFault, Waypoint
from rolecall_analysis.grammar import ATTRIBUTE, CALL, CLASS, FUNCTION, IDENTIFIER, child_of, kind_id
from rolecall_analysis.names import dotted_name, text_of
from rolecall_analysis.queries.callers import Callee, call_targets
from rolecall_analysis.snapshot import Snapshot, is_python
from rolecall_analysis.syntax import parse
from rolecall_analysis.text import CodePoints, code_points
from rolecall_analysis.unbound import flow_graphs
from rolecall_analysis.unbound.conditions import without_parentheses
from rolecall_analysis.unbound.flowgraph import FlowGraph
from rolecall_analysis.values import Call, Definition, Position, Span

LAMBDA = kind_id("lambda")
PARENTHESES = kind_id("parenthesized_expression")
TRY, EXCEPT = kind_id("try_statement"), kind_id("except_clause")
_SCOPES = frozenset({FUNCTION, CLASS})
_MOST_WORDS = 60
"""Characters of code that a sentence quotes."""


@dataclass(frozen=True, eq=False)
class ParsedFile:
    """One Python file."""

    snapshot: Snapshot
    path: str
    text: str
    source: bytes
    root: Node

    @cached_property
    def nodes(self) -> dict[int, list[Node]]:
        """The nodes of each kind, in the order of the source."""
        found: dict[int, list[Node]] = {}
        stack = [self.root]
        while stack:
            node = stack.pop()
            found.setdefault(node.kind_id, []).append(node)
            stack.extend(reversed(node.named_children))
        return found

    @cached_property
    def graphs(self) -> tuple[FlowGraph, ...]:
        """The ways through the module and each of its functions that could be parsed."""
        return tuple(graph for graph in flow_graphs(self.path, self.source, self.root) if not graph.is_broken)

    @cached_property
    def columns(self) -> CodePoints:
        """The table of columns."""
        return code_points(self.source)

    @cached_property
    def calls(self) -> dict[Span, Call]:
        """The calls of something that has a name, by their place."""
        facts = self.snapshot.files.get(self.path)
        return {call.span: call for call in facts.calls} if facts is not None else {}

    def of_kind(self, *kinds: int) -> Iterator[Node]:
        """Yield the nodes of some kinds."""
        for kind in kinds:
            yield from self.nodes.get(kind, ())

    def words(self, node: Node) -> str:
        """Return the text of *node* on one line."""
        return " ".join(text_of(self.source, node).split())

    def quoted(self, node: Node) -> str:
        """Return the text of *node* on one line, cut where it is long."""
        words = self.words(node)
        return words if len(words) <= _MOST_WORDS else f"{words[: _MOST_WORDS - 1]}…"

    def name(self, node: Node | None) -> str:
        """Return the dotted name of an expression; empty where it has none."""
        return dotted_name(self.source, node)[0] if node is not None else ""

    def callee(self, call: Node) -> str:
        """Return the dotted name of what *call* calls."""
        return self.name(child_of(call, "function"))

    def span(self, node: Node) -> Span:
        """Return the place of *node*."""
        (first, start), (last, end) = node.start_point, node.end_point
        return Span(
            Position(first, self.columns.column(node.start_byte, start)),
            Position(last, self.columns.column(node.end_byte, end)),
        )

    def scope(self, node: Node) -> str:
        """Return the qualified name of the function or class around *node*."""
        names: list[str] = []
        around = node.parent
        while around is not None:
            name = child_of(around, "name") if around.kind_id in _SCOPES else None
            if name is not None:
                names.append(text_of(self.source, name))
            around = around.parent
        return ".".join(reversed(names))

    def targets(self, call: Node) -> Iterator[Callee]:
        """Yield what *call* certainly reaches in the repository."""
        facts, written = self.snapshot.files.get(self.path), self.calls.get(self.span(call))
        if facts is not None and written is not None:
            yield from (callee for callee in call_targets(self.snapshot, facts, written) if callee.certain)

    def waypoint(self, node: Node, text: str) -> Waypoint:
        """Return a step of a way, at *node*."""
        return Waypoint(self.path, self.span(node), text)

    def fault(self, node: Node, message: str, *way: Waypoint, claim: ConstantClaim | None = None) -> PossibleFault:
        """Return a fault at *node*; its query is named by who asked."""
        return PossibleFault(self.path, self.span(node), "", self.scope(node), message, way, claim)


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads files of a snapshot, each once."""

    snapshot: Snapshot
    _known: dict[str, ParsedFile | None] = field(default_factory=dict[str, "ParsedFile | None"])

    def source(self, path: str) -> ParsedFile | None:
        """Return the file *path*; None where it is no Python that can be parsed."""
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def function(self, definition: Definition) -> tuple[ParsedFile, Node] | None:
        """Return the node of a function, and its file."""
        source = self.source(definition.path)
        for node in source.of_kind(FUNCTION) if source is not None else ():
            name = child_of(node, "name")
            if source is not None and name is not None and source.span(name) == definition.name_span:
                return source, node
        return None

    def _read(self, path: str) -> ParsedFile | None:
        text = self.snapshot.text(path) if is_python(path) else None
        syntax = parse(text) if text is not None else None
        if text is None or syntax is None or syntax.tree is None:
            return None
        return ParsedFile(self.snapshot, path, text, syntax.source, syntax.tree.root_node)


def arguments_of(call: Node) -> list[Node]:
    """Return the arguments of *call*, named ones included."""
    arguments = child_of(call, "arguments")
    return [one for one in arguments.named_children if one.type != "comment"] if arguments is not None else []


def around(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield each node around *node* within its function, innermost first, with the part of it that holds *node*."""
    inner, outer = node, node.parent
    while outer is not None and outer.kind_id not in _SCOPES and outer.kind_id != LAMBDA:
        yield outer, inner
        inner, outer = outer, outer.parent


def outside_parentheses(node: Node) -> Node:
    """Return the outermost node that is *node* in any number of parentheses."""
    while (outer := node.parent) is not None and outer.kind_id == PARENTHESES:
        node = outer
    return node


def is_caught(source: ParsedFile, node: Node, names: frozenset[str]) -> bool:
    """Return whether a ``try`` around *node* catches one of the exceptions *names*, or everything."""
    for outer, inner in around(node):
        # A `try` catches nothing of its own handlers, nor of its `else`.
        if outer.kind_id == TRY and child_of(outer, "body") == inner:
            for clause in outer.named_children:
                if clause.kind_id == EXCEPT and caught_by(source, clause) & (
                    names | {"", "Exception", "BaseException"}
                ):
                    return True
    return False


def caught_by(source: ParsedFile, clause: Node) -> frozenset[str]:
    """Return the last parts of the names of the exceptions that an ``except`` catches; ``""`` where it names none."""
    value = child_of(clause, "value")
    if value is not None and value.type == "as_pattern":
        value = value.named_children[0]
    if value is None:
        return frozenset({""})
    value = without_parentheses(value)
    parts = [value] if value.kind_id in (IDENTIFIER, ATTRIBUTE, CALL) else value.named_children
    return frozenset(source.name(part).rpartition(".")[2] for part in parts)
