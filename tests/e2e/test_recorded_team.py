"""The whole team on real libraries, from a brief to tests that pass: recorded with a thinking model, and replayed.

docs/team.md says what these runs took. A change of what roles are told makes a recording anew necessary: the command
below with a model and ROLECALL_RECORD, in an unpacked library, then `scripts/seal_recording.py --of` that library.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rolecall_server.model.recordings.recording import read_recording, write_sealed
from support.library import unpack_team_library
from support.quotes import read_lines, with_quotes
from support.terminal import in_terminal
from support.workspaces import contents, environment

RECORDINGS = Path(__file__).parent / "team_recordings"
RUN_PATIENCE_S = 1800.0
"""A library's tests are run several times in between, each time by a Python that is traced."""
QUESTION = "A number, words of your own, or Enter: "


@dataclass(frozen=True)
class Recorded:
    """A run as it was recorded, and what it led to."""

    library: str
    answers: tuple[str, ...]
    """What the developer typed at each question."""
    changed: tuple[str, ...]
    """The files that are another text once everything is accepted, or are new."""
    n_before: int
    n_after: int
    """How many tests the library has, all passing."""


RUNS = [
    Recorded("xmltodict", ("1", "1"), ("tests/test_dicttoxml.py", "xmltodict.py"), 119, 160),
    Recorded(
        "cachetools",
        (),
        (
            "CHANGELOG.rst",
            "docs/index.rst",
            "src/cachetools/__init__.pyi",
            "src/cachetools/_cached.py",
            "src/cachetools/_decorator.py",
            "src/cachetools/func.pyi",
            "tests/test_cached.py",
            "tests/test_cachedmethod.py",
            "tests/test_func.py",
        ),
        465,
        490,
    ),
    Recorded(
        "isodate",
        ("1", "1", "1", "1"),
        (
            "README.rst",
            "TODO.txt",
            "src/isodate/__init__.py",
            "src/isodate/isointervals.py",
            "tests/test_interval.py",
        ),
        280,
        452,
    ),
]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.library)
def test_a_brief_becomes_an_accepted_change_whose_tests_pass(run: Recorded, tmp_path: Path) -> None:
    root = unpack_team_library(run.library, tmp_path / "work")
    before = contents(root)
    environ = environment(tmp_path / "home", ROLECALL_REPLAY=str(whole_recording(run.library, root, tmp_path)))
    assert passed(root, environ) == run.n_before
    brief = (RECORDINGS / f"{run.library}.md").read_text(encoding="utf-8").strip()
    command = [sys.executable, "-I", "-m", "rolecall_server", "run", brief, "--roles", "all"]
    with in_terminal(command, root, environ, columns=200) as terminal:
        for answer in run.answers:
            terminal.wait_for(QUESTION, RUN_PATIENCE_S)
            terminal.type(f"{answer}\n")
        terminal.wait_for("Accept it? ", RUN_PATIENCE_S)
        terminal.type("a\n")
        assert terminal.wait_for_end() == 0, terminal.shown
    after = contents(root)
    assert tuple(path for path in after if after[path] != before.get(path)) == run.changed
    assert passed(root, environ) == run.n_after


def whole_recording(library: str, root: Path, folder: Path) -> Path:
    """The recording with the library's lines put back where the model quoted them."""
    replay = folder / f"{library}.jsonl"
    write_sealed(with_quotes(read_recording(RECORDINGS / replay.name), read_lines(root)), replay)
    return replay


def passed(root: Path, environ: dict[str, str]) -> int:
    """How many of the library's own tests pass; none may fail."""
    python = Path(environ["VIRTUAL_ENV"]) / "bin" / "python"
    ended = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=root,
        env={**environ, "PYTHONPATH": f"{root / 'src'}:{root}", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_PATIENCE_S,
    )
    assert ended.returncode == 0, ended.stdout
    return int(ended.stdout.strip().rpartition("\n")[2].partition(" passed")[0])
