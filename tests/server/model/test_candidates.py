"""Several answers to one question, as far as the model and the budget go."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rolecall_server.errors import BudgetSpent, ReplyCut
from rolecall_server.model import ChatMessage, Parameters, Wishes, ask_several
from rolecall_server.model.endpoint import Endpoint
from rolecall_server.model.openai_chat import OpenAIChat
from rolecall_server.settings import BudgetSettings
from rolecall_server.team.calls import StoredCalls
from support.chat_server import ChatServer
from support.scripted_model import ScriptedModel
from support.stores import open_store

QUESTION = [ChatMessage("user", "Well?")]


async def test_each_candidate_has_a_seed_of_its_own_and_equal_ones_are_given_once() -> None:
    def script(body: Mapping[str, Any]) -> str:
        return f"answer {min(body['seed'], 8)}"

    with ChatServer(script) as server:
        client = OpenAIChat(Endpoint(server.base_url), "m", 5)
        replies = await ask_several(client, QUESTION, 4, Wishes(parameters=Parameters(seed=6, temperature=1)))
        await client.aclose()
    assert sorted(reply.text for reply in replies) == ["answer 6", "answer 7", "answer 8"]
    assert sorted(body["seed"] for body in server.asked) == [6, 7, 8, 9]


async def test_a_candidate_that_fails_is_missing_and_all_that_fail_are_an_error() -> None:
    replies = await ask_several(ScriptedModel([ReplyCut("half"), "whole"]), QUESTION, 2)
    assert [reply.text for reply in replies] == ["whole"]
    with pytest.raises(ReplyCut):
        await ask_several(ScriptedModel([ReplyCut("half"), ReplyCut("half")]), QUESTION, 2)


async def test_a_bug_is_not_taken_for_a_missing_candidate() -> None:
    with pytest.raises(KeyError):
        await ask_several(ScriptedModel([KeyError("bug"), "whole"]), QUESTION, 2)


async def test_the_budget_bounds_how_many_there_are(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    budget = BudgetSettings(calls_per_run=2)
    calls = StoredCalls(ScriptedModel(["a", "b"]), store, store.add_run(tmp_path, "engineer", "", ""), budget)
    assert len(await ask_several(calls, QUESTION, 5)) == 2
    with pytest.raises(BudgetSpent):
        await ask_several(calls, QUESTION, 5)
