"""The small real library that some end-to-end tests work on: inflection 0.5.1, as its authors published it."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

VARIABLE = "ROLECALL_TEST_LIBRARY"


def library_archive() -> Path:
    """Its source distribution; where there is none the test is left out."""
    named = os.environ.get(VARIABLE)
    if not named:
        pytest.skip(f"{VARIABLE} names no source distribution of inflection; `make test` fetches it and sets that")
    return Path(named)


def unpack_library(folder: Path) -> Path:
    """Its files below *folder*; the root, resolved."""
    with tarfile.open(library_archive()) as archive:
        archive.extractall(folder, filter="data")
    (root,) = (path for path in folder.iterdir() if path.is_dir())
    return root.resolve()
