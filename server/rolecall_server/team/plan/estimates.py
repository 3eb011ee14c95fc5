"""What a run may take, reckoned before it begins: calls, tokens and money."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from rolecall_server.model import estimate_tokens
from rolecall_server.settings import Settings
from rolecall_server.store import Store
from rolecall_server.store.usage import NANOS, Taken, taken
from rolecall_server.team.documents import Kind
from rolecall_server.team.messages.board import TEAM
from rolecall_server.team.model_calls.prices import prices_of
from rolecall_server.team.plan.briefs import is_small
from rolecall_server.team.roles.declarations import Duty, Role, Verb

_N_REMEMBERED = 10
"""The latest pieces of work of a role by which the next is estimated."""
_SHOWN_TOKENS = 16_000
"""Of the repository, in the runs that `_TAKES` is from; who is shown less is told less."""
_TAKES: Mapping[tuple[str, str], Taken] = {
    ("product_manager", Verb.WRITE): Taken(1, 12_000, 2_800),
    ("architect", Verb.WRITE): Taken(1, 14_500, 2_500),
    ("project_manager", Verb.WRITE): Taken(1, 4_800, 1_500),
    ("engineer", Verb.IMPLEMENT): Taken(1, 16_000, 2_100),
    ("engineer", Verb.INTEGRATE): Taken(1, 14_000, 1_000),
    ("engineer", Verb.ANSWER): Taken(0.5, 5_500, 100),
    ("engineer", Verb.ALONE): Taken(1, 14_000, 3_300),
    ("engineer", Verb.DOUBT): Taken(1, 14_000, 1_000),
    ("qa_engineer", Verb.TEST): Taken(1, 11_500, 4_300),
    ("reviewer", Verb.WRITE): Taken(1, 14_500, 700),
}
"""The calls and tokens that a piece of work of a role takes, before the store has any.

Source: the means of earlier runs in docs/team.md; one review of two is answered by a call. No change had to be repaired
in them, which is work of the kind ``integrate``: where several tasks are joined it is assumed. `test_planning.py` holds
it against the calls of `tests/e2e/team_recordings`.
"""
_REPLY_SHARE, _WORDS_OF_A_REPLY, _MOST_REPLIES = 0.5, 310, 1.5
"""Replies grow with the brief: half of what stands in the table, and as much again for each 310 words, up to 1.5 times.

Source: six runs of the team on briefs of 36 to 227 words received 4,379 to 20,421 tokens, one on a brief of 387 words
21,977 (docs/team.md); so reckoned each lies within a factor of two.
"""
_OTHER_TAKES = Taken(1, 12_000, 2_500)
_ASKS_A_MODEL = (Verb.DOUBT, Verb.WRITE, Verb.IMPLEMENT, Verb.TEST, Verb.INTEGRATE, Verb.ANSWER)


@dataclass(frozen=True)
class Estimate:
    """An estimate of what a run may take. Tasks are not known yet: where somebody cuts them, two are assumed of a large
    brief.
    """

    calls: int
    tokens_sent: int
    tokens_received: int
    cost: float | None
    """In the currency of the prices in the settings; ``None`` where they name none."""
    questions: int = 0
    """The number of questions that the roles may ask each other at most, each of which takes two calls more."""

    def __str__(self) -> str:
        cost = f", about {self.cost:.2f} by the prices you set" if self.cost is not None else ""
        asked = f"; the roles may ask each other up to {self.questions} questions" if self.questions else ""
        calls = f"{self.calls} call{'s' if self.calls != 1 else ''}"
        tokens = f"{self.tokens_sent:,} tokens sent and {self.tokens_received:,} received"
        return f"about {calls}, {tokens}{cost}{asked}"

    @property
    def in_short(self) -> str:
        """``5 calls, 68,000 tokens``: to compare ways by."""
        cost = f", {self.cost:.2f}" if self.cost is not None else ""
        calls = f"{self.calls} call{'s' if self.calls != 1 else ''}"
        return f"{calls}, {round(self.tokens_sent + self.tokens_received, -3):,} tokens{cost}"


def estimate_run(roles: Iterable[Role], brief: str, settings: Settings, store: Store | None = None) -> Estimate:
    """Estimate what a run of *roles* may take, piece of work by piece of work."""
    roles = tuple(role for role in roles if role.name != TEAM)
    is_cut = any(role.publishes(Kind.TASK_LIST) for role in roles)
    n_tasks = 2 if is_cut and not is_small(brief) else 1
    n_times = {Verb.IMPLEMENT: n_tasks, Verb.INTEGRATE: n_tasks - 1}
    n_times[Verb.ANSWER] = int(any(role.publishes(Kind.REVIEW) for role in roles))
    calls = sent = received = nanos = 0.0
    questions = 0
    for role, duty in [(each, duty) for each in roles for duty in each.duty if duty.does in _ASKS_A_MODEL]:
        n = n_times.get(duty.does, 1)
        work = _expected(role.name, duty, brief, settings, store, is_alone=len(roles) == 1)
        asked, told = n * (work.sent + estimate_tokens(brief)), n * work.received
        calls, sent, received = calls + n * work.calls, sent + asked, received + told
        nanos += prices_of(settings.for_role(role.name).model).cost(round(asked), round(told))
        if any(other.publishes(kind) for other in roles if other is not role for kind in duty.asks):
            questions += n
    return Estimate(math.ceil(calls), round(sent), round(received), nanos / NANOS if nanos else None, questions)


def _expected(role: str, duty: Duty, brief: str, settings: Settings, store: Store | None, *, is_alone: bool) -> Taken:
    """Return what a piece of work takes: the mean of what was stored of its kind, else what stands in the table."""
    kind = Verb.ALONE if is_alone else duty.does
    past = taken(store, role, kind, _N_REMEMBERED) if store is not None else ()
    if past:
        n = len(past)
        means = (sum(one.calls for one in past), sum(one.sent for one in past), sum(one.received for one in past))
        return Taken(*(total / n for total in means))
    usual = _TAKES.get((role, kind)) or _TAKES.get((role, duty.does), _OTHER_TAKES)
    share = duty.share * min(1.0, settings.model.context_tokens / _SHOWN_TOKENS) if _sees_files(duty) else 1.0
    growth = min(_MOST_REPLIES, _REPLY_SHARE + len(brief.split()) / _WORDS_OF_A_REPLY)
    return replace(usual, sent=usual.sent * share, received=usual.received * growth)


def _sees_files(duty: Duty) -> bool:
    """Return whether the role sees files of the repository for *duty*; documents of other kinds are written from
    documents.
    """
    by_files = (Kind.REQUIREMENTS, Kind.DESIGN)
    return duty.does in (Verb.DOUBT, Verb.IMPLEMENT, Verb.TEST) or any(kind in by_files for kind in duty.publishes)
