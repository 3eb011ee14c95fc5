"""Trying a change: the tests that concern it, run on a shadow of the workspace, compared with a run without it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rolecall_analysis import Definition, SelectedTests, Snapshot, definitions_in, importers, is_python, select_tests
from rolecall_server.context.kept_back import KeptBack
from rolecall_server.craft.history import NOTHING_KNOWN, SuiteHistory, SuiteHistoryStore, with_history, without_any
from rolecall_server.review.proposals.evidence import CoverageChange, Evidence, Failure, GraphFinding, Tally, TestEnd
from rolecall_server.sandbox import (
    Capabilities,
    FileCoverage,
    Interpreter,
    MutationRun,
    NotRun,
    ProcessEnd,
    Repetition,
    Shadow,
    Suite,
    TestResult,
    TestRun,
    TestTrace,
    Unconfined,
    is_test_file,
    probe,
    run_mutants,
    run_repeatedly,
    run_snippet,
    run_targets,
    run_tests,
    runs_tests,
)

_MOST_MUTANTS = 2000
_TRACED_RUN_S = 24.0
"""So long one test may take that is traced; for a quarter of it it is traced, so that one that never ends tells too."""
_MOST_ENDS = 200
"""So many tests are stored with how they ended; more are counted."""


@dataclass(frozen=True)
class LinesUnderTest:
    """The lines of a file that tests are written for."""

    path: str
    lines: Collection[int]
    """From 1."""


@dataclass(frozen=True)
class Bench:
    """A place where changes are tried; without a shadow or an interpreter nothing is run, and *reason* says why."""

    shadow: Shadow | NotRun
    interpreter: Interpreter | NotRun
    timeout_s: float
    suite_s: float = 0.0
    """After so long no test begins that was not asked for, where the whole suite is to run."""
    kept_back: KeptBack = field(default_factory=KeptBack)
    """The secrets that the shadow keeps from code that runs there, for a model may see what that prints."""
    memory: SuiteHistoryStore | None = None
    """Where is kept what runs of the whole suite show of its tests; ``None``: nowhere."""
    watches_changes: bool = False
    """A run of the whole suite with files laid over the workspace tells too which functions each test runs."""

    def lay(self, files: Mapping[str, str | None]) -> None:
        """Lay *files* over the shadow, with masks for the secrets of the workspace."""
        assert not isinstance(self.shadow, NotRun)
        mask = self.kept_back.mask
        self.shadow.write({path: None if text is None else mask(text) for path, text in files.items()})

    async def run(
        self,
        files: Mapping[str, str | None],
        targets: Sequence[str],
        measure: Sequence[str],
        *,
        whole: bool = False,
        later: Collection[str] = (),
    ) -> TestRun | NotRun:
        """Run the tests in *targets* (all where empty) with *files* laid over the workspace.

        *whole* has the rest of the suite run after them, as far as its time goes, and with it the tests *later*.
        """
        if isinstance(self.shadow, NotRun):
            return self.shadow
        # `runs_tests` is about other languages, whose tests need no Python.
        if isinstance(self.interpreter, NotRun) and not any(map(runs_tests, targets)):
            return self.interpreter
        self.lay(files)
        if not whole:
            return await run_targets(self.shadow, self.interpreter, targets, measure, timeout_s=self.timeout_s)
        known = await self._known(files)
        suite = Suite(tuple(targets), self.suite_s, later, known=known)
        run = await run_targets(self.shadow, self.interpreter, targets, measure, timeout_s=self.timeout_s, suite=suite)
        if self.memory is not None:
            # With files laid over it, the repository is not the one that the next run finds.
            await asyncio.to_thread(self.memory.learn, replace(run, functions={}) if files else run)
        return run

    async def _known(self, files: Mapping[str, str | None]) -> Collection[str] | None:
        """Return the tests of which is known what they run with *files*; ``None`` where nobody wants to know."""
        if files:
            return () if self.watches_changes else None
        return None if self.memory is None else await asyncio.to_thread(self.memory.fresh)

    async def trace(self, files: Mapping[str, str | None], test: str) -> TestTrace | NotRun:
        """Return what the lines of the repository's code compute in *test*, with *files* laid over the workspace."""
        if isinstance(self.shadow, NotRun):
            return self.shadow
        if isinstance(self.interpreter, NotRun):
            return self.interpreter
        if "::" not in test or runs_tests(test.partition("::")[0]):
            return NotRun(f"{test} cannot be traced.", "Name one test of a Python file, as pytest does: FILE::TEST.")
        self.lay(files)
        limit_s = min(self.timeout_s, _TRACED_RUN_S)
        run = await run_tests(self.shadow, self.interpreter, [test], timeout_s=limit_s, trace_s=limit_s / 4)
        failing = (trace for trace in run.traces if trace.ended)
        return next(failing, next(iter(run.traces), NotRun(run.reason or f"{test} was not seen to run.")))

    async def repeat(self, files: Mapping[str, str | None], targets: Sequence[str], times: int) -> Repetition | NotRun:
        """Run the tests in *targets* several times with *files* laid over the workspace, each time in another order."""
        if isinstance(self.shadow, NotRun):
            return self.shadow
        if isinstance(self.interpreter, NotRun):
            return self.interpreter
        self.lay(files)
        return await run_repeatedly(self.shadow, self.interpreter, targets, times=times, timeout_s=self.timeout_s)

    @property
    def why_no_snippet(self) -> NotRun | None:
        """Return the reason why a model's snippet is not run, or ``None``: it runs only behind walls, and only where
        tests may run.
        """
        if isinstance(self.shadow, NotRun):
            return self.shadow
        if isinstance(self.shadow.confinement, Unconfined):
            return NotRun("Snippets run behind walls only, and rolecall.tests.confinement is off.")
        return self.interpreter if isinstance(self.interpreter, NotRun) else None

    async def snippet(self, files: Mapping[str, str | None], code: str, timeout_s: float) -> ProcessEnd | NotRun:
        """Return how the Python *code* ends with *files* laid over the workspace, and what it printed."""
        if (reason := self.why_no_snippet) is not None:
            return reason
        assert not isinstance(self.shadow, NotRun)
        assert not isinstance(self.interpreter, NotRun)
        self.lay(files)
        return await run_snippet(self.shadow, self.interpreter, code, timeout_s=min(timeout_s, self.timeout_s))

    async def capabilities(self) -> Capabilities | NotRun:
        """Return what the interpreter has, asked in the shadow."""
        if isinstance(self.shadow, NotRun):
            return self.shadow
        return self.interpreter if isinstance(self.interpreter, NotRun) else await probe(self.shadow, self.interpreter)

    async def tools(self) -> str:
        """Return what tests run with: ``Python 3.12, pytest 9.0.1, pytest-asyncio 1.2.0``; empty where none are run."""
        answer = await self.capabilities()
        if isinstance(answer, NotRun):
            return ""
        return ", ".join([f"Python {answer.version[0]}.{answer.version[1]}", *(answer.tools or ["unittest"])])

    async def mutate(
        self, files: Mapping[str, str | None], target: LinesUnderTest, tests: Sequence[str], timeout_s: float
    ) -> MutationRun | NotRun:
        """Return which of *tests* notice which mutants of *target*, with *files* laid over the workspace."""
        if isinstance(self.shadow, NotRun):
            return self.shadow
        if isinstance(self.interpreter, NotRun):
            return self.interpreter
        self.lay(files)
        return await run_mutants(
            self.shadow,
            self.interpreter,
            target.path,
            target.lines,
            tests,
            timeout_s=timeout_s,
            at_most=_MOST_MUTANTS,
            by_test=True,
        )


