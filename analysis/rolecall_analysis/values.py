"""The facts of the code graph about source text: frozen values, no tree, no file handle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Literal, TypeVar

from msgspec import Struct

DefinitionKind = Literal["class", "interface", "module", "type", "function", "method", "variable", "macro"]
"""``module`` is a namespace, package or module block inside a file, ``type`` an alias or another type without members
the graph follows. Python has only class, function, method and variable."""

_PROPERTY_DECORATORS = frozenset({"property", "cached_property", "setter", "getter", "deleter", "abstractproperty"})

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


# `gc=False`, here and below: there are very many, they form no circles, and the collector need not look at them.
class Position(Struct, frozen=True, order=True, gc=False, array_like=True):
    """A place between two characters."""

    line: int
    """0-based; lines end as in the Language Server Protocol: CRLF, LF or a lone CR."""
    column: int
    """0-based, in code points of the line."""


class Span(Struct, frozen=True, order=True, gc=False, array_like=True):
    """The text from *start* up to, and without, *end*."""

    start: Position
    end: Position


class Problem(Struct, frozen=True, gc=False, array_like=True):
    """The reason why the facts about a file, or a part of it, may be incomplete."""

    path: str
    message: str
    span: Span | None = None
    """None: the whole file, or folder."""


class Definition(Struct, frozen=True, gc=False, array_like=True):
    """A class, function or method, a variable of a module or of a class body, or an attribute of a class's objects.

    An attribute is a variable of the class, told where a method first assigns it (``self.total = 0``) unless the
    class's body defines it; its span lies in the method.
    """

    path: str
    name: str
    qualified_name: str
    """Dotted within the module: ``Cart.total``; a nested function is ``checkout.round_up``."""
    kind: DefinitionKind
    signature: str
    """``class Cart(Base)``, ``def total(self) -> int`` or ``LIMIT: int = 3``, on one line where it can be."""
    docstring: str
    """Dedented, escapes as written; empty if there is none."""
    decorators: tuple[str, ...]
    """As written, without the ``@``."""
    bases: tuple[str, ...]
    """The dotted names of a class's positional bases; those that are not names are absent."""
    span: Span
    """From the first decorator to the last statement."""
    name_span: Span
    scope: str
    """The qualified name of the definition that holds this one; empty in the module itself."""

    @property
    def is_property(self) -> bool:
        """Return whether reading the attribute runs the definition: a Python property, as its decorators say."""
        return any(one.rpartition(".")[2] in _PROPERTY_DECORATORS for one in self.decorators)


class Import(Struct, frozen=True, gc=False, array_like=True):
    """One name that an import statement binds, or one star."""

    module: str
    """Dotted, without the leading dots: ``shop.price``; empty in ``from . import price``."""
    name: str | None
    """The name taken from the module, ``*`` for everything; None in ``import shop.price``."""
    alias: str | None
    level: int
    """The number of leading dots."""
    scope: str
    span: Span
    """The whole statement."""
    name_span: Span
    """The words that name what is imported: ``shop.price`` in ``import shop.price as price``, ``total`` in
    ``from shop import total``, the star."""
    for_types_only: bool = False
    """It stands under ``if TYPE_CHECKING:``, so that only type checkers run it."""

    @property
    def is_star(self) -> bool:
        """Return whether the import binds every public name of the module."""
        return self.name == "*"

    @property
    def bound_name(self) -> str:
        """The name it binds: ``import shop.price`` binds ``shop``."""
        return self.alias or self.name or self.module.partition(".")[0]


class Call(Struct, frozen=True, gc=False, array_like=True):
    """One call of something that has a name."""

    callee: str
    """Dotted, as written: ``price.total``, ``self.total``, ``super().total``; ``?.total`` on an expression."""
    span: Span
    scope: str
    """The qualified name of the scope whose names the call sees; empty for the module. A lambda, a comprehension and
    a generic type alias are scopes with made-up names: ``Cart.total.<lambda1>``."""

    @property
    def name(self) -> str:
        """The last part of the callee."""
        return self.callee.rpartition(".")[2]


class Reference(Struct, frozen=True, gc=False, array_like=True):
    """A name, or a dotted chain of names, that is read somewhere in a scope (told once per scope and owner)."""

    name: str
    """Dotted, as a callee: ``Cart``, ``price.total``."""
    scope: str
    """The scope whose names it sees."""
    owner: str
    """The definition in whose text it stands: a decorator's names are its function's, but seen from outside."""
    places: tuple[int, ...] = ()
    """Line and column, in turn, of the start of each part of the name, for each time it is read: ``price.total`` read
    twice has eight numbers. A part that is no name, as in ``?.total``, has the place where its text begins."""


# No generated `__eq__`: it finds objects of a subclass different, and facts that are read from bytes are of one.
@dataclass(frozen=True, eq=False)
class FileFacts:
    """The facts that one file tells. Everything is in the order of the source."""

    path: str
    # Factories even for constants: a plain default would be an attribute of the class, and hide from the
    # `__getattr__` of facts in bytes that a field is not decoded yet.
    docstring: str = field(default_factory=str)
    definitions: tuple[Definition, ...] = field(default_factory=tuple[Definition, ...])
    imports: tuple[Import, ...] = field(default_factory=tuple[Import, ...])
    calls: tuple[Call, ...] = field(default_factory=tuple[Call, ...])
    references: tuple[Reference, ...] = field(default_factory=tuple[Reference, ...])
    local_names: frozenset[tuple[str, str]] = field(default_factory=frozenset[tuple[str, str]])
    """(scope, name) of parameters, loop variables and other bindings that are not definitions or imports."""
    problems: tuple[Problem, ...] = field(default_factory=tuple[Problem, ...])
    exported: tuple[str, ...] | None = field(default_factory=lambda: None)
    """The names in ``__all__``, where they can be read off; None without one. An entry ``price.__all__`` stands for
    the names that the module ``price`` exports."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FileFacts):
            return NotImplemented
        return all(getattr(self, one.name) == getattr(other, one.name) for one in fields(FileFacts))

    def __hash__(self) -> int:
        return hash(self.path)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every identifier that is defined, imported or read, for search by words."""
        dotted = [reference.name for reference in self.references]
        dotted += [definition.name for definition in self.definitions]
        dotted += [f"{one.module}.{one.name or ''}.{one.alias or ''}" for one in self.imports]
        return frozenset(part for name in dotted for part in name.split(".")) - {"", "?", "*", "super()"}

    @cached_property
    def definitions_by_name(self) -> dict[tuple[str, str], tuple[Definition, ...]]:
        """Definitions by (scope, name)."""
        return _grouped(((found.scope, found.name), found) for found in self.definitions)

    @cached_property
    def imports_by_name(self) -> dict[tuple[str, str], tuple[Import, ...]]:
        """Imports by (scope, bound name); stars under ``*``."""
        return _grouped(((found.scope, found.bound_name), found) for found in self.imports)


def _grouped(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, tuple[_Value, ...]]:
    groups: dict[_Key, list[_Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in groups.items()}
