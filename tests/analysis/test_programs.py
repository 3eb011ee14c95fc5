"""Which program is meant by a name: the machine's, whatever lies in the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rolecall_analysis.programs import find_program


def make_program(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "edit"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that holds a program `edit`, where the search path leads through it first."""
    root = tmp_path / "work"
    make_program(root)
    make_program(root / "bin")
    (tmp_path / "link").symlink_to(root / "bin")
    monkeypatch.chdir(root)
    places = [".", "", "bin", str(root), str(root / "bin"), str(tmp_path / "link"), str(tmp_path / "usr")]
    monkeypatch.setenv("PATH", os.pathsep.join(places))
    return root


def test_a_program_of_the_repository_is_passed_over(root: Path, tmp_path: Path) -> None:
    assert find_program("edit", root) is None
    machines = make_program(tmp_path / "usr")
    assert find_program("edit", root) == machines


def test_a_place_that_is_named_is_taken_at_its_word(root: Path) -> None:
    assert find_program("./edit", root) == "./edit"
    assert find_program("./nothing", root) is None