def select_for_change(
    snapshot: Snapshot, files: Mapping[str, str | None], history: SuiteHistory = NOTHING_KNOWN
) -> tuple[SelectedTests, ...]:
    """Return the test files that reach what *files* change in *snapshot*, likeliest to fail first, each with why.

    That is, those that reach the changed definitions with the change, or without it those that are gone then; and
    those that by *history* ran one of them.
    """
    after = snapshot.with_changes(files)
    changed, gone = _changed_and_gone(snapshot, after, files)
    found: dict[str, SelectedTests] = {}
    for one in (*_selected(after, files, changed), *_selected(snapshot, files, gone)):
        known = found.get(one.path)
        # `None`: the change deletes that test file, so that it cannot run.
        if files.get(one.path, "") is not None and (known is None or known.score < one.score):
            found[one.path] = one
    selected = sorted(found.values(), key=lambda one: -one.score)
    parts = [part for each in (changed, gone) for path in files if is_python(path) for part in each[path]]
    return tuple(one for one in with_history(snapshot, selected, parts, history) if files.get(one.path, "") is not None)


def apart_from_change(snapshot: Snapshot, files: Mapping[str, str | None], history: SuiteHistory) -> frozenset[str]:
    """Return the tests that by *history* run nothing of what *files* change in *snapshot*.

    None where something changes that no test was seen to run: a new function may take the place of another.
    """
    if not all(map(is_python, files)):
        return frozenset()
    both = _changed_and_gone(snapshot, snapshot.with_changes(files), files)
    return without_any(snapshot, [part for parts in both for path in files for part in parts[path]], history)


