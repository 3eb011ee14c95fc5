"""Files, sockets and the like that some way through a function leaves open."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from rolecall_analysis.faults.possible import PossibleFault
from rolecall_analysis.faults.reading import LAMBDA, ParsedFile, Reader, outside_parentheses
from rolecall_analysis.faults.ways import Sight, find_way
from rolecall_analysis.grammar import ATTRIBUTE, CALL, FUNCTION, IDENTIFIER, child_of
from rolecall_analysis.names import text_of
from rolecall_analysis.unbound.flowgraph import Act, Event, FlowGraph

_OPENERS = frozenset(
    {
        "open",
        "bz2.open",
        "codecs.open",
        "gzip.open",
        "io.open",
        "lzma.open",
        "os.fdopen",
        "shelve.open",
        "socket.create_connection",
        "socket.socket",
        "sqlite3.connect",
        "tarfile.open",
        "tempfile.NamedTemporaryFile",
        "tempfile.TemporaryFile",
        "urllib.request.urlopen",
        "urlopen",
        "zipfile.ZipFile",
        "ZipFile",
    }
)
_CLOSERS = frozenset({"close", "__exit__", "detach", "release", "shutdown", "terminate"})
_READERS = frozenset({"read", "readlines", "readline", "write", "writelines", "read_text", "splitlines"})


def unclosed_resources(source: ParsedFile, _reader: Reader) -> Iterator[PossibleFault]:
    """Yield what is opened and, on some way, neither closed nor handed on."""
    for graph in source.graphs:
        for number, block in enumerate(graph.blocks):
            for index, event in enumerate(block.events):
                if event.act is Act.BIND and event.node is not None and _opens(source, event.node):
                    yield from _left_open(source, graph, number, index, event)
    for call in source.of_kind(CALL):
        opened = _chained(source, call)
        if opened is not None:
            yield source.fault(
                opened,
                f"`{source.quoted(opened)}` is opened for one call, and nothing closes it.",
                source.waypoint(opened, "opened"),
                source.waypoint(call, "used, and forgotten"),
            )


def _opens(source: ParsedFile, node: Node) -> bool:
    return node.kind_id == CALL and source.callee(node) in _OPENERS


def _chained(source: ParsedFile, call: Node) -> Node | None:
    """Return what is opened in ``open(path).read()``."""
    function = child_of(call, "function")
    if function is None or function.kind_id != ATTRIBUTE:
        return None
    value, method = child_of(function, "object"), child_of(function, "attribute")
    if value is None or method is None or text_of(source.source, method) not in _READERS:
        return None
    return value if _opens(source, value) else None


def _left_open(source: ParsedFile, graph: FlowGraph, block: int, index: int, opened: Event) -> Iterator[PossibleFault]:
    assert opened.node is not None
    # What outlives the function, in a module, a scope around it or an object, may be closed elsewhere.
    if graph.node is None or opened.name in graph.global_names | graph.nonlocal_names or "." in opened.name:
        return
    if _is_read_inside(source, graph.node, opened.name):
        return

    def judge(event: Event) -> Sight:
        if event.name != opened.name:
            return _judge_condition(event, opened.name)
        if event.act is Act.READ and event.node is not None:
            return Sight.SAFE if _settles(source, event.node) else Sight.GO_ON
        return Sight.SAFE if event.act in (Act.BIND, Act.UNBIND) else Sight.GO_ON

    way = find_way(graph, block, index, judge, owes=True)
    if way is not None:
        yield source.fault(
            opened.node,
            f"`{opened.name}` is not closed on every way out of the function.",
            source.waypoint(opened.node, f"`{opened.name}` is opened"),
            *way.waypoints(source),
            source.waypoint(opened.node, f"the function is left without closing `{opened.name}`"),
        )


def _judge_condition(event: Event, name: str) -> Sight:
    """Return that where there is nothing to close, as in ``if not stream``, nothing is owed."""
    if event.act is not Act.ASSUME or event.condition is None:
        return Sight.GO_ON
    is_nothing = (event.condition.text, event.truth) in ((name, False), (f"{name} is None", True))
    return Sight.SAFE if is_nothing else Sight.GO_ON


def _settles(source: ParsedFile, read: Node) -> bool:
    """Return whether a read of the name closes it, or gives it to somebody else, who may."""
    parent = read.parent
    if parent is not None and parent.kind_id == ATTRIBUTE and child_of(parent, "object") == read:
        method = child_of(parent, "attribute")
        call = parent.parent
        is_called = call is not None and call.kind_id == CALL and child_of(call, "function") == parent
        return not is_called or (method is not None and text_of(source.source, method) in _CLOSERS)
    whole = outside_parentheses(read)
    holder = whole.parent.type if whole.parent is not None else ""
    is_looked_at = holder in ("comparison_operator", "not_operator", "if_statement", "while_statement", "for_statement")
    return not is_looked_at and holder not in ("for_in_clause", "subscript", "boolean_operator")


def _is_read_inside(source: ParsedFile, function: Node, name: str) -> bool:
    """Return whether a function within *function* may close what is called *name*."""
    stack = list(function.named_children)
    while stack:
        node = stack.pop()
        if node.kind_id in (FUNCTION, LAMBDA) and any(_mentions(source, node, name)):
            return True
        stack.extend(node.named_children)
    return False


def _mentions(source: ParsedFile, node: Node, name: str) -> Iterator[bool]:
    stack = [node]
    while stack:
        part = stack.pop()
        if part.kind_id == IDENTIFIER and text_of(source.source, part) == name:
            yield True
        stack.extend(part.named_children)
