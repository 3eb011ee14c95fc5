"""The editor's own models: asked through requests to the editor, which asks the developer for consent.

A client that can do that announces ``models`` among its Rolecall capabilities; `docs/protocol.md` has the messages.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lsprotocol import types
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel
from pygls.exceptions import JsonRpcException

from rolecall_server.errors import (
    ContextOverflow,
    DeadlinePassed,
    ModelWithheld,
    ProviderUnavailable,
    RateLimited,
    ReplyMalformed,
    ReplyRefused,
    ReplyRepeats,
    RolecallError,
    UnknownModel,
)
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.untyped import fields_of, plain
from rolecall_server.model import (
    NO_WISHES,
    ChatMessage,
    EditorModel,
    EditorOffer,
    Reply,
    Wishes,
)
from rolecall_server.model.chat_completions.repetition import RepetitionWatch
from rolecall_server.model.client import MAX_REPLY_CHARACTERS, OnText, TokenCount
from rolecall_server.model.replies.plain_tools import read_calls, spoken

LIST_REQUEST = "rolecall/model/list"
ASK_REQUEST = "rolecall/model/ask"

_LIST_TIMEOUT_S = 30.0
"""So long an editor may take to start what lends it models, which may have to sign in somewhere first."""
_call_ids = itertools.count(1)

_FAILURES: Mapping[str, tuple[type[RolecallError], str]] = {
    "cancelled": (ModelWithheld, "Run the command again, or name another model in rolecall.model.name."),
    "consent": (ModelWithheld, "Allow it when your editor asks, or name another model in rolecall.model.name."),
    "notFound": (UnknownModel, "Choose another of your editor's models in rolecall.model.name."),
    "blocked": (ReplyRefused, "Word the request differently, or choose another model."),
    "tooLong": (ContextOverflow, "Lower rolecall.model.contextTokens, or choose a model with a longer context."),
    "quota": (RateLimited, "Run the command again later, or choose another model."),
}


class _Wire(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="ignore", frozen=True)


class OfferedModel(_Wire):
    """A model as the editor lists it."""

    id: str
    name: str = ""
    vendor: str = ""
    family: str = ""
    max_input_tokens: int | None = None

    def goes_by(self, name: str) -> bool:
        """Return whether *name* may mean this model."""
        return name in (self.id, self.name, self.family, f"{self.vendor}/{self.family}", f"{self.vendor}/{self.id}")


class _Listed(_Wire):
    models: tuple[OfferedModel, ...] = ()


class _Failure(_Wire):
    kind: str = ""
    message: str = ""


class _Answer(_Wire):
    text: str = ""
    prompt_tokens: TokenCount = None
    completion_tokens: TokenCount = None
    error: _Failure | None = None


def editor_offer(ls: RolecallServer) -> EditorOffer | None:
    """Return a function that asks the editor of *ls* for a model; None if it cannot be asked."""
    if not ls.session.client.models:
        return None

    async def offer(name: str) -> EditorModel | None:
        listed = await _list_models(ls)
        wanted = [model for model in listed if model.goes_by(name)] if name else listed
        if not wanted:
            return None
        client = AskedThroughEditor(ls, wanted[0], ls.session.settings.model.timeout_seconds, listed)
        return EditorModel(client, wanted[0].max_input_tokens)

    return offer


async def _list_models(ls: RolecallServer) -> tuple[OfferedModel, ...]:
    """Ask the editor for its models and return them, its own choice first; none where it does not answer."""
    try:
        async with asyncio.timeout(_LIST_TIMEOUT_S):
            listed = await ls.protocol.send_request_async(LIST_REQUEST, {})
        return _Listed.model_validate(plain(listed)).models
    except (JsonRpcException, ValidationError, TimeoutError):
        return ()


@dataclass(frozen=True)
class AskedThroughEditor:
    """The client of one of the editor's models."""

    ls: RolecallServer
    model: OfferedModel
    timeout_s: float
    offered: tuple[OfferedModel, ...] = ()
    """The other models of the editor, for roles with a model of their own."""

    @property
    def label(self) -> str:
        """Return the label of the model that answers: ``gpt-x (copilot) in your editor``."""
        vendor = f" ({self.model.vendor})" if self.model.vendor else ""
        return f"{self.model.name or self.model.id}{vendor} in your editor"

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """Return the answer to *messages*. The editor decides how to get it, except from which model; tools are
        described in words.

        Raises:
            RolecallError: there is none; the error says who acts next.
        """
        told = spoken(messages, wishes)
        asked = replace(self, model=self._meant(wishes.parameters.model))
        answer = await _Call(asked, str(next(_call_ids)), wishes.on_text).answer(told)
        if answer.error is not None:
            raise asked._failure(answer.error)
        if not answer.text.strip():
            raise ReplyMalformed(f"{asked.label} answered without any text.")
        text, calls = read_calls(answer.text) if wishes.tools else (answer.text, ())
        return Reply(text, asked.model.id, answer.prompt_tokens, answer.completion_tokens, calls)

    async def aclose(self) -> None:
        """Nothing is held."""

    def _meant(self, name: str) -> OfferedModel:
        """Return the model of that *name*; this one where it is empty."""
        if not name or self.model.goes_by(name):
            return self.model
        found = next((model for model in self.offered if model.goes_by(name)), None)
        if found is None:
            raise UnknownModel(f"Your editor offers no model {name}.", "Choose another for the role in rolecall.roles.")
        return found

    def _failure(self, failure: _Failure) -> RolecallError:
        kind, next_step = _FAILURES.get(failure.kind, (ProviderUnavailable, ProviderUnavailable.next_step))
        return kind(
            f"{self.label}: {' '.join(failure.message.split())[:300] or 'it failed'}".rstrip(".") + ".", next_step
        )


