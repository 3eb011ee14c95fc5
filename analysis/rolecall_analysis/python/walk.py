"""The walk over a tree: region after region, each node to the handler of its kind."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.facts.packed import pack, unpack
from rolecall_analysis.grammar import DECORATED, FUNCTION
from rolecall_analysis.python.handlers import HANDLERS, skip
from rolecall_analysis.python.headers import docstring
from rolecall_analysis.python.memory import FunctionCache, add, move, piece_of
from rolecall_analysis.python.reading import Handler, ModuleReading
from rolecall_analysis.python.region import Region
from rolecall_analysis.python.summary import packed_facts
from rolecall_analysis.syntax import SyntaxTree
from rolecall_analysis.values import FileFacts, Problem


def read_facts(path: str, syntax: SyntaxTree, memory: FunctionCache | None = None) -> FileFacts:
    """Return the facts in *syntax*, as the file at *path*. Broken source gives what can be read, and problems.

    With the *memory* of a document, functions that did not change since it was last read are not read again.
    """
    return unpack(path, read_packed(syntax, memory))


def read_packed(syntax: SyntaxTree, memory: FunctionCache | None = None) -> bytes:
    """As `read_facts`, packed (`rolecall_analysis.facts.packed`)."""
    if syntax.tree is None:
        return pack(FileFacts("", problems=(Problem("", syntax.problem),)))
    root = syntax.tree.root_node
    statements = root.named_children
    reading = ModuleReading(syntax.source.decode("latin-1"), is_broken=root.has_error)
    reading.docstring = docstring(reading, statements)
    reading.begin(Region("", None, "", statements))
    remembering = HANDLERS if memory is None else _remembering_handlers(memory)
    # A function is remembered with all the functions in it, so only modules and classes look into the memory.
    for region in reading.regions:  # reading a region begins others
        if region.stack:
            _read_region(reading, region, remembering if region.kind in (None, "class") else HANDLERS)
    if memory is not None:
        memory.forget_others()
    return packed_facts(reading, syntax.source, root)


def _read_region(reading: ModuleReading, region: Region, handlers: dict[int, Handler | None]) -> None:
    stack = region.stack
    pop = stack.pop
    while stack:
        node = pop()
        handle = handlers[node.kind_id]
        if handle is None:
            children = node.named_children
            children.reverse()
            stack += children
        elif handle is not skip:
            handle(reading, region, node)


def _remembering_handlers(memory: FunctionCache) -> dict[int, Handler | None]:
    """Handlers for the code of a module or a class that read a function only if it changed."""

    def read(reading: ModuleReading, region: Region, node: Node) -> None:
        function = node.children[-1] if node.kind_id == DECORATED else node
        if function.kind_id == FUNCTION and not node.has_error:
            _read_remembered(reading, region, node, memory)
        else:
            handle = HANDLERS[node.kind_id]
            assert handle is not None
            handle(reading, region, node)

    return {**HANDLERS, FUNCTION: read, DECORATED: read}


def _read_remembered(reading: ModuleReading, region: Region, node: Node, memory: FunctionCache) -> None:
    start = node.start_byte
    key = region.name, reading.text[start : node.end_byte]
    piece = memory.take(key)
    if piece is None:
        part = ModuleReading(reading.text, is_broken=False)
        handle = HANDLERS[node.kind_id]
        assert handle is not None
        handle(part, region, node)
        for inner in part.regions:
            _read_region(part, inner, HANDLERS)
        piece = piece_of(start, part)
    else:
        piece = move(piece, start)
    memory.keep(key, piece)
    add(reading, piece)
