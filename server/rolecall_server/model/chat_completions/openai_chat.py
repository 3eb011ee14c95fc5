"""A model behind any OpenAI-compatible endpoint, asked by streamed Chat Completions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import cached_property
from typing import cast

import httpx2
import openai
from openai.types.chat import ChatCompletionChunk

from rolecall_server.errors import ConnectionFailed, UnknownModel
from rolecall_server.model.chat_completions.bodies import bound
from rolecall_server.model.chat_completions.complaints import quota_spent
from rolecall_server.model.chat_completions.completion import Completion, PartialReply
from rolecall_server.model.chat_completions.dialect import Dialect, room_left
from rolecall_server.model.chat_completions.failures import explain, late
from rolecall_server.model.client import NO_WISHES, ChatMessage, Parameters, Reply, Wishes
from rolecall_server.model.endpoint import Asked, Endpoint
from rolecall_server.model.replies.plain_tools import read_calls

_MAX_RETRIES = 2
_CONNECT_TIMEOUT_S = 10.0
_LAST_CHUNK_TIMEOUT_S = 1.0
"""The time within which the token counts may follow a reply that is complete; some endpoints then forget to hang up."""
_STATUSES_OF_IGNORANCE = frozenset({400, 404, 422, 500, 501})
"""With which servers refuse an option they do not know; llama.cpp used 500 for tools, OpenRouter uses 404."""
_N_NAMES_SHOWN = 10
_MOST_OF_A_COMPLAINT = 20_000
"""Characters in which the name of an option is looked for."""

_Stream = openai.AsyncStream[ChatCompletionChunk]


class OpenAIChat:
    """The client of one model at one endpoint.

    The SDK retries what may pass (no connection, 408, 409, 429, 5xx) twice, all within *timeout_s*. A reply has at most
    *reply_tokens* tokens, hidden reasoning included, where that is not 0 and the endpoint heeds it.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        timeout_s: float,
        reply_tokens: int = 0,
        *,
        parameters: Parameters | None = None,
        dialect: Dialect | None = None,
    ) -> None:
        self._asked = Asked(endpoint, model, timeout_s)
        self._parameters = parameters or Parameters()
        self._dialect = dialect or Dialect(reply_tokens)

    @cached_property
    def _sdk(self) -> openai.AsyncOpenAI:
        """The SDK's client, made when something is asked: certificates take 20 ms of the event loop."""
        endpoint, timeout_s = self._asked.endpoint, self._asked.timeout_s
        timeout = openai.Timeout(timeout_s, connect=min(timeout_s, _CONNECT_TIMEOUT_S))
        return openai.AsyncOpenAI(
            api_key=endpoint.api_key,
            base_url=endpoint.base_url,
            timeout=timeout,
            max_retries=_MAX_RETRIES,
            default_headers={"Accept-Encoding": "identity"},
            http_client=openai.DefaultAsyncHttpxClient(
                timeout=timeout,
                verify=endpoint.has_certificate,
                trust_env=not endpoint.is_local,
                follow_redirects=False,  # what is asked holds the developer's code
                event_hooks={"response": [self._guard]},
            ),
        )

    @property
    def label(self) -> str:
        """Return the label of the model that answers: ``gpt-x at https://host/v1``."""
        return self._asked.label

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """Return the answer to *messages*, whole.

        What the endpoint does not know of *wishes* is given up one step at a time.

        Raises:
            RolecallError: one of the kinds under `UserMustAct`, `ProviderUnavailable` and `ReplyUnusable`.
        """
        wishes = replace(wishes, parameters=wishes.parameters.over(self._parameters))
        draft = PartialReply(self.label, wishes.parameters.reply_tokens or self._dialect.reply_tokens)
        deadline = asyncio.timeout(self._asked.timeout_s)
        try:
            async with deadline:
                await self.settle_model()
                draft.source = self.label
                async with aclosing(self._pieces(messages, wishes, draft)) as pieces:
                    async for piece in pieces:
                        if piece and wishes.on_text is not None:
                            wishes.on_text(piece)
                        if draft.finish_reason:
                            _hasten(deadline)
        except TimeoutError:
            # A TimeoutError of something else, such as a socket's, is no end of our time.
            if not deadline.expired():
                raise
            if not draft.finish_reason:
                raise late(self._asked) from None
        reply = draft.finish()
        if wishes.tools and not reply.calls:
            text, calls = read_calls(reply.text)
            reply = replace(reply, text=text, calls=calls)
        return reply

    async def aclose(self) -> None:
        """Close the connections, if there are any."""
        # To ask for the property would make a client only to close it.
        if "_sdk" in vars(self):
            await self._sdk.close()

    async def settle_model(self) -> str:
        """Return the model's name; where none is named, that of the only model on offer.

        Raises:
            UnknownModel: none is named, and there are several, or none.
        """
        if not self._asked.model:
            names = await self.offered()
            if len(names) != 1:
                raise _needs_choice(names, self._asked.endpoint)
            self._asked = Asked(self._asked.endpoint, names[0], self._asked.timeout_s)
        return self._asked.model

    async def offered(self) -> list[str]:
        """Return the names of the models the endpoint lists; none where it lists none.

        Raises:
            RolecallError: it cannot be asked.
        """
        try:
            page = await self._sdk.models.list()
            return sorted({str(model.id) for model in page.data})
        except openai.NotFoundError:
            return []
        except openai.OpenAIError as error:
            raise explain(error, self._asked) from None
        except Exception as error:
            raise explain(error, self._asked) from error

    async def _pieces(
        self, messages: Sequence[ChatMessage], wishes: Wishes, draft: PartialReply
    ) -> AsyncGenerator[str]:
        """Yield the text of each chunk as it arrives, after adding it to *draft*."""
        try:
            async with await self._open(messages, wishes) as stream:
                async for completion in _completions(stream):
                    yield draft.add(completion)
        except openai.OpenAIError as error:  # without the cause: its text is the endpoint's, and may hold the key
            failure = explain(error, self._asked)
            if draft.n_characters and isinstance(failure, ConnectionFailed):
                failure = draft.cut("the connection was lost")
            raise failure from None
        except Exception as error:
            raise explain(error, self._asked) from error

    async def _open(self, messages: Sequence[ChatMessage], wishes: Wishes) -> _Stream:
        """Return the stream of the answer; what the endpoint refuses by name is left out of the next request.

        One that counts the longest possible reply into the context is asked once more for what still fits.
        """
        room: int | None = None
        # This ends: a refusal is learned once each, and the room is asked for once.
        while True:
            request = self._dialect.request(self._asked.model, messages, wishes, room)
            try:
                return cast("_Stream", await self._sdk.chat.completions.create(**request))
            except openai.APIStatusError as error:
                complaint = f"{error.message:.{_MOST_OF_A_COMPLAINT}} {error.body!s:.{_MOST_OF_A_COMPLAINT}}"
                if error.status_code not in _STATUSES_OF_IGNORANCE and not _withholds(error.status_code, complaint):
                    raise
                if room is None and (room := room_left(complaint)) is not None:
                    continue
                if not self._dialect.learn(complaint, request):
                    raise

    async def _guard(self, response: httpx2.Response) -> None:
        """Bound what is read of *response*, and spare the retries of a spent quota."""
        bound(response, self.label)
        if response.status_code == 429:
            await response.aread()
            if quota_spent(response.text):
                response.headers["x-should-retry"] = "false"  # the SDK asks this header first


