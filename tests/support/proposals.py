"""Proposals in a store, as a run would have left them there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from rolecall_analysis import Index
from rolecall_server.review.checks.hunk_needs import link_hunks
from rolecall_server.review.proposals.changes import changes_of
from rolecall_server.review.proposals.edit_journal import fingerprint, hunks_in_text, n_standing
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.proposal import Proposal
from rolecall_server.review.proposals.proposal_store import Reviewed, load_proposal, save_proposal
from rolecall_server.store import LandingRow, Store
from rolecall_server.workspace import Workspace
from support.stores import open_store

NO_RENAMES: Mapping[str, str] = MappingProxyType({})


def store_of(home: Path) -> Store:
    """The store that a program finds in the environment of `support.workspaces.environment`."""
    return open_store(home / "data" / "rolecall" / "rolecall.db")


def propose(
    store: Store,
    root: Path,
    files: Mapping[str, str | None],
    renames: Mapping[str, str] = NO_RENAMES,
    evidence: Evidence | None = None,
    title: str = "a change",
    serves: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> Reviewed:
    """A stored proposal that the files below *root* get these texts; ``None`` deletes one.

    *serves* has the ids that a hunk is there for, by its own id.
    """
    run_id = store.add_run(root, "engineer", "", title)
    proposal_id = store.reserve_proposal(run_id)
    index = Index(root)
    index.scan()
    changes = link_hunks(changes_of(Workspace(root), files, renames), index.snapshot())
    index.close()
    changes = tuple(
        replace(change, hunks=tuple(replace(hunk, serves=serves.get(hunk.id, ())) for hunk in change.hunks))
        for change in changes
    )
    shown = evidence or Evidence(ran=False, reason="nobody ran them", model="a script")
    save_proposal(store, Proposal(proposal_id, run_id, "Engineer", title, "It is better.", "", changes, shown))
    store.end_run(run_id, "finished")
    return load_proposal(store, proposal_id)


def hunks_standing(chain: Sequence[LandingRow], text: str | None) -> set[str] | None:
    """The ids of the hunks in *text*, where it is one of the texts of *chain*."""
    n = n_standing(chain, fingerprint(text))
    return None if n is None else {hunk for (_, hunk), is_in in hunks_in_text(chain, n).items() if is_in}