_Parts = dict[str, list[Definition | str]]


def _changed_and_gone(snapshot: Snapshot, after: Snapshot, files: Iterable[str]) -> tuple[_Parts, _Parts]:
    """Return what of each file is new or has another text in *after*, and what of *snapshot* has so in it."""
    return (
        {path: changed_parts(snapshot, after, path) for path in files},
        {path: changed_parts(after, snapshot, path) for path in files},
    )


def _selected(
    snapshot: Snapshot, files: Iterable[str], changed: Mapping[str, Sequence[Definition | str]]
) -> tuple[SelectedTests, ...]:
    """Return the tests of what *changed* in Python, then those of the other *files*."""
    selected = select_tests(snapshot, [part for path in files if is_python(path) for part in changed[path]])
    others = [path for path in files if not is_python(path) and changed[path]]
    elsewhere = {test: path for path in others for test in _tests_importing(snapshot, path)}
    return (*selected, *(SelectedTests(test, 0.0, _why(test, path)) for test, path in elsewhere.items()))


def _why(test: str, path: str) -> str:
    if test == path:
        return "is changed itself" if is_test_file(path) else "stands for the tests of its package"
    return f"imports {path}"


def changed_parts(before: Snapshot, after: Snapshot, path: str) -> list[Definition | str]:
    """Return the innermost definitions of *path* whose text in *after* is new; the file where it is outside of them."""
    texts = _texts(before, path), _texts(after, path)
    changed = [part for name, (part, text) in texts[1].items() if name not in texts[0] or texts[0][name][1] != text]
    inner = {part.scope for part in changed}
    parts: list[Definition | str] = [part for part in changed if part.qualified_name not in inner]
    same = before.text(path) == after.text(path)
    return parts if parts or same or after.text(path) is None else [path]


def _texts(snapshot: Snapshot, path: str) -> dict[str, tuple[Definition, str]]:
    """Return the definitions of *path*, except attributes, by their names, each with its text."""
    lines = (snapshot.text(path) or "").splitlines()
    return {
        part.qualified_name: (part, "\n".join(lines[part.span.start.line : part.span.end.line + 1]))
        for part in definitions_in(snapshot, path)
        if part.kind != "variable" or not part.scope
    }


def _tests_importing(snapshot: Snapshot, path: str) -> Iterable[str]:
    """Return the test files that import *path*, directly or through other files; *path* itself where there are none."""
    if is_test_file(path):
        return (path,)
    if not runs_tests(path):
        return ()
    reached, pending = {path}, [path]
    while pending:
        more = [other for other in importers(snapshot, pending.pop()) if other not in reached]
        reached |= {*more}
        pending += [other for other in more if not is_test_file(other)]
    return sorted(filter(is_test_file, reached)) or (path,)


def is_of_all(run: TestRun | NotRun | None) -> bool:
    """Return whether *run* is one of all tests that the repository's own collection has."""
    # 0 where the run did not tell how many there are.
    return isinstance(run, TestRun) and 0 < run.collected <= len(run.outcomes)


def bad_outcomes(run: TestRun | NotRun | None) -> tuple[TestResult, ...]:
    """Return the tests of *run* that failed or broke."""
    return run.failed if isinstance(run, TestRun) else ()


def with_failures(run: TestRun | NotRun, others: Sequence[TestResult]) -> TestRun | NotRun:
    """Return *run* with what failed beside its tests."""
    if not others:
        return run
    return (
        TestRun("ran", outcomes=tuple(others))
        if isinstance(run, NotRun)
        else replace(run, outcomes=(*run.outcomes, *others))
    )


def new_failures(before: TestRun | NotRun | None, after: TestRun | NotRun | None) -> tuple[TestResult, ...]:
    """Return the tests that fail in *after* and did not in *before*."""
    known = {outcome.test_id for outcome in bad_outcomes(before)}
    return tuple(outcome for outcome in bad_outcomes(after) if outcome.test_id not in known)


