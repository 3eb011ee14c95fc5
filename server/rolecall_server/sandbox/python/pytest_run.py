"""Running the workspace's tests in its shadow, with its own interpreter and its own configuration of them."""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rolecall_server.sandbox.python.framework import Framework, choose_framework
from rolecall_server.sandbox.python.interpreter import SETTING, Capabilities, Interpreter, probe
from rolecall_server.sandbox.python.pytest_command import (
    lend_coverage,
    pytest_command,
    request_report,
    steering_flags,
    unittest_command,
)
from rolecall_server.sandbox.python.pytest_faults import Without, and_without
from rolecall_server.sandbox.python.pytest_report import Fault, Report, path_neutraliser, read_report
from rolecall_server.sandbox.results import NotRun, RunStatus, Suite, TestResult, TestRun
from rolecall_server.sandbox.run_folder import RunFolder, run_folder, run_in_shadow
from rolecall_server.sandbox.shadow.shadow import Shadow
from rolecall_server.sandbox.shadow.steadiness import run_while_unchanged
from rolecall_server.sandbox.walls.confinement import Command
from rolecall_server.sandbox.walls.event_stream import Hearing, heard
from rolecall_server.sandbox.walls.process import ProcessEnd

_ERROR = re.compile(r"^(?:ERROR|.*\berror): (.*)$", re.MULTILINE)
_INTERNAL = re.compile(r"^INTERNALERROR> (\S.*)$", re.MULTILINE)
TOO_MUCH = {
    "memory": "its processes took too much memory",
    "processes": "it started too many processes",
    "disk": "the disk with its copy of the workspace was almost full",
}
_PART_FOR_TESTS = 0.9
"""Of the time a run has; what is left is for the last test, and for what the tests leave behind."""
_MOST_FAULTS = 8
"""So many times pytest is started anew without what kept it from beginning."""
_NOT_FLUSHED = 120
"""Python's own exit code where the tests closed its output. Source: Python's documentation of `sys.exit`."""
_FIRST_SIGNAL = 128
_INTERRUPTED, _INTERNAL_ERROR, _USAGE_ERROR, _NO_TESTS = 2, 3, 4, 5


@dataclass(frozen=True)
class _Task:
    """The task of one call of `run_tests`."""

    shadow: Shadow
    interpreter: Interpreter
    capabilities: Capabilities
    framework: Framework
    targets: tuple[str, ...]
    measure: tuple[str, ...]
    timeout_s: float
    by_test: bool = False
    order_seed: int | None = None
    suite: Suite | None = None
    trace_s: float = 0.0
    began_s: float = field(default_factory=time.monotonic)

    @property
    def left_s(self) -> float:
        """Return how much of the time is left, however often pytest is started anew."""
        return max(0.0, self.timeout_s - (time.monotonic() - self.began_s))


async def run_tests(
    shadow: Shadow,
    interpreter: Interpreter,
    targets: Sequence[str] = (),
    measure: Sequence[str] = (),
    *,
    timeout_s: float,
    by_test: bool = False,
    order_seed: int | None = None,
    suite: Suite | None = None,
    trace_s: float = 0.0,
) -> TestRun:
    """Return how the tests *targets* end in *shadow*: paths or node ids, relative to its root; none means all of them.

    Of targets that are files those are run which the repository's own collection takes for tests; what it leaves out
    is said.

    *measure* names the files whose coverage is wanted, relative too, *by_test* asks which test reached which line.
    With *order_seed* the tests run in an order of their own, and strings have hashes of their own. A *suite* instead
    of targets leaves it to the repository which tests there are; where that cannot be found out, its first files are
    run by name. Nothing is ever installed: what is missing is the reason why something was not run or not measured.

    With *trace_s* the lines of each test are followed for so many seconds, see `TestTrace`.
    """
    capabilities = await probe(shadow, interpreter)
    if isinstance(capabilities, NotRun):
        return TestRun("not run", str(capabilities), confinement=shadow.confinement.name)
    if suite is None and targets and all(_is_file(shadow, target) for target in targets):
        suite, targets = Suite(tuple(targets), is_alone=True), ()
    framework = await asyncio.to_thread(choose_framework, shadow, capabilities, suite.first if suite else targets)
    if framework is None:
        return TestRun("not run", str(_no_pytest(interpreter)), confinement=shadow.confinement.name)
    # A path that begins with a dash would be taken for an option.
    named = tuple(f"./{target}" if target.startswith("-") else target for target in targets)
    measured = tuple(measure)
    task = _Task(
        shadow, interpreter, capabilities, framework, named, measured, timeout_s, by_test, order_seed, suite, trace_s
    )
    return await run_while_unchanged(shadow, lambda: _run(task))


