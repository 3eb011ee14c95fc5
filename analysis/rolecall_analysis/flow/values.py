"""The values that a variable may hold: functions, classes, instances, modules, containers, things from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rolecall_analysis.flow.code import Arguments, FlowScope, ModuleCode


# `eq=False`, here and below: each equals itself alone, however much it holds, and can be a key.
@dataclass(slots=True, eq=False)
class Frame:
    """A scope with nodes for its variables, inside the frame that defines it."""

    module: ModuleCode
    scope: FlowScope
    parent: Frame | None
    first_node: int
    n_deep: int = 0
    """The number of calls between what was asked for and this frame."""
    has_run: bool = False
    is_named: bool = False
    """The names it takes from around it are linked."""
    n_copied: int = 0
    """The number of calls leading here that have frames of their own."""
    copied: frozenset[FlowScope] = frozenset()
    """The scopes of those calls."""
    class_value: ClassValue | None = None
    """A class body's class."""
    ran_blocks: set[int] = field(default_factory=set[int])
    receivers: set[int] = field(default_factory=set[int])


@dataclass(slots=True, eq=False)
class FunctionValue:
    """A function or lambda, with the frame whose variables it sees."""

    number: int
    module: ModuleCode
    scope: FlowScope
    around: Frame
    defaults: tuple[tuple[int, int], ...]
    """(parameter, node of its default)"""
    frame: Frame | None = None
    copies: dict[tuple[int, int, int], Frame] = field(default_factory=dict[tuple[int, int, int], Frame])
    """Frames for single calls, by calling frame and place."""


@dataclass(slots=True, eq=False)
class Lookup:
    """The value of an attribute of a class or of its instances: a node, and the getters that reading it calls."""

    node: int
    of: ClassValue
    is_class: bool
    """It is an attribute of the class itself."""
    linked: set[int] = field(default_factory=set[int])
    getters: list[int] = field(default_factory=list[int])
    """Tokens of properties, and of instances with a ``__get__``."""
    readers: list[Callable[[int], None]] = field(default_factory=list["Callable[[int], None]"])
    """Each place that reads it, to be told of a getter."""


@dataclass(slots=True, eq=False)
class ClassValue:
    """A class of the repository."""

    number: int
    frame: Frame
    instance: int = -1
    """The number of the value that stands for all its instances."""
    bases: list[list[ClassValue]] = field(default_factory=list["list[ClassValue]"])
    outside_bases: dict[str, int] = field(default_factory=dict[str, int])
    """The first place among the bases of each from outside, by its dotted name; ``?`` if that is not known."""
    subclasses: list[ClassValue] = field(default_factory=list["ClassValue"])
    metaclasses: list[ClassValue] = field(default_factory=list["ClassValue"])
    order: tuple[ClassValue, ...] | None = None
    """The method resolution order, once it has been asked for."""
    fields: dict[str, int] = field(default_factory=dict[str, int])
    """The node of each attribute that is set on its instances."""
    own_names: dict[str, int] = field(default_factory=dict[str, int])
    """The node of each attribute that is set on the class from outside its body."""
    of_instance: dict[str, Lookup] = field(default_factory=dict[str, Lookup])
    of_class: dict[str, Lookup] = field(default_factory=dict[str, Lookup])

    @property
    def name(self) -> str:
        """Its own name."""
        return self.frame.scope.name

    @property
    def defined(self) -> set[str]:
        """The names its body binds."""
        return self.frame.scope.bound


@dataclass(slots=True, eq=False)
class InstanceValue:
    """Any instance of a class."""

    number: int
    of: ClassValue


@dataclass(slots=True, eq=False)
class BoundValue:
    """A function with its first argument."""

    number: int
    function: FunctionValue
    receiver: int


@dataclass(slots=True, eq=False)
class ModuleValue:
    """A module or package of the repository, by location."""

    number: int
    location: str


@dataclass(slots=True, eq=False)
class OutsideValue:
    """Something the repository does not define: a name of the standard library, or what such a thing returned."""

    number: int
    name: str
    """Dotted; ``?`` for a value that has no name."""


@dataclass(slots=True, eq=False)
class TextValue:
    """A short string that may be a name or a key."""

    number: int
    text: str


@dataclass(slots=True, eq=False)
class ContainerValue:
    """The container that one place in the source builds: a list, tuple, set, dict or the like."""

    number: int
    kind: str
    every: int
    """The node of all its elements (of a dict: its values)."""
    somewhere: int
    """The node of elements whose key is not known."""
    keys: int
    fields: dict[str, int] = field(default_factory=dict[str, int])
    listeners: list[Callable[[str, int], None]] = field(default_factory=list["Callable[[str, int], None]"])


@dataclass(slots=True, eq=False)
class MethodOfContainer:
    """``items.append`` and the like."""

    number: int
    container: ContainerValue
    name: str


@dataclass(slots=True, eq=False)
class GeneratorValue:
    """The value that a call of a generator function returns."""

    number: int
    frame: Frame


@dataclass(slots=True, eq=False)
class PropertyValue:
    """A property, by the number of its getter; reading it calls that."""

    number: int
    getter: int
    setter: int | None = None


@dataclass(slots=True, eq=False)
class WrappedValue:
    """``staticmethod(f)`` or ``classmethod(f)``."""

    number: int
    kind: str
    function: int


@dataclass(slots=True, eq=False)
class SuperValue:
    """``super()``: attributes of what comes after *start* in the order of the receiver's class."""

    number: int
    start: ClassValue
    receiver: ClassValue
    is_class: bool


@dataclass(slots=True, eq=False)
class PartialValue:
    """``functools.partial``: a function, the first of *arguments*, and what it is given in advance, as nodes."""

    number: int
    arguments: Arguments


Value = (
    FunctionValue
    | ClassValue
    | InstanceValue
    | BoundValue
    | ModuleValue
    | OutsideValue
    | TextValue
    | ContainerValue
    | MethodOfContainer
    | GeneratorValue
    | PropertyValue
    | WrappedValue
    | SuperValue
    | PartialValue
)