def failures_to_mend(before: TestRun | NotRun | None, after: TestRun | NotRun | None) -> tuple[TestResult, ...]:
    """Return the new failures, without files that cannot be imported for the reason why others could not be before.

    No change of such a file can help where the package itself has to be installed first. It fails all the same, and
    nothing in it is proven.
    """
    reasons = {outcome.message for outcome in bad_outcomes(before) if _is_of_a_file(outcome)}
    return tuple(one for one in new_failures(before, after) if not (_is_of_a_file(one) and one.message in reasons))


def _is_of_a_file(outcome: TestResult) -> bool:
    """Return whether *outcome* is that of a whole file, which could not be imported."""
    return "::" not in outcome.test_id


def breaks_the_run(before: TestRun | NotRun | None, after: TestRun | NotRun) -> bool:
    """Return whether the change kept *after* from coming to its end.

    What happened without the change too, or before any test began, is the environment's doing: nothing that a
    model could mend.
    """
    if isinstance(after, NotRun) or after.status not in ("crashed", "timed out"):
        return False
    return bool(after.outcomes) and not (isinstance(before, TestRun) and before.status == after.status)


def evidence(
    before: TestRun | NotRun | None,
    after: TestRun | NotRun,
    *,
    problems: Sequence[str],
    findings: Sequence[GraphFinding],
    repairs: int,
    model: str,
    changed: Collection[str] = (),
) -> Evidence:
    """Return the evidence that the two runs and the code graph give, in the words of a review.

    The tests of the *changed* files are the first whose ends are told one by one.
    """
    without_run = Evidence(ran=False, problems=tuple(problems), findings=tuple(findings), repairs=repairs, model=model)
    if isinstance(after, NotRun) or after.status in ("not run", "no tests"):
        reason = str(after) if isinstance(after, NotRun) else after.reason
        return replace(without_run, reason=reason)
    known = {outcome.test_id for outcome in bad_outcomes(before)}
    return replace(
        without_run,
        ran=after.status == "ran",
        reason=after.reason or _why_none_that_concerns(after),
        partly=tuple(map(str, after.without)) if _is_partly(after) else (),
        is_beside=after.is_beside,
        before=_tally(before) if isinstance(before, TestRun) and before.status == "ran" else None,
        after=_tally(after),
        failures=tuple(Failure(bad.test_id, bad.message, bad.test_id in known) for bad in bad_outcomes(after)),
        tests=_ends(after, changed),
        coverage=_coverage(before, after),
        coverage_reason=after.coverage_reason,
        confinement=after.confinement,
        not_run=(after.reason,) if after.status == "ran" and after.reason else (),
        collected=after.collected,
        uncollected=tuple(f"{path}: {why}" for path, why in after.uncollected.items()),
        mended=_mended(before, after),
        notes=tuple(f"{test} failed at first, and passed when its file ran once more." for test in after.wavering),
    )


def _ends(after: TestRun, changed: Collection[str]) -> tuple[TestEnd, ...]:
    own = [one for one in after.outcomes if one.test_id.partition("::")[0] in changed]
    others = [one for one in after.outcomes if one.test_id.partition("::")[0] not in changed]
    told = (*own, *others)[:_MOST_ENDS]
    return tuple(TestEnd(one.test_id, one.outcome, one.message, round(one.duration_s, 3)) for one in told)


def _is_partly(after: TestRun) -> bool:
    """Return whether tests that may concern the change ran, though not all, or not with all that they ask for."""
    return after.has_run_any and not after.is_beside


def _why_none_that_concerns(after: TestRun) -> str:
    why = " ".join(gap.reason for gap in after.without)
    if not why or _is_partly(after):
        return ""
    return f"none of those that reach the change: {why}" if after.is_beside else why


def _mended(before: TestRun | NotRun | None, after: TestRun) -> tuple[str, ...]:
    """Return the tests that failed before and pass now."""
    passed = {outcome.test_id for outcome in after.passed}
    return tuple(outcome.test_id for outcome in bad_outcomes(before) if outcome.test_id in passed)


def _tally(run: TestRun) -> Tally:
    expected = sum(one.outcome == "xfailed" for one in run.skipped)
    broken = sum(bad.outcome == "error" for bad in run.failed)
    return Tally(len(run.passed), len(run.failed), len(run.skipped), broken, expected)


def _coverage(before: TestRun | NotRun | None, after: TestRun) -> tuple[CoverageChange, ...]:
    earlier: Mapping[str, FileCoverage] = before.coverage if isinstance(before, TestRun) else {}
    return tuple(
        CoverageChange(path, earlier[path].ratio if path in earlier else None, measured.ratio)
        for path, measured in after.coverage.items()
    )
