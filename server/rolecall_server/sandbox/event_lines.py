"""Lines that a run has told: foreign text, of which one bad line costs that line alone."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NoReturn, cast

GARBLED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""The errors that reading a damaged record raises."""


def records_in(told: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in *told*, one a line; every other line is passed over."""
    return (record for line in told.splitlines() if (record := read_record(line)) is not None)


def read_record(line: str | bytes, *texts: str) -> dict[str, Any] | None:
    """Return the JSON object in *line*; ``None`` where there is none, or where one of *texts* in it is no text.

    Its texts hold nothing that cannot be stored, printed or handed to a program.
    """
    with suppress(*GARBLED):
        record = _clean(json.loads(line, parse_constant=_refuse))
        if isinstance(record, dict):
            known = cast("dict[str, Any]", record)
            return known if all(isinstance(known.get(name, ""), str) for name in texts) else None
    return None


def read_number(value: object) -> float:
    """Return the finite number that *value* is, none below zero.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError(value)
    return float(value)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)  # NaN and the infinities are no JSON


def _clean(value: Any) -> Any:
    """Return *value* without halves of characters and zero bytes, to any depth."""
    if isinstance(value, str):
        return value if value.isprintable() else value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    if isinstance(value, list):
        return [_clean(one) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {_clean(key): _clean(one) for key, one in cast("dict[Any, Any]", value).items()}
    return value
