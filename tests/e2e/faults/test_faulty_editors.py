"""An editor that fails at any step of an acceptance of several files: all of it stands, or none, to the byte.

ROLECALL_FAULTS=500 pytest tests/e2e/faults/test_faulty_editors.py     the full proof
"""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rolecall_server.review.proposals.proposal import HunkState, Proposal
from rolecall_server.review.proposals.proposal_store import load_proposal
from rolecall_server.store import Store
from support.real_session import RealSession, impatient_server, propose, real_session
from support.stores import open_store
from support.traced import fresh
from support.traced_editor import Habits, Message, TracedEditor
from support.workspaces import environment

FIRST_FAULT = int(os.environ.get("ROLECALL_FIRST_FAULT", "0"))
N_FAULTS = int(os.environ.get("ROLECALL_FAULTS", "44"))
ANSWER_S = 0.6
SYNC_S = 1.0
WAIT_S = 15.0
KEEP, PUT_BACK = "Keep it", "Put the old text back"


@dataclass
class Case:
    """One acceptance of several files that goes wrong in one way."""

    session: RealSession
    editor: TracedEditor
    n_files: int
    """How many files the editor changes before it fails."""
    n_asked: int = 0
    late: Callable[[], None] | None = None
    """What the editor does after the server has given it up."""


Fault = Callable[[Case, Message], None]
"""How an editor takes the first edit it is asked for."""


def refuses(case: Case, message: Message) -> None:
    case.editor.apply_some(message, 0, {"applied": False, "failureReason": "read-only"})


def refuses_halfway(case: Case, message: Message) -> None:
    case.editor.apply_some(message, case.n_files, {"applied": False, "failedChange": case.n_files})


def answers_with_an_error_halfway(case: Case, message: Message) -> None:
    case.editor.apply_some(message, case.n_files, ...)
    case.session.send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32603, "message": "broken"}})


def answers_with_nonsense_halfway(case: Case, message: Message) -> None:
    case.editor.apply_some(message, case.n_files, "yes")


def answers_twice(case: Case, message: Message) -> None:
    case.editor.apply(message)
    case.editor.reply(message, {"applied": True})


def answers_yes_then_no(case: Case, message: Message) -> None:
    case.editor.apply(message)
    case.editor.reply(message, {"applied": False, "failureReason": "changed its mind"})


def refuses_twice(case: Case, message: Message) -> None:
    refuses_halfway(case, message)
    case.editor.reply(message, {"applied": False, "failureReason": "once more"})


def never_answers(case: Case, message: Message) -> None:
    pass


def stops_halfway_without_an_answer(case: Case, message: Message) -> None:
    case.editor.apply_some(message, case.n_files, ...)


def makes_it_without_an_answer(case: Case, message: Message) -> None:
    case.editor.apply_some(message, None, ...)


def makes_it_and_answers_late(case: Case, message: Message) -> None:
    case.late = lambda: case.editor.apply(message)


def refuses_late(case: Case, message: Message) -> None:
    case.late = lambda: case.editor.reply(message, {"applied": False})


def says_it_did_and_did_nothing(case: Case, message: Message) -> None:
    case.editor.apply_some(message, 0, {"applied": True})


def says_it_did_and_did_half(case: Case, message: Message) -> None:
    case.editor.apply_some(message, case.n_files, {"applied": True})


def makes_another_text_of_one_file(case: Case, message: Message) -> None:
    case.editor.apply_some(message, None, ...)
    path = sorted(case.editor.buffers)[case.n_files % len(case.editor.buffers)]
    text = case.editor.buffers[path].now
    case.editor.change(path, text.spliced(0, 0, fresh("# put here by a formatter\n")))
    case.editor.reply(message, {"applied": True})


FAULTS: dict[Fault, tuple[str, ...]] = {
    refuses: ("none",),
    refuses_halfway: ("none",),
    answers_with_an_error_halfway: ("none",),
    answers_with_nonsense_halfway: ("none",),
    answers_twice: ("all",),
    answers_yes_then_no: ("all",),
    refuses_twice: ("none",),
    never_answers: ("none",),
    stops_halfway_without_an_answer: ("none",),
    makes_it_without_an_answer: ("none", "all"),
    makes_it_and_answers_late: ("all",),
    refuses_late: ("none",),
    says_it_did_and_did_nothing: ("none",),
    says_it_did_and_did_half: ("none",),
    makes_another_text_of_one_file: ("none",),
}
"""What may come of each, where the developer has the old text put back."""


