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
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.model.replies.plain_tools import in_words
from rolecall_server.model.replies.schema import Place, distinct, get_at, pick, schema_at, set_at, shape_of, show_place
from rolecall_server.model.replies.tools import use_tools
from rolecall_server.text_work import beside_the_loop, look_at_the_clock

T = TypeVar("T", bound=BaseModel)

MAX_REPAIRS = 2
_MAX_SHOWN_CHARACTERS = 200
_MOST_ERRORS = 500
"""In one object; where there are more, all of it is asked for again, and not each place."""
_READING = "Reading the reply"

_PROMPTS = prompts_beside(__file__)


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A reply in the shape that was asked for."""

    value: T
    prose: str
    """The text that the model wrote before the structure."""
    messages: tuple[ChatMessage, ...]
    """The whole conversation, the model's last words included."""
    repairs: tuple[str, ...] = ()
    """The problems that had to be asked about again, such as ``stories[2].title: Field required``."""


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
    """Ask for an answer to *messages* as a value of *answer_type*, and return it after the model has used *tools* as it
    likes.

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
        TextTooHard: a reply takes too long to read.
        RolecallError: the model failed.
    """
    shape = shape_of(answer_type, without)
    asked = _PROMPTS["prose first" if prose_first else "json alone"]
    how = asked.format(schema=json.dumps(shape.schema, ensure_ascii=False))
    talk = _Conversation(client, list(_with_words(messages, how)), wishes)
    if prose_first or tools:
        used = await use_tools(client, talk.messages, tools, wishes)
        talk.messages, said = in_words(used.messages), used.reply.text
    else:
        said = await talk.ask(shape)
    prose, data = await beside_the_loop(_READING, find_json, said)
    if data is None and prose_first:
        talk.tell(_PROMPTS["now json"])
        _, data = await beside_the_loop(_READING, find_json, await talk.ask(shape))
    return await _repaired(talk, answer_type, shape, prose, data)


@dataclass
class _Conversation:
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


async def _repaired(
    talk: _Conversation, answer_type: type[T], shape: JsonShape, prose: str, data: JsonValue
) -> Answer[T]:
    """Ask again for what is wrong in *data*, and return the result as an *answer_type*."""
    repairs: list[str] = []
    value, data, wrong = await beside_the_loop(_READING, _validated, answer_type, data)
    for _ in range(MAX_REPAIRS):
        if value is not None:
            break
        repairs += [str(each) for each in wrong]
        talk.tell(await beside_the_loop(_READING, _complaint, wrong, data))
        places = distinct(each.place for each in wrong)
        said = await talk.ask(_shape_of_places(shape, places))
        value, data, wrong = await beside_the_loop(_READING, _mended, answer_type, data, places, said)
    if value is not None:
        return Answer(value, prose, tuple(talk.messages), tuple(repairs))
    what = "; ".join(str(each) for each in wrong[:3])
    raise ReplyMisshapen(
        f"{talk.client.label} did not answer in the shape that was asked for, asked again {MAX_REPAIRS} times: {what}.",
        said=talk.messages[-1].text,
    )


def _mended(
    answer_type: type[T], data: JsonValue, places: Sequence[Place], said: str
) -> tuple[T | None, JsonValue, list[_Wrong]]:
    """Return what `_validated` does of *data* with what a reply *said* for *places*."""
    _, patch = find_json(said)
    return _validated(answer_type, _patched(data, places, patch))


def _validated(answer_type: type[T], data: JsonValue) -> tuple[T | None, JsonValue, list[_Wrong]]:
    """Return the value if *data* is valid, *data* without fields that nobody asked for, and what is wrong in it."""
    while isinstance(data, dict):
        look_at_the_clock()
        try:
            return answer_type.model_validate_json(json.dumps(data)), data, []
        except RecursionError:
            return None, data, [_Wrong((), "Its values lie too deep.")]
        except ValidationError as error:
            if error.error_count() > _MOST_ERRORS:
                return None, data, [_Wrong((), f"{error.error_count():,} places in it are wrong.")]
            details = error.errors(include_url=False, include_context=False)
            extra = [detail["loc"] for detail in details if detail["type"] == "extra_forbidden"]
            # Where the data has no such place, as within a union, nothing is taken out, and the loop would not end.
            if not extra or (less := _without(data, extra)) == data:
                return None, data, [_Wrong(pick(data, detail["loc"]), detail["msg"]) for detail in details]
            data = less
    return None, None, [_Wrong((), "There is no JSON object.")]


