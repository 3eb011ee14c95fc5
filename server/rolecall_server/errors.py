"""Every error Rolecall raises on purpose, named for who acts next.

::

    RolecallError
    ├── UserMustAct               the developer changes something, then asks again
    │   ├── NoModelConfigured     no setting, variable or recording names a model
    │   ├── KeyRefused            the endpoint refused the API key
    │   ├── ModelWithheld         the editor's model may not be asked
    │   ├── UnknownModel          the endpoint does not know the model, or a choice is needed
    │   ├── RequestRefused        the endpoint refused the request itself
    │   │   └── ContextOverflow   it is longer than the model's context: show it less
    │   ├── BudgetSpent           a limit on tokens, calls or time is reached
    │   ├── SecretsSought         what a run would send to its model held encoded secrets, twice
    │   ├── FileRefused           a file Rolecall will not read or change, and why
    │   ├── DocumentRefused       a document that cannot be read back after an edit by hand
    │   ├── DocumentUnusable      a document of the team that nobody can build on, and why
    │   ├── RunPaused             a run that waits, and for what
    │   ├── BriefMissing          a role was asked to work without being told on what
    │   ├── PatchRefused          an edit from elsewhere that cannot be read, or does not fit the files
    │   ├── EditRefused           the editor did not make an edit it was asked to make
    │   ├── CodeNotRun            what was asked for needs the repository's code to run, and it cannot
    │   ├── NotReproduced         a failure that was to be mended does not happen here
    │   ├── NothingToTest         no call of the code was found that a test could hold it to
    │   ├── SelectionBreaks       some hunks of a proposal would break without others that are left out
    │   ├── HunkStale             the text a hunk was made for has changed under it
    │   └── NotFound              a run, proposal or hunk that does not exist (any more)
    ├── ProviderUnavailable       the endpoint, its network or its quota: wait, or try another
    │   ├── ConnectionFailed      nothing answered at that address
    │   ├── DeadlinePassed        no complete reply in the time allowed
    │   └── RateLimited           the endpoint asks for patience, or the quota is spent
    ├── ReplyUnusable             the model answered, but not with something to build on
    │   ├── ReplyMalformed        not a chat completion at all: HTML, broken JSON, no choices
    │   ├── ReplyCut              the stream ended, or the length ran out, before the answer did
    │   ├── ReplyRepeats          the model said the same over and over, and was stopped
    │   ├── ReplyRefused          the model or a filter declined
    │   ├── TextTooHard           a text that takes too long to read
    │   ├── ReplyMisshapen        not in the shape that was asked for, after asking again
    │   ├── NoUsableEdit          no edit that matches the files, after asking again
    │   └── ReplayMiss            the recording holds no answer to this conversation
    └── StoreUnavailable          the database of runs and proposals cannot be opened
        └── StoreDamaged          it cannot be read, and was set aside
"""

from __future__ import annotations


class RolecallError(Exception):
    """An error that says in a sentence what went wrong, and what to do next."""

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


class ModelWithheld(UserMustAct):
    """The developer, or the editor on their behalf, did not let Rolecall ask one of the editor's models."""


class RequestRefused(UserMustAct):
    """The endpoint refused the request itself: it is too long, or holds what is not allowed."""


class ContextOverflow(RequestRefused):
    """The request is longer than the model's context; one that shows less may pass."""


class BudgetSpent(UserMustAct):
    """A limit on tokens, calls or time is reached, or the next call might pass it."""

    next_step = "Raise the limit among the settings `rolecall.budget`, or run the command on something smaller."


class SecretsSought(UserMustAct):
    """An error for a run that would send encoded secrets to its model, twice: somebody is after them."""

    next_step = "Read the tests that it wrote before you accept any, and change the secrets if you are not sure."


class FileRefused(UserMustAct):
    """A file Rolecall will not read or change."""


class DocumentRefused(UserMustAct):
    """A document that cannot be read back after an edit by hand."""

    next_step = "Correct those lines and take it again; what is stored is unchanged."


class BriefMissing(UserMustAct):
    """A role was asked to work without being told on what."""


class DocumentUnusable(UserMustAct):
    """A document of the team on which nobody can build."""


class RunPaused(UserMustAct):
    """A run that waits for the developer."""

    @classmethod
    def of(cls, run_id: str) -> RunPaused:
        """Return the error for a run that the developer paused."""
        return cls(f"{run_id} is paused.", f"`rolecall resume {run_id}` goes on.")


class PatchRefused(UserMustAct):
    """An edit from elsewhere cannot be read, or does not fit the files."""


class EditRefused(UserMustAct):
    """The editor did not make an edit that it was asked to make."""


class CodeNotRun(UserMustAct):
    """An error for a request that needs the repository's code to run, where it cannot run."""


class NotReproduced(UserMustAct):
    """A failure that was to be mended does not happen here."""

    next_step = "If it fails elsewhere only, `rolecall fix` with --unreproduced and --traceback mends it by its log."


class NothingToTest(UserMustAct):
    """No call of the code was found that a test could hold it to."""

    next_step = "Name a model, which can write tests that need more than arguments."


class SelectionBreaks(UserMustAct):
    """Some hunks of a proposal would break without others that are left out."""


class HunkStale(UserMustAct):
    """The text a hunk was made for has changed under it."""

    next_step = "Undo that change to get the hunk back, or run the command again."


class NotFound(UserMustAct):
    """A run, proposal or hunk that does not exist, or not any more."""

    next_step = "It may have been decided already. Look at the pending proposals."


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

    def __init__(self, what: str, next_step: str | None = None, *, said: str = "") -> None:
        super().__init__(what, next_step)
        self.said = said
        """The text that came, where the length alone ended it: it can be continued."""


class ReplyRepeats(ReplyUnusable):
    """The model said the same over and over, and was stopped."""

    next_step = "Run the command again, raise the model's temperature, or choose a more capable model."


class ReplyRefused(ReplyUnusable):
    """The model or a content filter declined."""


class TextTooHard(ReplyUnusable):
    """A text of a model, or of what ran for it, takes too long to be read."""


class ReplyMisshapen(ReplyUnusable):
    """The answer has not the shape that was asked for, even after asking again for what was wrong."""

    def __init__(self, what: str, next_step: str | None = None, *, said: str = "") -> None:
        super().__init__(what, next_step)
        self.said = said
        """The model's last words, as they came."""


class NoUsableEdit(ReplyUnusable):
    """No edit in the reply matches the files, even after asking again."""


class NothingToChange(NoUsableEdit):
    """The model made no edit, and gave its reasons."""

    next_step = "Read why. Where it is wrong, run the command again and say more of what you want."

    def __init__(self, what: str, next_step: str | None = None, *, said: str = "") -> None:
        super().__init__(what, next_step)
        self.said = said
        """All that it said."""


class ReplayMiss(ReplyUnusable):
    """The recording holds no answer to this conversation."""

    next_step = "Record the conversation anew, or configure a model."


class StoreUnavailable(RolecallError):
    """The database of runs and proposals cannot be opened."""


class StoreDamaged(StoreUnavailable):
    """The database of runs and proposals cannot be read, and was set aside."""
