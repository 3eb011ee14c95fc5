"""`rolecall review-code`: what looks wrong in files, or in what changed since a commit."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolecall_analysis import Snapshot, is_python
from rolecall_analysis.modules import SOURCE_SUFFIXES
from rolecall_analysis.retrieval.history.committed import commit_of, texts_before
from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.repository import find_workspace, read_repository
from rolecall_server.cli.screen import Screen, print_json, say, say_prose, waiting
from rolecall_server.craft.code_review.candidates import ReviewCandidate, candidates_in, candidates_of_change
from rolecall_server.errors import FileRefused, NotFound, RequestRefused
from rolecall_server.workspace import Workspace, relative_path, resolve

FOUND = 4
"""The exit code where something is reported."""


@dataclass(frozen=True)
class _Reviewed:
    candidates: tuple[ReviewCandidate, ...]
    paths: tuple[str, ...]
    """The files that were looked at."""


def run_review_code(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall review-code`; the exit code."""
    return exit_code_of(lambda: _review(arguments), as_json=arguments.json, cancelled="Cancelled.")


def _review(arguments: argparse.Namespace) -> int:
    if bool(arguments.files) == bool(arguments.diff):
        raise RequestRefused("It is not said what to review.", "Name files or folders, or a commit with --diff.")
    near = arguments.files[0] if arguments.files else None
    workspace = find_workspace(arguments.root, near / "anything" if near is not None and near.is_dir() else near)
    messages = Screen(stderr=True)
    with waiting(messages, "reading the repository") as status:
        snapshot = read_repository(workspace.root, status)
        status.tell("looking for faults")
        reviewed = _look(arguments, workspace, snapshot)
    if arguments.json:
        print_json(_as_json(reviewed))
    else:
        _print(reviewed)
    return FOUND if reviewed.candidates else 0


def _look(arguments: argparse.Namespace, workspace: Workspace, snapshot: Snapshot) -> _Reviewed:
    if arguments.diff:
        candidates, paths = candidates_of_change(snapshot, _changed_since(workspace, snapshot, arguments.diff))
        return _Reviewed(candidates, paths)
    paths = tuple(sorted({path for given in arguments.files for path in _files_in(workspace, snapshot, given)}))
    return _Reviewed(candidates_in(snapshot, paths), paths)


def _changed_since(workspace: Workspace, snapshot: Snapshot, revision: str) -> Mapping[str, str | None]:
    """Return the Python files that are not as they were in a commit, each with its text then.

    Raises:
        NotFound: there is no such commit.
    """
    commit = commit_of(workspace.root, revision)
    if not commit:
        raise NotFound(
            f"git knows no commit {revision} in {workspace.root}.", "Name a commit, a branch or a tag, such as HEAD~1."
        )
    now = {path: snapshot.text(path) or "" for path in snapshot.files if is_python(path)}
    return texts_before(workspace.root, commit, now, SOURCE_SUFFIXES)


def _files_in(workspace: Workspace, snapshot: Snapshot, given: Path) -> Sequence[str]:
    """Return the Python files that *given* names.

    Raises:
        FileRefused: it is not in the repository, or is no Python.
    """
    path = relative_path(workspace, resolve(given))
    below = "" if path == "." else f"{path}/"
    found = [path] if path in snapshot.files else [one for one in snapshot.files if one.startswith(below)]
    python = [one for one in found if is_python(one)]
    if not python:
        raise FileRefused(f"{given} has no Python that can be read.", "Name a Python file, or a folder with some.")
    return python


def _print(reviewed: _Reviewed) -> None:
    screen = Screen()
    for candidate in reviewed.candidates:
        fault = candidate.fault
        place = f"{fault.path}:{fault.span.start.line + 1}:{fault.span.start.column + 1}"
        say(screen, f"{place}: {candidate.rule.name}: {fault.message}", "bold")
        for step in fault.way:
            where = f"{step.span.start.line + 1}" if step.path == fault.path else f"{step.path}:{step.span.start.line}"
            say(screen, f"    {where:>5}  {step.text}")
        say(screen, f"    safe if: {candidate.rule.post_condition}")
    n_found, n_files = len(reviewed.candidates), len(reviewed.paths)
    say_prose(
        Screen(stderr=True),
        f"{n_found} possible fault{'s' if n_found != 1 else ''} in {n_files} file{'s' if n_files != 1 else ''}, "
        "not judged by a model: some may be none.",
    )


def _as_json(reviewed: _Reviewed) -> dict[str, Any]:
    return {
        "candidates": [_candidate_json(candidate) for candidate in reviewed.candidates],
        "files": list(reviewed.paths),
        "judgedBy": None,
    }


def _candidate_json(candidate: ReviewCandidate) -> dict[str, Any]:
    fault = candidate.fault
    return {
        "id": candidate.id,
        "rule": candidate.rule.name,
        "title": candidate.rule.title,
        "path": fault.path,
        "line": fault.span.start.line + 1,
        "column": fault.span.start.column + 1,
        "endLine": fault.span.end.line + 1,
        "endColumn": fault.span.end.column + 1,
        "scope": fault.scope,
        "message": fault.message,
        "postCondition": candidate.rule.post_condition,
        "way": [{"path": one.path, "line": one.span.start.line + 1, "text": one.text} for one in fault.way],
    }
