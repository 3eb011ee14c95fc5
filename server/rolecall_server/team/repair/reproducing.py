"""A failure made to happen again: the tests that fail, how they fail, and which functions that makes suspects."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from rolecall_server.craft.history import NOTHING_KNOWN, SuiteHistory, learned_from, name_of
from rolecall_server.craft.repair.failure_text import ReportedFailure, SeenFailure, read_failure, seen_failure
from rolecall_server.craft.repair.localisation import Suspect, rank_suspects
from rolecall_server.craft.repair.spectrum import spectrum_of
from rolecall_server.errors import BriefMissing, CodeNotRun, NotFound, NotReproduced
from rolecall_server.sandbox import NotRun, TestResult, TestRun, TestTrace
from rolecall_server.team.request import Desk, FailureToMend
from rolecall_server.team.test_quality.trials import Trials
from rolecall_server.text_work import beside_the_loop
from rolecall_server.workspace import file_exists

_NAME_IT = "Name it as pytest does: FILE::TEST."
_MOST_NEAR = 3
MOST_SHOWN = 10
"""Suspects that are told a person."""


@dataclass(frozen=True)
class Reproduction:
    """A failure as it happens here."""

    trials: Trials
    """With its run of the tests as they are."""
    failing: tuple[TestResult, ...]
    """The tests that are to pass; none where nothing was reproduced, and that is what the developer wants."""
    suspects: tuple[Suspect, ...]
    """The likeliest first."""
    reported: ReportedFailure
    """The failure as the pasted text tells it."""

    @property
    def text(self) -> str:
        """Return the suspects for a person, a line each."""
        ranked = [f"{number}. {one}" for number, one in enumerate(self.suspects[:MOST_SHOWN], start=1)]
        more = len(self.suspects) - MOST_SHOWN
        head = "Suspected, by what ran, the traceback and the graph:"
        return "\n".join([head, *ranked, *([f"and {more:,} more"] if more > 0 else [])]) if ranked else ""


async def reproduce(desk: Desk, failure: FailureToMend) -> Reproduction:
    """Run the tests of *failure* on the text as it is, the whole suite after them, and return what fails and why.

    Raises:
        BriefMissing: neither a test nor a text that names one was given.
        NotFound: a test is of no file of this repository.
        CodeNotRun: nothing can be run here.
        NotReproduced: the tests pass, or there is none that shows the failure.
    """
    reported = await beside_the_loop("Reading the log", read_failure, failure.log, desk.snapshot)
    tests = failure.tests or reported.tests
    files = tuple(dict.fromkeys(test.partition("::")[0] for test in tests))
    for path in files:
        if not file_exists(desk.workspace, path):
            near = get_close_matches(path, desk.snapshot.files, _MOST_NEAR)
            meant = f"Is it {' or '.join(near)}? " if near else ""
            what = f"{path} is no file of this repository."
            raise NotFound(what, f"{meant}Name the test as pytest does: FILE::TEST.")
    trials = Trials(desk, (), first=files)
    if files:
        desk.report("making the failure happen", None)
        # The whole suite, as this is the run without the change that the evidence needs anyway.
        await trials.without_change(files, whole=True)
    failing = _failing(trials.before, tests)
    if not failing and not failure.unreproduced:
        raise _why_not(trials.before, tests)
    suspects = await asyncio.to_thread(_suspects, desk, trials.before, failing or _unrun(tests), reported)
    return Reproduction(trials, failing, suspects, reported)


async def left_of(desk: Desk, found: Reproduction, failing: Sequence[TestResult]) -> Reproduction:
    """Return *found* with those of its tests that are *failing* still, and the suspects for these alone."""
    suspects = await asyncio.to_thread(_suspects, desk, found.trials.before, failing, found.reported)
    return replace(found, failing=tuple(failing), suspects=suspects)


async def trace_first(desk: Desk, failure: FailureToMend) -> TestTrace:
    """Return what the lines of the first test of *failure* compute.

    Raises:
        BriefMissing: neither a test nor a text that names one was given.
        CodeNotRun: it cannot be run here.
    """
    reported = await beside_the_loop("Reading the log", read_failure, failure.log, desk.snapshot)
    tests = failure.tests or reported.tests
    if not tests:
        raise _why_not(None, tests)
    desk.report("tracing the test", None)
    traced = await desk.bench.trace({}, tests[0])
    if isinstance(traced, NotRun):
        raise CodeNotRun(f"{tests[0]} cannot be traced: {traced.reason}", traced.next_step or _NAME_IT)
    return traced


def still_failing(failing: Collection[TestResult], run: TestRun | NotRun) -> tuple[TestResult, ...]:
    """Return those of the tests *failing* that do not pass in *run*: a test that is skipped, or does not end, does not
    pass.
    """
    if isinstance(run, NotRun):
        return tuple(failing)
    bad = {one.test_id: one for one in run.failed}
    passed = {one.test_id for one in run.passed}
    names = {name_of(test) for test in passed} | {test.partition("::")[0] for test in passed}
    left: list[TestResult] = []
    for one in failing:
        if one.test_id in bad:
            left.append(bad[one.test_id])
        elif one.test_id not in passed and not _passes_otherwise(one.test_id, names):
            said = run.reason or "it was not run to its end, and does not pass so"
            left.append(TestResult(one.test_id, "error", message=said))
    return tuple(left)


def _passes_otherwise(test: str, names: Collection[str]) -> bool:
    """Return whether *test* passes under another id: with other parameters, or because its file is read again."""
    return ("[" in test and name_of(test) in names) or ("::" not in test and test in names)


def _failing(run: TestRun | NotRun | None, tests: Sequence[str]) -> tuple[TestResult, ...]:
    """Return the tests that fail in *run* and were meant: by their id, without their parameters, or by what holds
    them.
    """
    if not isinstance(run, TestRun):
        return ()
    return tuple(one for one in run.failed if any(_is_meant(one.test_id, test) for test in tests))


def _is_meant(test_id: str, wanted: str) -> bool:
    # A file that cannot be collected fails under its own path, whichever of its tests was meant.
    is_unread = "::" not in test_id and wanted.startswith(f"{test_id}::")
    return is_unread or test_id == wanted or name_of(test_id) == wanted or test_id.startswith(f"{wanted}::")


def _why_not(run: TestRun | NotRun | None, tests: Sequence[str]) -> BriefMissing | CodeNotRun | NotReproduced:
    """Return the error that says why nothing was reproduced, and what to do."""
    if not tests:
        return BriefMissing(
            "No test of this repository shows that failure.",
            "Name one that does, or add --unreproduced to have it mended without.",
        )
    named = ", ".join(tests[:3]) + (f" and {len(tests) - 3} more" if len(tests) > 3 else "")
    if isinstance(run, NotRun):
        return CodeNotRun(f"{named} cannot be run: {run.reason}", run.next_step or "Run it where tests may run.")
    ended = {one.test_id: one for one in run.outcomes} if run is not None else {}
    passed = [test for test in ended if any(_is_meant(test, wanted) for wanted in tests)]
    if passed:
        told = f"{named} does not fail here: it {ended[passed[0]].outcome}." if len(passed) == 1 else ""
        what = told or f"{named} does not fail here: {len(passed)} tests, none of which fails."
        return NotReproduced(what)
    reason = run.reason if run is not None else ""
    return NotReproduced(f"{named} did not run here. {reason}".rstrip(), _NAME_IT)


def _unrun(tests: Sequence[str]) -> tuple[TestResult, ...]:
    return tuple(TestResult(test, "error") for test in tests)


def _suspects(
    desk: Desk, run: TestRun | NotRun | None, failing: Sequence[TestResult], reported: ReportedFailure
) -> tuple[Suspect, ...]:
    known = run if isinstance(run, TestRun) else TestRun("not run")
    spectrum = spectrum_of(known, _history(desk, known), [one.test_id for one in failing])
    failures = [seen_failure(one, desk.snapshot) for one in failing]
    if not any(one.tracebacks for one in failures):
        pasted = (reported.frames,) if reported.frames else ()
        failures = [replace(one, tracebacks=pasted, message=one.message or reported.error) for one in failures]
    return rank_suspects(desk.snapshot, failures or [SeenFailure("", (reported.frames,), reported.error)], spectrum)


def _history(desk: Desk, run: TestRun) -> SuiteHistory:
    """Return which functions each test runs; of earlier runs too, where they are kept."""
    known = desk.bench.memory.recall() if desk.bench.memory is not None else NOTHING_KNOWN
    return learned_from(known, run, desk.snapshot)
