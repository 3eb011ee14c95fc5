"""Model calls of a run: within its budget, in the store before anyone acts on them, and without a secret in them."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial

from pydantic import TypeAdapter

from rolecall_server.context.redaction import Covers
from rolecall_server.errors import BudgetSpent, ConnectionFailed, RateLimited, ReplyCut, UserMustAct
from rolecall_server.model import (
    NO_WISHES,
    ChatMessage,
    ModelClient,
    Parameters,
    Relay,
    Reply,
    ToolCall,
    Wishes,
    estimate_tokens,
)
from rolecall_server.model.continuing import whole_reply
from rolecall_server.settings import BudgetSettings
from rolecall_server.store import Asking, Caps, Store
from rolecall_server.store.usage import NANOS
from rolecall_server.team.prices import Prices, show_money
from rolecall_server.workspace import sha256

AskForMore = Callable[[str], Awaitable[bool]]
"""Asks the developer, in a sentence that says what is used up, whether the run may use as much again."""

_REPLY = TypeAdapter(Reply)
_TOKENS_PER_MESSAGE = 16
"""Room for what an endpoint puts around each message."""


async def stop_there(what: str) -> bool:
    """The answer where nobody can be asked."""
    return False


@dataclass
class Allowance:
    """What the developer has allowed a run; shared by all its conversations."""

    n_budgets: int = 1
    """How many times the budget."""
    since_s: float = 0.0
    """When the run began, or was taken up again; 0: when it was stored."""
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass
class StoredCalls(Relay):
    """A model client that keeps a run's calls within its budget and stores what each sent and what came back.

    A call that was answered before for the same purpose is not made again: its stored reply is the answer.
    """

    client: ModelClient
    store: Store
    run_id: str
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    reply_tokens: int = 0
    """How many tokens the client lets a reply have."""
    ask_for_more: AskForMore = stop_there
    covers: Covers = field(default_factory=Covers)
    """Stand for the secrets in what is shown; the store gets no others."""
    role: str = ""
    """Who asks; empty: the role of the run."""
    prices: Prices = field(default_factory=Prices)
    parameters: Parameters = field(default_factory=Parameters)
    """How the role's model shall answer, where the client was not made for that role alone."""
    purpose: str = ""
    """The step of a team's run that asks; empty where a role works alone, whose calls are all made."""
    allowance: Allowance = field(default_factory=Allowance)
    _n_recalled: dict[str, int] = field(default_factory=dict[str, int])
    """How many stored replies were given, by request."""

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """The client's reply, stored. Secrets are covered on the way out and uncovered on the way back.

        A reply in prose that reaches its length limit is continued; each part is a call of its own.

        Raises:
            BudgetSpent: the call might pass a limit, and the developer allowed no more.
            RolecallError: the model failed.
        """
        wishes = replace(wishes, parameters=wishes.parameters.over(self.parameters))

        async def ask(asked: Sequence[ChatMessage]) -> Reply:
            return await self._call(asked, wishes)

        return await (whole_reply(ask, messages) if wishes.shape is None else ask(messages))

    async def _call(self, messages: Sequence[ChatMessage], wishes: Wishes) -> Reply:
        shown = [self._covered(message) for message in messages]
        request = json.dumps([_stored(message) for message in shown])
        if (told := self._recalled(request)) is not None:
            return self._uncovered(told, wishes)
        own_limit = wishes.parameters.reply_tokens
        reply_tokens = self.reply_tokens if own_limit is None else own_limit
        extras = _extras(wishes)
        prompt_tokens = most_tokens(shown) + tokens_of_extras(extras)
        call = await self._reserve(
            request,
            prompt_tokens + reply_tokens,
            self._asking(messages, shown, extras, self.prices.cost(prompt_tokens, reply_tokens)),
        )
        try:
            async with asyncio.timeout(await self._seconds_left()):
                reply = await self.client.complete(shown, wishes)
        except BaseException as error:
            costs_nothing = isinstance(error, UserMustAct | ConnectionFailed | RateLimited)
            said = f"{type(error).__name__}: {error}"
            self.store.end_call(call, None, said, tokens=(0, 0) if costs_nothing else None)
            if isinstance(error, ReplyCut):
                error.said = self.covers.uncover(error.said)
            if isinstance(error, TimeoutError):
                raise BudgetSpent(self._time_is_up()) from None
            raise
        counted = reply.prompt_tokens is not None and reply.completion_tokens is not None
        tokens = (reply.prompt_tokens or 0, reply.completion_tokens or 0) if counted else None
        self.store.end_call(call, json.dumps(asdict(reply)), model=reply.model, tokens=tokens)
        return self._uncovered(reply, wishes)

    def _asking(
        self, messages: Sequence[ChatMessage], shown: Sequence[ChatMessage], extras: Sequence[str], most_nanos: int
    ) -> Asking:
        """What the store keeps of a call beside the request: who asks whom, what is covered, what it may cost."""
        return Asking(
            role=self.role,
            endpoint=self.label,
            opening=fingerprint(messages),
            estimated=sum(map(estimate_tokens, (*(message.text for message in shown), *extras))),
            covered=json.dumps(self.covers.kinds_in("\n".join(message.text for message in shown))),
            prompt_nanos=self.prices.prompt_nanos,
            completion_nanos=self.prices.completion_nanos,
            most_nanos=most_nanos,
        )

    def _covered(self, message: ChatMessage) -> ChatMessage:
        cover = self.covers.cover
        return replace(message, text=cover(message.text), calls=self._each(message.calls, cover))

    @staticmethod
    def _each(calls: Sequence[ToolCall], change: Callable[[str], str]) -> tuple[ToolCall, ...]:
        return tuple(replace(call, arguments=change(call.arguments)) for call in calls)

    def _uncovered(self, reply: Reply, wishes: Wishes) -> Reply:
        """*reply* with the secrets put back; in JSON, as the arguments of a tool are and a shape is, as it has them."""
        in_json = partial(self.covers.uncover, in_json=True)
        uncover = in_json if wishes.shape is not None else self.covers.uncover
        return replace(reply, text=uncover(reply.text), calls=self._each(reply.calls, in_json))

    def _recalled(self, request: str) -> Reply | None:
        """The stored reply to *request*; the second one where it is asked for the second time."""
        if not self.purpose:
            return None
        n_given = self._n_recalled.get(request, 0)
        stored = self.store.answers_to(self.run_id, self.purpose, request)
        self._n_recalled[request] = n_given + 1
        return _REPLY.validate_json(stored[n_given]) if n_given < len(stored) else None

    async def _reserve(self, request: str, tokens: int, asking: Asking) -> int:
        """The number of a call for which *tokens* are set aside."""
        while (call := self._reserved(request, tokens, asking)) is None:
            spent = self.store.spent(self.run_id)
            cost = f" for {show_money(spent.nanos)}" if spent.nanos else ""
            more = f" and cost {show_money(asking.most_nanos)}" if asking.most_nanos else ""
            what = (
                f"The run has used {spent.tokens:,} tokens in {spent.n_calls} calls{cost}, and its next call may take "
                f"{tokens:,} more{more}; that would pass a limit of yours ({self._limits()})."
            )
            await self._ask(what)
        return call

    def _reserved(self, request: str, tokens: int, asking: Asking) -> int | None:
        caps = self._caps()
        return self.store.reserve_call(self.run_id, request, tokens, caps, asking=asking, purpose=self.purpose)

    async def _seconds_left(self) -> float | None:
        if not self.budget.seconds_per_run:
            return None
        started_at_s = self.allowance.since_s or self.store.run(self.run_id).started_at_s
        while (left := started_at_s + self.allowance.n_budgets * self.budget.seconds_per_run - time.time()) <= 0:
            await self._ask(self._time_is_up())
        return left

    async def _ask(self, what: str) -> None:
        n_budgets = self.allowance.n_budgets
        async with self.allowance.asking:
            if self.allowance.n_budgets > n_budgets:
                return  # another conversation of the run asked meanwhile
            if not await self.ask_for_more(what):
                raise BudgetSpent(what)
            self.allowance.n_budgets += 1

    def _caps(self) -> Caps:
        n, budget = self.allowance.n_budgets, self.budget
        return Caps(
            n * budget.tokens_per_run,
            n * budget.calls_per_run,
            n * budget.tokens_per_day,
            n * round(budget.money_per_run * NANOS),
            n * round(budget.money_per_day * NANOS),
        )

    def _limits(self) -> str:
        named = {
            "tokens a run": self.budget.tokens_per_run,
            "calls a run": self.budget.calls_per_run,
            "tokens a day": self.budget.tokens_per_day,
            "in money a run": self.budget.money_per_run,
            "in money a day": self.budget.money_per_day,
        }
        return ", ".join(f"{limit:,} {name}" for name, limit in named.items() if limit)

    def _time_is_up(self) -> str:
        return f"The run has asked its model for {self.allowance.n_budgets * self.budget.seconds_per_run:,} seconds."


