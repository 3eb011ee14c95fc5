"""Diagrams as values: what is drawn, without how. `mermaid` writes and reads them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from rolecall_server.team.documents.values import Line, OptionalLine, Value, repeated


class RelationKind(StrEnum):
    """What one class has to do with another."""

    INHERITS = "inherits"
    HAS = "has"
    """It holds one, and outlives it or not."""
    USES = "uses"


class DrawnClass(Value):
    """A class, or a module, with what matters of it."""

    name: Line
    members: tuple[Line, ...] = Field(default=(), description="Attributes and methods, such as total(items) int.")


class Relation(Value):
    """An arrow from one class to another."""

    source: Line
    kind: RelationKind
    target: Line
    label: OptionalLine = ""


class ClassDiagram(Value):
    """Classes and how they hang together."""

    classes: tuple[DrawnClass, ...] = Field(min_length=1)
    relations: tuple[Relation, ...] = Field(default=(), description="Between classes of this diagram only.")

    @model_validator(mode="after")
    def _names_are_known(self) -> ClassDiagram:
        names = [drawn.name for drawn in self.classes]
        if twice := repeated(names):
            raise ValueError(f"two classes are named {twice[0]}")
        ends = (end for relation in self.relations for end in (relation.source, relation.target))
        if unknown := next((end for end in ends if end not in names), None):
            raise ValueError(f"a relation names {unknown}, which is no class of the diagram")
        return self


class CallStep(Value):
    """One message from one participant to another."""

    caller: Line
    callee: Line
    message: Line
    is_reply: bool = False


class CallFlow(Value):
    """Who calls whom, in order."""

    steps: tuple[CallStep, ...] = Field(min_length=1)


# Adding 0.0 makes 0.0 of -0.0, which would be written as `-0`.
Fraction = Annotated[float, Field(ge=0, le=1), AfterValidator(lambda value: round(value, 2) + 0.0)]
"""From 0 to 1, to two places."""


class Point(Value):
    """A product, and where it stands."""

    name: Line
    x: Fraction
    y: Fraction


class Quadrant(Value):
    """Products compared on two axes."""

    title: Line
    x_low: Line
    x_high: Line
    y_low: Line
    y_high: Line
    points: tuple[Point, ...] = Field(min_length=1)
