"""Before a run: whom a brief needs, and what that may cost. Code decides, the developer may decide otherwise."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from rolecall_server.context.redaction import Covers
from rolecall_server.errors import BriefMissing, DocumentUnusable, RequestRefused
from rolecall_server.model import estimate_tokens
from rolecall_server.settings import Settings
from rolecall_server.store import Store
from rolecall_server.store.messages import MessageRow, NewMessage
from rolecall_server.store.usage import NANOS, Taken, taken
from rolecall_server.team.documents import Kind
from rolecall_server.team.messages.board import DEVELOPER, TEAM, Pool, as_draft, body_of, load_pool, publish
from rolecall_server.team.model_calls.prices import prices_of
from rolecall_server.team.request import TITLES, RunRequest
from rolecall_server.team.roles.declarations import Duty, Role, RunWay, Verb, doubting, role_alone, roles_on, roster_of

LEAN = ("engineer",)
_INDEPENDENT = frozenset({"engineer", "qa_engineer"})
"""Whoever works with these two and nobody who designs or allots works in the middle way: its tests see signatures."""
EVERYBODY = ("all",)
"""The word that stands for all roles there are."""
_SMALL_WORDS = 300
_SMALL_WISHES = 8
"""So far the Engineer alone is chosen.

Source: three briefs of 36, 105 and 227 words, with two to six wishes, on three libraries: alone the Engineer met what
the whole team met, for a fifth of its tokens (docs/team.md). What is larger was not measured.
"""
_SPRINT_WORDS = 5 * _SMALL_WORDS
_SPRINT_WISHES = 5 * _SMALL_WISHES
"""So far one sprint is enough, and so the middle way: a sprint has about five tasks, each at most a page."""
_CALLED = {
    RunWay.ENGINEER: "the Engineer alone",
    RunWay.MIDDLE: "the middle way",
    RunWay.TEAM: "the whole team",
}
_REASONS = {
    RunWay.ENGINEER: "The brief is small ({size}): straight to the Engineer.",
    RunWay.MIDDLE: "The brief is beyond a page ({size}): the middle way: requirements, independent tests, review.",
    RunWay.TEAM: "The brief is more than one sprint ({size}): the whole team.",
}
DOUBTED = frozenset({RunWay.ENGINEER, RunWay.MIDDLE})
"""The ways of runs whose brief is small enough for short solutions."""
_DOUBT = "First short solutions of it are compared, and you are asked where they differ (rolecall.team.doubt)."
_SHORT_WORDS = 60
_SHORT_WISHES = 2
_TITLE_CHARACTERS = 80
_MOST_OF_COMPLAINT = 2_000
"""Characters; a role is shown far less of what another tool says of a line."""
_MOST_OF_LOG = 60_000
"""Characters of the end of a log, which says how it failed."""
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t].*)?$|^[^\n]+\n {0,3}(?:=+|-{2,})[ \t]*$", re.MULTILINE)
_MARKS = re.compile(r"^\s*(?:[-*+•>]|\d+[.)])\s+")
_ITEM = re.compile(r"^[ \t]*+(?:[-*+•]|\d++[.)])[ \t]++\S", re.MULTILINE)
_SENTENCE = re.compile(r"[.!?。\uff01\uff1f](?:\s|$)|\n\s*\n")
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


@dataclass(frozen=True)
class Plan:
    """The roles that work on a brief, the reason for these, and what they and others would take."""

    roles: tuple[str, ...]
    why: str
    estimate: Estimate
    way: RunWay = RunWay.TEAM
    """The way they go about it; roles that the developer chose work as they do in the whole team."""
    costs: str = ""
    """A line that says what each way would take."""

    @property
    def is_lean(self) -> bool:
        """Return whether the plan gives the work to one role alone."""
        return self.roles == LEAN

    def as_json(self) -> dict[str, Any]:
        """Return the plan as programs read it."""
        told = {"way": self.way, "why": self.why, "estimate": str(self.estimate), "costs": self.costs}
        return {"roles": list(self.roles), **told}


def plan_for(
    brief: str,
    roles: Mapping[str, Role],
    settings: Settings,
    wanted: Iterable[str] = (),
    store: Store | None = None,
    *,
    way: RunWay | None = None,
) -> Plan:
    """Plan who works on *brief*: the roles *wanted* (`EVERYBODY`: all), or those of the *way* that the developer chose,
    else of the one that its size suggests.

    What that may take is estimated by what such work took before, as far as *store* has it.

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
    chosen, taken = tuple(dict.fromkeys(wanted)), way or _way_for(text)
    if chosen:
        chosen = tuple(roles) if chosen == EVERYBODY else chosen
        taken = RunWay.MIDDLE if _INDEPENDENT <= {*chosen} <= {*roles_on(RunWay.MIDDLE, roles)} else RunWay.TEAM
        why = f"You chose them ({size})."
    elif way is not None:
        why = f"You chose {_CALLED[way]} ({size})."
    else:
        why = _REASONS[taken].format(size=size)
    roster = _roster(roles, chosen or roles_on(taken, roles), taken, settings)
    if any(role.publishes("doubt") for role in roster.values()):
        why = f"{why} {_DOUBT}"
    estimate = estimate_run(roster.values(), text, settings, store)
    names = tuple(name for name in roster if name != TEAM)
    return Plan(names, why, estimate, taken, _costs_of_ways(roles, text, settings, store))


