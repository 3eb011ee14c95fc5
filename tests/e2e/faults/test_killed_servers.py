"""`kill -9` at any moment while decisions are made: what was acknowledged stands, and states agree with the files.

ROLECALL_KILLS=200 pytest -s tests/e2e/faults/test_killed_servers.py     the full proof; it says how long restarts took
"""

from __future__ import annotations

import os
import random
import sqlite3
import statistics
import time
from pathlib import Path

from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkState, Proposal
from rolecall_server.review.proposals.proposal_store import OFFERED, load_proposal
from rolecall_server.store import Store
from support.frames import SERVER
from support.real_session import RealSession, propose, real_session
from support.stores import open_store
from support.traced import fresh
from support.traced_editor import Habits, TracedEditor
from support.workspaces import environment

N_KILLS = int(os.environ.get("ROLECALL_KILLS", "12"))
N_FILES = 4
N_LINES = 30
MOST_S = 0.25
"""The latest moment of a kill after the decisions began."""

HABITS = Habits()


def texts() -> dict[str, tuple[str, str]]:
    """Files whose every line is the only one of its kind, and three hunks for each."""
    found: dict[str, tuple[str, str]] = {}
    for n in range(N_FILES):
        lines = [f"line {i} of file {n} é" for i in range(N_LINES)]
        after = [f"proposed {i} of file {n}" if i in (5, 15, 25) else line for i, line in enumerate(lines)]
        found[f"file{n}.txt"] = ("\n".join(lines) + "\n", "\n".join(after) + "\n")
    return found


def is_in(editor: TracedEditor, change: FileChange, hunk: Hunk) -> bool:
    """Whether the text the developer sees holds what the hunk brings in."""
    text = editor.visible(change.path)
    return text is not None and all(line in text.text for line in hunk.new_lines)


class Developer:
    """Somebody who decides, types and saves in one order of `chance`, and remembers what was acknowledged."""

    def __init__(self, session: RealSession, editor: TracedEditor, proposal: Proposal, chance: random.Random) -> None:
        self.session = session
        self.editor = editor
        self.proposal = proposal
        self.chance = chance
        self.rejections: dict[int, str] = {}
        """The hunk of each rejection, by the number of the reply."""
        self.n_typed = 0

    async def decide_until_killed(self) -> None:
        """Decide, without waiting for the server, until the process is killed at some moment."""
        end = time.perf_counter() + self.chance.uniform(0, MOST_S)
        while time.perf_counter() < end:
            self._do_something()
            await self.session.rest(self.chance.choice([0, 0, 0.004, 0.02]))
        self.session.client.process.kill()
        await self.session.client.process.wait()
        self.session.hear()

    def rejected(self) -> set[str]:
        """The hunks whose rejection was acknowledged."""
        return {hunk_id for number, hunk_id in self.rejections.items() if self.session.replied(number)}

    def _do_something(self) -> None:
        change, hunk = self.chance.choice(self.proposal.hunks())
        arguments = {"proposalId": self.proposal.id, "hunkId": hunk.id}
        what = self.chance.choice(["accept", "accept", "accept", "reject", "undo", "save", "type"])
        if what == "accept":
            self.session.ask("rolecall.hunk.accept", **arguments)
        elif what == "reject" and hunk.id not in self.rejections.values():
            self.rejections[self.session.ask("rolecall.hunk.reject", **arguments)] = hunk.id
        elif what == "undo" and hunk.id not in self.rejections.values():
            self.session.ask("rolecall.decision.undo", **arguments)
        elif what == "save" and change.path in self.editor.buffers:
            self.editor.save(change.path)
        elif what == "type" and change.path in self.editor.buffers:
            self.n_typed += 1
            self.editor.edit(change.path, 0, 0, f"typed {self.n_typed}\n")


def survive(old: TracedEditor, session: RealSession, *, keeps_buffers: bool) -> TracedEditor:
    """The editor after the crash: with its buffers as they were, or with what it had saved."""
    editor = TracedEditor(old.root, session.send, old.habits)
    editor.files = old.files
    session.open_folder(editor)
    for path, buffer in old.buffers.items():
        editor.open(path)
        if keeps_buffers:
            editor.change(path, buffer.now)
    return editor


async def shown_again(killed: Developer, session: RealSession, store: Store, *, keeps_buffers: bool) -> TracedEditor:
    """The editor in front of a new server, once that shows all that is on offer."""
    editor = survive(killed.editor, session, keeps_buffers=keeps_buffers)
    reply = session.ask("rolecall.proposal.show", proposalId=killed.proposal.id)
    await session.until(lambda: any(message.get("id") == reply for message in session.client.received))
    states = load_proposal(store, killed.proposal.id).states.values()
    await session.until(lambda: session.n_shown() >= sum(state in OFFERED for state in states))
    return editor


async def begin(root: Path, session: RealSession, store: Store, chance: random.Random) -> Developer:
    """A developer with a new folder, whose proposal is shown."""
    root.mkdir()
    editor = TracedEditor(root.resolve(), session.send, HABITS)
    for path, (before, _) in texts().items():
        editor.write(path, fresh(before), watched=False)
    proposal = propose(store, root.resolve(), texts())
    session.open_folder(editor)
    for path in texts():
        if chance.random() < 0.7:
            editor.open(path)
    await session.until(lambda: session.n_shown() == len(proposal.hunks()))
    return Developer(session, editor, proposal, chance)


def check(store: Store, editor: TracedEditor, proposal: Proposal, rejected: set[str]) -> None:
    """Nothing acknowledged is lost, and every state is the truth about the text."""
    reviewed = load_proposal(store, proposal.id)
    for change, hunk in proposal.hunks():
        state = reviewed.states[hunk.id]
        assert (state is HunkState.ACCEPTED) is is_in(editor, change, hunk), f"{hunk.id} of {change.path} is {state}"
        if hunk.id in rejected:
            assert state is HunkState.REJECTED, f"{hunk.id} was rejected, and is {state}"
    with sqlite3.connect(store.path) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert not list(store.path.parent.glob("*damaged*"))


async def test_a_kill_at_any_moment_loses_no_decision_and_damages_nothing(tmp_path: Path) -> None:
    environ = environment(tmp_path / "home")
    store = open_store(tmp_path / "home" / "data" / "rolecall" / "rolecall.db")
    killed: Developer | None = None
    restarts_s: list[float] = []
    for number in range(N_KILLS + 1):
        chance = random.Random(number)
        began = time.perf_counter()
        async with real_session(tmp_path, environ, SERVER, HABITS) as session:
            if killed is not None:
                editor = await shown_again(killed, session, store, keeps_buffers=chance.random() < 0.5)
                restarts_s.append(time.perf_counter() - began)
                check(store, editor, killed.proposal, killed.rejected())
            if number < N_KILLS:
                killed = await begin(tmp_path / f"case{number}", session, store, chance)
                await killed.decide_until_killed()
    print(f"restart to shown hunks: median {statistics.median(restarts_s):.2f} s, longest {max(restarts_s):.2f} s")
