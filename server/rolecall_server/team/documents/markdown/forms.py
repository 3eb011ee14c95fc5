"""The form of each field of a document in Markdown; it follows from the field's type alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

from pydantic import BeforeValidator

from rolecall_server.team.documents.diagrams import CallFlow, ClassDiagram, Quadrant
from rolecall_server.team.documents.values import Entry, Remark, Row, ToFill, Value, bare, one_line, tidy


class Form(Enum):
    """What a field is written as."""

    TITLE = auto()
    """The heading itself; of an entry with its id."""
    ID = auto()
    LEAF = auto()
    """``- **Priority:** P0``"""
    CODE = auto()
    """``- **File:** `shop/price.py` ``"""
    IDS = auto()
    """``- **Serves:** R1, R2``"""
    CODES = auto()
    """``- **Files:** `shop/price.py`, `shop/cart.py` ``"""
    LINES = auto()
    """A list."""
    PROSE = auto()
    ENTRIES = auto()
    """A heading for each."""
    REMARKS = auto()
    """A list, each with its own parts."""
    TABLE = auto()
    DIAGRAM = auto()
    """A fenced block of Mermaid."""


@dataclass(frozen=True)
class FieldForm:
    """One field."""

    name: str
    form: Form
    item: type[Value] | None = None
    """The type of the items or of the diagram in it."""
    is_to_fill: bool = False
    """It is shown while it is empty."""

    @property
    def label(self) -> str:
        """``files_to_change`` as ``Files to change``."""
        return self.name.replace("_", " ").capitalize()

    @property
    def is_short(self) -> bool:
        """Return whether the field fits below a title, without a section of its own."""
        return self.form in (Form.LEAF, Form.CODE, Form.IDS, Form.CODES)


@cache
def forms_of(model: type[Value]) -> Mapping[str, FieldForm]:
    """Return the form of each field of *model* by its name, in order."""
    return MappingProxyType({name: _form(model, name) for name in model.model_fields})


def labels_of(model: type[Value]) -> frozenset[str]:
    """Return the labels that fields of *model* carry in a list, in small letters."""
    in_list = (form for form in forms_of(model).values() if form.is_short or form.form is Form.LINES)
    return frozenset(form.label.casefold() for form in in_list)


def _form(model: type[Value], name: str) -> FieldForm:
    field = model.model_fields[name]
    parts = (field.annotation, *field.metadata)
    marks = set(_marks(parts))
    item = next((part for part in _types(parts) if isinstance(part, type) and issubclass(part, Value)), None)
    is_many = get_origin(field.annotation) is tuple
    return FieldForm(name, _choose(name, marks, item, is_many), item, ToFill in marks)


def _choose(name: str, marks: set[object], item: type[Value] | None, is_many: bool) -> Form:
    if name in ("title", "id"):
        return Form.TITLE if name == "title" else Form.ID
    if item is not None:
        return next(form for kind, form in _ITEM_FORMS.items() if issubclass(item, kind))
    if tidy in marks:
        return Form.PROSE
    if bare in marks:
        return Form.CODES if is_many else Form.CODE
    if is_many:
        return Form.LINES if one_line in marks else Form.IDS
    return Form.LEAF


_ITEM_FORMS: Mapping[type[Value], Form] = MappingProxyType(
    {
        Entry: Form.ENTRIES,
        Remark: Form.REMARKS,
        Row: Form.TABLE,
        ClassDiagram: Form.DIAGRAM,
        CallFlow: Form.DIAGRAM,
        Quadrant: Form.DIAGRAM,
    }
)


def _types(parts: Any) -> Iterator[object]:
    """Yield every type and mark within annotations."""
    for part in parts:
        yield part
        if get_origin(part) in (tuple, Annotated, Union, UnionType):
            yield from _types(get_args(part))


def _marks(parts: Any) -> Iterator[object]:
    """Yield the functions that tidy a value, and the marks, within annotations."""
    for part in _types(parts):
        yield cast("object", part.func) if isinstance(part, BeforeValidator) else part
