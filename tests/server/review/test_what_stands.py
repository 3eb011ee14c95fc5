"""What stands in a text that nobody announced: found out step by step, or line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall_server.processes import ProcessId
from rolecall_server.review.acceptance import plan_edit
from rolecall_server.review.proposals.anchor import standing, turned_to
from rolecall_server.review.proposals.edit_journal import fingerprint, take_over
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.hunks import file_change, number_hunks
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkKind, HunkState, Proposal
from rolecall_server.review.proposals.proposal_store import decide, load_proposal, save_proposal
from rolecall_server.review.proposals.rendering import render_proposal
from rolecall_server.store import LandingRow, Store
from rolecall_server.store.landings import add_landings
from rolecall_server.workspace import BOM, TextFile, sha256
from support.proposals import hunks_standing
from support.stores import open_store

BASE = "".join(f"line {n}\n" for n in range(20))
PROPOSED = BASE.replace("line 3\n", "proposed\n").replace("line 12\n", "line 12\nadded\n")
NO_PROCESS = ProcessId(4_194_305)
"""No system gives a process that number."""


def proposal(base: str = BASE, proposed: str = PROPOSED) -> FileChange:
    return number_hunks([file_change("a.txt", TextFile("a.txt", base), proposed)])[0]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "rolecall.db")


def save(store: Store, root: Path, change: FileChange) -> str:
    proposal_id = store.reserve_proposal(store.add_run(root, "engineer", "", ""))
    save_proposal(store, Proposal(proposal_id, "r1", "Engineer", "t", "", "", (change,), Evidence(ran=False)))
    return proposal_id


def test_the_lines_of_a_text_say_which_hunks_stand_in_it_whatever_was_typed_elsewhere() -> None:
    typed = "typed\n" + PROPOSED
    assert standing(proposal(), (), ["h1", "h2"], typed) == {"h1", "h2"}
    assert standing(proposal(), {"h1", "h2"}, ["h1", "h2"], "typed\n" + BASE) == set()
    half = "typed\n" + BASE.replace("line 3\n", "proposed\n")
    assert standing(proposal(), {"h2"}, ["h1", "h2"], half) == {"h1"}


def test_where_the_lines_were_edited_since_what_was_known_holds() -> None:
    edited = PROPOSED.replace("proposed", "proposed and edited")
    assert standing(proposal(), {"h1", "h2"}, ["h1", "h2"], edited) == {"h1", "h2"}


def test_a_byte_order_mark_that_an_editor_shows_makes_no_other_text() -> None:
    assert fingerprint(BOM + BASE) == fingerprint(BASE)


def test_taking_a_hunk_out_of_a_file_of_both_endings_brings_back_the_endings_it_had() -> None:
    base = "a\nb\r\nc\r\nd\ne\r\nf\ng\n"
    change = proposal(base, base.replace("a\n", "").replace("d\n", ""))
    hunk_ids = [hunk.id for hunk in change.hunks]
    without = plan_edit(change, (), base, bring_in=hunk_ids).result
    assert without is not None
    assert plan_edit(change, hunk_ids, without, take_out=hunk_ids).result == base


def test_lines_get_another_ending_only_where_those_around_them_did() -> None:
    assert turned_to(proposal(), (), BASE.replace("\n", "\r\n")) == "\r\n"
    assert not turned_to(proposal(), (), BASE + "typed\r\n" * 40)


def test_a_deleted_file_comes_back_with_its_byte_order_mark() -> None:
    hunk = Hunk("h1", 0, 0, (), kind=HunkKind.DELETE)
    change = FileChange("a.txt", BASE, sha256(BASE), (hunk,), has_bom=True)
    assert plan_edit(change, ["h1"], None, take_out=["h1"]).result == BOM + BASE


def test_a_decision_that_was_never_saved_is_taken_back_though_the_file_is_none_of_the_texts_it_was_made_on(
    store: Store, tmp_path: Path
) -> None:
    """Somebody typed, accepted, and lost both when the editor died."""
    change = proposal()
    proposal_id = save(store, tmp_path, change)
    before, after = "typed\n" + BASE, "typed\n" + BASE.replace("line 3\n", "proposed\n")
    step = LandingRow(0, "a.txt", proposal_id, ("h1",), (), fingerprint(before), fingerprint(after), NO_PROCESS)
    add_landings(store, tmp_path, [step])
    decide(store, load_proposal(store, proposal_id), {"h1": HunkState.ACCEPTED})
    chains = take_over(store, tmp_path, lambda path: BASE).chains
    assert load_proposal(store, proposal_id).states["h1"] is HunkState.PENDING
    assert chains["a.txt"][0].brought_in == ("h1",), "an editor may still have kept the text"


def test_what_was_asked_before_a_crash_is_remembered_until_some_text_shows_what_came_of_it(
    store: Store, tmp_path: Path
) -> None:
    """The editor made the edit, unsaved, in a text that the disk does not have; the server died before it heard."""
    change = proposal()
    proposal_id = save(store, tmp_path, change)
    before, after = "typed\n" + BASE, "typed\n" + BASE.replace("line 3\n", "proposed\n")
    step = LandingRow(0, "a.txt", proposal_id, ("h1",), (), fingerprint(before), fingerprint(after), NO_PROCESS)
    add_landings(store, tmp_path, [step])
    chain = take_over(store, tmp_path, lambda path: BASE).chains["a.txt"]
    assert load_proposal(store, proposal_id).states["h1"] is HunkState.PENDING
    assert hunks_standing(chain, BASE) == set()
    assert hunks_standing(chain, after) == {"h1"}, "an editor may still hold it"


def test_an_edit_that_never_reached_a_text_in_which_somebody_typed_since_does_not_count_as_being_there(
    store: Store, tmp_path: Path
) -> None:
    """The server died between storing the second edit and hearing of it; what the editor held is lost."""
    once = BASE.replace("line 1\n", "first\n")
    both = once.replace("line 9\n", "second\n")
    proposal_id = save(store, tmp_path, proposal(BASE, both))
    decide(store, load_proposal(store, proposal_id), {"h1": HunkState.ACCEPTED})
    add_landings(
        store,
        tmp_path,
        [
            LandingRow(0, "a.txt", proposal_id, ("h1",), (), fingerprint(BASE), fingerprint(once), NO_PROCESS),
            LandingRow(0, "a.txt", proposal_id, ("h2",), (), fingerprint(once), fingerprint(both), NO_PROCESS),
        ],
    )
    typed = "typed\n" + BASE
    chain = take_over(store, tmp_path, lambda path: typed).chains["a.txt"]
    assert load_proposal(store, proposal_id).accepted == set()
    assert hunks_standing(chain, typed) == set()
    assert hunks_standing(chain, both) == {"h1", "h2"}, "an editor may still hold it"


def test_a_new_file_that_was_never_saved_is_known_again_after_the_second_crash_as_after_the_first(
    store: Store, tmp_path: Path
) -> None:
    """The disk has the file, empty; the editor holds its text."""
    change = number_hunks([file_change("new.txt", None, "a\nb\n")])[0]
    proposal_id = save(store, tmp_path, change)
    step = LandingRow(0, "new.txt", proposal_id, ("h1",), (), fingerprint(None), fingerprint("a\nb\n"), NO_PROCESS)
    add_landings(store, tmp_path, [step])
    for _ in range(3):
        chain = take_over(store, tmp_path, lambda path: "").chains["new.txt"]
        assert load_proposal(store, proposal_id).states["h1"] is HunkState.PENDING
        assert hunks_standing(chain, "a\nb\n") == {"h1"}, "the editor may still hold it"
        with store.connection as connection:
            connection.execute("UPDATE landing SET process_id = ?", (NO_PROCESS.number,))


def test_what_an_editor_that_died_left_is_told_once_and_stays_with_the_hunk(store: Store, tmp_path: Path) -> None:
    changes = number_hunks([file_change(path, TextFile(path, BASE), PROPOSED) for path in ("a.txt", "b.txt")])
    proposal_id = store.reserve_proposal(store.add_run(tmp_path, "engineer", "", ""))
    save_proposal(store, Proposal(proposal_id, "r1", "Engineer", "t", "", "", tuple(changes), Evidence(ran=False)))
    prints = fingerprint(BASE), fingerprint(PROPOSED)
    ids = {"a.txt": ("h1", "h2"), "b.txt": ("h3", "h4")}
    add_landings(store, tmp_path, [LandingRow(0, p, proposal_id, h, (), *prints, NO_PROCESS) for p, h in ids.items()])
    read = {"a.txt": PROPOSED, "b.txt": BASE}.get
    (told,) = take_over(store, tmp_path, read).told
    assert "On the disk a.txt has h1, h2; b.txt does not have h3, h4." in told
    now = load_proposal(store, proposal_id)
    assert now.accepted == {"h1", "h2"}
    assert "ended before its text was in the file" in now.reasons["h3"]
    assert "[pending: It was accepted, but" in render_proposal(now)
    with store.connection as connection:
        connection.execute("UPDATE landing SET process_id = ?", (NO_PROCESS.number,))
    assert take_over(store, tmp_path, read).told == ()


@pytest.mark.parametrize("accepted", [True, False])
def test_nothing_is_told_where_the_file_is_as_was_stored(store: Store, tmp_path: Path, accepted: bool) -> None:
    proposal_id = save(store, tmp_path, proposal())
    brought_in, taken_out = (("h1", "h2"), ()) if accepted else ((), ("h1", "h2"))
    texts = [BASE, PROPOSED] if accepted else [PROPOSED, BASE]
    step = LandingRow(
        0, "a.txt", proposal_id, brought_in, taken_out, fingerprint(texts[0]), fingerprint(texts[1]), NO_PROCESS
    )
    add_landings(store, tmp_path, [step])
    if accepted:
        decide(store, load_proposal(store, proposal_id), dict.fromkeys(("h1", "h2"), HunkState.ACCEPTED))
    assert take_over(store, tmp_path, lambda path: texts[1]).told == ()
