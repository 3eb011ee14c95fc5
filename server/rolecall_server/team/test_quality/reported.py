"""The faults that a model reported in the code: the test that shows each, the calls that no test may hold for right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rolecall_analysis import Snapshot, find_definition
from rolecall_server.craft.test_quality.promises import gave_and_promised
from rolecall_server.craft.test_quality.reported_calls import WHOLE, calls_in, calls_in_backticks
from rolecall_server.craft.test_quality.test_text import failing_rows
from rolecall_server.craft.verdicts import Suspicion, read_suspicions
from rolecall_server.review.proposals.evidence import Defect, DroppedTest
from rolecall_server.review.proposals.finding_anchors import print_of_symbol
from rolecall_server.sandbox import NotRun, TestResult, TestRun
from rolecall_server.team.request import Desk
from rolecall_server.team.test_quality.draft import DraftTests, name_of
from rolecall_server.workspace import read_for_model

_MAX_SEEN_LINES = 4


@dataclass(frozen=True)
class Reported:
    """A finding, and the calls that no test may hold for right."""

    defect: Defect
    calls: frozenset[str]
    tests: frozenset[str] = frozenset()
    """Those that show it, by ``path::name``."""

    def repeats(self, other: Reported) -> bool:
        """Return whether this tells *other* in other words: by a test of its, or by a call that gave the same."""
        if self.tests & other.tests:
            return True
        mine, known = self.defect, other.defect
        # Where one of the two does not know what the call gave, the word of the other counts for both.
        gave = {mine.gave or known.gave, known.gave or mine.gave}
        is_there = (mine.path, mine.symbol) == (known.path, known.symbol)
        return is_there and (mine.sentence == known.sentence or (len(gave) == 1 and bool(self.calls & other.calls)))


def each_once(told: Iterable[Reported]) -> tuple[Reported, ...]:
    """Return what was *told* without repetitions: of several that are the same, the first that a test shows."""
    kept: list[Reported] = []
    for one in told:
        same = next((known for known in kept if one.repeats(known)), None)
        if same is None:
            kept.append(one)
        elif one.defect.test and not same.defect.test:
            kept[kept.index(same)] = one
    return tuple(kept)


def findings_in(
    said: str, path: str, desk: Desk, draft: DraftTests, *, run: TestRun | NotRun, failures: Sequence[TestResult]
) -> tuple[Reported, ...]:
    """Return the findings that *said* reports, mainly about the file *path*; those shown by a test of *draft* come
    first.

    One whose own test passes in *run* is refuted, and a note of *draft* says so.
    """
    found: list[Reported] = []
    outcomes = run.outcomes if isinstance(run, TestRun) else ()
    for suspicion in _suspicions(path, desk.snapshot, said):
        shown = [outcome for outcome in failures if suspicion.shown_by(outcome.test_id)]
        if not shown and any(suspicion.shown_by(outcome.test_id) for outcome in outcomes):
            draft.notes.append(f"Not confirmed, its test passes: {suspicion.symbol}: {suspicion.sentence}")
            continue
        calls = _calls_shown(draft, suspicion, run, shown)
        test, seen = (name_of(shown[0].test_id), _seen(shown[0])) if shown else ("", "")
        call = min(_calls_shown(draft, suspicion, run, shown[:1]), default="")
        written = draft.added().get(test)
        gave, promised = gave_and_promised(written, suspicion.symbol, shown[0]) if written else ("", "")
        defect = replace(_defect(desk, suspicion), test=test, call=call, seen=seen, gave=gave, promised=promised)
        tests = frozenset(name_of(outcome.test_id) for outcome in shown)
        found.append(Reported(defect, calls | calls_in_backticks(suspicion.sentence, suspicion.symbol), tests))
    return tuple(sorted(found, key=lambda one: not one.defect.test))


def tell_known(reported: Iterable[str], left_out: Iterable[DroppedTest]) -> str:
    """Return, for a model, what was reported and which tests are not kept, so that it sends neither again."""
    found, gone = list(dict.fromkeys(reported)), [f"- {one.test}: it {one.reason}" for one in left_out]
    parts = ["# Reported before; do not report it again, nor test for it\n", *(f"- {one}" for one in found), ""]
    said = parts if found else []
    if gone:
        said += ["# Tests of yours that are not kept, and why; do not send them again as they are\n", *gone, ""]
    return "\n".join(said)


def _suspicions(path: str, snapshot: Snapshot, said: str) -> tuple[Suspicion, ...]:
    """Return the suspicions that the model reported of files that there are; it may have spelled that in focus its own
    way.
    """
    found = [one if one.path in snapshot.files else replace(one, path=path) for one in read_suspicions(said)]
    return tuple(dict.fromkeys(found))


def _defect(desk: Desk, suspicion: Suspicion) -> Defect:
    definition = find_definition(desk.snapshot, suspicion.path, suspicion.symbol)
    text = read_for_model(desk.workspace, suspicion.path) or ""
    return Defect(
        path=suspicion.path,
        symbol=suspicion.symbol,
        line=definition.span.start.line if definition else 0,
        sentence=suspicion.sentence,
        symbol_print=print_of_symbol(suspicion.path, text, suspicion.symbol),
    )


def _calls_shown(
    draft: DraftTests, suspicion: Suspicion, run: TestRun | NotRun, shown: Iterable[TestResult]
) -> frozenset[str]:
    """Return the calls of the suspected symbol at which the tests *shown* failed, with the values they failed with."""
    calls: set[str] = set()
    tests = draft.added()
    for outcome in shown:
        path, test = outcome.test_id.partition("::")[0], tests.get(name_of(outcome.test_id))
        if test is None or not isinstance(run, TestRun):
            continue
        case = failing_rows(test, run, path, outcome.test_id)
        lines = {int(number) for number in re.findall(rf"^{re.escape(path)}:(\d+):", outcome.detail, re.MULTILINE)}
        found = calls_in(test, suspicion.symbol, lines)
        calls |= {call for call, rows in found.items() if not case or WHOLE in rows or rows & set(case)}
    return frozenset(calls)


def _seen(outcome: TestResult) -> str:
    """Return the lines of the report on what was got and expected."""
    said = [line[1:].strip() for line in outcome.detail.splitlines() if line.startswith("E ")]
    return "\n".join(said[:_MAX_SEEN_LINES]) or outcome.message
