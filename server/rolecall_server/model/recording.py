"""Recorded conversations: a `.jsonl` file with one finished call in each line."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from rolecall_server.errors import FileRefused
from rolecall_server.model.client import ChatMessage, ModelClient, OnText, Reply


@dataclass(frozen=True)
class Exchange:
    """One call and its answer."""

    messages: tuple[ChatMessage, ...]
    reply: Reply


_EXCHANGE = TypeAdapter(Exchange)
_SEAL = "sha256:"


def is_sealed(message: ChatMessage) -> bool:
    """Whether *message* is a fingerprint."""
    return message.text.startswith(_SEAL)


def seal(message: ChatMessage) -> ChatMessage:
    """*message* by its fingerprint alone; what the model said is left as it is.

    A sealed recording can be published where the repository that it shows to the model must not be.
    """
    if message.role == "assistant" or is_sealed(message):
        return message
    return ChatMessage(message.role, _SEAL + hashlib.sha256(message.text.encode("utf-8", "surrogatepass")).hexdigest())


def write_sealed(exchanges: Iterable[Exchange], path: Path) -> None:
    """Write *exchanges* to *path* with their messages sealed; one that is there already is written once."""
    sealed = (Exchange(tuple(map(seal, exchange.messages)), exchange.reply) for exchange in exchanges)
    lines = dict.fromkeys(_EXCHANGE.dump_json(exchange).decode() for exchange in sealed)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


class Recorder:
    """A client that writes down each finished call of another; failed and cancelled ones leave no trace."""

    def __init__(self, client: ModelClient, path: Path) -> None:
        """Record what *client* answers at the end of *path*.

        Raises:
            FileRefused: *path* cannot be written.
        """
        self._client, self._path = client, path
        _append(path, "")

    @property
    def label(self) -> str:
        """Who answers."""
        return self._client.label

    async def complete(self, messages: Sequence[ChatMessage], *, on_text: OnText | None = None) -> Reply:
        """The client's answer, once it is written down."""
        reply = await self._client.complete(messages, on_text=on_text)
        _append(self._path, _EXCHANGE.dump_json(Exchange(tuple(messages), reply)).decode() + "\n")
        return reply

    async def aclose(self) -> None:
        """Close the client."""
        await self._client.aclose()


def read_recording(path: Path) -> tuple[Exchange, ...]:
    """The calls recorded in *path*, in order; blank lines are skipped.

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


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8", newline="\n") as recording:
            recording.write(text)
    except OSError as error:
        raise FileRefused(
            f"The recording {path} cannot be written: {error.strerror}.", "Choose another file in ROLECALL_RECORD."
        ) from error
