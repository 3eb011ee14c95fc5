"""Recorded conversations: a `.jsonl` file with one finished call in each line."""

from __future__ import annotations

from collections.abc import Sequence
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
