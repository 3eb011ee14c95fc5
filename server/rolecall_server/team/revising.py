"""One hunk made anew by the role that proposed it: on the text as it is now, or as the developer wants it instead."""

from __future__ import annotations

import re
from pathlib import Path

from rolecall_server.context import Focus
from rolecall_server.craft.attempt import AttemptWork
from rolecall_server.review.guards.edit_paths import why_not_changed
from rolecall_server.review.proposals.anchor import path_now
from rolecall_server.review.proposals.proposal import HunkState, Proposal
from rolecall_server.review.proposals.proposal_store import Reviewed, load_proposal, put_aside
from rolecall_server.review.proposals.rendering import hunk_diff, hunk_header
from rolecall_server.store import Store
from rolecall_server.team.opening import open_conversation
from rolecall_server.team.request import TITLES, Desk, Revision, RoleName, RunRequest
from rolecall_server.team.test_quality.trials import Trials
from rolecall_server.workspace import file_exists, read_for_model

_ROLES = Path(__file__).parent / "roles"
_ON_FAILURE = "They fail since your change. Correct it, in the same file."
_AGAIN = re.compile(r", p\d+/h\d+ again$")


def revision_of(reviewed: Reviewed, hunk_id: str, brief: str = "") -> RunRequest:
    """Return the request to make one hunk anew; *brief* says what should be different, and is empty where only its
    place should be.
    """
    proposal = reviewed.proposal
    change, hunk = next((c, h) for c, h in proposal.hunks() if h.id == hunk_id)
    stale = reviewed.states[hunk_id] is HunkState.STALE
    revision = Revision(
        proposal.id,
        hunk_id,
        proposal.title,
        proposal.origin,
        path_now(change, reviewed.accepted),
        "\n".join([hunk_header(change, hunk), *hunk_diff(change, hunk)]),
        reviewed.reasons.get(hunk_id, "") if stale else "",
    )
    role = next((name for name, title in TITLES.items() if title == proposal.role), RoleName.ENGINEER)
    return RunRequest(role, revision.path, brief=brief, revises=revision)


async def revise(request: RunRequest, desk: Desk) -> tuple[AttemptWork, Trials]:
    """Prepare the work of making the hunk of *request* anew: edits of its file and of no other.

    Raises:
        FileRefused: its file cannot be read.
    """
    assert request.revises is not None
    path = request.revises.path
    focus = Focus(path if file_exists(desk.workspace, path) else "", brief=request.brief or request.revises.title)
    trials = Trials(desk, (path,) if path.endswith(".py") else ())

    def refusal(named: str) -> str | None:
        if named != path:
            return f"Only {path} is to be changed here, and {named} is another file."
        return why_not_changed(desk.workspace, path)

    work = AttemptWork(
        opening=await open_conversation(_ROLES / f"{request.role}.md", desk, focus, _task(request, request.revises)),
        read_text=lambda named: read_for_model(desk.workspace, named),
        refusal=refusal,
        try_out=trials.of_change,
        before=lambda: trials.before,
        on_failure=_ON_FAILURE,
    )
    return work, trials


def revision_title(revision: Revision) -> str:
    """``Tests for shop/price.py, p7/h2 again``"""
    return f"{_AGAIN.sub('', revision.title)}, {revision.code} again"


def put_revised_aside(store: Store, request: RunRequest, proposal: Proposal) -> None:
    """Reject the hunk that *proposal* was made for, unless it was decided meanwhile."""
    if request.revises is None:
        return
    earlier = load_proposal(store, request.revises.proposal_id)
    if request.revises.hunk_id in earlier.undecided:
        put_aside(store, earlier, [request.revises.hunk_id], f"{proposal.id} took its place.")


def _task(request: RunRequest, revision: Revision) -> str:
    stale = (
        f"It can no longer be placed: {revision.stale_because} Make it fit the text as it is now."
        if revision.stale_because
        else ""
    )
    proposed = f"You proposed this for {revision.path}, whose text may have been another then:"
    limits = (
        f"Change {revision.path} only, as it is now, and only what this one change is about: everything else that was "
        "proposed is decided on by itself. If what it was for is there already, send no edit, but `No change: why`."
    )
    parts = [
        f"Make one change anew. It belongs to: {revision.title}.",
        f"{proposed}\n\n```diff\n{revision.diff}\n```",
        stale,
        f"The developer asks: {request.brief.strip()}" if request.brief.strip() else "",
        limits,
    ]
    return "\n\n".join(part for part in parts if part)
