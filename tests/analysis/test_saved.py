"""Facts outlive the process that read them, and a store that is wrong in any way is built again."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rolecall_analysis import Index, Problem, definitions_in
from rolecall_analysis.indexing import saved_facts as saved
from rolecall_analysis.indexing.file_reading import SETTLED_NS
from rolecall_analysis.indexing.saved_facts import SavedFacts
from support.trees import write_modules

N_FILES = 30


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_modules(tmp_path / "root", N_FILES)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "graph.sqlite3"


@contextmanager
def indexed(root: Path, store: Path) -> Iterator[tuple[Index, tuple[Problem, ...]]]:
    index = Index(root, saved_in=store)
    try:
        yield index, index.scan()
    finally:
        index.close()


def settle() -> None:
    """Wait until what was written cannot be written again with the same time."""
    time.sleep(SETTLED_NS / 1e9 + 0.1)


def n_read(root: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many files an index that starts anew reads."""
    from rolecall_analysis.indexing import index as index_module

    read: list[str] = []
    read_files = index_module.read_files

    def counting(root: Path, files: list[tuple[str, bytes]]) -> object:
        read.extend(path for path, _ in files)
        return read_files(root, files)

    monkeypatch.setattr(index_module, "read_files", counting)
    with indexed(root, store):
        pass
    monkeypatch.undo()
    return len(read)


