"""The steps that a module takes with values: flat lists over the numbered variables of its scopes.

A variable is an index into its scope's variables; ``NOTHING`` stands for a value nobody follows and
``LITERAL`` for one of a built-in type, such as a number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

NOTHING = -1
LITERAL = -2

RETURNED = 0
"""The variable of a function's returned values."""
YIELDED = 1
"""The variable of the values a generator yields."""

ScopeKind = Literal["module", "class", "function", "lambda"]
ParameterKind = Literal["positional only", "positional", "rest", "keyword only", "keywords"]
CallKind = Literal["call", "decorator", "property", "with", "iteration", "raise", "operator", "callback"]
Receiver = Literal["name", "self", "super", "value"]
"""The called thing, as written: a bare name, an attribute of a method's first parameter, of ``super()``, of more."""


KEYS = "keys"
"""The key under which a container keeps its keys; literal keys are digits or quoted, so none is called so."""

SLICED = "slice"
"""The key of a load of some of the elements, for which the same holds."""

ItemLoad = tuple[int, int, str | None, int, int]
ItemStore = tuple[int, str | None, int, int, int]


@dataclass(frozen=True, slots=True)
class ParameterVariable:
    """One parameter of a function and the variable that holds it."""

    name: str
    variable: int
    kind: ParameterKind
    has_default: bool


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a call, as variables (later as nodes); those of values nobody follows are negative."""

    positional: tuple[int, ...] = ()
    starred: tuple[int, ...] = ()
    """The arguments that are spread with ``*``."""
    keywords: tuple[tuple[str, int], ...] = ()
    double_starred: tuple[int, ...] = ()
    texts: tuple[str | None, ...] = ()
    """The texts of those positional arguments that are plain strings."""

    def __bool__(self) -> bool:
        """Return whether anything is passed."""
        return bool(self.positional or self.starred or self.keywords or self.double_starred)


NO_ARGUMENTS = Arguments()


@dataclass(frozen=True, slots=True)
class InvokeStep:
    """One call, or something that may call: where it stands, what is called with what."""

    result: int
    callee: int
    arguments: Arguments
    kind: CallKind
    name: str
    """The last part of the callee as written; empty if it has none."""
    receiver: Receiver
    receiver_variable: int
    """The variable of what the name is taken from; ``NOTHING`` for a bare name."""
    start: int
    end: int
    """Bytes of the whole call."""


@dataclass(slots=True)
class Block:
    """Steps that belong together: a function's body, or one statement of a module or a class body."""

    copies: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(to, from)"""
    literals: list[int] = field(default_factory=list[int])
    texts: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    loads: list[tuple[int, int, str, int, int]] = field(default_factory=list[tuple[int, int, str, int, int]])
    """(to, object, attribute, first byte, last byte)"""
    stores: list[tuple[int, str, int, int, int]] = field(default_factory=list[tuple[int, str, int, int, int]])
    """(object, attribute, from, first byte, last byte)"""
    item_loads: list[ItemLoad] = field(default_factory=list[ItemLoad])
    """(to, object, key or None where it is not known, first byte, last byte)"""
    item_stores: list[ItemStore] = field(default_factory=list[ItemStore])
    """(object, key or None, from, first byte, last byte)"""
    keyed_loads: list[tuple[int, int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int, int]])
    """(to, object, key, first byte, last byte), for keys that are variables"""
    keyed_stores: list[tuple[int, int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int, int]])
    """(object, key, from, first byte, last byte)"""
    calls: list[InvokeStep] = field(default_factory=list[InvokeStep])
    functions: list[tuple[int, int, tuple[tuple[int, int], ...]]] = field(
        default_factory=list[tuple[int, int, tuple[tuple[int, int], ...]]]
    )
    """(to, scope, ((parameter, default), ...))"""
    classes: list[tuple[int, int, tuple[int, ...], int]] = field(
        default_factory=list[tuple[int, int, tuple[int, ...], int]]
    )
    """(to, scope, bases, metaclass)"""
    containers: list[tuple[int, str, tuple[tuple[str | None, int], ...]]] = field(
        default_factory=list[tuple[int, str, tuple[tuple[str | None, int], ...]]]
    )
    """(to, kind, ((key or None, from), ...))"""
    iterations: list[tuple[int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int]])
    """(element, iterable, first byte, last byte)"""
    entries: list[tuple[int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int]])
    """(entered value, context manager, first byte, last byte)"""
    instances: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(to, class): what ``except`` binds"""
    checks: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    """(to, from, class): what ``isinstance`` lets through"""
    annotations: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(to, class): what a type annotation promises"""
    imports: list[tuple[int, str, int, str | None]] = field(default_factory=list[tuple[int, str, int, str | None]])
    """(to, module, level, name)"""
    binds: set[str] = field(default_factory=set[str])
    uses: set[str] = field(default_factory=set[str])


@dataclass(slots=True, eq=False)
class FlowScope:
    """A module, a class, a function or a lambda."""

    index: int
    kind: ScopeKind
    name: str
    qualified_name: str
    """Dotted within the module; lambdas are counted within what encloses them: ``main.<lambda1>``."""
    parent: FlowScope | None
    start: int
    end: int
    names: dict[str, int] = field(default_factory=dict[str, int])
    bound: set[str] = field(default_factory=set[str])
    outer_names: set[str] = field(default_factory=set[str])
    """Declared ``nonlocal``."""
    global_names: set[str] = field(default_factory=set[str])
    n_variables: int = 2
    n_lambdas: int = 0
    parameters: list[ParameterVariable] = field(default_factory=list[ParameterVariable])
    blocks: list[Block] = field(default_factory=list[Block])
    borrowed: list[tuple[int, int, int, bool]] = field(default_factory=list[tuple[int, int, int, bool]])
    """(variable, scopes up, variable there, whether it is assigned here)"""
    borrowed_globals: list[tuple[int, str, bool]] = field(default_factory=list[tuple[int, str, bool]])
    """(variable, name, whether it is assigned here)"""
    seen_around: dict[str, int] = field(default_factory=dict[str, int])
    """The parent's comprehension variables that are visible here."""
    declared: list[str] = field(default_factory=list[str])
    """The names a class body annotates, in order: the fields of a data class."""
    self_stores: set[str] = field(default_factory=set[str])
    """Attributes that a method assigns on its first parameter; of a class, those of its methods."""
    is_generator: bool = False
    is_transparent: bool = False
    """Its result depends on its arguments, not on what others pass: it is followed for each call anew."""
    is_static: bool = False
    """Decorated with ``staticmethod`` (or ``__new__``, which is one)."""
    is_class_method: bool = False
    has_bases: bool = False
    """A class with bases other than ``object``."""

    @property
    def is_function(self) -> bool:
        """Return whether the scope is called with arguments of its own."""
        return self.kind in ("function", "lambda")


@dataclass(slots=True)
class ModuleCode:
    """One file."""

    path: str
    source: bytes
    scopes: list[FlowScope]
    """In the order of their definition; the module itself is the first."""
    stars: list[tuple[str, int]]
    """(module, level) of star imports."""
    exported: frozenset[str] | None
    """The names of a literal ``__all__``."""
