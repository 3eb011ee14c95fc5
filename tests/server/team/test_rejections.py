"""What a role is told of its work that the developer turned down."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rolecall_analysis import Snapshot
from rolecall_server.review.checks.hunk_needs import link_hunks
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.hunks import file_change, number_hunks
from rolecall_server.review.proposals.proposal import HunkState, Proposal
from rolecall_server.review.proposals.proposal_store import decide, load_proposal, put_aside, save_proposal
from rolecall_server.store import Store
from rolecall_server.team.lessons.rejections import MAX_REASON_CHARACTERS, MAX_REJECTIONS, earlier_rejections
from support.stores import open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(tmp_path / "rolecall.db")
    yield store
    store.close()


def propose(store: Store, root: Path, path: str = "tests/test_price.py", role: str = "QA Engineer") -> str:
    run_id = store.add_run(root, role, "price.py", "")
    changes = number_hunks([file_change(path, None, "def test_tax():\n    assert True\n")])
    files = link_hunks(changes, Snapshot())
    proposal = Proposal(store.reserve_proposal(run_id), run_id, role, "Tests", "", "price.py", files, Evidence(False))
    save_proposal(store, proposal)
    return proposal.id


def reject(store: Store, root: Path, proposal_id: str, reason: str, *, by_developer: bool = True) -> None:
    act_id = store.add_act(root, "reject") if by_developer else None
    put_aside(store, load_proposal(store, proposal_id), ["h1"], reason, act_id)


@pytest.mark.parametrize("path", ["price.py", "tests/test_price.py"])
def test_a_reason_is_told_on_the_file_that_was_changed_and_on_the_one_it_was_for(
    store: Store, tmp_path: Path, path: str
) -> None:
    reject(store, tmp_path, propose(store, tmp_path), "it shows\n nothing")
    [line] = earlier_rejections(store, tmp_path, "QA Engineer", path)
    assert re.fullmatch(r"- \w+ .*tests/test_price\.py \(2 lines\): it shows nothing", line)


def test_nothing_is_told_of_other_files_other_roles_and_other_repositories(store: Store, tmp_path: Path) -> None:
    reject(store, tmp_path, propose(store, tmp_path), "no")
    assert earlier_rejections(store, tmp_path, "QA Engineer", "cart.py") == ()
    assert earlier_rejections(store, tmp_path, "QA Engineer", "") == ()
    assert earlier_rejections(store, tmp_path, "Engineer", "price.py") == ()
    assert earlier_rejections(store, tmp_path / "other", "QA Engineer", "price.py") == ()


def test_a_rejection_without_a_reason_one_taken_back_and_one_of_ours_are_not_told(store: Store, tmp_path: Path) -> None:
    reject(store, tmp_path, propose(store, tmp_path), "")
    reject(store, tmp_path, propose(store, tmp_path), "p3 took its place.", by_developer=False)
    taken_back = propose(store, tmp_path)
    reject(store, tmp_path, taken_back, "no")
    decide(store, load_proposal(store, taken_back), {"h1": HunkState.PENDING}, "", store.add_act(tmp_path, "undo"))
    assert earlier_rejections(store, tmp_path, "QA Engineer", "price.py") == ()


def test_only_the_latest_are_told(store: Store, tmp_path: Path) -> None:
    for number in range(MAX_REJECTIONS + 3):
        reject(store, tmp_path, propose(store, tmp_path), f"reason {number}")
    told = earlier_rejections(store, tmp_path, "QA Engineer", "price.py")
    assert [line.partition("reason ")[2] for line in told] == [str(n) for n in range(3, MAX_REJECTIONS + 3)]


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (f"Do not {'x' * 900} round.", [f"Do not {'x' * 900} round."]),
        (f"Round it. Do not {'x' * MAX_REASON_CHARACTERS}", ["Round it."]),
        (f"Do not {'x' * MAX_REASON_CHARACTERS}", []),
    ],
)
def test_no_sentence_of_a_reason_is_cut(store: Store, tmp_path: Path, reason: str, told: list[str]) -> None:
    reject(store, tmp_path, propose(store, tmp_path), reason)
    lines = earlier_rejections(store, tmp_path, "QA Engineer", "price.py")
    assert [line.partition("(2 lines): ")[2] for line in lines] == told
