"""Replies as pydantic models: prose first, then the structure; what is wrong in it is asked for again, alone."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, JsonValue, ValidationError

from rolecall_server.errors import ReplyMisshapen
from rolecall_server.model.client import NO_WISHES, ChatMessage, JsonShape, ModelClient, ToolSpec, Wishes
from rolecall_server.model.json_text import find_json
from rolecall_server.model.plain_tools import in_words
from rolecall_server.model.schema import Place, distinct, get_at, pick, schema_at, set_at, shape_of, show_place
from rolecall_server.model.tools import use_tools

T = TypeVar("T", bound=BaseModel)

MAX_REPAIRS = 2
_MAX_SHOWN_CHARACTERS = 200

_PROSE_FIRST = """\
First think it through in prose, as long as it needs. Then end with one JSON object, in a fence that begins with \
```json, of this JSON schema:
{schema}"""
_JSON_ALONE = "Answer with one JSON object alone, of this JSON schema:\n{schema}"
_NOW_JSON = "Now give that as one JSON object alone, of the JSON schema above."


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A reply in the shape that was asked for."""

    value: T
    prose: str
    """What the model said before the structure."""
    messages: tuple[ChatMessage, ...]
    """The whole conversation, the model's last words included."""
    repairs: tuple[str, ...] = ()
    """What was wrong at first and had to be asked for again, such as ``stories[2].title: Field required``."""


async def ask_for(
    client: ModelClient,
    messages: Sequence[ChatMessage],
    answer_type: type[T],
    wishes: Wishes = NO_WISHES,
    *,
    prose_first: bool = True,
    without: Collection[str] = (),
    tools: Sequence[ToolSpec] = (),
) -> Answer[T]:
    """The answer to *messages* as a value of *answer_type*, after the model has used *tools* as it likes.

    ::

        class Verdict(BaseModel):
            \"\"\"Whether a change may land.\"\"\"

            reason: str
            approved: bool


        answer = await ask_for(client, [ChatMessage("user", f"Review this:\\n{diff}")], Verdict)
        if not answer.value.approved: ...

    With *prose_first* one call does where the model ends its prose with a valid object; otherwise a second one asks
    for the object alone, by the endpoint's own means where it has them. Fields that are wrong are asked for again,
    without the others, at most `MAX_REPAIRS` times; fields nobody asked for are dropped. The fields of *without* are
    not asked for, and keep their defaults.

    Source: that a forced format costs reasoning, Tam et al. 2024 (arXiv:2408.02442); hence the prose first.

    Raises:
        ReplyMisshapen: it has not that shape even so; the error holds what the model said.
        RolecallError: the model failed.
    """
    shape = shape_of(answer_type, without)
    how = (_PROSE_FIRST if prose_first else _JSON_ALONE).format(schema=json.dumps(shape.schema, ensure_ascii=False))
    talk = _Talk(client, list(_with_words(messages, how)), wishes)
    if prose_first or tools:
        used = await use_tools(client, talk.messages, tools, wishes)
        talk.messages, said = in_words(used.messages), used.reply.text
    else:
        said = await talk.ask(shape)
    prose, data = find_json(said)
    if data is None and prose_first:
        talk.tell(_NOW_JSON)
        _, data = find_json(await talk.ask(shape))
    return await _repaired(talk, answer_type, shape, prose, data)


@dataclass
class _Talk:
    """The conversation, as it grows."""

    client: ModelClient
    messages: list[ChatMessage]
    wishes: Wishes

    async def ask(self, shape: JsonShape) -> str:
        reply = await self.client.complete(self.messages, replace(self.wishes, shape=shape))
        self.messages.append(ChatMessage("assistant", reply.text))
        return reply.text

    def tell(self, text: str) -> None:
        self.messages.append(ChatMessage("user", text))


@dataclass(frozen=True)
class _Wrong:
    """One place where an object is not as asked."""

    place: Place
    why: str

    def __str__(self) -> str:
        return f"{show_place(self.place)}: {self.why}"


async def _repaired(talk: _Talk, answer_type: type[T], shape: JsonShape, prose: str, data: JsonValue) -> Answer[T]:
    """*data* as an *answer_type*, once what is wrong in it was asked for again."""
    repairs: list[str] = []
    value, data, wrong = _validated(answer_type, data)
    for _ in range(MAX_REPAIRS):
        if value is not None:
            break
        repairs += [str(each) for each in wrong]
        talk.tell(_complaint(wrong, data))
        places = distinct(each.place for each in wrong)
        _, patch = find_json(await talk.ask(_shape_of_places(shape, places)))
        value, data, wrong = _validated(answer_type, _patched(data, places, patch))
    if value is not None:
        return Answer(value, prose, tuple(talk.messages), tuple(repairs))
    what = "; ".join(str(each) for each in wrong[:3])
    raise ReplyMisshapen(
        f"{talk.client.label} did not answer in the shape that was asked for, asked again {MAX_REPAIRS} times: {what}.",
        said=talk.messages[-1].text,
    )


def _validated(answer_type: type[T], data: JsonValue) -> tuple[T | None, JsonValue, list[_Wrong]]:
    """The value; or *data* without what nobody asked for, and what is wrong in it."""
    if not isinstance(data, dict):
        return None, None, [_Wrong((), "There is no JSON object.")]
    while True:
        try:
            return answer_type.model_validate_json(json.dumps(data)), data, []
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=False)
            extra = [detail["loc"] for detail in details if detail["type"] == "extra_forbidden"]
            if not extra:
                return None, data, [_Wrong(pick(data, detail["loc"]), detail["msg"]) for detail in details]
            data = cast("dict[str, JsonValue]", _without(data, extra))


def _without(data: JsonValue, places: Iterable[Place]) -> JsonValue:
    for place in places:
        *above, last = pick(data, place)
        holder = get_at(data, tuple(above))
        if isinstance(holder, dict):
            data = set_at(data, tuple(above), {key: value for key, value in holder.items() if key != last})
    return data


def _complaint(wrong: Sequence[_Wrong], data: JsonValue) -> str:
    """What the model is told of *wrong*."""
    if any(not each.place for each in wrong):
        problems = "; ".join(each.why for each in wrong)
        return f"That is not as asked: {problems} Give the whole JSON object again, alone."
    lines = [f"- {each}; you gave {_shown(get_at(data, each.place))}" for each in wrong]
    places = ", ".join(json.dumps(show_place(place)) for place in distinct(each.place for each in wrong))
    return (
        "These fields of the JSON object are wrong, the others are fine:\n"
        + "\n".join(lines)
        + f"\nAnswer with one JSON object alone whose keys are {places}, each with its right value."
    )


def _shown(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False) if value is not None else "nothing"
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else text[:_MAX_SHOWN_CHARACTERS] + " …"


def _shape_of_places(shape: JsonShape, places: Sequence[Place]) -> JsonShape:
    """An object with a key for each of *places*; *shape* where all of it is meant."""
    if () in places:
        return shape
    keys: dict[str, JsonValue] = {show_place(place): dict(schema_at(shape.schema, place)) for place in places}
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": keys,
        "required": list(keys),
        "additionalProperties": False,
    }
    if "$defs" in shape.schema:
        schema["$defs"] = shape.schema["$defs"]
    return JsonShape(re.sub(r"\W", "_", f"{shape.name}_fields"), schema)


def _patched(data: JsonValue, places: Sequence[Place], patch: JsonValue) -> JsonValue:
    """*data* with what *patch* gives for *places*; all of *patch* where it is the object anew."""
    if not isinstance(patch, dict):
        return data
    named = {show_place(place): place for place in places}
    if () in places or not patch.keys() & named.keys():
        return patch if () in places or _looks_whole(data, patch) else data
    for name in patch.keys() & named.keys():
        data = set_at(data, named[name], patch[name])
    return data


def _looks_whole(data: JsonValue, patch: Mapping[str, Any]) -> bool:
    return isinstance(data, dict) and data.keys() <= patch.keys()


def _with_words(messages: Sequence[ChatMessage], words: str) -> Sequence[ChatMessage]:
    """*messages* that end in *words*; never two turns of the user in a row, which some chat templates refuse."""
    if messages and messages[-1].role == "user":
        return [*messages[:-1], ChatMessage("user", f"{messages[-1].text}\n\n{words}")]
    return [*messages, ChatMessage("user", words)]