def _is_file(shadow: Shadow, target: str) -> bool:
    return target.endswith(".py") and shadow.on_disk(target).is_file()


async def _run(task: _Task) -> TestRun:
    # Anew each time: a run during which a file of the workspace changed is made again.
    task = replace(task, began_s=time.monotonic())
    run = await _run_with_flags(task)
    if task.suite is None or not task.suite.first or run.status in ("ran", "timed out"):
        return run
    if run.has_run_any or run.uncollected:
        return run
    named = await _run_with_flags(replace(task, suite=None, targets=task.suite.first))
    return (
        named
        if task.suite.is_alone
        else replace(named, reason=f"{named.reason} The rest of the suite: {run.reason}".strip())
    )


async def _run_with_flags(task: _Task) -> TestRun:
    """Return the run of the parts that can run: what keeps pytest from beginning is left out, and said."""
    flags = steering_flags(task.capabilities) if task.framework == "pytest" else []
    without = Without()
    run, faults = await _run_once(task, flags, without)
    for _ in range(_MOST_FAULTS):
        more = and_without(without, faults, task.shadow, task.interpreter)
        rest = _rest(task, more)
        if more == without or rest is None or run.has_run_any or run.status == "timed out":
            return _told(task, run, more, flags)
        again, faults = await _run_once(rest, flags, more)
        # Without its conftest nothing is collected: what was seen before says more.
        if again.status == "no tests" and more.conftests != without.conftests:
            return _told(task, run, more, flags)
        run, without = _with_broken(again, run), more
    return _told(task, run, without, flags)


def _rest(task: _Task, without: Without) -> _Task | None:
    """Return *task* as far as it can be run; ``None`` where nothing of it is left."""
    targets = tuple(target for target in task.targets if not without.holds(target))
    first = tuple(target for target in task.suite.first if not without.holds(target)) if task.suite else ()
    suite = replace(task.suite, first=first) if task.suite else None
    return (
        None
        if "conftest.py" in without.conftests or (task.targets and not targets)
        else replace(task, targets=targets, suite=suite)
    )


def _told(task: _Task, run: TestRun, without: Without, flags: Sequence[str]) -> TestRun:
    """Return *run* with what it was run without, and with the options of that."""
    first = task.suite.first if task.suite else ()
    is_beside = bool(first) and all(map(without.holds, first))
    options = _options(flags, without)
    return replace(run, without=without.gaps, is_beside=is_beside, options=options)


def _options(flags: Sequence[str], without: Without) -> tuple[str, ...]:
    return (*(flag for flag in flags if flag not in without.unknown), *without.arguments)


def _with_broken(run: TestRun, broken: TestRun) -> TestRun:
    """Return *run* with what kept *broken* from beginning among its outcomes."""
    known = {outcome.test_id for outcome in run.outcomes}
    return replace(run, outcomes=(*(one for one in broken.outcomes if one.test_id not in known), *run.outcomes))