def texts_for(chance: random.Random) -> dict[str, tuple[str | None, str]]:
    """Files before and after, in several endings, some of them new."""
    texts: dict[str, tuple[str | None, str]] = {}
    for n in range(chance.randint(2, 5)):
        ending = chance.choice(["\n", "\r\n"])
        before = [f"line {i} of {n} é𝄞" for i in range(chance.randint(4, 12))]
        after = list(before)
        for k in range(chance.randint(1, 3)):
            at = chance.randrange(len(after))
            after[at : at + chance.randint(0, 1)] = [f"proposed {k}"]
        last = chance.choice(["", ending])
        texts[f"f{n}.txt"] = (ending.join(before) + last, ending.join(after) + last)
    if chance.random() < 0.3:
        texts["new.txt"] = (None, "proposed\nfor a new file\n")
    return texts


def seen(editor: TracedEditor) -> dict[str, str]:
    """Every text the developer sees; a new file that is empty again is as good as none."""
    texts = {path: text for path in {*editor.files, *editor.buffers} if (text := editor.visible(path))}
    return {path: text.text for path, text in sorted(texts.items())}


class Faults:
    """Cases that share a server process, each in a folder of its own."""

    def __init__(self, folder: Path, store: Store, session: RealSession, habits: Habits) -> None:
        self.folder = folder
        self.store = store
        self.session = session
        self.habits = habits

    async def begin(self, seed: int) -> tuple[Case, Proposal, dict[str, str], dict[str, str], random.Random]:
        """A folder with a proposal for several files that is shown; the texts before and after."""
        chance = random.Random(seed)
        root = (self.folder / f"case{seed}").resolve()
        root.mkdir()
        editor = TracedEditor(root, self.session.send, self.habits)
        editor.choice = PUT_BACK
        texts = texts_for(chance)
        for path, (before, _) in texts.items():
            if before is not None:
                editor.write(path, fresh(before), watched=False)
        proposal = propose(self.store, root, texts)
        self.session.open_folder(editor)
        for path, (before, _) in texts.items():
            if before is not None and chance.random() < 0.6:
                editor.open(path)
        await self.session.until(lambda: self.session.n_shown() == len(proposal.hunks()))
        before = {path: text for path, (text, _) in texts.items() if text is not None}
        after = {path: text for path, (_, text) in texts.items()}
        return Case(self.session, editor, chance.randint(0, len(texts) - 1)), proposal, before, after, chance

    def accepted(self, proposal: Proposal) -> set[str]:
        """The hunks the store calls accepted."""
        states = load_proposal(self.store, proposal.id).states
        return {hunk_id for hunk_id, state in states.items() if state is HunkState.ACCEPTED}

    def outcome(self, case: Case, proposal: Proposal, before: dict[str, str], after: dict[str, str]) -> str:
        """``all``, ``none``, or what is neither."""
        accepted, texts = self.accepted(proposal), seen(case.editor)
        if texts == after and len(accepted) == len(proposal.hunks()):
            return "all"
        if texts == before and not accepted:
            return "none"
        return f"{len(accepted)} of {len(proposal.hunks())} accepted; {texts}; told: {case.editor.told}"

    async def meet(self, fault: Fault, seed: int) -> str:
        """What comes of an acceptance that meets *fault*; afterwards a sound one must come through whole."""
        case, proposal, before, after, _ = await self.begin(seed)

        def take(message: Message) -> None:
            case.n_asked += 1
            if case.n_asked == 1:
                fault(case, message)
            else:
                case.editor.apply(message)

        case.editor.on_apply = take
        self.session.ask("rolecall.proposal.accept", proposalId=proposal.id)
        await self.session.until(lambda: case.n_asked)
        await self.session.rest(0.1)
        wanted = FAULTS[fault]

        def settled() -> bool:
            return self.outcome(case, proposal, before, after) in wanted and self._is_over(fault, case)

        if case.late is None:
            await self._wait(settled)
        else:
            await self.session.rest(2 * ANSWER_S)
            case.late()
            await self._wait(settled)
            await self.session.rest(0.05)
        outcome = self.outcome(case, proposal, before, after)
        if outcome == "none":
            await self.session.rest(0.5)  # while the server puts back what an editor did, it takes no other decision
            again = await self._try_again(case, proposal, before, after)
            assert again == "all", f"a sound try afterwards: {again}; told: {case.editor.told}"
        return outcome

    async def _try_again(self, case: Case, proposal: Proposal, before: dict[str, str], after: dict[str, str]) -> str:
        """What comes of an acceptance that meets no fault; on a busy machine this editor, too, may answer too late."""
        for _ in range(3):
            n_told = len(case.editor.told)
            self.session.ask("rolecall.proposal.accept", proposalId=proposal.id)
            await self._wait(
                lambda n_told=n_told: (
                    self.outcome(case, proposal, before, after) == "all"
                    or any("gave no answer" in told for told in case.editor.told[n_told:])
                )
            )
            if self.outcome(case, proposal, before, after) == "all":
                break
            await self.session.rest(1.0)
        return self.outcome(case, proposal, before, after)

    async def _wait(self, condition: Callable[[], object]) -> None:
        with contextlib.suppress(AssertionError):  # what came of it is compared, and shown, by whoever asked
            await self.session.until(condition, WAIT_S)

    def _is_over(self, fault: Fault, case: Case) -> bool:
        """Whether the server has come to an end with it, as far as an editor can see."""
        gave_up = any("did not apply" in told or "differs from" in told for told in case.editor.told)
        return gave_up or "all" in FAULTS[fault]