def most_tokens(messages: Sequence[ChatMessage]) -> int:
    """So many tokens *messages* can take at most: no tokenizer makes more tokens than there are bytes."""
    said = [message.text for message in messages]
    asked = [f"{call.name}{call.arguments}" for message in messages for call in message.calls]
    return sum(len(text.encode("utf-8", "surrogatepass")) + _TOKENS_PER_MESSAGE for text in (*said, *asked))


def tokens_of_extras(extras: Sequence[str]) -> int:
    """So many tokens a shape and tools can take at most, however the endpoint shows them to the model.

    Twice their size, as some endpoints show both the schema and what they make of it.
    """
    return sum(2 * len(text) + 8 * _TOKENS_PER_MESSAGE for text in extras)


def fingerprint(messages: Sequence[ChatMessage]) -> str:
    """By what is said before the model first speaks; every call of a conversation has the same."""
    opening = itertools.takewhile(lambda message: message.role != "assistant", messages)
    return sha256("\0".join(f"{message.role}\0{message.text}" for message in opening))


def _extras(wishes: Wishes) -> list[str]:
    """What an endpoint may tell the model of a shape and of tools."""
    told = [json.dumps(wishes.shape.schema)] if wishes.shape is not None else []
    return [*told, *(f"{tool.description}{json.dumps(tool.arguments.model_json_schema())}" for tool in wishes.tools)]


def _stored(message: ChatMessage) -> dict[str, object]:
    """*message* as JSON, without what it has not."""
    return {key: value for key, value in asdict(message).items() if value or key in ("role", "text")}
