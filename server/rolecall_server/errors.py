"""Every error Rolecall raises on purpose, named for who acts next.

::

    RolecallError
    ├── UserMustAct               the developer changes something, then asks again
    │   ├── NoModelConfigured     no setting, variable or recording names a model
    │   ├── KeyRefused            the endpoint refused the API key
    │   ├── UnknownModel          the endpoint does not know the model, or a choice is needed
    │   ├── RequestRefused        the endpoint refused the request itself (too long, not allowed)
    │   ├── FileRefused           a file Rolecall will not read or change, and why
    │   ├── BriefMissing          a role was asked to work without being told on what
    │   ├── HunkStale             the text a hunk was made for has changed under it
    │   └── NotFound              a run, proposal or hunk that does not exist (any more)
    ├── ProviderUnavailable       the endpoint, its network or its quota: wait, or try another
    │   ├── ConnectionFailed      nothing answered at that address
    │   ├── DeadlinePassed        no complete reply in the time allowed
    │   └── RateLimited           the endpoint asks for patience, or the quota is spent
    ├── ReplyUnusable             the model answered, but not with something to build on
    │   ├── ReplyMalformed        not a chat completion at all: HTML, broken JSON, no choices
    │   ├── ReplyCut              the stream ended, or the length ran out, before the answer did
    │   ├── ReplyRefused          the model or a filter declined
    │   ├── NoUsableEdit          no edit that matches the files, after asking again
    │   └── ReplayMiss            the recording holds no answer to this conversation
    └── StoreUnavailable          the database of runs and proposals cannot be opened
"""

from __future__ import annotations


class RolecallError(Exception):
    """What went wrong, in a sentence, and what to do next."""

    next_step = "Try again; if it keeps happening, report it with the server's log."

    def __init__(self, what: str, next_step: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        if next_step is not None:
            self.next_step = next_step

    @property
    def code(self) -> str:
        """The error's name, as clients and the store see it."""
        return type(self).__name__

    def __str__(self) -> str:
        return f"{self.what} {self.next_step}"


class UserMustAct(RolecallError):
    """The developer changes something, then asks again."""


class NoModelConfigured(UserMustAct):
    """No setting, variable or recording names a model."""

    next_step = (
        "Name one in any of three ways: "
        "(1) a hosted model: set OPENAI_API_KEY and ROLECALL_MODEL; "
        "(2) a local server (Ollama, LM Studio, llama.cpp, vLLM): set ROLECALL_BASE_URL, "
        "for example http://localhost:11434/v1, and ROLECALL_MODEL; "
        "(3) the same in your editor's settings: rolecall.model.name, rolecall.model.baseUrl, "
        "rolecall.model.apiKeyVariable."
    )


class KeyRefused(UserMustAct):
    """The endpoint refused the API key."""


class UnknownModel(UserMustAct):
    """The endpoint does not know the model, or offers several and none was named."""


class RequestRefused(UserMustAct):
    """The endpoint refused the request itself: too long, or not allowed."""


class FileRefused(UserMustAct):
    """A file Rolecall will not read or change."""


class BriefMissing(UserMustAct):
    """A role was asked to work without being told on what."""


class HunkStale(UserMustAct):
    """The text a hunk was made for has changed under it."""

    next_step = "Undo that change to get the hunk back, or run the command again."


class NotFound(UserMustAct):
    """A run, proposal or hunk that does not exist, or not any more."""

    next_step = "It may have been decided already; look at the pending proposals."


class ProviderUnavailable(RolecallError):
    """The endpoint, its network or its quota fails us for now."""

    next_step = "Try again in a while, or choose another model."


class ConnectionFailed(ProviderUnavailable):
    """Nothing answered at the model's address."""


class DeadlinePassed(ProviderUnavailable):
    """No complete reply came in the time allowed."""


class RateLimited(ProviderUnavailable):
    """The endpoint asks for patience, or the quota is spent."""


class ReplyUnusable(RolecallError):
    """The model answered, but not with something to build on."""

    next_step = "Run the command again, or choose a more capable model."


class ReplyMalformed(ReplyUnusable):
    """The answer was no chat completion: HTML, broken JSON, no choices."""


class ReplyCut(ReplyUnusable):
    """The stream ended, or the length ran out, before the answer did."""


class ReplyRefused(ReplyUnusable):
    """The model or a content filter declined."""


class NoUsableEdit(ReplyUnusable):
    """No edit in the reply matches the files, even after asking again."""


class ReplayMiss(ReplyUnusable):
    """The recording holds no answer to this conversation."""

    next_step = "Record the conversation anew, or configure a model."


class StoreUnavailable(RolecallError):
    """The database of runs and proposals cannot be opened."""