@pytest.mark.parametrize("answers_first", [False, True], ids=["tells-first", "answers-first"])
async def test_an_acceptance_of_several_files_stands_whole_or_not_at_all(answers_first: bool, tmp_path: Path) -> None:
    habits = Habits(answers_first=answers_first)
    store = open_store(tmp_path / "home" / "data" / "rolecall" / "rolecall.db")
    wrong: list[str] = []
    command = impatient_server(ANSWER_S, SYNC_S)
    async with real_session(tmp_path, environment(tmp_path / "home"), command, habits) as session:
        faults = Faults(tmp_path, store, session, habits)
        for seed in range(FIRST_FAULT + int(answers_first), N_FAULTS, 2):
            fault = [*FAULTS][seed // 2 % len(FAULTS)]
            try:
                outcome = await faults.meet(fault, seed)
            except AssertionError as error:
                outcome = str(error)
            if outcome not in FAULTS[fault]:
                wrong.append(f"{fault.__name__}, seed {seed}: {outcome}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("seed", range(max(2, N_FAULTS // 10)))
async def test_an_editor_that_hangs_up_halfway_leaves_what_can_be_finished_or_undone(seed: int, tmp_path: Path) -> None:
    store = open_store(tmp_path / "home" / "data" / "rolecall" / "rolecall.db")
    environ, command = environment(tmp_path / "home"), impatient_server(ANSWER_S, SYNC_S)
    async with real_session(tmp_path, environ, command, Habits()) as session:
        faults = Faults(tmp_path, store, session, Habits())
        case, proposal, before, after, chance = await faults.begin(seed)

        def hang_up(message: Message) -> None:
            case.editor.apply_some(message, case.n_files, ...)
            for path in [path for path in sorted(case.editor.buffers) if chance.random() < 0.5]:
                case.editor.save(path)
            session.client.close_input()

        case.editor.on_apply = hang_up
        session.ask("rolecall.proposal.accept", proposalId=proposal.id)
        await session.until(lambda: session.client.process.returncode is not None)
    async with real_session(tmp_path, environ, command, Habits()) as session:
        editor = TracedEditor(case.editor.root, session.send, Habits())
        editor.files = {path: text for path, text in case.editor.files.items() if text.text}
        session.open_folder(editor)
        again = Faults(tmp_path, store, session, Habits())
        case = Case(session, editor, 0)
        reply = session.ask("rolecall.proposal.show", proposalId=proposal.id)
        await session.until(lambda: any(message.get("id") == reply for message in session.client.received))
        saved = {path for path in after if seen(editor).get(path) == after[path]}
        assert again.accepted(proposal) == {h.id for change, h in proposal.hunks() if change.path in saved}
        finishes = not saved or chance.random() < 0.5
        session.ask("rolecall.proposal.accept" if finishes else "rolecall.decision.undo", proposalId=proposal.id)
        wanted = "all" if finishes else "none"
        with contextlib.suppress(AssertionError):
            await session.until(lambda: again.outcome(case, proposal, before, after) == wanted, 6)
        assert (came := again.outcome(case, proposal, before, after)) == wanted, came
