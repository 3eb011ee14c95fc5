"""The ways in to a module: calls of other functions through which its code is reached. Python 3.8 and later only."""

# pyright: basic, reportMissingImports=false
# It looks at objects of which nothing is known, and finds its other parts beside itself.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rolecall_functions import NoSourceError
from rolecall_sources import Sources

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_FRAMES = 150
_RUNNERS = frozenset(
    [
        *("pytest", "_pytest", "pluggy", "unittest", "hypothesis", "mock", "doctest", "nose", "testtools", "trio"),
        *("asyncio", "concurrent", "threading", "multiprocessing", "contextlib", "functools", "anyio", "importlib"),
    ]
)
"""Packages whose functions run what tests hand to them: a call of one says nothing about how the module is used."""


def entry_of(frame: Any, is_test: Callable[[Any], bool]) -> Any:
    """Return the outermost call that leads to *frame* from a test or an example; None where neither does."""
    for _ in range(_MAX_FRAMES):
        if frame.f_back is None:
            return None
        if is_test(frame.f_back):
            return frame
        frame = frame.f_back
    return None


def called(code: Any, local: dict[str, Any], sources: Sources) -> dict[str, str]:
    """Return the function that a call with *local* names calls, and for a method the object it belongs to.

    Raises:
        NoSourceError: it has no name that a test can import.
    """
    first = local[code.co_varnames[0]] if code.co_argcount else None
    if code.co_name == "__init__":
        # Of an object of another library little can be told that is about this module.
        if not sources.is_own(first):
            raise NoSourceError
        return {"way": sources.write(type(first)), "receiver": ""}
    if not is_bound(code, code.co_varnames, local):
        return {"way": sources.write(sources.function_of(code)), "receiver": ""}
    written = sources.write(first)
    if isinstance(first, type):
        return {"way": f"{written}.{code.co_name}", "receiver": ""}
    return {"way": code.co_name, "receiver": written}


def is_bound(code: Any, names: tuple[str, ...], local: dict[str, Any]) -> bool:
    """Return whether the first argument is what the method belongs to."""
    if not code.co_argcount:
        return False
    if names[0] in ("self", "cls"):
        return True
    owner = local[names[0]]
    kind = owner if isinstance(owner, type) else type(owner)
    member = next((vars(one)[code.co_name] for one in kind.__mro__ if code.co_name in vars(one)), None)
    return getattr(getattr(member, "fget", None) or member, "__code__", None) is code


def is_runner(path: str) -> bool:
    """Return whether a file belongs to what runs tests, tasks or functions that are handed to it."""
    parts = path.replace("\\", "/").split("/")
    return any(part.partition(".")[0] in _RUNNERS for part in parts[-4:])
