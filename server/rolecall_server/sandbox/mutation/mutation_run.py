"""The mutants of a file that its tests notice, and those that they do not."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import cpu_count

from rolecall_server.sandbox.event_lines import GARBLED, read_record
from rolecall_server.sandbox.mutation.mutants import Mutant, even_choice, mutants_of
from rolecall_server.sandbox.python.interpreter import Capabilities, Interpreter, probe
from rolecall_server.sandbox.python.pytest_command import mutation_command, request_report
from rolecall_server.sandbox.python.pytest_run import run_tests
from rolecall_server.sandbox.results import FileCoverage, NotRun, TestRun
from rolecall_server.sandbox.run_folder import RunFolder, run_folder, run_in_shadow
from rolecall_server.sandbox.shadow.shadow import Shadow
from rolecall_server.sandbox.walls.process import ProcessEnd

_PASSED, _FAILED = 0, 1
_BEFORE, _AFTER = -1, -2
"""The numbers of the trials of the text as it was."""
_SLOWER_TIMES = 5
_LEAST_TIMEOUT_S = 3.0
_MOST_DRIVERS = 2
_LEAST_TO_SHARE = 8
"""Fewer mutants are tried one after the other: each driver runs the tests twice as they are."""
_ASIDE = ("-q", "-p", "no:cacheprovider", "--color=no", "--tb=no")


@dataclass(frozen=True)
class MutationRun:
    """The results for the mutants of a file."""

    killed: tuple[Mutant, ...]
    """A test failed, the file could not be imported any more, or it took far too long."""
    survived: tuple[Mutant, ...]
    """All tests that reach the line passed."""
    unreached: tuple[Mutant, ...]
    """No test reaches the line."""
    untried: tuple[Mutant, ...]
    """The time was over, or there were more than wanted."""
    duration_s: float
    killers: tuple[frozenset[str], ...] = ()
    """For each of `killed` the tests that failed, where that was asked for; all that reach its line where the run of
    the tests did not come to its end."""
    coverage: FileCoverage | None = None
    """The lines that the first run of the tests reached, test by test."""

    @property
    def score(self) -> float:
        """The part that was killed of those that were tried or that no test reaches, from 0 to 1; 1 for none."""
        total = len(self.killed) + len(self.survived) + len(self.unreached)
        return len(self.killed) / total if total else 1.0


async def run_mutants(
    shadow: Shadow,
    interpreter: Interpreter,
    path: str,
    lines: Collection[int],
    tests: Sequence[str] = (),
    *,
    timeout_s: float,
    at_most: int = 200,
    by_test: bool = False,
) -> MutationRun | NotRun:
    """Try the tests *tests* on the mutants on *lines* of the file *path*, as *shadow* has it, and return which they
    kill.

    The tests run once as they are, and those that pass then are tried on each mutant whose line they reach; all of
    it takes at most *timeout_s* after that first run. Of more than *at_most* mutants, an even choice is tried.
    *by_test* asks for every test that notices a mutant, not only whether one does, which takes longer.
    `NotRun` where that first run shows nothing to go by.
    """
    before = await run_tests(shadow, interpreter, tests, [path], timeout_s=timeout_s, by_test=True)
    if before.status != "ran" or path not in before.coverage:
        return NotRun(before.reason or f"Coverage of {path} was not measured: {before.coverage_reason}.")
    passed = frozenset(outcome.test_id for outcome in before.passed)
    reached = {line: tests & passed for line, tests in before.coverage[path].tests_by_line.items()}
    text = shadow.on_disk(path).read_text("utf-8")
    every = mutants_of(text, lines)
    # What runs at import shows in any test, not only in the one during which the file was imported.
    by_mutant = {mutant: passed if mutant.at_import else _tests_on(mutant, reached) for mutant in every}
    unreached = tuple(mutant for mutant in every if not by_mutant[mutant])
    wanted = even_choice([mutant for mutant in every if by_mutant[mutant]], at_most)
    if not wanted:
        return MutationRun((), (), unreached, (), 0.0, (), before.coverage[path])
    plan = _Plan(path, text, every, wanted, unreached, by_mutant, before, by_test)
    return await _try(shadow, interpreter, plan, timeout_s)


def _tests_on(mutant: Mutant, reached: Mapping[int, frozenset[str]]) -> frozenset[str]:
    return reached.get(mutant.line) or reached.get(mutant.statement, frozenset())


@dataclass(frozen=True)
class _Plan:
    path: str
    text: str
    every: tuple[Mutant, ...]
    wanted: tuple[Mutant, ...]
    unreached: tuple[Mutant, ...]
    reached: Mapping[Mutant, Collection[str]]
    before: TestRun
    by_test: bool

    def request(self, timeout_s: float, share: int, n_shares: int) -> dict[str, object]:
        """Return what one of *n_shares* drivers is asked to do, in *timeout_s* for all of it."""
        every_test = sorted({test for mutant in self.wanted for test in self.reached[mutant]})
        as_it_was = {"span": [0, 0], "became": "", "tests": every_test}
        trials = [
            {
                "number": number,
                "span": [mutant.start, mutant.end],
                "became": mutant.became,
                "tests": sorted(self.reached[mutant]),
            }
            for number, mutant in enumerate(self.wanted)
        ]
        # In any order but the file's: where the time is short, all of the file is looked at.
        random.Random(0).shuffle(trials)  # noqa: S311
        trials = trials[share::n_shares]
        return {
            "path": self.path,
            "text": self.text,
            "trials": [{"number": _BEFORE, **as_it_was}, *trials, {"number": _AFTER, **as_it_was}],
            "first_timeout_s": timeout_s,
            "least_timeout_s": _LEAST_TIMEOUT_S,
            "slower_times": _SLOWER_TIMES,
        }


async def _try(shadow: Shadow, interpreter: Interpreter, plan: _Plan, timeout_s: float) -> MutationRun | NotRun:
    capabilities = await probe(shadow, interpreter)
    if isinstance(capabilities, NotRun):
        return capabilities
    n_shares = _drivers_for(shadow, plan)
    shares = (
        _run_driver(shadow, capabilities, plan, share=(share, n_shares), timeout_s=timeout_s)
        for share in range(n_shares)
    )
    try:
        runs = await asyncio.gather(*shares)
    except OSError as error:
        return NotRun(f"The mutants could not be tried: {error.strerror}.")
    codes = {run.ends[number].code for run in runs for number in (_BEFORE, _AFTER) if number in run.ends}
    if not any(_BEFORE in run.ends for run in runs):
        return NotRun(_why_nothing(runs[0].process))
    if codes == {_PASSED}:
        ends = {number: end for run in runs for number, end in run.ends.items()}
        return _sort(plan, ends, max(run.process.duration_s for run in runs))
    return NotRun("The tests that passed by themselves do not pass when they are run again and again.")


def _drivers_for(shadow: Shadow, plan: _Plan) -> int:
    """Return how many drivers try the mutants at the same time: one where two would write into the same copy."""
    if shadow.changes is None or len(plan.wanted) < _LEAST_TO_SHARE:
        return 1
    return min(_MOST_DRIVERS, cpu_count() or 1)


async def _run_driver(
    shadow: Shadow,
    capabilities: Capabilities,
    plan: _Plan,
    *,
    share: tuple[int, int],
    timeout_s: float,
) -> _DriverRun:
    """Run the trials of one *share*, which is a number and how many there are."""
    async with run_folder(shadow) as folder:
        stop = () if plan.by_test else ("--maxfail=1",)
        places = [f"--rootdir={shadow.root}", f"--basetemp={folder.temporary / 'pytest'}"]
        arguments = [*_ASIDE, *stop, *places, *plan.before.options]
        request_report(
            shadow, folder, capabilities, [], more={"arguments": arguments, **plan.request(timeout_s, *share)}
        )
        command = mutation_command(shadow, capabilities, folder)
        readable = capabilities.places.shown
        shadow.hand_over(plan.path)
        try:
            end = await run_in_shadow(shadow, folder, command, readable, timeout_s=timeout_s)
        finally:
            _put_back(shadow, plan)
        return _DriverRun(end, await asyncio.to_thread(_read_ends, folder))


def _why_nothing(end: ProcessEnd) -> str:
    if end.timed_out:
        return "The time was over before the tests had run once more."
    said = (end.output.strip().splitlines() or ["it printed nothing"])[-1].strip()
    return f"What tries the mutants broke off at its start (exit code {end.exit_code}): {said}"


def _put_back(shadow: Shadow, plan: _Plan) -> None:
    """Restore the file's text if the shadow is a copy: a driver that was killed has left a mutant in it."""
    location = shadow.root / plan.path
    # A test may have left a link there, through which this would write to another file.
    if shadow.changes is None and location.is_file() and location == location.resolve():
        location.write_bytes(plan.text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class _End:
    """The end of a trial."""

    code: int | None
    failed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _DriverRun:
    """A process that tried mutants, and the end of each trial, by its number."""

    process: ProcessEnd
    ends: Mapping[int, _End]


def _read_ends(folder: RunFolder) -> dict[int, _End]:
    """Return the end of each trial, by its number; those that did not end are absent."""
    ends: dict[int, _End] = {}
    for line in folder.report.read_bytes().splitlines():
        with suppress(*GARBLED):
            record = read_record(line) or {}
            if record.get("kind") == "trial":
                code = None if record["code"] is None else int(record["code"])
                ends[int(record["number"])] = _End(code, frozenset(map(str, record["failed"])))
    return ends


def _sort(plan: _Plan, ends: Mapping[int, _End], duration_s: float) -> MutationRun:
    tried = [(mutant, ends[number]) for number, mutant in enumerate(plan.wanted) if number in ends]
    known = {id(mutant) for mutant, _ in tried} | {id(mutant) for mutant in plan.unreached}
    killed = [(mutant, end) for mutant, end in tried if end.code != _PASSED]
    return MutationRun(
        killed=tuple(mutant for mutant, _ in killed),
        survived=tuple(mutant for mutant, end in tried if end.code == _PASSED),
        unreached=plan.unreached,
        untried=tuple(mutant for mutant in plan.every if id(mutant) not in known),
        duration_s=duration_s,
        killers=tuple(_killers(plan, mutant, end) for mutant, end in killed) if plan.by_test else (),
        coverage=plan.before.coverage[plan.path],
    )


def _killers(plan: _Plan, mutant: Mutant, end: _End) -> frozenset[str]:
    reached = frozenset(plan.reached[mutant])
    return end.failed & reached if end.code == _FAILED and end.failed & reached else reached
