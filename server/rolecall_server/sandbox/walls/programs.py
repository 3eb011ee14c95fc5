"""Programs on the PATH, none of them the workspace's own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path


def program_on_path(name: str, root: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the program *name* on the absolute entries of the PATH, if it lies outside *root*, by any of its names."""
    real_root = root.resolve()
    for entry in environ.get("PATH", "").split(os.pathsep):
        candidate = Path(entry, name)
        # An empty or relative entry means whatever folder this process is in, the workspace perhaps.
        if not candidate.is_absolute() or not is_program(candidate):
            continue
        names = (Path(os.path.normpath(candidate)), candidate.parent.resolve() / name, candidate.resolve())
        if not any(known.is_relative_to(folder) for known in names for folder in (root, real_root)):
            return candidate
    return None


def is_program(path: Path) -> bool:
    """Return whether *path* is a file that may be started."""
    return path.is_file() and os.access(path, os.X_OK)


def links_of(program: Path) -> Iterator[Path]:
    """Yield where *program* is a link to, and where that is a link to, up to the file itself."""
    for _ in range(40):  # as many as Linux follows
        if not program.is_symlink():
            return
        target = program.parent / program.readlink()
        program = target.parent.resolve() / target.name
        yield from dict.fromkeys((Path(os.path.normpath(target)), program))


def repository_of(root: Path) -> Path:
    """Return the folder of the repository that holds *root*; *root* where none does."""
    real = root.resolve()
    return next((folder for folder in (real, *real.parents) if (folder / ".git").exists()), real)
