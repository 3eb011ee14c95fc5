"""The opening of a conversation with a role: who it is, how it answers, what it sees, what it is to do."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

from rolecall_server.context import Focus, pack, render
from rolecall_server.craft.attempts import EDIT_FORMAT
from rolecall_server.model import ChatMessage, estimate_tokens
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.settings import ModelSettings
from rolecall_server.team.experience.replaying import SHARE, experience_head, fitting
from rolecall_server.team.lessons import past_changes
from rolecall_server.team.model_calls.calibration import Fit
from rolecall_server.team.model_stack import with_limits
from rolecall_server.team.request import Desk

_PROMPTS = prompts_beside(__file__)
_SHARE_WHEN_TOO_LONG = 0.5
_MOST_OF_REPLY = 3
"""A reply gets a third of a model's context where the setting would give it more: 32,000 tokens are all of many."""


async def open_conversation(
    profile: Path, desk: Desk, focus: Focus, task: str, edit_format: str = EDIT_FORMAT, *, share: float = 1.0
) -> tuple[ChatMessage, ...]:
    """Return the system prompt from *profile* and *edit_format*, then the context pack of *focus* with *task* at its
    end.

    The task stands last, so that the long part before it is the same from one call to the next. *share* is how much
    of the room the pack may take: less where the model found it too long.

    Raises:
        FileRefused: the file in focus cannot be read.
        RequestRefused: it does not fit the budget.
    """
    prompt = await asyncio.to_thread(profile.read_text, encoding="utf-8")
    system = with_limits(f"{prompt}\n# How to answer\n\n{edit_format}", desk)
    task = "\n".join(part for part in (task, desk.how_to_ask) if part)
    opening = await asyncio.to_thread(_opening, desk, focus, system, task, share)
    desk.repacks[opening] = partial(
        open_conversation, profile, desk, focus, task, edit_format, share=share * _SHARE_WHEN_TOO_LONG
    )
    return opening


def _opening(desk: Desk, focus: Focus, system: str, task: str, share: float) -> tuple[ChatMessage, ...]:
    told = "\n".join(desk.rejections)
    rejections = f"{_PROMPTS['rejected']}\n\n{told}\n" if told else ""
    others = estimate_tokens(system + rejections + task)
    either = ((past_changes.head(), desk.past_changes), (experience_head(), desk.experience))
    recalled = [(head, told) for head, told in either if told]
    room = room_tokens(desk.settings.model, desk.fit, others)
    packed = pack(desk.view, with_rules(focus, desk), int(room * share * (1 - SHARE * len(recalled))))
    shown = render(packed)
    parts = [
        f"# The repository, as far as it concerns you\n\n{shown}" if shown else "",
        *(fitting(head, told, others + estimate_tokens(shown)) for head, told in recalled),
        rejections,
        task if task.startswith("# ") else f"# Your task\n\n{task}",
    ]
    opening = (ChatMessage("system", system), ChatMessage("user", "\n".join(part for part in parts if part)))
    desk.record(packed, opening)
    return opening


def tell_how_to_begin(desk: Desk, files: Collection[str] = ()) -> str:
    """Return what who writes the first code has to know, with the *files* wanted; empty where there is code."""
    if desk.snapshot.files:
        return ""
    named = [_PROMPTS["named"].format(names=", ".join(files))] if files else []
    return "\n\n".join([_PROMPTS["from nothing"], *named])


def with_rules(focus: Focus, desk: Desk) -> Focus:
    """Return *focus* with the rules that apply to the role at *desk*."""
    consent = desk.settings.context.house_rules
    return replace(focus, rules=consent, role=desk.role, accepted_rules=desk.accepted_rules)


def room_tokens(settings: ModelSettings, fit: Fit, other_tokens: int) -> int:
    """Return the number of tokens, by estimate, that the pack may take: the setting, or less where the model has no
    room for it.

    *other_tokens* is what stands beside it in the prompt, by estimate.
    """
    if fit.context_tokens is None:
        return settings.context_tokens
    reply = min(settings.reply_tokens, fit.context_tokens // _MOST_OF_REPLY)
    left = int((fit.context_tokens - reply) / fit.factor) - other_tokens
    return max(1, min(settings.context_tokens, left))
