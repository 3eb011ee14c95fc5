"""The messages that a run sent to its models, call by call, and what came back: read from the store, for people and
programs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rolecall_server.context.manifest import MANIFEST_JSON, Manifest, read_manifest, render_manifest
from rolecall_server.model import estimate_tokens
from rolecall_server.store import CallRow, RunRow, Store
from rolecall_server.team.model_calls.prices import show_money
from rolecall_server.team.request import title_of
from rolecall_server.workspace import sha256

_FIRST_WORDS = 70
_FENCES = re.compile(r"`+")


@dataclass(frozen=True)
class Turn:
    """One message of a request."""

    role: str
    tokens: int
    """Estimated."""
    sha256: str
    """Of the text as it was sent, secrets covered."""
    text: str
    """As it was sent, secrets covered."""
    begins: str
    """Its first words."""
    is_new: bool
    """No earlier call of the conversation has sent it at this place."""


@dataclass(frozen=True)
class SentCall:
    """One call: what it sent and what it used."""

    number: int
    """From 1, within the run."""
    row: CallRow
    manifest: Manifest | None
    """The parts of the repository that the conversation began with; ``None`` where nobody packed anything."""
    begun_by: int
    """The number of the call that began the conversation; its own where it did."""
    turns: tuple[Turn, ...]
    covered: Mapping[str, int]
    """The number of secrets of each kind that were covered."""

    @property
    def kept_share(self) -> float:
        """Return the part of the estimated tokens that was sent before, word for word and from the beginning:
        0 to 1.
        """
        total = sum(turn.tokens for turn in self.turns)
        return sum(turn.tokens for turn in self.turns if not turn.is_new) / total if total else 0.0


def sent_calls(store: Store, run_id: str) -> tuple[SentCall, ...]:
    """Return the calls of a run, in order."""
    manifests = {opening: read_manifest(body) for opening, body in store.manifests(run_id)}
    earlier: dict[str, list[dict[str, Any]]] = {}
    begun_by: dict[str, int] = {}
    found: list[SentCall] = []
    for number, row in enumerate(store.calls(run_id), 1):
        messages: list[dict[str, Any]] = json.loads(row.request)
        n_kept = _n_same(earlier.get(row.opening, []), messages)
        earlier[row.opening] = messages
        begun_by.setdefault(row.opening, number)
        turns = tuple(_turn(message, is_new=n >= n_kept) for n, message in enumerate(messages))
        manifest = manifests.get(row.opening) or manifests.get("")
        found.append(SentCall(number, row, manifest, begun_by[row.opening], turns, json.loads(row.covered)))
    return tuple(found)


def render_sent(run: RunRow, calls: Sequence[SentCall]) -> str:
    """Return a Markdown page of what was sent."""
    lines = [
        f"# What was sent in {run.id}",
        "",
        f"{title_of(run.role)}{f', {run.path}' if run.path else ''}. {_sum(calls)}",
    ]
    for call in calls:
        lines += ["", *_rendered(call)]
    return "\n".join(lines) + "\n"


def sent_json(calls: Sequence[SentCall]) -> list[dict[str, Any]]:
    """Return the calls as programs read them; the keys of a manifest are those of `Manifest`."""
    return [
        {
            "call": call.number,
            "at": datetime.fromtimestamp(call.row.at_s).astimezone().isoformat(timespec="seconds"),
            "role": call.row.role,
            "model": call.row.model,
            "endpoint": call.row.endpoint,
            "error": call.row.error,
            "begunBy": call.begun_by,
            "keptShare": round(call.kept_share, 4),
            "messages": [vars(turn) for turn in call.turns],
            "manifest": MANIFEST_JSON.dump_python(call.manifest, mode="json") if call.manifest else None,
            "covered": dict(call.covered),
            "promptTokens": call.row.prompt_tokens,
            "completionTokens": call.row.completion_tokens,
            "tokens": call.row.tokens,
            "cost": call.row.nanos / 1e9,
        }
        for call in calls
    ]


def _n_same(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of messages at the beginning of *now* that are those of *before*."""
    n = 0
    for one, other in zip(before, now, strict=False):
        if one != other:
            break
        n += 1
    return n


def _turn(message: Mapping[str, Any], *, is_new: bool) -> Turn:
    text: str = message["text"]
    begins = " ".join(text[: 2 * _FIRST_WORDS].split())
    short = begins if len(begins) <= _FIRST_WORDS else begins[: _FIRST_WORDS - 1] + "…"
    return Turn(message["role"], estimate_tokens(text), sha256(text), text, short, is_new)


def _rendered(call: SentCall) -> Iterator[str]:
    row = call.row
    yield f"## Call {call.number}, {datetime.fromtimestamp(row.at_s).astimezone():%Y-%m-%d %H:%M:%S}"
    yield ""
    yield f"{title_of(row.role)} asked {row.endpoint or 'a model'}. {_used(row)}"
    if row.error:
        yield f"It failed: {row.error}"
    yield _about_secrets(call.covered)
    yield ""
    if call.begun_by == call.number:
        unlisted = ["No list says which parts of the repository are in it; all of it is below."]
        yield from render_manifest(call.manifest) if call.manifest else unlisted
    else:
        yield f"It goes on from call {call.begun_by}; {call.kept_share:.0%} of it was sent before. New since then:"
    yield ""
    yield from ("| message | tokens | begins | sha256 |", "| --- | ---: | --- | --- |")
    for turn in call.turns:
        if turn.is_new:
            begins = turn.begins.replace("|", "\\|").replace("`", "'")
            yield f"| {turn.role} | {turn.tokens:,} | {begins} | {turn.sha256[:12]} |"
    for turn in call.turns:
        if turn.is_new:
            yield from _quoted(f"Sent as {turn.role}", turn.text)
    if row.reply:
        yield from _quoted("The reply", row.reply)


def _quoted(title: str, text: str) -> Iterator[str]:
    """Yield *text* under a heading, between fences that nothing in it can end."""
    fence = "`" * max(3, *(len(run) + 1 for run in _FENCES.findall(text)), 3)
    yield from ("", f"### {title}", "", f"{fence}text", text.rstrip("\n"), fence)


def _used(row: CallRow) -> str:
    cost = f", for {show_money(row.nanos)}" if row.nanos else ""
    if row.reply is None:
        return f"No reply came; {row.tokens:,} tokens are set aside for it{cost}."
    if row.prompt_tokens is None or row.completion_tokens is None:
        return f"The endpoint did not count; {row.tokens:,} tokens are set down for it{cost}."
    return f"The endpoint counted {row.prompt_tokens:,} tokens and {row.completion_tokens:,} of its reply{cost}."


def _about_secrets(covered: Mapping[str, int]) -> str:
    if not covered:
        return "No secret was found in it."
    n, kinds = sum(covered.values()), ", ".join(f"{count} {kind}" for kind, count in sorted(covered.items()))
    return f"{n} secret{'s were' if n > 1 else ' was'} replaced by a name before it was sent: {kinds}."


def _sum(calls: Sequence[SentCall]) -> str:
    answered = [call.row for call in calls if call.row.reply is not None]
    tokens, nanos = sum(row.tokens for row in answered), sum(row.nanos for row in answered)
    cost = f", for {show_money(nanos)}" if nanos else ""
    n_open, held = len(calls) - len(answered), sum(call.row.tokens for call in calls if call.row.reply is None)
    without = f" {n_open} without a reply, for which {held:,} more are set aside." if n_open else ""
    return f"{len(calls)} call{'' if len(calls) == 1 else 's'}, {tokens:,} tokens{cost}.{without}"
