"""Promises that code does not keep: a model reads it and names them, each with a test, and the test is run."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from rolecall_server.craft.code_review.judging import MOST_OF_REASON, Judgement, Verdict, Vote, read_votes, reason_in
from rolecall_server.craft.code_review.pieces import CodePiece, code_concerned
from rolecall_server.model import ChatMessage, ModelClient
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.text_work import beside_the_loop

MOST_AT_ONCE = 8
"""Promises named in one answer; each takes a run of its test."""
_MOST_OF_TEST = 6_000
_PROMPTS = prompts_beside(__file__)
_HEAD = re.compile(
    r"^[ \t>*_`#-]{0,12}(p\d{1,3})[*_`]{0,3},? line (\d{1,6})[*_`]{0,3}(?:[ \t]?:\*\*|[ \t]?:)[ \t]{0,6}(\S.*)$",
    re.M | re.I,
)
_TEST = re.compile(r"^[ \t]{0,4}```(?:python|py)?[ \t]*\n(.*?)^[ \t]{0,4}```", re.M | re.S | re.I)


@dataclass(frozen=True)
class BrokenPromise:
    """A place where a model holds that code does something else than it promises."""

    id: str
    """``p1``: its number in this review."""
    path: str
    line: int
    """From 0."""
    promise: str
    reason: str
    test: str
    """Python with a test that fails as long as the promise is not kept."""
    shown: str = ""
    """The error of that test; empty where it was not run."""
    scope: str = ""
    """The qualified name of the function around; empty in the module itself."""


class PromiseEnd(StrEnum):
    """The end of the test of a promise, as the model is told it."""

    KEPT = "passes"
    BROKEN = "fails"
    BY_ITSELF = "fails by itself"
    """Its own lines are wrong, so it says nothing of the code."""
    NOT_RUN = "was not run"


@dataclass(frozen=True)
class Shown:
    """The end of a test, with the line that says more."""

    end: PromiseEnd
    said: str = ""


RunTests = Callable[[Sequence[BrokenPromise]], Awaitable[Mapping[str, Shown]]]
"""Returns how the test of each promise ends, by the promise's id."""


@dataclass(frozen=True)
class Reading:
    """What came of reading one piece."""

    verdicts: Mapping[BrokenPromise, Verdict]
    """Of the promises that no run showed to be kept, and by which the model stands."""
    n_kept: int = 0
    """Promises that were named, and whose test passes: the model was wrong."""


@dataclass(frozen=True)
class PromiseReader:
    """The model that reads code, and what becomes of the tests that it writes."""

    begin: Callable[[], ModelClient]
    """Opens a conversation."""
    run_tests: RunTests
    with_limits: Callable[[str], str] = str
    """Adds to a system prompt how often the model may look things up."""


async def find_broken_promises(piece: CodePiece, module: str, reader: PromiseReader, first_number: int = 1) -> Reading:
    """Return the promises that the code of *piece* does not keep, numbered from *first_number*, with a verdict each.

    *module* is the name under which tests import the file.

    Raises:
        RolecallError: the model failed.
    """
    opening = _PROMPTS["task"].format(path=piece.path, module=module, code=piece.code, most=MOST_AT_ONCE)
    talk = [ChatMessage("system", reader.with_limits(_PROMPTS["who"])), ChatMessage("user", opening)]
    client = reader.begin()
    claimed = await _claims(client, talk, piece)
    ends = dict(await reader.run_tests(claimed))
    if by_themselves := [one for one in claimed if ends[one.id].end is PromiseEnd.BY_ITSELF]:
        talk.append(ChatMessage("user", _PROMPTS["broken tests"].format(ends=_told(by_themselves, ends))))
        again = {one.id: one for one in await _claims(client, talk, piece)}
        claimed = [again.get(one.id, one) for one in claimed]
        ends |= await reader.run_tests([again[one.id] for one in by_themselves if one.id in again])
    left = [one for one in claimed if ends[one.id].end in (PromiseEnd.BROKEN, PromiseEnd.NOT_RUN)]
    votes: Mapping[str, Vote] = await _check(piece, module, reader, left, ends) if left else {}
    n_kept = sum(ends[one.id].end is PromiseEnd.KEPT for one in claimed)
    return Reading(dict(_judged(left, ends, votes, first_number)), n_kept)


