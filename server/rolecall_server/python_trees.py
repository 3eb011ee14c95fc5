"""Python's own syntax tree of a text, built by one thread at a time."""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Generator
from contextlib import contextmanager

_BUILDING = threading.RLock()


def parse_python(text: str) -> ast.Module:
    """Return the tree of *text*; warnings about it, as of an invalid escape, are not shown.

    Raises: SyntaxError, ValueError, RecursionError or MemoryError, as ast.parse does.
    """
    with _alone_and_silent():
        return ast.parse(text)  # noqa: TID251 - here it is


def parse_expression(source: str) -> ast.expr:
    """Parse *source*, which is one expression, and return its tree.

    Raises: as parse_python.
    """
    with _alone_and_silent():
        return ast.parse(source, mode="eval").body  # noqa: TID251 - here it is


@contextmanager
def _alone_and_silent() -> Generator[None]:
    """Nobody else builds a tree meanwhile.

    Threads that build trees count their depth together: where a garbage collection in the midst of one lets another
    begin, CPython 3.11 fails the first with a SystemError.
    """
    with _BUILDING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
