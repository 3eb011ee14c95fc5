"""Recorded conversations: a `.jsonl` file with one finished call in each line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from rolecall_server.errors import FileRefused, ReplyCut
from rolecall_server.model.client import NO_WISHES, ChatMessage, ModelClient, Relay, Reply, Wishes


@dataclass(frozen=True)
class Exchange:
    """One call and its answer."""

    messages: tuple[ChatMessage, ...]
    reply: Reply


_EXCHANGE = TypeAdapter(Exchange)
_SEAL = "sha256:"
ABOUT_THE_MACHINE = "The tests run with "
"""So begins a line that says what a machine has. A conversation is known by what stands outside of such lines."""
_OF_THE_MACHINE = re.compile(rf"^{ABOUT_THE_MACHINE}.*\n?", re.MULTILINE)


def is_sealed(message: ChatMessage) -> bool:
    """Return whether *message* is a fingerprint."""
    return message.text.startswith(_SEAL)


def seal(message: ChatMessage) -> ChatMessage:
    """Return *message* with its text replaced by a fingerprint; a message of the model is left as it is.

    A sealed recording can be published where the repository that it shows to the model must not be.
    """
    if message.role == "assistant" or is_sealed(message):
        return message
    content = on_any_machine(message).text.encode("utf-8", "surrogatepass")
    return ChatMessage(message.role, _SEAL + hashlib.sha256(content).hexdigest())


def on_any_machine(message: ChatMessage) -> ChatMessage:
    """Return *message* without what it says about the machine it was made on."""
    return replace(message, text=_OF_THE_MACHINE.sub("", message.text))


def write_sealed(exchanges: Iterable[Exchange], path: Path) -> None:
    """Write *exchanges* to *path* with their messages sealed; one that is there already is written once."""
    sealed = (Exchange(tuple(map(seal, exchange.messages)), exchange.reply) for exchange in exchanges)
    lines = dict.fromkeys(map(_written, sealed))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


class Recorder(Relay):
    """A client that writes down each finished call of another; failed and cancelled ones leave no trace.

    One that its length ended is written down as that, since it is continued.
    """

    def __init__(self, client: ModelClient, path: Path) -> None:
        """Record what *client* answers at the end of *path*.

        Raises:
            FileRefused: *path* cannot be written.
        """
        self.client, self._path = client, path
        # At once, so that a file that cannot be written is told before a model was paid.
        _append(path, "")

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """Return the client's answer after writing it to the recording."""
        try:
            reply = await self.client.complete(messages, wishes)
        except ReplyCut as cut:
            if cut.said:
                half = Reply(cut.said, "", None, None, cut=True)
                _append(self._path, _written(Exchange(tuple(messages), half)) + "\n")
            raise
        _append(self._path, _written(Exchange(tuple(messages), reply)) + "\n")
        return reply


def read_recording(path: Path) -> tuple[Exchange, ...]:
    """Return the calls recorded in *path*, in order; blank lines are skipped.

    Raises:
        FileRefused: it cannot be read, or a line is no recorded call.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise FileRefused(
            f"The recording {path} cannot be read: {error.strerror}.", "Check ROLECALL_REPLAY (rolecall.model.replay)."
        ) from error
    return tuple(_read_line(path, number, line) for number, line in enumerate(lines, 1) if line.strip())


def _read_line(path: Path, number: int, line: bytes) -> Exchange:
    try:
        return _EXCHANGE.validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise FileRefused(
            f"Line {number} of the recording {path} is no recorded call: {where}: {first['msg']}.",
            "Record the conversation anew, or take that line out.",
        ) from error


def _written(exchange: Exchange) -> str:
    """Return *exchange* as one line, without fields that have their default values."""
    return _EXCHANGE.dump_json(exchange, exclude_defaults=True).decode()


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8", newline="\n") as recording:
            recording.write(text)
    except OSError as error:
        raise FileRefused(
            f"The recording {path} cannot be written: {error.strerror}.", "Choose another file in ROLECALL_RECORD."
        ) from error
