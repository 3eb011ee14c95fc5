"""Syntax trees of Python: from nothing, or from the tree before an edit."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tree_sitter import Parser, Point, Tree

from rolecall_analysis.grammar import PYTHON
from rolecall_analysis.text import encode

PARSE_LIMIT_S = 2.0
"""CPU seconds one parse may take. The grammar needs a fifth for 2 MB of code, but its time grows with the
square of a run of line continuations that nothing precedes: 85 s for 200 kB of them."""

MAX_UNGUARDED_BYTES = 128_000
MAX_CONTINUATIONS = 100
"""Texts with at most so many bytes and line continuations are parsed without that limit."""

MAX_SOURCE_BYTES = 2_000_000
"""Larger files are data or generated; their facts would cost more than they tell."""


@dataclass(frozen=True, slots=True)
class SyntaxTree:
    """A tree and the bytes that its offsets count."""

    source: bytes
    tree: Tree | None
    """None: there is a problem."""
    problem: str = ""
    """Why the text was not parsed."""


def parse(text: str) -> SyntaxTree:
    """Return the tree of *text*. Any text has one; what is wrong is in its error nodes."""
    return _parse(encode(text), None)


def reparse(before: SyntaxTree, text: str) -> SyntaxTree:
    """Return the tree of *text*, reusing what *before* knows of the parts that did not change."""
    source = encode(text)
    if not _is_whole(before):
        return _parse(source, None)
    assert before.tree is not None
    _mark_change(before.tree, before.source, source)
    after = _parse(source, before.tree)
    # Error recovery depends on the order in which it finds repairs: for broken text, a tree that reuses
    # another can differ from a fresh one.
    return after if _is_whole(after) else _parse(source, None)


def _is_whole(tree: SyntaxTree) -> bool:
    return tree.tree is not None and not tree.tree.root_node.has_error


def _parse(source: bytes, old_tree: Tree | None) -> SyntaxTree:
    if len(source) > MAX_SOURCE_BYTES:
        return SyntaxTree(source, None, f"It is larger than {MAX_SOURCE_BYTES:,} bytes; it was left out.")
    if _is_harmless(source):
        parser = Parser(PYTHON)
        return SyntaxTree(source, parser.parse(source) if old_tree is None else parser.parse(source, old_tree))
    return _parse_guarded(source, old_tree)


def _is_harmless(source: bytes) -> bool:
    """Return whether parsing *source* is certain to be quick, so that no time limit is needed, which would cost a
    tenth.
    """
    return len(source) <= MAX_UNGUARDED_BYTES and source.count(b"\\\n") + source.count(b"\\\r") <= MAX_CONTINUATIONS


def _parse_guarded(source: bytes, old_tree: Tree | None) -> SyntaxTree:
    wall_deadline_s, deadline_s = time.monotonic() + PARSE_LIMIT_S, time.thread_time() + PARSE_LIMIT_S

    # Only a parse that reads by a function can be stopped: for bytes, tree-sitter ignores the callback.
    def read(offset: int, _point: Point) -> bytes:
        return source[offset:]

    def must_stop(_offset: int, _has_error: bool) -> bool:
        # The wall clock is quicker to read, and never behind.
        return time.monotonic() > wall_deadline_s and time.thread_time() > deadline_s

    parser = Parser(PYTHON)
    try:
        if old_tree is None:
            return SyntaxTree(source, parser.parse(read, encoding="utf8", progress_callback=must_stop))
        return SyntaxTree(source, parser.parse(read, old_tree, "utf8", must_stop))
    except ValueError:
        return SyntaxTree(source, None, "Parsing it takes too long; it was left out.")


def _mark_change(tree: Tree, old: bytes, new: bytes) -> None:
    """Tell *tree* which bytes of *old* are not those of *new*."""
    start = _shared_prefix(old, new)
    shared_end = _shared_prefix(old[start:][::-1], new[start:][::-1])
    # Read backwards, a character begins with its last byte: what is shared may end within one.
    while shared_end and new[len(new) - shared_end] & 0xC0 == 0x80:
        shared_end -= 1
    old_end, new_end = len(old) - shared_end, len(new) - shared_end
    tree.edit(start, old_end, new_end, _point(old, start), _point(old, old_end), _point(new, new_end))


def _shared_prefix(left: bytes, right: bytes) -> int:
    """Return the number of leading bytes that are the same, up to a whole character; by bisection, so that slices do
    the work.
    """
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    while low and low < len(left) and left[low] & 0xC0 == 0x80:
        low -= 1
    return low


def _point(source: bytes, offset: int) -> Point:
    line_start = source.rfind(b"\n", 0, offset) + 1
    return Point(source.count(b"\n", 0, offset), offset - line_start)
