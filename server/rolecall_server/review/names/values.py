"""The values that an expression may have, as far as text tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rolecall_analysis import Definition
from rolecall_analysis.installed.search_path import CodeModule


@dataclass(frozen=True, slots=True)
class ObjectOf:
    """An object of a class."""

    definition: Definition
    is_exact: bool
    """It was seen to be made; else an annotation says so, and it may be an object of a subclass."""


@dataclass(frozen=True, slots=True)
class FunctionOf:
    """A function, or a method that is bound to what it was read from."""

    definition: Definition
    receiver: ObjectOf | Definition | None = None
    """The object or the class it was read from."""


HoldingWay = Literal["items", "awaited", "entered"]


@dataclass(frozen=True, slots=True)
class Holding:
    """A value that gives others: when it is iterated, awaited or entered."""

    way: HoldingWay
    values: Values


@dataclass(frozen=True, slots=True)
class Absent:
    """Something that is not there, or that comes of it."""

    path: str
    line: int
    """From 0; where it is named."""
    name: str


Known = CodeModule | Definition | ObjectOf | FunctionOf | Holding | Absent
"""A `Definition` is the class itself."""

Values = tuple[Known, ...] | None
"""All that it may be, apart from None; ``None``: there is no telling."""


def united(parts: list[Values]) -> Values:
    """Return all values of *parts*; None where one of them cannot be told, or none has any."""
    found: dict[Known, None] = {}
    for part in parts:
        if part is None:
            return None
        found.update(dict.fromkeys(part))
    return tuple(found) or None
