"""What is left of a command that was ended, and where a signal may come: before a command begins, and after its end."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.stores import open_store
from support.workspaces import environment, write_workspace

STRUCK = """
import atexit, os, signal, sys
from rolecall_server.__main__ import main

def strike(event, arguments):
    if event == "sqlite3.connect":
        os.kill(os.getpid(), signal.SIGINT)

if sys.argv[1] == "before":
    sys.addaudithook(strike)
if sys.argv[1] == "after":
    atexit.register(os.kill, os.getpid(), signal.SIGINT)
sys.argv = ["rolecall", "log"]
sys.exit(main())
"""
KILLED = """
import os, signal, sys
from pathlib import Path
from rolecall_server.store import open_store

open_store(Path(sys.argv[1])).add_run(Path("/repository"), "engineer", "", "")
os.kill(os.getpid(), signal.SIGKILL)
"""


def store_in(home: Path) -> Path:
    return home / "data/rolecall/rolecall.db"


@pytest.mark.parametrize(("when", "statuses"), [("before", {130}), ("after", {-signal.SIGINT}), ("never", {0})])
def test_a_signal_around_a_command_shows_nobody_our_source(tmp_path: Path, when: str, statuses: set[int]) -> None:
    root, environ = write_workspace(tmp_path / "work"), environment(tmp_path / "home")
    open_store(store_in(tmp_path / "home")).close()
    ended = subprocess.run(
        [sys.executable, "-c", STRUCK, when], cwd=root, env=environ, capture_output=True, text=True, check=False
    )
    assert ended.returncode in statuses
    assert "Traceback" not in ended.stderr
    assert ("Stopped." in ended.stderr) == (when == "before")


@pytest.mark.parametrize("command", [("rank", ".", "price"), ("graph", "imports", "."), ("serve",)])
def test_what_a_killed_process_left_beside_the_store_is_gone_after_any_command(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    root, environ = write_workspace(tmp_path / "work"), environment(tmp_path / "home")
    store = store_in(tmp_path / "home")
    killed = subprocess.run([sys.executable, "-c", KILLED, store], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len([*store.parent.iterdir()]) == 3, "a journal and what belongs to it"
    subprocess.run(
        [sys.executable, "-m", "rolecall_server", *command],
        cwd=root,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    assert [*store.parent.iterdir()] == [store]
    assert [run.brief for run in open_store(store).runs(Path("/repository"))] == [""]


TRIED = """
import sys
from rolecall_server.__main__ import main

def see(event, arguments):
    if event == "open" and str(arguments[0]).startswith(FOLDER):
        print("made", arguments[0], flush=True)

sys.addaudithook(see)
if sys.argv[1] == "as Python does":
    import tempfile
    tempfile.gettempdir()
sys.argv = ["rolecall", "log", "--json"]
sys.exit(main())
"""


@pytest.mark.parametrize("way", ["as Python does", "as Rolecall does"])
def test_the_folder_for_temporary_files_is_not_tried_by_making_one(tmp_path: Path, way: str) -> None:
    root, environ = write_workspace(tmp_path / "work"), environment(tmp_path / "home")
    script = f"FOLDER = {environ['TMPDIR']!r}\n{TRIED}"
    ended = subprocess.run(
        [sys.executable, "-c", script, way], cwd=root, env=environ, capture_output=True, text=True, check=True
    )
    assert ("made" in ended.stdout) == (way == "as Python does")
