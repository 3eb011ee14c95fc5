"""Writing what was accepted: everything that was meant, nothing else, and the store knows how far it came."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rolecall_server.cli.files import disk
from rolecall_server.cli.files.disk import take_back, write_accepted
from rolecall_server.errors import FileRefused, HunkStale
from rolecall_server.review.proposals.changes import changes_of
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.hunks import file_change, number_hunks
from rolecall_server.review.proposals.proposal import HunkState, Proposal
from rolecall_server.review.proposals.proposal_store import Reviewed, load_proposal, save_proposal
from rolecall_server.store import Store
from rolecall_server.store.landings import begin_change
from rolecall_server.workspace import TextFile, Workspace
from support.stores import open_store


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


def test_a_file_that_cannot_be_written_brings_back_those_that_were_written_before_it(root: Path, store: Store) -> None:
    reviewed = propose(store, root, {"a.py": ("x = 1\n", "x = 2\n"), "taken/b.py": (None, "y = 1\n")})
    (root / "taken").write_text("a file, not a folder\n")
    with pytest.raises(FileRefused, match=r"taken/b\.py cannot be written") as told:
        write_accepted(store, Workspace(root), reviewed, ["h1", "h2"])
    assert told.value.next_step
    assert (root / "a.py").read_text() == "x = 1\n"
    states = load_proposal(store, reviewed.proposal.id).states
    assert states == {"h1": HunkState.PENDING, "h2": HunkState.PENDING}


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


def test_two_files_do_not_become_one(root: Path, store: Store) -> None:
    for name in ("a.py", "b.py"):
        (root / name).write_text("x = 1\n")
    (change,) = changes_of(Workspace(root), {"a.py": None, "c.py": "x = 1\n"}, {"a.py": "c.py"})
    twice = (change, replace(change, path="b.py", hunks=tuple(replace(hunk, id="h9") for hunk in change.hunks)))
    proposal_id = store.reserve_proposal(store.add_run(root, "engineer", "", ""))
    save_proposal(store, Proposal(proposal_id, "r1", "Engineer", "t", "", "", twice, Evidence(ran=False)))
    reviewed = load_proposal(store, proposal_id)
    with pytest.raises(FileRefused, match=r"Two files of the proposal would become c\.py"):
        write_accepted(store, Workspace(root), reviewed, [hunk.id for _, hunk in reviewed.proposal.hunks()])
    assert sorted(path.name for path in root.iterdir()) == ["a.py", "b.py"]


def propose_files(store: Store, root: Path, files: dict[str, str | None]) -> Reviewed:
    """A stored proposal of what *files* shall hold, or that they go."""
    proposal_id = store.reserve_proposal(store.add_run(root, "engineer", "", ""))
    changes = changes_of(Workspace(root), files, {})
    save_proposal(store, Proposal(proposal_id, "r1", "Engineer", "t", "", "", changes, Evidence(ran=False)))
    return load_proposal(store, proposal_id)


@pytest.mark.parametrize("mode", [0o755, 0o644, 0o700, 0o600])
def test_a_deleted_file_comes_back_with_the_permissions_it_had_when_it_was_deleted(
    root: Path, store: Store, mode: int
) -> None:
    (root / "run.sh").write_text("echo hello\n")
    reviewed = propose_files(store, root, {"run.sh": None})
    (root / "run.sh").chmod(mode)
    write_accepted(store, Workspace(root), reviewed, ["h1"])
    assert not (root / "run.sh").exists()
    take_back(store, Workspace(root), load_proposal(store, reviewed.proposal.id), ["h1"])
    assert (root / "run.sh").read_text() == "echo hello\n"
    assert (root / "run.sh").stat().st_mode & 0o777 == mode


def test_a_deleted_program_that_is_put_back_because_another_file_failed_is_as_it_was(root: Path, store: Store) -> None:
    (root / "run.sh").write_text("echo hello\n")
    (root / "run.sh").chmod(0o700)
    reviewed = propose_files(store, root, {"run.sh": None, "taken/b.py": "y = 1\n"})
    (root / "taken").write_text("a file, not a folder\n")
    with pytest.raises(FileRefused):
        write_accepted(store, Workspace(root), reviewed, ["h1", "h2"])
    assert (root / "run.sh").stat().st_mode & 0o777 == 0o700


def test_a_file_that_somebody_saves_between_the_plan_and_its_write_keeps_what_was_saved(
    root: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviewed = propose(store, root, {"a.py": ("x = 1\n", "x = 2\n"), "b.py": ("y = 1\n", "y = 2\n")})

    def save_meanwhile(*arguments: Any) -> Any:
        (root / "b.py").write_text("y = 1\nsaved = True\n")
        return begin_change(*arguments)

    monkeypatch.setattr(disk, "begin_change", save_meanwhile)
    with pytest.raises(FileRefused, match=r"b\.py was changed just now"):
        write_accepted(store, Workspace(root), reviewed, ["h1", "h2"])
    assert (root / "a.py").read_text() == "x = 1\n"
    assert (root / "b.py").read_text() == "y = 1\nsaved = True\n"
    assert not load_proposal(store, reviewed.proposal.id).accepted
