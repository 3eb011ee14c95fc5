"""What a run says to a model is stored first, holds no secret and stays within a budget."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel

from rolecall_server.errors import BudgetSpent, KeyRefused, ReplyCut
from rolecall_server.lsp.stdio import CoveringFormatter
from rolecall_server.model import NO_WISHES, ChatMessage, Reply, ToolCall, ToolLimits, ToolSpec, Wishes, use_tools
from rolecall_server.settings import BudgetSettings
from rolecall_server.store import Spent
from rolecall_server.team.model_calls.budgeted import AskForMore, StoredCalls, stop_there
from rolecall_server.team.model_calls.prices import Prices
from support.scripted_model import ScriptedModel
from support.secrets import FORMS, PLACES, made, placed, telling_part
from support.stores import open_store

SECRET = "ghp_" + "a1B2" * 9


async def test_a_secret_reaches_neither_the_model_nor_the_store_and_the_edit_still_fits(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    run_id = store.add_run(tmp_path, "engineer", "", "")
    model = ScriptedModel(["SEARCH\nKEY = 'REDACTED_GITHUB_TOKEN_1'\n"])
    calls = StoredCalls(model, store, run_id)
    reply = await calls.complete([ChatMessage("user", f"KEY = '{SECRET}'\n")])
    assert [message.text for message in model.asked[0]] == ["KEY = 'REDACTED_GITHUB_TOKEN_1'\n"]
    assert reply.text == f"SEARCH\nKEY = '{SECRET}'\n"
    (stored,) = store.calls(run_id)
    assert SECRET not in f"{stored.request}{stored.reply}"


async def test_what_a_tool_finds_is_covered_and_what_a_tool_is_asked_is_uncovered(tmp_path: Path) -> None:
    found: list[str] = []

    class Text(BaseModel):
        text: str

    async def find(what: Text) -> str:
        found.append(what.text)
        return f"TOKEN = '{SECRET}'"

    asks = Reply("", "m", 1, 1, (ToolCall("c", "find", '{"text": "REDACTED_GITHUB_TOKEN_1"}'),))
    store = open_store(tmp_path / "rolecall.db")
    model = ScriptedModel([asks, "Found."])
    calls = StoredCalls(model, store, store.add_run(tmp_path, "engineer", "", ""))
    question = [ChatMessage("user", f"Where is '{SECRET}'?")]
    await use_tools(calls, question, [ToolSpec("find", "Finds a text.", Text, find)])
    assert found == [SECRET]
    assert "REDACTED_GITHUB_TOKEN_1" in model.asked[1][-1].text
    assert SECRET not in repr(model.asked)
    assert SECRET not in "".join(f"{call.request}{call.reply}" for call in store.calls(calls.run_id))


async def test_a_tool_loop_without_end_stays_within_the_budget(tmp_path: Path) -> None:
    class Nothing(BaseModel):
        n: int

    async def look(what: Nothing) -> str:
        return "x" * 50

    endless = [Reply("", "m", 40, 10, (ToolCall("c", "look", f'{{"n": {n}}}'),)) for n in range(100)]
    model = ScriptedModel(endless)
    calls = calls_with(tmp_path, model, tokens_per_run=900)
    with pytest.raises(BudgetSpent):
        await use_tools(calls, QUESTION, [ToolSpec("look", "Looks.", Nothing, look)], limits=ToolLimits(rounds=99))
    assert calls.store.spent(calls.run_id).tokens <= 900
    assert 3 <= len(model.asked) < 99


def test_a_log_line_with_a_traceback_holds_no_secret() -> None:
    try:
        raise KeyError(SECRET)
    except KeyError as error:
        record = logging.LogRecord("x", logging.ERROR, "", 1, "lost %s", (SECRET,), (KeyError, error, None))
    line = CoveringFormatter().format(record)
    assert "KeyError: 'REDACTED_GITHUB_TOKEN_1'" in line
    assert SECRET not in line


async def test_a_hundred_secrets_wherever_they_stand_reach_no_model_no_store_and_no_log(tmp_path: Path) -> None:
    places = itertools.cycle(PLACES)
    cases = [(made(name, seed), next(places)) for seed in range(3) for name in FORMS][:100]
    assert len({secret for secret, _ in cases}) == 100
    texts = [placed(secret, place) for secret, place in cases]
    model = ScriptedModel(["Understood."] * 5)
    store = open_store(tmp_path / "rolecall.db")
    calls = StoredCalls(model, store, store.add_run(tmp_path, "engineer", "", ""))
    for n in range(5):
        await calls.complete([ChatMessage("system", "s"), *(ChatMessage("user", text) for text in texts[n::5])])
    sent = "".join(message.text for asked in model.asked for message in asked)
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("rolecall.db*")).decode("utf-8", "replace")
    logged = "".join(
        CoveringFormatter().format(logging.LogRecord("x", logging.ERROR, "", 1, "%s", (text,), None)) for text in texts
    )
    for where in (sent, stored, logged):
        assert [secret for secret, _ in cases if telling_part(secret) in where] == []
    assert sum(sum(json.loads(call.covered).values()) for call in store.calls(calls.run_id)) == 100


def calls_with(tmp_path: Path, model: ScriptedModel, ask: AskForMore = stop_there, **limits: float) -> StoredCalls:
    """Calls of a new run with these limits alone."""
    store = open_store(tmp_path / "rolecall.db")
    budget = BudgetSettings(**{"tokens_per_run": 0, "calls_per_run": 0, "seconds_per_run": 0, **limits})
    return StoredCalls(model, store, store.add_run(tmp_path, "engineer", "", ""), budget, 100, ask)


QUESTION = [ChatMessage("user", "x" * 84)]
"""28 tokens by estimate, for which 35 are set aside: 135 with the reply."""


async def test_a_call_that_might_pass_the_limit_is_not_made(tmp_path: Path) -> None:
    model = ScriptedModel(["yes", "yes"])
    calls = calls_with(tmp_path, model, tokens_per_run=163)
    await calls.complete(QUESTION)
    with pytest.raises(BudgetSpent, match="has used 29 tokens in 1 call, and its next call may take 135 more") as spent:
        await calls.complete(QUESTION)
    assert "`rolecall.budget.tokensPerRun`, 163" in spent.value.what
    assert "`rolecall resume r1 --set budget.tokensPerRun=326` goes on." in spent.value.next_step
    assert len(model.asked) == 1


async def test_a_run_of_the_team_is_told_how_to_go_on(tmp_path: Path) -> None:
    calls = replace(calls_with(tmp_path, ScriptedModel(["yes"]), calls_per_run=1), purpose="a step")
    await calls.complete(QUESTION)
    with pytest.raises(BudgetSpent) as spent:
        await calls.complete([*QUESTION, *QUESTION])
    assert "`rolecall resume r1 --set budget.callsPerRun=3` goes on." in spent.value.next_step


async def test_what_the_endpoint_counted_takes_the_place_of_what_was_set_aside(tmp_path: Path) -> None:
    model = ScriptedModel([Reply("yes", "m", 30, 5)] * 3)
    calls = calls_with(tmp_path, model, tokens_per_run=205)
    for _ in range(3):
        await calls.complete(QUESTION)
    assert calls.store.spent(calls.run_id) == Spent(105, 3, 0)


async def test_the_developer_is_asked_at_a_limit_and_can_allow_as_much_again(tmp_path: Path) -> None:
    questions: list[str] = []

    async def allow_once(what: str) -> float:
        questions.append(what)
        return 1 if len(questions) == 1 else 0

    calls = calls_with(tmp_path, ScriptedModel(["yes"] * 3), allow_once, calls_per_run=1)
    await calls.complete(QUESTION)
    await calls.complete(QUESTION)
    with pytest.raises(BudgetSpent, match="callsPerRun`, 1"):
        await calls.complete(QUESTION)
    assert len(questions) == 2


async def test_calls_made_at_the_same_time_cannot_pass_a_limit_together(tmp_path: Path) -> None:
    model = ScriptedModel([Reply("yes", "m", 35, 100)] * 10)
    calls = calls_with(tmp_path, model, tokens_per_run=300)
    ended = await asyncio.gather(*(calls.complete(QUESTION) for _ in range(5)), return_exceptions=True)
    assert sum(isinstance(each, BudgetSpent) for each in ended) == 3
    assert len(model.asked) == 2


async def test_a_call_waits_for_what_others_under_way_may_give_back(tmp_path: Path) -> None:
    class Slow(ScriptedModel):
        async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
            await asyncio.sleep(0)
            return await super().complete(messages, wishes)

    calls = calls_with(tmp_path, Slow([Reply("yes", "m", 28, 2)] * 5), tokens_per_run=256)
    replies = await asyncio.gather(*(calls.complete(QUESTION) for _ in range(5)))
    assert len(replies) == 5, "one at a time, each used 30 of the 135 that were set aside for it"
    assert calls.store.spent(calls.run_id) == Spent(150, 5, 0)


async def test_what_is_set_aside_for_a_reply_is_what_such_replies_took(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    run_id = store.add_run(tmp_path, "team", "", "")

    async def asked(length: int, **kind: str) -> int:
        """Have one call made whose reply has that length; what was set aside for it."""
        seen: list[int] = []

        class Watched(ScriptedModel):
            async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
                seen.append(store.spent(run_id).under_way)
                return await super().complete(messages, wishes)

        model = Watched([Reply("yes", "m", 28, length)])
        named = {"role": "architect", "kind": "write", **kind}
        await StoredCalls(model, store, run_id, reply_tokens=32_000, role=named["role"], kind=named["kind"]).complete(
            QUESTION
        )
        return seen[0] - 35

    assert await asked(9000) == 7000, "a guess, before anything is known"
    assert await asked(100) == 9000, "the longest of a few"
    for length in [*range(200, 380, 10)]:
        await asked(length)
    assert await asked(50_000) == 370, "the 95th percentile of twenty is the nineteenth in size"
    assert await asked(1, role="reviewer") == 7000
    assert await asked(1, kind="answer") == 4000
    for _ in range(3):
        await asked(50_000)
    assert await asked(1) == 32_000, "no reply may be longer than its limit"


MILLIONTHS = Prices(1_000, 3_000)
"""So that 335,000 billionths are set aside for `QUESTION`: 35 tokens and 100 of the reply."""


async def test_a_call_that_might_cost_more_than_allowed_is_not_made(tmp_path: Path) -> None:
    model = ScriptedModel([Reply("yes", "m", 50, 10)] * 9)
    calls = replace(calls_with(tmp_path, model, money_per_run=0.0005), prices=MILLIONTHS)
    for _ in range(3):  # for each 335,000 were set aside, and it cost 80,000
        await calls.complete(QUESTION)
    with pytest.raises(
        BudgetSpent, match=r"in 3 calls for 0\.00024, .* 135 more and cost 0\.00034; .*moneyPerRun`, 0\.0005"
    ):
        await calls.complete(QUESTION)
    assert calls.store.spent(calls.run_id) == Spent(180, 3, 240_000)


async def test_calls_made_at_the_same_time_cannot_cost_more_than_allowed_together(tmp_path: Path) -> None:
    model = ScriptedModel([Reply("yes", "m", 35, 100)] * 10)
    calls = replace(calls_with(tmp_path, model, money_per_day=0.001), prices=MILLIONTHS)
    ended = await asyncio.gather(*(calls.complete(QUESTION) for _ in range(5)), return_exceptions=True)
    assert sum(isinstance(each, BudgetSpent) for each in ended) == 3
    assert calls.store.spent(calls.run_id).nanos == 670_000


async def test_where_no_price_is_known_money_limits_nothing(tmp_path: Path) -> None:
    calls = calls_with(tmp_path, ScriptedModel(["yes"] * 3), money_per_run=0.000001)
    for _ in range(3):
        await calls.complete(QUESTION)


async def test_runs_of_one_day_share_the_days_limit(tmp_path: Path) -> None:
    first = calls_with(tmp_path, ScriptedModel(["yes"]), tokens_per_day=150)
    await first.complete(QUESTION)
    second = calls_with(tmp_path, ScriptedModel(["yes"]), tokens_per_day=150)
    with pytest.raises(BudgetSpent, match="tokensPerDay`, 150"):
        await second.complete(QUESTION)


class Breaking(ScriptedModel):
    """Says half of its replies, then breaks off as the script has it."""

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        assert wishes.on_text is not None
        wishes.on_text("half of it" * 7)
        return await super().complete(messages, wishes)


async def test_a_refused_call_costs_nothing_and_one_that_broke_off_what_it_sent_and_what_had_come(
    tmp_path: Path,
) -> None:
    calls = calls_with(tmp_path, Breaking([KeyRefused("no"), ReplyCut("half")]))
    for error, tokens in ((KeyRefused, 0), (ReplyCut, 28 + 20)):
        with pytest.raises(error):
            await calls.complete(QUESTION)
        assert calls.store.spent(calls.run_id) == Spent(tokens, calls.store.spent(calls.run_id).n_calls, 0)


async def test_a_call_that_is_cancelled_is_charged_with_what_it_sent(tmp_path: Path) -> None:
    asked = asyncio.Event()

    class Endless(ScriptedModel):
        async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

    calls = calls_with(tmp_path, Endless([]))
    task = asyncio.create_task(calls.complete(QUESTION))
    await asked.wait()
    assert calls.store.spent(calls.run_id) == Spent(135, 1, 0, under_way=135)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert calls.store.spent(calls.run_id) == Spent(28, 1, 0)


async def test_a_call_for_which_no_time_was_left_is_charged_with_nothing(tmp_path: Path) -> None:
    calls = calls_with(tmp_path, ScriptedModel([]), seconds_per_run=1)
    calls.allowance.since_s -= 1
    with pytest.raises(BudgetSpent, match="secondsPerRun"):
        await calls.complete(QUESTION)
    assert calls.store.spent(calls.run_id) == Spent(0, 1, 0)


async def test_a_clock_that_is_set_takes_nothing_of_the_time_of_a_run(tmp_path: Path) -> None:
    calls = calls_with(tmp_path, ScriptedModel(["It is a."]), seconds_per_run=3_600)
    with calls.store.connection as connection:
        connection.execute("UPDATE run SET started_at = started_at - 86400")  # before somebody set it, it said this
    assert (await calls.complete(QUESTION)).text == "It is a."


async def test_the_time_of_a_run_ends_a_call_that_is_under_way(tmp_path: Path) -> None:
    class Slow(ScriptedModel):
        async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
            await asyncio.sleep(60)
            raise AssertionError

    with pytest.raises(BudgetSpent, match="for 1 seconds"):
        await calls_with(tmp_path, Slow([]), seconds_per_run=1).complete(QUESTION)