def _without(data: JsonValue, places: Iterable[Sequence[int | str]]) -> JsonValue:
    """Return *data* without the fields that errors at *places* are about."""
    for place in places:
        look_at_the_clock()
        *above, last = pick(data, place)
        holder = get_at(data, tuple(above))
        if isinstance(holder, dict):
            data = set_at(data, tuple(above), {key: value for key, value in holder.items() if key != last})
    return data


def _complaint(wrong: Sequence[_Wrong], data: JsonValue) -> str:
    """Return the message that tells the model of *wrong*."""
    if any(not each.place for each in wrong):
        problems = "; ".join(each.why for each in wrong)
        return _PROMPTS["all wrong"].format(problems=problems)
    lines = [f"- {each}; you gave {_shown(get_at(data, each.place))}" for each in wrong]
    places = ", ".join(json.dumps(show_place(place)) for place in distinct(each.place for each in wrong))
    return _PROMPTS["some wrong"].format(fields="\n".join(lines), places=places)


def _shown(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False) if value is not None else "nothing"
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else text[:_MAX_SHOWN_CHARACTERS] + " …"


def _shape_of_places(shape: JsonShape, places: Sequence[Place]) -> JsonShape:
    """Return the shape of an object with a key for each of *places*; *shape* itself where the whole is asked for."""
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
    """Return *data* with the values that *patch* gives for *places*; return *patch* itself where it is the whole object
    again.
    """
    if not isinstance(patch, dict):
        return data
    named = {show_place(place): place for place in places}
    # Asked for some fields, a model may give the whole object again.
    if () in places or not patch.keys() & named.keys():
        return patch if () in places or _looks_whole(data, patch) else data
    for name in patch.keys() & named.keys():
        data = set_at(data, named[name], patch[name])
    return data


def _looks_whole(data: JsonValue, patch: Mapping[str, Any]) -> bool:
    return isinstance(data, dict) and data.keys() <= patch.keys()


def _with_words(messages: Sequence[ChatMessage], words: str) -> Sequence[ChatMessage]:
    """Return *messages* that end in *words*; never two turns of the user in a row, which some chat templates refuse."""
    if messages and messages[-1].role == "user":
        return [*messages[:-1], ChatMessage("user", f"{messages[-1].text}\n\n{words}")]
    return [*messages, ChatMessage("user", words)]


_FENCE = re.compile(
    r"^[ \t]*+```[ \t]*+(?:json\w*+)?[ \t]*+\n(?P<inside>.*?)(?:^[ \t]*+```[ \t]*+$|\Z)", re.M | re.S | re.I
)
_BRACE = re.compile(r"^[^\n{]{0,80}(?P<brace>\{)", re.M)
_MAX_TRIES = 50
_DECODER = json.JSONDecoder(strict=False)  # a line break within a string is a common slip, and clear


def find_json(text: str) -> tuple[str, dict[str, JsonValue] | None]:
    """Return the text before the last JSON object in *text*, and the object; all of the text and None if there is no
    object.
    """
    starts = [match.start("inside") for match in _FENCE.finditer(text)]
    for start in reversed(starts[-_MAX_TRIES:]):
        if (found := _object_at(text, start)) is not None:
            return _prose(text[:start]), found[0]
    last: tuple[str, dict[str, JsonValue] | None] = (text.strip(), None)
    position = 0
    for _ in range(_MAX_TRIES):
        match = _BRACE.search(text, position)
        if match is None:
            break
        found = _object_at(text, match.start("brace"))
        if found is not None:
            last = (_prose(text[: match.start("brace")]), found[0])
        position = found[1] if found is not None else match.end()
    return last


def _object_at(text: str, start: int) -> tuple[dict[str, JsonValue], int] | None:
    """Return the object that begins at *start*, white space aside, and where it ends."""
    look_at_the_clock()
    brace = len(text) - len(text[start:].lstrip())
    try:
        value, end = _DECODER.raw_decode(text, brace)
    except (ValueError, RecursionError):
        return None
    return (cast("dict[str, JsonValue]", value), end) if isinstance(value, dict) else None


def _prose(before: str) -> str:
    """Return *before* without the fence it ends in."""
    return re.sub(r"```[ \t]*+\w*+[ \t]*+\Z", "", before.rstrip()).strip()
