"""Imports, and names that belong to scopes further out."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.flow.reading.blocks import Handler
from rolecall_analysis.flow.reading.builder import Builder
from rolecall_analysis.flow.reading.kinds import ALIASED
from rolecall_analysis.grammar import DOTTED, WILDCARD, child_of, kind_id


def _read_import(builder: Builder, node: Node) -> list[Node]:
    for child in node.named_children:
        module, alias = _imported(builder, child)
        if not module:
            continue
        bound = alias or module.partition(".")[0]
        target = builder.bind(bound)
        builder.block.imports.append((target, module if alias else bound, 0, None))
    return []


def _read_import_from(builder: Builder, node: Node) -> list[Node]:
    source = child_of(node, "module_name")
    if source is None:
        return []
    dotted = "".join(builder.text(source).split())
    module = dotted.lstrip(".")
    level = len(dotted) - len(module)
    for child in node.named_children:
        if child == source:
            continue
        if child.kind_id == WILDCARD:
            builder.stars.append((module, level))
            continue
        name, alias = _imported(builder, child)
        if name:
            builder.block.imports.append((builder.bind(alias or name), module, level, name))
    return []


def _imported(builder: Builder, node: Node) -> tuple[str, str]:
    name = node if node.kind_id == DOTTED else child_of(node, "name") if node.kind_id == ALIASED else None
    alias = child_of(node, "alias") if node.kind_id == ALIASED else None
    return "".join(builder.text(name).split()) if name is not None else "", builder.text(alias) if alias else ""


def _read_global(builder: Builder, node: Node) -> list[Node]:
    # In the module itself `global` changes nothing.
    if builder.scope.kind != "module":
        builder.scope.global_names.update(builder.text(child) for child in node.named_children)
    return []


def _read_nonlocal(builder: Builder, node: Node) -> list[Node]:
    builder.scope.outer_names.update(builder.text(child) for child in node.named_children)
    return []


RULES: dict[int, Handler] = {
    kind_id("import_statement"): _read_import,
    kind_id("import_from_statement"): _read_import_from,
    kind_id("global_statement"): _read_global,
    kind_id("nonlocal_statement"): _read_nonlocal,
}
