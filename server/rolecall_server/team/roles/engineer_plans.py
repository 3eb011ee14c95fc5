"""Plans before code: the Engineer states up to three and how sure it is of each; they are tried until one works.

What passing tests ran of a plan that is given up, and no failing one, is offered to the next.

Source: self-planning (Jiang et al., 2023, arXiv 2303.06689) plans first; MapCoder (Islam et al., ACL 2024) states a
confidence for each plan and goes on to the next where one fails; for the parts that are kept see `craft.kept_parts`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from rolecall_server.craft.attempt import Attempted, AttemptOutcome, AttemptWork
from rolecall_server.craft.attempts import work_out
from rolecall_server.craft.feedback import fenced
from rolecall_server.craft.kept_parts import kept_parts
from rolecall_server.errors import NothingToChange, NoUsableEdit
from rolecall_server.model import ChatMessage, estimate_tokens
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.team.model_calls.repacking import Opening
from rolecall_server.team.model_stack import conversation
from rolecall_server.team.request import Desk

_PROMPTS = prompts_beside(__file__)
_PLAN = re.compile(
    r"^[ \t>*_#-]{0,8}Plan[ \t]{1,3}(\d)[ \t]{0,3}\((\d{1,3})[ \t]?%\)[*_]{0,3}[ \t]?[:.][*_ \t]{0,4}(\S.{0,300})$",
    re.MULTILINE | re.IGNORECASE,
)
_REPAIRS_BEFORE_THE_NEXT = 1
"""Of a plan after which there is another; the last one has all that the developer allows."""
_MOST_TOLD = 3
_MOST_OF_FAILURE = 200
"""Characters."""
_MOST_OFFERED = 1_500
"""Tokens of what is kept of a plan that is given up, the words around it included."""
_MOST_HELPERS = 12


@dataclass(frozen=True)
class StatedPlan:
    """A plan as the Engineer states it."""

    number: int
    percent: int
    """The Engineer's confidence in it."""
    idea: str

    def __str__(self) -> str:
        return f"Plan {self.number} ({self.percent} %): {self.idea}"


def read_plans(reply: str, most: int) -> tuple[StatedPlan, ...]:
    """Return at most *most* plans of a reply, the surest first; equally sure ones as they are given."""
    found = (StatedPlan(int(one[1]), int(one[2]), one[3].strip(" *_")) for one in _PLAN.finditer(reply))
    stated = {plan.number: plan for plan in found}
    return tuple(sorted(stated.values(), key=lambda plan: -plan.percent)[:most])


async def work_out_by_plans(work: AttemptWork, desk: Desk) -> AttemptOutcome:
    """Have the Engineer plan *work*, and carry the plans out until one works; return the best outcome.

    Raises:
        NothingToChange: the model gave no edit, and said why.
        NoUsableEdit: no plan came to an edit that fits.
        RolecallError: the model failed before there was anything to keep.
    """
    client, asking = conversation(desk, looks_up=work.looks_up), _asking(work.opening)
    if (repack := desk.repacks.get(work.opening)) is not None:
        desk.repacks[asking] = _repacked(repack)
    desk.report("asking the model for plans", None)
    reply = (await client.complete(asking)).text
    plans = read_plans(reply, desk.settings.team.plans)
    if not plans:
        return await work_out(work, conversation(desk, looks_up=work.looks_up), desk.report)
    best: AttemptOutcome | None = None
    tried: list[Attempted] = []
    before = ""
    for plan in plans:
        told = _PROMPTS["carry out"].format(before=before, number=plan.number)
        begun = (*asking, ChatMessage("assistant", reply), ChatMessage("user", told))
        is_last = plan is plans[-1]
        most = work.most_repairs if is_last else min(work.most_repairs, _REPAIRS_BEFORE_THE_NEXT)
        keep = partial(_keep, work.keep, tried, len(tried))
        # Each plan begins with the text of the repository: lookups must not see what the one before it wrote.
        desk.draft.clear()
        try:
            planned = replace(work, opening=begun, most_repairs=most, keep=keep)
            outcome = await work_out(planned, client, desk.report)
        except NoUsableEdit as error:
            if isinstance(error, NothingToChange) or (is_last and best is None):
                raise
            why, kept = error.what, ""
        else:
            best = _better(best, replace(outcome, rationale=f"{plan}\n\n{outcome.rationale}".rstrip()))
            if outcome.attempt.works or outcome.interrupted is not None:
                break
            why, kept = _why(outcome), "" if is_last else await asyncio.to_thread(_offer, desk, outcome)
        given_up = _PROMPTS["given up"].format(number=plan.number, why=why)
        before = "".join(f"{part}\n\n" for part in (given_up, kept) if part)
    assert best is not None
    return best


def _better(best: AttemptOutcome | None, outcome: AttemptOutcome) -> AttemptOutcome:
    return outcome if best is None or outcome.attempt.rank() > best.attempt.rank() else best


def _keep(tell: Callable[[Attempted], None], tried: list[Attempted], n_before: int, attempted: Attempted) -> None:
    """Tell of *attempted*, numbered as one of the attempts of all plans."""
    built_on = n_before + attempted.built_on if attempted.built_on else 0
    tried.append(replace(attempted, number=n_before + attempted.number, built_on=built_on))
    tell(tried[-1])


def _asking(opening: Opening) -> Opening:
    """Return *opening* with the request for plans at its end."""
    last = opening[-1]
    return (*opening[:-1], replace(last, text=f"{last.text.rstrip()}\n\n{_PROMPTS['ask']}"))


def _repacked(repack: Callable[[], Awaitable[Opening]]) -> Callable[[], Awaitable[Opening]]:
    async def shorter() -> Opening:
        return _asking(await repack())

    return shorter


def _offer(desk: Desk, outcome: AttemptOutcome) -> str:
    """Return what is worth keeping of a plan that came to *outcome*: the repository's own functions that it called,
    then its own; empty where there is nothing, or nobody knows what ran.

    None of it is private: what is kept from models is not there where a draft runs.
    """
    parts = kept_parts(desk.snapshot, outcome.attempt.files, outcome.attempt.run)
    room = _MOST_OFFERED - estimate_tokens(_PROMPTS["helpers"] + _PROMPTS["kept"])
    helpers = _fitting(
        (f"- {one.path}: `{' '.join(one.signature.split())}`" for one in parts.helpers[:_MOST_HELPERS]), room
    )
    room -= estimate_tokens("\n".join(helpers))
    functions = _fitting((f"{one.path}::{one.name}\n{fenced(one.text)}" for one in parts.functions), room)
    called = _PROMPTS["helpers"].format(helpers="\n".join(helpers)) if helpers else ""
    kept = _PROMPTS["kept"].format(parts="\n\n".join(functions)) if functions else ""
    return "\n\n".join(part for part in (called, kept) if part)


def _fitting(texts: Iterable[str], n_tokens: int) -> list[str]:
    """Return those of *texts* that fit into *n_tokens*, one after the other."""
    chosen: list[str] = []
    for text in texts:
        if (needed := estimate_tokens(text) + 1) <= n_tokens:
            n_tokens -= needed
            chosen.append(text)
    return chosen


def _why(outcome: AttemptOutcome) -> str:
    """Return what is wrong with an outcome, in a few words."""
    attempt = outcome.attempt
    failing = [f"{one.test_id}: {' '.join(one.message.split())[:_MOST_OF_FAILURE]}" for one in attempt.failures]
    return "; ".join([*attempt.syntax_errors, *failing][:_MOST_TOLD]) or "its tests did not come to their end"
