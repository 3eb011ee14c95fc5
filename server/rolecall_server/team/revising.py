"""Make a proposal anew: as the developer wants it instead, or for the text as it is now.

A revision begins with the hunks in the files, so that only what has to be different is written again. It can be revised
in turn: what the developer said of the earlier ones is told with it, and what was accepted stays.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rolecall_server.context import Focus
from rolecall_server.craft.attempt import AttemptWork
from rolecall_server.craft.attempts import EDIT_FORMAT, FILE_OPERATIONS
from rolecall_server.craft.edits.edit_blocks import Edited
from rolecall_server.errors import NotFound
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.review.guards.edit_paths import why_not_changed
from rolecall_server.review.proposals.anchor import Anchor, locate, path_now
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkKind, HunkState
from rolecall_server.review.proposals.proposal_store import Reviewed, load_proposal, put_aside, successor_of
from rolecall_server.review.proposals.rendering import file_header, hunk_diff, hunk_header
from rolecall_server.review.selection import texts_with
from rolecall_server.store import Store
from rolecall_server.team.messages.board import load_pool
from rolecall_server.team.opening import open_conversation
from rolecall_server.team.plan.planning import request_in
from rolecall_server.team.request import TITLES, Desk, Revision, RoleName, RunRequest
from rolecall_server.team.test_quality.trials import Trials
from rolecall_server.workspace import Workspace, file_exists, read_for_model, read_text_or_none

_PROMPTS = prompts_beside(__file__)
_ROLES = Path(__file__).parent / "roles"
_ON_FAILURE = "They fail since your change. Correct it."
_AGAIN = re.compile(r", p\d+(?:/h\d+)? again$")
_MOST_NAMED = 3
"""So many of the rejected hunks are named."""
_MOST_OF_LINES = 200
"""Characters of accepted lines that a model is reminded of."""


def revision_of(store: Store, reviewed: Reviewed, hunk_id: str = "", brief: str = "") -> RunRequest:
    """Return the request to make one hunk anew, or all that is undecided where none is named.

    *brief* says what should be different, and is empty where only their place should be.

    Raises:
        NotFound: nothing of it is undecided.
    """
    proposal = reviewed.proposal
    found = _revised(reviewed, hunk_id)
    if not found:
        raise NotFound(f"Nothing of {proposal.id} is undecided.", _way_to_revise(reviewed))
    stale = [hunk.id for _, hunk in found if reviewed.states[hunk.id] is HunkState.STALE]
    path = path_now(found[0][0], reviewed.accepted) if hunk_id else ""
    revision = Revision(
        proposal.id,
        hunk_id,
        proposal.title,
        proposal.origin,
        path,
        _diff(reviewed, found),
        reviewed.reasons.get(stale[0], "") if stale else "",
        said=words_so_far(store, reviewed),
    )
    role = next((name for name, title in TITLES.items() if title == proposal.role), RoleName.ENGINEER)
    return RunRequest(role, path or proposal.origin, brief=brief, revises=revision)


def _way_to_revise(reviewed: Reviewed) -> str:
    """Return what to do first, where all of a proposal is decided and somebody wants it otherwise."""
    proposal_id, states = reviewed.proposal.id, reviewed.states
    new = "`rolecall implement` begins something new."
    if successors := {name for hunk_id in states if (name := successor_of(reviewed, hunk_id))}:
        latest = max(successors, key=lambda name: int(name[1:]))
        return f"{latest} took its place, and can be revised; {new}"
    if rejected := [hunk_id for hunk_id, state in states.items() if state is HunkState.REJECTED]:
        undo = " or ".join(f"`rolecall undo {proposal_id}/{hunk_id}`" for hunk_id in rejected[:_MOST_NAMED])
        return f"{undo} offers again what was rejected, and it can be revised then; {new}"
    return f"`rolecall undo {proposal_id}` takes it back, and it can be revised then; {new}"


def words_so_far(store: Store, reviewed: Reviewed) -> tuple[str, ...]:
    """Return what the developer asked for and said of what came of it, up to the proposal, the earliest first."""
    brief = load_pool(store, reviewed.proposal.run_id).latest("brief")
    if brief is None:
        return (said,) if (said := store.run(reviewed.proposal.run_id).brief.strip()) else ()
    request = request_in(brief)
    said = request.brief.strip()
    if request.revises is None:
        return (said,) if said else ()
    return (*request.revises.said, *((f"of {request.revises.code}: {said}",) if said else ()))


async def revise(store: Store, request: RunRequest, desk: Desk) -> tuple[AttemptWork, Trials]:
    """Prepare the work of making the hunks of *request* anew: where it is one hunk, edits of its file and no other.

    Raises:
        FileRefused: a file cannot be read.
        NotFound: they were decided meanwhile.
    """
    assert request.revises is not None
    revision, reviewed = request.revises, load_proposal(store, request.revises.proposal_id)
    read_text = partial(read_text_or_none, desk.workspace)
    draft = await asyncio.to_thread(_drafted, reviewed, revision.hunk_id, read_text)
    paths = tuple(path for path, text in draft.files.items() if text is not None)
    first = revision.path or next(iter(paths), revision.origin)
    seen = _desk_with(desk, draft)
    # Not at the desk with the draft: what failed before is what fails without the proposal.
    trials = Trials(desk, tuple(path for path in (first,) if path.endswith(".py")))
    path = first if file_exists(seen.workspace, first) else ""
    focus = Focus(path, brief=request.brief or revision.title, writes_code=not revision.hunk_id, named=paths)
    moves_files = not revision.hunk_id and request.role is RoleName.ENGINEER
    kept = _accepted_lines(reviewed, read_text)
    work = AttemptWork(
        opening=await open_conversation(
            _ROLES / f"{request.role}.md",
            seen,
            focus,
            _task(request, revision, reviewed, is_drafted=bool(draft.files)),
            EDIT_FORMAT + FILE_OPERATIONS * moves_files,
        ),
        read_text=lambda named: read_for_model(desk.workspace, named),
        refusal=partial(_refusal, desk.workspace, _may_change(request, reviewed)),
        try_out=trials.of_change,
        before=lambda: trials.before,
        on_failure=_ON_FAILURE,
        moves_files=moves_files,
        objection=partial(_objection, kept),
        start=draft,
    )
    return work, trials


def revision_title(revision: Revision) -> str:
    """``Tests for shop/price.py, p7/h2 again``"""
    # Without what an earlier revision added, else a title would grow with each revision.
    return f"{_AGAIN.sub('', revision.title)}, {revision.code} again"


def put_revised_aside(store: Store, request: RunRequest, proposal_id: str) -> None:
    """Reject the hunks in whose place the proposal *proposal_id* comes, but those that were decided meanwhile."""
    if request.revises is None:
        return
    earlier = load_proposal(store, request.revises.proposal_id)
    if hunk_ids := [hunk.id for _, hunk in _revised(earlier, request.revises.hunk_id)]:
        put_aside(store, earlier, hunk_ids, f"{proposal_id} took its place.")


def _revised(reviewed: Reviewed, hunk_id: str) -> list[tuple[FileChange, Hunk]]:
    """Return the hunk, or where none is named all that are undecided, but tests of findings: each is on its own."""
    return [
        (change, hunk)
        for change, hunk in reviewed.proposal.hunks()
        if hunk.id in reviewed.undecided and (hunk.id == hunk_id if hunk_id else not hunk.off)
    ]


def _diff(reviewed: Reviewed, found: Collection[tuple[FileChange, Hunk]]) -> str:
    lines: list[str] = []
    for change in reviewed.proposal.files:
        own = [hunk for owner, hunk in found if owner is change]
        lines += file_header(change) * bool(own and len(found) > 1)
        lines += [line for hunk in own for line in (hunk_header(change, hunk), *hunk_diff(change, hunk))]
    return "\n".join(lines)


def _drafted(reviewed: Reviewed, hunk_id: str, read_text: partial[str | None]) -> Edited:
    """Return the files with the hunks in them that can be placed."""
    wanted: list[str] = []
    renames: dict[str, str] = {}
    for change, hunk in _revised(reviewed, hunk_id):
        places = locate(change, reviewed.accepted, read_text(path_now(change, reviewed.accepted)))
        if isinstance(places[hunk.id], Anchor):
            wanted.append(hunk.id)
            renames |= {change.path: change.renamed_to} if hunk.kind is HunkKind.RENAME else {}
    return Edited(texts_with(reviewed, wanted, read_text), (), renames)


def _desk_with(desk: Desk, draft: Edited) -> Desk:
    """Return *desk* with a view of the repository in which *draft* is made."""
    texts = {path: text for path, text in draft.files.items() if text is not None}
    workspace = replace(desk.workspace, buffers={**desk.workspace.buffers, **texts})
    return replace(desk, workspace=workspace, snapshot=desk.snapshot.with_changes(draft.files))


def _may_change(request: RunRequest, reviewed: Reviewed) -> frozenset[str] | None:
    """Return the paths that may be changed; ``None``: all that the Engineer may change."""
    assert request.revises is not None
    if request.revises.hunk_id:
        return frozenset((request.revises.path,))
    if request.role is RoleName.ENGINEER:
        return None
    return frozenset(path_now(change, reviewed.accepted) for change in reviewed.proposal.files)


def _refusal(workspace: Workspace, allowed: frozenset[str] | None, path: str) -> str | None:
    if allowed is not None and path not in allowed:
        return f"Only {', '.join(sorted(allowed))} is to be changed here, and {path} is another file."
    return why_not_changed(workspace, path)


@dataclass(frozen=True)
class _Accepted:
    """The accepted hunks of a file that stand in it."""

    change: FileChange
    accepted: frozenset[str]
    hunks: tuple[Hunk, ...]


def _accepted_lines(reviewed: Reviewed, read_text: partial[str | None]) -> Mapping[str, _Accepted]:
    found: dict[str, _Accepted] = {}
    for change in reviewed.proposal.files:
        path = path_now(change, reviewed.accepted)
        places = locate(change, reviewed.accepted, read_text(path))
        hunks = [hunk for hunk in change.hunks if hunk.id in reviewed.accepted and hunk.kind is HunkKind.TEXT]
        if standing := tuple(hunk for hunk in hunks if isinstance(places[hunk.id], Anchor)):
            found[path] = _Accepted(change, reviewed.accepted, standing)
    return found


def _objection(kept: Mapping[str, _Accepted], path: str, text: str) -> str | None:
    """Return why the new text of *path* may not be had: it would take back what the developer accepted."""
    if (known := kept.get(path)) is None:
        return None
    places = locate(known.change, known.accepted, text)
    lost = [hunk for hunk in known.hunks if not isinstance(places[hunk.id], Anchor)]
    if not lost:
        return None
    lines = " / ".join(line.strip() for hunk in lost for line in hunk.new_lines if line.strip())
    return _PROMPTS["kept"].format(lines=lines[:_MOST_OF_LINES])


def _task(request: RunRequest, revision: Revision, reviewed: Reviewed, *, is_drafted: bool) -> str:
    n_accepted, said = len(reviewed.accepted), "\n".join(f"- {words}" for words in revision.said)
    filled = {"title": revision.title, "path": revision.path, "diff": revision.diff}
    parts = [
        _PROMPTS["hunk" if revision.hunk_id else "proposal"].format(**filled),
        _PROMPTS["drafted"] if is_drafted else "",
        _PROMPTS["stale"].format(why=revision.stale_because) if revision.stale_because else "",
        _PROMPTS["accepted"].format(accepted=f"{n_accepted} change{'s' * (n_accepted > 1)}") if n_accepted else "",
        _PROMPTS["said"].format(said=said) if said else "",
        _PROMPTS["brief"].format(brief=request.brief.strip()) if request.brief.strip() else "",
        _PROMPTS["one file"].format(path=revision.path) if revision.hunk_id else "",
        _PROMPTS["limits"],
    ]
    return "\n\n".join(part for part in parts if part)
