"""Python: from a syntax tree to the facts of a file, in one walk without recursion."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from rolecall_analysis.grammar import (
    ATTRIBUTE,
    CALL,
    CLASS,
    DECORATOR,
    DOTTED,
    FUNCTION,
    IDENTIFIER,
    INTERPOLATION,
    PARAMETERS,
    STRING,
    SUBSCRIPT,
    TYPE_PARAMETER,
    TYPED_PARAMETER,
    WILDCARD,
    child_of,
    kind_id,
)
from rolecall_analysis.headers import docstring, signature, variable_signature
from rolecall_analysis.names import bound_names, dotted_name, text_of
from rolecall_analysis.syntax import SyntaxTree
from rolecall_analysis.text import CodePoints, code_points
from rolecall_analysis.values import (
    Call,
    Definition,
    DefinitionKind,
    FileFacts,
    Import,
    Position,
    Problem,
    Reference,
    Span,
)

MAX_SYNTAX_PROBLEMS = 20
"""A file of another language has thousands; nobody reads the twenty-first."""

_DOT = re.compile(r"\.")
_DOTTED_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where the walk is: what names mean here, and whose text it is."""

    name: str
    kind: DefinitionKind | None
    """None: the module."""
    owner: str
    """The innermost definition around, whose header may still see *name*'s names."""
    rebound: set[str]
    """Names a ``global`` or ``nonlocal`` statement takes out of this scope."""

    def qualified(self, name: str) -> str:
        return f"{self.name}.{name}" if self.name else name


@dataclass(slots=True)
class _Walk:
    """What has been found so far."""

    path: str
    source: bytes
    columns: CodePoints
    docstring: str = ""
    definitions: list[Definition] = field(default_factory=list[Definition])
    imports: list[Import] = field(default_factory=list[Import])
    calls: list[Call] = field(default_factory=list[Call])
    references: dict[tuple[str, str, str], list[int]] = field(default_factory=dict[tuple[str, str, str], list[int]])
    local_names: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    variables: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def text(self, node: Node) -> str:
        return text_of(self.source, node)

    def span(self, node: Node, end: Node | None = None) -> Span:
        last = end or node
        return Span(self._position(node.start_byte, *node.start_point), self._position(last.end_byte, *last.end_point))

    def _position(self, byte: int, row: int, byte_column: int) -> Position:
        return Position(row, self.columns.column(byte, byte_column))

    def refer(self, name: str, scope: _Scope, parts: Sequence[Node], shift: int = 0) -> None:
        places = self.references.setdefault((name, scope.name, scope.owner), [])
        for part in parts:
            start = self._position(part.start_byte, *part.start_point)
            places += (start.line, start.column + shift)

    def bind(self, name: str, scope: _Scope) -> None:
        if name not in scope.rebound:
            self.local_names.add((scope.name, name))


_Step = tuple[Node, _Scope]
_Handler = Callable[[_Walk, Node, _Scope], Sequence[_Step]]


def read_facts(path: str, syntax: SyntaxTree) -> FileFacts:
    """The facts in *syntax*, as the file at *path*. Broken source gives what can be read, and problems."""
    if syntax.tree is None:
        return FileFacts(path, problems=(Problem(path, syntax.problem),))
    walk = _Walk(path, syntax.source, code_points(syntax.source))
    root = syntax.tree.root_node
    walk.docstring = docstring(walk.source, root)
    stack: list[_Step] = [(root, _Scope("", None, "", set()))]
    while stack:
        node, scope = stack.pop()
        handle = _HANDLERS.get(node.kind_id)
        if handle is None:
            stack.extend([(child, scope) for child in reversed(node.named_children)])
        else:
            stack.extend(reversed(handle(walk, node, scope)))
    return FileFacts(
        path,
        walk.docstring,
        tuple(walk.definitions),
        tuple(walk.imports),
        tuple(walk.calls),
        tuple(Reference(*where, tuple(places)) for where, places in walk.references.items()),
        frozenset(walk.local_names),
        tuple(_syntax_problems(walk, root)),
    )


def _syntax_problems(walk: _Walk, root: Node) -> Iterator[Problem]:
    n_found = 0
    stack = [root] if root.has_error else []
    while stack and n_found < MAX_SYNTAX_PROBLEMS:
        node = stack.pop()
        if node.is_missing or node.is_error:
            n_found += 1
            what = f"Expected {node.type!r}." if node.is_missing else "Syntax error."
            yield Problem(walk.path, what, walk.span(node))
        else:
            stack.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)


