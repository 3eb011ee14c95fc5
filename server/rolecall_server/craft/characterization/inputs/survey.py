"""A survey of what the text of a module says about its calls: its callables, its classes, the values it names."""

from __future__ import annotations

import ast
import builtins
import doctest
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rolecall_server.python_trees import parse_python

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef
TargetKind = Literal["function", "constructor", "method", "class method", "property", "setter"]

_OPERATIONS = {
    "__eq__": "{0} == {1}",
    "__ne__": "{0} != {1}",
    "__lt__": "{0} < {1}",
    "__le__": "{0} <= {1}",
    "__gt__": "{0} > {1}",
    "__ge__": "{0} >= {1}",
    "__add__": "{0} + {1}",
    "__radd__": "{1} + {0}",
    "__sub__": "{0} - {1}",
    "__rsub__": "{1} - {0}",
    "__mul__": "{0} * {1}",
    "__rmul__": "{1} * {0}",
    "__truediv__": "{0} / {1}",
    "__floordiv__": "{0} // {1}",
    "__mod__": "{0} % {1}",
    "__pow__": "{0} ** {1}",
    "__and__": "{0} & {1}",
    "__or__": "{0} | {1}",
    "__xor__": "{0} ^ {1}",
    "__lshift__": "{0} << {1}",
    "__rshift__": "{0} >> {1}",
    "__matmul__": "{0} @ {1}",
    "__neg__": "-{0}",
    "__pos__": "+{0}",
    "__invert__": "~{0}",
    "__abs__": "abs({0})",
    "__len__": "len({0})",
    "__str__": "str({0})",
    "__repr__": "repr({0})",
    "__bool__": "bool({0})",
    "__int__": "int({0})",
    "__float__": "float({0})",
    "__iter__": "list({0})",
    "__reversed__": "list(reversed({0}))",
    "__contains__": "{1} in {0}",
    "__getitem__": "{0}[{1}]",
    "__call__": "",
    "__getattr__": "",
    "__format__": "format({0}, {1})",
    "__hash__": "hash({0}) == hash({1})",
}
"""The expression that uses a special method; without a template as any other method, or not at all."""


@dataclass(frozen=True)
class CallableParameter:
    """One parameter of a callable."""

    name: str
    annotation: ast.expr | None = None
    default: ast.expr | None = None
    keyword_only: bool = False
    positional_only: bool = False
    many: Literal["", "*", "**"] = ""

    @property
    def optional(self) -> bool:
        """Return whether a call may leave the parameter out."""
        return self.default is not None or bool(self.many)


@dataclass(frozen=True)
class CallTarget:
    """Something of the module that can be called, read, set or compared."""

    qualified_name: str
    kind: TargetKind
    parameters: tuple[CallableParameter, ...]
    """Without ``self`` and ``cls``."""
    node: AnyFunction | ast.ClassDef
    owner: str = ""
    """The class it belongs to."""

    @property
    def name(self) -> str:
        """The last part of the qualified name."""
        return self.qualified_name.rpartition(".")[2]

    @property
    def is_of_object(self) -> bool:
        """Return whether it needs an object of its class."""
        return self.kind in ("method", "property", "setter")

    @property
    def is_async(self) -> bool:
        """Return whether a call of the target is awaited."""
        return isinstance(self.node, ast.AsyncFunctionDef)

    @property
    def operation(self) -> str:
        """The template of an operator; empty for what is called by name."""
        return _OPERATIONS.get(self.name, "") if self.kind == "method" else ""

    @property
    def lines(self) -> range:
        """The lines of its text, counted from 1."""
        return range(self.node.lineno, (self.node.end_lineno or self.node.lineno) + 1)


@dataclass(frozen=True)
class Survey:
    """A module as its text tells it."""

    tree: ast.Module
    targets: tuple[CallTarget, ...]
    classes: Mapping[str, ast.ClassDef]
    aliases: Mapping[str, ast.expr]
    """Names that stand for a type."""
    names: frozenset[str]
    """Everything that is bound at the top of the module."""
    imported: Mapping[str, str]
    """The names among them that come from elsewhere, and the dotted name of each there."""
    examples: tuple[ast.Module, ...]
    """The examples of each docstring."""
    borrowed: frozenset[str] = frozenset()
    """The names of other modules of the repository that arguments may use."""
    private: tuple[CallTarget, ...] = ()
    """Functions and methods that are not public: called where nothing public leads to them."""


