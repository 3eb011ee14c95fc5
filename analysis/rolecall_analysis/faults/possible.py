"""A place that looks like a fault, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall_analysis.values import Span


@dataclass(frozen=True, slots=True)
class Waypoint:
    """One step on the way through the code that leads to a fault."""

    path: str
    span: Span
    text: str
    """A few words on what happens there: ``"found" gets a value that may be None``."""


@dataclass(frozen=True, slots=True)
class ConstantClaim:
    """What a query holds an expression for; a run in which it comes out otherwise refutes it."""

    span: Span
    always: bool
    """The way it comes out, whatever the values are."""


@dataclass(frozen=True, slots=True)
class PossibleFault:
    """A place that some query holds for a possible fault."""

    path: str
    span: Span
    query: str
    """The name of the query that found it."""
    scope: str
    """The qualified name of the function around; empty in the module itself."""
    message: str
    """A sentence that says what would be wrong."""
    way: tuple[Waypoint, ...] = ()
    """The way to the fault, in the order in which the code runs."""
    claim: ConstantClaim | None = None
    """None: no run can show that it is no fault."""
