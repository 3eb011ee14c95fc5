"""What the store promises: nothing acknowledged is lost, and nothing of a damaged or newer file is misread."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import rolecall_analysis
import rolecall_server
from rolecall_server.errors import FileRefused, NotFound, StoreDamaged, StoreUnavailable, UserMustAct
from rolecall_server.processes import this_process
from rolecall_server.store import Caps, RunRow, Store
from support.stores import open_store

ROOT = Path("/repository")
WRITER = """
import itertools, sys
from pathlib import Path
from rolecall_server.store import Caps, open_store

store = open_store(Path(sys.argv[1]))
for number in itertools.count() if sys.argv[2] == "forever" else range(int(sys.argv[2])):
    run = store.add_run(Path("/repository"), "engineer", "a.py", f"brief {number}")
    call = store.reserve_call(run, f"request {number}", 0, Caps())
    store.end_call(call, "reply " * 500)
    proposal = store.reserve_proposal(run)
    store.save_proposal(proposal, f"body of {proposal} " * 200, [])
    store.decide(proposal, {"h1": "accepted", "h2": "rejected"})
    print(run, proposal, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "rolecall.db"


@pytest.fixture
def store(path: Path) -> Store:
    return open_store(path)


def states(store: Store, proposal_id: str) -> dict[str, str]:
    return {row.hunk_id: row.state for row in store.decisions(proposal_id)}


def start_writer(path: Path, n_writes: int | str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", WRITER, path, str(n_writes)], stdout=subprocess.PIPE, text=True)


def test_killing_a_process_in_the_middle_of_its_writes_loses_nothing_it_was_told_is_stored(path: Path) -> None:
    acknowledged: list[tuple[str, str]] = []
    for n_before_the_kill in (1, 7, 20):
        with start_writer(path, "forever") as writer:
            assert writer.stdout is not None
            for _ in range(n_before_the_kill):
                run, proposal = writer.stdout.readline().split()
                acknowledged.append((run, proposal))
            writer.send_signal(signal.SIGKILL)
            rest = [line.split() for line in writer.stdout.read().splitlines()]
            acknowledged += [(run, proposal) for run, proposal in rest]
    store = open_store(path)
    for run, proposal in acknowledged:
        assert store.run(run).brief.startswith("brief ")
        (call,) = store.calls(run)
        assert call.reply == "reply " * 500
        assert store.proposal(proposal) == f"body of {proposal} " * 200
        assert [(row.hunk_id, row.state) for row in store.decisions(proposal)] == [
            ("h1", "accepted"),
            ("h2", "rejected"),
        ]
    assert store.connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert not list(path.parent.glob("*damaged*"))


def test_several_processes_write_at_once(path: Path) -> None:
    writers = [start_writer(path, 25) for _ in range(3)]
    said = [writer.communicate()[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    proposals = {name for words in said for name in words if name.startswith("p")}
    assert len(proposals) == 75, "no id is given twice"
    store = open_store(path)
    assert len(store.proposals(ROOT)) == 75


def test_a_database_that_another_process_is_making_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = ["database is locked", "database is locked"]

    class Meeting(sqlite3.Connection):
        """Another process switches to a log at the same moment: SQLite refuses, and waits for nobody."""

        def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
            if "journal_mode" in sql and said:
                raise sqlite3.OperationalError(said.pop())
            return super().execute(sql, parameters)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Meeting))
    assert open_store(path).add_run(ROOT, "engineer", "", "") == "r1"
    assert not said


def test_what_one_process_stores_another_reads_at_once(path: Path, store: Store) -> None:
    other = open_store(path)
    run = store.add_run(ROOT, "engineer", "a.py", "brief")
    known = other.run(run)
    assert known == RunRow(run, "engineer", "a.py", "brief", "running", "", known.started_at_s, known.process)


@pytest.mark.parametrize("content", [b"not a database", b"SQLite format 3\0" + b"\xff" * 5000], ids=["text", "header"])
def test_a_damaged_file_is_set_aside_with_a_sentence_that_says_where(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    path.with_name(f"{path.name}-wal").write_bytes(b"what it had not taken in")
    with pytest.raises(StoreDamaged, match=r"is damaged .* and was moved to") as told:
        open_store(path)
    kept = next(one for one in path.parent.glob("rolecall.db.damaged-*") if "-wal" not in one.name)
    assert str(kept) in told.value.what
    assert kept.read_bytes() == content
    assert not path.with_name(f"{path.name}-wal").exists(), "a new database would take it in"
    assert open_store(path).add_run(ROOT, "engineer", "", "") == "r1", "the next one begins anew, and tells nothing"


def test_a_truncated_file_is_set_aside(path: Path, store: Store) -> None:
    run = store.add_run(ROOT, "engineer", "", "x" * 100_000)
    store.end_run(run, "finished")
    store.close()
    path.write_bytes(path.read_bytes()[:6000])
    with pytest.raises(StoreDamaged):
        open_store(path)
    assert open_store(path).proposals(ROOT) == ()
    assert len(list(path.parent.glob("rolecall.db.damaged-*"))) == 1


@pytest.mark.parametrize("name", ["r99999999999999999999", "p" + "9" * 5000, "r9223372036854775808"])
def test_a_number_that_no_row_can_have_is_not_found(store: Store, name: str) -> None:
    with pytest.raises(NotFound):
        store.run(name)
    with pytest.raises(NotFound):
        store.proposal(name)


def test_half_a_character_is_refused_where_it_would_be_stored_and_replaced_where_an_error_quotes_it(
    store: Store,
) -> None:
    with pytest.raises(FileRefused, match="not valid Unicode"):
        store.add_run(ROOT, "engineer", "", "half \udcff")
    run = store.add_run(ROOT, "engineer", "", "whole \N{SNAKE}")
    store.end_run(run, "failed", "There is no \udcff.")
    assert store.run(run).error == "There is no ?."


def test_an_empty_file_is_a_new_database(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    assert open_store(path).add_run(ROOT, "engineer", "", "") == "r1"


def test_a_newer_schema_is_refused_and_left_alone(path: Path, store: Store) -> None:
    store.add_run(ROOT, "engineer", "", "")
    store.connection.execute("PRAGMA user_version = 99")
    store.close()
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match="written by a newer Rolecall") as told:
        open_store(path)
    assert "Update Rolecall" in told.value.next_step
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*damaged*"))


@pytest.mark.parametrize("table", ["songs (title TEXT)", "run (distance REAL)"])
def test_another_programs_database_is_refused_and_left_alone(path: Path, table: str) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as other:
        other.execute(f"CREATE TABLE {table}")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match="no database of Rolecall's"):
        open_store(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("harm", ["DROP TABLE decision", "DROP TABLE suite", "ALTER TABLE act DROP COLUMN kind"])
def test_a_database_of_which_something_is_gone_is_set_aside_and_not_filled_up(
    path: Path, store: Store, harm: str
) -> None:
    store.add_run(ROOT, "engineer", "", "kept")
    store.connection.execute("PRAGMA foreign_keys = OFF")
    store.connection.execute(harm)
    store.close()
    with pytest.raises(StoreDamaged, match="it lacks"):
        open_store(path)
    with sqlite3.connect(next(path.parent.glob("*.damaged-*"))) as kept:
        assert kept.execute("SELECT brief FROM run").fetchall() == [("kept",)]
    kept.close()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        open_store(tmp_path / "file" / "rolecall.db")


def test_a_full_disk_is_told_and_what_was_stored_stays(store: Store) -> None:
    run = store.add_run(ROOT, "engineer", "", "")
    n_pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
    store.connection.execute(f"PRAGMA max_page_count = {n_pages}")
    with pytest.raises(StoreUnavailable, match="full") as told:
        store.reserve_call(run, "x" * 1_000_000, 0, Caps())
    assert "Free some space" in told.value.next_step
    assert store.calls(run) == ()
    assert store.run(run).state == "running"


def test_a_database_that_another_process_holds_is_told(path: Path, store: Store) -> None:
    store.connection.execute("PRAGMA busy_timeout = 10")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreUnavailable, match="locked"):
        store.add_run(ROOT, "engineer", "", "")
    other.execute("ROLLBACK")
    other.close()
    assert store.add_run(ROOT, "engineer", "", "") == "r1"


def test_only_its_user_can_read_the_folder(path: Path, store: Store) -> None:
    assert path.parent.stat().st_mode & 0o077 == 0


def test_a_run_and_its_calls_are_kept_as_they_went(store: Store) -> None:
    run = store.add_run(ROOT, "qa_engineer", "a.py", "be brief")
    good, bad = (store.reserve_call(run, text, 0, Caps()) for text in ("first", "second"))
    assert good is not None
    assert bad is not None
    store.end_call(good, "reply")
    store.end_call(bad, None, "ReplyCut: it broke off")
    store.end_run(run, "failed", "it broke off")
    assert [(call.request, call.reply, call.error) for call in store.calls(run)] == [
        ("first", "reply", ""),
        ("second", None, "ReplyCut: it broke off"),
    ]
    known = store.run(run)
    assert known == RunRow(
        run,
        "qa_engineer",
        "a.py",
        "be brief",
        "failed",
        "it broke off",
        known.started_at_s,
        this_process(),
        known.ended_at_s,
    )


def test_the_latest_decision_on_a_hunk_counts(store: Store) -> None:
    proposal = store.reserve_proposal(store.add_run(ROOT, "engineer", "", ""))
    store.decide(proposal, {"h1": "stale", "h2": "accepted"})
    store.decide(proposal, {"h1": "pending"}, "The text is back.")
    assert states(store, proposal) == {"h1": "pending", "h2": "accepted"}


def test_a_decision_is_stored_for_all_hunks_or_none(store: Store) -> None:
    proposal = store.reserve_proposal(store.add_run(ROOT, "engineer", "", ""))
    with pytest.raises(sqlite3.IntegrityError):
        store.decide(proposal, {"h1": "accepted", "h2": None})  # pyright: ignore[reportArgumentType]
    assert store.decisions(proposal) == ()


def test_a_database_of_an_earlier_version_keeps_its_decisions_and_learns_the_new_columns(path: Path) -> None:
    store = open_store(path)
    proposal = store.reserve_proposal(store.add_run(ROOT, "engineer", "", ""))
    store.decide(proposal, {"h1": "rejected"})
    store.connection.execute("DROP VIEW ledger")
    store.connection.execute("DROP INDEX call_by_kind")
    later = {
        "decision": ("act_id", "text"),
        "call": ("model", "kind", "reserved", "prompt_tokens", "role", "opening", "reserved_nanos"),
        "manifest": ("opening",),
        "run": ("process_id", "process_start"),
        "landing": ("process_start",),
        "begun": ("process_start",),
    }
    for table, columns in later.items():
        for column in columns:
            store.connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    store.connection.execute("PRAGMA user_version = 1")
    store.close()
    migrated = open_store(path)
    migrated.decide(proposal, {"h2": "edited"}, act_id=migrated.add_act(ROOT, "edit"), texts={"h2": "x = 1\n"})
    assert [(row.state, row.text) for row in migrated.decisions(proposal)] == [
        ("rejected", None),
        ("edited", "x = 1\n"),
    ]


def test_a_proposal_is_seen_once_it_has_a_body_and_only_in_its_own_workspace(store: Store) -> None:
    here = store.reserve_proposal(store.add_run(ROOT, "engineer", "", ""))
    assert store.proposals(ROOT) == ()
    with pytest.raises(NotFound):
        store.proposal(here)
    store.save_proposal(here, "here", [])
    there = store.reserve_proposal(store.add_run(Path("/elsewhere"), "engineer", "", ""))
    store.save_proposal(there, "there", [])
    assert store.proposals(ROOT) == ("here",)
    assert store.proposal(there) == "there"


@pytest.mark.parametrize("name", ["p99", "p", "", "x", "p-1", "p1; DROP TABLE run", "p\uff11"])
def test_an_id_that_names_nothing_is_not_found(store: Store, name: str) -> None:
    for ask in (store.proposal, store.run):
        with pytest.raises(NotFound):
            ask(name)


def test_what_is_stored_together_is_stored_whole_or_not_at_all(store: Store, path: Path) -> None:
    proposal = store.reserve_proposal(store.add_run(ROOT, "engineer", "", ""))
    elsewhere = open_store(path)

    def fail_halfway() -> None:
        with store.together():
            store.decide(proposal, {"h1": "accepted"}, act_id=store.add_act(ROOT, "accept"))
            assert not states(elsewhere, proposal), "nobody sees the half of it"
            raise KeyError("a fault")

    with pytest.raises(KeyError):
        fail_halfway()
    assert not states(store, proposal)
    assert not store.acts(ROOT)
    with store.together():
        store.decide(proposal, {"h1": "accepted"}, act_id=store.add_act(ROOT, "accept"))
    assert states(elsewhere, proposal) == {"h1": "accepted"}


def test_what_is_undecided_or_accepted_is_found_without_reading_the_rest(store: Store) -> None:
    run = store.add_run(ROOT, "engineer", "", "")
    names = [store.reserve_proposal(run) for _ in range(4)]
    untouched, decided, half, reopened = names
    for name in names:
        store.save_proposal(name, name, [("h1", "a.py"), ("h2", "b.py")])
    store.decide(decided, {"h1": "accepted", "h2": "rejected"})
    store.decide(half, {"h1": "rejected"})
    store.decide(reopened, {"h1": "accepted", "h2": "accepted"})
    store.decide(reopened, {"h2": "stale"})
    assert store.proposals_without(ROOT, ("accepted", "rejected")) == (untouched, half, reopened)
    assert store.proposals_without(Path("/elsewhere"), ("accepted", "rejected")) == ()
    assert store.proposals_on(ROOT, "a.py", "accepted") == (decided, reopened)
    assert store.proposals_on(ROOT, "b.py", "accepted") == ()
    assert store.root_of(half) == ROOT


def test_a_moment_passes_when_anything_is_stored_here_or_elsewhere(store: Store, path: Path) -> None:
    elsewhere = open_store(path)
    before = store.moment()
    assert store.moment() == before
    run = elsewhere.add_run(ROOT, "engineer", "", "")
    then = store.moment()
    assert then != before
    store.end_run(run, "finished")
    assert store.moment() != then


def test_no_statement_writes_insert_in_capitals() -> None:
    """Python before 3.13 compares the word by the locale, in which a Turkish I is no capital i: no row is reported."""
    folders = [Path(str(package.__file__)).parent for package in (rolecall_server, rolecall_analysis)]
    files = [file for folder in folders for file in folder.rglob("*.py")]
    assert [file.name for file in files if re.search(r"\bINSERT\b", file.read_text("utf-8"))] == []


@pytest.mark.parametrize("named", ["p1", "r01", "R1", "r", "", "r-1", "r1 ", "r\u0661", "r" + "9" * 40])
def test_a_run_has_one_name_only(store: Store, named: str) -> None:
    assert store.add_run(ROOT, "engineer", "a.py", "a brief") == "r1"
    with pytest.raises(NotFound):
        store.run(named)
    assert store.run("r1").id == "r1"


def test_of_two_that_take_up_a_stopped_run_at_once_one_is_told_that_it_is_being_worked_on(path: Path) -> None:
    first, second = open_store(path), open_store(path)
    run = first.add_run(ROOT, "engineer", "a.py", "brief")
    first.end_run(run, "paused")
    both_begin = threading.Barrier(2)

    def take_up(store: Store) -> str:
        both_begin.wait()
        try:
            store.resume_run(run)
        except UserMustAct as refused:
            return refused.what
        return "taken up"

    with ThreadPoolExecutor() as pool:
        assert sorted(pool.map(take_up, [first, second])) == ["r1 is being worked on.", "taken up"]
    assert first.run(run).process == this_process()