def survey(text: str) -> Survey:
    """Return a survey of the module *text*.

    Raises:
        SyntaxError: this Python cannot parse it.
    """
    tree = parse_python(text)
    statements = list(_top_level(tree.body))
    classes = {node.name: node for node in statements if isinstance(node, ast.ClassDef)}
    return Survey(
        tree=tree,
        targets=tuple(_targets(statements, classes, _is_public)),
        private=tuple(_targets(statements, classes, _is_private)),
        classes=classes,
        aliases=dict(_aliases(statements)),
        names=frozenset(_bound(statements)),
        imported=dict(imports_in(statements)),
        examples=tuple(_examples(tree)),
    )


def _top_level(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, those under its conditions too."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from _top_level(node.body)
            yield from _top_level(node.orelse)
        elif isinstance(node, ast.Try):
            yield from _top_level(node.body)
            yield from (one for handler in node.handlers for one in _top_level(handler.body))
            yield from _top_level(node.orelse)


def _targets(
    statements: Sequence[ast.stmt], classes: Mapping[str, ast.ClassDef], fits: Callable[[AnyFunction], bool]
) -> Iterator[CallTarget]:
    """Yield the functions that fit, and the classes that are public with their methods that fit."""
    seen: set[str] = set()
    for node in statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and fits(node):
            if node.name not in seen:
                yield CallTarget(node.name, "function", _parameters(node, bound=False), node)
            seen.add(node.name)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            if fits is _is_public:
                yield CallTarget(node.name, "constructor", constructor_parameters(node, classes) or (), node, node.name)
            yield from _methods(node, fits)


def _is_public(node: AnyFunction) -> bool:
    overloads = any(name.endswith("overload") for name in decorator_names(node))
    return not overloads and (not node.name.startswith("_") or node.name in _OPERATIONS)


def _is_private(node: AnyFunction) -> bool:
    return is_private(node.name)


def is_private(qualified_name: str) -> bool:
    """Return whether a function is not meant to be called from elsewhere."""
    name = qualified_name.rpartition(".")[2]
    # Two underscores: the name is another one outside of the class.
    return name.startswith("_") and not name.startswith("__")


def _methods(node: ast.ClassDef, fits: Callable[[AnyFunction], bool]) -> Iterator[CallTarget]:
    seen: set[str] = set()
    for below in _top_level(node.body):
        if not isinstance(below, ast.FunctionDef | ast.AsyncFunctionDef) or not fits(below):
            continue
        names = decorator_names(below)
        qualified = f"{node.name}.{below.name}"
        if f"{below.name}.setter" in names:
            yield CallTarget(f"{qualified}.setter", "setter", _parameters(below, bound=True), below, node.name)
        if below.name in seen:
            continue
        seen.add(below.name)
        if any(name.endswith("property") for name in names):
            yield CallTarget(qualified, "property", (), below, node.name)
        elif "staticmethod" in names:
            yield CallTarget(qualified, "class method", _parameters(below, bound=False), below, node.name)
        elif "classmethod" in names:
            yield CallTarget(qualified, "class method", _parameters(below, bound=True), below, node.name)
        else:
            yield CallTarget(qualified, "method", _parameters(below, bound=True), below, node.name)


def constructor_parameters(
    node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]
) -> tuple[CallableParameter, ...] | None:
    """Return the parameters with which the class is built; None where its text does not say."""
    methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
    bases = [last_name(base) for base in node.bases]
    # Of a name that is bound twice one class is known, so that bases may lead in a circle.
    others = {name: one for name, one in classes.items() if one is not node}
    for name in ("__init__", "__new__"):
        if name in methods:
            own = _parameters(methods[name], bound=True)
            above = next((others[base] for base in bases if base in others), None)
            passed_on = above is not None and bool(own) and all(one.many for one in own)
            return (constructor_parameters(above, others) if passed_on and above is not None else None) or own
    inherited: list[CallableParameter] = []
    for base in bases:
        if base in others:
            found = constructor_parameters(others[base], others)
            if found and not is_record(node):
                return found
            inherited += found or ()
    if is_record(node):
        return (*inherited, *_fields(node))
    return () if not bases else None


