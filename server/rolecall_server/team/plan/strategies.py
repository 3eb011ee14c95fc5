"""How much work a run puts into getting a change right: values of settings that `strategies.toml` declares."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from rolecall_analysis import Definition, Snapshot, callers, definitions_in, find_definition, is_test
from rolecall_server.settings import BudgetSettings, Settings, StrategyName, with_defaults
from rolecall_server.store import Store
from rolecall_server.store.usage import NANOS, today_s, usage
from rolecall_server.team.plan.estimates import Estimate
from rolecall_server.team.request import RoleName, RunRequest

NAMES: tuple[StrategyName, ...] = get_args(StrategyName)
_QUICK_SHARE = 0.5
"""Of what the budget has left: where a run may take more, it does without what can be done without."""
_THOROUGH_SHARE = 0.25
"""Up to that, a hard task gets more: with five repairs and a doubt it may take three times the estimate."""
# These two bounds are a judgement; docs/craft.md says that they were not measured.
_MANY_CALLS = 25
_MANY_FILES = 3
_WORD = re.compile(r"\w+")
_DECLARED = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Part:
    """A part of the work that can be switched."""

    name: str
    setting: str
    """``team.repairs``: the setting that switches it, without `rolecall.`."""
    off: Any
    """The value of the setting with which it is off."""
    reaches: tuple[str, ...]
    """The commands whose work it is a part of."""


@dataclass(frozen=True)
class Strategy:
    """The strategy of a run, and why it is that one."""

    name: StrategyName
    why: str

    def __str__(self) -> str:
        return f"Strategy {self.name}: {self.why}."


STANDARD = Strategy("standard", "nothing speaks for more or less")


def parts() -> tuple[Part, ...]:
    """Return the parts, in the order of their declaration."""
    declared = _declared()["parts"].items()
    return tuple(Part(name, one["setting"], one["off"], tuple(one["reaches"])) for name, one in declared)


def values_of(name: StrategyName) -> Mapping[str, Any]:
    """Return the value of each part in a strategy, by the part's name."""
    return _declared()["strategies"][name]


@cache
def _declared() -> dict[str, Any]:
    return tomllib.loads(_DECLARED.read_text(encoding="utf-8"))


def with_strategy(settings: Settings, name: StrategyName) -> Settings:
    """Return *settings* with the values of a strategy; those that were given stay."""
    values = values_of(name)
    return with_defaults(settings, {one.setting: values[one.name] for one in parts()})


def choose_strategy(settings: Settings, share: float, why_hard: str) -> Strategy:
    """Choose the strategy of a run that may take a *share* of what the budget has left.

    *why_hard* says what makes the work hard; empty where nothing does.
    """
    chosen = settings.team.strategy
    if chosen != "auto":
        return Strategy(chosen, "you chose it")
    if share > _QUICK_SHARE:
        return Strategy("quick", f"the work may take {min(share, 1):.0%} of what your budget has left")
    if why_hard and share > _THOROUGH_SHARE:
        return Strategy("standard", f"{why_hard}, but your budget has too little left for more")
    if why_hard:
        return Strategy("thorough", why_hard)
    return STANDARD


def share_of_budget(estimate: Estimate, budget: BudgetSettings, store: Store | None) -> float:
    """Return the share that *estimate* takes of what the *budget* has left: of calls, tokens or money, the largest."""
    today = usage(store, since_s=today_s())[0] if store is not None else None
    tokens, cost = estimate.tokens_sent + estimate.tokens_received, estimate.cost or 0.0
    tokens_left = max(0, budget.tokens_per_day - (today.tokens if today else 0))
    money_left = max(0.0, budget.money_per_day - (today.nanos / NANOS if today else 0.0))
    limited = (
        (estimate.calls, budget.calls_per_run, budget.calls_per_run),
        (tokens, budget.tokens_per_run, budget.tokens_per_run),
        (tokens, budget.tokens_per_day, tokens_left),
        (cost, budget.money_per_run, budget.money_per_run),
        (cost, budget.money_per_day, money_left),
    )
    # A limit of 0 is none; where a limit has nothing left, any work takes all of it.
    return max((taken / left if left else 1.0 for taken, limit, left in limited if limit and taken), default=0.0)


def why_hard(request: RunRequest, snapshot: Snapshot) -> str:
    """Return what makes the work of one role hard: many places that call what it is about, or failures in many files;
    empty where nothing does.
    """
    if request.mends is not None:
        files = {test.partition("::")[0] for test in request.mends.tests}
        return f"tests of {len(files)} files fail" if len(files) >= _MANY_FILES else ""
    if request.role is not RoleName.ENGINEER or request.revises is not None:
        return ""
    counted = ((_n_calls(snapshot, one), one.qualified_name) for one in _about(request, snapshot))
    n_calls, name = max(counted, default=(0, ""))
    return f"{n_calls} places call {name}" if n_calls >= _MANY_CALLS else ""


def _about(request: RunRequest, snapshot: Snapshot) -> Iterator[Definition]:
    """Yield the functions and classes that a request was given on, or that its brief names in its file."""
    if request.symbol:
        definition = find_definition(snapshot, request.path, request.symbol)
        yield from (definition,) if definition is not None else ()
    elif request.path:
        said = {*_WORD.findall(request.brief)}
        for one in definitions_in(snapshot, request.path):
            if one.kind != "variable" and one.name in said:
                yield one


def _n_calls(snapshot: Snapshot, definition: Definition) -> int:
    """Return the number of calls outside tests that certainly reach *definition*."""
    sites = callers(snapshot, definition, certain_only=True)
    return sum(not is_test(snapshot, site.path) for site in sites)
