"""One file while it is read."""

from __future__ import annotations

from collections.abc import Callable

from tree_sitter import Node

from rolecall_analysis.facts.packed import DefinitionRow, ImportRow
from rolecall_analysis.python.region import Region

MAX_SCOPE_LENGTH = 500
"""Lambdas in a scope with a longer name share it: named each after the one around, they would take quadratic space."""


class ModuleReading:
    """The text of a file and what has been found in it so far."""

    __slots__ = (
        "attributes", "definitions", "docstring", "imports", "is_broken", "regions", "text", "typing_blocks",
    )  # fmt: skip

    def __init__(self, text: str, *, is_broken: bool) -> None:
        self.text = text
        """The source with a character for each byte, so that byte offsets cut it; see `clean`."""
        self.is_broken = is_broken
        """True where the tree has errors: then a node may lack the parts that it always has."""
        self.docstring = ""
        self.regions: list[Region] = []
        self.definitions: list[DefinitionRow] = []
        self.attributes: list[DefinitionRow] = []
        """Attributes that methods assign on their own object."""
        self.imports: list[ImportRow] = []
        self.typing_blocks: list[tuple[int, int]] = []
        """The bytes of blocks that only type checkers run."""

    def cut(self, node: Node) -> str:
        """Return the text of *node*, a character for each byte."""
        return self.text[node.start_byte : node.end_byte]

    def clean(self, start: int, end: int) -> str:
        """Return the text between two offsets, decoded as the source means it."""
        return clean(self.text[start:end])

    def begin(self, region: Region) -> None:
        """Have *region* read later."""
        self.regions.append(region)

    def begin_unnamed(self, what: str, around: Region, nodes: list[Node]) -> Region:
        """Begin a region for a lambda or a comprehension, whose names mean nothing outside it, and return the
        region.
        """
        around.n_unnamed += 1
        number = around.n_unnamed
        label = f"<{what}{number}>" if around.name == around.owner else f"<{last_part(around.owner)} {what}{number}>"
        is_deep = len(around.name) > MAX_SCOPE_LENGTH
        inner = Region(around.name if is_deep else around.qualified(label), "function", around.owner, nodes)
        self.regions.append(inner)
        return inner


def last_part(dotted_name: str) -> str:
    """Return the last part of a dotted name."""
    return dotted_name.rpartition(".")[2]


def clean(text: str) -> str:
    """Decode *text*, which was cut from `Reading.text`, to what it is meant to say."""
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "replace")


Handler = Callable[[ModuleReading, Region, Node], object]
