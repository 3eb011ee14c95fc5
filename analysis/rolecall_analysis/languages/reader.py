"""Source text of any language but Python to the facts of a file."""

from __future__ import annotations

import time
from collections.abc import Iterator

from msgspec.structs import replace
from tree_sitter import Node, Parser, Point, Tree

from rolecall_analysis.languages.grammar import Grammar
from rolecall_analysis.languages.handlers import visit_children
from rolecall_analysis.languages.walk import TYPE_KINDS, Inside, Step, Walk, WalkScope
from rolecall_analysis.syntax import MAX_SOURCE_BYTES, PARSE_LIMIT_S
from rolecall_analysis.text import code_points, encode
from rolecall_analysis.values import Definition, FileFacts, Position, Problem, Reference, Span

MAX_SYNTAX_PROBLEMS = 20


def read_tree(path: str, text: str, grammar: Grammar) -> FileFacts:
    """Return the facts of *text*, parsed by *grammar*. Broken source gives what can be read, and problems."""
    source = encode(text)
    if len(source) > MAX_SOURCE_BYTES:
        message = f"It is larger than {MAX_SOURCE_BYTES:,} bytes; it was left out."
        return FileFacts(path, problems=(Problem(path, message),))
    tree = _parse(source, grammar)
    if tree is None:
        return FileFacts(path, problems=(Problem(path, "Parsing it takes too long; it was left out."),))
    root = tree.root_node
    walk = Walk(path, source, grammar, code_points(source), text if source.isascii() else None)
    _walk_over(walk, root)
    return FileFacts(
        path,
        walk.docstring(),
        _with_more_bases(walk),
        tuple(walk.imports),
        tuple(walk.calls),
        tuple(Reference(*key, tuple(places)) for key, places in walk.places.items()),
        frozenset(walk.local_names),
        tuple(_syntax_problems(walk, root)),
    )


def _parse(source: bytes, grammar: Grammar) -> Tree | None:
    if (pattern := grammar.reading.blanked) is not None:
        # As many blanks as there were bytes: every offset stays that of the source.
        source = pattern.sub(lambda found: b" " * len(found[0]), source)
    deadline_s = time.thread_time() + PARSE_LIMIT_S

    def read(offset: int, _point: Point) -> bytes:
        return source[offset:]

    def must_stop(_offset: int, _has_error: bool) -> bool:
        return time.thread_time() > deadline_s

    try:
        return Parser(grammar.language).parse(read, encoding="utf8", progress_callback=must_stop)
    except ValueError:
        return None


def _walk_over(walk: Walk, root: Node) -> None:
    handler_of = walk.grammar.handlers.get
    stack: list[Step] = [(root, WalkScope("", Inside.FILE, ""))]
    while stack:
        node, scope = stack.pop()
        handle = handler_of(node.kind_id, visit_children)
        if handle is visit_children:
            stack.extend([(child, scope) for child in reversed(node.named_children)])
        elif handle is not None and (steps := handle(walk, node, scope)):
            stack.extend(reversed(steps))


def _with_more_bases(walk: Walk) -> tuple[Definition, ...]:
    if not walk.more_bases:
        return tuple(walk.definitions)
    return tuple(
        replace(one, bases=(*one.bases, *dict.fromkeys(walk.more_bases[one.qualified_name])))
        if one.kind in {*TYPE_KINDS, "module"} and one.qualified_name in walk.more_bases
        else one
        for one in walk.definitions
    )


def _syntax_problems(walk: Walk, root: Node) -> Iterator[Problem]:
    n_found = 0
    stack = [root] if root.has_error else []
    while stack and n_found < MAX_SYNTAX_PROBLEMS:
        node = stack.pop()
        if node.is_missing or node.is_error:
            n_found += 1
            what = f"Expected {node.type!r}." if node.is_missing else "Syntax error."
            yield Problem(walk.path, what, _visible_span(walk, node))
        else:
            stack.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)


def _visible_span(walk: Walk, node: Node) -> Span:
    """Return the span of *node*; an error may begin or end between the two characters of a line end."""
    span = walk.span(node)

    def before_line_end(byte: int, position: Position) -> Position:
        is_within = walk.source[byte - 1 : byte + 1] == b"\r\n"
        return Position(position.line, position.column - 1) if is_within else position

    return Span(before_line_end(node.start_byte, span.start), before_line_end(node.end_byte, span.end))
