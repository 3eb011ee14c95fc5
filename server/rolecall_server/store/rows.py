"""The requests to the store and its answers, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall_server.processes import ProcessId


@dataclass(frozen=True)
class RunRow:
    """One run as stored."""

    id: str
    role: str
    path: str
    brief: str
    state: str
    """``running``, ``finished``, ``failed``, ``cancelled`` or ``interrupted``."""
    error: str
    started_at_s: float
    """Seconds since the epoch."""
    process: ProcessId | None
    """The process that works on it; ``None`` where an earlier Rolecall began it."""
    ended_at_s: float | None = None
    """``None`` while it goes on, and where nobody saw it end."""


@dataclass(frozen=True)
class Caps:
    """Limits on what model calls use; 0 is no limit."""

    tokens_per_run: int = 0
    calls_per_run: int = 0
    tokens_per_day: int = 0
    nanos_per_run: int = 0
    """Money, in billionths of the unit that the prices are in."""
    nanos_per_day: int = 0


@dataclass(frozen=True)
class Asking:
    """The facts known of a model call before it is made."""

    role: str = ""
    """Who asks; empty: the role of the run."""
    kind: str = ""
    """The kind of work it is asked for, such as ``write``; calls of one role and kind take about the same."""
    endpoint: str = ""
    """Who is asked, as `ModelClient.label` has it."""
    opening: str = ""
    """The fingerprint of what is said before the model first speaks; by it the manifest is found."""
    estimated: int = 0
    """The tokens of the prompt, by estimate."""
    covered: str = "{}"
    """The number of secrets of each kind that are covered in it, as JSON."""
    prompt_nanos: int = 0
    """The price of a token of the prompt, in billionths: whole numbers make exact sums. 0: not known, or free."""
    completion_nanos: int = 0
    most_nanos: int = 0
    """The most that the call can cost."""


@dataclass(frozen=True)
class Spent:
    """The amounts that some model calls used; what is under way counts with all that was set aside for it."""

    tokens: int
    n_calls: int
    nanos: int
    """Money, in billionths."""
    under_way: int = 0
    """The tokens among them that are set aside for calls that have not ended."""

    @property
    def used(self) -> int:
        """Return the tokens of the calls that have ended."""
        return self.tokens - self.under_way


@dataclass(frozen=True)
class CallRow:
    """One model call as stored."""

    id: int
    request: str
    """The messages as they were sent, as JSON."""
    reply: str | None
    """``None`` where none came."""
    error: str
    at_s: float
    """Seconds since the epoch."""
    role: str
    model: str
    """Who answered, as the endpoint calls it; empty where nobody did."""
    endpoint: str
    opening: str
    covered: str
    prompt_tokens: int | None
    """As the endpoint counted; ``None`` where it did not say."""
    completion_tokens: int | None
    tokens: int
    """The tokens as the endpoint counted them, else by estimate; all that was set aside while it is under way."""
    nanos: int


@dataclass(frozen=True)
class EndpointRow:
    """The knowledge of a model at an address."""

    body: str
    at_s: float
    """When it was learned, in seconds since the epoch."""


@dataclass(frozen=True)
class ActRow:
    """Something the developer did."""

    id: int
    kind: str
    at_s: float
    """Seconds since the epoch."""


@dataclass(frozen=True)
class DecisionRow:
    """One change of a hunk's state."""

    hunk_id: str
    state: str
    reason: str
    at_s: float
    """Seconds since the epoch."""
    act_id: int | None
    """The act it belongs to; ``None`` where a change of the file brought it."""
    text: str | None
    """The text the developer gave the hunk; ``None`` where it keeps what it has."""


@dataclass(frozen=True)
class LandingRow:
    """One step of a file from a text to the next; `review.landings` says what follows from it."""

    id: int
    path: str
    proposal_id: str
    brought_in: tuple[str, ...]
    """The hunks that the step brought into the text."""
    taken_out: tuple[str, ...]
    before: str
    """The fingerprint of the text it starts from."""
    after: str
    process: ProcessId
    """Who watches what becomes of it."""


@dataclass(frozen=True)
class BegunRow:
    """A change of a workspace's files that was begun and has not ended."""

    id: int
    root: str
    body: str
    """All it takes to make the rest of it, or to take it back."""


@dataclass(frozen=True)
class DocumentRow:
    """One version of a document as stored."""

    id: str
    version: int
    """From 1."""
    run_id: str
    kind: str
    author: str
    because: tuple[str, ...]
    """The messages it follows from."""
    body: str
    at_s: float
    """Seconds since the epoch."""
