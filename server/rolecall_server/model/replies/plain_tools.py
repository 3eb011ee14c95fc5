"""Tools by words alone, for endpoints that know none: fenced calls in the model's text, results in ours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import cast

from pydantic import JsonValue

from rolecall_server.model.client import ChatMessage, ToolCall, ToolSpec, Wishes
from rolecall_server.model.replies.schema import shape_of

_FENCE = re.compile(r"^[ \t]*```[ \t]*tool[ \t]*\n", re.M), re.compile(r"^[ \t]*```[ \t]*$\n?", re.M)
_TAG = re.compile(r"<tool_call>"), re.compile(r"</tool_call>\s?")
"""The form in which Hermes, Qwen and their kin write calls, which some servers pass on as text.

Source: https://github.com/NousResearch/Hermes-Function-Calling, "Prompt Format for Function Calling".
"""
_MAX_CALLS = 32

_HOW = """\
You can use tools. To use one, write nothing but a fence for each call, and wait for the results:
```tool
{{"name": "the tool", "arguments": {{...}}}}
```
The tools:
{tools}"""


def spoken(messages: Sequence[ChatMessage], wishes: Wishes) -> list[ChatMessage]:
    """Return *messages* in words alone, with the tools in *wishes* described unless that was done."""
    return tell_tools(messages, wishes.tools) if wishes.tools and not wishes.tools_told else in_words(messages)


def tell_tools(messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> list[ChatMessage]:
    """Return *messages* in words alone, with *tools* described at the end of the first."""
    listed = "\n".join(
        f"- {tool.name}: {tool.description} Arguments: {json.dumps(shape_of(tool.arguments).schema)}" for tool in tools
    )
    how = _HOW.format(tools=listed)
    told = in_words(messages)
    if told and told[0].role == "system":
        return [ChatMessage("system", f"{told[0].text}\n\n{how}"), *told[1:]]
    return [ChatMessage("system", how), *told]


def in_words(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return *messages* with calls as the model would write them and their results as what the user says."""
    return list(_spoken(messages))


def read_calls(text: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Return *text* without the calls in it, and the calls."""
    calls: list[ToolCall] = []
    rest = _without_calls(_without_calls(text, *_FENCE, calls), *_TAG, calls)
    return (rest.strip(), tuple(calls)) if calls else (text, ())


def _without_calls(text: str, opening: re.Pattern[str], closing: re.Pattern[str], calls: list[ToolCall]) -> str:
    """Return *text* without the calls that stand between *opening* and *closing*; add these calls to *calls*."""
    kept, position = "", 0
    while len(calls) < _MAX_CALLS and (begin := opening.search(text, position)):
        end = closing.search(text, begin.end())
        if end is None:
            break
        call = _read_call(text[begin.end() : end.start()], len(calls))
        # What turns out to be no call stays in the text.
        kept += text[position : begin.start() if call else end.end()]
        position = end.end()
        calls += [call] if call else []
    return kept + text[position:]


def _read_call(text: str, number: int) -> ToolCall | None:
    try:
        call = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    fields = cast("dict[str, JsonValue]", call) if isinstance(call, dict) else {}
    name, arguments = fields.get("name"), fields.get("arguments") or fields.get("parameters") or {}
    if not isinstance(name, str):
        return None
    # A call in words brings no id: its number takes the place of one.
    return ToolCall(f"call_{number}", name, arguments if isinstance(arguments, str) else json.dumps(arguments))


def _spoken(messages: Sequence[ChatMessage]) -> Iterator[ChatMessage]:
    results: list[str] = []
    names: dict[str, str] = {}
    for message in messages:
        if message.role == "tool":
            results.append(f"Result of {names.get(message.answers, 'a tool')}:\n{message.text}")
            continue
        if results:
            yield ChatMessage("user", "\n\n".join(results))
            results = []
        names |= {call.id: call.name for call in message.calls}
        written = [f'```tool\n{{"name": "{call.name}", "arguments": {call.arguments}}}\n```' for call in message.calls]
        yield ChatMessage(message.role, "\n".join([message.text, *written]).strip()) if written else message
    if results:
        yield ChatMessage("user", "\n\n".join(results))
