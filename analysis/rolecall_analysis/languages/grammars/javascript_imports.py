"""The imports of JavaScript and TypeScript: by statement, by ``require`` and by re-export."""

from __future__ import annotations

from tree_sitter import Node

from rolecall_analysis.languages.walk import Steps, Walk, WalkScope


def _string(walk: Walk, node: Node | None) -> str:
    return walk.text(node)[1:-1] if node is not None and node.type in {"string", "template_string"} else ""


def visit_import(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    """Note an import statement, also in TypeScript's older form."""
    source = node.child_by_field_name("source")
    clauses = node.named_children
    module = _string(walk, source)
    if source is None:
        return _visit_import_require(walk, node, scope)
    n_before = len(walk.imports)
    for clause in clauses:
        for child in clause.named_children if clause.type == "import_clause" else ():
            if child.type == "identifier":
                walk.note_import(node, child, scope, module, "default", alias=walk.text(child))
            elif child.type == "namespace_import":
                walk.note_import(node, source, scope, module, None, alias=walk.text(child.named_children[-1]))
            else:
                _note_specifiers(walk, node, child, scope, module)
    # `import "./setup"` binds nothing, and yet depends on that file.
    if len(walk.imports) == n_before:
        walk.note_import(node, source, scope, module, None)
    return ()


def _visit_import_require(walk: Walk, node: Node, scope: WalkScope) -> Steps:
    for clause in node.named_children:
        source = clause.child_by_field_name("source")
        if clause.type == "import_require_clause" and source is not None and clause.named_children:
            walk.note_import(
                node, source, scope, _string(walk, source), None, alias=walk.text(clause.named_children[0])
            )
    return ()


def _note_specifiers(walk: Walk, statement: Node, clause: Node, scope: WalkScope, module: str) -> None:
    for specifier in clause.named_children:
        name, alias = specifier.child_by_field_name("name"), specifier.child_by_field_name("alias")
        if name is not None:
            walk.note_import(
                statement, name, scope, module, walk.text(name).strip("'\""), alias=walk.text(alias) if alias else None
            )


def note_reexports(walk: Walk, node: Node, source: Node, scope: WalkScope) -> Steps:
    """``export ... from``: what is told again is imported under the name it has then."""
    module = _string(walk, source)
    clauses = [child for child in node.named_children if child.type in {"export_clause", "namespace_export"}]
    for clause in clauses:
        if clause.type == "export_clause":
            _note_specifiers(walk, node, clause, scope, module)
        elif clause.named_children:
            walk.note_import(node, source, scope, module, None, alias=walk.text(clause.named_children[0]))
    if not clauses:
        walk.note_import(node, source, scope, module, "*")
    return ()


def required_module(walk: Walk, value: Node) -> str | None:
    """Return the module in ``require("...")``, perhaps with a member or a call after it."""
    while value.type in {"member_expression", "call_expression", "await_expression"}:
        if value.type == "call_expression":
            function, arguments = value.child_by_field_name("function"), value.child_by_field_name("arguments")
            if function is None or arguments is None:
                return None
            if function.type in {"identifier", "import"}:
                known = walk.text(function) in {"require", "import"}
                strings = arguments.named_children
                return _string(walk, strings[0]) or None if known and strings else None
            value = function
        else:
            inner = value.child_by_field_name("object") or (value.named_children or [None])[0]
            if inner is None:
                return None
            value = inner
    return None


def note_require(walk: Walk, node: Node, name: Node, value: Node, scope: WalkScope) -> Steps:
    """``const price = require("./price")``: an import, whether of the module, of a member or of several."""
    module = required_module(walk, value) or ""
    if name.type == "object_pattern":
        for child in name.named_children:
            key, alias = child.child_by_field_name("key"), child.child_by_field_name("value")
            if key is not None and alias is not None and alias.type == "identifier":
                walk.note_import(node, key, scope, module, walk.text(key), alias=walk.text(alias))
            elif child.type == "shorthand_property_identifier_pattern":
                walk.note_import(node, child, scope, module, walk.text(child))
            else:
                walk.bind_pattern(child, scope.code())
        return ()
    member = value.child_by_field_name("property") if value.type == "member_expression" else None
    if name.type != "identifier":
        return [*walk.bind_pattern(name, scope.code()), (value, scope)]
    if member is not None:
        walk.note_import(node, member, scope, module, walk.text(member), alias=walk.text(name))
        return ()
    walk.note_import(node, name, scope, module, None, alias=walk.text(name))
    arguments = value.child_by_field_name("arguments")
    inner = value.child_by_field_name("function")
    called = inner is not None and inner.type not in {"identifier", "import"}
    return [(arguments, scope)] if called and arguments is not None else ()
