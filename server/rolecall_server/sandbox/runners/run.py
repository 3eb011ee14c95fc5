"""One run of tests of any language, and the runs of several as one."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rolecall_server.sandbox.event_lines import GARBLED
from rolecall_server.sandbox.python.interpreter import Interpreter
from rolecall_server.sandbox.python.pytest_report import path_neutraliser
from rolecall_server.sandbox.python.pytest_run import TOO_MUCH, run_tests
from rolecall_server.sandbox.results import NotRun, RunStatus, Suite, TestResult, TestRun
from rolecall_server.sandbox.run_folder import RunFolder, clean_environment, run_folder, run_in_shadow
from rolecall_server.sandbox.runners.choice import choose_runner, is_test_file, runs_tests
from rolecall_server.sandbox.runners.port import Errand, Runner, RunnerPackage, Told
from rolecall_server.sandbox.shadow.shadow import Shadow
from rolecall_server.sandbox.shadow.steadiness import run_while_unchanged
from rolecall_server.sandbox.walls.confinement import Command
from rolecall_server.sandbox.walls.event_stream import MAX_REPORT_BYTES
from rolecall_server.sandbox.walls.process import ProcessEnd

# Names go in as arguments, never as a part of the script: they may hold anything that a shell reads.
_START = 'cd "$0" && exec "$@"'
_START_REPORTING = 'cd "$0" && report=$1 && shift && exec "$@" >"$report"'


async def run_targets(
    shadow: Shadow,
    interpreter: Interpreter | NotRun,
    targets: Sequence[str],
    measure: Sequence[str] = (),
    *,
    timeout_s: float,
    suite: Suite | None = None,
) -> TestRun:
    """Return how *targets* end in *shadow*: Python's by *interpreter*, others by the runners their packages name.

    A target that is no test of a language but Python stands for its whole package. *measure* names Python files
    whose coverage is wanted. Each command may take *timeout_s*. With a *suite*, whose first files are the
    targets, the repository's own collection says which tests Python has.
    """
    others = [target for target in targets if runs_tests(target)]
    python = [target for target in targets if target not in others]
    runs: list[TestRun] = []
    if python or suite is not None or not others:
        if isinstance(interpreter, NotRun):
            runs.append(TestRun("not run", str(interpreter), confinement=shadow.confinement.name))
        else:
            named = python if suite is None else ()
            wanted = None if suite is None else replace(suite, first=tuple(python))
            runs.append(await run_tests(shadow, interpreter, named, measure, timeout_s=timeout_s, suite=wanted))
    for errand in _grouped(shadow, others):
        if isinstance(errand, NotRun):
            runs.append(TestRun("not run", str(errand), confinement=shadow.confinement.name))
        else:
            runner, package, files = errand
            runs.append(await run_by(runner, package, files, timeout_s=timeout_s))
    return runs[0] if len(runs) == 1 else joined(runs)


def _grouped(shadow: Shadow, targets: Sequence[str]) -> list[tuple[Runner, RunnerPackage, list[str]] | NotRun]:
    """Return the runners of *targets*, each with its package and the test files in it; an empty list stands for all of
    them.
    """
    groups: dict[tuple[str, str], tuple[Runner, RunnerPackage, list[str]]] = {}
    refused: dict[str, NotRun] = {}
    for target in targets:
        chosen = choose_runner(shadow, target)
        if isinstance(chosen, NotRun):
            refused.setdefault(chosen.reason, chosen)
            continue
        runner, package = chosen
        groups.setdefault((runner.name, package.folder), (runner, package, []))[2].append(target)
    whole = [(runner, package, _files(files)) for runner, package, files in groups.values()]
    return [*whole, *refused.values()]


def _files(targets: list[str]) -> list[str]:
    """Return *targets* where all are tests or lie beside theirs, as in Go; else none, for the whole package."""
    return targets if all(is_test_file(target) or target.endswith(".go") for target in targets) else []


async def run_by(runner: Runner, package: RunnerPackage, targets: Sequence[str], *, timeout_s: float) -> TestRun:
    """Run *targets* of *package*, and return how they end, as *runner* tells."""
    return await run_while_unchanged(package.shadow, lambda: _run_once(runner, package, targets, timeout_s))


async def _run_once(runner: Runner, package: RunnerPackage, targets: Sequence[str], timeout_s: float) -> TestRun:
    shadow = package.shadow
    try:
        async with run_folder(shadow) as folder:
            errand = await asyncio.to_thread(runner.prepare, package, targets, folder)
            if isinstance(errand, NotRun):
                return TestRun("not run", str(errand), confinement=shadow.confinement.name)
            command = _command(package, errand, folder)
            end = await run_in_shadow(shadow, folder, command, errand.readable, timeout_s=timeout_s)
            neutral = path_neutraliser(shadow, folder)
            report = await asyncio.to_thread(_read, folder.report)
    except OSError as error:
        reason = f"{runner.name} cannot be started in the shadow: {error.strerror}."
        return TestRun("not run", reason, confinement=shadow.confinement.name)
    told = await asyncio.to_thread(told_by, runner, package, report, end.output)
    outcomes = tuple(
        replace(each, test_id=neutral(each.test_id), message=neutral(each.message), detail=neutral(each.detail))
        for each in told.outcomes
    )
    clean = replace(told, outcomes=outcomes, running=neutral(told.running), missing=neutral(told.missing))
    return _judge(runner, package, clean, replace(end, output=neutral(end.output)), timeout_s)


def told_by(runner: Runner, package: RunnerPackage, report: str, output: str) -> Told:
    """Return the content of *report*; nothing if a test, which may write to it too, has garbled it."""
    try:
        return runner.read(package, report, output)
    except GARBLED:
        return Told((), is_complete=False)


def _command(package: RunnerPackage, errand: Errand, folder: RunFolder) -> Command:
    start = (
        (_START_REPORTING, str(package.place), str(folder.report))
        if errand.reports_to_output
        else (_START, str(package.place))
    )
    environment = {**clean_environment(folder, errand.programs), **errand.environment}
    return Command(("/bin/sh", "-c", *start, *errand.arguments), environment)


def _read(report: Path) -> str:
    with report.open("rb") as stream:
        return stream.read(MAX_REPORT_BYTES).decode("utf-8", "replace")


def _judge(runner: Runner, package: RunnerPackage, told: Told, end: ProcessEnd, timeout_s: float) -> TestRun:
    status, reason = _status(runner, package, told, end, timeout_s)
    outcomes = told.outcomes if status != "not run" else ()
    if told.running and status in ("timed out", "crashed"):
        outcomes = (*outcomes, TestResult(told.running, "error", message=reason))
    return TestRun(
        status=status,
        reason=reason,
        outcomes=outcomes,
        output=end.output,
        duration_s=end.duration_s,
        confinement=package.shadow.confinement.name,
    )


def _status(
    runner: Runner, package: RunnerPackage, told: Told, end: ProcessEnd, timeout_s: float
) -> tuple[RunStatus, str]:
    where = f"in {told.running}" if told.running else "at its start" if not told.outcomes else "after the last test"
    if end.timed_out:
        return "timed out", f"{runner.name} did not end within {timeout_s:g} s, {where}."
    if end.exceeded is not None:
        return "crashed", f"{runner.name} was ended {where}: {TOO_MUCH[end.exceeded]}."
    if not told.outcomes and (refusal := package.shadow.confinement.refusal(end.output)):
        return "not run", f"The tests could not be confined: {refusal}."
    if told.missing:
        return "not run", f"{runner.name} could not begin: {told.missing}. Nothing is installed for you."
    if not told.is_complete:
        return _broken_off(runner, told, end, where)
    return ("ran", "") if told.outcomes else ("no tests", f"{runner.name} found no tests there.")


def _broken_off(runner: Runner, told: Told, end: ProcessEnd, where: str) -> tuple[RunStatus, str]:
    code = end.exit_code or 0
    said = (end.output.strip().splitlines() or ["it printed nothing"])[-1].strip()
    # bubblewrap ends with 128 and the number of the signal where a signal ended the program, as a shell does.
    if code > 128 and code - 128 in {*signal.Signals}:
        return "crashed", f"{runner.name} was ended by {signal.Signals(code - 128).name} {where}."
    if not told.outcomes and not told.running:
        return "not run", f"{runner.name} could not begin (exit code {code}): {said}"
    return "crashed", f"{runner.name} broke off {where} (exit code {code}): {said}"


def joined(runs: Sequence[TestRun]) -> TestRun:
    """Several runs as one: what keeps one of them from its end keeps them all, and what was not run is said."""
    worst: tuple[RunStatus, ...] = ("crashed", "timed out", "ran", "no tests", "not run")
    ends: list[RunStatus] = [run.status for run in runs]
    return TestRun(
        status=min(ends, key=worst.index),
        reason=" ".join(run.reason for run in runs if run.reason),
        outcomes=tuple(outcome for run in runs for outcome in run.outcomes),
        coverage={path: measured for run in runs for path, measured in run.coverage.items()},
        coverage_reason="; ".join(dict.fromkeys(run.coverage_reason for run in runs if run.coverage_reason)),
        output="\n".join(run.output for run in runs if run.output),
        duration_s=sum(run.duration_s for run in runs),
        confinement=runs[0].confinement,
        collected=sum(run.collected for run in runs),
        uncollected={path: why for run in runs for path, why in run.uncollected.items()},
        without=tuple(gap for run in runs for gap in run.without),
        is_beside=any(run.is_beside for run in runs) and not any(run.has_run_any for run in runs if not run.is_beside),
        functions={test: ran for run in runs for test, ran in run.functions.items()},
    )