async def _run_once(task: _Task, flags: Sequence[str], without: Without) -> tuple[TestRun, Sequence[Fault]]:
    try:
        async with run_folder(task.shadow) as folder:
            seed = task.order_seed
            passed_over = [str(task.shadow.root / conftest) for conftest in without.conftests]
            wanted = {"suite": _wanted(task), "passed_over": passed_over, "trace_s": task.trace_s}
            request_report(
                task.shadow,
                folder,
                task.capabilities,
                task.measure,
                by_test=task.by_test,
                order_seed=seed,
                more=wanted,
            )
            command, readable = _command(task, _options(flags, without), folder)
            hearing = Hearing(folder.noted)
            left_s = task.left_s
            end = await run_in_shadow(task.shadow, folder, command, readable, timeout_s=left_s, hearing=hearing)
            neutral = path_neutraliser(task.shadow, folder)
            report = await asyncio.to_thread(read_report, heard(hearing), neutral)
    except OSError as error:
        return _not_run(task, f"{task.framework} cannot be started in the shadow: {error.strerror}."), ()
    return _judge(task, replace(end, output=neutral(end.output)), report), report.faults


def _wanted(task: _Task) -> dict[str, object] | None:
    """Return the settings of a suite for the tests' process: after the second limit, no test is begun at all. ``None``
    without a suite.
    """
    if task.suite is None:
        return None
    ending_s = _PART_FOR_TESTS * task.left_s
    known = None if task.suite.known is None else sorted(task.suite.known)
    limits = {"rest_s": min(task.suite.rest_s, ending_s), "first_s": ending_s}
    order = {"first": task.suite.first, "later": sorted(task.suite.later), "is_alone": task.suite.is_alone}
    return {**order, "known": known, **limits}


def _command(task: _Task, flags: Sequence[str], folder: RunFolder) -> tuple[Command, Sequence[Path]]:
    readable = [*task.capabilities.places.shown]
    if _needs_coverage(task):
        readable += [folder.lent, lend_coverage(folder)]
    start = pytest_command if task.framework == "pytest" else unittest_command
    command = start(task.shadow, task.capabilities, folder, [*flags, *task.targets])
    more: dict[str, str] = {"ROLECALL_MEASURES": "yes"} if task.measure else {}
    if task.order_seed is not None:
        # Python takes no larger number there, and refuses to start with one.
        more["PYTHONHASHSEED"] = str(task.order_seed % 2**32)
    return replace(command, environment={**command.environment, **more}), readable


def _needs_coverage(task: _Task) -> bool:
    return bool(task.measure) and "coverage" not in task.capabilities.modules


def _not_run(task: _Task, reason: str) -> TestRun:
    return TestRun("not run", reason, confinement=task.shadow.confinement.name)


def _judge(task: _Task, end: ProcessEnd, report: Report) -> TestRun:
    status, reason = _status(task, end, report)
    outcomes = report.outcomes
    if report.running and status in ("timed out", "crashed"):
        ended = tuple(outcome for outcome in outcomes if outcome.test_id != report.running)
        outcomes = (*ended, TestResult(report.running, "error", message=reason))
    missing = [path for path in task.measure if path not in report.coverage]
    unmeasured = report.unmeasured or (("the run did not come to its end",) if missing else ())
    if report.unmeasured and missing and _needs_coverage(task):
        unmeasured = (*unmeasured, f"install coverage in {task.interpreter.path}, which was lent another's")
    return TestRun(
        status=status,
        reason=reason,
        outcomes=outcomes,
        coverage=report.coverage,
        coverage_reason="; ".join(unmeasured),
        output=end.output,
        duration_s=end.duration_s,
        confinement=f"{task.shadow.confinement.name}{task.capabilities.places.left_out_words}",
        collected=report.collected,
        uncollected=report.uncollected,
        functions=report.functions,
        traces=report.traces,
    )


def _status(task: _Task, end: ProcessEnd, report: Report) -> tuple[RunStatus, str]:
    if end.timed_out:
        return "timed out", _overtime(task, report)
    if end.exceeded is not None:
        return "crashed", f"The run was ended {_where(report)}: {TOO_MUCH[end.exceeded]}."
    if reason := _not_to_be_trusted(task, end, report):
        return "not run", reason
    return _status_of_session(task, end, report)