@dataclass
class _Call:
    """One request to the editor, under way."""

    client: AskedThroughEditor
    id: str
    on_text: OnText | None
    n_characters: int = 0

    def __post_init__(self) -> None:
        self._watch = RepetitionWatch()
        self._stopped: asyncio.Future[RolecallError] = asyncio.get_running_loop().create_future()

    async def answer(self, messages: Sequence[ChatMessage]) -> _Answer:
        """Ask the editor and return its reply; the request is cancelled if nobody waits for it any more."""
        # An id of our own, for the request to be cancelled by.
        ls, request_id = self.client.ls, f"rolecall-model-{self.id}"
        params = {
            "callId": self.id,
            "vendor": self.client.model.vendor,
            "model": self.client.model.id,
            "messages": [{"role": message.role, "text": message.text} for message in messages],
            "justification": "Rolecall's roles ask it about the code you point them at.",
        }
        ls.session.model_calls[self.id] = self.take
        replied: asyncio.Future[Any] = ls.protocol.send_request_async(ASK_REQUEST, params, msg_id=request_id)
        replied.add_done_callback(_forget)
        try:
            waiting: set[asyncio.Future[Any]] = {replied, self._stopped}
            await asyncio.wait(waiting, timeout=self.client.timeout_s, return_when=asyncio.FIRST_COMPLETED)
            return self._read(replied)
        finally:
            del ls.session.model_calls[self.id]
            if not replied.done():
                ls.protocol.notify(types.CANCEL_REQUEST, types.CancelParams(request_id))

    def _read(self, replied: asyncio.Future[Any]) -> _Answer:
        label = self.client.label
        if self._stopped.done():
            raise self._stopped.result()
        if not replied.done():
            raise DeadlinePassed(
                f"{label} gave no complete reply within {self.client.timeout_s:g} s.",
                "Try again, choose a faster model, or allow more time (rolecall.model.timeoutSeconds).",
            )
        try:
            return _Answer.model_validate(plain(replied.result()))
        except JsonRpcException as error:
            raise ProviderUnavailable(f"{label} could not be asked: {error}.") from error
        except ValidationError:
            raise ReplyMalformed(f"{label} answered with something that cannot be read.") from None

    def take(self, text: str) -> None:
        """Take in a piece of the reply."""
        if self._stopped.done():
            return
        self.n_characters += len(text)
        if self._watch.repeats(text):
            self._stopped.set_result(ReplyRepeats(f"{self.client.label} says the same over and over."))
        elif self.n_characters > MAX_REPLY_CHARACTERS:
            self._stopped.set_result(ReplyMalformed(f"{self.client.label} wrote too much and was stopped."))
        elif self.on_text is not None:
            self.on_text(text)


def _forget(replied: asyncio.Future[Any]) -> None:
    """Look at how a request ended, so that one nobody waits for any more is not called an error."""
    # `exception` itself raises where the request was cancelled.
    if not replied.cancelled():
        replied.exception()


def take_delta(ls: RolecallServer, params: Any) -> None:
    """`rolecall/model/delta`: a piece of a reply; of one that nobody waits for any more it is dropped."""
    delta = fields_of(params)
    take, text = ls.session.model_calls.get(str(delta.get("callId"))), delta.get("text")
    if take is not None and isinstance(text, str):
        take(text)
