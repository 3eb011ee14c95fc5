"""A command that is ended while it changes files, at each change: files and store agree after the next command."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from rolecall_server.cli.files import disk
from rolecall_server.cli.files.disk import finish_changes, reject, take_back, write_accepted
from rolecall_server.errors import FileRefused
from rolecall_server.review.proposals.proposal import HunkState
from rolecall_server.review.proposals.proposal_store import Reviewed, load_proposal, refresh
from rolecall_server.store import Store
from rolecall_server.store.landings import begin_change
from rolecall_server.workspace import Workspace, read_text_or_none
from support.proposals import propose
from support.stores import open_store
from support.struck import strike

BEFORE = {"a.py": "x = 1\n", "old/gone.py": "y = 1\n", "here/moved.py": "z = 1\n"}
AFTER = {"a.py": "x = 2\n", "new/deep/b.py": "w = 1\n", "there/moved.py": "z = 2\n"}
FILES: dict[str, str | None] = {**AFTER, "old/gone.py": None}
RENAMES = {"here/moved.py": "there/moved.py"}
MAY_STRIKE = range(1, 60)
IN_THE_MIDDLE = 9
"""The change at which some files have been written and others have not."""


class Desk:
    """A workspace, a store and a proposal of four kinds of change."""

    def __init__(self, folder: Path, files: Mapping[str, str | None] = MappingProxyType(FILES)) -> None:
        self.root = (folder / "work").resolve()
        self.path = folder / "data" / "rolecall.db"
        for path, text in BEFORE.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        with_store = open_store(self.path)
        self.proposal_id = propose(with_store, self.root, files, RENAMES if files == FILES else {}).proposal.id
        with_store.close()

    def texts(self) -> Mapping[str, str]:
        """Return all that lies in the workspace, hidden files too."""
        files = (path for path in self.root.rglob("*") if path.is_file())
        return {path.relative_to(self.root).as_posix(): path.read_text() for path in files}

    def reviewed(self, store: Store) -> Reviewed:
        return load_proposal(store, self.proposal_id)

    def accept_in_child(self, number: int, n: int, *, undo: bool = False) -> int:
        """Accept everything in a process that the signal *number* strikes at the *n*th change; how it ended."""
        child = os.fork()
        if child == 0:
            code = 70
            try:
                store = open_store(self.path)
                reviewed = self.reviewed(store)
                strike(number, n, self.root.parent)
                change = take_back if undo else write_accepted
                change(store, Workspace(self.root), reviewed, [*reviewed.states])
                code = 0
            except KeyboardInterrupt:
                code = 71
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def finish(desk: Desk) -> tuple[list[str], set[HunkState]]:
    store = open_store(desk.path)
    told = [*finish_changes(store)]
    states = set(desk.reviewed(store).states.values())
    store.close()
    return told, states


def test_a_killed_acceptance_is_finished_or_never_was_whenever_it_is_killed(tmp_path: Path) -> None:
    outcomes: list[bool] = []
    for n in MAY_STRIKE:
        desk = Desk(tmp_path / str(n))
        ended = desk.accept_in_child(signal.SIGKILL, n)
        assert not [path for path in desk.texts() if path not in {**BEFORE, **AFTER}], "no temporary file is left"
        told, states = finish(desk)
        is_written = desk.texts() == AFTER
        assert is_written or desk.texts() == BEFORE
        assert states == {HunkState.ACCEPTED if is_written else HunkState.PENDING}
        if ended == 0:
            assert told == []
            break
        assert ended == -signal.SIGKILL
        assert len(told) == 1
        assert ("nothing was written" in told[0]) == (not is_written)
        assert not [*desk.path.parent.glob("staging/*")]
        assert finish(desk) == ([], states), "it is told once"
        outcomes.append(is_written)
    assert {True, False} == set(outcomes)
    assert len(outcomes) > 8


def test_a_killed_undo_is_finished_or_never_was_whenever_it_is_killed(tmp_path: Path) -> None:
    for n in MAY_STRIKE:
        desk = Desk(tmp_path / str(n))
        assert desk.accept_in_child(0, 0) == 0
        ended = desk.accept_in_child(signal.SIGKILL, n, undo=True)
        _, states = finish(desk)
        assert (desk.texts(), states) in ((BEFORE, {HunkState.PENDING}), (AFTER, {HunkState.ACCEPTED}))
        if ended == 0:
            return
    pytest.fail("it was struck each time")


def test_a_folder_that_was_made_for_a_file_that_never_came_is_gone_again(tmp_path: Path) -> None:
    was_there: list[bool] = []
    for n in MAY_STRIKE:
        desk = Desk(tmp_path / str(n), {"new/deep/b.py": "w = 1\n"})
        ended = desk.accept_in_child(signal.SIGKILL, n)
        was_there.append((desk.root / "new").exists())
        finish(desk)
        assert (desk.root / "new").exists() == ("new/deep/b.py" in desk.texts())
        if ended == 0:
            break
    assert {True, False} == set(was_there)


def test_an_interrupted_acceptance_is_carried_out_and_ends_the_command_afterwards(tmp_path: Path) -> None:
    for n in (1, 4, 9):
        desk = Desk(tmp_path / str(n))
        assert desk.accept_in_child(signal.SIGINT, n) == 71
        assert desk.texts() == AFTER
        assert finish(desk) == ([], {HunkState.ACCEPTED})


def test_a_file_that_changed_since_is_left_and_its_hunk_is_offered_again(desk: Desk) -> None:
    assert desk.accept_in_child(signal.SIGKILL, IN_THE_MIDDLE) == -signal.SIGKILL
    assert desk.texts() not in (BEFORE, AFTER)
    (desk.root / "old/gone.py").write_text("y = 7\n")
    told, states = finish(desk)
    assert desk.texts() == {**AFTER, "old/gone.py": "y = 7\n"}
    assert "old/gone.py was changed since, and left as it is." in told[0]
    assert states == {HunkState.ACCEPTED, HunkState.PENDING}


def test_what_cannot_be_finished_is_taken_back(desk: Desk) -> None:
    assert desk.accept_in_child(signal.SIGKILL, IN_THE_MIDDLE) == -signal.SIGKILL
    assert desk.texts() not in (BEFORE, AFTER)
    (desk.root / "there").write_text("in the way\n")
    told, states = finish(desk)
    assert "taken back" in told[0]
    assert desk.texts() == {**BEFORE, "there": "in the way\n"}
    assert states == {HunkState.PENDING}


def test_a_repository_that_is_gone_is_told_once(desk: Desk) -> None:
    assert desk.accept_in_child(signal.SIGKILL, IN_THE_MIDDLE) == -signal.SIGKILL
    desk.root.rename(desk.root.with_name("elsewhere"))
    told, _ = finish(desk)
    assert len(told) == 1
    assert finish(desk)[0] == []
    assert not desk.root.exists()


def test_two_commands_never_change_files_of_one_repository_at_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(desk.path)
    assert begin_change(store, desk.root, "{}") is not None
    monkeypatch.setattr(disk, "_TURN_S", 0.0)
    with pytest.raises(FileRefused, match="Another command is changing files"):
        write_accepted(store, Workspace(desk.root), desk.reviewed(store), ["h1"])
    assert [*finish_changes(store)] == [], "a process that runs is left alone"
    assert desk.texts() == BEFORE


def test_who_comes_second_is_refused_and_undoes_nothing_of_the_first(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, begin = open_store(desk.path), begin_change
    reviewed = desk.reviewed(store)

    def be_overtaken(*arguments: Any) -> int | None:
        monkeypatch.setattr(disk, "begin_change", begin)
        assert desk.accept_in_child(0, 0) == 0
        return begin(*arguments)

    monkeypatch.setattr(disk, "begin_change", be_overtaken)
    with pytest.raises(FileRefused, match="accepted by another command just now"):
        write_accepted(store, Workspace(desk.root), reviewed, [*reviewed.states])
    assert desk.texts() == AFTER
    assert finish(desk) == ([], {HunkState.ACCEPTED})


def test_who_looks_at_a_proposal_that_another_accepts_meanwhile_overrules_nothing(desk: Desk) -> None:
    store = open_store(desk.path)
    seen = desk.reviewed(store)
    assert desk.accept_in_child(0, 0) == 0
    now = refresh(store, seen, partial(read_text_or_none, Workspace(desk.root)))
    assert {*now.states.values()} == {HunkState.ACCEPTED}
    assert finish(desk) == ([], {HunkState.ACCEPTED})


def test_a_hunk_that_another_accepts_meanwhile_is_not_rejected(desk: Desk) -> None:
    store = open_store(desk.path)
    seen = desk.reviewed(store)
    assert desk.accept_in_child(0, 0) == 0
    with pytest.raises(FileRefused, match="accepted by another command just now"):
        reject(store, Workspace(desk.root), seen, {"h1": "no"})
    assert finish(desk) == ([], {HunkState.ACCEPTED})


def test_where_the_disk_is_another_the_new_text_comes_from_beside_the_file(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, ways = Path.replace, list[Path]()

    def over_disks(self: Path, target: Path) -> Path:
        ways.append(self.parent)
        if self.parent != target.parent:
            raise OSError(18, "Invalid cross-device link")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", over_disks)
    store = open_store(desk.path)
    write_accepted(store, Workspace(desk.root), desk.reviewed(store), [*desk.reviewed(store).states])
    assert desk.texts() == AFTER
    assert desk.path.parent / "staging" in ways
    assert not [*(desk.path.parent / "staging").iterdir()]
