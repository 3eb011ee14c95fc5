"""A choice of hunks before it is written: what would be missing with it, by names and by the tests."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from rolecall_analysis import is_test_path
from rolecall_server.cli.deciding.keys import names_in
from rolecall_server.cli.interrupts import run_until_interrupted
from rolecall_server.cli.repository import read_repository
from rolecall_server.cli.screen import Screen, waiting
from rolecall_server.errors import HunkStale, SelectionBreaks
from rolecall_server.review.acceptance import with_needs
from rolecall_server.review.proposals.evidence import Evidence, summarise_tests
from rolecall_server.review.proposals.proposal import HunkState
from rolecall_server.review.proposals.proposal_store import OFFERED, Reviewed, load_proposal
from rolecall_server.review.selection import (
    MAX_TRIES,
    Lack,
    describe_lacks,
    failed_by,
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
from rolecall_server.team.run import first_that_passes, try_selection
from rolecall_server.workspace import Workspace, read_text_or_none


@dataclass(frozen=True)
class Examined:
    """The things known of a choice of hunks before it is written."""

    lacks: tuple[Lack, ...] = ()
    """Missing, or failing, with them in the files and the rest left out."""
    shown: Evidence | None = None
    """The results of the tests with them; none where no test ran with this choice."""


def examine(store: Store, workspace: Workspace, reviewed: Reviewed, wanted: Collection[str]) -> Examined:
    """Return what is known of *wanted* and what they need, in the files without the rest.

    Tests run where some ran for the whole proposal, and these hunks were not tried yet.

    Raises:
        HunkStale: a file changed meanwhile.
    """
    chosen = with_needs(reviewed.proposal, reviewed.states, wanted)
    # Where nothing is left out, what is broken is the whole proposal's, and was told with its evidence.
    if not chosen or {*chosen} >= reviewed.states.keys() - reviewed.accepted:
        return Examined()
    read_text = partial(read_text_or_none, workspace)
    snapshot = read_repository(workspace.root)
    if lacks := lacks_of(reviewed, chosen, snapshot, read_text):
        return Examined(lacks)
    settings, _ = read_settings({}, os.environ)
    repository = Repository(workspace, snapshot, store, settings, os.environ)
    shown = trial_of(reviewed, chosen, read_text)
    if shown is None and reviewed.proposal.evidence.ran and settings.tests.run:
        texts, known_by = texts_with(reviewed, chosen, read_text), selection_print(reviewed, chosen, read_text)
        with waiting(Screen(stderr=True), "running the tests with what you accepted"):
            shown = run_until_interrupted(try_selection(repository, texts, lambda message, fraction: None))
        remember_trial(store, reviewed, chosen, known_by, shown)
    lacks = failing(reviewed, shown)
    if lacks and shown is not None:
        needed = _needed_by_tests(repository, reviewed, chosen, failed_by(reviewed, shown))
        with_them = f"; with {name_hunks(reviewed, needed)} too, nothing of that fails" if needed else ""
        lacks = tuple(Lack(f"{lack.sentence}{with_them}", needed) for lack in lacks)
    return Examined(lacks, shown)


def _needed_by_tests(
    repository: Repository, reviewed: Reviewed, chosen: Collection[str], failed: Collection[str]
) -> tuple[str, ...]:
    """Return hunks that are left out and with which *failed* tests pass: the first that will do, with what it needs, or
    all of them; none where that does not help.
    """
    states = {
        hunk_id: HunkState.PENDING if state is HunkState.REJECTED else state
        for hunk_id, state in reviewed.states.items()
    }
    offered = [
        (change, hunk.id)
        for change, hunk in reviewed.proposal.hunks()
        if states[hunk.id] in OFFERED and hunk.id not in chosen and not hunk.off
    ]
    # What code lacks is seldom in a test.
    ordered = [hunk_id for _, hunk_id in sorted(offered, key=lambda one: is_test_path(one[0].path))]
    tried = (*([hunk_id] for hunk_id in ordered[:MAX_TRIES]), ordered)
    added = dict.fromkeys(with_needs(reviewed.proposal, states, [*chosen, *more]) for more in tried if more)
    # With few needs first; the order among those that need as many stays.
    choices = _placed(repository.workspace, reviewed, sorted(added, key=len))
    with waiting(Screen(stderr=True), "looking for the hunks with which these tests pass"):
        search = first_that_passes(repository, [*choices.values()], failed, lambda message, fraction: None)
        number = run_until_interrupted(search)
    return () if number is None else tuple(hunk_id for hunk_id in [*choices][number] if hunk_id not in chosen)


def _placed(
    workspace: Workspace, reviewed: Reviewed, choices: Iterable[tuple[str, ...]]
) -> dict[tuple[str, ...], dict[str, str | None]]:
    """Return those of *choices* that have a place in the files as they are, with the texts that come of them."""
    texts: dict[tuple[str, ...], dict[str, str | None]] = {}
    for one in choices:
        with suppress(HunkStale):  # nobody has looked for the place of a rejected hunk since
            texts[one] = texts_with(reviewed, one, partial(read_text_or_none, workspace))
    return texts


def refuse_what_breaks(store: Store, workspace: Workspace, reviewed: Reviewed, wanted: Collection[str]) -> None:
    """Pass where nothing would be missing with *wanted*.

    Raises:
        SelectionBreaks: something would.
        HunkStale: a file changed meanwhile.
    """
    lacks = examine(store, workspace, reviewed, wanted).lacks
    if not lacks:
        return
    proposal = reviewed.proposal
    missing = can_be_added(reviewed, lacks)
    either = f"{_way_to_add(store, reviewed, wanted, missing)}, or add" if missing else "Add"
    waits = f"nothing was written, and {proposal.id} waits for `rolecall review`."
    raise SelectionBreaks(f"{describe_lacks(lacks)}.", f"{either} --anyway; {waits}")


def can_be_added(reviewed: Reviewed, lacks: Collection[Lack]) -> tuple[str, ...]:
    """Return the hunks that bring what is missing and can still be placed."""
    missing = dict.fromkeys(hunk_id for lack in lacks for hunk_id in lack.hunks)
    return tuple(hunk_id for hunk_id in missing if reviewed.states[hunk_id] is not HunkState.STALE)


def _way_to_add(store: Store, reviewed: Reviewed, wanted: Collection[str], missing: Collection[str]) -> str:
    """Return the command that accepts *missing* too; before it what has to be offered again."""
    proposal_id = reviewed.proposal.id
    accepted = ",".join(hunk.id for _, hunk in reviewed.proposal.hunks() if hunk.id in {*wanted, *missing})
    way = f"Accept {','.join(missing)} too: `rolecall review {proposal_id} --accept {accepted}`"
    # As stored: what this command rejects itself can be left out of it.
    stored = load_proposal(store, proposal_id).states
    gone = [f"`rolecall undo {proposal_id}/{one}`" for one in missing if stored[one] is HunkState.REJECTED]
    return f"{way} after {', '.join(gone)}" if gone else way


def describe_result(shown: Evidence, most: int = 3) -> str:
    """Return in a line how the tests went with a choice, and which fail with it."""
    failed = [one.test_id for one in shown.new_failures]
    more = f" and {len(failed) - most} more" if len(failed) > most else ""
    named = f"; with it {'fails' if len(failed) == 1 else 'fail'} {', '.join(failed[:most])}{more}" if failed else ""
    return f"Tests with this choice: {summarise_tests(shown)}{named}."


def name_hunks(reviewed: Reviewed, hunk_ids: Collection[str]) -> str:
    """Return *hunk_ids* in the order of their proposal, and many in a row by their ends: ``h1, h6 to h12``."""
    return names_in([hunk.id for _, hunk in reviewed.proposal.hunks()], hunk_ids)
