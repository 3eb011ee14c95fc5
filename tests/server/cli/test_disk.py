"""Writing what was accepted: everything that was meant, nothing else, and the store knows how far it came."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall_server.cli.disk import write_accepted
from rolecall_server.errors import FileRefused, HunkStale
from rolecall_server.review.evidence import Evidence
from rolecall_server.review.hunks import file_change, number_hunks
from rolecall_server.review.proposal import HunkState, Proposal
from rolecall_server.review.shelf import Reviewed, load_proposal, save_proposal
from rolecall_server.store import Store, open_store
from rolecall_server.workspace import TextFile, Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return (tmp_path / "work").resolve()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "data" / "rolecall.db")


def propose(store: Store, root: Path, changes: dict[str, tuple[str | None, str]]) -> Reviewed:
    """A stored proposal of the texts after on the texts before, which are written below *root*."""
    files = []
    for path, (before, after) in changes.items():
        if before is not None:
            (root / path).write_text(before)
        files.append(file_change(path, TextFile(path, before) if before is not None else None, after))
    proposal_id = store.reserve_proposal(store.add_run(root, "engineer", "", ""))
    save_proposal(store, Proposal(proposal_id, "r1", "Engineer", "t", "", "", number_hunks(files), Evidence(ran=False)))
    return load_proposal(store, proposal_id)


def test_all_files_are_written_and_the_hunks_are_accepted(root: Path, store: Store) -> None:
    reviewed = propose(store, root, {"a.py": ("x = 1\n", "x = 2\n"), "new/b.py": (None, "y = 1\n")})
    assert write_accepted(store, Workspace(root), reviewed, ["h1", "h2"]) == ("a.py", "new/b.py")
    assert ((root / "a.py").read_text(), (root / "new/b.py").read_text()) == ("x = 2\n", "y = 1\n")
    assert set(load_proposal(store, reviewed.proposal.id).states.values()) == {HunkState.ACCEPTED}
    assert sorted(path.name for path in root.rglob("*")) == ["a.py", "b.py", "new"], "no temporary file is left"


def test_nothing_is_written_where_nothing_is_wanted(root: Path, store: Store) -> None:
    reviewed = propose(store, root, {"a.py": ("x = 1\n", "x = 2\n")})
    assert write_accepted(store, Workspace(root), reviewed, []) == ()
    assert (root / "a.py").read_text() == "x = 1\n"


def test_one_file_that_changed_keeps_all_from_being_written(root: Path, store: Store) -> None:
    reviewed = propose(store, root, {"a.py": ("x = 1\n", "x = 2\n"), "b.py": ("y = 1\n", "y = 2\n")})
    (root / "b.py").write_text("y = 7\n")
    with pytest.raises(HunkStale, match=r"b\.py"):
        write_accepted(store, Workspace(root), reviewed, ["h1", "h2"])
    assert (root / "a.py").read_text() == "x = 1\n"
    assert set(load_proposal(store, reviewed.proposal.id).states.values()) == {HunkState.PENDING}


def test_one_read_only_file_keeps_all_from_being_written(root: Path, store: Store) -> None:
    reviewed = propose(store, root, {"a.py": ("x = 1\n", "x = 2\n"), "b.py": ("y = 1\n", "y = 2\n")})
    (root / "b.py").chmod(0o444)
    with pytest.raises(FileRefused, match=r"b\.py is read-only"):
        write_accepted(store, Workspace(root), reviewed, ["h1", "h2"])
    assert (root / "a.py").read_text() == "x = 1\n"


def test_a_file_that_cannot_be_written_leaves_those_before_it_accepted_and_itself_pending(
    root: Path, store: Store
) -> None:
    reviewed = propose(store, root, {"a.py": ("x = 1\n", "x = 2\n"), "taken/b.py": (None, "y = 1\n")})
    (root / "taken").write_text("a file, not a folder\n")
    with pytest.raises(FileRefused, match=r"taken/b\.py cannot be written") as told:
        write_accepted(store, Workspace(root), reviewed, ["h1", "h2"])
    assert told.value.next_step
    assert (root / "a.py").read_text() == "x = 2\n"
    states = load_proposal(store, reviewed.proposal.id).states
    assert states == {"h1": HunkState.ACCEPTED, "h2": HunkState.PENDING}


def test_a_file_that_was_deleted_meanwhile_does_not_come_back(root: Path, store: Store) -> None:
    reviewed = propose(store, root, {"a.py": ("x = 1\n", "x = 2\n")})
    (root / "a.py").unlink()
    with pytest.raises(HunkStale, match="was deleted"):
        write_accepted(store, Workspace(root), reviewed, ["h1"])
    assert not (root / "a.py").exists()


def test_a_new_file_does_not_replace_one_that_came_meanwhile(root: Path, store: Store) -> None:
    reviewed = propose(store, root, {"a.py": (None, "x = 2\n")})
    (root / "a.py").write_text("x = 1\n")
    with pytest.raises(HunkStale, match="exists by now"):
        write_accepted(store, Workspace(root), reviewed, ["h1"])
    assert (root / "a.py").read_text() == "x = 1\n"


@pytest.mark.parametrize("path", ["../out.py", "/tmp/out.py", "a\0.py", "link/out.py"])
def test_a_path_that_leads_out_is_refused(root: Path, store: Store, path: str) -> None:
    (root / "link").symlink_to(root.parent)
    reviewed = propose(store, root, {path: (None, "x = 1\n")})
    with pytest.raises(FileRefused):
        write_accepted(store, Workspace(root), reviewed, ["h1"])
    assert not (root.parent / "out.py").exists()
