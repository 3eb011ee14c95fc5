"""The small real libraries that some end-to-end tests work on, as their authors published them."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

VARIABLE = "ROLECALL_TEST_LIBRARY"
FOLDER_VARIABLE = "ROLECALL_TEST_LIBRARIES"


def library_archive() -> Path:
    """The source distribution of inflection 0.5.1; where there is none the test is left out."""
    return Path(_named(VARIABLE, "source distribution of inflection"))


def unpack_library(folder: Path) -> Path:
    """The files of inflection below *folder*; the root, resolved."""
    return _unpacked(library_archive(), folder)


def unpack_team_library(name: str, folder: Path) -> Path:
    """The files of a library in ``scripts/team_libraries.txt`` below *folder*; the root, resolved."""
    (archive,) = Path(_named(FOLDER_VARIABLE, "folder of libraries")).glob(f"{name}-*.tar.gz")
    return _unpacked(archive, folder)


def _named(variable: str, what: str) -> str:
    named = os.environ.get(variable)
    if not named:
        pytest.skip(f"{variable} names no {what}; `make test` fetches it and sets that")
    return named


def _unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    (root,) = (path for path in folder.iterdir() if path.is_dir())
    return root.resolve()
