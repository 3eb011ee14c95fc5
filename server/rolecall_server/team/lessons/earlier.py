"""The earlier proposal of a role for the same thing, where the developer asks for it in another way."""

from __future__ import annotations

from pathlib import Path

from rolecall_server.review.proposals.proposal import Hunk, Proposal
from rolecall_server.review.proposals.proposal_store import Reviewed, load_undecided
from rolecall_server.store import Store
from rolecall_server.team.test_quality.reported import tell_known

MAX_CHARACTERS = 24_000


def earlier_proposal(
    store: Store, root: Path, role: str, title: str, path: str, *, run_id: str = ""
) -> Proposal | None:
    """Return the latest proposal of *role* with this title for *path* that is undecided, and not of *run_id* itself."""
    undecided = (one for one in load_undecided(store, root) if one.proposal.run_id != run_id)
    found = [one for one in undecided if _is_same(one, role, title, path)]
    return found[-1].proposal if found else None


def show_earlier(proposal: Proposal) -> str:
    """Return the additions of *proposal*, file by file, for a model that is to write it otherwise; empty if they are
    too long.
    """
    parts: list[str] = []
    for change in proposal.files:
        added = "\n".join("".join(hunk.new_lines).strip("\r\n") + "\n" for hunk in change.hunks if _is_told(hunk))
        fence = "```" if "```" not in added else "````"
        parts.append(f"## {change.renamed_to or change.path}\n{fence}\n{added}{fence}\n")
    found = (f"{one.path}::{one.symbol}: {one.sentence}" for one in proposal.evidence.defects)
    text = "\n".join([*parts, tell_known(found, proposal.evidence.left_out)])
    return text if len(text) <= MAX_CHARACTERS else ""


def _is_told(hunk: Hunk) -> bool:
    return bool(hunk.new_lines) and not hunk.off


def _is_same(reviewed: Reviewed, role: str, title: str, path: str) -> bool:
    proposal = reviewed.proposal
    return (proposal.role, proposal.title, proposal.origin) == (role, title, path)