def _roster(roles: Mapping[str, Role], names: Iterable[str], way: RunWay, settings: Settings) -> dict[str, Role]:
    roster = roster_of(roles, names, way)
    return doubting(roster) if settings.team.doubt and way in DOUBTED else roster


def _way_for(brief: str) -> RunWay:
    """Return the way that the size of *brief* suggests."""
    if is_small(brief):
        return RunWay.ENGINEER
    one_sprint = len(brief.split()) <= _SPRINT_WORDS and count_wishes(brief) <= _SPRINT_WISHES
    return RunWay.MIDDLE if one_sprint else RunWay.TEAM


def _costs_of_ways(roles: Mapping[str, Role], brief: str, settings: Settings, store: Store | None) -> str:
    rosters = {way: _roster(roles, roles_on(way, roles), way, settings).values() for way in RunWay}
    told = (f"{way} {estimate_run(who, brief, settings, store).in_short}" for way, who in rosters.items())
    return f"Each way may take about: {'; '.join(told)}."


def is_small(brief: str) -> bool:
    """Return whether *brief* is small enough for one role alone, without a document."""
    return len(brief.split()) <= _SMALL_WORDS and count_wishes(brief) <= _SMALL_WISHES


def is_short(brief: str) -> bool:
    """Return whether *brief* is so short, a sentence or two, that a chart would add nothing to it."""
    return len(brief.split()) <= _SHORT_WORDS and count_wishes(brief) <= _SHORT_WISHES


def count_wishes(brief: str) -> int:
    """Return the number of things that a brief asks for, by its list items, else by its sentences."""
    items = len(_ITEM.findall(brief))
    return items or max(1, len([part for part in _SENTENCE.split(brief.strip()) if part.strip()]))


def title_of_brief(brief: str) -> str:
    """Return the first sentence of *brief*, cut where it is long; a heading only where there is nothing else."""
    text = _without_comments(_FRONT_MATTER.sub("", brief))
    paragraphs = [part for part in re.split(r"\n\s*\n", _HEADING.sub("\n\n", text)) if re.search(r"\w", part)]
    headings = (line.strip("#=- \t") for line in text.splitlines())
    first = paragraphs[0] if paragraphs else next((line for line in headings if line), "")
    lines = _MARKS.sub("", first.strip()).splitlines()
    listed = next((number for number, line in enumerate(lines) if number and _MARKS.match(line)), len(lines))
    sentence = re.split(r"(?<=[.!?。])\s", " ".join(" ".join(lines[:listed]).split()), maxsplit=1)[0]
    title = sentence or "The brief"
    return title if len(title) <= _TITLE_CHARACTERS else f"{title[: _TITLE_CHARACTERS - 1]}…"


def _without_comments(text: str) -> str:
    """Return *text* without the comments of Markdown; one that does not end is none."""
    kept: list[str] = []
    while (begin := text.find("<!--")) >= 0 and (end := text.find("-->", begin)) >= 0:
        kept.append(text[:begin])
        text = text[end + len("-->") :]
    return "".join([*kept, text])


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