async def _check(
    piece: CodePiece, module: str, reader: PromiseReader, claimed: Sequence[BrokenPromise], ends: Mapping[str, Shown]
) -> Mapping[str, Vote]:
    """Return what the model says of *claimed* in a conversation of its own, which is shown only the code concerned.

    It has not seen how they were found: who has just named a place tends to stand by it, and all that was read would
    be sent once more.
    """
    code = code_concerned(piece, {one.line for one in claimed}, "\n".join(one.test for one in claimed))
    asked = _PROMPTS["check"].format(path=piece.path, module=module, code=code, claims=_claimed(claimed, ends))
    system = reader.with_limits(_PROMPTS["judge"])
    reply = await reader.begin().complete([ChatMessage("system", system), ChatMessage("user", asked)])
    return await beside_the_loop("Reading the reply", read_votes, reply.text)


def _judged(
    claimed: Sequence[BrokenPromise], ends: Mapping[str, Shown], votes: Mapping[str, Vote], first_number: int
) -> Iterator[tuple[BrokenPromise, Verdict]]:
    """Yield the promises by which the model stands: real where a run shows it, else unsure."""
    stood_by = [one for one in claimed if one.id in votes and votes[one.id].judgement is Judgement.REAL]
    for number, one in enumerate(stood_by, first_number):
        end, vote = ends[one.id], votes[one.id]
        is_shown = end.end is PromiseEnd.BROKEN
        judgement = Judgement.REAL if is_shown else Judgement.UNSURE
        # A model counts from p1 in each piece; in a review of several the numbers go on.
        told = replace(one, id=f"p{number}", shown=end.said if is_shown else "")
        yield told, Verdict(judgement, vote.reason or one.reason, (vote.judgement,))


async def _claims(client: ModelClient, talk: list[ChatMessage], piece: CodePiece) -> list[BrokenPromise]:
    reply = await client.complete(talk)
    talk.append(ChatMessage("assistant", reply.text))
    return list(await beside_the_loop("Reading the reply", read_promises, reply.text, piece))[:MOST_AT_ONCE]


def read_promises(reply: str, piece: CodePiece) -> tuple[BrokenPromise, ...]:
    """Return the promises that a reply names and gives a test for, each once."""
    heads = list(_HEAD.finditer(reply))
    found: dict[str, BrokenPromise] = {}
    for number, head in enumerate(heads, 1):
        told = reply[head.end() : heads[number].start() if number < len(heads) else len(reply)]
        test = _TEST.search(told)
        if test is None or "def test" not in test[1] or len(test[1]) > _MOST_OF_TEST:
            continue
        line = min(max(int(head[2]), 1), len(piece.lines)) - 1
        promise = head[3].strip().removesuffix("**")[:MOST_OF_REASON]
        found.setdefault(
            head[1].lower(),
            BrokenPromise(head[1].lower(), piece.path, line, promise, reason_in(told[: test.start()]), test[1]),
        )
    return tuple(found.values())


def _told(claimed: Sequence[BrokenPromise], ends: Mapping[str, Shown]) -> str:
    return "\n".join(f"{one.id} {ends[one.id].end}: {ends[one.id].said}".rstrip(": ") for one in claimed)


def _claimed(claimed: Sequence[BrokenPromise], ends: Mapping[str, Shown]) -> str:
    return "\n\n".join(
        _PROMPTS["claim"].format(
            id=one.id, line=one.line + 1, promise=one.promise, reason=one.reason, test=one.test, end=_told([one], ends)
        )
        for one in claimed
    )
