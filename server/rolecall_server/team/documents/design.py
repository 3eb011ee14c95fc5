"""The design, which the Architect writes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from rolecall_server.team.documents.diagrams import CallFlow, ClassDiagram
from rolecall_server.team.documents.values import (
    Code,
    CodeReference,
    FilePath,
    Line,
    Prose,
    Remark,
    RequirementId,
    Symbol,
    Value,
)


class FileWork(Remark):
    """A file, and what happens to it."""

    path: FilePath
    what: Line


class SymbolWork(Remark):
    """A class, function or variable, what happens to it, and for which requirements."""

    symbol: Symbol
    serves: tuple[RequirementId, ...] = ()
    what: Line


class Package(Remark):
    """Something to install, and why nothing at hand does."""

    name: Code
    why: Line


class Design(Value):
    """How the requirements are met in the repository as it is."""

    title: Line
    approach: Prose = Field(description="In a few paragraphs: what changes, what stays, and why this way.")
    files_to_change: tuple[FileWork, ...] = Field(default=(), description="Files that exist.")
    files_to_add: tuple[FileWork, ...] = ()
    symbols_to_change: tuple[SymbolWork, ...] = Field(default=(), description="Classes and functions that exist.")
    symbols_to_add: tuple[SymbolWork, ...] = ()
    classes: ClassDiagram | None = None
    call_flow: CallFlow | None = None
    packages: tuple[Package, ...] = ()
    risks: tuple[Line, ...] = ()


class Paragraph(Value):
    """A paragraph of the approach."""

    number: Annotated[int, Field(ge=1)]
    text: Prose


class DesignPart(Value):
    """The parts of a design that have to be different."""

    paragraphs: tuple[Paragraph, ...] = Field(default=(), description="Of the approach.")
    files_to_change: tuple[FileWork, ...] = Field(default=(), description="Files that exist.")
    files_to_add: tuple[FileWork, ...] = ()
    symbols_to_change: tuple[SymbolWork, ...] = Field(default=(), description="Classes and functions that exist.")
    symbols_to_add: tuple[SymbolWork, ...] = ()
    gone: tuple[CodeReference, ...] = Field(default=(), description="Files and symbols that are named no more.")
