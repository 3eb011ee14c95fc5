"""A shadow that is a copy of the workspace."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rolecall_server.errors import FileRefused
from rolecall_server.sandbox.results import NotRun
from rolecall_server.sandbox.shadow.copying import CopyLimits, copy_tree
from rolecall_server.sandbox.shadow.kept_copy import KeptCopy, refresh
from rolecall_server.sandbox.shadow.shadow import Shadow, cannot_be_written, encode, locate
from rolecall_server.sandbox.shadow.trees import remove_tree
from rolecall_server.sandbox.walls.completion import complete
from rolecall_server.sandbox.walls.confinement import Confinement
from rolecall_server.workspace import Workspace


@dataclass(frozen=True)
class CopiedShadow(Shadow):
    """A copy of the workspace, which remembers what has to be put back."""

    _written: dict[Path, bytes | None] = field(default_factory=dict[Path, bytes | None], repr=False)
    _folders: list[Path] = field(default_factory=list[Path], repr=False)

    @property
    def changes(self) -> None:
        """Nothing: they are in the copy."""
        return

    def on_disk(self, path: str) -> Path:
        """Return where *path* is in the copy."""
        return self.root / path

    def write(self, files: Mapping[str, str | None]) -> None:
        """Writes *files* into the copy; see `Shadow.write`."""
        self._put_back()
        locations = {path: locate(self.root, path) for path in files}
        try:
            for path, text in files.items():
                location = locations[path]
                before = location.read_bytes() if location.is_file() else None
                # Two paths may lead to one file: what it held before the first of them is what comes back.
                self._written.setdefault(location, before)
                self._replace(path, location, None if text is None else encode(path, text, before))
        except FileRefused:
            self._put_back()
            raise

    def _put_back(self) -> None:
        for location, content in self._written.items():
            # A test may have swapped a folder on the way for a link that leads elsewhere.
            if Path(os.path.realpath(location.parent)) == location.parent:
                self._replace(str(location), location, content)
        for folder in reversed(self._folders):
            with suppress(OSError):
                folder.rmdir()
        self._written.clear()
        self._folders.clear()

    def _replace(self, path: str, location: Path, content: bytes | None) -> None:
        try:
            mode = location.lstat().st_mode if location.is_file() else None
            # Removed first: a run may have left a link, through which the text would land elsewhere.
            _remove(location)
            if content is None:
                return
            missing = [folder for folder in location.parents if not folder.exists()]
            self._folders.extend(reversed(missing))
            location.parent.mkdir(parents=True, exist_ok=True)
            location.write_bytes(content)
            if mode is not None:
                location.chmod(stat.S_IMODE(mode))
        except OSError as error:
            raise cannot_be_written(path, error) from error


async def copy_workspace(
    base: Path,
    workspace: Workspace,
    confinement: Confinement,
    limits: CopyLimits,
    *,
    kept: KeptCopy | None = None,
    without: Sequence[str] = (),
) -> Shadow | NotRun:
    """Copy *workspace*, lay its unsaved buffers over the copy, and return it, or the reason why there is none.

    It is made in the new folder *base*, or refreshed where it is *kept*.

    Left out are version control, virtual environments, ``node_modules``, caches, what is not a regular file, and
    links that lead outside; and the files and folders that *without* names.
    """
    stop = threading.Event()
    copying = asyncio.ensure_future(
        asyncio.to_thread(_copy, base, workspace, confinement, limits, stop, kept=kept, without=without)
    )
    try:
        return await asyncio.shield(copying)
    except asyncio.CancelledError:
        # A thread cannot be cancelled, and must have ended before its folder is removed.
        stop.set()
        await complete(asyncio.wait([copying]))
        raise


def _copy(
    base: Path,
    workspace: Workspace,
    confinement: Confinement,
    limits: CopyLimits,
    stop: threading.Event,
    *,
    kept: KeptCopy | None,
    without: Sequence[str],
) -> Shadow | NotRun:
    try:
        root = refresh(kept, workspace.root, limits, stop) if kept else _fresh(base, workspace.root, limits, stop)
        if isinstance(root, NotRun):
            return root
        for path in without:
            _remove(root / path)
        shadow = CopiedShadow(root, workspace.root, base, confinement)
        shadow.scratch.mkdir()
        shadow.write({path: text for path, text in workspace.buffers.items() if _belongs(path, shadow)})
    except OSError as error:
        return NotRun(f"The workspace could not be copied: {error.strerror}.", "Free some space and try again.")
    except FileRefused as error:
        return NotRun(f"An open file could not be copied. {error.what}", error.next_step)
    # A new value, which remembers nothing to put back: the buffers are part of the base.
    return CopiedShadow(root, workspace.root, base, confinement)


def _fresh(base: Path, source: Path, limits: CopyLimits, stop: threading.Event) -> Path | NotRun:
    root = base / "copy" / (source.name or "workspace")
    root.mkdir(parents=True)
    return copy_tree(source, root, base, limits, stop) or root


def _belongs(path: str, shadow: Shadow) -> bool:
    """Return whether *path* is not in a folder that the copy leaves out."""
    return (shadow.root / path).parent.is_dir() or not (shadow.original / path).parent.is_dir()


def _remove(location: Path) -> None:
    if location.is_dir() and not location.is_symlink():
        remove_tree(location)
    else:
        location.unlink(missing_ok=True)
