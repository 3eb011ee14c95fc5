"""Import statements, and the blocks that only type checkers run."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.grammar import DOTTED, WILDCARD, child_of
from rolecall_analysis.python.reading import ModuleReading
from rolecall_analysis.python.region import Region

TYPE_CHECKING = "TYPE_CHECKING"


def read_import(reading: ModuleReading, region: Region, node: Node) -> None:
    """``import a.b, c as d``."""
    places = (node.start_byte, node.end_byte)
    for child in node.named_children:
        name, alias, name_node = _imported(reading, child)
        if name:
            name_places = (name_node.start_byte, name_node.end_byte)
            reading.imports.append((name, None, alias, 0, region.name, False, *places, *name_places))


def read_import_from(reading: ModuleReading, region: Region, node: Node) -> None:
    """``from .a import b as c, d``, ``from __future__ import a``."""
    places = (node.start_byte, node.end_byte)
    source = child_of(node, "module_name")
    # Python allows blanks between the dots and the names. The grammar gives `__future__` no node for the module.
    dotted = "".join(reading.cut(source).split()) if source is not None else "__future__"
    module = dotted.lstrip(".")
    level = len(dotted) - len(module)
    for child in node.named_children:
        if child == source:
            continue
        name, alias, name_node = ("*", None, child) if child.kind_id == WILDCARD else _imported(reading, child)
        if name:
            name_places = (name_node.start_byte, name_node.end_byte)
            reading.imports.append((module, name, alias, level, region.name, False, *places, *name_places))


def _imported(reading: ModuleReading, node: Node) -> tuple[str, str | None, Node]:
    """Return the name that is imported, its alias, and the node that names it; the alias is ``None`` if there
    is none.
    """
    if node.kind_id == DOTTED:
        return "".join(reading.cut(node).split()), None, node
    name, alias = child_of(node, "name"), child_of(node, "alias")
    if name is None:
        return "", None, node
    return "".join(reading.cut(name).split()), reading.cut(alias) if alias else None, name


def read_if(reading: ModuleReading, region: Region, node: Node) -> None:
    """An ``if``; which of its blocks only type checkers run is noted."""
    region.push(node.named_children)
    condition = child_of(node, "condition")
    if condition is None:
        return
    words = reading.cut(condition).split()
    if not words or words[-1].rpartition(".")[2] != TYPE_CHECKING:
        return
    block = child_of(node, "consequence") if len(words) == 1 else None
    if len(words) == 2 and words[0] == "not":
        block = child_of(node, "alternative")
    if block is not None:
        reading.typing_blocks.append((block.start_byte, block.end_byte))
