"""A repository that was empty: every file that the brief names is made, and its tests run by typing `pytest`."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import PurePosixPath

from rolecall_server.craft.wanted_files import unmade_files
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.sandbox import NotRun
from rolecall_server.team.messages.edits import Edits, fingerprints
from rolecall_server.team.request import Desk
from rolecall_server.workspace import file_exists, read_text_or_none

_PROMPTS = prompts_beside(__file__)
# `python -c` puts the current folder first on the path, which `pytest` does not: the child takes it off again.
_COLLECT = """
import os, subprocess, sys
start = "import sys; sys.path.pop(0); import pytest; sys.exit(pytest.main(['--collect-only', '-q', '--no-header']))"
environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
sys.exit(subprocess.run([sys.executable, "-c", start], env=environment).returncode)
"""
"""As `pytest` is typed: without the folders on the path that our own runs give to Python."""
_COLLECT_S = 60.0
_NO_TESTS = 5  # the exit code of pytest where it collected nothing
_MISSING = re.compile(r"No module named '(\w+)")
_SECTION = "[tool.pytest.ini_options]"
# pytest reads one file of settings only: with one of these, ours would be ignored, or would hide what that one says.
_OTHER_SETTINGS = ("pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg")
_MOST_TOLD = 1_500
"""Characters of what pytest printed."""


async def settled_layout(desk: Desk, edits: Edits, brief: str) -> tuple[Edits, tuple[str, ...]]:
    """Return *edits*, with the setting that lets `pytest` find the packages where that alone is missing; and what a
    repository that was empty lacks with them, a point each.
    """
    if desk.snapshot.files or not edits.files:
        return edits, ()
    made = tuple(path for path, text in edits.files.items() if text is not None)
    unmade = unmade_files(brief, edits.rationale, made, lambda path: file_exists(desk.workspace, path))
    lacks = tuple(_PROMPTS["unmade"].format(path=path) for path in unmade)
    wrong = await _said_by_pytest(desk, edits)
    if wrong and (told := with_python_path(edits, _MISSING.findall(wrong), desk)) is not None:
        # The setting is kept only where it mends all of it.
        still = await _said_by_pytest(desk, told)
        edits, wrong = (edits, wrong) if still else (told, "")
    return edits, (*lacks, _PROMPTS["pytest"].format(said=wrong[-_MOST_TOLD:])) if wrong else lacks


async def _said_by_pytest(desk: Desk, edits: Edits) -> str:
    """Return what `pytest` prints where it cannot collect the tests of *edits*; empty where it can, or is not run."""
    capabilities = await desk.bench.capabilities()
    if isinstance(capabilities, NotRun) or "pytest" not in capabilities.modules:
        return ""
    end = await desk.bench.snippet(edits.files, _COLLECT, _COLLECT_S)
    return "" if isinstance(end, NotRun) or end.exit_code in (0, _NO_TESTS, None) else end.output.strip()


def with_python_path(edits: Edits, modules: list[str], desk: Desk) -> Edits | None:
    """Return *edits* with the folders in which *modules* lie told to pytest; ``None`` where no such setting helps."""
    roots = sorted({root for module in modules for root in _roots_of(module, edits.files)})
    settings = [name for name in _OTHER_SETTINGS if edits.files.get(name) or file_exists(desk.workspace, name)]
    path = "pyproject.toml"
    text = edits.files.get(path) or read_text_or_none(desk.workspace, path) or ""
    if not roots or settings or "pythonpath" in text:
        return None
    line = f"pythonpath = {json.dumps(roots)}"
    if _SECTION in text:
        told = text.replace(_SECTION, f"{_SECTION}\n{line}", 1)
    else:
        told = f"{text.rstrip()}\n\n{_SECTION}\n{line}\n".lstrip()
    try:
        tomllib.loads(told)
    except tomllib.TOMLDecodeError:
        return None
    tasks = tuple(dict.fromkeys(task for served in edits.tasks.values() for task in served))
    why = f"{path} tells pytest where the packages are ({', '.join(roots)}), which it did not find."
    return edits.model_copy(
        update={
            "files": {**edits.files, path: told},
            "bases": {**fingerprints(desk.workspace, [path]), **edits.bases},
            "tasks": {**edits.tasks, path: edits.tasks.get(path, tasks)},
            "rationale": "\n\n".join(part for part in (edits.rationale, why) if part),
        }
    )


def _roots_of(module: str, files: Mapping[str, str | None]) -> set[str]:
    """Return the folders of *files* from which *module* could be imported."""
    found: set[str] = set()
    for path in (path for path, text in files.items() if text is not None and path.endswith(".py")):
        parts = PurePosixPath(path).with_suffix("").parts
        if module in parts:
            found.add("/".join(parts[: parts.index(module)]) or ".")
    return found
