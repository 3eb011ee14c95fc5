"""From the files of a change to what the developer decides on: texts, new files, files that go or move."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from rolecall_server.review.proposals.hunks import file_change, line_ending, number_hunks
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkKind
from rolecall_server.workspace import (
    TextFile,
    Workspace,
    absolute_path,
    file_exists,
    read_text_file,
    sha256,
    split_lines,
)


def changes_of(
    workspace: Workspace,
    files: Mapping[str, str | None],
    renames: Mapping[str, str],
    off: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> tuple[FileChange, ...]:
    """Return *files* as numbered hunks on the workspace's texts.

    A text is that of the whole file, ``None`` deletes it; *renames* are new paths by old ones, of which the old ones
    are gone in *files*. What is *off* until chosen goes to the end of its file, each text a hunk of its own.

    Raises:
        FileRefused: a file cannot be read.
    """
    came_from = {new: old for old, new in renames.items()}
    changes = [
        _change(workspace, came_from.get(path, path), path, text)
        for path, text in files.items()
        # The old path of a renamed file is told as gone: that is the rename itself, and no deletion beside it.
        if path not in renames or text is not None
    ]
    known = {change.path for change in changes}
    changes += [_unchanged(workspace, path) for path in off if path not in known]
    return number_hunks([_with_off(change, off.get(change.path, ())) for change in changes])


def without_needs_of_off(changes: Sequence[FileChange]) -> tuple[FileChange, ...]:
    """Return *changes* in which no hunk needs one that is off, but those that are off themselves."""
    off = {hunk.id for change in changes for hunk in change.hunks if hunk.off}

    def needs(hunk: Hunk) -> tuple[str, ...]:
        return hunk.needs if hunk.off else tuple(one for one in hunk.needs if one not in off)

    return tuple(replace(one, hunks=tuple(replace(h, needs=needs(h)) for h in one.hunks)) for one in changes)


def _unchanged(workspace: Workspace, path: str) -> FileChange:
    base = read_text_file(workspace, path) if file_exists(workspace, path) else None
    return file_change(path, base, base.text if base else "")


def _with_off(change: FileChange, texts: Sequence[str]) -> FileChange:
    """Return *change* with each of *texts* as a hunk that is off, at the end of the file."""
    end, ending = len(change.base_lines), line_ending(change.base or "")
    hunks = list(change.hunks)
    for text in texts:
        above = "\n\n" if hunks or end else ""
        # Where the last line of the file has no ending, the first line feed only ends that line.
        above = f"\n{above}" if end and not change.base_lines[-1].endswith(("\n", "\r")) else above
        lines = tuple(line.rstrip("\r\n") + ending for line in split_lines(above + text))
        hunks.append(Hunk(f"off{len(hunks)}", end, end, lines, off=True))
    return replace(change, hunks=tuple(hunks))


def _change(workspace: Workspace, path: str, new_path: str, text: str | None) -> FileChange:
    base = read_text_file(workspace, path) if file_exists(workspace, path) else None
    if base is None:
        # An empty text has no line that a hunk could bring in, so the file itself is the hunk.
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
