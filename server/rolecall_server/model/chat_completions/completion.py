"""Chat completions as endpoints really send them, checked, and put together into one reply.

The SDK builds its values without validating them, so a ``null`` where its types promise a list is common.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, JsonValue

from rolecall_server.errors import ReplyCut, ReplyMalformed, ReplyRefused, ReplyRepeats
from rolecall_server.model.chat_completions.repetition import RepetitionWatch
from rolecall_server.model.client import MAX_REPLY_CHARACTERS, Reply, TokenCount, ToolCall

_CHARACTERS_OF_A_LONG_TOKEN = 16
"""No text has tokens as long as that on average: whoever writes more does not heed the limit."""

MAX_CALLS = 128
"""More tool calls in one reply are no question but a model that cannot stop."""

_LONGEST_NAME = 500
"""Of a tool, or of a call of one; it would be said again in each message that follows.

Source: OpenAI's API takes names of tools up to 64 characters.
"""

_MOST_SHOWN = 300
"""Characters of what an endpoint says in an error, or of the name that it gives itself."""


_LEAST_LOGPROB = -100.0


class _Lenient(BaseModel):
    model_config = ConfigDict(from_attributes=True, frozen=True, hide_input_in_errors=True)


class _Function(_Lenient):
    name: str | None = None
    arguments: str | dict[str, JsonValue] | None = None
    """JSON, or part of it; some endpoints send it parsed."""


class _CallPiece(_Lenient):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Words(_Lenient):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    """What the model thinks aloud, where it does so apart: read only to see whether it goes in circles."""
    tool_calls: tuple[_CallPiece, ...] | None = None


class _TokenLikelihood(_Lenient):
    logprob: float | None = None


class _Likelihood(_Lenient):
    content: tuple[_TokenLikelihood, ...] | None = None


class _StreamedChoice(_Lenient):
    delta: _Words | None = None
    """In a stream."""
    message: _Words | None = None
    """In a reply that came whole."""
    finish_reason: str | None = None
    logprobs: _Likelihood | None = None


class _Usage(_Lenient):
    prompt_tokens: TokenCount = None
    completion_tokens: TokenCount = None


class Completion(_Lenient):
    """A whole chat completion, or one chunk of a streamed one."""

    choices: tuple[_StreamedChoice, ...]
    """Empty in the chunk that carries the usage."""
    model: str | None = None
    usage: _Usage | None = None


@dataclass
class _CallDraft:
    """A tool call while it comes in."""

    index: int | None
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])

    def finish(self, number: int) -> ToolCall:
        """Return the whole call, with an id made from *number* where the endpoint gives none."""
        return ToolCall(self.id or f"call_{number}", self.name, _well_formed("".join(self.arguments)) or "{}")


@dataclass
class PartialReply:
    """A reply while it comes in."""

    source: str
    """The model and its address, for errors."""
    max_tokens: int = 0
    """The number of tokens asked for at most; 0 is no limit."""
    model: str = ""
    finish_reason: str = ""
    """Empty until the endpoint says why it stopped."""
    n_characters: int = 0
    """Of the text and of tool calls."""
    n_chunks: int = 0
    _texts: list[str] = field(default_factory=list[str])
    _refusals: list[str] = field(default_factory=list[str])
    _n_unseen: int = 0
    """Characters of thoughts and refusals."""
    _watch: RepetitionWatch = field(default_factory=RepetitionWatch)
    _calls: list[_CallDraft] = field(default_factory=list["_CallDraft"])
    _usage: _Usage = field(default_factory=_Usage)
    _logprobs: list[float] = field(default_factory=list[float])

    def add(self, completion: Completion) -> str:
        """Take in one chunk; the text it brought, perhaps none.

        Raises:
            ReplyMalformed: the reply has grown beyond `MAX_REPLY_CHARACTERS`.
            ReplyRepeats: it only repeats itself.
            ReplyCut: it is far longer than was asked for.
        """
        self.n_chunks += 1
        self.model = (completion.model or self.model)[:_MOST_SHOWN]
        self._usage = completion.usage or self._usage
        text = thought = ""
        # One was asked for: pieces of a second would be mixed into its text.
        for choice in completion.choices[:1]:
            words = choice.delta or choice.message or _Words()
            text, thought = words.content or "", words.reasoning_content or ""
            refusal = words.refusal or ""
            self._refusals.append(refusal)
            self._n_unseen += len(refusal) + len(thought)
            self.finish_reason = choice.finish_reason or self.finish_reason
            self._logprobs += _logprobs_of(choice.logprobs)
            for piece in words.tool_calls or ():
                self.n_characters += self._add_call(piece)
        self._texts.append(text)
        self.n_characters += len(text)
        if self._watch.repeats(text or thought):
            raise ReplyRepeats(f"{self.source} says the same over and over after {self.n_characters:,} characters.")
        n_received = self.n_characters + self._n_unseen
        if self.max_tokens and n_received > self.max_tokens * _CHARACTERS_OF_A_LONG_TOKEN:
            raise ReplyCut(
                f"{self.source} wrote far more than the {self.max_tokens:,} tokens it was allowed and was stopped.",
                "Ask for less at once, or choose an endpoint that heeds a limit.",
            )
        if n_received > MAX_REPLY_CHARACTERS:
            raise ReplyMalformed(f"{self.source} wrote more than {MAX_REPLY_CHARACTERS:,} characters and was stopped.")
        return _well_formed(text)

    def _add_call(self, piece: _CallPiece) -> int:
        """Take in a piece of a tool call; how many characters it brought.

        A piece without an index belongs to the last call, unless it brings an id or a name of its own.
        """
        function = piece.function or _Function()
        same = [call for call in self._calls if piece.index is not None and call.index == piece.index]
        if not same and (piece.index is not None or piece.id or function.name or not self._calls):
            self._calls.append(_CallDraft(piece.index))
            if len(self._calls) > MAX_CALLS:
                raise ReplyMalformed(f"{self.source} asked for more than {MAX_CALLS} tools at once and was stopped.")
        if max(len(function.name or ""), len(piece.id or "")) > _LONGEST_NAME:
            raise ReplyMalformed(f"{self.source} asked for a tool by more than {_LONGEST_NAME} characters.")
        call = same[0] if same else self._calls[-1]
        call.id = call.id or piece.id or ""
        # Taken once and not put together: a name may come again with each piece.
        call.name = call.name or function.name or ""
        given = function.arguments or ""
        call.arguments.append(given if isinstance(given, str) else json.dumps(given))
        return len(call.arguments[-1]) + len(function.name or "")

    def finish(self) -> Reply:
        """Return the complete reply.

        Raises:
            ReplyMalformed: it holds no text, or nothing came that was a chat completion.
            ReplyCut: it ended before the model had said that it was done.
            ReplyRefused: the model or a filter declined.
        """
        refusal = " ".join("".join(self._refusals)[:_MOST_SHOWN].split())
        text = _well_formed("".join(self._texts))
        if not self.n_chunks:
            raise ReplyMalformed(
                f"{self.source} answered with something that is no chat completion.",
                "Check that ROLECALL_BASE_URL is an OpenAI-compatible endpoint; the address usually ends with /v1.",
            )
        if refusal or self.finish_reason == "content_filter":
            reason = f"declined: {refusal}" if refusal else "stopped at its content filter."
            raise ReplyRefused(f"{self.source} {reason}", "Word the request differently, or choose another model.")
        self._require_end()
        calls = tuple(call.finish(number) for number, call in enumerate(self._calls) if call.name)
        if not text.strip() and not calls:
            reason = self.finish_reason[:_MOST_SHOWN]
            raise ReplyMalformed(f"{self.source} answered without any text (it stopped with {reason!r}).")
        logprob = sum(self._logprobs) / len(self._logprobs) if self._logprobs else None
        counts = self._usage.prompt_tokens, self._usage.completion_tokens
        return Reply(text, self.model, *counts, calls, logprob=logprob)

    def cut(self, why: str) -> ReplyCut:
        """Return the error for a reply that ended early."""
        return ReplyCut(
            f"The reply of {self.source} broke off after {self.n_characters:,} characters: {why}.",
            "Run the command again; if it keeps happening, look at the endpoint's own log.",
        )

    def _require_end(self) -> None:
        if not self.finish_reason:
            raise self.cut("the stream ended before the model was done")
        if self.finish_reason == "error":
            raise self.cut("the endpoint reported an error")
        if self.finish_reason == "length":
            raise ReplyCut(
                f"{self.source} reached its length limit after {self.n_characters:,} characters of its reply.",
                "Ask for less at once, lower rolecall.model.contextTokens, or give a local server a longer context.",
                # A call that was cut cannot be continued as a text can.
                said="" if self._calls else _well_formed("".join(self._texts)),
            )


def _logprobs_of(likelihood: _Likelihood | None) -> list[float]:
    """Return the log-probabilities of the tokens, without those that are none: above 0, or no number.

    Endpoints say -9999 or -inf of a token that they hold for impossible; it counts as `_LEAST_LOGPROB`.
    """
    said = (one.logprob for one in (likelihood.content if likelihood else None) or ())
    return [max(value, _LEAST_LOGPROB) for value in said if value is not None and value <= 0]


def _well_formed(text: str) -> str:
    """Return *text* with surrogate pairs joined and lone halves replaced, so that it can be written to a file.

    Endpoints that stream byte by byte split an emoji's escape sequences over two chunks.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
