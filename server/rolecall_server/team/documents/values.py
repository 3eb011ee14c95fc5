"""The parts of documents: text that survives Markdown, ids, references to code, and the three forms of an item."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.json_schema import SkipJsonSchema

_LINE_END = re.compile(r"(?<!\s)[^\S\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*+[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*+")
_NEW_LINES = dict.fromkeys(map(ord, "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), "\n")


class Value(BaseModel):
    """Something that never changes, and has no fields but those that are declared."""

    # Built when a model is first used: building the validators of all of them would slow every start.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Remark(Value):
    """An item of one line: what it is about, the ids it serves, a few words."""


class Row(Value):
    """An item that is compared with others: a row of a table."""


def one_line(value: Any) -> Any:
    """Return *value* on one line, without control characters and white space around it, if it is a string.

    Spaces within a line are kept: an expected output may hold two.
    """
    return _printable(_LINE_END.sub(" ", value)).strip() if isinstance(value, str) else value


def tidy(value: Any) -> Any:
    """Return *value*, if it is a string, with line feeds as its only line ends and without white space at line ends or
    around it.
    """
    if not isinstance(value, str):
        return value
    lines = _printable(value.replace("\r\n", "\n").translate(_NEW_LINES)).split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()


def _printable(text: str) -> str:
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) != "Cc")


Item = TypeVar("Item", bound=Any)


def _unique_ids(items: tuple[Item, ...]) -> tuple[Item, ...]:
    if twice := repeated(item.id for item in items):
        raise ValueError(f"two items have the id {twice[0]}")
    return items


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once, each one time less than it occurs."""
    seen: set[str] = set()
    # `add` returns nothing: a name that is seen for the first time is kept in mind, and not taken.
    return [name for name in names if name in seen or seen.add(name)]


def bare(value: Any) -> Any:
    """Return *value* without white space and backticks around it, if it is a string."""
    return value.strip().strip("`").strip() if isinstance(value, str) else value


def _fits_a_code_span(value: str) -> str:
    if not value or "`" in value or value != one_line(value):
        raise ValueError("a name in code has no backtick, no line end and no space around it, and is not empty")
    return value


class ToFill:
    """Marks a field that is shown while it is empty, for the developer to fill."""


ByOthers = SkipJsonSchema
"""``ByOthers[str]`` is a field that somebody else fills later: the model that writes a document is not asked for it."""

Line = Annotated[str, BeforeValidator(one_line), StringConstraints(min_length=1)]
"""A line of Markdown, with something in it."""
OptionalLine = Annotated[str, BeforeValidator(one_line)]
Prose = Annotated[str, BeforeValidator(tidy)]
"""Markdown of any length; headings in it are text."""
Code = Annotated[str, BeforeValidator(bare), AfterValidator(_fits_a_code_span)]
"""A name as it stands in code: a package, a hunk (``p7/h2``), a path."""
FilePath = Annotated[Code, Field(description="A path from the root of the repository, with /.")]
Symbol = Annotated[
    Code,
    StringConstraints(pattern=r"::"),
    Field(description="path::Name or path::Class.method; the path is from the root of the repository."),
]
CodeReference = Annotated[Code, Field(description="A path, or path::Name.")]
RequirementId = Annotated[str, StringConstraints(pattern=r"^R[1-9][0-9]{0,5}$")]
TaskId = Annotated[str, StringConstraints(pattern=r"^T[1-9][0-9]{0,5}$")]
ServedId = Annotated[str, StringConstraints(pattern=r"^[RT][1-9][0-9]{0,5}$")]
"""A requirement or a task."""
Unique = AfterValidator(_unique_ids)
"""For tuples of items: no two have one id."""


class Entry(Value):
    """An item with an id, a title and more: a heading in Markdown, with its fields below."""

    id: str
    title: Line
