"""The environment variables that a call asks for, and those that it is given."""

# pyright: basic, reportMissingImports=false
# It finds its other parts beside itself.

from __future__ import annotations

import collections.abc
import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolecall_guard import Guard

NAME = "os.environ"
_ASK_FOR_OTHERS = (os.getenv.__code__.co_filename, collections.abc.Mapping.get.__code__.co_filename)
"""The files of `os.getenv` and of the methods of mappings."""


class _Watched(type(os.environ)):
    """The variables of this process. One that is set here may be another where a test runs."""

    guard: Guard
    root: str

    def __getitem__(self, name: str) -> str:
        is_asked = self.guard.armed and self._is_asked_by_workspace()
        if is_asked:
            self.guard.variables[name] = None
        value = super().__getitem__(name)
        if is_asked and not self.guard.is_given_variables:
            self.guard.by_chance = True
        return value

    def _is_asked_by_workspace(self) -> bool:
        frame = sys._getframe(2)
        while frame.f_code.co_filename in _ASK_FOR_OTHERS and frame.f_back is not None:
            frame = frame.f_back
        return frame.f_code.co_filename.startswith(self.root)


def watch(guard: Guard, root: str) -> None:
    """Note which variables the code below *root* asks for."""
    _Watched.guard, _Watched.root = guard, root
    os.environ.__class__ = _Watched


def is_one(value: Any) -> bool:
    """Return whether *value* holds variables that a process can have."""
    return type(value) is dict and all(
        isinstance(name, str) and isinstance(text, str) and name and not set(name) & {"=", "\0"} and "\0" not in text
        for name, text in value.items()
    )


@contextlib.contextmanager
def set_to(given: list[dict[str, str]], guard: Guard) -> Iterator[None]:
    """Have the one among *given* as all variables of the process."""
    before = dict(os.environ)
    for variables in given:
        os.environ.clear()
        os.environ.update(variables)
    guard.is_given_variables = bool(given)
    try:
        yield
    finally:
        guard.is_given_variables = False
        if given:
            os.environ.clear()
            os.environ.update(before)
