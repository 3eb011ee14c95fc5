"""Whatever a developer, an editor, another program and the server do in turn: nothing stale, nothing lost, no lie.

The editor is a model in which every character has an identity (`support.traced`), so that what an edit of the
server's removed, and where it put what it brought in, is told without any comparison of texts.

    ROLECALL_SESSIONS=5000 pytest tests/server/review/test_any_session.py     the full proof
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.hunks import file_change, number_hunks
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkKind, HunkState, Proposal
from rolecall_server.review.proposals.proposal_store import Reviewed, load_proposal, save_proposal
from rolecall_server.store import Store
from rolecall_server.workspace import TextFile, sha256
from support.local_server import HastyLoop, LocalServer
from support.stores import open_store
from support.traced import Key, Traced, content, edited_lines, fresh, joined, line_spans
from support.traced_editor import BOM, Habits, Landed, TracedEditor

N_SESSIONS = int(os.environ.get("ROLECALL_SESSIONS", "120"))
N_STEPS = 14

PATHS = ("a.txt", "b.py", "deep/ü.txt")
NEW_PATH = "new.txt"
FLAVOURS = ("", "\t\ttabs\t", "form\x0cfeed", "𝄞😀", "e\u0301é", "line\u2028separator\x85", "  trailing  ")
ENDINGS = {"LF": ["\n"], "CRLF": ["\r\n"], "CR": ["\r"], "mixed": ["\n", "\r\n"], "every": ["\n", "\r\n", "\r"]}
REPEATED = ("", "}", "    pass", "    return x")

HABITS = st.builds(
    Habits,
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-32"]),
    document_changes=st.booleans(),
    whole_texts=st.booleans(),
    shows_bom=st.booleans(),
    opens_files=st.booleans(),
    answers_first=st.booleans(),
    own_endings=st.booleans(),
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A text in which lines recur, or in which each is the only one of its kind."""
    ending = st.sampled_from(ENDINGS[draw(st.sampled_from(sorted(ENDINGS)))])
    flavour = st.sampled_from(FLAVOURS)
    n_lines = draw(st.integers(0, 14))
    if draw(st.booleans()):
        lines = [f"line {n} {draw(flavour)}" for n in range(n_lines)]
    else:
        lines = [draw(st.sampled_from(REPEATED)) for _ in range(n_lines)]
    text = "".join(line + draw(ending) for line in lines)
    return text if draw(st.booleans()) else text.rstrip("\r\n")


PLACE = st.floats(0, 1, exclude_max=True, width=16)
"""How far into a text."""


