"""New tests that fail, waver, check nothing or hold for right what was reported as wrong are taken out of a draft.

Tests that show something wrong in the code fail; they are no part of the proposal but the proof of its findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rolecall_analysis import Snapshot, definitions_in, module_names, tests_of
from rolecall_server.craft.test_quality.expected_failures import ExpectedFailure, expected_failure
from rolecall_server.craft.test_quality.reported_calls import rows_that_call
from rolecall_server.craft.test_quality.test_smells import unsound_tests
from rolecall_server.craft.test_quality.test_text import failing_rows, function_of
from rolecall_server.craft.trial import new_failures
from rolecall_server.craft.verdicts import read_suspicions, why_environment
from rolecall_server.errors import NothingToTest
from rolecall_server.review.proposals.evidence import Defect, DroppedTest
from rolecall_server.sandbox import NotRun, TestResult, TestRun
from rolecall_server.team.request import Desk, RunRequest
from rolecall_server.team.test_quality.draft import DraftTests, name_of
from rolecall_server.team.test_quality.reported import Reported, each_once, findings_in
from rolecall_server.team.test_quality.trials import Trials

_CALLABLE = ("function", "method", "class")
ORDERS = 3
"""In how many random orders new tests have to pass."""


@dataclass
class Sieve:
    """New tests on their way to a proposal, and what was found by them."""

    request: RunRequest
    desk: Desk
    trials: Trials
    draft: DraftTests
    reported: list[Reported] = field(default_factory=list[Reported])
    showing: dict[str, tuple[str, ExpectedFailure]] = field(default_factory=dict[str, tuple[str, ExpectedFailure]])
    """The tests that show findings, each with the text of the file it was taken from, by ``path::name``."""
    orders: int = 0
    """In how many random orders the tests passed."""

    @property
    def defects(self) -> tuple[Defect, ...]:
        """Return the defects that seem to be in the code."""
        return tuple(one.defect for one in self.reported)

    @property
    def tests(self) -> tuple[str, ...]:
        """The files of tests that are to pass: those that exist and those of the draft."""
        return tuple(dict.fromkeys((*tests_of(self.desk.snapshot, self.request.path), *self.draft.files)))


def sift(sieve: Sieve, run: TestRun | NotRun, said: str) -> TestRun | NotRun:
    """Take out what *run* shows to fail, or the text to be unsound, given what the model *said*.

    The run itself comes back, or why it says nothing: something is missing around the code.

    Raises:
        NothingToTest: no test is left.
    """
    desk, draft = sieve.desk, sieve.draft
    failures = new_failures(sieve.trials.before, run)
    found = findings_in(said, sieve.request.path, desk, draft, run=run, failures=failures)
    sieve.reported = [*each_once((*sieve.reported, *found))]
    repeated = frozenset[str]().union(*(one.tests for one in found if one not in sieve.reported))
    repeated -= frozenset[str]().union(*(one.tests for one in sieve.reported))
    if isinstance(run, TestRun) and (missing := _missing_for_all(desk.snapshot, failures, said)):
        run = NotRun(missing, "Make it available to the interpreter that runs your tests, then run them.")
    unsound = unsound_in(sieve.request, desk.snapshot, draft.files, draft.bases)
    draft.leave_out({one.test: one.reason for one in unsound})
    _leave_out_failing(sieve, run, failures, said)
    for name in repeated:
        sieve.showing.pop(name, None)
    _leave_out_what_findings_deny(sieve)
    hold_to_tests(sieve)
    return run


async def shuffle(sieve: Sieve) -> None:
    """Take out the tests that do not pass in each of `ORDERS` random orders."""
    desk, draft = sieve.desk, sieve.draft
    desk.report(f"running the new tests in {ORDERS} random orders", None)
    sieve.orders = 0
    repetition = await desk.bench.repeat(draft.files, sorted(draft.files), ORDERS)
    if isinstance(repetition, NotRun) or not repetition.is_complete:
        reason = repetition.reason
        draft.notes.append(f"The new tests were not proven in random order: {reason}")
        return
    failed = {outcome.test_id for run in repetition.runs for outcome in run.failed}
    wavering = dict.fromkeys(map(name_of, [*repetition.flaky, *sorted(failed)]), "does not pass in every order")
    tests = draft.added()
    draft.leave_out({name: reason for name, reason in wavering.items() if name in tests})
    sieve.orders = len(repetition.runs)


def hold_to_tests(sieve: Sieve) -> None:
    """Go on only where a test is left, or one that shows a finding.

    Raises:
        NothingToTest: none is; the error says why, and what the tests showed.
    """
    if sieve.draft.files or sieve.showing:
        return
    said = [f"{one.test.partition('::')[2]} {one.reason}." for one in sieve.draft.left_out[:5]]
    found = [f"Finding: {defect}" for defect in sieve.defects]
    raise NothingToTest(
        " ".join(["No test that was written is worth proposing.", *found, *said]), "Say with a brief what to test."
    )


def by_test(outcomes: Iterable[TestResult]) -> dict[str, list[TestResult]]:
    """Return the outcomes of each test function, by ``path::name``."""
    found: dict[str, list[TestResult]] = {}
    for outcome in outcomes:
        found.setdefault(name_of(outcome.test_id), []).append(outcome)
    return found


def is_own_module(snapshot: Snapshot, name: str) -> bool:
    """Return whether the repository has a module or package *name*, which is the first part of a dotted name."""
    return any(path.split("/")[-1] == f"{name}.py" or f"/{name}/" in f"/{path}" for path in snapshot.files)


def _missing_for_all(snapshot: Snapshot, failures: Sequence[TestResult], said: str) -> str:
    """Return the reason why a whole file of tests cannot be read, where that is none of its own doing; else empty."""
    whole = [outcome for outcome in failures if not function_of(outcome.test_id)]
    reasons = (why_environment(outcome, said, lambda name: is_own_module(snapshot, name)) for outcome in whole)
    return next((reason for reason in reasons if reason), "")


def unsound_in(
    request: RunRequest, snapshot: Snapshot, files: Mapping[str, str | None], bases: Mapping[str, str | None]
) -> tuple[DroppedTest, ...]:
    """Return the new tests of *files* that nobody should keep, judged by their text."""
    module = next(iter(module_names(snapshot.modules, request.path)), "")
    defined = _under_test(request, snapshot)
    return tuple(
        DroppedTest(f"{path}::{test.name}", test.reason)
        for path, text in files.items()
        for test in unsound_tests(text or "", bases[path], module, defined)
    )


def _under_test(request: RunRequest, snapshot: Snapshot) -> set[str]:
    """Return the functions, methods and classes that are under test, as dotted names within their file."""
    path, symbol = request.path, request.symbol
    names = {each.qualified_name for each in definitions_in(snapshot, path) if each.kind in _CALLABLE}
    # With the dots, so that `Cart` does not stand for `Cartoon` as well.
    return {name for name in names if not symbol or f"{name}.".startswith(f"{symbol}.")}


def _leave_out_failing(sieve: Sieve, run: TestRun | NotRun, failures: Sequence[TestResult], said: str) -> None:
    """Take out the new tests, or the cases of them, that fail; of a file that cannot be read, all."""
    if not isinstance(run, TestRun):
        return
    snapshot, draft = sieve.desk.snapshot, sieve.draft
    suspicions = read_suspicions(said)
    for name, outcomes in by_test(failures).items():
        path = name.partition("::")[0]
        outcome = outcomes[0]
        missing = why_environment(outcome, said, lambda module: is_own_module(snapshot, module))
        reason = "shows a finding" if any(one.shown_by(name) for one in suspicions) else f"fails: {outcome.message}"
        reason = f"cannot run here: {missing}" if missing else reason
        tests = draft.added()
        if name in tests:
            rows = failing_rows(tests[name], run, path)
            if shown := next((one for one in suspicions if one.shown_by(name) and not missing), None):
                text, why = draft.files[path] or "", f"{shown.symbol}: {shown.sentence}"
                if marked := expected_failure(text, tests[name].name, rows, why):
                    sieve.showing[name] = text, marked
            draft.leave_out_rows(name, rows, reason)
        elif not function_of(name):
            draft.leave_out({test: reason for test in tests if test.startswith(f"{path}::")})


def _leave_out_what_findings_deny(sieve: Sieve) -> None:
    """Take out what passes and makes a call that was reported: it holds the wrong result for right."""
    for one in sieve.reported:
        symbol = one.defect.symbol
        for name, test in sieve.draft.added().items():
            if rows := rows_that_call(test, symbol, one.calls):
                sieve.draft.leave_out_rows(name, rows, f"makes the call that a finding about {symbol} is about")
