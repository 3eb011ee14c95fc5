"""Where a line came from, as long as it stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rolecall_server.review.proposals.anchor import lines_from, text_with
from rolecall_server.review.proposals.evidence import Evidence, Tally
from rolecall_server.review.proposals.hunks import file_change, number_hunks
from rolecall_server.review.proposals.proposal import FileChange, HunkState, Proposal
from rolecall_server.review.proposals.proposal_store import decide, edit_hunk, load_proposal, save_proposal
from rolecall_server.review.proposals.provenance import Traces, describe_trace, summarise_trace, trace_lines, traces_of
from rolecall_server.store import Store
from rolecall_server.workspace import TextFile, split_lines
from support.stores import open_store

BASE = "def total(items):\n    return sum(items)\n"
TAX = "\n\ndef tax(price):\n    rate = 0.2\n    return (\n        price * rate\n    )\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "rolecall.db")
    yield store
    store.close()


def change_to(proposed: str, base: str = BASE, path: str = "price.py") -> FileChange:
    return number_hunks([file_change(path, TextFile(path, base), proposed)])[0]


def propose(store: Store, root: Path, *changes: FileChange, brief: str = "Add a tax") -> Proposal:
    run_id = store.add_run(root, "engineer", "price.py", brief)
    evidence = Evidence(ran=True, after=Tally(12, 0), model="a model", confinement="bubblewrap")
    proposal = Proposal(store.reserve_proposal(run_id), run_id, "Engineer", "A tax", "", "price.py", changes, evidence)
    save_proposal(store, proposal)
    return proposal


def accept(store: Store, proposal: Proposal, *hunk_ids: str) -> None:
    decide(store, load_proposal(store, proposal.id), dict.fromkeys(hunk_ids, HunkState.ACCEPTED))


def numbered(traces: Traces, text: str, path: str = "price.py") -> dict[int, str]:
    return {line: trace.code for line, trace in traces.lines(path, text).items()}


def test_every_line_of_an_accepted_hunk_tells_of_it_and_no_other_line_does(store: Store, tmp_path: Path) -> None:
    proposal = propose(store, tmp_path, change_to(BASE + TAX))
    accept(store, proposal, "h1")
    traces = Traces(store, tmp_path)
    assert numbered(traces, BASE + TAX) == dict.fromkeys(range(2, 9), "p1/h1")
    assert numbered(traces, BASE) == {}
    assert traces.lines("other.py", BASE + TAX) == {}


def test_a_line_typed_into_accepted_ones_is_nobodys_and_the_others_keep_their_trace(
    store: Store, tmp_path: Path
) -> None:
    accept(store, propose(store, tmp_path, change_to(BASE + TAX)), "h1")
    traces = Traces(store, tmp_path)
    typed = "# mine\n" + BASE + TAX.replace("    rate = 0.2\n", "    rate = 0.3\n    # mine too\n")
    lines = split_lines(typed)
    known = {lines[line].strip() for line in numbered(traces, typed)}
    assert known == {"def tax(price):", "return (", "price * rate"}, "a lone bracket could be anybody's"


def test_what_is_pending_rejected_or_taken_back_has_no_trace(store: Store, tmp_path: Path) -> None:
    proposal = propose(store, tmp_path, change_to(BASE + TAX))
    traces = Traces(store, tmp_path)
    for state, known in (
        (HunkState.ACCEPTED, 7),
        (HunkState.PENDING, 0),
        (HunkState.ACCEPTED, 7),
        (HunkState.REJECTED, 0),
    ):
        decide(store, load_proposal(store, proposal.id), {"h1": state})
        traces.take(load_proposal(store, proposal.id))
        assert len(numbered(traces, BASE + TAX)) == known


def test_of_two_that_claim_a_line_the_later_acceptance_wins(store: Store, tmp_path: Path) -> None:
    first = propose(store, tmp_path, change_to(BASE + TAX))
    accept(store, first, "h1")
    text = BASE + TAX
    second = propose(store, tmp_path, change_to(text.replace("0.2", "0.3"), base=text))
    accept(store, second, "h1")
    traces = Traces(store, tmp_path)
    found = numbered(traces, text.replace("0.2", "0.3"))
    assert found[5] == "p2/h1"
    assert found[4] == found[6] == "p1/h1"


def test_a_trace_says_who_when_for_what_and_how_it_was_checked(store: Store, tmp_path: Path) -> None:
    proposal = propose(store, tmp_path, change_to(BASE + TAX), brief="Add a tax of a fifth")
    edit_hunk(store, load_proposal(store, proposal.id), "h1", "TAX = 0.2\n", store.add_act(tmp_path, "edit"))
    accept(store, proposal, "h1")
    [plain] = traces_of(store, load_proposal(store, proposal.id))
    trace = replace(plain, hunk=replace(plain.hunk, serves=("R3", "T2")))
    text = "\n".join(describe_trace(trace))
    assert "A tax: adds" in text
    assert "Serves R3, T2." in text
    assert "Asked for: Add a tax of a fifth" in text
    assert "Written by the Engineer (a model), then edited by the developer." in text
    assert "Checked: 12 passed, 0 failed.\nResults as the tests report.\n" in text
    assert "as p1/h1 of run r1." in text
    assert summarise_trace(trace) == "Rolecall p1: Engineer, 12 passed, 0 failed"
    assert trace_lines([plain], BASE + "TAX = 0.2\n") == {2: plain}


@given(st.lists(st.sampled_from("ab(\n"), max_size=8), st.lists(st.sampled_from("ab(c"), max_size=8), st.data())
def test_a_traced_line_is_always_equal_to_one_that_the_hunk_brought_in(
    base: list[str], proposed: list[str], data: st.DataObject
) -> None:
    assume(base != proposed)
    change = change_to("".join(f"{line}\n" for line in proposed), "".join(f"{line}\n" for line in base))
    accepted = data.draw(st.sets(st.sampled_from([hunk.id for hunk in change.hunks])))
    lines = split_lines(text_with(change, accepted) or "")
    kept = data.draw(st.lists(st.sampled_from(["x\n", *lines]), max_size=12))
    for line, hunk_id in lines_from(change, accepted, "".join(kept)).items():
        hunk = next(hunk for hunk in change.hunks if hunk.id == hunk_id)
        assert hunk_id in accepted
        assert kept[line].rstrip("\n") in [new.rstrip("\n") for new in hunk.new_lines]
