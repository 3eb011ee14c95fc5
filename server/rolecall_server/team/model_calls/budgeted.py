"""Model calls of a run: within its budget, in the store before anyone acts on them, and without a secret in them."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial

from pydantic import TypeAdapter

from rolecall_server.context.redaction import Covers
from rolecall_server.errors import (
    BudgetSpent,
    ConnectionFailed,
    RateLimited,
    ReplyCut,
    RunPaused,
    SecretsSought,
    UserMustAct,
)
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
from rolecall_server.store.usage import NANOS, today_s, usage
from rolecall_server.team.model_calls.calibration import prompt_tokens_of, reply_tokens_of
from rolecall_server.team.model_calls.prices import Prices, show_money
from rolecall_server.text_work import beside_the_loop
from rolecall_server.workspace import sha256

AskForMore = Callable[[str], Awaitable[float]]
"""Asks the developer, in a sentence that says what is used up, how much more the run may use.

Told in budgets: 1 is as much again, 0 stops the run.
"""

_REPLY = TypeAdapter(Reply)
_UNCOVERING = "Putting covered secrets back"
_TOKENS_PER_MESSAGE = 4
"""The tokens that an endpoint puts around each message.

Source: OpenAI's cookbook, *How to count tokens with tiktoken*: three, and one more for a name.
"""


async def stop_there(what: str) -> float:
    """Allow nothing more: the answer where nobody can be asked."""
    return 0.0


@dataclass
class Allowance:
    """The allowance that the developer has given a run; shared by all its conversations."""

    n_budgets: float = 1
    """The allowance as a multiple of the budget."""
    since_s: float = field(default_factory=time.monotonic)
    """When the run began, or was taken up again, by a clock that nobody sets."""
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    n_under_way: int = 0
    """The number of calls with tokens set aside; they may not use all of them."""
    searches: set[str] = field(default_factory=set[str])
    """The messages in which an encoded secret turned up, by fingerprint."""
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def one_has_ended(self) -> bool:
        """Wait until one of the calls under way has ended; return ``False`` where none is."""
        if not self.n_under_way:
            return False
        await self._ended.wait()
        return True

    def note_end(self) -> None:
        """Have those who wait for room look again."""
        self.n_under_way -= 1
        self._ended.set()
        # A new one, so that who waits from now on waits for the next end.
        self._ended = asyncio.Event()


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
    """The number of tokens that the client lets a reply have."""
    ask_for_more: AskForMore = stop_there
    covers: Covers = field(default_factory=Covers)
    """Stand for the secrets in what is shown; the store gets no others."""
    role: str = ""
    """Who asks; empty: the role of the run."""
    kind: str = ""
    """The kind of work it is for, such as ``write``, by which is known what it will take."""
    prices: Prices = field(default_factory=Prices)
    parameters: Parameters = field(default_factory=Parameters)
    """The parameters of the role's model, where the client was not made for that role alone."""
    purpose: str = ""
    """The step of the run that asks; empty where nothing is taken up again, and all calls are made."""
    is_paused: Callable[[], bool] = lambda: False
    """Tells that the developer wants no further call to be made for now."""
    allowance: Allowance = field(default_factory=Allowance)
    answered: int = 0
    """The number of the call whose reply was given last; 0 before the first."""
    _n_recalled: dict[str, int] = field(default_factory=dict[str, int])
    """The number of stored replies that were given, by request."""

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """Return the client's reply after storing it; secrets are covered in what is sent and put back in what comes
        back.

        A reply in prose that reaches its length limit is continued; each part is a call of its own.

        Raises:
            BudgetSpent: the call might pass a limit, and the developer allowed no more.
            RunPaused: the developer wants no further call for now.
            RolecallError: the model failed.
        """
        wishes = replace(wishes, parameters=wishes.parameters.over(self.parameters))

        async def ask(asked: Sequence[ChatMessage]) -> Reply:
            return await self._call(asked, wishes)

        return await (whole_reply(ask, messages) if wishes.shape is None else ask(messages))

    async def _call(self, messages: Sequence[ChatMessage], wishes: Wishes) -> Reply:
        shown, searches = await beside_the_loop("Covering secrets", self._covered, messages)
        self._stop_search(searches)
        request = json.dumps([_stored(message) for message in shown])
        if (told := self._recalled(request)) is not None:
            return await beside_the_loop(_UNCOVERING, self._uncovered, told, wishes)
        if self.is_paused():
            raise RunPaused.of(self.run_id)
        asking, tokens = self._asking(messages, shown, wishes)
        call = await self._reserve(request, tokens, asking)
        received: list[str] = []
        try:
            reply = await self._answer(shown, wishes, received)
        # A cancelled call as well: else the tokens set aside for it would never be given back.
        except BaseException as error:
            # With these the endpoint was not reached, or refused to answer, so that it charges nothing.
            free = isinstance(error, UserMustAct | ConnectionFailed | RateLimited)
            came = min(estimate_tokens("".join(received)), self._reply_limit(wishes) or sys.maxsize)
            charged = (0, 0) if free else (asking.estimated, came)
            self.store.end_call(call, None, f"{type(error).__name__}: {error}", charged=charged)
            if isinstance(error, ReplyCut):
                error.said = self.covers.uncover(error.said)
            if isinstance(error, TimeoutError):
                raise self._time_is_up() from None
            raise
        else:
            self._store_reply(call, reply, asking)
        finally:
            self.allowance.note_end()
        return await beside_the_loop(_UNCOVERING, self._uncovered, reply, wishes)

    async def _answer(self, shown: Sequence[ChatMessage], wishes: Wishes, received: list[str]) -> Reply:
        """Return the reply of the client; what came of it is in *received*, should it break off."""

        def hear(piece: str) -> None:
            received.append(piece)
            if wishes.on_text is not None:
                wishes.on_text(piece)

        seconds = await self._seconds_left()
        async with asyncio.timeout(seconds):
            return await self.client.complete(shown, replace(wishes, on_text=hear))

    def _store_reply(self, call: int, reply: Reply, asking: Asking) -> None:
        """Store a reply with what it took: as the endpoint counted, else by estimate."""
        counted, charged = None, None
        if reply.prompt_tokens is not None and reply.completion_tokens is not None:
            counted = (reply.prompt_tokens, reply.completion_tokens)
        else:
            said = (reply.text, *(f"{one.name}{one.arguments}" for one in reply.calls))
            charged = (asking.estimated, sum(map(estimate_tokens, said)))
        self.store.end_call(call, json.dumps(asdict(reply)), model=reply.model, tokens=counted, charged=charged)
        self.answered = call

    def _reply_limit(self, wishes: Wishes) -> int:
        """Return how many tokens the reply may have; 0 where there is no limit."""
        own = wishes.parameters.reply_tokens
        return self.reply_tokens if own is None else own

    def _asking(
        self, messages: Sequence[ChatMessage], shown: Sequence[ChatMessage], wishes: Wishes
    ) -> tuple[Asking, int]:
        """Return what the store keeps of a call beside the request, and the tokens to set aside for it."""
        estimated = estimate_prompt(shown) + sum(map(estimate_tokens, _extras(wishes)))
        prompt_tokens = prompt_tokens_of(self.store, self.label, estimated)
        reply_tokens = reply_tokens_of(self.store, self.role, self.kind, self.label, self._reply_limit(wishes))
        asking = Asking(
            role=self.role,
            kind=self.kind,
            endpoint=self.label,
            opening=fingerprint(messages),
            estimated=estimated,
            covered=json.dumps(self.covers.kinds_in("\n".join(message.text for message in shown))),
            prompt_nanos=self.prices.prompt_nanos,
            completion_nanos=self.prices.completion_nanos,
            most_nanos=self.prices.cost(prompt_tokens, reply_tokens),
        )
        return asking, prompt_tokens + reply_tokens

    def _covered(self, messages: Sequence[ChatMessage]) -> tuple[list[ChatMessage], set[str]]:
        """Return *messages* with covers, and by fingerprint those with encoded secrets after a model first spoke."""
        cover = self.covers.cover
        shown = [
            replace(message, text=cover(message.text), calls=self._each(message.calls, cover)) for message in messages
        ]
        # What the repository itself holds encoded is no search for secrets; what the model had run may be one.
        later = itertools.dropwhile(lambda message: message.role != "assistant", messages)
        told = {message.text for message in later if message.role != "assistant"}
        return shown, {sha256(text) for text in told if self.covers.gives_away(text)}

    def _stop_search(self, searches: set[str]) -> None:
        """Note the messages that hold encoded secrets.

        Raises:
            SecretsSought: it is the second one in this run. What they hold is covered each time.
        """
        # A set of fingerprints: each request of a conversation sends the earlier messages again.
        self.allowance.searches |= searches
        if len(self.allowance.searches) > 1:
            raise SecretsSought(
                "What its tests or snippets printed held a secret of the workspace, encoded, for the second time. "
                "It was covered, and the run is stopped."
            )

    @staticmethod
    def _each(calls: Sequence[ToolCall], change: Callable[[str], str]) -> tuple[ToolCall, ...]:
        return tuple(replace(call, arguments=change(call.arguments)) for call in calls)

    def _uncovered(self, reply: Reply, wishes: Wishes) -> Reply:
        """Return *reply* with the secrets put back, escaped as JSON requires in the arguments of a tool and in a reply
        of a given shape.
        """
        in_json = partial(self.covers.uncover, in_json=True)
        uncover = in_json if wishes.shape is not None else self.covers.uncover
        return replace(reply, text=uncover(reply.text), calls=self._each(reply.calls, in_json))

    def _recalled(self, request: str) -> Reply | None:
        """Return the stored reply to *request*; when it is asked again, the next stored reply."""
        if not self.purpose:
            return None
        n_given = self._n_recalled.get(request, 0)
        stored = self.store.answers_to(self.run_id, self.purpose, request)
        self._n_recalled[request] = n_given + 1
        if n_given >= len(stored):
            return None
        self.answered, reply = stored[n_given]
        return _REPLY.validate_json(reply)

    async def _reserve(self, request: str, tokens: int, asking: Asking) -> int:
        """Set *tokens* aside for a call; its number. Nobody is asked while calls under way may give some back.

        Raises:
            BudgetSpent: what was used leaves no room, and the developer allowed no more.
        """
        while (call := self._reserved(request, tokens, asking)) is None:
            if not await self.allowance.one_has_ended():
                await self._ask(self._no_room(tokens, asking.most_nanos))
        self.allowance.n_under_way += 1
        return call

    def _reserved(self, request: str, tokens: int, asking: Asking) -> int | None:
        caps = self._caps()
        return self.store.reserve_call(self.run_id, request, tokens, caps, asking=asking, purpose=self.purpose)

    async def _seconds_left(self) -> float | None:
        if not self.budget.seconds_per_run:
            return None
        allowance, allowed_s = self.allowance, self.budget.seconds_per_run
        while (left_s := allowance.since_s + allowance.n_budgets * allowed_s - time.monotonic()) <= 0:
            await self._ask(self._time_is_up())
        return left_s

    async def _ask(self, spent: BudgetSpent) -> None:
        n_budgets = self.allowance.n_budgets
        async with self.allowance.asking:
            if self.allowance.n_budgets > n_budgets:
                return  # another conversation of the run asked meanwhile
            if (more := await self.ask_for_more(spent.what)) <= 0:
                raise spent
            self.allowance.n_budgets += more

    def _caps(self) -> Caps:
        n, budget = self.allowance.n_budgets, self.budget
        return Caps(
            round(n * budget.tokens_per_run),
            round(n * budget.calls_per_run),
            round(n * budget.tokens_per_day),
            round(n * budget.money_per_run * NANOS),
            round(n * budget.money_per_day * NANOS),
        )

    def _no_room(self, tokens: int, nanos: int) -> BudgetSpent:
        """Return the error that says what is used, which limit is met, and how to go on."""
        spent, (today,) = self.store.spent(self.run_id), usage(self.store, since_s=today_s())
        caps, budget = self._caps(), self.budget
        limits = (
            ("tokensPerRun", caps.tokens_per_run, spent.tokens + tokens, budget.tokens_per_run),
            ("callsPerRun", caps.calls_per_run, spent.n_calls + 1, budget.calls_per_run),
            ("moneyPerRun", caps.nanos_per_run, spent.nanos + nanos, budget.money_per_run),
            ("tokensPerDay", caps.tokens_per_day, today.tokens + tokens, budget.tokens_per_day),
            ("moneyPerDay", caps.nanos_per_day, today.nanos + nanos, budget.money_per_day),
        )
        # A limit of 0 is none.
        share, name, limit = max((wanted / cap, name, limit) for name, cap, wanted, limit in limits if cap)
        # A resumed run begins with one budget, which must hold all that was used, and at least half a limit more.
        enough = limit * math.ceil(share * self.allowance.n_budgets + 0.5)
        cost = f" for {show_money(spent.nanos)}" if spent.nanos else ""
        more = f" and cost {show_money(nanos)}" if nanos else ""
        calls = f"{spent.n_calls} call{'' if spent.n_calls == 1 else 's'}"
        return BudgetSpent(
            f"The run has used {spent.used:,} tokens in {calls}{cost}, and its next call may take "
            f"{tokens:,} more{more}; that would pass your limit `rolecall.budget.{name}`, {limit:,}.",
            f"`rolecall resume {self.run_id} --set budget.{name}={enough:.10g}` goes on. "
            "Or raise the limit in your settings.",
        )

    def _time_is_up(self) -> BudgetSpent:
        seconds = round(self.allowance.n_budgets * self.budget.seconds_per_run)
        return BudgetSpent(
            f"The run has asked its model for {seconds:,} seconds, your limit `rolecall.budget.secondsPerRun`.",
            f"`rolecall resume {self.run_id}` goes on.",
        )


def estimate_prompt(messages: Sequence[ChatMessage]) -> int:
    """Return about how many tokens *messages* take, with what a model asked of tools."""
    asked = (f"{call.name}{call.arguments}" for message in messages for call in message.calls)
    texts = (*(message.text for message in messages), *asked)
    return sum(map(estimate_tokens, texts)) + _TOKENS_PER_MESSAGE * len(messages)


def fingerprint(messages: Sequence[ChatMessage]) -> str:
    """By what is said before the model first speaks; every call of a conversation has the same."""
    opening = itertools.takewhile(lambda message: message.role != "assistant", messages)
    return sha256("\0".join(f"{message.role}\0{message.text}" for message in opening))


def _extras(wishes: Wishes) -> list[str]:
    """Return the texts that an endpoint may tell the model of a shape and of tools."""
    told = [json.dumps(wishes.shape.schema)] if wishes.shape is not None else []
    tools = () if wishes.tools_told else wishes.tools
    return [*told, *(f"{tool.description}{json.dumps(tool.arguments.model_json_schema())}" for tool in tools)]


def _stored(message: ChatMessage) -> dict[str, object]:
    """Return *message* as JSON, without its empty fields."""
    return {key: value for key, value in asdict(message).items() if value or key in ("role", "text")}
