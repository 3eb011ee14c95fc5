"""`rolecall bench strategies`: a set of tasks worked on with a strategy, and again without each of its parts."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.table import Table

from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.interrupts import run_until_interrupted
from rolecall_server.cli.screen import Screen, ask, print_json, say, say_prose, waiting, wide_screen
from rolecall_server.errors import FileRefused, NoModelConfigured, RequestRefused
from rolecall_server.model import Chosen
from rolecall_server.settings import Settings
from rolecall_server.store import Store
from rolecall_server.team.ablation.arms import CANNOT_DECIDE, Ablation, Arm, TaskResult, arms_of, carry_out
from rolecall_server.team.ablation.measures import ArmMeasure, Interval, measure
from rolecall_server.team.ablation.tasks import RepairTask, read_tasks
from rolecall_server.team.plan.estimates import estimate_run
from rolecall_server.team.roles.declarations import RunWay, our_roles, roster_of
from rolecall_server.team.run import find_model_for

_EXPLANATION = "  y  begin; Ctrl+C stops it, and the same command goes on\n  n  leave it"
_COLUMNS = ("arm", "tasks", "solved", "95 %", "tokens", "calls", "seconds", "won, lost", "95 %", "tokens to it", "says")


def run_bench(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall bench strategies`; the exit code."""
    stopped = f"Stopped. What was done is in {arguments.results}; the same command goes on."
    return exit_code_of(
        lambda: _Measurement(arguments, Screen(stderr=True)).run(), as_json=arguments.json, cancelled=stopped
    )


@dataclass(frozen=True)
class _TaskInArm:
    task: RepairTask
    arm: Arm


@dataclass(frozen=True)
class _Measurement:
    arguments: argparse.Namespace
    messages: Screen

    def run(self) -> int:
        """Carry out what the file of results does not hold yet, and print the table.

        Raises:
            RolecallError: a file cannot be read, a task cannot be laid out, or the model cannot be asked any more.
        """
        tasks = read_tasks(_read(self.arguments.tasks))
        arms = tuple(arms_of(self.arguments.strategy, self.arguments.settings, os.environ))
        done = {(one.task, one.arm) for one in self._results()}
        all_trials = (_TaskInArm(task, arm) for task in tasks for arm in arms if task.command in arm.commands)
        due = [one for one in all_trials if (one.task.id, one.arm.name) not in done]
        n_left_out = 0
        if due:
            self._confirm(tasks, arms, due)
            n_left_out = self._carry_out(due)
        self._print(self._results())
        return 1 if n_left_out else 0

    def _results(self) -> tuple[TaskResult, ...]:
        """Return the results of the strategy so far."""
        path: Path = self.arguments.results
        lines = _read(path).splitlines() if path.exists() else ()
        known = (_read_result(path, number, line) for number, line in enumerate(lines, 1) if line.strip())
        return tuple(one for one in known if one.strategy == self.arguments.strategy)

    def _confirm(self, tasks: Sequence[RepairTask], arms: Sequence[Arm], due: Sequence[_TaskInArm]) -> None:
        """Say what the measurement may take, and have it confirmed.

        Raises:
            RequestRefused: the developer does not want it, or nobody can be asked.
        """
        roster = roster_of(our_roles(), ["engineer"], RunWay.ENGINEER).values()
        estimates = [estimate_run(roster, one.task.brief, one.arm.settings) for one in due]
        n_tokens = sum(one.tokens_sent + one.tokens_received for one in estimates)
        ways = ", ".join(one.name for one in arms)
        n_tasks = f"{len(tasks)} task{'s' * (len(tasks) != 1)}"
        said = f"{n_tasks}, strategy {self.arguments.strategy} ({ways}): {len(due)} runs are left."
        say_prose(self.messages, f"{said} They may take about {n_tokens:,} tokens, more where attempts fail.")
        if self.arguments.yes:
            return
        if self.arguments.json or not sys.stdin.isatty():
            raise RequestRefused("Nobody can be asked whether it may begin.", "--yes says so.")
        if ask(self.messages, "Begin?", "yn", _EXPLANATION) != "y":
            raise RequestRefused("It was not begun.", "The same command asks again.")

    def _carry_out(self, due: Iterable[_TaskInArm]) -> int:
        """Carry *due* out, and write each result as it comes; return the number of tasks that nothing could decide."""
        left_out: set[str] = set()
        with waiting(self.messages, "beginning") as status:
            around = Ablation(
                self.arguments.strategy,
                self.arguments.repositories.resolve(),
                os.environ,
                _find_model,
                lambda text, fraction: None,
            )
            for number, one in enumerate(due, 1):
                # What nothing can decide in one arm, nothing can in another.
                if one.task.id in left_out:
                    continue
                status.tell(f"run {number}: {one.task.id}, {one.arm.name}")
                try:
                    result = _carry_out(one, around)
                except CANNOT_DECIDE as error:
                    left_out.add(one.task.id)
                    say_prose(self.messages, f"{one.task.id} is left out: {error.what}", "yellow")
                    continue
                _append(self.arguments.results, result)
                ended = "solved" if result.solved else f"not solved: {result.said}"
                say(self.messages, f"{result.task}, {result.arm}: {ended} ({result.tokens:,} tokens)")
        return len(left_out)

    def _print(self, results: Sequence[TaskResult]) -> None:
        measures = measure(results)
        if self.arguments.json:
            print_json({"results": [one.model_dump() for one in results], "arms": [_as_json(one) for one in measures]})
            return
        table = Table(*_COLUMNS, title=f"strategy {self.arguments.strategy}, {', '.join(_models(results))}")
        for one in measures:
            table.add_row(*_row(one))
        wide_screen().print(table)


