"""Before a run: whom a brief needs, and what that may cost. Code decides, the developer may decide otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
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
from rolecall_server.team.messages.board import DEVELOPER, TEAM, Pool, as_draft, body_of, load_pool, publish
from rolecall_server.team.plan.briefs import SMALL_WISHES, SMALL_WORDS, count_wishes, is_small
from rolecall_server.team.plan.estimates import Estimate, estimate_run
from rolecall_server.team.plan.strategies import (
    STANDARD,
    Strategy,
    choose_strategy,
    share_of_budget,
    why_hard,
    with_strategy,
)
from rolecall_server.team.request import TITLES, Repository, RunRequest
from rolecall_server.team.roles.declarations import (
    Role,
    RunWay,
    Verb,
    doubting,
    our_roles,
    role_alone,
    roles_on,
    roster_of,
)

LEAN = ("engineer",)
_INDEPENDENT = frozenset({"engineer", "qa_engineer"})
"""Whoever works with these two and nobody who designs or allots works in the middle way: its tests see signatures."""
EVERYBODY = ("all",)
"""The word that stands for all roles there are."""
_SPRINT_WORDS = 5 * SMALL_WORDS
_SPRINT_WISHES = 5 * SMALL_WISHES
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
_HARD = "the brief is more than one sprint"
_DOUBT = "First short solutions of it are compared, and you are asked where they differ (rolecall.team.doubt)."
_MOST_OF_COMPLAINT = 2_000
"""Characters; a role is shown far less of what another tool says of a line."""
_MOST_OF_LOG = 60_000
"""Characters of the end of a log, which says how it failed."""


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
    strategy: Strategy = STANDARD

    @property
    def is_lean(self) -> bool:
        """Return whether the plan gives the work to one role alone."""
        return self.roles == LEAN

    def as_json(self) -> dict[str, Any]:
        """Return the plan as programs read it."""
        told = {"way": self.way, "why": self.why, "estimate": str(self.estimate), "costs": self.costs}
        told["strategy"] = str(self.strategy)
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
    names = chosen or roles_on(taken, roles)
    # Reckoned twice: the strategy is chosen by the usual price, and then changes it.
    usual = estimate_run(_roster(roles, names, taken, settings).values(), text, settings, store)
    hard = _HARD if _way_for(text) is RunWay.TEAM else ""
    strategy = choose_strategy(settings, share_of_budget(usual, settings.budget, store), hard)
    settings = with_strategy(settings, strategy.name)
    roster = _roster(roles, names, taken, settings)
    if any(role.publishes("doubt") for role in roster.values()):
        why = f"{why} {_DOUBT}"
    if strategy != STANDARD:
        why = f"{why} {strategy}"
    estimate = estimate_run(roster.values(), text, settings, store)
    at_work = tuple(name for name in roster if name != TEAM)
    return Plan(at_work, why, estimate, taken, _costs_of_ways(roles, text, settings, store), strategy)


async def settle_strategy(repository: Repository, pool: Pool, tell: Callable[[str], None]) -> Settings:
    """Return the settings of a run: with its strategy. Where one role is asked and has none yet, or the developer wants
    another, it is chosen, written into the plan and, if it is not the usual one, told.
    """
    settings, told = repository.settings, _plan(pool).get("strategy")
    planned = Strategy(**told) if told else None
    request = request_of(pool)
    if planned is None and (request is None or request.review is not None):
        return settings  # an earlier Rolecall began it, or it has no part that could be switched
    if planned is None or settings.team.strategy not in ("auto", planned.name):
        planned = await asyncio.to_thread(_strategy_of, repository, request)
        body = {**_plan(pool), "strategy": asdict(planned)}
        publish(repository.store, pool.run_id, TEAM, as_draft("plan", body))
        if planned != STANDARD:
            tell(str(planned))
    return with_strategy(settings, planned.name)


def _strategy_of(repository: Repository, request: RunRequest | None) -> Strategy:
    """Choose the strategy for what one role is asked, or the one that the developer names for a team."""
    settings, store = repository.settings, repository.store
    if request is None:
        return choose_strategy(settings, 0.0, "")
    roster = roster_of(our_roles(), [request.role], RunWay.ENGINEER)
    estimate = estimate_run(roster.values(), request.brief, settings, store)
    share = share_of_budget(estimate, settings.budget, store)
    return choose_strategy(settings, share, why_hard(request, repository.snapshot))


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


def begin_run(store: Store, root: Path, request: RunRequest, plan: Plan | None = None) -> str:
    """Begin a run with its first messages, the plan and the brief, both or none; return its id.

    Without a *plan*, the role that *request* names does all of it.
    """
    does = Verb.REVISE if request.revises is not None else Verb.JUDGE if request.review is not None else Verb.ALONE
    planned = {"roles": [request.role], "does": does, "why": f"You asked the {TITLES[request.role]} alone."}
    if plan is not None:
        planned = {"roles": plan.roles, "way": plan.way, "why": plan.why, **asdict(plan.estimate)}
        planned["strategy"] = asdict(plan.strategy)
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
    # Only the plan of a run of one role says what it does; that of a team names roles and a way.
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
    # A run that began with a doubt keeps that duty when it is taken up again; no other gets one in its middle.
    return is_small and (not has_begun or pool.latest("doubt") is not None)


def _plan(pool: Pool) -> dict[str, Any]:
    message = pool.latest("plan")
    if message is None:
        raise DocumentUnusable(
            f"{pool.run_id} cannot be taken up again.", "`rolecall log` lists the runs; give its command again."
        )
    return body_of(message)
