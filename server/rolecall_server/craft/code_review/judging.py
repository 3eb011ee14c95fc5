"""Candidates before a model: it judges each, checks itself, and where it wavers a third look decides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rolecall_analysis import Definition, Snapshot, definitions_in
from rolecall_server.craft.code_review.candidates import ReviewCandidate
from rolecall_server.craft.code_review.module_bindings import binding_lines
from rolecall_server.craft.code_review.pieces import numbered
from rolecall_server.model import ChatMessage, ModelClient, estimate_tokens
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.text_work import beside_the_loop
from rolecall_server.workspace import split_lines

MOST_AT_ONCE = 8
"""Candidates of one file in one request."""
_MOST_STEPS = 8
"""Of a way, the last ones: in a long module most of what was decided before has no bearing."""
_NEAR_LINES = 12
"""Shown around a candidate that is in no function."""
MOST_OF_REASON = 600
"""Characters that are kept of a reason."""
_PROMPTS = prompts_beside(__file__)
# Models put a verdict in a list, in a quotation, in bold or in code.
_VERDICT = re.compile(
    r"^[ \t>*_`#-]{0,12}([cp]\d{1,5})[*_`]{0,3}[ \t]?:[ \t*_`]{0,6}(real|not real|unsure)\b", re.M | re.I
)
_BECAUSE = re.compile(r"^[ \t>*_`-]{0,12}because[*_`]{0,3}[ \t]?:[*_`]{0,3}", re.M | re.I)


class Judgement(StrEnum):
    """The answer about one candidate."""

    REAL = "real"
    NOT_REAL = "not real"
    UNSURE = "unsure"


@dataclass(frozen=True)
class Vote:
    """One look at a candidate."""

    judgement: Judgement
    reason: str


@dataclass(frozen=True)
class Verdict:
    """A candidate, and what became of it."""

    judgement: Judgement
    reason: str
    """The input that breaks the code, or what makes it safe."""
    votes: tuple[Judgement, ...] = ()
    """Of each look, in order; none where the model did not say."""


@dataclass(frozen=True)
class Batch:
    """Candidates of one file that are judged together, and the code that they stand in."""

    path: str
    code: str
    """With line numbers."""
    candidates: tuple[ReviewCandidate, ...]


def batches(
    snapshot: Snapshot, texts: Mapping[str, str], candidates: Sequence[ReviewCandidate], most_tokens: int
) -> tuple[Batch, ...]:
    """Return *candidates* by file, no more in a batch than can be shown in *most_tokens*; *texts* are the files that
    may be shown, and what stands in others is left out.
    """
    found: list[Batch] = []
    for path, text in texts.items():
        waiting = [one for one in candidates if one.fault.path == path]
        lines = split_lines(text)
        while waiting:
            n_taken = min(len(waiting), MOST_AT_ONCE)
            while n_taken > 1 and estimate_tokens(_code(snapshot, lines, waiting[:n_taken])) > most_tokens:
                n_taken -= 1
            code = _code(snapshot, lines, waiting[:n_taken])
            if estimate_tokens(code) > most_tokens:
                # A single function can be too long by itself: then the lines around the candidate stand for it.
                code = "".join(numbered(lines, _near(waiting[0], _NEAR_LINES * 4)))
            found.append(Batch(path, code, tuple(waiting[:n_taken])))
            waiting = waiting[n_taken:]
    return tuple(found)


async def judge(batch: Batch, begin: Callable[[], ModelClient]) -> dict[str, Verdict]:
    """Return the verdict on each candidate of *batch*, by id, from one conversation and its self-check; where the two
    differ another conversation decides. *begin* opens one.

    Raises:
        RolecallError: the model failed.
    """
    ids = [one.id for one in batch.candidates]
    client = begin()
    listed = "\n\n".join(map(_describe, batch.candidates))
    kinds = _kinds(batch.candidates)
    opening = _PROMPTS["task"].format(path=batch.path, code=batch.code, kinds=kinds, candidates=listed)
    talk = [ChatMessage("system", _PROMPTS["who"]), ChatMessage("user", opening)]
    first = await _votes(client, talk, ids)
    if not first:
        return {name: Verdict(Judgement.UNSURE, "The model did not say.") for name in ids}
    talk.append(ChatMessage("user", _PROMPTS["check"]))
    second = await _votes(client, talk, ids, ask_again=False)
    split = [one for one in batch.candidates if _differ(first.get(one.id), second.get(one.id))]
    third = await _decide(batch, split, first, second, begin()) if split else {}
    looks = (first, second, third)
    return {name: _count(look[name] for look in looks if name in look) for name in ids}


async def _decide(
    batch: Batch,
    split: Sequence[ReviewCandidate],
    first: Mapping[str, Vote],
    second: Mapping[str, Vote],
    client: ModelClient,
) -> dict[str, Vote]:
    views = [
        f"{_describe(one)}\nOne says {first[one.id].judgement}: {first[one.id].reason}\n"
        f"Another says {second[one.id].judgement}: {second[one.id].reason}"
        for one in split
    ]
    kinds = _kinds(split)
    asked = _PROMPTS["decide"].format(path=batch.path, code=batch.code, kinds=kinds, candidates="\n\n".join(views))
    talk = [ChatMessage("system", _PROMPTS["who"]), ChatMessage("user", asked)]
    return await _votes(client, talk, [one.id for one in split])


def _differ(first: Vote | None, second: Vote | None) -> bool:
    return first is not None and second is not None and first.judgement is not second.judgement


def _count(votes: Iterator[Vote]) -> Verdict:
    """Return what most votes say, with the last reason for it; no majority is none."""
    cast = tuple(votes)
    said = tuple(vote.judgement for vote in cast)
    if not cast:
        return Verdict(Judgement.UNSURE, "The model did not say.")
    most, n_most = Counter(said).most_common(1)[0]
    if n_most * 2 <= len(said):
        return Verdict(Judgement.UNSURE, cast[-1].reason, said)
    return Verdict(most, next(vote.reason for vote in reversed(cast) if vote.judgement is most), said)


async def _votes(
    client: ModelClient, talk: list[ChatMessage], ids: Sequence[str], *, ask_again: bool = True
) -> dict[str, Vote]:
    """Return what the model says of the candidates *ids*; what it leaves out is asked for once more."""
    reply = await client.complete(talk)
    talk.append(ChatMessage("assistant", reply.text))
    votes = await beside_the_loop("Reading the reply", read_votes, reply.text)
    missing = [name for name in ids if name not in votes]
    if missing and ask_again:
        talk.append(ChatMessage("user", _PROMPTS["missing"].format(missing=", ".join(missing))))
        votes |= await _votes(client, talk, missing, ask_again=False)
    return {name: vote for name, vote in votes.items() if name in ids}


def read_votes(reply: str) -> dict[str, Vote]:
    """Return the votes in a reply, by candidate; of one that is judged twice the last."""
    heads = list(_VERDICT.finditer(reply))
    found: dict[str, Vote] = {}
    for number, head in enumerate(heads, 1):
        told = reply[head.end() : heads[number].start() if number < len(heads) else len(reply)]
        found[head[1].lower()] = Vote(Judgement(head[2].lower()), reason_in(told))
    return found


def reason_in(told: str) -> str:
    """Return what stands behind ``because:`` in a text, else all of it, in one line of bounded length.

    Spaces within a line stay: they may be what it is about.
    """
    because = _BECAUSE.search(told)
    lines = (told[because.end() :] if because is not None else told).splitlines()
    return " ".join(line.strip() for line in lines if line.strip()).removeprefix("- ")[:MOST_OF_REASON]


def _kinds(candidates: Sequence[ReviewCandidate]) -> str:
    """Return what is asked about *candidates*, once for each rule."""
    rules = dict.fromkeys(one.rule for one in candidates)
    return "\n\n".join(
        _PROMPTS["kind"].format(title=rule.title, question=rule.question, post_condition=rule.post_condition)
        for rule in rules
    )


def _describe(candidate: ReviewCandidate) -> str:
    fault = candidate.fault
    steps = [f"line {step.span.start.line + 1}: {step.text}" for step in fault.way]
    shown = [*(("…",) if len(steps) > _MOST_STEPS else ()), *steps[-_MOST_STEPS:]]
    return _PROMPTS["candidate"].format(
        id=candidate.id,
        line=fault.span.start.line + 1,
        title=candidate.rule.title,
        message=fault.message,
        way="; ".join(shown) or "at once",
    )


def _code(snapshot: Snapshot, lines: Sequence[str], candidates: Sequence[ReviewCandidate]) -> str:
    """Return the functions around *candidates*, whole, with the heads of their classes, and the lines of the module
    that give a value to the names they are about.
    """
    shown: set[int] = set()
    for candidate in candidates:
        around = _around(snapshot, candidate)
        function = next((one for one in around if one.kind in ("function", "method")), None)
        shown |= {one.name_span.start.line for one in around if one.kind == "class"}
        shown |= (
            set(range(function.span.start.line, function.span.end.line + 1))
            if function is not None
            else _near(candidate, _NEAR_LINES)
        )
        if name := _name_at(candidate, lines):
            shown |= binding_lines("".join(lines), name)
    return "".join(numbered(lines, shown))


def _name_at(candidate: ReviewCandidate, lines: Sequence[str]) -> str:
    """Return the name that *candidate* is about; empty where it is about something longer."""
    span = candidate.fault.span
    is_short = span.start.line == span.end.line < len(lines)
    word = lines[span.start.line][span.start.column : span.end.column] if is_short else ""
    return word if word.isidentifier() else ""


def _around(snapshot: Snapshot, candidate: ReviewCandidate) -> list[Definition]:
    """Return the definitions around a candidate, outermost first."""
    fault = candidate.fault
    found = [
        one
        for one in (definitions_in(snapshot, fault.path) if fault.path in snapshot.files else ())
        if one.kind in ("class", "function", "method") and one.span.start <= fault.span.start < one.span.end
    ]
    return sorted(found, key=lambda one: one.span.start)


def _near(candidate: ReviewCandidate, n_lines: int) -> set[int]:
    places = [candidate.fault.span.start.line, *(step.span.start.line for step in candidate.fault.way)]
    return {line for place in places for line in range(max(0, place - n_lines), place + n_lines + 1)}
