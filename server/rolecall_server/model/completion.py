"""Chat completions as endpoints really send them, checked, and put together into one reply.

The SDK builds its values without validating them, so a ``null`` where its types promise a list is common.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from rolecall_server.errors import ReplyCut, ReplyMalformed, ReplyRefused
from rolecall_server.model.client import Reply

MAX_REPLY_CHARACTERS = 4_000_000
"""More text than that is no answer but a model that cannot stop."""


class _Lenient(BaseModel):
    model_config = ConfigDict(from_attributes=True, frozen=True, hide_input_in_errors=True)


class _Words(_Lenient):
    content: str | None = None
    refusal: str | None = None


class _Choice(_Lenient):
    delta: _Words | None = None
    """In a stream."""
    message: _Words | None = None
    """In a reply that came whole."""
    finish_reason: str | None = None


class _Usage(_Lenient):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Completion(_Lenient):
    """A whole chat completion, or one chunk of a streamed one."""

    choices: tuple[_Choice, ...]
    """Empty in the chunk that carries the usage."""
    model: str | None = None
    usage: _Usage | None = None


@dataclass
class Draft:
    """A reply while it comes in."""

    source: str
    """The model and its address, for errors."""
    model: str = ""
    finish_reason: str = ""
    """Empty until the endpoint says why it stopped."""
    n_characters: int = 0
    n_chunks: int = 0
    _texts: list[str] = field(default_factory=list[str])
    _refusals: list[str] = field(default_factory=list[str])
    _usage: _Usage = field(default_factory=_Usage)

    def add(self, completion: Completion) -> str:
        """Take in one chunk; the text it brought, perhaps none.

        Raises:
            ReplyMalformed: the reply has grown beyond `MAX_REPLY_CHARACTERS`.
        """
        self.n_chunks += 1
        self.model = completion.model or self.model
        self._usage = completion.usage or self._usage
        text = ""
        for choice in completion.choices[:1]:
            words = choice.delta or choice.message or _Words()
            text = words.content or ""
            self._refusals.append(words.refusal or "")
            self.finish_reason = choice.finish_reason or self.finish_reason
        self._texts.append(text)
        self.n_characters += len(text)
        if self.n_characters > MAX_REPLY_CHARACTERS:
            raise ReplyMalformed(f"{self.source} wrote more than {MAX_REPLY_CHARACTERS:,} characters and was stopped.")
        return _well_formed(text)

    def finish(self) -> Reply:
        """The complete reply.

        Raises:
            ReplyMalformed: it holds no text, or nothing came that was a chat completion.
            ReplyCut: it ended before the model had said that it was done.
            ReplyRefused: the model or a filter declined.
        """
        refusal = " ".join("".join(self._refusals).split())
        text = _well_formed("".join(self._texts))
        if not self.n_chunks:
            raise ReplyMalformed(
                f"{self.source} answered with something that is no chat completion.",
                "Check that ROLECALL_BASE_URL is an OpenAI-compatible endpoint; the address usually ends with /v1.",
            )
        if refusal or self.finish_reason == "content_filter":
            reason = f"declined: {refusal[:300]}" if refusal else "stopped at its content filter."
            raise ReplyRefused(f"{self.source} {reason}", "Word the request differently, or choose another model.")
        self._require_end()
        if not text.strip():
            raise ReplyMalformed(f"{self.source} answered without any text (it stopped with {self.finish_reason!r}).")
        return Reply(text, self.model, self._usage.prompt_tokens, self._usage.completion_tokens)

    def cut(self, why: str) -> ReplyCut:
        """The error for a reply that ended early."""
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
            )


def _well_formed(text: str) -> str:
    """*text* with surrogate pairs joined and lone halves replaced, so that it can be written to a file.

    Endpoints that stream byte by byte split an emoji's escape sequences over two chunks.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
