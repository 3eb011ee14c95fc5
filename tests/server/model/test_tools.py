"""A model may ask tools, in rounds that end: by its answer, by a limit, or when it only repeats itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from rolecall_server.errors import FileRefused, ReplyMalformed
from rolecall_server.model import (
    ChatMessage,
    Recorder,
    ReplayModel,
    Reply,
    ToolCall,
    ToolLimits,
    ToolSpec,
    ask_for,
    use_tools,
)
from rolecall_server.model.chat_completions.openai_chat import OpenAIChat
from rolecall_server.model.endpoint import Endpoint
from rolecall_server.model.replies.plain_tools import in_words, read_calls
from support.chat_server import ChatServer, Speech, calls_tools, fails
from support.scripted_model import ScriptedModel


class Where(BaseModel):
    """A place in a file."""

    path: str
    line: int = 1


async def read(where: Where) -> str:
    if where.path == "secret":
        raise FileRefused("secret is ignored.", "Take it out of .gitignore first.")
    if where.path == "bug":
        raise KeyError(where.path)
    if where.path == "slow":
        await asyncio.sleep(60)
    return f"{where.path}:{where.line} " + "x" * (where.line if where.path == "long" else 0)


READ = ToolSpec("read", "A line of a file.", Where, read)
QUESTION = [ChatMessage("user", "What is in it?")]


def asking(*arguments: object, name: str = "read", text: str = "") -> Reply:
    """A reply that asks *name* with each of *arguments*."""
    calls = [
        ToolCall(f"c{number}", name, given if isinstance(given, str) else json.dumps(given))
        for number, given in enumerate(arguments)
    ]
    return Reply(text, "m", 1, 1, tuple(calls))


async def results(*replies: Reply | str, limits: ToolLimits | None = None) -> list[str]:
    """What the tool says in a talk of *replies*."""
    talk = await use_tools(ScriptedModel(replies), QUESTION, [READ], limits=limits or ToolLimits())
    return [use.result for use in talk.uses]


async def test_the_model_gets_what_it_asks_for_and_then_answers() -> None:
    model = ScriptedModel([asking({"path": "a"}, {"path": "b", "line": 2}), asking({"path": "c"}), "It is a."])
    talk = await use_tools(model, QUESTION, [READ])
    assert (talk.reply.text, talk.ended_by) == ("It is a.", "answer")
    assert [use.result.strip() for use in talk.uses] == ["a:1", "b:2", "c:1"]
    assert [(message.role, message.answers) for message in model.asked[1][1:]] == [
        ("assistant", ""),
        ("tool", "c0"),
        ("tool", "c1"),
    ]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"path": "secret"}, "secret is ignored."),
        ({"path": "bug"}, "It failed: KeyError."),
        ({"path": "slow"}, "It was not done within 0.2 seconds."),
        ({"line": 3}, "The arguments are wrong: path: Field required"),
        ("{broken", "The arguments are wrong"),
        ("[" * 100_000, "The arguments are wrong"),
    ],
)
async def test_a_tool_that_fails_tells_the_model_why(asked: object, told: str) -> None:
    (said,) = await results(asking(asked), "Never mind.", limits=ToolLimits(tool_timeout_s=0.2))
    assert told in said


async def test_a_model_is_not_told_to_do_what_only_a_developer_can() -> None:
    (said,) = await results(asking({"path": "secret"}), "Never mind.")
    assert "secret is ignored." in said
    assert "Take it out" not in said


async def test_a_tool_that_does_not_exist_is_answered_with_those_that_do() -> None:
    (said,) = await results(asking({}, name="delete"), "Sorry.")
    assert said == "There is no tool 'delete'; there are read."


async def test_a_model_that_only_repeats_itself_is_made_to_answer() -> None:
    model = ScriptedModel([asking({"path": "a"}), asking('{ "path" : "a" }'), "a it is"])
    talk = await use_tools(model, QUESTION, [READ])
    assert (talk.reply.text, talk.ended_by, len(model.asked)) == ("a it is", "loop", 3)
    assert all(message.role in ("user", "assistant") for message in model.asked[2])
    assert "Answer now" in model.last_words[2]


async def test_an_endless_tool_loop_ends_at_the_rounds() -> None:
    endless = [asking({"path": "a", "line": line}, text="hm") for line in range(100)]
    model = ScriptedModel(endless)
    talk = await use_tools(model, QUESTION, [READ], limits=ToolLimits(rounds=5))
    assert (talk.ended_by, len(talk.uses), len(model.asked)) == ("rounds", 5, 6)


async def test_the_model_is_told_with_each_answer_how_many_rounds_are_left() -> None:
    asks = [asking({"path": "a", "line": 1}), asking({"path": "b"}, {"path": "c"}), asking({"path": "d"})]
    model = ScriptedModel([*asks, "It is a."])
    await use_tools(model, QUESTION, [READ], limits=ToolLimits(rounds=3, calls=9))
    first, second, last = model.last_words[1:]
    assert first == "a:1 \n\n(You have 2 rounds and 8 calls of tools left before you have to answer.)"
    assert second == "c:1 \n\n(You have 1 round and 6 calls of tools left before you have to answer.)"
    ended = "All rounds of tools are used. No more tools can be used. Answer now, with what you know."
    assert last == f"Result of read:\nd:1 \n\n{ended}"


async def test_a_model_that_asks_for_tools_to_the_end_and_says_nothing_is_an_error() -> None:
    model = ScriptedModel([asking({"path": "a", "line": line}) for line in range(100)])
    with pytest.raises(ReplyMalformed, match="kept asking for tools"):
        await use_tools(model, QUESTION, [READ])
    assert len(model.asked) == ToolLimits().rounds + 1


async def test_calls_of_one_reply_are_bounded_too() -> None:
    model = ScriptedModel([asking(*({"path": "a", "line": line} for line in range(100))), "Enough."])
    talk = await use_tools(model, QUESTION, [READ], limits=ToolLimits(calls=7))
    assert talk.ended_by == "calls"
    assert sum(not use.failed for use in talk.uses) == 7


async def test_results_are_bounded_one_by_one_and_together() -> None:
    model = ScriptedModel([asking({"path": "long", "line": 900 + n}) for n in range(3)] + ["Enough."])
    talk = await use_tools(model, QUESTION, [READ], limits=ToolLimits(result_bytes=500, total_bytes=1200))
    sizes = [len(use.result.encode()) for use in talk.uses]
    assert sizes == [500, 500, 200]
    assert talk.ended_by == "bytes"
    assert "bytes in all. Ask for less." in talk.uses[0].result


async def test_an_answer_in_a_shape_may_use_tools_first() -> None:
    model = ScriptedModel([asking({"path": "a"}), 'So.\n```json\n{"path": "a", "line": 1}\n```'])
    answer = await ask_for(model, QUESTION, Where, tools=[READ])
    assert answer.value == Where(path="a")
    assert answer.prose == "So."


async def test_a_recorded_talk_with_tools_is_replayed_with_the_tools_run_again(tmp_path: Path) -> None:
    recording = tmp_path / "talk.jsonl"
    asked = [asking({"path": "a"}, {"path": "b"}), "It is a."]
    told = await use_tools(Recorder(ScriptedModel(asked), recording), QUESTION, [READ])
    again = await use_tools(ReplayModel(recording), QUESTION, [READ])
    assert again == told
    assert len(again.uses) == 2


# At an endpoint


async def talk_with(script: Any) -> tuple[str, Sequence[Mapping[str, Any]]]:
    """What an endpoint says in the end, and what it was asked."""
    with ChatServer(script) as server:
        client = OpenAIChat(Endpoint(server.base_url), "scripted-model", 5)
        talk = await use_tools(client, QUESTION, [READ])
        await client.aclose()
        return talk.reply.text, list(server.asked)


async def test_an_endpoint_that_knows_tools_is_told_of_them_and_its_calls_are_put_together() -> None:
    text, asked = await talk_with([calls_tools(("read", '{"path": "a"}'), ("read", '{"path": "b"}')), "Both."])
    assert text == "Both."
    assert asked[0]["tools"][0]["function"]["name"] == "read"
    assert asked[0]["tools"][0]["function"]["parameters"]["required"] == ["path", "line"]
    assert [message["role"] for message in asked[1]["messages"]] == ["user", "assistant", "tool", "tool"]
    calls = asked[1]["messages"][1]["tool_calls"]
    assert [call["function"]["arguments"] for call in calls] == ['{"path": "a"}', '{"path": "b"}']
    assert [message["tool_call_id"] for message in asked[1]["messages"][2:]] == [call["id"] for call in calls]


@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        (400, "registry.ollama.ai/library/gemma does not support tools"),
        (500, "tools param requires --jinja flag"),
        (404, "No endpoints found that support tool use"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    ],
)
async def test_an_endpoint_without_tools_is_told_of_them_in_words(status: int, refusal: str) -> None:
    said = iter(['Let me see.\n```tool\n{"name": "read", "arguments": {"path": "a"}}\n```', "It is a."])

    def script(body: Mapping[str, Any]) -> Speech:
        return fails(status, refusal, headers={"x-should-retry": "false"}) if "tools" in body else next(said)

    text, asked = await talk_with(script)
    assert text == "It is a."
    assert ["tools" in body for body in asked] == [True, False, False]
    first, last = asked[1]["messages"], asked[2]["messages"]
    assert "- read: A line of a file." in first[0]["content"]
    assert [message["role"] for message in last] == ["system", "user", "assistant", "user"]
    assert last[-1]["content"].startswith("Result of read:\na:1")


async def test_calls_that_a_server_passes_on_as_text_are_understood() -> None:
    hermes = 'I look.<tool_call>\n{"name": "read", "arguments": {"path": "a"}}\n</tool_call>'
    text, asked = await talk_with([hermes, "It is a."])
    assert text == "It is a."
    assert asked[1]["messages"][1]["content"] == "I look."


@pytest.mark.parametrize("piece", ["```tool\n", "<tool_call>", "```tool\n{}\n```\n", "<tool_call>{}</tool_call>"])
def test_looking_for_calls_takes_no_longer_than_the_text_is_long(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    assert read_calls(text) == (text, ())


def test_calls_in_words_are_read_back() -> None:
    call = ToolCall("call_0", "read", '{"path": "a"}')
    (message,) = in_words([ChatMessage("assistant", "I look.", (call,))])
    assert read_calls(message.text) == ("I look.", (call,))
