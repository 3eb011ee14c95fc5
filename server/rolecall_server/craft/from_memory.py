"""What a change says from memory, for who reviews it: nothing has checked it, or a check has shown otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rolecall_server.craft.edits.notes import Note, used_in
from rolecall_server.craft.trial import bad_outcomes
from rolecall_server.review.proposals.evidence import GraphFinding
from rolecall_server.sandbox import NotRun, TestResult, TestRun

_NOT_THERE = re.compile(
    r"No module named '(?P<module>[\w.]++)'"
    r"|'(?P<holder>[\w.]++)'(?: object)? has no attribute '(?P<attribute>\w++)'"
    r"|cannot import name '(?P<imported>\w++)' from '(?P<source>[\w.]++)'"
)


def tell_from_memory(
    notes: Iterable[Note],
    files: Mapping[str, str | None],
    findings: Sequence[GraphFinding],
    run: TestRun | NotRun | None,
) -> tuple[str, ...]:
    """Return a sentence for each of *notes* on a name in *files*: what *findings* or *run* say of that name, or that
    nothing has checked it.
    """
    failures = bad_outcomes(run)
    return tuple(_told(note, findings, failures) for note in used_in(notes, files))


def _told(note: Note, findings: Sequence[GraphFinding], failures: Sequence[TestResult]) -> str:
    finding = next((one for one in findings if one.name and _is_of(note, one.name)), None)
    if finding is not None:
        verdict = "refuted" if finding.certain else "doubted"
        return f"From memory, and {verdict} by what is installed: {note}. {finding.sentence}"
    failure = next((one for one in failures if any(_is_of(note, name) for name in _missing(one.message))), None)
    if failure is not None:
        return f"From memory, and refuted by a run: {note}. {failure.test_id}: {failure.message}"
    return f"From memory, checked against nothing: {note}"


def _missing(message: str) -> Iterator[str]:
    """Yield the names that an exception says are not there, dotted as far as it says where."""
    for match in _NOT_THERE.finditer(message):
        parts = (match["module"], match["holder"] or match["source"], match["attribute"] or match["imported"])
        yield ".".join(part for part in parts if part)


def _is_of(note: Note, missing: str) -> bool:
    """Return whether *missing* is the name of *note*, its end, or what that name lies in, wherever it is defined."""
    noted, named = note.name.split("."), missing.split(".")
    return noted[-len(named) :] == named or any(_leads_to(noted[:n], named) for n in range(1, len(noted) + 1))


def _leads_to(noted: Sequence[str], named: Sequence[str]) -> bool:
    """Return whether the two are one name: ``requests.Session`` is defined as ``requests.sessions.Session``."""
    # `in` uses the iterator up to what it finds, so that the parts have to come in their order.
    rest = iter(named)
    return (noted[0], noted[-1]) == (named[0], named[-1]) and all(part in rest for part in noted)
