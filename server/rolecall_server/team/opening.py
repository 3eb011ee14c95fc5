"""How a conversation with a role begins: who it is, how it answers, what it sees, what it is to do."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rolecall_server.context import Focus, View, pack, render
from rolecall_server.craft.attempts import EDIT_FORMAT
from rolecall_server.model import ChatMessage, estimate_tokens
from rolecall_server.team.request import Desk


async def open_conversation(profile: Path, desk: Desk, focus: Focus, task: str) -> tuple[ChatMessage, ...]:
    """The system prompt from *profile*, then the context pack of *focus* with *task* at its end.

    The task stands last, so that the long part before it is the same from one call to the next.

    Raises:
        FileRefused: the file in focus cannot be read.
        RequestRefused: it does not fit the budget.
    """
    return await asyncio.to_thread(_opening, profile, desk, focus, task)


def _opening(profile: Path, desk: Desk, focus: Focus, task: str) -> tuple[ChatMessage, ...]:
    view = View(desk.workspace, desk.snapshot, estimate_tokens)
    shown = render(pack(view, focus, desk.settings.model.context_tokens))
    parts = [f"# The repository, as far as it concerns you\n\n{shown}" if shown else "", f"# Your task\n\n{task}"]
    return (
        ChatMessage("system", f"{profile.read_text(encoding='utf-8')}\n# How to answer\n\n{EDIT_FORMAT}"),
        ChatMessage("user", "\n".join(part for part in parts if part)),
    )
