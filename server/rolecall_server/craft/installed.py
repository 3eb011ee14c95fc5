"""The packages installed for the workspace's Python, as text, and the check of a change against them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from rolecall_analysis import Snapshot
from rolecall_analysis.installed.packages import InstalledCode
from rolecall_server.craft.trial import Bench
from rolecall_server.errors import CodeNotRun
from rolecall_server.review.checks.graph_checks import check_changes
from rolecall_server.review.proposals.evidence import GraphFinding
from rolecall_server.sandbox import Capabilities, NotRun, find_interpreter
from rolecall_server.sandbox.python.places import import_folders
from rolecall_server.store import cache_path

CheckOfChange = Callable[[Mapping[str, str | None]], tuple[GraphFinding, ...]]


async def installed_code(bench: Bench, root: Path) -> InstalledCode:
    """Return the code that the Python of *bench* can import and that is not the repository's at *root*.

    Raises:
        CodeNotRun: the workspace's interpreter is not known.
    """
    capabilities = await bench.capabilities()
    if isinstance(capabilities, NotRun):
        raise CodeNotRun(f"The workspace's Python is not known: {capabilities}")
    return InstalledCode(places_of(capabilities, root), cache_path(), is_whole=not capabilities.places.left_out)


async def checking(bench: Bench, snapshot: Snapshot, root: Path) -> CheckOfChange:
    """Return the check of a change to *snapshot*; it knows what is installed, where the interpreter is known."""
    try:
        return partial(check_changes, snapshot, installed=await installed_code(bench, root))
    except CodeNotRun:
        return partial(check_changes, snapshot)


def installed_beside(root: Path, setting: str, environ: Mapping[str, str]) -> InstalledCode:
    """Return the code that the Python of the workspace at *root* can import, found without starting that Python.

    Raises:
        CodeNotRun: no Python was found.
    """
    interpreter = find_interpreter(root, setting, environ)
    if isinstance(interpreter, NotRun):
        raise CodeNotRun(str(interpreter))
    return InstalledCode(import_folders(interpreter.path, root), cache_path(), is_whole=False)


def places_of(capabilities: Capabilities, root: Path) -> list[Path]:
    """Return the folders of installed packages and of the standard library; those in the workspace come last."""
    outside = [place for place in capabilities.search_path if not place.is_relative_to(root)]
    return [*outside, *(place for place in capabilities.search_path if _is_environment(place, root))]


def _is_environment(place: Path, root: Path) -> bool:
    """Return whether *place* lies in the workspace but holds installed packages, which are nobody's private files."""
    return place.is_relative_to(root) and place.name in ("site-packages", "dist-packages")
