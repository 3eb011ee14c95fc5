"""Runs of one role in the process of the test."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall_server.errors import NoModelConfigured, RolecallError
from rolecall_server.model import Chosen
from rolecall_server.review.proposals.proposal import Proposal
from rolecall_server.review.proposals.proposal_store import load_proposal
from rolecall_server.team.engine.scheduler import carry_out_run
from rolecall_server.team.plan.planning import begin_run
from rolecall_server.team.request import Repository, RunRequest
from rolecall_server.team.room import Developer


@dataclass(frozen=True)
class Finished:
    """What came of a run."""

    proposal: Proposal
    error: RolecallError | None
    """What ended it early."""


async def ask_role(request: RunRequest, repository: Repository, model: Chosen | NoModelConfigured) -> Finished:
    """Have one role do what *request* asks for.

    Raises:
        RolecallError: nothing came of it.
    """
    run_id = begin_run(repository.store, repository.workspace.root, request)
    ended = await carry_out_run(run_id, repository, model, Developer(lambda *_: None))
    if ended.error is not None and not ended.proposal_id:
        raise ended.error
    return Finished(load_proposal(repository.store, ended.proposal_id).proposal, ended.error)
