"""The style in which a repository writes its tests."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Literal

DEFAULT_LINE_LENGTH = 88
_TAKES_TEST_CASE = re.compile(r"^from unittest import (?:\([^)]*?|[^\n(]*?)\bTestCase\b(?! as )", re.MULTILINE)


@dataclass(frozen=True)
class HouseStyle:
    """The style in which the repository writes tests."""

    framework: Literal["pytest", "unittest"] = "pytest"
    line_length: int = DEFAULT_LINE_LENGTH
    quote: str = '"'
    takes_test_case: bool = False
    """Classes of tests name the ``TestCase`` that they import from unittest, instead of ``unittest.TestCase``."""


def read_style(example: str | None, pyproject: str | None = None) -> HouseStyle:
    """Return the style of the tests in *example* and of the formatter's settings in *pyproject*; ours where there are
    none.
    """
    line_length = _line_length(pyproject) if pyproject is not None else DEFAULT_LINE_LENGTH
    if example is None:
        return HouseStyle(line_length=line_length)
    has_cases = re.search(r"\bTestCase\b", example) is not None
    plain = re.search(r"^def test_|^import pytest|^from pytest", example, re.MULTILINE) is not None
    quote = "'" if example.count("'") > 2 * example.count('"') else '"'
    takes_test_case = _TAKES_TEST_CASE.search(example) is not None and "unittest.TestCase" not in example
    return HouseStyle("unittest" if has_cases and not plain else "pytest", line_length, quote, takes_test_case)


def _line_length(pyproject: str) -> int:
    try:
        tools = tomllib.loads(pyproject)["tool"]
        found = [dict(tools.get(name, {})).get("line-length") for name in ("ruff", "black")]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return DEFAULT_LINE_LENGTH
    return next((length for length in found if isinstance(length, int) and length >= 40), DEFAULT_LINE_LENGTH)
