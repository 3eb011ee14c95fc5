"""What of the stored proposals a session reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall_server.errors import FileRefused
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.hunks import file_change, number_hunks
from rolecall_server.review.proposals.proposal import HunkState, Proposal
from rolecall_server.review.proposals.proposal_store import (
    decide,
    edit_hunk,
    load_accepted,
    load_proposal,
    load_undecided,
    save_proposal,
)
from rolecall_server.review.proposals.provenance import Traces
from rolecall_server.store import Store
from rolecall_server.workspace import TextFile
from support.stores import open_store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "rolecall.db")


def propose(store: Store, root: Path, path: str = "a.py") -> str:
    changes = number_hunks([file_change(path, TextFile(path, "x = 1\n"), "x = 2\n")])
    proposal_id = store.reserve_proposal(store.add_run(root, "engineer", "", ""))
    save_proposal(store, Proposal(proposal_id, "r1", "Engineer", "t", "", path, changes, Evidence(ran=False)))
    return proposal_id


def forget_hunks(store: Store) -> None:
    """The store as an earlier Rolecall left it, which did not list hunks."""
    with store.connection as connection:
        connection.execute("DELETE FROM hunk")


def test_what_is_decided_is_not_read_again_until_somebody_asks_for_its_file(store: Store, tmp_path: Path) -> None:
    proposal_id, other = propose(store, tmp_path), propose(store, tmp_path, "b.py")
    decide(store, load_proposal(store, proposal_id), {"h1": HunkState.ACCEPTED})
    with store.connection as connection:
        connection.execute("UPDATE proposal SET body = 'nobody can read this' WHERE id = 1")
    assert [reviewed.proposal.id for reviewed in load_undecided(store, tmp_path)] == [other]
    assert load_accepted(store, tmp_path, "b.py") == ()
    assert load_accepted(store, tmp_path, "a.py") == ()


def test_what_an_earlier_rolecall_stored_is_found_with_the_developers_own_text(store: Store, tmp_path: Path) -> None:
    proposal_id = propose(store, tmp_path)
    edit_hunk(store, load_proposal(store, proposal_id), "h1", "x = 3\n", store.add_act(tmp_path, "edit"))
    forget_hunks(store)
    (reviewed,) = load_undecided(store, tmp_path)
    assert reviewed.edited == {"h1"}
    decide(store, reviewed, {"h1": HunkState.ACCEPTED})
    forget_hunks(store)
    assert Traces(store, tmp_path).lines("a.py", "x = 3\n")[0].edited
    assert load_undecided(store, tmp_path) == ()


def test_a_hunk_is_not_edited_until_nothing_of_it_is_left_to_decide(store: Store, tmp_path: Path) -> None:
    proposal_id = propose(store, tmp_path)
    with pytest.raises(FileRefused, match="h1 would change nothing"):
        edit_hunk(store, load_proposal(store, proposal_id), "h1", "x = 1\n", store.add_act(tmp_path, "edit"))
    assert load_proposal(store, proposal_id).edited == set()
