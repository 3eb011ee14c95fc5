"""A shadow that is the workspace itself, with what differs laid over it for each run."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rolecall_server.errors import FileRefused
from rolecall_server.sandbox.results import NotRun
from rolecall_server.sandbox.shadow.shadow import Shadow, cannot_be_written, encode, locate
from rolecall_server.sandbox.shadow.trees import remove_tree
from rolecall_server.sandbox.walls.confinement import Confinement
from rolecall_server.workspace import Workspace


@dataclass(frozen=True)
class OverlaidShadow(Shadow):
    """The files that differ from the workspace's, and marks for those that are gone."""

    _buffers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    _without: Sequence[str] = ()
    """Files and folders that are not there for the code."""

    @property
    def changes(self) -> Path:
        """Holds each file that differs, at its path; what is gone is a character device numbered 0, 0."""
        return self.base / "changes"

    def on_disk(self, path: str) -> Path:
        """Return the changed file, else the workspace's own."""
        changed = self.changes / path
        return changed if os.path.lexists(changed) else self.original / path

    def hand_over(self, path: str) -> None:
        """Lay a copy over the file, which the user of the runs owns; the next `write` takes it away."""
        changed = self._make_folders(Path(path))
        if not os.path.lexists(changed):
            changed.write_bytes((self.original / path).read_bytes())
            changed.chmod(stat.S_IMODE((self.original / path).stat().st_mode) | stat.S_IWUSR)

    def write(self, files: Mapping[str, str | None]) -> None:
        """Makes the changes be the unsaved buffers and *files*; see `Shadow.write`."""
        try:
            self._lay({**self._buffers, **files})
        except FileRefused:
            self._lay(self._buffers)
            raise

    def _lay(self, files: Mapping[str, str | None]) -> None:
        located = {path: locate(self.original, path) for path in files}
        remove_tree(self.changes)
        self.changes.mkdir()
        for path in self._without:
            _mark_as_gone(self._make_folders(Path(path)))
        for path, text in files.items():
            try:
                self._lay_file(located[path], text)
            except OSError as error:
                raise cannot_be_written(path, error) from error

    def _lay_file(self, location: Path, text: str | None) -> None:
        exists = location.is_file()
        if text is None and not exists:
            return
        changed = self._make_folders(location.relative_to(self.original))
        if text is None:
            _mark_as_gone(changed)
        else:
            changed.write_bytes(encode(location.name, text, location.read_bytes() if exists else None))
            if exists:
                changed.chmod(stat.S_IMODE(location.stat().st_mode))
        for compiled in _compiled(location):
            _mark_as_gone(self._make_folders(compiled.relative_to(self.original)))

    def _make_folders(self, relative: Path) -> Path:
        """Make the folders above *relative* in the changes, with their permissions, and return its place there."""
        for parent in reversed(relative.parents[:-1]):
            folder = self.changes / parent
            folder.mkdir(exist_ok=True)
            if (self.original / parent).is_dir():
                # With the modes of the workspace, except that we have to write into it.
                folder.chmod(stat.S_IMODE((self.original / parent).stat().st_mode) | stat.S_IRWXU)
        return self.changes / relative


def lay_over_workspace(
    base: Path, workspace: Workspace, confinement: Confinement, without: Sequence[str] = ()
) -> Shadow | NotRun:
    """Return *workspace* with its unsaved buffers laid over it, kept in the new folder *base*; why not, if that failed.

    *without* names files and folders of it that shall not be there.
    """
    root = base / "overlay" / (workspace.root.name or "workspace")
    shadow = OverlaidShadow(root, workspace.root, base, confinement, dict(workspace.buffers), without)
    try:
        root.mkdir(parents=True)
        shadow.scratch.mkdir()
        shadow.write({})
    except OSError as error:
        return NotRun(f"No folder for temporary files could be made: {error.strerror}.", "Free some space.")
    except FileRefused as error:
        return NotRun(f"An open file could not be used. {error.what}", error.next_step)
    return shadow


def _compiled(location: Path) -> Iterator[Path]:
    """Yield the files to which Python may have compiled *location*, and which it would take for up to date by time and
    size.
    """
    if location.suffix == ".py":
        yield from (location.parent / "__pycache__").glob(f"{location.stem}.*.pyc")


def _mark_as_gone(changed: Path) -> None:
    """Linux lets everybody make this device since 5.8. Source: Documentation/filesystems/overlayfs.rst, whiteouts."""
    changed.unlink(missing_ok=True)
    os.mknod(changed, stat.S_IFCHR, os.makedev(0, 0))
