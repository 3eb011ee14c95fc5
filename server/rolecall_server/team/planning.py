"""Before a run: whom a brief needs, and what that may cost. Code decides, the developer may decide otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rolecall_server.errors import BriefMissing, DocumentUnusable, RequestRefused
from rolecall_server.model import estimate_tokens
from rolecall_server.settings import Settings
from rolecall_server.store import Store
from rolecall_server.store.usage import NANOS
from rolecall_server.team.declared import Duty, Role, Verb, roster_of
from rolecall_server.team.documents import Kind, Understanding
from rolecall_server.team.pool import DEVELOPER, TEAM, Pool, as_draft, body_of, load_pool, publish
from rolecall_server.team.prices import prices_of

LEAN = ("engineer",)
EVERYBODY = ("all",)
"""What stands for all roles there are."""
_SMALL_WORDS = 300
_SMALL_WISHES = 8
"""So far the Engineer alone is chosen.

Source: three briefs of 36, 105 and 227 words, with two to six wishes, on three libraries: alone the Engineer met what
the whole team met, for a fifth of its tokens (docs/team.md). What is larger was not measured.
"""
_SHARE_SHOWN = 0.75
"""Of the tokens that a role may be shown, how many it is: a third to all of them in the runs in docs/team.md."""
_SHORT_WORDS = 60
_SHORT_WISHES = 2
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+\S", re.MULTILINE)
_SENTENCE = re.compile(r"[.!?。\uff01\uff1f](?:\s|$)|\n\s*\n")
_REPLY_TOKENS = {Verb.WRITE: 2000, Verb.IMPLEMENT: 3000, Verb.TEST: 4000, Verb.INTEGRATE: 2000, Verb.ANSWER: 500}
"""What a reply takes, roughly, by what is done; verbs that are not here ask no model.