def _status_of_session(task: _Task, end: ProcessEnd, report: Report) -> tuple[RunStatus, str]:
    code = end.exit_code if report.exit_code is None else report.exit_code
    if code == _USAGE_ERROR:
        return ("ran", "") if report.outcomes else ("not run", _usage_error(end))
    if report.exit_code is None or code in (_INTERRUPTED, _INTERNAL_ERROR):
        return "crashed", _crash(task, end, report)
    if contradiction := _contradiction(task, end, report):
        return "crashed", f"What the tests reported is not to be relied on: {contradiction}."
    if not report.outcomes:
        why = "; ".join(f"{path}: {why}" for path, why in report.uncollected.items())
        said = f"The repository's own tests do not take in {why}." if why else f"{task.framework} found no tests there."
        return "no tests", said
    return "ran", ""


def _contradiction(task: _Task, end: ProcessEnd, report: Report) -> str:
    """Return what of *report* does not agree with itself, or with how the process ended; empty where all does."""
    failed = [outcome for outcome in report.outcomes if outcome.outcome in ("failed", "error")]
    if report.has_gaps:
        return "parts of their report are missing"
    seen = (1,) if report.is_broken else (report.exit_code, _NOT_FLUSHED)
    if end.exit_code not in seen and (end.exit_code or 0) < _FIRST_SIGNAL:
        return f"they told of exit code {report.exit_code}, and their process ended with {end.exit_code}"
    if report.exit_code == 1 and not failed:
        return f"{task.framework} ended with exit code 1, as it does when tests fail, and no test is told of as failing"
    if report.exit_code == 0 and (untold := report.chosen - {outcome.test_id for outcome in report.outcomes}):
        # In a suite tests that would begin too late are passed over without a word.
        return f"{min(untold)} was collected, and nothing is told of it" if task.suite is None else ""
    return ""


def _no_pytest(interpreter: Interpreter) -> NotRun:
    return NotRun(
        f"{interpreter.path} (from {interpreter.source}) has no pytest.",
        f"Install it there (`{interpreter.path} -m pip install pytest`), or set {SETTING} to a Python that has it.",
    )


def _overtime(task: _Task, report: Report) -> str:
    if report.exit_code is not None:
        return f"The tests ended, but their process did not within {task.timeout_s:g} s: a thread may still run."
    during = f"{report.running} was running" if report.running else "no test was running"
    return f"The tests did not end within {task.timeout_s:g} s; {during}."


def _not_to_be_trusted(task: _Task, end: ProcessEnd, report: Report) -> str:
    if report.says_nothing and (refusal := task.shadow.confinement.refusal(end.output)):
        return f"The tests could not be confined: {refusal}."
    return _foreign(report) if report.foreign else ""


def _foreign(report: Report) -> str:
    names = ", ".join(report.foreign[:3]) + (", ..." if len(report.foreign) > 3 else "")
    return f"The tests imported {names} from the workspace itself, not from the copy under test."


def _usage_error(end: ProcessEnd) -> str:
    errors = [found[1] for found in _ERROR.finditer(end.output) if not found[1].startswith("usage:")]
    said = errors[-1].strip() if errors else _last_line(end)
    return f"pytest could not start: {said}. Mend its configuration, then try again."


def _where(report: Report) -> str:
    return f"in {report.running}" if report.running else ("after the last test" if report.outcomes else "at its start")


def _crash(task: _Task, end: ProcessEnd, report: Report) -> str:
    where = _where(report)
    code = end.exit_code or 0
    if code > 128:
        return f"Python was ended by {_signal_name(code - 128)} {where}."
    said = _INTERNAL.findall(end.output) or [_last_line(end)]
    return f"{task.framework} broke off {where} (exit code {code}): {said[-1]}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(end: ProcessEnd) -> str:
    return (end.output.strip().splitlines() or ["it printed nothing"])[-1].strip()
