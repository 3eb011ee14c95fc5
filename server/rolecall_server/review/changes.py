"""From the files of a change to what the developer decides on: texts, new files, files that go or move."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from rolecall_server.review.hunks import file_change, number_hunks
from rolecall_server.review.proposal import FileChange, Hunk, HunkKind
from rolecall_server.workspace import TextFile, Workspace, absolute_path, file_exists, read_text_file, sha256


def changes_of(
    workspace: Workspace, files: Mapping[str, str | None], renames: Mapping[str, str]
) -> tuple[FileChange, ...]:
    """*files* as numbered hunks on the workspace's texts.

    A text is that of the whole file, ``None`` deletes it; *renames* are new paths by old ones, of which the old ones
    are gone in *files*.

    Raises:
        FileRefused: a file cannot be read.
    """
    came_from = {new: old for old, new in renames.items()}
    changes = [
        _change(workspace, came_from.get(path, path), path, text)
        for path, text in files.items()
        if path not in renames or text is not None
    ]
    return number_hunks(changes)


def _change(workspace: Workspace, path: str, new_path: str, text: str | None) -> FileChange:
    base = read_text_file(workspace, path) if file_exists(workspace, path) else None
    if base is None:
        return file_change(path, None, text) if text else _new_empty_file(path)
    change = _deletion(path, base) if text is None else file_change(path, base, text)
    if new_path != path:
        hunks = (Hunk("rename", 0, 0, (), kind=HunkKind.RENAME), *change.hunks)
        change = replace(change, renamed_to=new_path, hunks=hunks)
    return replace(change, encoding=base.encoding, has_bom=base.has_bom, executable=_is_executable(workspace, path))


def _is_executable(workspace: Workspace, path: str) -> bool:
    return os.access(absolute_path(workspace, path), os.X_OK)


def _new_empty_file(path: str) -> FileChange:
    return FileChange(path, None, sha256(""), (Hunk("create", 0, 0, (), kind=HunkKind.CREATE),))


def _deletion(path: str, base: TextFile) -> FileChange:
    change = FileChange(path, base.text, sha256(base.text), ())
    return replace(change, hunks=(Hunk("delete", 0, len(change.base_lines), (), kind=HunkKind.DELETE),))
