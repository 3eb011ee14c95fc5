"""The database, and the few questions that are asked of it.

It lies in the user's data folder, outside any repository, so that opening a folder never brings a store along.
Every write is committed, and synced to the disk, before the caller goes on. Bodies are JSON made by whoever owns
the type: the store knows none of them.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rolecall_server.errors import FileRefused, NotFound, StoreUnavailable, UserMustAct
from rolecall_server.processes import ProcessId, this_process
from rolecall_server.store.rows import (
    ActRow,
    Asking,
    CallRow,
    Caps,
    DecisionRow,
    EndpointRow,
    RunRow,
    Spent,
)
from rolecall_server.store.schema import BREAK_OFF, END, RESERVE

_MOST_DIGITS = 18
_KINDS = {"r": "run", "p": "proposal", "d": "document"}
"""The kinds of things that have an id, by its letter."""
_LISTED = "`rolecall log` lists the runs of a repository with their proposals."
"""Of the number of a row; SQLite counts no further than to 2**63."""
_MOST_SHOWN = 80

# A proposal without a body is only reserved.
_OF_ROOT = "SELECT body FROM proposal JOIN run ON run.id = run_id WHERE root = ? AND body != ''"
_LATEST_STATE = """(
SELECT state FROM decision WHERE decision.proposal_id = hunk.proposal_id AND decision.hunk_id = hunk.hunk_id
ORDER BY decision.id DESC LIMIT 1)"""
# A hunk of which nothing was decided has no state, and NULL is neither in a list nor outside of it.
_UNDECIDED = f"""{_OF_ROOT} AND proposal.id IN (
SELECT hunk.proposal_id FROM hunk WHERE COALESCE({_LATEST_STATE} NOT IN (?, ?), TRUE)) ORDER BY proposal.id"""  # noqa: S608
_ON_PATH = f"""{_OF_ROOT} AND proposal.id IN (
SELECT hunk.proposal_id FROM hunk WHERE path = ? AND {_LATEST_STATE} = ?) ORDER BY proposal.id"""  # noqa: S608
_UNLISTED = f"""{_OF_ROOT} AND NOT EXISTS (
SELECT 1 FROM hunk WHERE hunk.proposal_id = proposal.id) ORDER BY proposal.id"""  # noqa: S608


@dataclass(frozen=True)
class Store:
    """An open database. All methods commit before they return, but for those within `together`.

    Any of them raises `StoreUnavailable` where the disk is full, the file damaged or another process holds it.
    """

    path: Path
    connection: sqlite3.Connection
    turn: threading.RLock = field(default_factory=threading.RLock, compare=False)
    """Held by the thread whose transaction it is: they share one connection."""

    @contextmanager
    def together(self) -> Generator[None]:
        """Have all that is stored within committed at the end, in one step; nothing of it where an error ends it.

        Nobody may wait for anything within: what others store meanwhile would wait, and fall, with it.
        """
        with self.transaction() as connection:
            # The lock for writing at once: a transaction that reads first cannot wait for it later, SQLite fails it.
            connection.execute("BEGIN IMMEDIATE")
            yield

    def moment(self) -> tuple[int, int]:
        """Something that is another whenever anything was stored meanwhile, here or by another process."""
        # The first tells only of what other connections commit, the second only of what this one does.
        return self.select("PRAGMA data_version")[0][0], self.connection.total_changes

    def add_run(self, root: Path, role: str, path: str, brief: str) -> str:
        """Add a running run in the workspace at *root* and return its id, such as ``r12``."""
        number, start = this_process()
        started = {"state": "running", "started_at": time.time(), "process_id": number, "process_start": start}
        return f"r{self._insert('run', root=str(root), role=role, path=path, brief=brief, **started)}"

    def end_run(self, run_id: str, state: str, error: str = "") -> None:
        """Say how a run ended. A call that was under way when its process died is charged with what it sent."""
        error = _well_formed(error)
        with self.transaction() as connection:
            connection.execute(BREAK_OFF, (row_number(run_id, "r"),))
            connection.execute(
                "UPDATE run SET state = ?, error = ?, ended_at = ? WHERE id = ?",
                (state, error, time.time(), row_number(run_id, "r")),
            )

    def run(self, run_id: str) -> RunRow:
        """Return one run.

        Raises:
            NotFound: there is none of that id.
        """
        rows = self._runs("id = ?", row_number(run_id, "r"))
        if not rows:
            raise NotFound(f"There is no run {run_id}.", _LISTED)
        return rows[0]

    def root_of_run(self, run_id: str) -> Path:
        """Return the workspace of a run that there is."""
        ((root,),) = self.select("SELECT root FROM run WHERE id = ?", row_number(run_id, "r"))
        return Path(root)

    def runs(self, root: Path) -> tuple[RunRow, ...]:
        """Return the runs in the workspace at *root*, oldest first."""
        return self._runs("root = ?", str(root))

    def running(self) -> tuple[RunRow, ...]:
        """Return the runs of any workspace that are stored as running."""
        return self._runs("state = ?", "running")

    def reserve_call(
        self, run_id: str, request: str, tokens: int, caps: Caps, *, asking: Asking | None = None, purpose: str = ""
    ) -> int | None:
        """Set *tokens* aside for a model call that is about to be made; its number, or ``None`` where *caps* forbid it.

        *purpose* is the step of the team it is made for, by which `answers_to` finds its reply again.
        Looked at and stored in one step, so that calls made at the same time cannot pass a limit together.
        """
        now = time.time()
        values = {
            "run": row_number(run_id, "r"),
            "request": request,
            "now": now,
            "tokens": tokens,
            "purpose": purpose,
            "midnight": now - now % 86_400,  # of UTC, as `usage.today_s` has it
        }
        limits = {
            "per_run": caps.tokens_per_run,
            "per_day": caps.tokens_per_day,
            "calls": caps.calls_per_run,
            "nanos_per_run": caps.nanos_per_run,
            "nanos_per_day": caps.nanos_per_day,
        }
        with self.transaction() as connection:
            cursor = connection.execute(RESERVE, values | limits | vars(asking or Asking()))
            return cursor.lastrowid if cursor.rowcount == 1 else None

    def end_call(
        self,
        call_id: int,
        reply: str | None,
        error: str = "",
        model: str = "",
        *,
        tokens: tuple[int, int] | None = None,
        charged: tuple[int, int] | None = None,
    ) -> None:
        """Store what came back, before anyone acts on it.

        *tokens* are those of the prompt and of the reply as the endpoint counted, *charged* those by estimate where it
        did not; without either, what was set aside counts.
        """
        values: dict[str, object] = {"reply": reply, "error": _well_formed(error), "model": model, "call": call_id}
        values["prompt"], values["completion"] = tokens or (None, None)
        values["sent"], values["received"] = charged or (None, None)
        with self.transaction() as connection:
            connection.execute(END, values)

    def spent(self, run_id: str) -> Spent:
        """Return what the calls of a run have used, and what is set aside for those under way."""
        open_tokens = "COALESCE(SUM(CASE WHEN reply IS NULL AND error = '' THEN tokens END), 0)"
        rows = self.select(
            f"SELECT COALESCE(SUM(tokens), 0), COUNT(*), COALESCE(SUM(nanos), 0), {open_tokens} "  # noqa: S608 - ours
            "FROM call JOIN ledger USING (id) WHERE call.run_id = ?",
            row_number(run_id, "r"),
        )
        return Spent(*rows[0])

    def calls(self, run_id: str) -> tuple[CallRow, ...]:
        """Return the model calls of a run, in order."""
        columns = (
            "id, request, reply, error, call.at, ledger.role, call.model, call.endpoint, opening, covered, "
            "call.prompt_tokens, call.completion_tokens, tokens, nanos"
        )
        rows = self.select(
            f"SELECT {columns} FROM call JOIN ledger USING (id) WHERE call.run_id = ? ORDER BY id",  # noqa: S608
            row_number(run_id, "r"),
        )
        return tuple(CallRow(*row) for row in rows)

    def answers_to(self, run_id: str, purpose: str, request: str) -> tuple[tuple[int, str], ...]:
        """Return the calls with the same request for the same purpose that have a reply, in order, with that."""
        return tuple(
            self.select(
                "SELECT id, reply FROM call WHERE run_id = ? AND purpose = ? AND request = ? AND reply IS NOT NULL "
                "ORDER BY id",
                row_number(run_id, "r"),
                purpose,
                request,
            )
        )

    def resume_run(self, run_id: str) -> None:
        """Say that this process works on a run again.

        Raises:
            UserMustAct: somebody has begun to, be it a moment ago.
        """
        with self.transaction() as connection:
            # The condition on the state is what two processes that take the run up together cannot both pass.
            taken_up = connection.execute(
                "UPDATE run SET state = 'running', error = '', ended_at = NULL, process_id = ?, process_start = ? "
                "WHERE id = ? AND state != 'running'",
                (*this_process(), row_number(run_id, "r")),
            )
        if not taken_up.rowcount:
            raise UserMustAct(f"{run_id} is being worked on.", "Pause or cancel it first.")

    def add_manifest(self, run_id: str, body: str, opening: str = "") -> None:
        """Store what a conversation of a run shows of the repository; *opening* is the fingerprint it begins with."""
        self._insert("manifest", run_id=row_number(run_id, "r"), body=body, opening=opening)

    def manifests(self, run_id: str) -> tuple[tuple[str, str], ...]:
        """Return the manifests of a run, in order, each after the fingerprint of the conversation's opening."""
        return tuple(
            self.select("SELECT opening, body FROM manifest WHERE run_id = ? ORDER BY id", row_number(run_id, "r"))
        )

    def reserve_proposal(self, run_id: str) -> str:
        """Reserve a proposal, whose body follows (`save_proposal`), and return its id, such as ``p7``."""
        return f"p{self._insert('proposal', run_id=row_number(run_id, 'r'), body='', at=time.time())}"

    def save_proposal(self, proposal_id: str, body: str, hunks: Collection[tuple[str, str]]) -> None:
        """Store a proposal's body, and by the paths of which files each of its *hunks* is found."""
        with self.transaction() as connection:
            connection.execute("UPDATE proposal SET body = ? WHERE id = ?", (body, row_number(proposal_id, "p")))
            connection.executemany(
                "insert OR IGNORE INTO hunk (proposal_id, hunk_id, path) VALUES (?, ?, ?)",
                [(row_number(proposal_id, "p"), hunk_id, path) for hunk_id, path in hunks],
            )

    def proposals(self, root: Path) -> tuple[str, ...]:
        """Return the body of every proposal for the workspace at *root*, oldest first."""
        return self._bodies(f"{_OF_ROOT} ORDER BY proposal.id", str(root))

    def proposals_without(self, root: Path, decided: tuple[str, str]) -> tuple[str, ...]:
        """Return the body of every proposal with a hunk that is in neither of the states *decided*, oldest first."""
        return self._bodies(_UNDECIDED, str(root), *decided)

    def proposals_on(self, root: Path, path: str, state: str) -> tuple[str, ...]:
        """Return the body of every proposal with a hunk of the file at *path* in that *state*, oldest first."""
        return self._bodies(_ON_PATH, str(root), path, state)

    def proposals_unlisted(self, root: Path) -> tuple[str, ...]:
        """Return the body of every proposal whose hunks an earlier Rolecall did not list, oldest first."""
        return self._bodies(_UNLISTED, str(root))

    def root_of(self, proposal_id: str) -> Path:
        """Return the workspace of a proposal.

        Raises:
            NotFound: there is none of that id.
        """
        rows = self.select(
            "SELECT root FROM proposal JOIN run ON run.id = run_id WHERE proposal.id = ?", row_number(proposal_id, "p")
        )
        if not rows:
            raise NotFound(f"There is no proposal {proposal_id}.", _LISTED)
        return Path(rows[0][0])

    def proposals_of(self, run_id: str) -> tuple[str, ...]:
        """Return the body of every proposal of a run, oldest first."""
        return self._bodies(
            "SELECT body FROM proposal WHERE run_id = ? AND body != '' ORDER BY id", row_number(run_id, "r")
        )

    def proposal(self, proposal_id: str) -> str:
        """Return the body of one proposal.

        Raises:
            NotFound: there is none of that id.
        """
        rows = self.select("SELECT body FROM proposal WHERE id = ? AND body != ''", row_number(proposal_id, "p"))
        if not rows:
            raise NotFound(f"There is no proposal {proposal_id}.", _LISTED)
        return rows[0][0]

    def add_act(self, root: Path, kind: str) -> int:
        """Add something that the developer does in the workspace at *root*, and return its number; decisions that
        belong to it follow.
        """
        return self._insert("act", root=str(root), kind=kind, at=time.time())

    def acts(self, root: Path) -> tuple[ActRow, ...]:
        """Return the acts of the developer in the workspace at *root*, oldest first."""
        rows = self.select("SELECT id, kind, at FROM act WHERE root = ? ORDER BY id", str(root))
        return tuple(ActRow(*row) for row in rows)

    def decide(
        self,
        proposal_id: str,
        states: Mapping[str, str],
        reason: str = "",
        act_id: int | None = None,
        texts: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Store the new state of some hunks, all or none; *act_id* where the developer did it, *texts* it was given."""
        now = time.time()
        with self.transaction() as connection:
            connection.executemany(
                "insert INTO decision (proposal_id, hunk_id, state, reason, at, act_id, text) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (row_number(proposal_id, "p"), hunk_id, state, reason, now, act_id, texts.get(hunk_id))
                    for hunk_id, state in states.items()
                ],
            )

    def decisions(self, proposal_id: str) -> tuple[DecisionRow, ...]:
        """Return the decisions about a proposal's hunks, oldest first."""
        rows = self.select(
            "SELECT hunk_id, state, reason, at, act_id, text FROM decision WHERE proposal_id = ? ORDER BY id",
            row_number(proposal_id, "p"),
        )
        return tuple(DecisionRow(*row) for row in rows)

    def decided_in(self, act_id: int) -> dict[str, tuple[str, ...]]:
        """Return the hunks that an act decided, by proposal."""
        rows = self.select("SELECT proposal_id, hunk_id FROM decision WHERE act_id = ? ORDER BY id", act_id)
        found: dict[str, tuple[str, ...]] = {}
        for number, hunk_id in rows:
            found[f"p{number}"] = (*found.get(f"p{number}", ()), hunk_id)
        return found

    def save_endpoint(self, address: str, model: str, body: str) -> None:
        """Keep what is known of a model at an address, in place of what was known."""
        with self.transaction() as connection:
            connection.execute(
                "insert OR REPLACE INTO endpoint (address, model, body, at) VALUES (?, ?, ?, ?)",
                (address, model, body, time.time()),
            )

    def endpoint(self, address: str, model: str) -> EndpointRow | None:
        """Return the stored knowledge of a model at an address; ``None`` if there is none."""
        rows = self.select("SELECT body, at FROM endpoint WHERE address = ? AND model = ?", address, model)
        return EndpointRow(*rows[0]) if rows else None

    def close(self) -> None:
        """Close the database; nothing is lost without it."""
        self.connection.close()

    def _runs(self, condition: str, value: object) -> tuple[RunRow, ...]:
        columns = "id, role, path, brief, state, error, started_at, process_id, process_start, ended_at"
        rows = self.select(f"SELECT {columns} FROM run WHERE {condition} ORDER BY id", value)  # noqa: S608 - ours
        return tuple(
            RunRow(
                f"r{row_id}", *values, process=None if number is None else ProcessId(number, start), ended_at_s=ended
            )
            for row_id, *values, number, start, ended in rows
        )

    def _bodies(self, statement: str, *values: object) -> tuple[str, ...]:
        return tuple(body for (body,) in self.select(statement, *values))

    def _insert(self, table: str, **values: object) -> int:
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        with self.transaction() as connection:
            # In small letters for the sake of Turkish: see schema.py.
            statement = f"insert INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 - names are ours
            row_id = connection.execute(statement, tuple(values.values())).lastrowid
        assert row_id is not None
        return row_id

    def select(self, statement: str, *values: object) -> list[Any]:
        """Run a query and return its rows."""
        with self.transaction() as connection:
            # A read takes its turn too: over one connection it would see half of what another thread is storing.
            return connection.execute(statement, values).fetchall()

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """The connection; what is done with it is committed at the end, all or none, or with the one around it."""
        try:
            with self.turn:
                if self.connection.in_transaction:
                    yield self.connection
                else:
                    with self.connection as connection:
                        yield connection
        except UnicodeEncodeError as error:
            raise FileRefused(
                f"{error.object[:_MOST_SHOWN]!r} is not valid Unicode, and cannot be stored.",
                "Write it otherwise; a file with such a name has to be renamed.",
            ) from None
        except sqlite3.DatabaseError as error:
            if type(error) not in (sqlite3.DatabaseError, sqlite3.OperationalError):
                raise  # a mistake of the caller's
            raise StoreUnavailable(
                f"Rolecall's database {self.path} cannot be used: {error}.",
                what_to_do(error, "move that file away"),
            ) from error


def what_to_do(error: Exception, otherwise: str) -> str:
    """Return the next step for somebody whose database cannot be used."""
    if "locked" in str(error):
        return "Wait for the end of the process that holds it, then try again."
    return f"Free some space, or {otherwise}, then try again."


def row_number(name: str, letter: str) -> int:
    """Return the row number in the id *name*, which begins with *letter*: ``r12`` is a run, ``p7`` a proposal, ``d4`` a
    document.

    Raises:
        NotFound: it is no id, or that of something else.
    """
    digits = name[1:]
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS
    # A row has one name: `r012` is none.
    if not is_number or name != f"{letter}{int(digits)}":
        kind = _KINDS[letter]
        raise NotFound(f"{name!r} is no id of a {kind}.", f"That is {letter} and a number, such as {letter}7.")
    return int(digits)


def _well_formed(text: str) -> str:
    """Return *text* with a question mark for each half of a character, as an error may quote one."""
    return text.encode("utf-8", "replace").decode("utf-8")
