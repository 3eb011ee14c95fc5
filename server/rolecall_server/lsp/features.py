"""What an editor can ask about code, each with the setting that turns it on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lsprotocol import types

Handler = Callable[[Any, Any], Awaitable[Any]]
"""From the server and the parameters to the result."""
Selector = Sequence[types.TextDocumentFilterLanguage | types.TextDocumentFilterScheme | types.TextDocumentFilterPattern]


@dataclass(frozen=True)
class Feature:
    """Something that an editor asks only while it is turned on."""

    setting: str
    """What turns it on, as `Settings` spells it: ``navigation.references``; empty where nothing does, for code."""
    capability: str
    """Where a client's capabilities speak of it."""
    handlers: Mapping[str, Handler]
    """What answers each method. The editor is told of the first; the others carry it on."""
    options: Callable[[Selector], object] = types.TextDocumentRegistrationOptions
    """What is registered for some documents."""
    by_language: bool = True
    """Whether `rolecall.navigation.languages` narrows it to some."""
    unasked: bool = False
    """Whether it is on without anybody having turned it on; then only a client that knows the method is told."""

    @property
    def method(self) -> str:
        """The method that the editor is told of."""
        return next(iter(self.handlers))
