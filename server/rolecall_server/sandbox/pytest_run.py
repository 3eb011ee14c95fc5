"""Running the workspace's tests in its shadow, with its own interpreter and its own pytest configuration."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rolecall_server.sandbox.completion import complete
from rolecall_server.sandbox.confinement import Command, Confinement, Unconfined
from rolecall_server.sandbox.interpreter import SETTING, Capabilities, Interpreter, probe
from rolecall_server.sandbox.process import ProcessEnd, run_process
from rolecall_server.sandbox.pytest_command import (
    RunFolder,
    lend_coverage,
    make_run_folder,
    pytest_command,
    steering_flags,
)
from rolecall_server.sandbox.pytest_report import Report, path_neutraliser, read_report
from rolecall_server.sandbox.results import NotRun, RunStatus, TestOutcome, TestRun
from rolecall_server.sandbox.shadow import Shadow, remove_tree

_ERROR = re.compile(r"^(?:ERROR|.*\berror): (.*)$", re.MULTILINE)
_INTERNAL = re.compile(r"^INTERNALERROR> (\S.*)$", re.MULTILINE)
_INTERRUPTED, _INTERNAL_ERROR, _USAGE_ERROR, _NO_TESTS = 2, 3, 4, 5


@dataclass(frozen=True)
class _Task:
    """What one call of `run_tests` is about."""

    shadow: Shadow
    interpreter: Interpreter
    capabilities: Capabilities
    targets: tuple[str, ...]
    measure: tuple[str, ...]
    timeout_s: float
    confinement: Confinement


async def run_tests(
    shadow: Shadow,
    interpreter: Interpreter,
    targets: Sequence[str] = (),
    measure: Sequence[str] = (),
    *,
    timeout_s: float,
    confinement: Confinement | None = None,
) -> TestRun:
    """How the tests *targets* end in *shadow*: paths or node ids, relative to its root; none means all of them.

    *measure* names the files whose coverage is wanted, relative too. Nothing is ever installed: what is missing
    is the reason why something was not run or not measured.
    """
    confinement = confinement or Unconfined()
    capabilities = await probe(interpreter)
    if isinstance(capabilities, NotRun):
        return TestRun("not run", str(capabilities), confinement=confinement.name)
    if "pytest" not in capabilities.modules:
        return TestRun("not run", str(_no_pytest(interpreter)), confinement=confinement.name)
    named = tuple(f"./{target}" if target.startswith("-") else target for target in targets)
    task = _Task(shadow, interpreter, capabilities, named, tuple(measure), timeout_s, confinement)
    flags = steering_flags(capabilities)
    run = await _run_once(task, flags)
    if run.status == "not run" and any(flag in run.reason for flag in flags):
        # The repository switches off a plugin that is installed, so that plugin's options do not exist.
        run = await _run_once(task, [flag for flag in flags if flag not in run.reason])
    return run


async def _run_once(task: _Task, flags: Sequence[str]) -> TestRun:
    try:
        folder = make_run_folder(task.shadow, task.measure)
    except OSError as error:
        return _not_run(task, f"The copy cannot be used any more: {error.strerror}.")
    try:
        command = await _command(task, flags, folder)
        if isinstance(command, NotRun):
            return _not_run(task, str(command))
        end = await run_process(
            command.arguments, cwd=task.shadow.root, environment=command.environment, timeout_s=task.timeout_s
        )
        neutral = path_neutraliser(task.shadow, folder)
        report = await asyncio.to_thread(read_report, folder.report, neutral)
    except OSError as error:
        return _not_run(task, f"pytest cannot be started in the copy: {error.strerror}.")
    finally:
        await complete(asyncio.to_thread(remove_tree, folder.path))
    return _judge(task, replace(end, output=neutral(end.output)), report)


async def _command(task: _Task, flags: Sequence[str], folder: RunFolder) -> Command | NotRun:
    readable = list(task.capabilities.prefixes)
    if _needs_coverage(task):
        readable.append(lend_coverage(folder))
    command = pytest_command(task.shadow, task.interpreter, task.capabilities, folder, [*flags, *task.targets])
    return await task.confinement.confine(command, task.shadow, readable)


def _needs_coverage(task: _Task) -> bool:
    return bool(task.measure) and "coverage" not in task.capabilities.modules


def _not_run(task: _Task, reason: str) -> TestRun:
    return TestRun("not run", reason, confinement=task.confinement.name)


def _judge(task: _Task, end: ProcessEnd, report: Report) -> TestRun:
    status, reason = _status(task, end, report)
    outcomes = report.outcomes
    if report.running and status in ("timed out", "crashed"):
        outcomes = (*outcomes, TestOutcome(report.running, "error", message=reason))
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
        confinement=task.confinement.name,
    )


def _status(task: _Task, end: ProcessEnd, report: Report) -> tuple[RunStatus, str]:
    if end.timed_out:
        return "timed out", _overtime(task, report)
    if report.foreign:
        return "not run", _foreign(report)
    code = end.exit_code if report.exit_code is None else report.exit_code
    if code == _USAGE_ERROR:
        return ("ran", "") if report.outcomes else ("not run", _usage_error(task, end))
    if report.exit_code is None or code in (_INTERRUPTED, _INTERNAL_ERROR):
        return "crashed", _crash(end, report)
    if not report.outcomes:
        return "no tests", "pytest found no tests there."
    return "ran", ""


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


def _foreign(report: Report) -> str:
    names = ", ".join(report.foreign[:3]) + (", ..." if len(report.foreign) > 3 else "")
    return f"The tests imported {names} from the workspace itself, not from the copy under test."


def _usage_error(task: _Task, end: ProcessEnd) -> str:
    errors = [found[1] for found in _ERROR.finditer(end.output) if not found[1].startswith("usage:")]
    said = errors[-1].strip() if errors else _last_line(end)
    if "unrecognized arguments" in said:
        return (
            f"pytest refused its arguments: {said}. The repository's configuration asks for a plugin that "
            f"{task.interpreter.path} lacks; install it there."
        )
    return f"pytest could not start: {said}."


def _crash(end: ProcessEnd, report: Report) -> str:
    where = f"in {report.running}" if report.running else ("after the last test" if report.outcomes else "at its start")
    code = end.exit_code or 0
    if code > 128:
        return f"Python was ended by {_signal_name(code - 128)} {where}."
    said = _INTERNAL.findall(end.output) or [_last_line(end)]
    return f"pytest broke off {where} (exit code {code}): {said[-1]}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(end: ProcessEnd) -> str:
    return (end.output.strip().splitlines() or ["it printed nothing"])[-1].strip()