def is_record(node: ast.ClassDef) -> bool:
    """Return whether the class gets its constructor from its annotated fields."""
    # `attr.s`, and `attr.ib` below, are the old names in attrs.
    decorated = any(name.rpartition(".")[2] in ("dataclass", "define", "frozen", "s") for name in decorator_names(node))
    return decorated or any(last_name(base) == "NamedTuple" for base in node.bases)


def _fields(node: ast.ClassDef) -> Iterator[CallableParameter]:
    for one in node.body:
        if not isinstance(one, ast.AnnAssign) or not isinstance(one.target, ast.Name):
            continue
        if "ClassVar" in ast.unparse(one.annotation):
            continue
        default = one.value
        if isinstance(default, ast.Call) and last_name(default.func) in ("field", "ib"):
            given = {word.arg: word.value for word in default.keywords}
            if isinstance(given.get("init"), ast.Constant):
                continue
            default = given.get("default") or given.get("default_factory")
        yield CallableParameter(one.target.id, one.annotation, default)


def decorator_names(node: AnyFunction | ast.ClassDef) -> list[str]:
    """Return the dotted names of the decorators, without what they are called with."""
    return [ast.unparse(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list]


def _parameters(node: AnyFunction, *, bound: bool) -> tuple[CallableParameter, ...]:
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [*[None] * (len(plain) - len(given.defaults)), *given.defaults]
    found = [
        CallableParameter(one.arg, one.annotation, default, positional_only=one in given.posonlyargs)
        for one, default in zip(plain, defaults, strict=True)
    ]
    found = found[1:] if bound else found
    if given.vararg is not None:
        found.append(CallableParameter(given.vararg.arg, given.vararg.annotation, many="*"))
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        found.append(CallableParameter(one.arg, one.annotation, default, keyword_only=True))
    if given.kwarg is not None:
        found.append(CallableParameter(given.kwarg.arg, given.kwarg.annotation, many="**"))
    return tuple(found)


def operation_of(name: str, n_arguments: int) -> str:
    """Return the template of the expression that uses a special method with so many arguments; empty without one."""
    template = _OPERATIONS.get(name, "")
    return template if template.count("{") == n_arguments + 1 else ""


def bound_names(known: Survey) -> frozenset[str]:
    """Return the names that a module binds itself, without those that it imports."""
    return known.names - known.imported.keys()


def _aliases(statements: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in statements:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield from [(node.target.id, node.value)] if "TypeAlias" in ast.unparse(node.annotation) else []


def _bound(statements: Sequence[ast.stmt]) -> Iterator[str]:
    for node in statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((one.asname or one.name).partition(".")[0] for one in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.For):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))


def imports_in(statements: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    for node in statements:
        if isinstance(node, ast.ImportFrom):
            yield from ((one.asname or one.name, f"{node.module}.{one.name}") for one in node.names)
        elif isinstance(node, ast.Import):
            yield from ((one.asname, one.name) if one.asname else (one.name, one.name) for one in node.names)


def _examples(tree: ast.Module) -> Iterator[ast.Module]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            documentation = ast.get_docstring(node)
            if documentation and ">>>" in documentation:
                yield ast.Module([one for source in _doctest_sources(documentation) for one in _parsed(source)], [])


def _doctest_sources(documentation: str) -> list[str]:
    try:
        return [example.source for example in doctest.DocTestParser().get_examples(documentation)]
    except ValueError:
        return []


def _parsed(source: str) -> list[ast.stmt]:
    try:
        return parse_python(source).body
    except (SyntaxError, ValueError):
        return []


def last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return last_name(node.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


BUILTIN_NAMES = frozenset(vars(builtins))
