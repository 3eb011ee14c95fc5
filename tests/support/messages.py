"""Messages that no proper editor sends: made from the types of the protocol and from its page, then bent."""

from __future__ import annotations

import enum
import functools
import json
import random
import re
import types as python_types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import attrs
from lsprotocol import types

from rolecall_server.lsp.registration import COMMANDS, OPTIONAL_FEATURES, PAGE_FEATURES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "protocol.md"
_DEEP = 12
_REPEATED_DEEP, _REPEATED_LONG = 3, 100
"""Lists that lie deeper, or are longer, are not repeated: of lists within lists a message of gigabytes would come."""
_LONGEST = 500_000
"""Bytes of a message; what one of megabytes takes hides what is kept of each."""
_CONTROLS = "x\x1b]0;title\x07\x00é𝄞"


def _nested(depth: int) -> Any:
    """Return lists within lists."""
    return functools.reduce(lambda inner, _: [inner], range(depth), 0)


_NESTED_MESSAGE = {"jsonrpc": "2.0", "id": 4711, "method": "textDocument/hover", "params": 5}
JUNK: Sequence[Any] = (
    *(None, True, False, 0, -1, 2**31, 2**53, -(2**63), 10**40, 1.5, float("nan"), float("inf")),
    *("", "a", "\ud800", "\0", _CONTROLS, "é" * 100, "x" * 20_000, "../" * 300, "%00", "(?!", "p99999999999999999999"),
    *([], [[]], {}, [None], {"a": 1}, {"uri": 1}, {"": {"": {"": []}}}, {"type_name": "a b"}, {"__proto__": {}}),
    *(_NESTED_MESSAGE, [_NESTED_MESSAGE, {"jsonrpc": "2.0", "id": 4711, "result": 1}]),
    *([{}] * 5_000, _nested(900)),
)
BODIES: Sequence[bytes] = (
    *(b"{", b"[]", b"null", b"5", b'"text"', b"\xff\xfe", b"{}", b"[" * 3000, b'{"a":' * 5000, b"\0\0", b"NaN", b" "),
    *(b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","method":5}', b'{"jsonrpc":"2.0","id":null,"method":"no/such"}'),
    *(b'{"jsonrpc":"2.0","id":{},"method":"x"}', b'{"jsonrpc":"2.0","id":1.5,"method":"no/such"}'),
    *(b'{"jsonrpc":"2.0","id":"nobody asked","result":5}', b'{"jsonrpc":"2.0","id":"nobody asked","error":"no"}'),
    *(b'[{"jsonrpc":"2.0","id":1,"method":"shutdown"}]', b'{"jsonrpc":"1.0","method":"exit"}'),
)
"""What has no id that could be answered."""
DEEP = b'{"jsonrpc":"2.0","id":%d,"method":"rolecall/status","params":{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}}"
HUGE = b'{"jsonrpc":"2.0","method":"rolecall/status","params":[%s],"id":%%d}' % (b"9" * 5_000)
"""Messages with an id that no usual reader of JSON takes in."""
OURS = {
    *(name for feature in (*OPTIONAL_FEATURES, *PAGE_FEATURES) for name in feature.handlers),
    *(types.TEXT_DOCUMENT_DID_OPEN, types.TEXT_DOCUMENT_DID_CHANGE, types.TEXT_DOCUMENT_DID_SAVE),
    *(types.TEXT_DOCUMENT_DID_CLOSE, types.WORKSPACE_DID_CHANGE_CONFIGURATION, types.TEXT_DOCUMENT_CODE_ACTION),
    *(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS),
    *(types.CODE_ACTION_RESOLVE, types.WORKSPACE_TEXT_DOCUMENT_CONTENT, types.WORKSPACE_EXECUTE_COMMAND),
    *(types.WINDOW_WORK_DONE_PROGRESS_CANCEL, types.CANCEL_REQUEST),
}
"""Of the specification's, what the server does something about."""
_CAMEL = re.compile(r"_([a-z0-9])")


@dataclass(frozen=True)
class Sent:
    """A message as it is sent."""

    body: bytes
    request_id: str = ""
    """The id of a request, as JSON has it."""
    method: str = ""


@dataclass(frozen=True)
class Method:
    """One of the methods that a server takes."""

    name: str
    params: Any
    """The type of its parameters; ``None`` where it is one of our own."""
    is_request: bool


def methods() -> list[Method]:
    """Return all that clients may send by the specification, and our own, but what begins and ends a session."""
    names = ("usage", "status", "messages", "activity", "model/choices", "model/key")
    own = [Method(f"rolecall/{name}", None, True) for name in names]
    found = [*own, Method("rolecall/model/delta", None, False), Method("$/unknown", None, False)]
    for name, (_, result, params, _) in sorted(types.METHOD_TO_TYPES.items()):
        if name not in ("initialize", "shutdown", "exit") and types.message_direction(name) != "serverToClient":
            found.append(Method(name, params, result is not None))
    assert {method.name for method in found} >= OURS
    return found


def commands() -> dict[str, list[str]]:
    """Return what each command takes, as the page of the protocol says."""
    section = PAGE.read_text(encoding="utf-8").partition("## Commands\n")[2].partition("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    taken = {row[1].strip(" `"): re.findall(r"`(\w+)`", row[2]) for row in rows}
    assert taken.keys() == COMMANDS.keys()
    return {name: [*fields, "uri", "range", "proposalId", "hunkId"] for name, fields in taken.items()}


@dataclass
class Forge:
    """Makes messages, the same ones for the same seed."""

    random: random.Random
    uris: Sequence[str]
    """Of files that are there."""
    odd_uris: Sequence[str]
    ids: Sequence[str]
    """Of proposals, hunks, runs and documents, some of which are there."""

    def params(self, method: Method, bent: float) -> Any:
        """Return parameters for *method*; each part of them is something else *bent* times out of one."""
        if method.name == types.WORKSPACE_EXECUTE_COMMAND:
            name = self.random.choice(list(_COMMANDS()))
            made: Any = {"command": name, "arguments": [self.argument(name)]}
        elif method.params is None:
            made = {"runId": self.random.choice(self.ids), "id": "m1", "text": "x"}
        else:
            made = self.value(method.params, "params")
        return self.bend(made, bent) if bent else made

    def argument(self, command: str) -> dict[str, Any]:
        """Return the one object that *command* takes, with some of its fields."""
        fields = [field for field in _COMMANDS()[command] if self.random.random() < 0.6]
        return {field: self.field(field) for field in fields}

    def field(self, name: str) -> Any:
        """Return a value for a field of a command."""
        match name:
            case "uri":
                return self.uri()
            case "range":
                return self.value(types.Range, name)
            case "ask":
                return self.random.choice([True, False])
            case "diagnostics":
                return [{"line": self.number(), "message": self.text()}]
            case "drop" | "roles":
                return self.random.choice(["all", "engineer", ["T1"], ["T2", "T2"], ""])
            case "way":
                return self.random.choice(["engineer", "middle", "team", "around", ""])
            case _ if name.endswith("Id"):
                return self.random.choice(self.ids)
            case _:
                return self.random.choice(["", "total", "shop/price.py", "say less", self.text()])

    def uri(self) -> str:
        """Return an address, mostly of a file that is there."""
        return self.random.choice(self.uris if self.random.random() < 0.8 else self.odd_uris)

    def number(self) -> int:
        """Return a number as a place in a text may have it."""
        return self.random.choice([0, 0, 1, 2, 3, 5, 8, 1000, 2**31 - 1, -1])

    def text(self) -> str:
        """Return some source text, or none."""
        texts = ["", "a", "\n", "𝄞", "def f(:\n", "x = 1\n", "é😀\r\n\r" * 50, "(" * 3000, "# ROLECALL: sing\n", "\0"]
        return self.random.choice([*texts, "def f(a):\n    return total(a)\n" * self.random.randint(1, 200)])

    def value(self, kind: Any, name: str, depth: int = 0) -> Any:
        """Return a value of the type *kind* for a field called *name*."""
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if attrs.has(kind):
            return self.object_of(kind, depth)
        if origin in (typing.Union, python_types.UnionType):
            wanted = [each for each in inner if depth < _DEEP or not attrs.has(each)] or [type(None)]
            return self.value(self.random.choice(wanted), name, depth)
        if origin in (list, tuple, Sequence) or kind is Sequence:
            return [self.value(inner[0], name, depth + 1) for _ in range(self.random.randint(0, 2))]
        if origin is typing.Literal:
            return self.random.choice(inner)
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return self.random.choice(list(kind)).value
        plain: Mapping[Any, Callable[[], Any]] = {
            str: lambda: self.word(name),
            int: self.number,
            bool: lambda: self.random.random() < 0.5,
            float: lambda: 0.5,
            type(None): lambda: None,
        }
        return plain.get(kind, lambda: self.random.choice(JUNK))()

    def object_of(self, kind: Any, depth: int) -> dict[str, Any]:
        """Return an object of one of the protocol's classes; what may be missing is there half the time."""
        hints = _hints(kind)
        return {
            _camel(field.name): self.value(hints[field.name], field.name, depth + 1)
            for field in attrs.fields(kind)
            if field.default is attrs.NOTHING or (depth < _DEEP and self.random.random() < 0.5)
        }

    def word(self, name: str) -> str:
        """Return a text for a field called *name*."""
        if "uri" in name:
            return self.uri()
        if name in ("text", "new_text", "query", "new_name"):
            return self.text()
        return self.random.choice([*self.ids, "python", "total", _CONTROLS, ""])

    def bend(self, value: Any, often: float, depth: int = 0) -> Any:
        """Return *value* with parts that are something else, too many, or missing."""
        if self.random.random() < often:
            return self.random.choice(JUNK)
        if isinstance(value, dict):
            given = typing.cast("dict[str, Any]", value)
            kept = {
                key: self.bend(each, often, depth + 1)
                for key, each in given.items()
                if self.random.random() > often / 2
            }
            return {**kept, "more": self.random.choice(JUNK)} if self.random.random() < often else kept
        if isinstance(value, list):
            listed = typing.cast("list[Any]", value)
            is_small = depth < _REPEATED_DEEP and len(listed) < _REPEATED_LONG
            times = self.random.choice([1, 1, 1, 3]) if is_small else 1
            return [self.bend(each, often, depth + 1) for each in listed] * times
        return value


def stream(forge: Forge, n: int, name: str, first: int = 0) -> Iterator[Sent]:
    """Yield *n* messages; each request has an id of its own: a number from *first* on, or that number behind *name*."""
    known = methods()
    heard = [each for each in known if each.params is None or each.name in OURS]
    busy = [each for each in known if each.name in (types.TEXT_DOCUMENT_DID_CHANGE, types.WORKSPACE_EXECUTE_COMMAND)]
    rnd = forge.random
    for number in range(first, first + n):
        if rnd.random() < 0.03:
            yield Sent(rnd.choice(BODIES))
            continue
        if rnd.random() < 0.005:
            yield Sent(rnd.choice([DEEP, HUGE]) % number, str(number), "rolecall/status")
            continue
        method = rnd.choice(rnd.choice([known, heard, heard, heard, busy]))
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method.name}
        message["params"] = forge.params(method, rnd.choice([0, 0, 0.1, 0.3]))
        if rnd.random() < 0.02:
            del message["params"]
        if method.name == types.CANCEL_REQUEST and rnd.random() < 0.8:
            message["params"] = {"id": rnd.choice([number - 1, number - 2, f"{name}{number - 1}"])}
        request_id: int | str = rnd.choice([number, f"{name}{number}"])
        if method.is_request:
            made = Sent(json.dumps({**message, "id": request_id}).encode(), json.dumps(request_id), method.name)
        else:
            made = Sent(json.dumps(message).encode())
        if len(made.body) <= _LONGEST:
            yield made


@functools.cache
def _COMMANDS() -> dict[str, list[str]]:  # noqa: N802
    return commands()


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return {field.name: field.type for field in attrs.fields(attrs.resolve_types(kind))}


def _camel(name: str) -> str:
    # lsprotocol puts an underscore behind names that Python keeps for itself.
    return _CAMEL.sub(lambda found: found[1].upper(), name.rstrip("_"))
