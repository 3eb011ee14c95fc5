"""Tests that run on texts that are about to be written."""

from __future__ import annotations

import os
from collections.abc import Mapping

from rolecall_analysis import Snapshot
from rolecall_server.cli.interrupts import run_until_interrupted
from rolecall_server.cli.screen import Screen, waiting
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.settings import read_settings
from rolecall_server.store import Store
from rolecall_server.team.request import Repository
from rolecall_server.team.run import try_selection
from rolecall_server.workspace import Workspace


def try_texts(
    store: Store, workspace: Workspace, snapshot: Snapshot, texts: Mapping[str, str | None], doing: str
) -> Evidence | None:
    """Return what the tests show of *texts* in the repository; ``None`` where the settings say that none may run."""
    settings, _ = read_settings({}, os.environ)
    if not settings.tests.run:
        return None
    repository = Repository(workspace, snapshot, store, settings, os.environ)
    with waiting(Screen(stderr=True), doing):
        return run_until_interrupted(try_selection(repository, texts, lambda message, fraction: None))
