"""`rolecall demo` with its recording: no key, no network, and it says so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.library import library_archive
from support.terminal import in_terminal
from support.workspaces import environment

DEMO = (sys.executable, "-I", "-m", "rolecall_server", "demo", "--library")


@pytest.fixture
def library() -> Path:
    return library_archive()


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A machine that cannot reach anything: where a connection were made it would be refused."""
    (tmp_path / "temporary").mkdir()
    nowhere = "http://127.0.0.1:9"
    return environment(
        tmp_path / "home",
        TMPDIR=str(tmp_path / "temporary"),
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
        HTTP_PROXY=nowhere,
        HTTPS_PROXY=nowhere,
        ALL_PROXY=nowhere,
    )


def test_the_main_job_runs_through_without_a_terminal(library: Path, tmp_path: Path, environ: dict[str, str]) -> None:
    ended = subprocess.run(
        [*DEMO, library],
        cwd=tmp_path,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    said = ended.stdout
    assert (ended.returncode, ended.stderr) == (0, ""), said
    assert "Model: none is configured, so a recorded conversation with one is replayed." in said
    tests, _, implementation = said.partition(" 2. Implement: ")
    assert re.search(
        r"^# Checked: \d{3} passed, 0 failed \(before: 455 passed, 0 failed\); "
        r"coverage of inflection/__init__\.py \d+% -> \d+%\.$",
        tests,
        re.MULTILINE,
    )
    assert tests.index("\n# Finding: ") < tests.index("\n# Checked: ")
    accepted = re.search(
        r"^# Checked: \d{3} passed, 0 failed \(before: (\d{3}) passed, 0 failed\)", implementation, re.MULTILINE
    )
    assert accepted
    assert int(accepted[1]) > 455, "the tests that were accepted count"
    assert "\n+def kebabize(word: str) -> str:\n" in implementation
    assert (tests.count("\nAccepted h"), tests.count("\nRejected h")) == (1, 1)
    assert (implementation.count("\nAccepted h"), implementation.count("\nRejected h")) == (1, 1)
    assert re.search(r"^[1-9]\d* changed lines on disk: exactly the accepted lines\.$", said, re.MULTILINE)
    ending = f" 4. The repository's own tests ─────────────────────────\n{accepted[1]} passed, 0 failed.\n"
    assert said.endswith(ending)
    assert not list((tmp_path / "temporary").iterdir()), "the copy is removed"


@pytest.mark.parametrize(
    ("answers", "n_accepted", "n_rejected"),
    [("nnnn", 0, 0), ("ynny", 1, 1)],
    ids=["no to all", "accept, keep, leave, reject"],
)
def test_in_a_terminal_it_asks_and_does_what_the_answers_say(
    library: Path, tmp_path: Path, environ: dict[str, str], answers: str, n_accepted: int, n_rejected: int
) -> None:
    with in_terminal([*DEMO, library], tmp_path, environ, columns=200) as terminal:
        for question, answer in zip(("Accept", "Reject") * 2, answers, strict=True):
            assert terminal.wait_for("? [y,n,?] ").rpartition("\n")[2].startswith(f"{question} h")
            terminal.type(f"{answer}\n")
        assert terminal.wait_for_end() == 0, terminal.shown
        assert terminal.shown.count("\nAccepted h") == n_accepted
        assert terminal.shown.count("\nRejected h") == n_rejected
        changed = re.search(r"\n(\d+) changed lines on disk: exactly the accepted lines\.", terminal.shown)
        assert changed, terminal.shown
        assert (int(changed[1]) > 0) == (n_accepted > 0)
        passed = re.search(r"\n(\d{3}) passed, 0 failed\.", terminal.shown)
        assert passed, terminal.shown
        assert (int(passed[1]) > 455) == (n_accepted > 0)


def test_ctrl_c_stops_it_and_removes_the_copy(library: Path, tmp_path: Path, environ: dict[str, str]) -> None:
    with in_terminal([*DEMO, library], tmp_path, environ) as terminal:
        terminal.wait_for("running the tests as they are")
        terminal.type("\x03")
        assert terminal.wait_for_end() == 130, terminal.shown
        assert "Stopped; the scratch folder is removed." in terminal.shown
        assert "Traceback" not in terminal.shown
    assert not list((tmp_path / "temporary").iterdir())


def test_what_is_no_archive_is_refused(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "library.tar.gz").write_bytes(b"no archive")
    for path in ("library.tar.gz", "nowhere.tar.gz"):
        ended = subprocess.run(
            [*DEMO, path, "--yes"], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 1
        assert f"FileRefused: {path} " in ended.stdout
        assert "Traceback" not in ended.stderr
