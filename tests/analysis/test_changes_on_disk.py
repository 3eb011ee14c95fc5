"""Whatever happens to files and folders, an index that is told of it equals one that starts anew."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rolecall_analysis import Index, definitions_in
from rolecall_analysis.facts.packed import pack
from support.fixture import parse_fixture
from support.trees import write_modules


def scanned(root: Path, text: str = "") -> Index:
    index = Index(parse_fixture(text).write_to(root))
    index.scan()
    return index


def fresh(root: Path) -> Index:
    index = Index(root)
    index.scan()
    return index


def test_a_folder_that_is_renamed_or_deleted_takes_its_files_with_it(tmp_path: Path) -> None:
    index = scanned(tmp_path, "#- old/a.py\nx = 1\n#- old/deep/b.py\ny = 1\n#- older.py\nz = 1\n")
    (tmp_path / "old").rename(tmp_path / "new")
    index.refresh(["old", "new"])
    assert set(index.snapshot().files) == {"new/a.py", "new/deep/b.py", "older.py"}
    assert set(index.snapshot().modules.files) == {"new/a", "new/deep/b", "older"}
    shutil.rmtree(tmp_path / "new")
    index.refresh(["new"])
    assert set(index.snapshot().files) == {"older.py"}


def test_a_folder_that_is_named_like_a_file_is_followed_too(tmp_path: Path) -> None:
    index = scanned(tmp_path, "#- charts.py/a.py\nx = 1\n")
    assert set(index.snapshot().files) == {"charts.py/a.py"}
    (tmp_path / "charts.py/a.py").write_text("y = 1")
    index.refresh(["charts.py"])
    assert definitions_in(index.snapshot(), "charts.py/a.py")[0].name == "y"
    shutil.rmtree(tmp_path / "charts.py")
    (tmp_path / "charts.py").write_text("z = 1")
    index.refresh(["charts.py"])
    assert set(index.snapshot().files) == {"charts.py"}


def test_an_edited_gitignore_takes_files_out_and_brings_them_back(tmp_path: Path) -> None:
    index = scanned(tmp_path, "#- pkg/a.py\nx = 1\n#- pkg/gen/b.py\ny = 1\n#- c.py\nz = 1\n")
    (tmp_path / "pkg/.gitignore").write_text("gen/\n")
    index.refresh(["pkg/.gitignore"])
    assert set(index.snapshot().files) == {"pkg/a.py", "c.py"}
    (tmp_path / "pkg/gen/b.py").write_text("changed = 1")
    index.refresh(["pkg/gen/b.py"])
    assert set(index.snapshot().files) == {"pkg/a.py", "c.py"}
    (tmp_path / "pkg/.gitignore").unlink()
    index.refresh(["pkg/.gitignore"])
    assert definitions_in(index.snapshot(), "pkg/gen/b.py")[0].name == "changed"
    (tmp_path / ".gitignore").write_text("*.py\n")
    index.refresh([".gitignore"])
    assert index.snapshot().files == {}


def test_a_folder_becomes_source_or_an_environment_by_one_file_in_it(tmp_path: Path) -> None:
    index = scanned(tmp_path, "#- build/a.py\nx = 1\n#- env/b.py\ny = 1\n")
    assert set(index.snapshot().files) == {"env/b.py"}
    (tmp_path / "build/__init__.py").touch()
    (tmp_path / "env/pyvenv.cfg").touch()
    index.refresh(["build/__init__.py", "env/pyvenv.cfg"])
    assert set(index.snapshot().files) == {"build/__init__.py", "build/a.py"}
    (tmp_path / "build/__init__.py").unlink()
    (tmp_path / "env/pyvenv.cfg").unlink()
    index.refresh(["build/__init__.py", "env/pyvenv.cfg"])
    assert set(index.snapshot().files) == {"env/b.py"}


def test_an_open_document_stays_though_its_file_is_ignored_or_deleted(tmp_path: Path) -> None:
    index = scanned(tmp_path, "#- a.py\nx = 1\n")
    index.open_document("a.py", "typed = 1")
    (tmp_path / ".gitignore").write_text("a.py\n")
    (tmp_path / "a.py").unlink()
    index.refresh([".gitignore", "a.py"])
    index.scan()
    assert definitions_in(index.snapshot(), "a.py")[0].name == "typed"
    index.close_document("a.py")
    assert index.snapshot().files == {}


def test_a_file_that_was_touched_and_not_changed_keeps_its_facts(tmp_path: Path) -> None:
    index = scanned(tmp_path, "#- a.py\nx = 1\n")
    before = index.snapshot()
    os.utime(tmp_path / "a.py", (1, 1))
    index.refresh(["a.py"])
    assert index.snapshot() is before


def test_a_document_that_is_saved_as_it_stands_is_not_read_again(tmp_path: Path) -> None:
    index = scanned(tmp_path, "#- a.py\nx = 1\n")
    for text in ("y = 'é'\r\n", "# coding: latin-1\ny = 'é'\n", "\ufeffy = 1\n", "y = (\n"):
        index.open_document("a.py", text)
        in_editor = pack(index.snapshot().files["a.py"])
        (tmp_path / "a.py").write_bytes(text.encode())
        index.refresh(["a.py"])
        index.close_document("a.py")
        record = index.snapshot().files.record("a.py")
        assert record is not None
        assert (record.packed is in_editor) == (not text.startswith(("#", "\ufeff")))
        assert index.snapshot().files["a.py"] == fresh(tmp_path).snapshot().files["a.py"]
        assert list(index.snapshot().mentioning("y")) == ["a.py"]


def test_a_branch_switch_of_a_thousand_files_is_one_refresh(tmp_path: Path) -> None:
    write_modules(tmp_path, 1_000)
    index = fresh(tmp_path)
    write_modules(tmp_path, 700, "other")
    for number in range(700, 1_000):
        (tmp_path / f"pkg{number // 100}" / f"m{number}.py").unlink()
    assert index.refresh(f"pkg{number // 100}/m{number}.py" for number in range(1_000)) == ()
    assert dict(index.snapshot().files) == dict(fresh(tmp_path).snapshot().files)
    assert sorted(index.snapshot().mentioning("other7")) == ["pkg0/m7.py"]
    assert list(index.snapshot().mentioning("first7")) == []


@pytest.mark.parametrize(
    "path", ["", ".", "..", "../x.py", "/etc", "a\0.py", "\ud800.py", "a//b.py", "./a.py", "x" * 5_000]
)
def test_an_odd_path_breaks_nothing(tmp_path: Path, path: str) -> None:
    index = scanned(tmp_path, "#- a.py\nx = 1\n")
    index.refresh([path])
    assert set(index.snapshot().files) == {"a.py"}


folders = st.sampled_from(["a", "b", "a/b", "node_modules", "a/build"])
files = st.builds("{}/{}".format, folders, st.sampled_from(["m.py", "n.py", "__init__.py", "pyvenv.cfg"]))
contents = st.sampled_from(["x = 1\n", "def f(): ...\n", "from a import m\n", "", "(", "\xff"])
ignore_files = st.sampled_from([".gitignore", "a/.gitignore"])
patterns = st.sampled_from(["", "m.py\n", "b/\n", "*.py\n!n.py\n", "/a\n"])


class Disk(RuleBasedStateMachine):
    """Files come, change and go, documents open and close, and the index hears of each."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="rolecall-disk-")).resolve()
        self.index = Index(self.root)
        self.index.scan()
        self.open: dict[str, str] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    @rule(path=files, content=contents)
    def write(self, path: str, content: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(content, encoding="latin-1")
        self.index.refresh([path])

    @rule(path=ignore_files, content=patterns)
    def ignore(self, path: str, content: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(content)
        self.index.refresh([path])

    @rule(path=files)
    def delete(self, path: str) -> None:
        (self.root / path).unlink(missing_ok=True)
        self.index.refresh([path])

    @rule(path=folders)
    def delete_folder(self, path: str) -> None:
        shutil.rmtree(self.root / path, ignore_errors=True)
        self.index.refresh([path])

    @rule(path=folders, new=st.sampled_from(["a", "c", "b/a"]))
    def rename_folder(self, path: str, new: str) -> None:
        if (self.root / path).exists() and not (self.root / new).exists() and not new.startswith(f"{path}/"):
            (self.root / new).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).rename(self.root / new)
            self.index.refresh([new, path])

    @rule(path=files, content=contents)
    def edit(self, path: str, content: str) -> None:
        if path.endswith(".py"):
            self.open[path] = content
        self.index.open_document(path, content)

    @rule(path=files)
    def close(self, path: str) -> None:
        self.open.pop(path, None)
        self.index.close_document(path)

    @invariant()
    def it_equals_an_index_that_starts_anew(self) -> None:
        expected = fresh(self.root).snapshot().with_changes(self.open)
        snapshot = self.index.snapshot()
        assert dict(snapshot.files) == dict(expected.files)
        assert snapshot.modules == expected.modules
        for name in ("f", "m", "x"):
            assert sorted(snapshot.mentioning(name)) == sorted(
                path for path, facts in expected.files.items() if name in facts.names
            )


Disk.TestCase.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)
TestAnySequenceOfChanges = Disk.TestCase
