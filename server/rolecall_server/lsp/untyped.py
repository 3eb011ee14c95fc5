"""JSON that pygls has no type for: it comes as named tuples in some places and as dictionaries in others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast


def plain(value: Any) -> Any:
    """Return *value* as JSON has it: dictionaries, lists and simple values."""
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in cast("Mapping[str, Any]", value).items()}
    return [plain(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a JSON object; none where *value* is something else."""
    read = plain(value)
    return cast("dict[str, Any]", read) if isinstance(read, dict) else {}
