"""Whatever happens to calls, and in whatever order: what is set aside and used adds up, and keeps to the limit."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from rolecall_server.errors import BudgetSpent, ReplyCut
from rolecall_server.model import NO_WISHES, ChatMessage, Reply, Wishes
from rolecall_server.settings import BudgetSettings
from rolecall_server.store import Asking, Caps, Spent, Store
from rolecall_server.team.model_calls.budgeted import StoredCalls
from support.stores import open_store

LIMIT = 10_000
TOKENS = st.integers(0, 6000)


class Ledger(RuleBasedStateMachine):
    """One run whose calls begin and end; its process may be killed and the run taken up again."""

    under_way = Bundle("under_way")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = open_store(Path(self.folder.name) / "rolecall.db")
        self.run_id = self.store.add_run(Path("/root"), "team", "", "")
        self.set_aside: dict[int, int] = {}
        self.sent: dict[int, int] = {}
        self.used = 0
        self.n_calls = 0

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    @rule(target=under_way, tokens=TOKENS, sent=st.integers(0, 900))
    def reserve(self, tokens: int, sent: int) -> int:
        call = self.store.reserve_call(self.run_id, "[]", tokens, Caps(LIMIT), asking=Asking(estimated=sent))
        fits = self.used + sum(self.set_aside.values()) + tokens <= LIMIT
        assert (call is not None) == fits, "what is used and under way alone decides"
        if call is None:
            return -1
        self.set_aside[call], self.sent[call] = tokens, sent
        self.n_calls += 1
        return call

    @rule(call=consumes(under_way), counted=st.tuples(TOKENS, TOKENS))
    def settle(self, call: int, counted: tuple[int, int]) -> None:
        if self.set_aside.pop(call, None) is not None:
            self.store.end_call(call, "{}", tokens=counted)
            self.used += sum(counted)

    @rule(call=consumes(under_way), received=st.integers(0, 900))
    def break_off(self, call: int, received: int) -> None:
        if self.set_aside.pop(call, None) is not None:
            self.store.end_call(call, None, "ReplyCut: half", charged=(self.sent[call], received))
            self.used += self.sent[call] + received

    @rule()
    def die_and_go_on(self) -> None:
        self.store.close()
        self.store = open_store(self.store.path)
        self.store.end_run(self.run_id, "interrupted")
        self.store.resume_run(self.run_id)
        self.used += sum(self.sent[call] for call in self.set_aside)
        self.set_aside.clear()

    @invariant()
    def adds_up(self) -> None:
        under_way = sum(self.set_aside.values())
        spent = self.store.spent(self.run_id)
        assert spent == Spent(self.used + under_way, self.n_calls, 0, under_way)
        assert spent.used == self.used


TestLedger = Ledger.TestCase
TestLedger.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)


@dataclass(frozen=True)
class Turn:
    """How one call goes."""

    length: int
    """Of the reply, in tokens; what is set aside for it is 100."""
    waits: int
    """How many other turns of the loop it takes."""
    breaks: bool


class Busy:
    """A model whose calls take their time, and may break off."""

    label = "busy"

    def __init__(self, store: Store, run_id: str) -> None:
        self.store, self.run_id = store, run_id
        self.highest = 0

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        self.highest = max(self.highest, self.store.spent(self.run_id).tokens)
        length, waits, breaks = map(int, messages[0].text.split())
        for _ in range(waits):
            await asyncio.sleep(0)
        if breaks:
            raise ReplyCut("half")
        return Reply("yes", "m", 6, length)

    async def aclose(self) -> None:
        """Nothing is held."""


@given(
    turns=st.lists(st.builds(Turn, st.integers(0, 100), st.integers(0, 4), st.booleans()), min_size=1, max_size=12),
    limit=st.integers(150, 800),
)
@settings(max_examples=40, deadline=None)
def test_calls_made_at_the_same_time_keep_to_the_limit_and_stop_only_where_it_is_met(
    turns: list[Turn], limit: int
) -> None:
    async def run_all(store: Store) -> None:
        run_id = store.add_run(Path("/root"), "team", "", "")
        model = Busy(store, run_id)
        budget = BudgetSettings(tokens_per_run=limit, calls_per_run=0, seconds_per_run=0)
        calls = StoredCalls(model, store, run_id, budget, 100)
        asked = (calls.complete([ChatMessage("user", f"{t.length} {t.waits} {int(t.breaks)}")]) for t in turns)
        ended = await asyncio.gather(*asked, return_exceptions=True)
        spent = store.spent(run_id)
        assert model.highest <= limit
        assert spent.under_way == 0
        n_stopped = sum(isinstance(each, BudgetSpent) for each in ended)
        assert all(isinstance(each, Reply | BudgetSpent | ReplyCut) for each in ended)
        assert not n_stopped or spent.used + 110 > limit, "nobody stops while there is room for another call"

    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "rolecall.db")
        try:
            asyncio.run(run_all(store))
        finally:
            store.close()