class AnySession(RuleBasedStateMachine):
    """One developer, one editor, one server; `truth` is what the hunks did to the text by the editor's account."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(
            tempfile.mkdtemp(prefix="rolecall-session-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        )
        self.root = (self.folder / "work").resolve()
        self.root.mkdir()
        self.store: Store = open_store(self.folder / "store.db")
        self.store.connection.execute("PRAGMA synchronous = OFF")
        self.loop = HastyLoop()
        self.written: dict[str, Proposal] = {}
        self.lines_of: dict[Key, list[Traced]] = {}
        """The lines of its base that each hunk stands for, as the characters they were when it was proposed."""
        self.order: dict[str, dict[int, tuple[int, int, int]]] = {}
        """Where each character of a proposal's bases, or of what its hunks brought in, belongs, by proposal."""
        self.brought: dict[Key, list[Traced]] = {}
        """What each hunk brought in, each time it did, the last time at the end."""
        self.known: dict[tuple[Key, bool], set[int]] = {}
        """Every character that stood for a hunk: those it brought in (True), and those it takes out (False)."""
        self.ambiguous: set[str] = set()
        """Files in which lines recur: which of two equal lines somebody removed no text can say."""
        self.bases: dict[tuple[str, str], list[Traced]] = {}
        """The text that each proposal was made on, by proposal and path."""
        self.rejected: set[Key] = set()
        self._as_stored: dict[str, tuple[int, Reviewed]] = {}
        self.n_typed = 0

    # The beginning and the end.

    @initialize(files=st.lists(st.tuples(texts(), st.booleans(), st.booleans()), min_size=3, max_size=3), habits=HABITS)
    def begin(self, files: list[tuple[str, bool, bool]], habits: Habits) -> None:
        self.server = LocalServer(self.loop, self.store)
        self.editor = TracedEditor(self.root, self.server.send, habits)
        self.server.on_message = self.editor.receive
        if habits.own_endings:  # such editors know no carriage return alone: it would meet their line feeds
            files = [(re.sub(r"\r(?!\n)", "\n", text), marked, is_open) for text, marked, is_open in files]
        for path, (text, marked, _) in zip(PATHS, files, strict=True):
            if marked:
                self.editor.marked.add(path)
            self.editor.write(path, fresh(text), watched=False)
            lines = [content(text[start:end]) for start, end in line_spans(text)]
            if len(set(lines)) < len(lines):
                self.ambiguous.add(path)
        self.server.start(self.root, habits.capabilities())
        for path, (_, _, is_open) in zip(PATHS, files, strict=True):
            if is_open:
                self.editor.open(path)
        self.server.settle()

    def teardown(self) -> None:
        if hasattr(self, "server"):
            self.server.end()
        self.loop.close()
        self.store.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # What the developer and other programs do.

    @rule(
        path=st.sampled_from(PATHS),
        at=PLACE,
        shape=st.sampled_from(["{}", "{} in it", "{}\n", "\n{}", "{}\r\n", "\n\n{}\n", "😀{}\t"]),
    )
    def type(self, path: str, at: float, shape: str) -> None:
        if path in self.editor.buffers:
            self.n_typed += 1
            start = self._place(path, at)
            self.editor.edit(path, start, start, shape.format(f"⟦typed {self.n_typed}⟧"))
        self._user_did()

    @rule(path=st.sampled_from(PATHS), at=PLACE, size=st.integers(1, 30))
    def delete(self, path: str, at: float, size: int) -> None:
        if path in self.editor.buffers:
            start = self._place(path, at)
            text = self.editor.buffers[path].now.text
            end = min(start + size, len(text))
            if text[end - 1 : end + 1] == "\r\n":
                end += 1
            self.editor.edit(path, start, end, "")
        self._user_did()

    @rule(path=st.sampled_from(PATHS), formats=st.booleans())
    def save(self, path: str, formats: bool) -> None:
        if path in self.editor.buffers:
            self.editor.save(path, _formatted if formats else None)
        self._user_did()

    @rule(path=st.sampled_from((*PATHS, NEW_PATH)))
    def open_or_close(self, path: str) -> None:
        if path in self.editor.buffers:
            self.editor.close(path)
        elif path in self.editor.files:
            self.editor.open(path)
        self._user_did()

    @rule(path=st.sampled_from(PATHS), ending=st.sampled_from(["\n", "\r\n", "\r"]))
    def change_endings(self, path: str, ending: str) -> None:
        if path in self.editor.buffers:
            now = self.editor.buffers[path].now
            self.editor.change(
                path, replace(joined(_ending_with(line, ending) for line in now.lines()), landed=now.landed)
            )
        self._user_did()

    @rule(path=st.sampled_from((*PATHS, NEW_PATH)), at=PLACE)
    def write_elsewhere(self, path: str, at: float) -> None:
        self.n_typed += 1
        text = self.editor.files.get(path, fresh(""))
        starts = [start for start, _ in line_spans(text.text)] or [0]
        line = fresh(f"⟦written {self.n_typed}⟧\n")
        start = starts[int(at * len(starts))]
        self.editor.write_elsewhere(path, text.spliced(start, start, line))
        self._user_did()

    @rule(path=st.sampled_from(PATHS))
    def delete_elsewhere(self, path: str) -> None:
        self.editor.write_elsewhere(path, None)
        self._user_did()

    @rule(path=st.sampled_from(PATHS), times=st.integers(1, 3), again=st.booleans())
    def undo_in_the_editor(self, path: str, times: int, again: bool) -> None:
        if path in self.editor.buffers:
            for _ in range(times):
                self.editor.redo(path) if again else self.editor.undo(path)
        self._user_did()

    @rule(keeps_buffers=st.booleans())
    def crash(self, keeps_buffers: bool) -> None:
        """The server dies and is started again; an editor may have kept its buffers, or died too."""
        self.server.end()
        with self.store.connection as connection:
            connection.execute("UPDATE landing SET process_id = 4194305")  # no system has a process of that number
        self.server = LocalServer(self.loop, self.store)
        editor = self.editor
        editor.send = self.server.send
        self.server.on_message = editor.receive
        buffers, editor.buffers = editor.buffers, {}
        self.server.start(self.root, editor.habits.capabilities())
        for path, buffer in buffers.items():
            if keeps_buffers:
                editor.open(path)
                editor.buffers[path].now = buffer.now
                editor.change(path, buffer.now, keeps_history=False)
                editor.buffers[path].undone, editor.buffers[path].redone = buffer.undone, buffer.redone
        self._user_did()

    # What is proposed, and decided.

    @precondition(lambda self: len(self.written) < 3)
    @rule(data=st.data(), n_files=st.integers(1, 3))
    def propose(self, data: st.DataObject, n_files: int) -> None:
        changes = []
        for path in data.draw(st.permutations([*PATHS, NEW_PATH]))[:n_files]:
            change = self._proposed_change(data, path)
            if change is not None:
                changes.append(change)
        numbered = number_hunks(changes)
        if not numbered:
            return
        proposal_id = self.store.reserve_proposal(self.store.add_run(self.root, "engineer", "", ""))
        proposal = Proposal(proposal_id, "r1", "Engineer", "t", "", "", numbered, Evidence(ran=False))
        save_proposal(self.store, proposal)
        self._trace(proposal)
        folder = self.server.session.folders[self.root]
        from rolecall_server.lsp.proposals.hunks import reload_proposal, show_hunks

        reload_proposal(self.server.server, folder, proposal_id)
        show_hunks(self.server.server, folder)
        self.server.settle()
        note(f"{proposal_id}: {numbered}")

    @rule(data=st.data(), level=st.sampled_from(["hunk", "hunk", "file", "proposal", "all"]))
    def accept(self, data: st.DataObject, level: str) -> None:
        self._decide(data, "accept", level)

    @rule(data=st.data(), level=st.sampled_from(["hunk", "hunk", "file", "proposal", "all"]))
    def reject(self, data: st.DataObject, level: str) -> None:
        before = self._texts()
        if (target := self._decide(data, "reject", level)) is not None:
            self.rejected |= {key for key in target if self._state(key) is HunkState.REJECTED}
        assert self._texts() == before, "a rejection changes no text"

    @rule(data=st.data(), what=st.sampled_from(["last", "hunk", "proposal"]))
    def undo_a_decision(self, data: st.DataObject, what: str) -> None:
        decided = [k for k in self._keys() if self._state(k) in (HunkState.ACCEPTED, HunkState.REJECTED)]
        if not decided:
            return
        proposal_id, hunk_id = data.draw(st.sampled_from(decided))
        arguments = {
            "last": {},
            "hunk": {"proposalId": proposal_id, "hunkId": hunk_id},
            "proposal": {"proposalId": proposal_id},
        }
        self._command("rolecall.decision.undo", **arguments[what])

    @rule(data=st.data())
    def accept_and_undo_at_once(self, data: st.DataObject) -> None:
        """Nothing lies between the two, so every character comes back."""
        before = self._texts()
        self._decide(data, "accept", "proposal")
        if self.editor.landed:
            accepted = self._texts()
            note(f"accepted: {accepted}")
            self._command("rolecall.decision.undo")
            if "This editor cannot" in "".join(self.editor.told[-1:]):
                return  # what it made it cannot remove again
            now = self._texts()
            for path in before.keys() - accepted.keys():  # a file comes back with its mark, whoever had taken that away
                before[path], now[path] = before[path].removeprefix(BOM), now[path].removeprefix(BOM)
            assert now == before or (self.editor.habits.own_endings and _line_feeds(now) == _line_feeds(before))
            assert not self._landed() - self._landed_before

    @rule(data=st.data(), text=st.sampled_from(["⟦mine⟧\n", "⟦mine⟧\r\n⟦too⟧", ""]))
    def edit_a_hunk(self, data: st.DataObject, text: str) -> None:
        keys = [k for k in self._keys() if self._state(k) in (HunkState.PENDING, HunkState.EDITED, HunkState.STALE)]
        keys = [k for k in keys if self._hunk(k).kind is HunkKind.TEXT]
        if keys:
            proposal_id, hunk_id = data.draw(st.sampled_from(keys))
            self._command("rolecall.hunk.edit", proposalId=proposal_id, hunkId=hunk_id, text=text)

    # What must hold after every step.

    @invariant()
    def the_server_has_the_editors_text(self) -> None:
        if not hasattr(self, "server"):
            return
        held = {self.editor.path(uri): document.text for uri, document in self.server.session.documents.items()}
        assert held == {path: buffer.now.text for path, buffer in self.editor.buffers.items()}

    @invariant()
    def states_tell_the_truth(self) -> None:
        if not hasattr(self, "server"):
            return
        landed = self._landed()
        for key in self._keys():
            state, is_in = self._state(key), key in landed
            if key in self.rejected and not is_in:
                assert state is HunkState.REJECTED or self._was_done_by_hand(key), key
            elif is_in and not self._was_touched(key):
                assert state is HunkState.ACCEPTED, f"{key} is in the text, and {state}"
            elif not is_in and self._is_as_before(key):
                assert state is not HunkState.ACCEPTED, f"{key} is not in the text"

    @invariant()
    def nothing_is_stale_where_nobody_typed(self) -> None:
        for proposal in self.written.values():
            for change in proposal.files:
                if change.path in self._untouched(proposal):
                    stale = [h.id for h in change.hunks if self._state((proposal.id, h.id)) is HunkState.STALE]
                    assert not stale, f"{stale} of {proposal.id}"

    @invariant()
    def nobody_was_told_of_a_bug(self) -> None:
        if hasattr(self, "editor"):
            assert not [told for told in self.editor.told if "this is a bug" in told]

    # How that is known.

    def _decide(self, data: st.DataObject, verb: str, level: str) -> set[Key] | None:
        open_keys = [
            k for k in self._keys() if self._state(k) in (HunkState.PENDING, HunkState.EDITED, HunkState.STALE)
        ]
        self.editor.landed.clear()
        self._landed_before = self._landed()
        if not open_keys:
            return None
        key = data.draw(st.sampled_from(open_keys))
        path = self._path(key)
        arguments = {
            "hunk": {"proposalId": key[0], "hunkId": key[1]},
            "file": {"proposalId": key[0], "path": path},
            "proposal": {"proposalId": key[0]},
            "all": {},
        }[level]
        target = {
            "hunk": {key},
            "file": {k for k in open_keys if k[0] == key[0] and self._path(k) == path},
            "proposal": {k for k in open_keys if k[0] == key[0]},
            "all": set(open_keys),
        }[level]
        offered = {k for k in target if self._state(k) is not HunkState.STALE}
        self._command(f"rolecall.{level}.{verb}", **arguments)
        if verb == "accept" and level != "all":
            refused = [k for k in offered if self._state(k) is not HunkState.ACCEPTED]
            assert not refused or not self._can_do(key[0]), (
                f"{refused} were on offer and could not be accepted: {self.editor.told}"
            )
        if verb == "reject":
            assert all(self._state(k) is HunkState.REJECTED for k in target)
        return target

    def _can_do(self, proposal_id: str) -> bool:
        """Whether the editor can do all that the proposal asks."""
        kinds = {hunk.kind for _, hunk in self.written[proposal_id].hunks()}
        return self.editor.habits.document_changes or not kinds & {HunkKind.DELETE, HunkKind.RENAME}

    def _command(self, name: str, **arguments: object) -> None:
        """Give a command, and check that the text changed as the states say and nowhere else."""
        self.editor.landed.clear()
        before = self._accepted()
        self.server.command(name, **arguments)
        self.rejected = {key for key in self.rejected if self._state(key) is HunkState.REJECTED}
        accepted = self._accepted()
        came, went = accepted - before, before - accepted
        note(
            f"{name} {arguments}: {sorted(came)} came, {sorted(went)} went,"
            f" {len(self.editor.landed)} edits, {self.editor.told[-1:]}"
        )
        explained: set[Key] = set()
        for landed in self.editor.landed:
            explained |= self._check_landed(landed, came - explained, went - explained)
        silent = {key for key in (came | went) - explained if not self._changes_nothing(key)}
        assert not silent, f"{silent} changed their state without an edit of the text"
        for key in came | went:
            self._mark(key, is_in=key in came)

    def _changes_nothing(self, key: Key) -> bool:
        """Whether the hunk's state says no more than what had happened to its file before."""
        if self._hunk(key).kind is not HunkKind.DELETE:
            return False
        gone = self.editor.visible(self._path(key)) is None  # another proposal may have moved the file away
        return gone is (self._state(key) is HunkState.ACCEPTED)

    def _brings_text(self, key: Key) -> bool:
        """Whether something stands in the file that the hunk makes, or brings back."""
        change, hunk = self._change(key), self._hunk(key)
        return bool(hunk.new_lines if hunk.kind is HunkKind.TEXT else change.base or change.has_bom)

    def _check_landed(self, landed: Landed, came: set[Key], went: set[Key]) -> set[Key]:
        """The hunks that an edit of one file brought in or took out; it did nothing else."""
        keys = [k for k in self._keys() if k in came | went and landed.path in self._paths(k)]
        keys = [k for k in keys if k[0] == min(keys)[0]]  # one proposal after the other, where all are accepted
        of_file = [k for k in keys if self._hunk(k).kind is HunkKind.TEXT]
        whole = [k for k in keys if self._hunk(k).kind is not HunkKind.TEXT]
        if landed.after is None:
            return set(keys)
        if landed.before is None and not landed.inserted:
            return {k for k in keys if not self._brings_text(k)}  # else its text is still to come
        assert keys, f"{landed.path} was edited for no hunk"
        if whole and not of_file:
            base = self._change(whole[0]).base or ""
            assert [content(line.text) for line in self.editor.unmarked(landed.after).lines()] == [
                content(base[start:end]) for start, end in line_spans(base)
            ], f"{landed.path} came back with another text"
            self.ambiguous.add(landed.path)  # in characters which no other proposal knows
            return set(whole)
        is_new = self._change(keys[0]).creates
        inserted = [content(line.text) for piece in landed.inserted for line in piece.lines()]
        wanted = [content(line) for k in of_file for line in (self._new_lines(k) if k in came else self._base_lines(k))]
        assert inserted == wanted, f"{landed.path}: other lines came in than were accepted"
        removed = [content(line.text) for piece in landed.removed for line in piece.lines()]
        gone = [content(line) for k in of_file for line in (self._base_lines(k) if k in came else self._new_lines(k))]
        assert removed == gone, f"{landed.path}: other lines went than were accepted"
        if not is_new and landed.path not in self.ambiguous:
            expected = {i for k in of_file for i in self.known[k, k in went]}
            gone_now = joined(landed.removed)
            strangers = [
                c for c, i in zip(gone_now.text, gone_now.ids, strict=True) if i not in expected and c not in "\r\n"
            ]
            assert not strangers, f"{landed.path}: {strangers} were no part of the hunk"
        self._name_inserted(landed, of_file, came)
        if went and len({k[0] for k in self._keys() if landed.path in self._paths(k)}) > 1:
            self.ambiguous.add(landed.path)  # what came back are new characters, which no other proposal knows
        if landed.path not in self.ambiguous and not is_new and landed.after is not None:
            order = self.order[keys[0][0]]
            known = [order[i] for i in landed.after.ids if i in order]
            assert known == sorted(known), f"{landed.path}: a hunk landed in another place than it was made for"
        return set(keys)

    def _name_inserted(self, landed: Landed, keys: list[Key], came: set[Key]) -> None:
        """Keep who the characters that came in are."""
        lines = [line for piece in landed.inserted for line in piece.lines()]
        for key in keys:
            hunk, order = self._hunk(key), self.order[key[0]]
            numbers = [n for n, _ in (self._new_places(key) if key in came else self._base_places(key))]
            mine, lines = lines[: len(numbers)], lines[len(numbers) :]
            if key in came:
                self.brought.setdefault(key, []).append(joined(mine))
            else:
                back = dict(zip((n for _, n in self._base_places(key)), mine, strict=True))
                self.lines_of[key] = [back.get(n, line) for n, line in enumerate(self.lines_of[key])]
            rank = [h.id for h in self._change(key).hunks].index(hunk.id)
            for number, line in zip(numbers, mine, strict=True):
                order |= dict.fromkeys(line.ids, (number, 0, rank) if key in came else (number, 1, 0))
            self.known.setdefault((key, key in came), set()).update(joined(mine).ids)

    def _user_did(self) -> None:
        """Let the server see what the developer did. What it thinks of a hunk whose lines were touched is its own."""
        self.editor.landed.clear()
        self.server.settle()
        assert not self.editor.landed, "nobody asked for an edit"
        for key in self._landed():
            if self._was_touched(key) and self._state(key) is not HunkState.ACCEPTED:
                self._mark(key, is_in=False)

    def _was_touched(self, key: Key) -> bool:
        """Whether somebody edited what a hunk that is in the text brought in, or the seam where it took lines out."""
        hunk = self._hunk(key)
        if hunk.kind is not HunkKind.TEXT:
            return True
        text = self._text_of(key)
        return text is None or not any(_holds(text, piece) for piece in self.brought.get(key, ()) if piece.ids)

    def _was_done_by_hand(self, key: Key) -> bool:
        """Whether a hunk only takes lines out, and somebody did: no text can say who."""
        text = self._text_of(key)
        return not self._hunk(key).new_lines and text is not None and self.known[key, False].isdisjoint(text.ids)

    def _is_as_before(self, key: Key) -> bool:
        """Whether the lines that a hunk was made for stand where they stood, with their neighbours.

        Where they do not, somebody typed over them, and the server may go by what it knew.
        """
        text, hunk = self._text_of(key), self._hunk(key)
        if text is None or hunk.kind is not HunkKind.TEXT or self._change(key).creates:
            return False
        around = self.bases[key[0], self._path(key)][max(0, hunk.start - 3) : hunk.end + 3]
        wanted, there = _who(around), _who(self.editor.unmarked(text).lines())
        return any(wanted) and any(there[i : i + len(wanted)] == wanted for i in range(len(there)))

    def _untouched(self, proposal: Proposal) -> set[str]:
        """The files in which nobody did anything since *proposal* but accept and undo its hunks."""
        found: set[str] = set()
        for change in proposal.files:
            keys = [(proposal.id, hunk.id) for hunk in change.hunks]
            text = self._text_of(keys[0])
            if change.creates or text is None or any(self._hunk(k).kind is not HunkKind.TEXT for k in keys):
                continue
            pieces = self.bases[proposal.id, change.path]
            expected: list[int] = []
            done = 0
            for key in keys:
                hunk = self._hunk(key)
                expected += [i for line in pieces[done : hunk.start] for i in line.ids]
                own = self._lines_with(key) if key in text.landed else self.lines_of[key]
                expected += [i for line in own for i in line.ids]
                done = hunk.end
            expected += [i for line in pieces[done:] for i in line.ids]
            if tuple(expected) == self.editor.unmarked(text).ids:
                found.add(change.path)
        return found

    def _lines_with(self, key: Key) -> list[Traced]:
        """The lines that stand for a hunk that is in the text: those it brought, and those of it that stay."""
        brought, base = self.brought[key][-1].lines(), self.lines_of[key]
        lines: list[Traced] = []
        at = 0
        for start, end, new_start, new_end in self._change(key).parts(self._hunk(key)):
            lines += [*base[at:start], *brought[: new_end - new_start]]
            brought, at = brought[new_end - new_start :], end
        return [*lines, *base[at:]]

    def _proposed_change(self, data: st.DataObject, path: str) -> FileChange | None:
        text = self.editor.visible(path)
        if path == NEW_PATH:
            return file_change(path, None, "⟦new⟧ 1\n⟦new⟧ 2\n") if text is None else None
        if text is None:
            return None
        base = self.editor.unmarked(text).text
        if data.draw(st.integers(0, 9)) == 0:
            kind = data.draw(st.sampled_from([HunkKind.DELETE, HunkKind.RENAME]))
            moved_to = f"moved/{len(self.written)}/{path}" if kind is HunkKind.RENAME else ""
            has_bom = path in self.editor.marked or text.text.startswith(BOM)
            return FileChange(path, base, sha256(base), (Hunk("0", 0, 0, (), kind=kind),), moved_to, has_bom=has_bom)
        lines = [base[start:end] for start, end in line_spans(base)]
        for n in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, len(lines)))
            new = [f"⟦proposed {len(self.written)}.{path}.{n}.{i}⟧ 𝄞\n" for i in range(data.draw(st.integers(0, 2)))]
            lines[at : at + data.draw(st.integers(0, 2))] = new
        return file_change(path, TextFile(path, base), "".join(lines))

    def _trace(self, proposal: Proposal) -> None:
        """Remember who the characters are that *proposal* was made on."""
        self.written[proposal.id] = proposal
        order = self.order.setdefault(proposal.id, {})
        for change in proposal.files:
            text = self.editor.visible(change.path)
            lines = self.editor.unmarked(text).lines() if text is not None else []
            self.bases[proposal.id, change.path] = lines
            contents = [content(line.text) for line in lines]
            if len(set(contents)) < len(contents):
                self.ambiguous.add(change.path)
            for number, line in enumerate(lines):
                order |= dict.fromkeys(line.ids, (number, 1, 0))
            for hunk in change.hunks:
                self.lines_of[proposal.id, hunk.id] = lines[hunk.start : hunk.end]
                self.known[(proposal.id, hunk.id), False] = {*joined(lines[hunk.start : hunk.end]).ids}

    def _mark(self, key: Key, *, is_in: bool) -> None:
        for path in self._paths(key):
            for texts_by_path in (self.editor.buffers, self.editor.files):
                held = texts_by_path.get(path)
                if held is None or (texts_by_path is self.editor.files and path in self.editor.buffers):
                    continue
                text = held if isinstance(held, Traced) else held.now
                marked = replace(text, landed=text.landed | {key} if is_in else text.landed - {key})
                if isinstance(held, Traced):
                    self.editor.files[path] = marked
                else:
                    held.now = marked

    def _landed(self) -> set[Key]:
        """The hunks that are in the text the developer sees, or on which a file depends that is there or gone."""
        found = {
            key for path in self._all_paths() if (text := self.editor.visible(path)) is not None for key in text.landed
        }
        return {key for key in found if self._hunk(key).kind is HunkKind.TEXT} | {
            key
            for key in self._keys()
            if self._hunk(key).kind is not HunkKind.TEXT and self._state(key) is HunkState.ACCEPTED
        }

    def _accepted(self) -> set[Key]:
        return {key for key in self._keys() if self._state(key) is HunkState.ACCEPTED}

    def _texts(self) -> dict[str, str]:
        """Every text the developer sees, with the byte order mark where the file has one."""
        seen = {path: text for path in self._all_paths() if (text := self.editor.visible(path)) is not None}
        marked = {path for path, text in seen.items() if path in self.editor.marked or text.text.startswith(BOM)}
        return {p: (BOM if p in marked else "") + self.editor.unmarked(t).text for p, t in seen.items()}

    def _all_paths(self) -> set[str]:
        return {*self.editor.files, *self.editor.buffers}

    def _keys(self) -> list[Key]:
        return [(proposal.id, hunk.id) for proposal in self.written.values() for _, hunk in proposal.hunks()]

    def _state(self, key: Key) -> HunkState:
        return self._reviewed(key[0]).states[key[1]]

    def _reviewed(self, proposal_id: str) -> Reviewed:
        """The proposal as stored; kept until a decision is stored."""
        n_stored = self.store.connection.execute("SELECT coalesce(max(id), 0) FROM decision").fetchone()[0]
        if self._as_stored.get(proposal_id, (None, None))[0] != n_stored:
            self._as_stored[proposal_id] = n_stored, load_proposal(self.store, proposal_id)
        return self._as_stored[proposal_id][1]

    def _hunk(self, key: Key) -> Hunk:
        return next(hunk for _, hunk in self._reviewed(key[0]).proposal.hunks() if hunk.id == key[1])

    def _change(self, key: Key) -> FileChange:
        return next(change for change, hunk in self.written[key[0]].hunks() if hunk.id == key[1])

    def _path(self, key: Key) -> str:
        return self._change(key).path

    def _paths(self, key: Key) -> set[str]:
        return {self._change(key).path, self._change(key).renamed_to} - {""}

    def _text_of(self, key: Key) -> Traced | None:
        return next((text for path in self._paths(key) if (text := self.editor.visible(path)) is not None), None)

    def _base_lines(self, key: Key) -> list[str]:
        """The lines that the hunk takes away."""
        return [self._change(key).base_lines[number] for number, _ in self._base_places(key)]

    def _new_lines(self, key: Key) -> list[str]:
        """The lines that the hunk brings."""
        return [self._hunk(key).new_lines[n] for _, n in self._new_places(key)]

    def _base_places(self, key: Key) -> list[tuple[int, int]]:
        """The numbers in the base, and in the hunk, of the lines it takes away: it may hold others, which stay."""
        hunk = self._hunk(key)
        if hunk.kind is not HunkKind.TEXT:
            return [(n, n) for n in range(hunk.start, hunk.end)]
        return [(hunk.start + n, n) for start, end, _, _ in self._change(key).parts(hunk) for n in range(start, end)]

    def _new_places(self, key: Key) -> list[tuple[int, int]]:
        """For each line the hunk brings: the line of the base it comes before, and its number in the hunk."""
        hunk = self._hunk(key)
        parts = self._change(key).parts(hunk)
        return [(hunk.start + at, n) for at, _, start, end in parts for n in range(start, end)]

    def _place(self, path: str, at: float) -> int:
        text = self.editor.buffers[path].now.text
        place = int(at * (len(text) + 1))
        return place - 1 if text[place - 1 : place + 1] == "\r\n" and place else place


