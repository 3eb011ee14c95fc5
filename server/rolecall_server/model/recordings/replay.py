"""A model that answers from a recording, and says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, unified_diff
from itertools import islice
from pathlib import Path

from rolecall_server.errors import ReplayMiss, ReplyCut
from rolecall_server.model.client import NO_WISHES, ChatMessage, Reply, Wishes
from rolecall_server.model.recordings.recording import Exchange, is_sealed, on_any_machine, read_recording, seal

_N_DIFF_LINES = 8
_MAX_LINE_CHARACTERS = 160

Messages = Sequence[ChatMessage]


class ReplayModel:
    """Answers conversations that open exactly as a recorded one did, turn by turn.

    What is said between the model's turns may differ: tracebacks and timings are another machine's.
    """

    def __init__(self, path: Path) -> None:
        """Answer from the recording at *path*.

        Raises:
            FileRefused: it cannot be read, or is no recording.
        """
        self._path = path
        self._exchanges = read_recording(path)

    @property
    def label(self) -> str:
        """Return the label of the recording that answers."""
        return f"a replay of {self._path.name} (no model is asked)"

    async def complete(self, messages: Messages, wishes: Wishes = NO_WISHES) -> Reply:
        """Return the recorded answer to *messages*, whatever is wished for.

        Raises:
            ReplayMiss: there is none; the text shows where the nearest recorded opening differs.
            ReplyCut: the recorded one was cut by its length.
        """
        reply = find_reply(self._exchanges, messages)
        if reply is None:
            raise ReplayMiss(
                f"{self._path.name} holds no answer to this conversation. {_miss(self._exchanges, messages)}"
            )
        if wishes.on_text is not None:
            wishes.on_text(reply.text)
        if reply.cut:
            raise ReplyCut("The recorded reply reached its length limit.", said=reply.text)
        return reply

    async def aclose(self) -> None:
        """Nothing is held."""


def find_reply(exchanges: Sequence[Exchange], messages: Messages) -> Reply | None:
    """Return the recorded reply to *messages*: the same opening, the same number of turns of the model.

    Among several the one whose model said the same before is taken, then the latest.
    """
    candidates = [
        exchange
        for exchange in exchanges
        if _same(_opening(exchange.messages), _opening(messages))
        and len(_answers(exchange.messages)) == len(_answers(messages))
    ]
    same_answers = [exchange for exchange in candidates if _answers(exchange.messages) == _answers(messages)]
    return next((exchange.reply for exchange in reversed(same_answers or candidates)), None)


def _same(recorded: Messages, asked: Messages) -> bool:
    """Return whether each message equals the recorded one, except for what it says about a machine, or has its
    fingerprint.
    """
    return len(recorded) == len(asked) and all(
        on_any_machine(r) in (on_any_machine(a), seal(a)) for r, a in zip(recorded, asked, strict=True)
    )


def _opening(messages: Messages) -> tuple[ChatMessage, ...]:
    """Return the messages before the model first speaks."""
    first_answer = next((i for i, message in enumerate(messages) if message.role == "assistant"), len(messages))
    return tuple(messages[:first_answer])


def _answers(messages: Messages) -> tuple[str, ...]:
    return tuple(message.text for message in messages if message.role == "assistant")


def _miss(exchanges: Sequence[Exchange], messages: Messages) -> str:
    """Return the reason why there is no answer, in a few lines."""
    if not exchanges:
        return "It is empty."
    opening = _opening(messages)
    n_turns = [
        len(_answers(exchange.messages)) for exchange in exchanges if _same(_opening(exchange.messages), opening)
    ]
    if n_turns:
        return f"It knows the opening, but not what comes after {len(_answers(messages))} answers."
    if any(is_sealed(message) for exchange in exchanges for message in exchange.messages):
        return _sealed_miss(exchanges, opening)
    asked = _lines(opening)
    nearest = max(
        (_lines(_opening(exchange.messages)) for exchange in exchanges), key=lambda one: _likeness(one, asked)
    )
    return "\n".join(["The nearest recorded opening (-) differs from this one (+):", *_differences(nearest, asked), ""])


def _sealed_miss(exchanges: Sequence[Exchange], opening: Messages) -> str:
    """Return the reason for a miss where only fingerprints are recorded: the messages that are not the
    recorded ones.
    """

    def strangers(exchange: Exchange) -> list[str]:
        recorded = _opening(exchange.messages)
        return [
            f"message {number} ({asked.role})"
            for number, asked in enumerate(opening, 1)
            if number > len(recorded) or not _same(recorded[number - 1 : number], (asked,))
        ]

    differing = min((strangers(exchange) for exchange in exchanges), key=len)
    what = ", ".join(differing) or "its length"
    return (
        "It is sealed, so what differs cannot be shown: the repository or a prompt is not the recorded one. "
        f"Of the nearest recorded opening differs: {what}."
    )


def _likeness(recorded: Sequence[str], asked: Sequence[str]) -> float:
    return SequenceMatcher(None, recorded, asked, autojunk=False).ratio()


def _differences(recorded: Sequence[str], asked: Sequence[str]) -> Iterator[str]:
    diff = list(islice(unified_diff(recorded, asked, lineterm="", n=0), 2, None))
    for line in diff[:_N_DIFF_LINES]:
        yield line if len(line) <= _MAX_LINE_CHARACTERS else line[: _MAX_LINE_CHARACTERS - 2] + " …"
    if len(diff) > _N_DIFF_LINES:
        yield f"… and {len(diff) - _N_DIFF_LINES} more lines"


def _lines(opening: Messages) -> list[str]:
    return [line for message in opening for line in (f"[{message.role}]", *message.text.splitlines())]
