"""Annotations read as values, and the decorators that leave a function's result as its annotation says."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from rolecall_analysis import Definition, FileFacts
from rolecall_analysis.installed.classes import followed
from rolecall_analysis.installed.search_path import CodeModule
from rolecall_analysis.installed.world import World
from rolecall_analysis.queries.arguments.constructors import is_plain_decorator
from rolecall_server.python_trees import parse_expression, parse_python
from rolecall_server.review.names.values import Holding, HoldingWay, ObjectOf, Values, united

_WAYS: dict[str, HoldingWay] = {
    **dict.fromkeys(("list", "List", "set", "Set", "frozenset", "FrozenSet", "deque", "Deque", "Sequence"), "items"),
    **dict.fromkeys(("Iterable", "Iterator", "Collection", "Generator", "MutableSequence"), "items"),
    **dict.fromkeys(("AsyncIterator", "AsyncIterable", "AsyncGenerator"), "items"),
    **dict.fromkeys(("Awaitable", "Coroutine"), "awaited"),
    **dict.fromkeys(("ContextManager", "AbstractContextManager"), "entered"),
    **dict.fromkeys(("AsyncContextManager", "AbstractAsyncContextManager"), "entered"),
}
"""The way in which values of a generic type give those of its argument."""
_LAST = frozenset({"Coroutine"})
"""Types whose last argument is what they give; of others it is the first."""
_INSIDE = frozenset({"Optional", "Final", "Annotated", "ClassVar", "Required", "NotRequired"})

Signature = ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache(maxsize=4096)
def signature_of(definition: Definition) -> Signature | None:
    """Return the header of the function *definition*; None where it cannot be read."""
    try:
        (statement,) = parse_python(f"{definition.signature}: ...").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return statement if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) else None


def is_plain_decorator_of(facts: FileFacts, decorator: str) -> bool:
    """Return whether *decorator* leaves what the function gives as the function says."""
    name = decorator.partition("(")[0].rpartition(".")[2]
    return is_plain_decorator(facts, decorator) or name in (
        "property",
        "cached_property",
        "abstractmethod",
        "deprecated",
    )


@dataclass(frozen=True)
class Annotations:
    """The place where annotations stand: what their names mean, and what ``Self`` is."""

    world: World
    module: CodeModule
    scope: str
    receiver: ObjectOf | Definition | None = None
    """The object or class that a method was read from."""
    signature: Signature | None = None
    """The method's own header."""

    def values(self, node: ast.expr) -> Values:
        """Return the values that the annotation *node* stands for."""
        match node:
            case ast.Constant(value=str(text)):
                try:
                    return self.values(parse_expression(text))
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    return None
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return united([self.values(one) for one in (left, right) if not _is_none(one)])
            case ast.Subscript(value=base, slice=inner):
                return self._in_subscript(base, list(inner.elts) if isinstance(inner, ast.Tuple) else [inner])
            case ast.Name() | ast.Attribute():
                return self._named(node)
            case _:
                return None

    def _in_subscript(self, base: ast.expr, parts: list[ast.expr]) -> Values:
        name = base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""
        if name in _INSIDE:
            return self.values(parts[0])
        if name == "Union":
            return united([self.values(one) for one in parts if not _is_none(one)])
        if (way := _WAYS.get(name)) is not None:
            return (Holding(way, self.values(parts[-1 if name in _LAST else 0])),)
        return self._named(base) if name not in ("type", "Type") else None

    def _named(self, node: ast.expr) -> Values:
        dotted = ast.unparse(node)
        if dotted.rpartition(".")[2] == "Self" or _is_own_type(dotted, self.signature):
            return _as_object(self.receiver)
        held = followed(self.world, self.world.resolve(self.module, self.scope, dotted))
        classes = [one for one in held.things if isinstance(one, Definition) and one.kind == "class"]
        if not held.is_all or not classes or len(classes) < len(held.things):
            return None
        return tuple(ObjectOf(one, is_exact=False) for one in classes)


def _is_own_type(dotted: str, signature: Signature | None) -> bool:
    """Return whether *dotted* is the type variable that the method's own first parameter has."""
    if signature is None or not (signature.args.posonlyargs or signature.args.args):
        return False
    note = (*signature.args.posonlyargs, *signature.args.args)[0].annotation
    # A class method says `cls: type[T]` where a method says `self: T`: both give a `T`.
    return note is not None and ast.unparse(note).removeprefix("type[").removesuffix("]") == dotted


def _as_object(receiver: ObjectOf | Definition | None) -> Values:
    if isinstance(receiver, ObjectOf):
        return (receiver,)
    return (ObjectOf(receiver, is_exact=False),) if isinstance(receiver, Definition) else None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
