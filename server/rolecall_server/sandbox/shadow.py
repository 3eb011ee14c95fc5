"""The repository as it would be, in a temporary copy where code may run: disk, unsaved buffers, then a proposal."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import psutil

from rolecall_server.errors import FileRefused
from rolecall_server.sandbox.completion import complete
from rolecall_server.sandbox.copying import CopyLimits, copy_tree
from rolecall_server.sandbox.results import NotRun
from rolecall_server.workspace import Workspace

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Shadow:
    """A copy of the workspace and the temporary folders of what runs in it."""

    root: Path
    """The copy; its name is the workspace's, because a root that is a package is imported by it."""
    original: Path
    """The workspace's own root."""
    base: Path
    """The temporary folder that holds the copy and everything else of the run; removed at the end."""
    _written: dict[Path, bytes | None] = field(default_factory=dict[Path, bytes | None], repr=False)
    _folders: list[Path] = field(default_factory=list[Path], repr=False)

    @property
    def scratch(self) -> Path:
        """Where the run's home, temporary files and reports lie."""
        return self.base / "run"

    def write(self, files: Mapping[str, str | None]) -> None:
        """Lays *files* over the base, by their paths; ``None`` deletes one. What an earlier call wrote is put back.

        Texts are written as UTF-8 exactly as given; a byte order mark that the base has is kept.

        Raises:
            FileRefused: a path leaves the copy, also through a symbolic link, or cannot be a file there. Then
                nothing of *files* is written.
        """
        self._put_back()
        locations = {path: self._locate(path) for path in files}
        try:
            for path, text in files.items():
                location = locations[path]
                before = location.read_bytes() if location.is_file() else None
                self._written.setdefault(location, before)
                self._replace(path, location, None if text is None else encode(text, before))
        except FileRefused:
            self._put_back()
            raise

    def _locate(self, path: str) -> Path:
        if not path or "\0" in path or PurePosixPath(path).is_absolute():
            raise FileRefused(f"{path!r} is no path inside the workspace.", "Name a file below the opened folder.")
        location = Path(os.path.realpath(self.root / path))
        if location == self.root or not location.is_relative_to(self.root):
            raise FileRefused(f"{path} leads out of the workspace.", "Name a file below the opened folder.")
        occupied = next((parent for parent in (location, *location.parents) if os.path.lexists(parent)), self.root)
        if location.is_dir() or (occupied != location and not occupied.is_dir()):
            raise FileRefused(f"{path} cannot be a file: a folder or a file is in its way.", "Choose another path.")
        return location

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
            raise FileRefused(
                f"{path} cannot be written in the copy: {error.strerror}.", "Choose another path."
            ) from error


@asynccontextmanager
async def shadow_workspace(
    workspace: Workspace, *, limits: CopyLimits | None = None, parent: Path | None = None
) -> AsyncGenerator[Shadow | NotRun]:
    """A copy of *workspace* with its unsaved buffers laid over it, for as long as the context lasts.

    Left out are version control, virtual environments, ``node_modules``, caches, what is not a regular file, and
    links that lead outside. *parent* is the folder for temporary files, the system's by default. The value is
    `NotRun` when the workspace is too large or cannot be copied.
    """
    base = _make_base(parent)
    try:
        yield await _fill(base, workspace, limits or CopyLimits())
    finally:
        await complete(asyncio.to_thread(remove_tree, base))


def remove_abandoned_shadows(parent: Path | None = None) -> int:
    """Remove the copies that killed processes left in *parent*, the system's folder by default; how many there were."""
    folder = parent or Path(tempfile.gettempdir())
    abandoned = [path for path in folder.glob("rolecall-*-*") if (pid := _maker(path)) and not psutil.pid_exists(pid)]
    for path in abandoned:
        remove_tree(path)
    return len(abandoned)


def _make_base(parent: Path | None) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"rolecall-{os.getpid()}-", dir=parent)).resolve()


def _maker(base: Path) -> int | None:
    """The process that made *base*, by its name; ``None`` where the name is none of ours or a link."""
    number = base.name.split("-")[1]
    return int(number) if number.isascii() and number.isdigit() and not base.is_symlink() else None


async def _fill(base: Path, workspace: Workspace, limits: CopyLimits) -> Shadow | NotRun:
    stop = threading.Event()
    copying = asyncio.ensure_future(asyncio.to_thread(_copy, base, workspace, limits, stop))
    try:
        return await asyncio.shield(copying)
    except asyncio.CancelledError:
        stop.set()
        await complete(asyncio.wait([copying]))
        raise


def _copy(base: Path, workspace: Workspace, limits: CopyLimits, stop: threading.Event) -> Shadow | NotRun:
    root = base / "copy" / (workspace.root.name or "workspace")
    shadow = Shadow(root, workspace.root, base)
    try:
        root.mkdir(parents=True)
        shadow.scratch.mkdir()
        if (too_large := copy_tree(workspace.root, root, base, limits, stop)) is not None:
            return too_large
        shadow.write({path: text for path, text in workspace.buffers.items() if _belongs(path, shadow)})
    except OSError as error:
        return NotRun(f"The workspace could not be copied: {error.strerror}.", "Free some space and try again.")
    except FileRefused as error:
        return NotRun(f"An open file could not be copied. {error.what}", error.next_step)
    # A new value, which remembers nothing to put back: the buffers are part of the base.
    return Shadow(root, workspace.root, base)


def _belongs(path: str, shadow: Shadow) -> bool:
    """Whether *path* is not in a folder that the copy leaves out."""
    return (shadow.root / path).parent.is_dir() or not (shadow.original / path).parent.is_dir()


def encode(text: str, before: bytes | None) -> bytes:
    """*text* in UTF-8, with the byte order mark that *before* had."""
    content = text.encode("utf-8", "surrogatepass")
    keeps_bom = before is not None and before.startswith(_BOM) and not content.startswith(_BOM)
    return _BOM + content if keeps_bom else content


def remove_tree(folder: Path) -> None:
    """Removes *folder* and all below it, read-only folders included."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        _open_up(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _open_up(folder: Path) -> None:
    folder.chmod(0o700)
    for parent, names, _ in os.walk(folder):
        for below in (Path(parent, name) for name in names):
            if not below.is_symlink():
                below.chmod(0o700)


def _remove(location: Path) -> None:
    if location.is_dir() and not location.is_symlink():
        remove_tree(location)
    else:
        location.unlink(missing_ok=True)