async def _completions(stream: _Stream) -> AsyncIterator[Completion]:
    """Yield the chunks of *stream*, or the one completion of an endpoint that does not stream."""
    content_type = stream.response.headers.get("content-type", "")
    if "json" in content_type:
        yield Completion.model_validate_json(await stream.response.aread())
    # A web page brings no chunk, and `PartialReply.finish` says of none that this is no chat completion.
    elif "html" not in content_type:
        async for chunk in stream:
            yield Completion.model_validate(chunk)


def _withholds(status: int, complaint: str) -> bool:
    """Return whether an endpoint forbids what it knows: some of OpenAI's models tell nobody log-probabilities."""
    return status == 403 and "logprobs" in complaint


def _hasten(deadline: asyncio.Timeout) -> None:
    soon = asyncio.get_running_loop().time() + _LAST_CHUNK_TIMEOUT_S
    deadline.reschedule(min(soon, deadline.when() or soon))


def _needs_choice(names: Sequence[str], endpoint: Endpoint) -> UnknownModel:
    if not names:
        return UnknownModel(
            f"No model is named, and {endpoint.address} lists none.",
            "Name one in ROLECALL_MODEL (rolecall.model.name); a local server may have to load one first.",
        )
    more = f" and {len(names) - _N_NAMES_SHOWN} more" if len(names) > _N_NAMES_SHOWN else ""
    return UnknownModel(
        f"{endpoint.address} offers {len(names)} models, and none is named: {', '.join(names[:_N_NAMES_SHOWN])}{more}.",
        "Name one of them in ROLECALL_MODEL (rolecall.model.name).",
    )
