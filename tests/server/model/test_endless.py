"""Whatever has no end is ended: repetition, replies beyond their limit, and an endpoint that only fails."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import integers, text

from rolecall_server.errors import BudgetSpent, ConnectionFailed, ProviderUnavailable, ReplyCut, RolecallError
from rolecall_server.model import ChatMessage, Recorder, ReplayModel, Reply
from rolecall_server.model.chat_completions.openai_chat import OpenAIChat
from rolecall_server.model.chat_completions.repetition import RepetitionWatch
from rolecall_server.model.endpoint import Endpoint
from rolecall_server.model.selection.breaker import Breaker, CircuitBreaker
from rolecall_server.settings import BudgetSettings
from rolecall_server.team.model_calls.budgeted import StoredCalls
from support.chat_server import ChatServer, floods, pings, says
from support.scripted_model import ScriptedModel
from support.stores import open_store

QUESTION = [ChatMessage("user", "Well?")]
REMOTE = Endpoint("https://models.example/v1")


def stops(pieces: list[str]) -> int | None:
    """After how many characters the watch speaks up, if it does."""
    watch, n_characters = RepetitionWatch(), 0
    for piece in pieces:
        n_characters += len(piece)
        if watch.repeats(piece):
            return n_characters
    return None


@given(unit=text(min_size=1, max_size=400), n_characters=integers(1, 50))
def test_what_only_repeats_itself_is_noticed_soon_however_it_is_cut(unit: str, n_characters: int) -> None:
    endless = unit * (6_000 // len(unit) + 1)
    pieces = [endless[start : start + n_characters] for start in range(0, len(endless), n_characters)]
    assert (stops(pieces) or 10_000) <= 4_500


def test_code_that_repeats_a_lot_is_let_pass() -> None:
    rows = [f"    ({n}, {n * n}, 'a row like all the others'),\n" for n in range(500)]
    ruler = ["# " + "-" * 116 + "\n"] * 8
    blank = ["\n"] * 50
    assert stops([*rows, *ruler, *blank, *rows]) is None


def test_what_was_said_before_a_loop_does_not_hide_it() -> None:
    assert stops(["Here is the plan. " * 3, "So. ", *["and again "] * 1000]) is not None


async def test_a_reply_far_beyond_its_limit_is_stopped_and_costs_what_was_set_aside(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    run_id = store.add_run(tmp_path, "engineer", "", "")
    budget = BudgetSettings(tokens_per_run=1000)
    with ChatServer(floods(30)) as server:
        client = OpenAIChat(Endpoint(server.base_url), "m", 20, reply_tokens=200)
        calls = StoredCalls(client, store, run_id, budget, 200)
        errors: list[RolecallError] = []
        while not errors or not isinstance(errors[-1], BudgetSpent):
            with pytest.raises(RolecallError) as caught:
                await calls.complete(QUESTION)
            errors.append(caught.value)
        await calls.aclose()
    assert {type(error) for error in errors[:-1]} == {ReplyCut}
    assert store.spent(run_id).tokens <= 1000
    assert store.spent(run_id).n_calls == len(errors) - 1 == 4


async def test_pings_for_ever_end_with_the_time_of_the_run(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    run_id = store.add_run(tmp_path, "engineer", "", "")
    with ChatServer(pings()) as server:
        client = OpenAIChat(Endpoint(server.base_url), "m", 20)
        calls = StoredCalls(client, store, run_id, BudgetSettings(seconds_per_run=1))
        with pytest.raises(BudgetSpent):
            await calls.complete(QUESTION)
        await calls.aclose()


# A reply that its length ends


async def test_a_reply_cut_by_its_length_is_continued_and_each_part_is_in_the_ledger(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    run_id = store.add_run(tmp_path, "engineer", "", "")
    parts = [says("one two three", finish_reason="length"), says("two three four ", finish_reason="length"), "five."]
    recording = tmp_path / "talk.jsonl"
    with ChatServer(parts) as server:
        calls = StoredCalls(Recorder(OpenAIChat(Endpoint(server.base_url), "m", 5), recording), store, run_id)
        reply = await calls.complete(QUESTION)
        await calls.aclose()
    assert reply.text == "one two three four five."
    assert len(store.calls(run_id)) == 3
    assert [message["role"] for message in server.asked[2]["messages"]] == ["user", "assistant", "user"]
    assert server.asked[2]["messages"][1]["content"] == "one two three four "
    again = StoredCalls(ReplayModel(recording), store, store.add_run(tmp_path, "engineer", "", ""))
    assert (await again.complete(QUESTION)).text == reply.text


async def test_a_reply_that_never_ends_is_given_up_after_two_continuations(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    with ChatServer(says("and so on ", finish_reason="length")) as server:
        calls = StoredCalls(
            OpenAIChat(Endpoint(server.base_url), "m", 5), store, store.add_run(tmp_path, "engineer", "", "")
        )
        with pytest.raises(ReplyCut, match="length limit"):
            await calls.complete(QUESTION)
        await calls.aclose()
    assert len(server.asked) == 3


# An endpoint that only fails


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def rested(replies: list[Any], endpoint: Endpoint = REMOTE) -> tuple[CircuitBreaker, ScriptedModel, Clock]:
    model, clock = ScriptedModel(replies), Clock()
    return CircuitBreaker(model, endpoint, Breaker(now=clock)), model, clock


async def outcome(client: CircuitBreaker) -> str:
    try:
        return (await client.complete(QUESTION)).text
    except RolecallError as error:
        return f"{error.code}: {error.what}"


DOWN = ProviderUnavailable("It is down (status 503).")


async def test_an_endpoint_that_failed_three_times_is_not_asked_for_a_while() -> None:
    client, model, clock = rested([DOWN, DOWN, DOWN, "well again", "and still"])
    for _ in range(3):
        await outcome(client)
    told = await outcome(client)
    assert re.search(r"failed 3 times in a row and is not asked before \d\d:\d\d:\d\d.*status 503", told)
    assert len(model.asked) == 3
    clock.now = 21
    assert [await outcome(client), await outcome(client)] == ["well again", "and still"]


async def test_after_the_rest_one_call_tries_while_others_wait_for_its_verdict() -> None:
    client, model, clock = rested([DOWN] * 5)
    for _ in range(3):
        await outcome(client)
    clock.now = 21
    told = await asyncio.gather(*(outcome(client) for _ in range(4)))
    assert sum("not asked before" in each for each in told) >= 2
    assert len(model.asked) <= 5
    n_asked = len(model.asked)
    assert "not asked before" in await outcome(client)
    assert len(model.asked) == n_asked


async def test_failures_far_apart_or_between_successes_do_not_add_up() -> None:
    client, model, clock = rested([DOWN, DOWN, "ok", DOWN, DOWN, DOWN])
    for _ in range(5):
        await outcome(client)
    clock.now = 300
    await outcome(client)
    assert len(model.asked) == 6


async def test_a_call_that_is_cancelled_while_it_tries_does_not_shut_the_endpoint_out() -> None:
    client, _, clock = rested([DOWN, DOWN, DOWN, asyncio.CancelledError(), "well again"])
    for _ in range(3):
        await outcome(client)
    clock.now = 21
    with pytest.raises(asyncio.CancelledError):
        await client.complete(QUESTION)
    assert await outcome(client) == "well again"


async def test_a_local_server_that_is_not_there_may_be_asked_as_often_as_one_likes() -> None:
    gone = ConnectionFailed("Nothing answers there.")
    client, model, _ = rested([gone] * 9 + ["here now"], Endpoint("http://localhost:11434/v1"))
    for _ in range(9):
        await outcome(client)
    assert await outcome(client) == "here now"
    assert len(model.asked) == 10


async def test_a_model_that_answers_badly_is_no_failure_of_its_endpoint() -> None:
    client, model, _ = rested([ReplyCut("half")] * 6 + [Reply("ok", "m", 1, 1)])
    for _ in range(6):
        await outcome(client)
    assert await outcome(client) == "ok"
    assert len(model.asked) == 7