def test_a_later_index_has_the_same_graph_and_reads_only_what_changed(
    root: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle()
    with indexed(root, store) as (first, problems):
        assert problems == ()
        before = dict(first.snapshot().files)
    with indexed(root, store) as (second, problems):
        assert problems == ()
        assert dict(second.snapshot().files) == before
        assert len(list(second.snapshot().mentioning("shared"))) == N_FILES
    assert n_read(root, store, monkeypatch) == 0
    (root / "pkg0/m7.py").write_text("def changed(): ...\n")
    (root / "pkg0/m8.py").unlink()
    (root / "pkg0/new.py").write_text("def new(): ...\n")
    with indexed(root, store) as (third, _):
        assert definitions_in(third.snapshot(), "pkg0/m7.py")[0].name == "changed"
        assert definitions_in(third.snapshot(), "pkg0/new.py")[0].name == "new"
        assert len(third.snapshot().files) == N_FILES
        assert "pkg0/m8.py" not in third.snapshot().files
    settle()
    assert n_read(root, store, monkeypatch) == 2, "both were written too shortly before they were saved to be trusted"
    assert n_read(root, store, monkeypatch) == 0


def test_another_content_with_the_same_size_and_time_is_seen(root: Path, store: Path) -> None:
    path = root / "pkg0/m7.py"
    with indexed(root, store):
        pass
    status = path.stat()
    path.write_text(path.read_text().replace("first7", "later7"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    with indexed(root, store) as (index, _):
        assert definitions_in(index.snapshot(), "pkg0/m7.py")[0].name == "later7"


def test_what_a_refresh_read_is_saved(root: Path, store: Path) -> None:
    with indexed(root, store) as (index, _):
        (root / "pkg0/m7.py").write_text("def changed(): ...\n")
        (root / "pkg0/m8.py").unlink()
        index.refresh(["pkg0/m7.py", "pkg0/m8.py"])
        index.open_document("pkg0/m9.py", "def unsaved(): ...\n")
    facts = SavedFacts(store)
    entries = facts.load()
    facts.close()
    assert len(entries) == N_FILES - 1
    assert b"changed" in entries["pkg0/m7.py"].packed
    assert b"unsaved" not in entries["pkg0/m9.py"].packed


def test_problems_of_files_are_told_again_though_they_are_not_read_again(root: Path, store: Path) -> None:
    (root / "broken.py").write_text("def f(:\n")
    with indexed(root, store) as (_, first):
        assert {problem.path for problem in first} == {"broken.py"}
    with indexed(root, store) as (_, second):
        assert second == first


def test_the_store_of_another_version_is_built_again(root: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with indexed(root, store):
        pass
    monkeypatch.setattr(saved, "graph_version", lambda: 12345)
    facts = SavedFacts(store)
    assert facts.load() == {}
    assert facts.take_problems() == []
    facts.close()
    with indexed(root, store) as (index, problems):
        assert problems == ()
        assert len(index.snapshot().files) == N_FILES


def test_the_version_is_that_of_the_code_and_stays_the_same_between_processes() -> None:
    program = "from rolecall_analysis.indexing.saved_facts import graph_version; print(graph_version())"
    told = subprocess.run([sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True).stdout
    assert int(told) == saved.graph_version() > 0


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_store_gives_the_right_graph_and_is_said_to_be(root: Path, store: Path, seed: int) -> None:
    with indexed(root, store) as (index, _):
        expected = dict(index.snapshot().files)
    chance = random.Random(seed)
    content = bytearray(store.read_bytes())
    for _ in range(chance.choice([1, 40])):
        at = chance.randrange(len(content))
        content[at : at + 200] = chance.randbytes(200)
    store.write_bytes(content)
    with indexed(root, store) as (index, _):
        assert dict(index.snapshot().files) == expected
    with indexed(root, store) as (index, problems):
        assert dict(index.snapshot().files) == expected
        assert problems == ()


@pytest.mark.parametrize("content", [b"", b"no database at all" * 1000, b"SQLite format 3\0" + b"\0" * 5000])
def test_a_file_that_is_no_store_is_replaced(root: Path, store: Path, content: bytes) -> None:
    store.parent.mkdir()
    store.write_bytes(content)
    with indexed(root, store) as (index, problems):
        assert len(index.snapshot().files) == N_FILES
        assert all(problem.path == "" and "built again" in problem.message for problem in problems)
        assert bool(problems) == bool(content)
    with indexed(root, store) as (_, problems):
        assert problems == ()


def test_a_locked_store_is_done_without_and_said_to_be(root: Path, store: Path) -> None:
    with indexed(root, store):
        pass
    settle()
    (root / "pkg0/m7.py").write_text("def changed(): ...\n")
    other = sqlite3.connect(store)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with indexed(root, store) as (index, problems):
        assert [problem.path for problem in problems] == [""]
        assert "locked" in problems[0].message
        assert len(index.snapshot().files) == N_FILES
    other.close()


def test_where_nothing_can_be_written_the_graph_is_there_all_the_same(root: Path, tmp_path: Path) -> None:
    (tmp_path / "a_file").write_text("")
    with indexed(root, tmp_path / "a_file" / "graph.sqlite3") as (index, problems):
        assert len(index.snapshot().files) == N_FILES
        assert len(problems) == 1
    (tmp_path / "folder.sqlite3").mkdir()
    with indexed(root, tmp_path / "folder.sqlite3") as (index, problems):
        assert len(index.snapshot().files) == N_FILES
        assert len(problems) == 1


def test_two_sessions_share_a_store(root: Path, store: Path) -> None:
    with indexed(root, store) as (one, _), indexed(root, store) as (two, problems):
        assert problems == ()
        (root / "pkg0/m7.py").write_text("def changed(): ...\n")
        assert one.refresh(["pkg0/m7.py"]) == two.refresh(["pkg0/m7.py"]) == ()
        assert dict(one.snapshot().files) == dict(two.snapshot().files)


WRITER = """
    import sys
    from pathlib import Path
    from rolecall_analysis import Index
    root, store = map(Path, sys.argv[1:])
    index = Index(root, saved_in=store)
    index.scan()
    print("scanned", flush=True)
    for turn in range(10_000):
        for path in root.rglob("*.py"):
            path.write_text(f"def turn{turn}(): ...\\n" * 300)
        index.refresh(path.relative_to(root).as_posix() for path in root.rglob("*.py"))
"""


@pytest.mark.parametrize("seed", range(6))
def test_a_store_whose_writer_was_killed_is_right(root: Path, store: Path, seed: int) -> None:
    chance = random.Random(seed)
    program = [sys.executable, "-I", "-c", textwrap.dedent(WRITER), str(root), str(store)]
    writer = subprocess.Popen(program, stdout=subprocess.PIPE)
    assert writer.stdout is not None
    if seed % 2:
        writer.stdout.readline()
    time.sleep(chance.uniform(0.05, 0.8))
    writer.kill()
    writer.wait()
    writer.stdout.close()
    with indexed(root, store) as (index, _):
        fresh = Index(root)
        fresh.scan()
        assert dict(index.snapshot().files) == dict(fresh.snapshot().files)
    with indexed(root, store) as (_, problems):
        assert [problem for problem in problems if problem.path == ""] == []
