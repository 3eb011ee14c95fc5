"""The test runs of one role's work, with and without its change."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from rolecall_analysis import Snapshot, is_test
from rolecall_server.craft.history import NOTHING_KNOWN, SuiteHistory
from rolecall_server.craft.red_green import with_red_and_green
from rolecall_server.craft.trial import (
    apart_from_change,
    bad_outcomes,
    is_of_all,
    new_failures,
    select_for_change,
)
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.sandbox import NotRun, TestRun, runs_tests
from rolecall_server.team.request import Desk
from rolecall_server.workspace import file_exists, read_for_model

_MOST_TRIED_AGAIN = 200
_MOST_DOUBTED = 3
"""Where more tests fail since a change, it is the change."""
_PROSE = frozenset({".md", ".rst", ".txt"})


@dataclass
class Trials:
    """Runs of the tests; those without the change are made once for each set of tests."""

    desk: Desk
    measure: Sequence[str]
    """The files whose coverage is wanted."""
    before: TestRun | NotRun | None = None
    """The latest run without the change; ``None`` where there were no tests to run."""
    first: Sequence[str] = ()
    """Test files that are run in any case, before all others."""
    _targets_before: frozenset[str] = field(default_factory=frozenset[str])
    _whole_before: bool = False

    async def without_change(self, targets: Sequence[str], *, whole: bool = False, later: Collection[str] = ()) -> None:
        """Run *targets*, of the *whole* suite the rest too, on the text as it is, unless that was done."""
        existing = {path: None for path in targets if file_exists(self.desk.workspace, path)}
        is_known = existing.keys() <= self._targets_before or (self._whole_before and is_of_all(self.before))
        # `True` is more than `False`: a run of the whole suite will do where a part is wanted.
        if is_known and self._whole_before >= whole:
            return
        how_long = await asyncio.to_thread(_how_long, self.desk) if whole else ""
        self.desk.report(f"running the tests as they are{how_long}", None)
        # Those of the earlier run once more: `before` is one run, and has to tell of all of them.
        wanted = [*existing, *sorted(self._targets_before - existing.keys())]
        self._targets_before |= existing.keys()
        self._whole_before = whole
        self.before = await self.desk.bench.run({}, wanted, self.measure, whole=whole, later=later)

    async def with_change(
        self,
        files: Mapping[str, str | None],
        targets: Sequence[str],
        *,
        whole: bool = False,
        later: Collection[str] = (),
    ) -> TestRun | NotRun:
        """Run those of *targets* that are left, and the rest of the *whole* suite, with *files* over the workspace."""
        left = [path for path in targets if files.get(path, "") is not None]
        if not left and not whole:
            return NotRun("The tests that reach the change are gone with it.")
        return await self.desk.bench.run(files, left, self.measure, whole=whole, later=later)

    async def of_change(self, files: Mapping[str, str | None]) -> TestRun | NotRun:
        """Run the tests that reach *files*, then the others, without the change and with it; the run with it."""
        others, later = await asyncio.to_thread(order_for_change, self.desk, files)
        targets = tuple(dict.fromkeys((*self.first, *others)))
        later = frozenset(test for test in later if test.partition("::")[0] not in self.first)
        whole = await asyncio.to_thread(_has_suite, self.desk.snapshot, files)
        if not targets and not whole:
            return NotRun("No test reaches the changed files.")
        await self.without_change(targets, whole=whole, later=later)
        run = await self.with_change(files, targets, whole=whole, later=later)
        await self._try_without(run, files)
        return await self._try_again(run, files)

    async def _try_again(self, run: TestRun | NotRun, files: Mapping[str, str | None]) -> TestRun | NotRun:
        """Return *run* with the few tests as passed that fail in it alone, and pass when their files run once more.

        What wavers is nothing that a model could mend.
        """
        if not isinstance(run, TestRun) or not isinstance(self.before, TestRun):
            return run
        passed_before = {outcome.test_id for outcome in self.before.passed}
        # Whole files, as a change may well make a test fail only behind another one of its file.
        doubted = [one.test_id for one in new_failures(self.before, run) if one.test_id in passed_before]
        if not 0 < len(doubted) <= _MOST_DOUBTED:
            return run
        again = await self.desk.bench.run(files, sorted({name.partition("::")[0] for name in doubted}), ())
        ends = {outcome.test_id: outcome for outcome in again.passed} if isinstance(again, TestRun) else {}
        wavering = tuple(name for name in doubted if name in ends)
        outcomes = tuple(ends[one.test_id] if one.test_id in wavering else one for one in run.outcomes)
        return replace(run, outcomes=outcomes, wavering=wavering)

    async def _try_without(self, run: TestRun | NotRun, files: Mapping[str, str | None]) -> None:
        """Run the tests that fail in *run*, and for which there was no time without the change, without it."""
        if not isinstance(self.before, TestRun) or is_of_all(self.before):
            return
        known = {outcome.test_id for outcome in self.before.outcomes}
        unknown = [
            bad.test_id
            for bad in bad_outcomes(run)
            # Without the change, a test file that it writes is not there, or has other tests.
            if bad.test_id not in known and bad.test_id.partition("::")[0] not in files
        ]
        again = await self.desk.bench.run({}, unknown[:_MOST_TRIED_AGAIN], ()) if unknown else None
        if isinstance(again, TestRun):
            self.before = replace(self.before, outcomes=(*self.before.outcomes, *again.outcomes))


def _has_suite(snapshot: Snapshot, files: Mapping[str, str | None]) -> bool:
    """Return whether there are tests in Python, and *files* that may make them fail: Python, or data of any kind."""
    is_elsewhere = all(PurePosixPath(path).suffix in _PROSE or runs_tests(path) for path in files)
    return not is_elsewhere and any(is_test(snapshot, path) for path in snapshot.files)


async def red_and_green(desk: Desk, shown: Evidence, files: Mapping[str, str | None]) -> Evidence:
    """Return *shown* with how the tests that *files* add or change end without the rest of them."""
    after = await asyncio.to_thread(desk.snapshot.with_changes, files)
    tests = {path for path in files if is_test(after, path) or is_test(desk.snapshot, path)}
    if 0 < len(tests) < len(files):
        desk.report("running the new tests without the change", None)
    return await with_red_and_green(
        shown, desk.bench, files, lambda path: read_for_model(desk.workspace, path), tests.__contains__
    )


def order_for_change(desk: Desk, files: Mapping[str, str | None]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the test files that reach *files*, or were seen to, likeliest to fail first, and tests that come later.

    Where the whole suite is known to take too long, those of them come later that are known not to run the change.
    """
    history = _history(desk)
    targets = tuple(one.path for one in select_for_change(desk.snapshot, files, history))
    fits = history.duration_s <= desk.bench.suite_s
    return targets, frozenset() if fits else apart_from_change(desk.snapshot, files, history)


def _history(desk: Desk) -> SuiteHistory:
    return desk.bench.memory.recall() if desk.bench.memory is not None else NOTHING_KNOWN


def _how_long(desk: Desk) -> str:
    """Return how long the whole suite takes by earlier runs, and what follows from it; empty where none is known."""
    duration_s = _history(desk).duration_s
    if not duration_s:
        return ""
    took = f", all of which took {duration_s:,.0f} s before"
    return took if duration_s <= desk.bench.suite_s else f"{took}: likeliest to fail first, as far as the time goes"
