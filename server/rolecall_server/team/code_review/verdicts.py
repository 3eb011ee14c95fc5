"""A run of the Reviewer alone: what the rules find in code is put before a model, which also reads it for promises that
are not kept; its verdicts are stored.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from rolecall_analysis import Position, Span
from rolecall_analysis.faults import PossibleFault
from rolecall_server.craft.code_review.candidates import ReviewCandidate, ReviewScope, candidates_in_scope
from rolecall_server.craft.code_review.judging import Judgement, Verdict, batches, judge
from rolecall_server.craft.code_review.promises import BrokenPromise
from rolecall_server.craft.code_review.rules import broken_promise
from rolecall_server.errors import NotFound
from rolecall_server.store import Store
from rolecall_server.store.messages import NewMessage
from rolecall_server.team.code_review.reading import ReadCode, read_code
from rolecall_server.team.code_review.refuting import refuted_by_runs
from rolecall_server.team.messages.board import Pool, as_draft, body_of, load_pool
from rolecall_server.team.model_stack import OF_A_READING, conversation
from rolecall_server.team.plan.planning import request_in, request_of
from rolecall_server.team.plan.steps import Step
from rolecall_server.team.request import Desk, RoleName, RunRequest
from rolecall_server.team.room import Room
from rolecall_server.team.run import open_bench
from rolecall_server.workspace import read_for_model

_SHARE = 0.5
"""Of the tokens that a model may be shown, this much is code; the rest is for what it looks up and says."""


@dataclass(frozen=True)
class JudgedCode:
    """The verdicts of a run, by the id of their candidate."""

    model: str
    verdicts: dict[str, Verdict]
    kept_back: tuple[str, ...] = ()
    """The candidates in files that no model may see: nobody judged them."""
    refuted: tuple[str, ...] = ()
    """The candidates that a run of the repository's tests refuted: no model was asked."""
    promises: tuple[BrokenPromise, ...] = ()
    """The promises that the model found not to be kept; their verdicts stand with the others."""
    n_kept: int = 0
    """Promises that the model held for broken, and a run showed to be kept."""
    n_unread: int = 0
    """Pieces of code that the model did not read, as one run has no room for them."""

    @property
    def found_by_reading(self) -> tuple[ReviewCandidate, ...]:
        """Return the promises as candidates, in the order of files and places."""
        ordered = sorted(self.promises, key=lambda one: (one.path, one.line))
        return tuple(map(_as_candidate, ordered))

    @property
    def in_short(self) -> str:
        """Return how many of each judgement there are: ``1 real, 0 not real, 2 unsure; judged by m``."""
        counted = Counter(verdict.judgement for verdict in self.verdicts.values())
        counts = ", ".join(f"{counted[judgement]} {judgement}" for judgement in Judgement)
        kept = f", {len(self.kept_back)} in files that no model may see" if self.kept_back else ""
        n_refuted = len(self.refuted) + self.n_kept
        refuted = f", {n_refuted} refuted by a run" if n_refuted else ""
        parts = f"{self.n_unread} part{'s' * (self.n_unread != 1)}"
        unread = f"; {parts} of the code not read: review fewer files at once" if self.n_unread else ""
        return f"{counts}{kept}{refuted}; judged by {self.model}{unread}"


def _as_candidate(one: BrokenPromise) -> ReviewCandidate:
    at = Position(one.line, 0)
    fault = PossibleFault(one.path, Span(at, at), "", one.scope, one.promise)
    return ReviewCandidate(one.id, broken_promise(), fault, one.test)


_JUDGED_JSON = TypeAdapter(JudgedCode)


def review_request(scope: ReviewScope) -> RunRequest:
    """Return the request to judge what the rules find in *scope*."""
    what = f"what changed since {scope.since[:12]}" if scope.since else ", ".join(scope.paths)
    path = scope.paths[0] if len(scope.paths) == 1 else ""
    return RunRequest(RoleName.REVIEWER, path, brief=f"Review {what}", review=scope)


async def judge_code(step: Step, room: Room, pool: Pool) -> tuple[NewMessage, ...]:
    """Judge what the rules find in the code that the run is about, and return the message with the verdicts.

    Raises:
        RolecallError: the model failed, or the budget is spent. What was answered is not asked again.
    """
    brief = step.message("brief")
    assert brief is not None
    scope = request_in(brief).review
    assert scope is not None
    desk, repository = room.desk(step, pool), room.repository
    assert desk.client is not None
    root = repository.workspace.root
    candidates, _ = await asyncio.to_thread(candidates_in_scope, root, repository.snapshot, scope)
    refuted = await refuted_by_runs(repository, candidates, desk.report)
    left = tuple(one for one in candidates if one.id not in refuted)
    # A review changes nothing, so its run has no place to try changes; lookups and the tests of promises need one.
    async with open_bench(repository, desk.report) as bench:
        seated = replace(desk, bench=bench)
        verdicts = await _judged(seated, left)
        reader = replace(seated, tool_limits=OF_A_READING)
        read = await read_code(reader, scope, lambda: conversation(reader)) if scope.reads else ReadCode()
    kept_back = tuple(one.id for one in left if one.id not in verdicts)
    verdicts |= {one.id: verdict for one, verdict in read.verdicts.items()}
    judged = JudgedCode(
        desk.client.label, verdicts, kept_back, refuted, tuple(read.verdicts), read.n_kept, read.n_unread
    )
    return (as_draft("verdicts", _JUDGED_JSON.dump_python(judged, mode="json"), step.subject),)


async def _judged(desk: Desk, candidates: tuple[ReviewCandidate, ...]) -> dict[str, Verdict]:
    paths = dict.fromkeys(one.fault.path for one in candidates)
    shown = {path: text for path in paths if (text := read_for_model(desk.workspace, path)) is not None}
    most_tokens = int(_SHARE * desk.settings.model.context_tokens)
    verdicts: dict[str, Verdict] = {}
    parts = await asyncio.to_thread(batches, desk.snapshot, shown, candidates, most_tokens)
    for number, batch in enumerate(parts):
        desk.report(f"judging {batch.path} ({number + 1} of {len(parts)})", number / len(parts))
        verdicts |= await judge(batch, lambda: conversation(desk))
    return verdicts


def judged_in(store: Store, run_id: str) -> JudgedCode:
    """Return what a run judged.

    Raises:
        NotFound: it came to no verdict.
    """
    message = load_pool(store, run_id).latest("verdicts")
    if message is None:
        raise NotFound(f"{run_id} has no verdicts.", f"`rolecall resume {run_id}` goes on with it.")
    return _JUDGED_JSON.validate_python(body_of(message))


def promises_found(store: Store, root: Path, path: str) -> tuple[ReviewCandidate, ...]:
    """Return the promises that the latest review which read *path* found not to be kept there."""
    for run in reversed(store.runs(root)):
        pool = load_pool(store, run.id) if run.role == RoleName.REVIEWER else None
        message, request = (pool.latest("verdicts"), request_of(pool)) if pool is not None else (None, None)
        if message is None or request is None or request.review is None or not request.review.reads:
            continue
        judged = _JUDGED_JSON.validate_python(body_of(message))
        found = tuple(one for one in judged.found_by_reading if one.fault.path == path)
        # A review of just this file that found nothing counts, too: what earlier ones found is mended by then.
        if found or path in request.review.paths:
            return found
    return ()