def _formatted(text: Traced) -> Traced:
    """What a formatter does on saving: no blanks before an ending, and one at the very end."""
    tidy = edited_lines(text, lambda line: content(line).rstrip(" \t") + line[len(content(line)) :])
    if tidy.text and not tidy.text.endswith(("\n", "\r")):
        tidy = tidy.spliced(len(tidy), len(tidy), fresh("\n"))
    return replace(tidy, landed=text.landed)


def _who(lines: list[Traced]) -> list[tuple[int, ...]]:
    """The characters of each line but for its ending."""
    return [line.ids[: len(content(line.text))] for line in lines]


def _holds(text: Traced, piece: Traced) -> bool:
    """Whether *piece* stands in *text*, character by character, whole, from the beginning of a line."""
    if piece.ids[0] not in text.ids:
        return False
    start = text.ids.index(piece.ids[0])
    begins = text.text[:start].removeprefix(BOM)[-1:] in ("", "\n", "\r")
    return begins and text.ids[start : start + len(piece)] == piece.ids


def _line_feeds(texts: Mapping[str, str]) -> dict[str, str]:
    return {path: text.replace("\r\n", "\n").replace("\r", "\n") for path, text in texts.items()}


def _ending_with(line: Traced, ending: str) -> Traced:
    body = len(content(line.text))
    if body == len(line) or line.text[body:] == ending:
        return line
    return line.spliced(body, len(line), fresh(ending))


def test_nothing_is_stale_nothing_is_lost_and_states_tell_the_truth_whatever_happens() -> None:
    run_state_machine_as_test(
        AnySession,
        settings=settings(
            max_examples=N_SESSIONS,
            stateful_step_count=N_STEPS,
            deadline=None,
            derandomize="ROLECALL_SESSIONS" not in os.environ,
            phases=[Phase.explicit, Phase.generate, Phase.shrink]
            if "ROLECALL_SESSIONS" in os.environ
            else [Phase.generate],
            print_blob=True,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        ),
    )
