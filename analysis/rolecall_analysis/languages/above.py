"""The comments and attributes that stand above a definition and belong to it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tree_sitter import Node


@dataclass(slots=True)
class Above:
    """Comments and attributes, without a blank line between them and what follows."""

    end_row: int = -2
    comments: list[Node] = field(default_factory=list[Node])
    attributes: list[Node] = field(default_factory=list[Node])


@dataclass(slots=True)
class LinesAbove:
    """The comments and attributes above the place that a walk has reached."""

    last: Above = field(default_factory=Above)
    first: list[Above] = field(default_factory=list[Above])
    """Those before any definition and import."""

    def note(self, node: Node, before: bytes, *, is_attribute: bool, is_first: bool) -> None:
        """Note a comment or an attribute; *before* is what stands before it on its line."""
        start_row = node.start_point[0]
        end_row, end_column = node.end_point
        # Some grammars count the line break among the characters of a comment.
        if end_column == 0 and end_row > start_row:
            end_row -= 1
        if start_row > self.last.end_row + 1:
            if not is_attribute and before.strip():
                return  # it stands behind code, and is about that
            self.last = Above()
            if is_first:
                self.first.append(self.last)
        self.last.end_row = end_row
        (self.last.attributes if is_attribute else self.last.comments).append(node)

    def take(self, start: Node) -> Above:
        """Return what belongs to the definition that begins with *start*; it belongs to no other."""
        row = start.start_point[0]
        if not row - 1 <= self.last.end_row <= row:
            return Above()
        taken, self.last = self.last, Above()
        self.first = [one for one in self.first if one is not taken]
        return taken
