"""The functions that a failing test lays under suspicion, without a model: by what ran, the traceback and the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rolecall_analysis import Definition, Snapshot, is_test
from rolecall_server.craft.repair.clues import Clues, clues_of
from rolecall_server.craft.repair.failure_text import SeenFailure, TracebackLine
from rolecall_server.craft.repair.spectrum import Place, Spectrum

_MOST_CAUSES = 3
"""Places where failures were raised that take turns; those of further places go with the last."""
_NOTHING_RAN = Spectrum()
_ALIKE = 0.5
"""Of the likeness of the likeliest function: what has less is not told as a reason."""


@dataclass(frozen=True)
class Suspect:
    """A function that may be at fault."""

    path: str
    name: str
    """Dotted, within its file."""
    line: int
    """The line it begins at, from 1."""
    score: float
    """From 0 to 1, by what ran alone; 0 where nothing was seen to run it."""
    reasons: tuple[str, ...]
    """Each without its subject, the function: ``run by the failing test and by 2 of 40 that pass``."""

    @property
    def place(self) -> str:
        """``shop/price.py::Cart.total``"""
        return f"{self.path}::{self.name}"

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.name} ({self.score:.2f}): {'; '.join(self.reasons)}"


def rank_suspects(
    snapshot: Snapshot, failures: Sequence[SeenFailure], spectrum: Spectrum = _NOTHING_RAN
) -> tuple[Suspect, ...]:
    """Return the functions that may make *failures* happen, the likeliest first.

    By Ochiai over *spectrum*, and by seven weights beside it: how near a function is to where it was raised, how near
    to the tests by the graph, whether the messages of the failures name it or miss a name beside it, whether the tests
    name it where passing ones do not, how much its words are theirs, whether their file is named after its module.
    Where nothing was seen to run, these alone say it. What only tests hold is never among them, nor a method that only
    shows a value. Failures that were raised in different places may have causes of their own: their likeliest functions
    take turns.

    Source of the turns: J. Jones, J. Bowring, M. Harrold, "Debugging in Parallel", ISSTA 2007.
    """
    whole = clues_of(snapshot, failures, spectrum)
    groups = _groups(snapshot, failures)
    orders = [clues_of(snapshot, group, spectrum).suspected for group in groups] if groups[1:] else []
    turns = (one for each in zip_longest(*orders) for one in each if one is not None)
    found = {(one.path, one.qualified_name): one for one in (*turns, *whole.suspected)}
    return tuple(_suspect(one, whole) for one in found.values())


def _groups(snapshot: Snapshot, failures: Sequence[SeenFailure]) -> list[list[SeenFailure]]:
    """Return *failures* by the line of the repository that raised them, the most first."""
    found: dict[TracebackLine | None, list[SeenFailure]] = {}
    for one in failures:
        # The last traceback is that of the error itself, those before it are of its causes.
        frames = [frame for frame in (one.tracebacks or ((),))[-1] if not is_test(snapshot, frame.path)]
        found.setdefault(frames[-1] if frames else None, []).append(one)
    first, rest = (groups := sorted(found.values(), key=len, reverse=True))[:_MOST_CAUSES], groups[_MOST_CAUSES:]
    return [*first[:-1], [*first[-1], *(one for group in rest for one in group)]] if first else [[]]


def _suspect(one: Definition, clues: Clues) -> Suspect:
    place = one.path, one.qualified_name
    said = [
        *_said_by_runs(place, clues),
        *_said_by_traceback(place, clues),
        *_said_by_graph(place, clues),
    ]
    if clues.is_said(one):
        said.append("the message of the failure names it")
    if clues.lacks(one):
        said.append("the message says that a name is missing in it, or beside it")
    if clues.likeness.get(place, 0.0) >= _ALIKE:
        said.append("it has the words of the failure")
    return Suspect(*place, one.span.start.line + 1, round(clues.score(place), 4), tuple(said))


def _said_by_runs(place: Place, clues: Clues) -> list[str]:
    n_failing = clues.runs_failing.get(place, 0)
    if not n_failing:
        return []
    all_failing, all_passing = (
        len(clues.spectrum.failing),
        len(clues.spectrum.passing),
    )
    who = "the failing test" if all_failing == 1 else f"{n_failing} of {all_failing} failing tests"
    n_passing = clues.runs_passing.get(place, 0)
    others = f" and by {n_passing or 'none'} of {all_passing:,} that pass" if all_passing else ""
    return [f"run by {who}{others}"]


def _said_by_traceback(place: Place, clues: Clues) -> list[str]:
    if place not in clues.raised:
        return []
    before_last, line = clues.raised[place]
    return [f"it was raised there, in line {line}" if not before_last else f"on the way to the error, in line {line}"]


def _said_by_graph(place: Place, clues: Clues) -> list[str]:
    if place not in clues.distances:
        return []
    distance, way = clues.distances[place]
    through = f" through {' and '.join(way)}" if way else ""
    return [f"the test {'calls' if distance <= len(way) + 1 else 'may call'} it{through}"]
