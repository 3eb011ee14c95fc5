"""The questions as tools that a model is offered, and the client whose model uses them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pydantic import BaseModel

from rolecall_server.craft.lookups import questions, repository_files, running
from rolecall_server.craft.lookups.packages import SearchedWords, Symbol, documentation, search_packages
from rolecall_server.craft.lookups.sources import LookupSources
from rolecall_server.model import (
    NO_WISHES,
    ChatMessage,
    ModelClient,
    Relay,
    Reply,
    ToolLimits,
    ToolSpec,
    Wishes,
    use_tools,
)
from rolecall_server.model.hidden_turns import Interludes

_AT_ONCE: dict[str, tuple[str, type[BaseModel], Callable[[LookupSources, Any], str]]] = {
    "definition": ("The source of a function, class or variable.", questions.Named, questions.definition),
    "references": ("Every place that names a function, class or variable.", questions.Named, questions.uses_of),
    "callers": ("Every call that may reach a function or class.", questions.Named, questions.callers_of),
    "outline": ("The signatures of all that a file defines.", questions.InFile, questions.outline),
    "list_files": (
        "The files of a folder, or those that match a pattern.",
        repository_files.Pattern,
        repository_files.list_files,
    ),
    "search": ("The lines of all text files that hold a text.", repository_files.Words, repository_files.search),
    "read_lines": ("Some lines of a file, numbered.", questions.Lines, questions.read_lines),
    "list_tests": ("The tests that reach a file.", questions.InFile, questions.list_tests),
}
_AWAITED: dict[str, tuple[str, type[BaseModel], Callable[[LookupSources, Any], Awaitable[str]]]] = {
    "run_test": ("How a test ends, with your edits so far.", running.TestName, running.run_test),
    "run_python": (
        "What a few lines of Python print, with your edits so far: what the code does today, not what it should do.",
        running.Snippet,
        running.run_python,
    ),
    "documentation": ("The documentation of an installed package's symbol.", Symbol, documentation),
    "search_packages": (
        "Functions and classes that some words are about, of installed packages and of the repository.",
        SearchedWords,
        search_packages,
    ),
}


TOOL_NAMES = (*_AT_ONCE, *_AWAITED)
"""All lookups there are."""


def tell_lookups(names: Collection[str]) -> str:
    """Return a line for each of the lookups called *names*: how it is called, and what it tells."""
    every = {name: (said, takes) for name, (said, takes, _) in (*_AT_ONCE.items(), *_AWAITED.items())}
    return "\n".join(f"- {name}({_arguments(takes)}): {said}" for name, (said, takes) in every.items() if name in names)


def _arguments(takes: type[BaseModel]) -> str:
    fields = takes.model_fields.items()
    return ", ".join(name if one.is_required() else f"{name}={one.default!r}" for name, one in fields)


def tools_for(sources: LookupSources, names: Collection[str] = TOOL_NAMES) -> tuple[ToolSpec, ...]:
    """Return the lookups called *names*, answered from *sources*."""

    async def at_once(answer: Callable[[LookupSources, Any], str], arguments: Any) -> str:
        return await asyncio.to_thread(lambda: answer(sources.with_edits(), arguments))

    async def awaited(answer: Callable[[LookupSources, Any], Awaitable[str]], arguments: Any) -> str:
        # In a thread, as the graph reads each file that was edited once more.
        return await answer(await asyncio.to_thread(sources.with_edits), arguments)

    every = (
        *(ToolSpec(name, said, takes, partial(at_once, answer)) for name, (said, takes, answer) in _AT_ONCE.items()),
        *(ToolSpec(name, said, takes, partial(awaited, answer)) for name, (said, takes, answer) in _AWAITED.items()),
    )
    return tuple(tool for tool in every if tool.name in names)


@dataclass
class LookingUp(Relay):
    """Asks *client* with *tools* at hand.

    What was looked up stays in the conversation, at its place.
    """

    client: ModelClient
    tools: Sequence[ToolSpec]
    limits: ToolLimits = field(default_factory=ToolLimits)
    _interludes: Interludes = field(default_factory=Interludes)

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """Return the client's answer, after its model has looked up what it wanted.

        A call that brings a shape or tools of its own is passed on as it is.

        Raises:
            RolecallError: there is none; the error says who acts next.
        """
        asked = tuple(messages)
        if wishes.shape is not None or wishes.tools:
            return await self.client.complete(asked, wishes)
        talk = await use_tools(self.client, self._interludes.restore(asked), self.tools, wishes, limits=self.limits)
        if talk.uses:
            self._interludes.keep((*asked, ChatMessage("assistant", talk.reply.text)), talk.messages)
        return talk.reply
