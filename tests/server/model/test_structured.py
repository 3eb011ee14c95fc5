"""A reply becomes a value: prose first, the structure by whatever the endpoint has, wrong fields asked for alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis.strategies import dictionaries, floats, integers, lists, none, recursive, text
from inline_snapshot import external_file
from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from rolecall_server import text_work
from rolecall_server.errors import ReplyMisshapen, TextTooHard
from rolecall_server.model import NO_WISHES, ChatMessage, JsonShape, Parameters, Reply, Wishes, ask_for
from rolecall_server.model.chat_completions.openai_chat import OpenAIChat
from rolecall_server.model.endpoint import Endpoint
from rolecall_server.model.replies.schema import schema_at, shape_of
from rolecall_server.model.replies.structured import find_json
from support.chat_server import ChatServer, Speech, fails
from support.scripted_model import ScriptedModel


class Story(BaseModel):
    """What somebody wants to do."""

    title: str
    points: int = Field(ge=1, le=13, description="effort")


class Requirements(BaseModel):
    """What is to be built."""

    model_config = ConfigDict(extra="forbid")

    goal: str
    stories: list[Story]
    priority: Literal["P0", "P1"] = "P1"
    owner: Story | str | None = None


GOOD = {"goal": "g", "stories": [{"title": "t", "points": 3}], "priority": "P0", "owner": None}
QUESTION = [ChatMessage("system", "You plan."), ChatMessage("user", "Plan it.")]
SEEDED = Wishes(parameters=Parameters(seed=7))


def fenced(value: object) -> str:
    return f"I thought about it.\n\n```json\n{json.dumps(value)}\n```\n"


class Spy(ScriptedModel):
    """Remembers the shapes it was asked for, call by call."""

    def __init__(self, replies: list[str]) -> None:
        super().__init__(replies)
        self.shapes: list[JsonShape | None] = []

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        self.shapes.append(wishes.shape)
        return await super().complete(messages, wishes)


async def test_prose_that_ends_in_a_valid_object_takes_one_call() -> None:
    model = Spy([fenced(GOOD)])
    answer = await ask_for(model, QUESTION, Requirements)
    assert answer.value == Requirements.model_validate(GOOD)
    assert (answer.prose, answer.repairs) == ("I thought about it.", ())
    assert model.shapes == [None]
    assert [message.role for message in answer.messages] == ["system", "user", "assistant"]
    assert '"points"' in model.last_words[0]


async def test_prose_without_an_object_is_followed_by_a_call_for_the_object_alone() -> None:
    model = Spy(["It should be small.", json.dumps(GOOD)])
    answer = await ask_for(model, QUESTION, Requirements)
    assert (answer.value.goal, answer.prose) == ("g", "It should be small.")
    assert model.shapes == [None, shape_of(Requirements)]


async def test_all_that_a_model_is_told_of_the_shape_it_shall_answer_in() -> None:
    model = ScriptedModel(["I think.", json.dumps([]), json.dumps({**GOOD, "stories": [{"title": "t"}]}), '{"x": 1}'])
    with pytest.raises(ReplyMisshapen):
        await ask_for(model, QUESTION, Requirements)
    alone = ScriptedModel([json.dumps(GOOD)])
    await ask_for(alone, QUESTION, Requirements, prose_first=False)
    said = [message.text for message in (*model.asked[-1], *alone.asked[-1]) if message.role == "user"]
    assert "\n\n=====\n\n".join(said) + "\n" == external_file("prompts/structured.txt")


async def test_without_prose_the_object_is_asked_for_at_once() -> None:
    model = Spy([json.dumps(GOOD)])
    await ask_for(model, QUESTION, Requirements, prose_first=False)
    assert model.shapes == [shape_of(Requirements)]


async def test_only_the_wrong_fields_are_asked_for_again() -> None:
    wrong = {**GOOD, "goal": 5, "stories": [{"title": "t", "points": 3}, {"title": "u", "points": 99}]}
    model = Spy([fenced(wrong), json.dumps({"goal": "g", "stories[1].points": 8})])
    answer = await ask_for(model, QUESTION, Requirements)
    assert answer.value.stories == [Story(title="t", points=3), Story(title="u", points=8)]
    assert answer.value.goal == "g"
    assert len(answer.repairs) == 2
    assert answer.repairs[1].startswith("stories[1].points: Input should be less than or equal to 13")
    asked = model.shapes[1]
    assert asked is not None
    assert asked.schema["properties"] == {
        "goal": {"type": "string"},
        "stories[1].points": {"type": "integer", "minimum": 1, "maximum": 13, "description": "effort"},
    }
    assert "- stories[1].points: Input should be less than or equal to 13; you gave 99" in model.last_words[1]


async def test_a_missing_field_is_asked_for_and_one_that_nobody_asked_for_is_dropped_without_a_call() -> None:
    model = Spy([fenced({"stories": [], "mood": "good"}), '{"goal": "g"}'])
    answer = await ask_for(model, QUESTION, Requirements)
    assert answer.value == Requirements(goal="g", stories=[])
    assert answer.repairs == ("goal: Field required",)
    model = Spy([fenced({**GOOD, "mood": "good"})])
    assert (await ask_for(model, QUESTION, Requirements)).repairs == ()


async def test_a_repair_that_gives_the_whole_object_anew_is_taken() -> None:
    model = Spy([fenced({**GOOD, "goal": 5}), json.dumps(GOOD)])
    assert (await ask_for(model, QUESTION, Requirements)).value.goal == "g"


async def test_a_rule_about_the_whole_object_has_it_asked_for_whole() -> None:
    class Span(BaseModel):
        first: int
        last: int

        @model_validator(mode="after")
        def in_order(self) -> Span:
            if self.first > self.last:
                raise ValueError("first comes after last")
            return self

    model = Spy([fenced({"first": 3, "last": 1}), '{"first": 1, "last": 3}'])
    answer = await ask_for(model, QUESTION, Span)
    assert answer.value == Span(first=1, last=3)
    assert "first comes after last" in model.last_words[1]
    assert model.shapes[1] == shape_of(Span)


async def test_what_is_still_wrong_after_two_repairs_is_shown_as_what_it_is() -> None:
    model = Spy([fenced({**GOOD, "goal": 5}), '{"goal": 6}', '{"goal": 7, "more": 1}'])
    with pytest.raises(ReplyMisshapen, match=r"asked again 2 times: goal: Input should be a valid string") as caught:
        await ask_for(model, QUESTION, Requirements)
    assert caught.value.said == '{"goal": 7, "more": 1}'
    assert len(model.asked) == 3


@pytest.mark.parametrize("junk", ["", "no idea", "{", '{"goal"', "[1, 2]", "{" * 5000, "```json\n```", '{"a": NaN}'])
async def test_a_model_that_never_gives_an_object_ends_in_one_typed_error(junk: str) -> None:
    model = Spy([junk or "-"] * 9)
    with pytest.raises(ReplyMisshapen):
        await ask_for(model, QUESTION, Requirements)
    assert len(model.asked) <= 4


@pytest.mark.parametrize(
    ("written", "prose"),
    [
        ('{"a": 1}', ""),
        ('Well.\n{"a": 1}', "Well."),
        ('Here it is: {"a": 1} Hope it helps!', "Here it is:"),
        ('Not {this}.\n```json\n{"a": 1}\n```\nDone.', "Not {this}."),
        ('```json\n{"a": 0}\n```\nNo, rather:\n```\n{"a": 1}\n```', '```json\n{"a": 0}\n```\nNo, rather:'),
        ('<think>{"a": 0}</think>\n{"a": 1}', '<think>{"a": 0}</think>'),
        ('cut off:\n```json\n{"a": 1}', "cut off:"),
    ],
)
def test_an_object_is_found_wherever_a_model_puts_it(written: str, prose: str) -> None:
    assert find_json(written) == (prose, {"a": 1})


def test_a_fence_within_a_string_does_not_end_the_object() -> None:
    value: dict[str, JsonValue] = {"code": "```python\nprint()\n```\n"}
    assert find_json(fenced(value))[1] == value


anything = recursive(
    none() | integers() | floats(allow_nan=False) | text(), lambda x: lists(x) | dictionaries(text(), x)
)


@settings(max_examples=40, deadline=None)
@given(dictionaries(text(), anything))
def test_every_object_is_read_back_from_a_fence_and_alone(value: dict[str, JsonValue]) -> None:
    assert find_json(json.dumps(value))[1] == value
    assert find_json(f"Prose.\n```json\n{json.dumps(value, indent=2)}\n```")[1] == value


def test_the_schema_of_a_place_is_found_through_references_lists_and_unions() -> None:
    schema = shape_of(Requirements).schema
    assert schema_at(schema, ("stories", 4, "title")) == {"type": "string"}
    assert schema_at(schema, ("owner", "points"))["maximum"] == 13
    assert schema_at(schema, ("nowhere", 1)) == {}


def test_a_shape_is_strict_as_endpoints_want_it() -> None:
    schema = shape_of(Requirements).schema
    assert schema["required"] == ["goal", "stories", "priority", "owner"]
    assert schema["additionalProperties"] is False
    assert "default" not in json.dumps(schema)


# Replies made to keep us busy


class Price(BaseModel):
    model_config = ConfigDict(extra="forbid")
    euros: int


class Name(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str


class Choice(BaseModel):
    chosen: Price | Name


async def test_an_object_with_more_faults_than_anybody_tells_is_asked_for_again_as_a_whole() -> None:
    model = Spy([fenced({**GOOD, "stories": [1] * 20_000}), json.dumps(GOOD)])
    answer = await ask_for(model, QUESTION, Requirements)
    assert answer.repairs == ("the object: 20,000 places in it are wrong.",)
    assert model.shapes[-1] == shape_of(Requirements)
    assert len(model.last_words[-1]) < 500


async def test_a_field_that_no_branch_has_and_that_is_named_as_one_is_told_as_wrong() -> None:
    model = Spy([fenced({"chosen": {"Price": {}, "Name": {}}}), json.dumps({"chosen": {"euros": 3}})])
    answer = await ask_for(model, QUESTION, Choice)
    assert answer.value == Choice(chosen=Price(euros=3))


async def test_values_that_lie_too_deep_are_asked_for_again_as_a_whole() -> None:
    deep = "[" * 900 + "]" * 900
    model = Spy([f'{{"goal": {deep}}}', json.dumps(GOOD)])
    assert (await ask_for(model, QUESTION, Requirements)).value.goal == "g"


@pytest.mark.parametrize("reply", [fenced(GOOD), fenced({**GOOD, "mood": "good"}), "{"])
async def test_reading_an_object_looks_at_the_clock(reply: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_work, "MOST_SECONDS", -1.0)
    with pytest.raises(TextTooHard, match="Reading the reply took more than"):
        await ask_for(Spy([reply]), QUESTION, Requirements)


# At an endpoint


async def ask_endpoint(script: Any) -> list[Mapping[str, Any]]:
    """The requests that it takes to get requirements."""
    with ChatServer(script) as server:
        client = OpenAIChat(Endpoint(server.base_url), "scripted-model", 5)
        for _ in range(2):
            answer = await ask_for(client, QUESTION, Requirements, SEEDED, prose_first=False)
            assert answer.value.goal == "g"
        await client.aclose()
        return list(server.asked)


@pytest.mark.parametrize(
    ("knows", "formats"),
    [
        (("json_schema", "json_object"), ["json_schema", "json_schema"]),
        (("json_object",), ["json_schema", "json_object", "json_object"]),
        ((), ["json_schema", "json_object", None, None]),
    ],
)
@pytest.mark.parametrize("status", [400, 422, 500])
async def test_a_shape_is_given_up_one_step_at_a_time_and_once(
    knows: tuple[str, ...], formats: list[str | None], status: int
) -> None:
    def script(body: Mapping[str, Any]) -> Speech:
        kind = body.get("response_format", {}).get("type")
        refusal = fails(status, f"response_format {kind!r} is not supported", headers={"x-should-retry": "false"})
        return json.dumps(GOOD) if kind in (None, *knows) else refusal

    asked = await ask_endpoint(script)
    assert [body.get("response_format", {}).get("type") for body in asked] == formats
    assert {body["seed"] for body in asked} == {7}