def begin_run(store: Store, root: Path, request: RunRequest, plan: Plan | None = None) -> str:
    """Begin a run with its first messages, the plan and the brief, both or none; return its id.

    Without a *plan*, the role that *request* names does all of it.
    """
    does = Verb.REVISE if request.revises is not None else Verb.JUDGE if request.review is not None else Verb.ALONE
    planned = {"roles": [request.role], "does": does, "why": f"You asked the {TITLES[request.role]} alone."}
    if plan is not None:
        planned = {"roles": plan.roles, "way": plan.way, "why": plan.why, **asdict(plan.estimate)}
    with store.together():
        run_id = store.add_run(root, TEAM if plan else request.role, request.path, request.brief)
        publish(store, run_id, TEAM, as_draft("plan", planned))
        publish(store, run_id, DEVELOPER, _brief(request))
    return run_id


def _brief(request: RunRequest) -> NewMessage:
    """Return the message that brings *request*, without the secrets that other tools may have told of."""
    covers = Covers()
    most = _MOST_OF_COMPLAINT
    said = (
        replace(one, message=covers.cover(one.message[:most]), source=one.source[:most])
        for one in request.hand.complaints
    )
    covered = replace(request, hand=replace(request.hand, complaints=tuple(said)))
    if request.mends is not None:
        log = covers.cover(request.mends.log[-_MOST_OF_LOG:])
        covered = replace(covered, mends=replace(request.mends, log=log))
    rest = _request_type().dump_python(covered, mode="json", exclude={"brief"}, exclude_defaults=True)
    return as_draft("brief", {"text": request.brief, "path": request.path, "symbol": request.symbol, **rest})


def request_in(brief: MessageRow) -> RunRequest:
    """Return the request that a *brief* brings."""
    body = body_of(brief)
    return _request_type().validate_python({**body, "brief": body["text"]})


def request_of(pool: Pool) -> RunRequest | None:
    """Return the request that a run of one role is for; ``None`` for a run of the team.

    Raises:
        DocumentUnusable: it was begun by an earlier Rolecall, which stored no plan.
    """
    brief = pool.latest("brief")
    return request_in(brief) if "does" in _plan(pool) and brief is not None else None


@cache
def _request_type() -> TypeAdapter[RunRequest]:
    return TypeAdapter(RunRequest)


def restore_brief(store: Store, run_id: str) -> None:
    """Publish the brief of a run whose process was killed before it could."""
    if load_pool(store, run_id).latest("brief") is None:
        row = store.run(run_id)
        publish(store, run_id, DEVELOPER, _brief(RunRequest(path=row.path, brief=row.brief)))


def change_plan(store: Store, pool: Pool, roles: Iterable[str], why: str) -> None:
    """Have other roles go on with a run.

    Raises:
        RequestRefused: a command gave it to one role.
    """
    if "does" in _plan(pool):
        raise RequestRefused(f"{pool.run_id} is the work of one role.", "`rolecall run` gives a brief to others.")
    publish(store, pool.run_id, DEVELOPER, as_draft("plan", {**_plan(pool), "roles": list(roles), "why": why}))


def planned_roster(pool: Pool, roles: Mapping[str, Role], *, doubts: bool = False) -> dict[str, Role]:
    """Return those of *roles* that work in a run, by its plan, with the duties that they have there.

    Where the developer *doubts*, an Engineer looks first whether solutions of a new, small enough brief disagree.

    Raises:
        DocumentUnusable: it was begun by an earlier Rolecall, which stored no plan.
        FileRefused: the plan names a role that is not known.
    """
    plan = _plan(pool)
    if "does" in plan:
        roster = {name: role_alone(name, Verb(plan["does"])) for name in plan["roles"]}
    else:  # an earlier Rolecall knew one way
        roster = roster_of(roles, plan["roles"], RunWay(plan.get("way", RunWay.TEAM)))
    return doubting(roster) if doubts and _can_be_doubted(pool) else roster


def _can_be_doubted(pool: Pool) -> bool:
    """Return whether solutions of the brief of a run can be short, and nobody has worked on it yet."""
    plan, brief = _plan(pool), pool.latest("brief")
    if "does" in plan:
        is_small = Verb(plan["does"]) is Verb.ALONE and brief is not None and request_in(brief).mends is None
    else:
        is_small = RunWay(plan.get("way", RunWay.TEAM)) in DOUBTED
    has_begun = any(step.state == "done" for step in pool.steps.values())
    return is_small and (not has_begun or pool.latest("doubt") is not None)


def _plan(pool: Pool) -> dict[str, Any]:
    message = pool.latest("plan")
    if message is None:
        raise DocumentUnusable(
            f"{pool.run_id} cannot be taken up again.", "`rolecall log` lists the runs; give its command again."
        )
    return body_of(message)
