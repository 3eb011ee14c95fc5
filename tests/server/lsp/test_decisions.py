"""What an editor says of an edit, and what can be seen of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from rolecall_server.lsp.proposals.hunks import reload_proposal, show_hunks
from rolecall_server.lsp.session import Patience
from rolecall_server.review.proposals.proposal import HunkState, Proposal
from rolecall_server.review.proposals.proposal_store import load_proposal
from rolecall_server.store import Store
from support.local_server import HastyLoop, LocalServer
from support.real_session import propose
from support.stores import open_store
from support.traced import fresh
from support.traced_editor import Habits, Message, TracedEditor

KEEP, PUT_BACK = "Keep it", "Put the old text back"


class Desk:
    """A server and an editor in one process."""

    def __init__(self, folder: Path) -> None:
        self.root = (folder / "work").resolve()
        self.root.mkdir()
        self.store: Store = open_store(folder / "store.db")
        self.server = LocalServer(HastyLoop(), self.store)
        self.editor = TracedEditor(self.root, self.server.send, Habits())
        self.server.on_message = self.editor.receive

    def begin(self, texts: Mapping[str, tuple[str | None, str]], opened: tuple[str, ...]) -> Proposal:
        """Files before and after, of which some are open; the proposal."""
        for path, (before, _) in texts.items():
            if before is not None:
                self.editor.write(path, fresh(before), watched=False)
        proposal = propose(self.store, self.root, texts)
        self.server.start(self.root, self.editor.habits.capabilities())
        for path in opened:
            self.editor.open(path)
        self.server.settle()
        return proposal

    def show(self, *proposals: Proposal) -> None:
        """Have the server see proposals that were stored while it ran."""
        folder = self.server.session.folders[self.root]
        for proposal in proposals:
            reload_proposal(self.server.server, folder, proposal.id)
        show_hunks(self.server.server, folder)
        self.server.settle()

    def accepted(self, proposal: Proposal) -> set[str]:
        """The paths of accepted hunks."""
        states = load_proposal(self.store, proposal.id).states
        return {change.path for change, hunk in proposal.hunks() if states[hunk.id] is HunkState.ACCEPTED}

    def first_edit(self, take: Callable[[Message], None]) -> None:
        """Have the editor *take* the first edit it is asked for; the others it makes."""

        def apply(message: Message) -> None:
            self.editor.on_apply = self.editor.apply
            take(message)

        self.editor.on_apply = apply


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.server.end()
    desk.server.loop.close()
    desk.store.close()


TWO = {"a.py": ("a = 1\n", "a = 2\n"), "b.py": ("b = 1\n", "b = 2\n")}


def test_an_editor_that_says_it_changed_a_file_and_left_it_is_not_believed(desk: Desk) -> None:
    proposal = desk.begin(TWO, opened=("a.py",))
    desk.editor.choice = PUT_BACK
    desk.first_edit(lambda message: desk.editor.apply_some(message, 1, {"applied": True}))
    desk.server.command("rolecall.proposal.accept", proposalId=proposal.id)
    assert any("b.py differs from what was accepted" in told for told in desk.editor.told)
    assert {path: desk.editor.visible(path).text for path in TWO} == {"a.py": "a = 1\n", "b.py": "b = 1\n"}  # pyright: ignore
    assert not desk.accepted(proposal)


def test_however_much_an_editor_tells_before_it_answers_little_of_it_is_kept(desk: Desk) -> None:
    proposal = desk.begin(TWO, opened=("a.py",))
    kept: list[int] = []

    def answer(message: Message) -> None:
        kept.extend(
            len(texts) for folder in desk.server.session.folders.values() for texts in folder.edits.told_texts.values()
        )
        desk.editor.apply(message)

    def storm(message: Message) -> None:
        for number in range(500):
            desk.editor.edit("a.py", 0, 0, f"{number} ")
        desk.server.loop.call_later(1, answer, message)

    desk.first_edit(storm)
    desk.server.session.patience = Patience(answer_s=10)
    with contextlib.suppress(AssertionError):
        desk.server.command("rolecall.proposal.accept", proposalId=proposal.id)
    assert kept
    assert max(kept) <= 128


def test_a_file_of_a_kind_that_the_editor_never_tells_of_may_wait_in_its_memory(desk: Desk) -> None:
    texts = {"a.py": TWO["a.py"], "b.txt": ("b = 1\n", "b = 2\n")}
    proposal = desk.begin(texts, opened=("a.py",))
    desk.first_edit(lambda message: desk.editor.apply_some(message, 1, {"applied": True}))
    desk.server.command("rolecall.proposal.accept", proposalId=proposal.id)
    assert not desk.editor.told
    assert desk.accepted(proposal) == {"a.py", "b.txt"}


def test_a_file_that_the_editor_writes_a_moment_after_it_answered_is_as_it_was_meant(desk: Desk) -> None:
    proposal = desk.begin(TWO, opened=("a.py",))

    def write_later(message: Message) -> None:
        desk.editor.apply_some(message, 1, {"applied": True})
        desk.server.loop.call_later(1.0, desk.editor.write, "b.py", fresh("b = 2\n"))

    desk.first_edit(write_later)
    desk.server.command("rolecall.proposal.accept", proposalId=proposal.id)
    assert not desk.editor.told
    assert desk.accepted(proposal) == {"a.py", "b.py"}


def test_a_rejection_outlives_an_editors_undo_that_passes_through_the_hunk(desk: Desk) -> None:
    proposal = desk.begin({"a.py": TWO["a.py"]}, opened=("a.py",))
    desk.server.command("rolecall.proposal.accept", proposalId=proposal.id)
    desk.server.command("rolecall.decision.undo")
    desk.server.command("rolecall.hunk.reject", proposalId=proposal.id, hunkId="h1")
    desk.editor.undo("a.py")
    desk.server.settle()
    assert desk.accepted(proposal) == {"a.py"}, "it is in the text"
    desk.editor.undo("a.py")
    desk.server.settle()
    assert load_proposal(desk.store, proposal.id).states["h1"] is HunkState.REJECTED


def test_typing_on_right_after_an_acceptance_raises_no_alarm(desk: Desk) -> None:
    proposal = desk.begin(TWO, opened=("a.py", "b.py"))

    def apply_and_type(message: Message) -> None:
        desk.editor.apply(message)
        desk.editor.edit("a.py", 0, 0, "typed\n")
        desk.editor.edit("b.py", 5, 5, " + 1")

    desk.first_edit(apply_and_type)
    desk.server.command("rolecall.proposal.accept", proposalId=proposal.id)
    assert not desk.editor.told
    assert desk.accepted(proposal) == {"a.py", "b.py"}


def test_an_edit_that_is_told_together_with_what_was_typed_raises_no_alarm(desk: Desk) -> None:
    proposal = desk.begin({"a.py": TWO["a.py"]}, opened=("a.py",))

    def apply_and_tell_at_once(message: Message) -> None:
        desk.editor.reply(message, {"applied": True})
        start = {"line": 0, "character": 0}
        changes = [
            {"range": {"start": start, "end": {"line": 1, "character": 0}}, "text": "a = 2\n"},
            {"range": {"start": start, "end": start}, "text": "typed\n"},
        ]
        document = {"uri": desk.editor.uri("a.py"), "version": 2}
        params = {"textDocument": document, "contentChanges": changes}
        desk.editor.send({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params})

    desk.first_edit(apply_and_tell_at_once)
    desk.server.command("rolecall.proposal.accept", proposalId=proposal.id)
    assert not desk.editor.told
    assert desk.accepted(proposal) == {"a.py"}


def test_what_an_editor_changes_along_with_an_edit_is_told(desk: Desk) -> None:
    proposal = desk.begin({"a.py": TWO["a.py"]}, opened=("a.py",))
    desk.editor.choice = KEEP

    def apply_and_format(message: Message) -> None:
        desk.editor.apply_some(message, None, ...)
        desk.editor.edit("a.py", 0, 0, "# a formatter\n")
        desk.editor.reply(message, {"applied": True})

    desk.first_edit(apply_and_format)
    desk.server.command("rolecall.proposal.accept", proposalId=proposal.id)
    assert any("a.py differs from what was accepted" in told for told in desk.editor.told)


def test_an_undo_that_a_dying_server_never_asked_for_leaves_what_the_editor_still_holds_accepted(desk: Desk) -> None:
    proposal = desk.begin({"a.py": TWO["a.py"]}, opened=("a.py",))
    desk.server.command("rolecall.proposal.accept", proposalId=proposal.id)
    desk.editor.on_apply = lambda message: None  # the edit is on its way when the server dies
    desk.server.send(
        {
            "jsonrpc": "2.0",
            "id": 99,
            "method": "workspace/executeCommand",
            "params": {"command": "rolecall.decision.undo", "arguments": [{"proposalId": proposal.id}]},
        }
    )
    desk.server.loop.run_until_complete(asyncio.sleep(0.3))
    desk.server.end()
    with desk.store.connection as connection:
        connection.execute("UPDATE landing SET process_id = 4194305")  # no system has a process of that number
    held = desk.editor.buffers.pop("a.py").now
    desk.server = LocalServer(desk.server.loop, desk.store)
    desk.server.on_message, desk.editor.send = desk.editor.receive, desk.server.send
    desk.server.start(desk.root, desk.editor.habits.capabilities())
    desk.editor.open("a.py")
    desk.editor.change("a.py", held)
    desk.server.settle()
    assert held.text == "a = 2\n"
    assert desk.accepted(proposal) == {"a.py"}


def test_what_was_accepted_with_one_command_is_taken_back_with_one_across_proposals(desk: Desk) -> None:
    first = desk.begin(TWO, opened=("a.py",))
    second = propose(desk.store, desk.root, {"c.py": (None, "c = 1\n")})
    desk.show(second)
    desk.server.command("rolecall.all.accept")
    assert (desk.accepted(first), desk.accepted(second)) == ({"a.py", "b.py"}, {"c.py"})
    desk.server.command("rolecall.decision.undo")
    assert (desk.accepted(first), desk.accepted(second)) == (set(), set())
    assert desk.editor.told == [
        f"Rolecall: what was decided last is taken back: {second.id} (h1); {first.id} (h1, h2)."
    ]


def test_hunks_of_two_proposals_that_are_accepted_together_are_asked_about_once_and_taken_back_together(
    desk: Desk,
) -> None:
    first = desk.begin(TWO, opened=("a.py",))
    second = propose(desk.store, desk.root, {"c.py": (None, "c = 1\n"), "d.py": (None, "d = 1\n")})
    desk.show(second)
    desk.server.session.client = replace(desk.server.session.client, review=True)
    desk.editor.choice = "Accept 2 hunks"
    desk.server.command("rolecall.all.accept", hunks={first.id: ["h1"], second.id: ["h2"]})
    assert desk.editor.told == ["accept 2 hunks of 2 proposals, in 2 files?"]
    assert (desk.accepted(first), desk.accepted(second)) == ({"a.py"}, {"d.py"})
    desk.server.command("rolecall.decision.undo")
    assert (desk.accepted(first), desk.accepted(second)) == (set(), set())


def test_hunks_of_two_proposals_that_are_rejected_together_leave_the_others(desk: Desk) -> None:
    first = desk.begin(TWO, opened=("a.py",))
    second = propose(desk.store, desk.root, {"c.py": (None, "c = 1\n"), "d.py": (None, "d = 1\n")})
    desk.show(second)
    desk.server.command("rolecall.all.reject", hunks={first.id: ["h2"], second.id: ["h1"]})
    assert [load_proposal(desk.store, one.id).undecided for one in (first, second)] == [{"h1"}, {"h2"}]


@pytest.mark.parametrize("hunks", [{}, [], {"": ["h1"]}, {"PROPOSAL": []}, {"PROPOSAL": "h1"}, {"PROPOSAL": ["h9"]}])
def test_hunks_that_are_named_wrongly_are_no_choice_of_everything(desk: Desk, hunks: object) -> None:
    proposal = desk.begin(TWO, opened=("a.py",))
    named = {proposal.id if key else "": value for key, value in hunks.items()} if isinstance(hunks, dict) else hunks
    reply = desk.server.command("rolecall.all.reject", hunks=named)
    assert "error" in reply
    assert load_proposal(desk.store, proposal.id).undecided == {"h1", "h2"}


def test_the_decision_before_stands_when_everything_that_was_decided_last_is_taken_back(desk: Desk) -> None:
    first = desk.begin(TWO, opened=("a.py", "b.py"))
    second = propose(desk.store, desk.root, {"c.py": (None, "c = 1\n")})
    desk.show(second)
    desk.server.command("rolecall.hunk.accept", proposalId=first.id, hunkId="h2")
    desk.server.command("rolecall.all.accept")
    desk.server.command("rolecall.decision.undo")
    assert (desk.accepted(first), desk.accepted(second)) == ({"b.py"}, set())
    desk.server.command("rolecall.decision.undo")
    assert desk.accepted(first) == set()


def test_a_rejection_of_everything_in_two_folders_is_taken_back_as_one(desk: Desk, tmp_path: Path) -> None:
    here = desk.begin({"a.py": TWO["a.py"]}, opened=("a.py",))
    other = (tmp_path / "other").resolve()
    other.mkdir()
    there = propose(desk.store, other, {"c.py": (None, "c = 1\n")})
    added = {"added": [{"uri": other.as_uri(), "name": "other"}], "removed": []}
    method = "workspace/didChangeWorkspaceFolders"
    desk.server.send({"jsonrpc": "2.0", "method": method, "params": {"event": added}})
    desk.server.settle()
    desk.server.command("rolecall.all.reject")
    assert [load_proposal(desk.store, one.id).undecided for one in (here, there)] == [frozenset(), frozenset()]
    desk.server.command("rolecall.decision.undo")
    assert [load_proposal(desk.store, one.id).undecided for one in (here, there)] == [{"h1"}, {"h1"}]


def test_all_hunks_in_a_file_are_those_of_every_proposal_that_changes_it(desk: Desk) -> None:
    text = "a = 1\n" + "\n" * 20 + "b = 1\n"
    first = desk.begin({"a.py": (text, text.replace("a = 1", "a = 2"))}, opened=("a.py",))
    second = propose(desk.store, desk.root, {"a.py": (text, text.replace("b = 1", "b = 2")), "c.py": (None, "c = 1\n")})
    third = propose(desk.store, desk.root, {"c.py": (None, "c = 2\n")})
    desk.show(second, third)
    reply = desk.server.command("rolecall.file.accept", uri=desk.editor.uri("a.py"))
    assert reply["proposalIds"] == [first.id, second.id]
    assert [desk.accepted(one) for one in (first, second, third)] == [{"a.py"}, {"a.py"}, set()]
    desk.server.command("rolecall.decision.undo")
    assert [desk.accepted(one) for one in (first, second, third)] == [set(), set(), set()]


def test_marks_on_a_file_that_the_editor_opens_to_change_it_are_taken_back(desk: Desk) -> None:
    proposal = desk.begin(TWO, opened=("a.py",))
    assert desk.editor.shown["b.py"]

    def open_and_apply(message: Message) -> None:
        desk.editor.open("b.py")
        desk.editor.apply(message)

    desk.first_edit(open_and_apply)
    desk.server.command("rolecall.hunk.accept", proposalId=proposal.id, hunkId="h2")
    assert desk.accepted(proposal) == {"b.py"}
    desk.editor.save("b.py")
    desk.server.settle()
    assert not desk.editor.shown["b.py"]


def test_an_editor_that_draws_hunks_is_asked_once_with_numbers_before_many_are_accepted(desk: Desk) -> None:
    text = "a = 1\n" + "\n" * 20 + "b = 1\n"
    first = desk.begin({"a.py": (text, text.replace("a = 1", "a = 2")), "b.py": TWO["b.py"]}, opened=("a.py",))
    second = propose(desk.store, desk.root, {"a.py": (text, text.replace("b = 1", "b = 2"))})
    desk.show(second)
    desk.server.session.client = replace(desk.server.session.client, review=True)
    desk.server.command("rolecall.file.accept", uri=desk.editor.uri("a.py"))
    assert desk.editor.told == ["accept 2 hunks of 2 proposals, in a.py?"]
    assert (desk.accepted(first), desk.accepted(second)) == (set(), set())
    desk.editor.choice = "Accept 3 hunks"
    desk.server.command("rolecall.all.accept")
    assert desk.editor.told[1:] == ["accept 3 hunks of 2 proposals, in 2 files?"]
    assert desk.accepted(first) == {"a.py", "b.py"}


def test_an_editor_that_never_answers_has_so_many_decisions_waiting_and_no_more(desk: Desk) -> None:
    proposal = desk.begin(TWO, opened=("a.py", "b.py"))
    desk.editor.on_apply = lambda message: None
    accept = {"command": "rolecall.hunk.accept", "arguments": [{"proposalId": proposal.id, "hunkId": "h1"}]}
    replies: dict[str, Message] = {}
    receive = desk.server.on_message

    def listen(message: Message) -> None:
        if "method" in message:
            receive(message)
        else:
            replies[message["id"]] = message["result"]

    desk.server.on_message = listen
    for number in range(33):
        asked = {"jsonrpc": "2.0", "id": f"accept {number}", "method": "workspace/executeCommand", "params": accept}
        desk.server.send(asked)
    desk.server.loop.run_until_complete(asyncio.sleep(0.001))
    assert [reply.get("error") for reply in replies.values()] == [None] * 32 + ["UserMustAct"]
    desk.server.settle()
    desk.editor.on_apply = desk.editor.apply
    desk.server.on_message = receive
    desk.server.command("rolecall.hunk.accept", proposalId=proposal.id, hunkId="h1")
    assert desk.accepted(proposal) == {"a.py"}
