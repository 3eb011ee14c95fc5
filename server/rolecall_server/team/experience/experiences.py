"""Experiences: the attempts of one step of a run, with what was asked for and what the developer made of it."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rolecall_server.craft.edits.replies import prose_of
from rolecall_server.errors import NotFound
from rolecall_server.review.proposals.proposal import HunkState
from rolecall_server.review.proposals.proposal_store import Reviewed, load_all
from rolecall_server.store import RunRow, Store
from rolecall_server.store.attempts import AttemptRow, attempts, effort, forget_attempts
from rolecall_server.team.experience.keeping import ATTEMPT_JSON, KeptAttempt

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Made:
    """One attempt with the reply that it came from."""

    call_id: int
    kept: KeptAttempt
    text: str
    """The reply, secrets covered."""
    logprob: float | None
    """The mean log-probability of its tokens, where the endpoint told it."""

    @property
    def said(self) -> str:
        """Return what the model said before its edits."""
        return prose_of(self.text)


@dataclass(frozen=True)
class Decided:
    """The developer's decisions about a proposal, as far as there are any."""

    accepted: int = 0
    """Hunks."""
    against: frozenset[tuple[str, str]] = frozenset()
    """The hunks that were rejected, each after its proposal."""
    reasons: tuple[str, ...] = ()
    """Why they were rejected, in the developer's words."""

    @property
    def is_against(self) -> bool:
        """Return whether all that was decided was turned down."""
        return bool(self.against) and not self.accepted


@dataclass(frozen=True)
class Experience:
    """The attempts of one step of a run, in order."""

    run: RunRow
    step: str
    role: str
    attempts: tuple[Made, ...]
    n_calls: int
    tokens: int
    at_s: float
    """When the last attempt ended, in seconds since the epoch."""
    proposals: tuple[Reviewed, ...] = ()
    """The proposals of its run."""
    verdict: Decided = Decided()

    @property
    def id(self) -> str:
        """Return its id: ``e41``, where 41 is the call of its first attempt."""
        return f"e{self.attempts[0].call_id}"

    @property
    def best(self) -> Made:
        """Return the attempt that was the best."""
        # Each attempt that helped was better than all before it, so that the last of them is the best.
        return next(one for one in reversed(self.attempts) if one.kept.helped or one is self.attempts[0])

    @property
    def paths(self) -> frozenset[str]:
        """Return the files that any attempt changed, and those of tests that failed."""
        changed = {path for one in self.attempts for path in one.kept.paths}
        return frozenset(changed | {f.test.partition("::")[0] for one in self.attempts for f in one.kept.failures})

    @property
    def worked(self) -> bool:
        """Return whether tests ran on the best attempt, nothing spoke against it, and the developer did not either."""
        return self.best.kept.works and self.best.kept.ran and not self.verdict.is_against

    @property
    def teaches(self) -> bool:
        """Return whether there is anything to learn from it: something worked, failed or was turned down."""
        return self.worked or bool(self.verdict.reasons) or any(self.failed)

    @property
    def failed(self) -> tuple[Made, ...]:
        """Return the attempts against which tests or the parser spoke."""
        return tuple(one for one in self.attempts if not one.kept.works and (one.kept.ran or one.kept.trouble))

    @property
    def outcome(self) -> str:
        """Return in a word or two how it ended."""
        if self.verdict.is_against:
            return "turned down"
        if not self.best.kept.works:
            return "failed"
        if not self.best.kept.ran:
            return "not run"
        return "worked, accepted" if self.verdict.accepted else "worked"


def load_experiences(store: Store, root: Path, *, before: RunRow | None = None) -> tuple[Experience, ...]:
    """Return the experiences in the workspace at *root*, oldest first.

    Where a run is named, those of runs *before* it, judged by what was decided when it began: so what a run is told
    stays the same when it is taken up again.
    """
    until_s = before.started_at_s if before is not None else math.inf
    rows = [row for row in attempts(store, root, before=before.id if before else "") if row.at_s <= until_s]
    proposals: dict[str, list[Reviewed]] = {}
    for reviewed in load_all(store, root) if rows else ():
        proposals.setdefault(reviewed.proposal.run_id, []).append(reviewed)
    runs = {run.id: run for run in store.runs(root)} if rows else {}
    efforts = effort(store, root) if rows else {}
    steps: dict[tuple[str, str], list[AttemptRow]] = {}
    for row in rows:
        steps.setdefault((row.run_id, row.step), []).append(row)
    found: list[Experience] = []
    for key, group in steps.items():
        if made := tuple(_made(group)):
            of_run, last = tuple(proposals.get(key[0], ())), group[-1]
            verdict = _verdict(store, of_run, until_s)
            run, (n_calls, tokens) = runs[key[0]], efforts.get(key, (0, 0))
            found.append(Experience(run, key[1], last.role, made, n_calls, tokens, last.at_s, of_run, verdict))
    return tuple(found)


def find_experience(experiences: Sequence[Experience], what: str) -> tuple[Experience, ...]:
    """Return the experience with the id *what*, or those of the run of that id.

    Raises:
        NotFound: there is none.
    """
    found = tuple(one for one in experiences if what in (one.id, one.run.id))
    if not found:
        raise NotFound(f"There is no experience {what} here.", "`rolecall experience` lists those there are.")
    return found


def forget(store: Store, experiences: Sequence[Experience]) -> int:
    """Forget *experiences*, and return how many attempts that were; the log of their runs stays."""
    return forget_attempts(store, [made.call_id for one in experiences for made in one.attempts])


def _made(rows: Iterable[AttemptRow]) -> Iterator[Made]:
    for row in rows:
        try:
            kept, reply = ATTEMPT_JSON.validate_json(row.body), json.loads(row.reply)
            yield Made(row.call_id, kept, reply["text"], reply.get("logprob"))
        except (ValueError, KeyError):
            logger.warning("A stored attempt of %s cannot be read and is passed over.", row.run_id)


def _verdict(store: Store, proposals: Sequence[Reviewed], until_s: float) -> Decided:
    """Return what the developer had decided of *proposals* at the time *until_s*."""
    latest = {
        (reviewed.proposal.id, row.hunk_id): row
        for reviewed in proposals
        for row in store.decisions(reviewed.proposal.id)
        if row.at_s <= until_s
    }
    accepted = [row for row in latest.values() if row.state == HunkState.ACCEPTED]
    # Where code puts a hunk aside, there is no act of the developer's.
    rejected = {key: row for key, row in latest.items() if row.state == HunkState.REJECTED and row.act_id is not None}
    reasons = tuple(dict.fromkeys(row.reason for row in rejected.values() if row.reason))
    return Decided(len(accepted), frozenset(rejected), reasons)
