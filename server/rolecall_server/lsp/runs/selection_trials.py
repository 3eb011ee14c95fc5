"""Trying what is left of a proposal once some of it was turned down or edited: its tests run, and nobody waits."""

from __future__ import annotations

import asyncio
from functools import partial

from lsprotocol import types

from rolecall_server.errors import HunkStale
from rolecall_server.lsp.proposals.hunks import reload_proposal
from rolecall_server.lsp.proposals.refreshing import tell_review_changed
from rolecall_server.lsp.runs.progress import Progress
from rolecall_server.lsp.runs.running import repository_of
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder
from rolecall_server.review.proposals.proposal import HunkState
from rolecall_server.review.proposals.proposal_store import Reviewed, load_proposal
from rolecall_server.review.selection import (
    describe_lacks,
    failing,
    remember_trial,
    selection_print,
    texts_with,
    trial_of,
)
from rolecall_server.team.run import try_selection

_QUIET_S = 1.0
"""Tests are run once nobody has decided for so long: who goes from hunk to hunk has each decision shown first."""


def try_what_is_left(ls: RolecallServer, folder: Folder, proposal_id: str) -> None:
    """Have the tests run on a proposal as it was edited and without what was turned down, in place of earlier trials.

    Nothing runs where tests are off, or the workspace is not trusted, or where none ran for the whole proposal.
    """
    key = f"{proposal_id}-left"
    if (earlier := ls.session.runs.pop(key, None)) is not None:
        earlier.cancel()
    reviewed = load_proposal(ls.session.store, proposal_id)
    is_other = HunkState.REJECTED in reviewed.states.values() or bool(reviewed.edited)
    is_part = is_other and bool(reviewed.offered)
    may_run = ls.session.settings.tests.run and not ls.session.client.restricted
    if not (may_run and reviewed.proposal.evidence.ran and is_part):
        return
    task = asyncio.get_running_loop().create_task(_try(ls, folder, reviewed, key))
    ls.session.runs[key] = task
    # A later trial may have taken the place of this one under the same key.
    task.add_done_callback(lambda _: ls.session.runs.pop(key, None) if ls.session.runs.get(key) is task else None)


async def _try(ls: RolecallServer, folder: Folder, reviewed: Reviewed, key: str) -> None:
    progress = Progress(ls, f"Rolecall: what is left of {reviewed.proposal.id}", key)
    wanted, read_text = reviewed.offered, partial(ls.session.read_text, folder)
    try:
        await asyncio.sleep(_QUIET_S)
        if trial_of(reviewed, wanted, read_text) is not None:
            return
        await progress.begin()
        repository = await repository_of(ls, folder)
        texts, known_by = texts_with(reviewed, wanted, read_text), selection_print(reviewed, wanted, read_text)
        shown = await try_selection(repository, texts, progress.report)
        remember_trial(ls.session.store, reviewed, wanted, known_by, shown)
        reload_proposal(ls, folder, reviewed.proposal.id)
        tell_review_changed(ls)
        if lacks := failing(reviewed, shown):
            ls.tell(f"{reviewed.proposal.id}: {describe_lacks(lacks)}.", types.MessageType.Warning)
    except HunkStale:
        return  # somebody typed; the next decision is tried anew
    except Exception as error:  # noqa: BLE001 - the boundary of background work: whatever it was, it is told
        ls.tell_error(error)
    finally:
        progress.end("done")
