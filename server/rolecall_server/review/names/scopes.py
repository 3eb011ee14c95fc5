"""The scopes of a Python text, and the places where each binds its names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeGuard

BindingKind = Literal["import", "definition", "value", "annotated", "parameter", "item", "entered", "caught", "other"]

ScopeNode = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.expr

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LEAVES = (ast.Constant, ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop, ast.alias)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_CHECKS = frozenset({"isinstance", "issubclass", "hasattr", "getattr", "setattr", "callable", "type", "cast"})


@dataclass(frozen=True)
class Binding:
    """One place that gives a name a value."""

    kind: BindingKind
    node: ast.AST
    """The statement of an import or definition, the value that is assigned, what is iterated or entered."""
    note: ast.expr | None = None
    """The annotation, where there is one."""


@dataclass(eq=False)
class NameScope:
    """One scope of a text."""

    node: ScopeNode
    parent: NameScope | None
    qualified_name: str
    """As the code graph calls it; empty for the module."""
    bindings: dict[str, list[Binding]] = field(default_factory=dict[str, list[Binding]])
    elsewhere: set[str] = field(default_factory=set[str])
    """The names that it declares ``global`` or ``nonlocal``."""
    checked: set[str] = field(default_factory=set[str])
    """The expressions whose type it looks at, as written."""

    @property
    def is_class(self) -> bool:
        """Return whether it is the body of a class, whose names the functions in it do not see."""
        return isinstance(self.node, ast.ClassDef)

    def outwards(self) -> Iterator[NameScope]:
        """Yield this scope and those around it that it sees the names of."""
        yield self
        scope = self.parent
        while scope is not None:
            if not scope.is_class:
                yield scope
            scope = scope.parent

    def add(self, name: str, binding: Binding) -> None:
        """Note that *binding* gives *name* a value here."""
        self.bindings.setdefault(name, []).append(binding)


@dataclass(frozen=True)
class Scopes:
    """The scopes of a text."""

    module: NameScope
    of: dict[ast.AST, NameScope]
    """The scope whose names each expression and statement sees."""
    inside: dict[ast.AST, NameScope]
    """The scope that each function, class and comprehension makes."""

    @cached_property
    def named(self) -> dict[str, list[NameScope]]:
        """The scopes by their qualified names."""
        found: dict[str, list[NameScope]] = {}
        for one in self.inside.values():
            found.setdefault(one.qualified_name, []).append(one)
        return found

    @cached_property
    def assigned_to_self(self) -> dict[tuple[str, str], list[ast.expr]]:
        """The values that methods assign to attributes of ``self``, by the class and the attribute."""
        found: dict[tuple[str, str], list[ast.expr]] = {}
        for node, scope in self.of.items():
            if isinstance(node, ast.Assign) and scope.parent is not None and scope.parent.is_class:
                for target in node.targets:
                    if _is_of_self(target):
                        found.setdefault((scope.parent.qualified_name, target.attr), []).append(node.value)
        return found

    @cached_property
    def assigned_elsewhere(self) -> frozenset[str]:
        """The attributes that are assigned in other ways, or to other things than ``self`` in a method."""
        plain = {
            id(target)
            for node, scope in self.of.items()
            if isinstance(node, ast.Assign) and scope.parent is not None and scope.parent.is_class
            for target in node.targets
            if _is_of_self(target)
        }
        stored = (node for node in self.of if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load))
        return frozenset(node.attr for node in stored if id(node) not in plain)

    @cached_property
    def declared(self) -> frozenset[str]:
        """The names that some scope declares ``global`` or ``nonlocal``."""
        return frozenset(name for one in self.inside.values() for name in one.elsewhere)

    @cached_property
    def given_back(self) -> dict[NameScope, list[ast.AST]]:
        """The ``return`` and ``yield`` of each scope."""
        found: dict[NameScope, list[ast.AST]] = {}
        for node, scope in self.of.items():
            if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom):
                found.setdefault(scope, []).append(node)
        return found


def scopes_of(tree: ast.Module) -> Scopes:
    """Return the scopes of *tree*."""
    found = Scopes(NameScope(tree, None, ""), {}, {})
    found.inside[tree] = found.module
    _read(found, found.module, tree.body)
    return found


def _is_of_self(target: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"


def _read(found: Scopes, scope: NameScope, nodes: list[ast.stmt] | list[ast.expr]) -> None:
    waiting: list[tuple[NameScope, ast.AST]] = [(scope, node) for node in reversed(nodes)]
    while waiting:
        scope, node = waiting.pop()
        found.of[node] = scope
        _note(scope, node)
        waiting.extend(reversed(list(_below(found, scope, node))))


def _below(found: Scopes, scope: NameScope, node: ast.AST) -> Iterator[tuple[NameScope, ast.AST]]:
    """Yield what lies directly in *node*, each with the scope whose names it sees."""
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        inner = _opened(found, scope, node, node.name)
        yield from ((scope, one) for one in node.decorator_list)
        if isinstance(node, ast.ClassDef):
            yield from ((scope, one) for one in (*node.bases, *node.keywords))
        else:
            _note_parameters(inner, node.args)
            # Defaults and annotations are evaluated outside of the function.
            yield scope, node.args
            yield from ((scope, one) for one in (node.returns,) if one is not None)
        yield from ((inner, one) for one in node.body)
    elif isinstance(node, ast.Lambda):
        inner = _opened(found, scope, node, "<lambda>")
        _note_parameters(inner, node.args)
        yield scope, node.args
        yield inner, node.body
    elif isinstance(node, _COMPREHENSIONS):
        inner = _opened(found, scope, node, "<comprehension>")
        yield from ((inner, one) for one in ast.iter_child_nodes(node))
    elif not isinstance(node, _LEAVES):
        yield from ((scope, one) for one in ast.iter_child_nodes(node) if not isinstance(one, _LEAVES))


def _opened(found: Scopes, scope: NameScope, node: ScopeNode, name: str) -> NameScope:
    inner = NameScope(node, scope, f"{scope.qualified_name}.{name}".lstrip("."))
    found.inside[node] = inner
    return inner


def _note_parameters(scope: NameScope, given: ast.arguments) -> None:
    for one in (*given.posonlyargs, *given.args, *given.kwonlyargs):
        scope.add(one.arg, Binding("parameter", one, one.annotation))
    # The annotation of `*args` is that of each element, and not of the tuple that the name holds.
    for one in filter(None, (given.vararg, given.kwarg)):
        scope.add(one.arg, Binding("other", one))


def _note(scope: NameScope, node: ast.AST) -> None:
    """Note what *node* itself binds in *scope*, or looks at there."""
    match node:
        case ast.Import() | ast.ImportFrom():
            for one in node.names:
                name = one.asname or (one.name.partition(".")[0] if isinstance(node, ast.Import) else one.name)
                scope.add(name, Binding("import", node))
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            scope.add(node.name, Binding("definition", node))
        case ast.Assign():
            for target in node.targets:
                _note_target(scope, target, Binding("value", node.value))
        case ast.AnnAssign():
            _note_target(scope, node.target, Binding("annotated", node.value or node.annotation, node.annotation))
        case ast.NamedExpr():
            # `:=` in a comprehension binds its name in the scope around that.
            _note_target(_outside_comprehensions(scope), node.target, Binding("value", node.value))
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            _note_target(scope, node.target, Binding("item", node.iter))
        case ast.withitem(optional_vars=ast.expr() as target):
            _note_target(scope, target, Binding("entered", node.context_expr))
        case _:
            _note_others(scope, node)


def _note_others(scope: NameScope, node: ast.AST) -> None:
    match node:
        case ast.AugAssign():
            _note_target(scope, node.target, Binding("other", node))
        case ast.Global() | ast.Nonlocal():
            scope.elsewhere.update(node.names)
        case ast.ExceptHandler(name=str(name), type=ast.expr() as caught):
            scope.add(name, Binding("caught", caught))
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            scope.add(name, Binding("other", node))
        case ast.MatchMapping(rest=str(name)):
            scope.add(name, Binding("other", node))
        case ast.Delete():
            for target in node.targets:
                _note_target(scope, target, Binding("other", node))
        case ast.Match():
            scope.checked.add(ast.unparse(node.subject))
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _CHECKS:
            scope.checked.update(ast.unparse(one) for one in node.args)
        case _:
            pass


def _note_target(scope: NameScope, target: ast.expr, binding: Binding) -> None:
    if isinstance(target, ast.Name):
        scope.add(target.id, binding)
    elif isinstance(target, ast.Tuple | ast.List | ast.Starred):
        for one in ast.walk(target):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store | ast.Del):
                scope.add(one.id, Binding("other", binding.node))


def _outside_comprehensions(scope: NameScope) -> NameScope:
    while isinstance(scope.node, _COMPREHENSIONS) and scope.parent is not None:
        scope = scope.parent
    return scope