Source: the runs in docs/team.md. Documents took 570 to 3,090 tokens, edits 1,150 to 2,820 (for an Engineer alone, who
writes the tests too, 1,740 to 6,310), tests 2,940 to 6,960, an answer to a review 170. No change had to be repaired:
that is assumed.
"""


@dataclass(frozen=True)
class Estimate:
    """What a run may take. Tasks are not known yet: two in one sprint are assumed where somebody cuts them."""

    calls: int
    tokens_sent: int
    tokens_received: int
    cost: float | None
    """In the currency of the prices in the settings; ``None`` where they name none."""
    questions: int = 0
    """How many questions the roles may ask each other at most, each of which takes two calls more."""

    def __str__(self) -> str:
        cost = f", about {self.cost:.2f} by the prices you set" if self.cost is not None else ""
        asked = f"; the roles may ask each other up to {self.questions} questions" if self.questions else ""
        calls = f"{self.calls} call{'s' if self.calls != 1 else ''}"
        tokens = f"{self.tokens_sent:,} tokens sent and {self.tokens_received:,} received"
        return f"about {calls}, {tokens}{cost}{asked}"


@dataclass(frozen=True)
class Plan:
    """Who works on a brief, and why these."""

    roles: tuple[str, ...]
    why: str
    estimate: Estimate

    @property
    def is_lean(self) -> bool:
        """Whether one role does it alone."""
        return self.roles == LEAN


def plan_for(brief: str, roles: Mapping[str, Role], settings: Settings, wanted: Iterable[str] = ()) -> Plan:
    """Who works on *brief*: those *wanted* (`EVERYBODY`: all), else the Engineer alone where it is small, else all.

    Raises:
        BriefMissing: there is none.
        RequestRefused: it is longer than what a role may be shown.
    """
    text = brief.strip()
    if not text:
        raise BriefMissing("The team needs a brief.", "Say in a sentence or a page what you want.")
    if (tokens := estimate_tokens(text)) > settings.model.context_tokens:
        raise RequestRefused(
            f"The brief takes about {tokens:,} tokens; a role may be shown {settings.model.context_tokens:,}.",
            "Raise `rolecall.model.contextTokens`, or give the team one part of the work at a time.",
        )
    n_words, n_wishes = len(text.split()), count_wishes(text)
    size = f"{n_words} word{'s' if n_words != 1 else ''}, {n_wishes} wish{'es' if n_wishes != 1 else ''}"
    if chosen := tuple(dict.fromkeys(wanted)):
        chosen = tuple(roles) if chosen == EVERYBODY else chosen
        why = f"You chose them ({size})."
    elif is_small(text):
        chosen, why = LEAN, f"The brief is small ({size}): straight to the Engineer."
    else:
        chosen, why = tuple(roles), f"The brief is large ({size}): the whole team."
    roster = roster_of(roles, chosen)
    return Plan(tuple(name for name in roster if name != TEAM), why, estimate_run(roster.values(), tokens, settings))


def is_small(brief: str) -> bool:
    """Whether one role does well to do *brief* alone, without a document."""
    return len(brief.split()) <= _SMALL_WORDS and count_wishes(brief) <= _SMALL_WISHES


def is_short(brief: str) -> bool:
    """Whether *brief* is a sentence or two, of which no chart shows more than they say."""
    return len(brief.split()) <= _SHORT_WORDS and count_wishes(brief) <= _SHORT_WISHES


def count_wishes(brief: str) -> int:
    """How many things a brief asks for, by its list items, else by its sentences."""
    items = len(_ITEM.findall(brief))
    return items or max(1, len([part for part in _SENTENCE.split(brief.strip()) if part.strip()]))


def estimate_run(roles: Iterable[Role], brief_tokens: int, settings: Settings) -> Estimate:
    """What a run of *roles* may take: each sees its context and what was written before it."""
    roles = tuple(roles)
    is_cut = any(role.publishes(Kind.TASK_LIST) for role in roles if role.name != TEAM)
    n_calls = {Verb.WRITE: 1, Verb.IMPLEMENT: 2 if is_cut else 1, Verb.TEST: 1, Verb.INTEGRATE: int(is_cut)}
    n_calls[Verb.ANSWER] = int(any(role.publishes(Kind.REVIEW) for role in roles))
    calls = sent = received = nanos = questions = 0
    written = brief_tokens
    for role, duty in [(each, duty) for each in roles for duty in each.duty]:
        verb = duty.does
        if (n := n_calls.get(verb, 0)) == 0:
            continue
        if any(other.publishes(kind) for other in roles if other is not role for kind in duty.asks):
            questions += n
        shown = int(settings.model.context_tokens * _SHARE_SHOWN) if _sees_files(duty) else 0
        asked, told = n * (shown + written), n * _REPLY_TOKENS[verb]
        calls, sent, received = calls + n, sent + asked, received + told
        nanos += prices_of(settings.for_role(role.name).model).cost(asked, told)
        written += _REPLY_TOKENS[verb] // 2
    return Estimate(calls, sent, received, nanos / NANOS if nanos else None, questions)


def _sees_files(duty: Duty) -> bool:
    """Whether files of the repository are shown for it; other documents are written from documents."""
    by_files = (Kind.REQUIREMENTS, Kind.DESIGN)
    return duty.does in (Verb.IMPLEMENT, Verb.TEST) or any(kind in by_files for kind in duty.publishes)


@dataclass(frozen=True)
class Brief:
    """What the developer asks for, and where."""

    text: str
    path: str = ""
    """The file it was given on; empty for the repository."""
    symbol: str = ""


def begin_run(store: Store, root: Path, brief: Brief, plan: Plan, understanding: Understanding | None = None) -> str:
    """The id of a new run with its first messages: the plan, the brief, what is understood of the repository."""
    run_id = store.add_run(root, TEAM, brief.path, brief.text)
    publish(store, run_id, TEAM, as_draft("plan", {"roles": plan.roles, "why": plan.why, **asdict(plan.estimate)}))
    if understanding is not None:
        publish(store, run_id, TEAM, as_draft("understanding", understanding))
    publish(store, run_id, DEVELOPER, as_draft("brief", asdict(brief)))
    return run_id


def restore_brief(store: Store, run_id: str) -> None:
    """Publish the brief of a run whose process was killed before it could."""
    if load_pool(store, run_id).latest("brief") is None:
        row = store.run(run_id)
        publish(store, run_id, DEVELOPER, as_draft("brief", asdict(Brief(row.brief, row.path))))


def change_plan(store: Store, pool: Pool, roles: Iterable[str], why: str) -> None:
    """Have other roles go on with a run."""
    publish(store, pool.run_id, DEVELOPER, as_draft("plan", {**_plan(pool), "roles": list(roles), "why": why}))


def planned_roles(pool: Pool) -> tuple[str, ...]:
    """The roles of a run, by its plan.

    Raises:
        DocumentUnusable: it is no run of the team.
    """
    return tuple(_plan(pool)["roles"])


def _plan(pool: Pool) -> dict[str, Any]:
    message = pool.latest("plan")
    if message is None:
        raise DocumentUnusable(
            f"{pool.run_id} is no run of the team.", "`rolecall log` lists the runs; give its command again."
        )
    return body_of(message)
