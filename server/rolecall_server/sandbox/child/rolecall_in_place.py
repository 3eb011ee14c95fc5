"""Puts a mutant's code into the functions of a file that is imported already, so that nothing is imported anew."""

# pyright: basic

from __future__ import annotations

import gc
import inspect
import os
import sys
import threading
import warnings
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType


class LiveFunctions:
    """The functions of one file, in a process that is about to import it."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._code = _compiled(text, path)
        self._is_ours: dict[str, bool] = {}
        self._ran: set[CodeType] = set()
        self._functions: dict[CodeType, list[FunctionType]] = {}
        self._is_imported = False

    def watch(self) -> None:
        """Note from now on which functions run: what came of them stays as it was, whatever replaces their code."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def look(self) -> None:
        """End the watch, and find the functions that there are."""
        sys.setprofile(None)
        threading.setprofile(None)
        self._is_imported = any(self._ours(getattr(one, "__file__", None)) for one in [*sys.modules.values()])
        # Wherever they are held: to one in a table, or behind a decorator, no name of the module leads.
        for found in gc.get_objects():
            # Not `isinstance`, which asks each object for its class, and so may run code of the workspace.
            if type(found) is FunctionType and self._ours(found.__code__.co_filename):
                self._functions.setdefault(found.__code__, []).append(found)

    def replace(self, text: str) -> bool:
        """Give the functions the code that they have in *text*.

        Return False where that is not as if the file had been imported so: what differs runs at import, ran while the
        tests were collected, or belongs to no function that there is. Then nothing may be done with this process.
        """
        if not self._is_imported:
            return True  # whoever imports it reads it from the disk
        try:
            return self._replaced(self._code, _compiled(text, self._path), is_reached=False)
        except (ValueError, SyntaxError):  # it closes over fewer names, say
            return False

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and self._ours(frame.f_code.co_filename):
            self._ran.add(frame.f_code)

    def _ours(self, filename: object) -> bool:
        if not isinstance(filename, str):
            return False
        if filename not in self._is_ours:
            self._is_ours[filename] = os.path.realpath(filename) == os.path.realpath(self._path)
        return self._is_ours[filename]

    def _replaced(self, old: CodeType, new: CodeType, *, is_reached: bool) -> bool:
        functions = self._functions.get(old, [])
        for function in functions:
            function.__code__ = new
        is_reached = is_reached or bool(functions)
        if _own(old) != _own(new) and not (is_reached and self._is_fresh(old)):
            return False
        pairs = zip(_nested(old), _nested(new))  # noqa: B905 - strict= is not known to Python 3.9
        return all(self._replaced(before, after, is_reached=is_reached) for before, after in pairs if before != after)

    def _is_fresh(self, code: CodeType) -> bool:
        """Return whether *code* is a function's, and has not run."""
        return bool(code.co_flags & inspect.CO_OPTIMIZED) and code not in self._ran


def _compiled(text: str, path: str) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(text, path, "exec", dont_inherit=True)


def _nested(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _own(code: CodeType) -> tuple[object, ...]:
    """Return what *code* does by itself, without the functions in it and without its lines' numbers."""
    # repr() tells 1 from 1.0 and True.
    constants = [None if isinstance(constant, CodeType) else repr(constant) for constant in code.co_consts]
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
