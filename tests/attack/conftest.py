"""What attacks aim at. A kind of attack is a file here; `support.attacks` says how much of it a run tries."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of the workspace that is attacked, empty."""
    folder = (tmp_path / "project").resolve()
    folder.mkdir()
    return folder