def _visit_decorated(walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    inner = child_of(node, "definition")
    if inner is None or inner.kind_id not in (FUNCTION, CLASS):
        return _visit_children(walk, node, scope)
    return _visit_definition(walk, inner, scope, whole=node)


def _visit_definition(walk: _Walk, node: Node, scope: _Scope, whole: Node | None = None) -> Sequence[_Step]:
    name_node, body = child_of(node, "name"), child_of(node, "body")
    if name_node is None or body is None or name_node.is_missing:
        return _visit_children(walk, node, scope)
    name = walk.text(name_node)
    qualified_name = scope.qualified(name)
    kind = _definition_kind(node, scope)
    decorators = [child for child in (whole or node).named_children if child.kind_id == DECORATOR]
    bases = child_of(node, "superclasses")
    walk.definitions.append(
        Definition(
            path=walk.path,
            name=name,
            qualified_name=qualified_name,
            kind=kind,
            signature=signature(walk.source, node, body),
            docstring=docstring(walk.source, body),
            decorators=tuple(walk.text(decorator).removeprefix("@").strip() for decorator in decorators),
            bases=tuple(base for base in map(_base_name(walk), bases.named_children if bases else ()) if base),
            span=walk.span(whole or node, end=node),
            name_span=walk.span(name_node),
            scope=scope.name,
        )
    )
    header = replace(scope, owner=qualified_name)
    inside = _Scope(qualified_name, kind, qualified_name, set())
    parts = [child for child in node.named_children if child not in (name_node, body)]
    steps: list[_Step] = [(decorator, header) for decorator in decorators]
    for part in parts:
        if part.kind_id == PARAMETERS:
            steps.extend((child, header) for child in _bind_parameters(walk, part, inside))
        elif part.kind_id == TYPE_PARAMETER:
            for child in part.named_children:
                _bind_targets(walk, child, inside)
        else:
            steps.append((part, header))
    return [*steps, (body, inside)]


def _definition_kind(node: Node, scope: _Scope) -> DefinitionKind:
    if node.kind_id == CLASS:
        return "class"
    return "method" if scope.kind == "class" else "function"


def _base_name(walk: _Walk) -> Callable[[Node], str]:
    def name(node: Node) -> str:
        value = child_of(node, "value") if node.kind_id == SUBSCRIPT else node
        dotted, _, rest = dotted_name(walk.source, value) if value else ("", [], None)
        return "" if rest else dotted

    return name


def _visit_assignment(walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    left, right, annotation = (child_of(node, name) for name in ("left", "right", "type"))
    steps: list[_Step] = []
    if left is not None:
        steps.extend((target, scope) for target in _define_targets(walk, left, node, scope))
    return [*steps, *((part, scope) for part in (annotation, right) if part is not None)]


def _visit_type_alias(walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    left, right = child_of(node, "left"), child_of(node, "right")
    if left is not None and left.named_child_count:
        _define_targets(walk, left.named_children[0], node, scope)
    return [(right, scope)] if right is not None else []


def _define_targets(walk: _Walk, target: Node, statement: Node, scope: _Scope) -> list[Node]:
    """Bind what *statement* assigns to; return the parts of *target* that are read instead."""
    if scope.kind not in (None, "class"):
        return _bind_targets(walk, target, scope)
    names, rest = bound_names(target)
    for node in names:
        name = walk.text(node)
        if (scope.name, name) not in walk.variables:
            walk.variables.add((scope.name, name))
            walk.definitions.append(_variable(walk, name, node, statement, scope))
    return rest


def _variable(walk: _Walk, name: str, node: Node, statement: Node, scope: _Scope) -> Definition:
    return Definition(
        path=walk.path,
        name=name,
        qualified_name=scope.qualified(name),
        kind="variable",
        signature=variable_signature(walk.source, statement),
        docstring="",
        decorators=(),
        bases=(),
        span=walk.span(statement),
        name_span=walk.span(node),
        scope=scope.name,
    )


def _bind_parameters(walk: _Walk, parameters: Node, scope: _Scope) -> list[Node]:
    """Bind the parameters in *scope*; return their annotations and defaults."""
    read: list[Node] = []
    for parameter in parameters.named_children:
        name = child_of(parameter, "name")
        if name is None and parameter.kind_id == TYPED_PARAMETER and parameter.named_child_count:
            name = parameter.named_children[0]
        read.extend(_bind_targets(walk, name or parameter, scope))
        read.extend(part for part in (child_of(parameter, "type"), child_of(parameter, "value")) if part)
    return read


def _bind_targets(walk: _Walk, target: Node, scope: _Scope) -> list[Node]:
    names, rest = bound_names(target)
    for node in names:
        walk.bind(walk.text(node), scope)
    return rest


def _binds_field(name: str) -> _Handler:
    """A handler that binds the field *name* and visits everything else."""

    def visit(walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
        target = child_of(node, name)
        if target is None:
            return _visit_children(walk, node, scope)
        read = _bind_targets(walk, target, scope)
        return [(part, scope) for part in (*read, *(c for c in node.named_children if c != target))]

    return visit


def _visit_as(walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    children = node.named_children
    read = [part for target in children[1:] for part in _bind_targets(walk, target, scope)]
    return [(part, scope) for part in (*children[:1], *read)]


def _visit_splat_pattern(walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    return [(part, scope) for child in node.named_children for part in _bind_targets(walk, child, scope)]


def _visit_lambda(walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    parameters, body = child_of(node, "parameters"), child_of(node, "body")
    # A lambda has no scope of its own here: its parameters count as names of unknown value around it.
    read = _bind_parameters(walk, parameters, scope) if parameters is not None else []
    return [(part, scope) for part in (*read, body) if part is not None]


def _visit_case_pattern(walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    children = node.named_children
    if len(children) == 1 and _is_capture(children[0]):
        walk.bind(walk.text(children[0]), scope)
        return ()
    return _visit_children(walk, node, scope)


def _visit_keyword_pattern(walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    values = node.named_children[1:]
    for value in values:
        if _is_capture(value):
            walk.bind(walk.text(value), scope)
    return [(value, scope) for value in values if not _is_capture(value)]


def _is_capture(pattern: Node) -> bool:
    return pattern.kind_id == DOTTED and pattern.named_child_count == 1


def _visit_rebinding(walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    names = {walk.text(child) for child in node.named_children}
    scope.rebound.update(names)
    walk.local_names.difference_update((scope.name, name) for name in names)
    return ()


def _visit_import(walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    span = walk.span(node)
    for child in node.named_children:
        name, alias, name_node = _imported(walk, child)
        if name:
            walk.imports.append(Import(name, None, alias, 0, scope.name, span, walk.span(name_node)))
    return ()


def _visit_import_from(walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    span = walk.span(node)
    source = child_of(node, "module_name")
    dotted = "".join(walk.text(source).split()) if source is not None else "__future__"
    module = dotted.lstrip(".")
    for child in node.named_children:
        if child == source:
            continue
        name, alias, name_node = ("*", None, child) if child.kind_id == WILDCARD else _imported(walk, child)
        if name:
            level = len(dotted) - len(module)
            walk.imports.append(Import(module, name, alias, level, scope.name, span, walk.span(name_node)))
    return ()


def _imported(walk: _Walk, node: Node) -> tuple[str, str | None, Node]:
    name = node if node.kind_id == DOTTED else child_of(node, "name")
    alias = child_of(node, "alias")
    return "".join(walk.text(name).split()) if name else "", walk.text(alias) if alias else None, name or node


def _visit_call(walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    function = child_of(node, "function")
    if function is not None:
        callee, *_ = dotted_name(walk.source, function)
        if callee:
            walk.calls.append(Call(callee, walk.span(node), scope.name))
    return _visit_children(walk, node, scope)


def _visit_name(walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    name, parts, rest = dotted_name(walk.source, node)
    if not name:
        return _visit_children(walk, node, scope)
    walk.refer(name, scope, parts)
    return [(rest, scope)] if rest is not None else ()


def _visit_dotted_name(walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    parts = node.named_children
    walk.refer(".".join(map(walk.text, parts)), scope, parts)
    return ()


def _visit_type(walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    """An annotation; one that is a string is read as the name it holds."""
    children = node.named_children
    if len(children) == 1 and children[0].kind_id == STRING:
        literal = walk.text(children[0])
        name = literal.strip("\"'")
        if _DOTTED_NAME.fullmatch(name):
            shifts = [literal.index(name), *(literal.index(name) + dot.end() for dot in _DOT.finditer(name))]
            for shift in shifts:
                walk.refer(name, scope, children, shift)
    return [(child, scope) for child in children]


def _visit_string(_walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    return [(child, scope) for child in node.named_children if child.kind_id == INTERPOLATION]


def _visit_value_only(_walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    value = child_of(node, "value")
    return [(value, scope)] if value is not None else ()


def _visit_children(_walk: _Walk, node: Node, scope: _Scope) -> Sequence[_Step]:
    return [(child, scope) for child in node.named_children]


_HANDLERS: dict[int, _Handler] = {
    kind_id("decorated_definition"): _visit_decorated,
    FUNCTION: _visit_definition,
    CLASS: _visit_definition,
    kind_id("assignment"): _visit_assignment,
    kind_id("type_alias_statement"): _visit_type_alias,
    kind_id("named_expression"): _binds_field("name"),
    kind_id("for_statement"): _binds_field("left"),
    kind_id("for_in_clause"): _binds_field("left"),
    kind_id("as_pattern"): _visit_as,
    kind_id("splat_pattern"): _visit_splat_pattern,
    kind_id("lambda"): _visit_lambda,
    kind_id("case_pattern"): _visit_case_pattern,
    kind_id("keyword_pattern"): _visit_keyword_pattern,
    kind_id("global_statement"): _visit_rebinding,
    kind_id("nonlocal_statement"): _visit_rebinding,
    kind_id("import_statement"): _visit_import,
    kind_id("import_from_statement"): _visit_import_from,
    kind_id("future_import_statement"): _visit_import_from,
    CALL: _visit_call,
    ATTRIBUTE: _visit_name,
    IDENTIFIER: _visit_name,
    DOTTED: _visit_dotted_name,
    kind_id("type"): _visit_type,
    STRING: _visit_string,
    kind_id("keyword_argument"): _visit_value_only,
}