def _carry_out(trial: _TaskInArm, around: Ablation) -> TaskResult:
    scratch = Path(tempfile.mkdtemp(prefix="rolecall-bench-"))
    try:
        return run_until_interrupted(carry_out(trial.task, trial.arm, around, scratch))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


async def _find_model(settings: Settings, store: Store) -> Chosen:
    found = await find_model_for(None, settings, os.environ, store=store)
    assert not isinstance(found, NoModelConfigured)  # that is for tests without a model
    return found


def _models(results: Iterable[TaskResult]) -> Iterator[str]:
    yield from dict.fromkeys(one.model for one in results)


def _row(one: ArmMeasure) -> tuple[str, ...]:
    is_first = not one.says
    beside = (
        ("", "", "", "")
        if is_first
        else (f"{one.n_won}, {one.n_lost}", _percent(one.difference), f"{one.token_ratio:.2f}", one.says)
    )
    taken = (f"{one.tokens:,.0f}", f"{one.calls:.1f}", f"{one.seconds:.0f}")
    return one.arm, str(one.n_tasks), str(one.n_solved), _percent(one.share), *taken, *beside


def _percent(interval: Interval) -> str:
    low, high = interval
    return f"{low:.0%} to {high:.0%}"


def _as_json(one: ArmMeasure) -> dict[str, Any]:
    return {
        "arm": one.arm,
        "tasks": one.n_tasks,
        "solved": one.n_solved,
        "share": list(one.share),
        "tokens": one.tokens,
        "calls": one.calls,
        "seconds": one.seconds,
        "won": one.n_won,
        "lost": one.n_lost,
        "difference": list(one.difference),
        "tokenRatio": one.token_ratio,
        "says": one.says,
    }


def _read(path: Path) -> str:
    """Return the text of a file.

    Raises:
        FileRefused: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise FileRefused(f"{path} cannot be read: {why}.", "Name a file of JSON lines.") from error


def _read_result(path: Path, number: int, line: str) -> TaskResult:
    """Return the result in a line.

    Raises:
        FileRefused: it holds none.
    """
    try:
        return TaskResult.model_validate_json(line)
    except ValidationError as error:
        raise FileRefused(f"Line {number} of {path} is no result.", "Take it out, or name another file.") from error


def _append(path: Path, result: TaskResult) -> None:
    """Add *result* to the file of results.

    Raises:
        FileRefused: it cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(f"{result.model_dump_json()}\n")
    except OSError as error:
        raise FileRefused(f"{path} cannot be written: {error.strerror}.", "Name another file.") from error
