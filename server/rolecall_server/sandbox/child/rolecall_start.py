"""Starts what runs tests: it is imported while the workspace is not on the path, so that nothing there takes its place.

``python -c "..." FOLDER FRAMEWORK ARGUMENT...``, with the workspace's folders in ``ROLECALL_PATH``.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[list[str], list[str]], int]

_OURS = (
    "rolecall_start",
    "rolecall_session",
    "rolecall_trace",
    "rolecall_watch",
    "rolecall_report",
    "rolecall_unittest",
    "rolecall_in_place",
    "rolecall_mutation",
)
_KEPT = (*_OURS, "pytest", "_pytest", "pluggy", "coverage")


def main() -> int:
    """Return the exit code of the framework that the arguments name."""
    framework, *arguments = sys.argv[1:]
    sys.argv[1:] = arguments
    *roots, lent = os.environ.pop("ROLECALL_PATH").split(os.pathsep)
    gc.disable()  # nothing of what is imported is garbage, and looking for some takes a tenth of the time
    sys.path.insert(1, lent)
    run = {"pytest": _pytest, "unittest": _unittest, "mutation": _mutation}[framework]()
    if os.environ.pop("ROLECALL_MEASURES", ""):
        with contextlib.suppress(Exception):  # the session tells why, when it tries again
            import coverage  # noqa: F401
    # At its end pytest looks for garbage five times; among all that was imported here, that took half of its time.
    if hasattr(gc, "freeze"):  # PyPy has none
        gc.freeze()
    gc.enable()
    sys.path[:2] = [os.getcwd(), *roots, lent]  # noqa: PTH109
    # For the Pythons that tests start.
    os.environ["PYTHONPATH"] = os.pathsep.join([*roots, lent])
    return run(arguments, roots)


def _pytest() -> Run:
    import pytest
    import rolecall_report

    return lambda arguments, roots: pytest.main(arguments, [rolecall_report, _LettingGo(roots)])


def _unittest() -> Run:
    import rolecall_unittest

    return lambda arguments, roots: _let_go(roots) or rolecall_unittest.main(arguments)


def _mutation() -> Run:
    import rolecall_mutation

    return lambda _, roots: _let_go(roots) or rolecall_mutation.main()


class _LettingGo:
    """Does it when pytest has its own plug-ins, and before it reads anything of the workspace."""

    def __init__(self, roots: list[str]) -> None:
        self._roots = roots

    def pytest_addoption(self) -> None:
        _let_go(self._roots)


def _let_go(roots: list[str]) -> None:
    """Forget our own modules, and installed ones that the workspace has itself: one of pytest's libraries, say."""
    there = {name for root in roots for name in _modules_in(root)}
    for name, module in [*sys.modules.items()]:
        top = name.partition(".")[0]
        is_installed = "-packages" in (getattr(module, "__file__", None) or "")
        if name in _OURS or (top in there and top not in _KEPT and is_installed):
            del sys.modules[name]


def _modules_in(root: str) -> list[str]:
    try:
        names = os.listdir(root)  # noqa: PTH208
    except OSError:
        return []
    packages = [name for name in names if os.path.isfile(f"{root}/{name}/__init__.py")]  # noqa: PTH113
    return [*packages, *(name[:-3] for name in names if name.endswith(".py"))]
