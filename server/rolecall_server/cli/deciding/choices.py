"""A choice of hunks before it is written: what would be missing with it, by names and by the tests."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import partial

from rolecall_server.cli.interrupts import run_until_interrupted
from rolecall_server.cli.repository import read_repository
from rolecall_server.cli.screen import Screen, waiting
from rolecall_server.errors import SelectionBreaks
from rolecall_server.review.acceptance import with_needs
from rolecall_server.review.proposals.proposal_store import Reviewed
from rolecall_server.review.selection import (
    Lack,
    describe_lacks,
    failing,
    lacks_of,
    remember_trial,
    selection_print,
    texts_with,
    trial_of,
)
from rolecall_server.settings import read_settings
from rolecall_server.store import Store
from rolecall_server.team.request import Repository
from rolecall_server.team.run import try_selection
from rolecall_server.workspace import Workspace, read_text_or_none


def find_lacks(store: Store, workspace: Workspace, reviewed: Reviewed, wanted: Collection[str]) -> tuple[Lack, ...]:
    """Return what would be missing, or fail, with *wanted* and what they need in the files and the rest left out.

    Tests run where some ran for the whole proposal, and these hunks were not tried yet.

    Raises:
        HunkStale: a file changed meanwhile.
    """
    chosen = with_needs(reviewed.proposal, reviewed.states, wanted)
    # Where nothing is left out, what is broken is the whole proposal's, and was told with its evidence.
    if not chosen or {*chosen} >= reviewed.states.keys() - reviewed.accepted:
        return ()
    read_text = partial(read_text_or_none, workspace)
    snapshot = read_repository(workspace.root)
    if lacks := lacks_of(reviewed, chosen, snapshot, read_text):
        return lacks
    shown = trial_of(reviewed, chosen, read_text)
    settings, _ = read_settings({}, os.environ)
    if shown is None and reviewed.proposal.evidence.ran and settings.tests.run:
        texts, known_by = texts_with(reviewed, chosen, read_text), selection_print(reviewed, chosen, read_text)
        repository = Repository(workspace, snapshot, store, settings, os.environ)
        with waiting(Screen(stderr=True), "running the tests with what you accepted"):
            shown = run_until_interrupted(try_selection(repository, texts, lambda message, fraction: None))
        remember_trial(store, reviewed, chosen, known_by, shown)
    return failing(reviewed, shown)


def refuse_what_breaks(store: Store, workspace: Workspace, reviewed: Reviewed, wanted: Collection[str]) -> None:
    """Pass where nothing would be missing with *wanted*.

    Raises:
        SelectionBreaks: something would.
        HunkStale: a file changed meanwhile.
    """
    if lacks := find_lacks(store, workspace, reviewed, wanted):
        missing = ",".join(dict.fromkeys(hunk_id for lack in lacks for hunk_id in lack.hunks))
        either = f"Accept {missing} too, or add" if missing else "Add"
        waits = f"nothing was written, and {reviewed.proposal.id} waits for `rolecall review`."
        raise SelectionBreaks(f"{describe_lacks(lacks)}.", f"{either} --anyway; {waits}")
