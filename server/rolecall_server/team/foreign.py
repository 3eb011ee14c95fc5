"""An edit that somebody else made, another agent say, as a proposal like any other: checked, tried, decided on."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rolecall_server.context.redaction import Covers
from rolecall_server.craft.installed import checking
from rolecall_server.craft.trial import evidence
from rolecall_server.errors import FileRefused, PatchRefused
from rolecall_server.review.checks.hunk_needs import link_hunks
from rolecall_server.review.checks.touched import with_touched
from rolecall_server.review.guards.edit_paths import why_not_changed
from rolecall_server.review.proposals.changes import changes_of
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.proposal import FileChange, Proposal
from rolecall_server.review.proposals.proposal_store import save_proposal, supersede_earlier
from rolecall_server.team.request import Desk, Report, Repository
from rolecall_server.team.roles.declarations import known_roles
from rolecall_server.team.run import open_bench
from rolecall_server.team.test_quality.trials import Trials, red_and_green
from rolecall_server.workspace import MAX_FILE_BYTES, Workspace, read_text_or_none

GUEST = "guest"
"""The role of the runs that hold such edits."""
_NAME = re.compile(r"[\w][\w .+-]{0,59}")
_MOST_FILES = 500
_MOST_WORDS = 4_000


@dataclass(frozen=True)
class ForeignEdit:
    """Files as somebody else would have them."""

    origin: str
    """The name of who made it: ``GitHub Copilot``."""
    title: str
    rationale: str
    files: Mapping[str, str | None]
    """Whole texts by path; ``None`` for one that goes."""
    renames: Mapping[str, str]
    """New paths by old ones."""


@dataclass(frozen=True)
class Proposed:
    """The result of such an edit."""

    proposal: Proposal
    covers: Covers
    """Covers what its tests told, before whoever made the edit is told of it."""


def base_text(workspace: Workspace, path: str) -> str | None:
    """Return the text of a file that an edit may change; ``None`` where there is none."""
    return None if why_not_changed(workspace, path) is not None else read_text_or_none(workspace, path)


def check_foreign(repository: Repository, edit: ForeignEdit) -> ForeignEdit:
    """Return *edit* without the files that it leaves as they are.

    Raises:
        PatchRefused: it names nobody, changes nothing, or too much at once.
        FileRefused: it names a file that no edit may name.
    """
    workspace = repository.workspace
    if len(edit.files) > _MOST_FILES or sum(len(text or "") for text in edit.files.values()) > MAX_FILE_BYTES:
        raise PatchRefused("That is more than anybody can decide on at once.", "Propose it in parts.")
    if edit.origin.casefold() in {role.title.casefold() for role in known_roles(workspace, repository.store).values()}:
        raise PatchRefused(f"{edit.origin} is one of Rolecall's own roles.", "Name who made the edit as `origin`.")
    if _NAME.fullmatch(edit.origin) is None:
        raise PatchRefused(f"{edit.origin[:60]!r} is no name of who made the edit.", "Give it as `origin`, in letters.")
    for path in (*edit.files, *edit.renames, *edit.renames.values()):
        if (why := why_not_changed(workspace, path)) is not None:
            raise FileRefused(f"{path}: {why}", "Leave it out of the edit.")
    texts = {path: text for path, text in edit.files.items() if text != read_text_or_none(workspace, path)}
    if not texts:
        raise PatchRefused("With that edit every file stays as it is.", "Nothing has to be decided.")
    return replace(edit, title=" ".join(edit.title.split())[:200] or "an edit", files=texts)


async def propose_foreign(repository: Repository, run_id: str, edit: ForeignEdit, report: Report) -> Proposed:
    """Check *edit* as a role's own, with the tests that it concerns, store it as a proposal, and return that.

    Who made it may be a model, and what its tests tell goes back to it: they run without what is kept from models.

    Raises:
        PatchRefused: nothing is left to decide on.
    """
    files = await asyncio.to_thread(_changes, repository, edit)
    if not files:
        raise PatchRefused("That edit changes nothing but the ends of lines.", "Nothing has to be decided.")
    shown, covers = await _try(repository, edit, report)
    proposal = Proposal(
        id=repository.store.reserve_proposal(run_id),
        run_id=run_id,
        role=edit.origin,
        title=edit.title,
        rationale=edit.rationale[:_MOST_WORDS],
        origin=next(iter(edit.files)),
        files=files,
        evidence=shown,
    )
    save_proposal(repository.store, proposal)
    supersede_earlier(repository.store, repository.workspace.root, proposal)
    return Proposed(proposal, covers)


def _changes(repository: Repository, edit: ForeignEdit) -> tuple[FileChange, ...]:
    changes = changes_of(repository.workspace, edit.files, edit.renames)
    return with_touched(link_hunks(changes, repository.snapshot), repository.snapshot)


async def _try(repository: Repository, edit: ForeignEdit, report: Report) -> tuple[Evidence, Covers]:
    async with open_bench(repository, report) as bench:
        check = await checking(bench, repository.snapshot, repository.workspace.root)
        findings = await asyncio.to_thread(check, edit.files)
        desk = Desk(repository.workspace, repository.snapshot, repository.settings, None, bench, report)
        trials = Trials(desk, ())
        report("running the tests", None)
        after = await trials.of_change(edit.files)
        shown = evidence(
            trials.before, after, problems=(), findings=findings, repairs=0, model=edit.origin, changed=edit.files
        )
        shown = await red_and_green(desk, shown, edit.files)
        return replace(shown, notes=(*shown.notes, *bench.kept_back.notes)), bench.kept_back.covers()
