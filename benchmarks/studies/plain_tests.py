"""Tests written without a model for modules of a repository with all it comes with: mutants killed, time, flakiness.

    python benchmarks/studies/plain_tests.py ENVIRONMENT ROOT MODULE... [--survivors] [--seconds S] [--keep FOLDER]
    python benchmarks/studies/plain_tests.py ENVIRONMENT ROOT MODULE --judge FILE

ENVIRONMENT is a virtual environment with pytest and what the repository needs. ROOT is a repository, of which every
module is tested in a copy, and each MODULE a file in it, as `src/semver/version.py`. Its own tests are there: what
they pass is used, and what they reach is tested all the same. A line for each module tells the mutants of Rolecall's
own that its tests notice, of all that there are (those for which there was no time count as not noticed), the seconds,
the tests, and how many of them did not pass in one of three runs, each in another order of the file, with other hashes
and in another time zone. The count of the study is told as well: so many did its calls notice before they were written.
*--survivors* tells which mutants were not noticed by it, and what was not tested; *--keep* puts the test files there.
*--judge* writes no tests, and tells the same of those in FILE, which another tool wrote for MODULE.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import os
import random
import re
import resource
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rolecall_analysis import Index
from rolecall_server.craft.characterization import HouseStyle, Study, write_test_file
from rolecall_server.errors import RolecallError
from rolecall_server.python_trees import parse_python
from rolecall_server.sandbox import NotRun, even_choice, mutants_of, run_mutants
from rolecall_server.settings import read_settings
from rolecall_server.store import open_store
from rolecall_server.team.request import Desk, Repository, RoleName, RunRequest
from rolecall_server.team.roles.characterization import STUDY_S, PlainTests, write_plain_tests
from rolecall_server.team.run import open_bench
from rolecall_server.workspace import Workspace

RUNS = ((0, "UTC"), (4242, "Pacific/Kiritimati"), (77, "America/Los_Angeles"))
"""The seed of the hashes and of the order, and the time zone of each run."""
TESTS = "test_written_without_a_model.py"
MUTANTS = 700
"""Of more an even choice is tried, as in a study."""
JUDGING_S = 900.0
_FAILING = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_PASSING = re.compile(r"^PASSED (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """The tests of one module."""

    seconds: float
    processor_s: float
    written: PlainTests | None
    said: str = ""
    """The reason why there are none, if so."""


def main() -> None:
    """Measure, and print a line for each module as it is done."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("environment", type=Path)
    arguments.add_argument("root", type=Path)
    arguments.add_argument("modules", nargs="+")
    arguments.add_argument("--survivors", action="store_true")
    arguments.add_argument("--seconds", type=float, default=STUDY_S, help="for making calls; more on a busy machine")
    arguments.add_argument("--keep", type=Path)
    arguments.add_argument("--judge", type=Path)
    given = arguments.parse_args()
    environment = given.environment.absolute()
    for path in given.modules:
        with tempfile.TemporaryDirectory(prefix="rolecall-bench-") as scratch:
            copy = Path(scratch, given.root.name)
            shutil.copytree(given.root, copy, symlinks=True)
            if given.judge is not None:
                text = given.judge.read_text("utf-8")
                said = judged(copy, path, lambda seed, text=text: reordered(text, seed), environment)
                print(f"{given.root.name} {path}, {given.judge}: {said}", flush=True)
                continue
            outcome = asyncio.run(write_tests(copy, path, environment, given.seconds))
            print(f"{given.root.name} {path}: {told(copy, path, outcome, environment)}", flush=True)
            if given.keep is not None and outcome.written is not None:
                name = f"{given.root.name}-{path.replace('/', '-')}"
                (given.keep / name).write_text((copy / TESTS).read_text("utf-8"), "utf-8")
            if given.survivors and outcome.written is not None:
                print_survivors(outcome.written.study)


async def write_tests(root: Path, path: str, environment: Path, seconds: float = STUDY_S) -> Outcome:
    """Return what is written without a model for *path*."""
    started, worked = time.perf_counter(), processor_s()
    try:
        async with desk_of(root, environment) as desk:
            request = RunRequest(RoleName.QA_ENGINEER, path)
            written = await write_plain_tests(request, desk, "", anew=True, budget_s=seconds)
        return Outcome(time.perf_counter() - started, processor_s() - worked, written)
    except RolecallError as error:
        return Outcome(time.perf_counter() - started, processor_s() - worked, None, str(error))


def processor_s() -> float:
    """Return the processor's time of this process and of those it waited for, in seconds."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


@asynccontextmanager
async def desk_of(root: Path, environment: Path) -> AsyncGenerator[Desk]:
    """A desk in the repository *root*, as it is now, with what is kept of it beside it."""
    data = root.parent / "data"
    data.mkdir(exist_ok=True)
    environ = {**os.environ, "VIRTUAL_ENV": str(environment), "XDG_DATA_HOME": str(data)}
    settings, _ = read_settings({}, environ)
    store, index = open_store(data / "rolecall.sqlite"), Index(root)
    index.scan()
    repository = Repository(Workspace(root), index.snapshot(), store, settings, environ)
    try:
        async with open_bench(repository, lambda message, fraction: None, for_model=False) as bench:
            yield Desk(repository.workspace, repository.snapshot, settings, None, bench, lambda message, fraction: None)
    finally:
        index.close()
        store.close()


def told(root: Path, path: str, outcome: Outcome, environment: Path) -> str:
    """Return the line about *outcome*."""
    took = f"{outcome.seconds:.0f} s ({outcome.processor_s:.0f} s of a processor)"
    if outcome.written is None:
        return f"nothing in {took}: {outcome.said[:200]}"
    found, dropped = outcome.written.study, outcome.written.dropped
    module = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def text(seed: int) -> str:
        return write_test_file(found, module, HouseStyle(), without=dropped, order=seed) or ""

    return (
        f"{judged(root, path, text, environment)}, {took}; "
        f"in the study {found.n_killed} of {found.n_mutants + found.n_untried} mutants, {found.n_untried} untried, "
        f"{len(found.cases)} cases of {found.n_calls} calls, {len(dropped)} taken out"
    )


def judged(root: Path, path: str, text: Callable[[int], str], environment: Path) -> str:
    """Return what the tests of a file are worth; *text* is the file, with its tests in an order of that number."""
    passing, bad = steady(root, text, environment)
    n_all = len(even_choice(mutants_of((root / path).read_text("utf-8")), MUTANTS))
    share = asyncio.run(noticed(root, path, passing, environment)) if passing else 0
    if isinstance(share, NotRun):
        return f"not measured: {share.reason[:200]}"
    return (
        f"{share} of {n_all} mutants ({share / max(1, n_all):.2f}), {len(passing)} tests that pass, "
        f"not passing: {bad or 'none'}"
    )


async def noticed(root: Path, path: str, tests: list[str], environment: Path) -> int | NotRun:
    """Return how many mutants of *path* those *tests* notice."""
    text = (root / path).read_text("utf-8")
    every = mutants_of(text)
    async with desk_of(root, environment) as desk:
        shadow, interpreter = desk.bench.shadow, desk.bench.interpreter
        if isinstance(shadow, NotRun) or isinstance(interpreter, NotRun):
            return shadow if isinstance(shadow, NotRun) else NotRun("There is no interpreter.")
        lines = range(1, text.count("\n") + 2)
        run = await run_mutants(
            shadow, interpreter, path, lines, tests, timeout_s=JUDGING_S, at_most=max(1, len(every))
        )
    if isinstance(run, NotRun):
        return run
    wanted = frozenset(even_choice(every, MUTANTS))
    if untried := len(wanted.intersection(run.untried)):
        return NotRun(f"there was no time for {untried}")
    return len(wanted.intersection(run.killed))


def steady(root: Path, text: Callable[[int], str], environment: Path) -> tuple[list[str], list[str]]:
    """Return the tests that pass in each of the runs, and those that do not; the file of the first is left in place."""
    ended = [run_once(root, text(seed), seed, zone, environment) for seed, zone in reversed(RUNS)]
    passing = set.intersection(*(passed for passed, _ in ended))
    bad = set[str]().union(*(passed | failed for passed, failed in ended)) - passing
    return sorted(passing), sorted(bad)


def run_once(root: Path, text: str, seed: int, zone: str, environment: Path) -> tuple[set[str], set[str]]:
    """Return the tests of *text* that pass and those that do not, with the hashes of *seed* and in *zone*."""
    (root / TESTS).write_text(text, "utf-8")
    roots = [root / "src", root] if (root / "src").is_dir() else [root]
    variables = {
        "PATH": os.environ["PATH"],
        "TZ": zone,
        "PYTHONHASHSEED": str(seed),
        "HOME": str(root),
        "PYTHONPATH": os.pathsep.join(map(str, roots)),
    }
    command = [environment / "bin" / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
    ended = subprocess.run(
        [*command, "--rootdir=.", "-rpfE", TESTS],
        cwd=root, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    failed = set(_FAILING.findall(ended.stdout))
    if ended.returncode not in (0, 1):
        failed.add(f"exit code {ended.returncode}: {ended.stdout[-300:]}")
    return set(_PASSING.findall(ended.stdout)), failed


def reordered(text: str, seed: int) -> str:
    """Return *text* with its tests in an order of that number; as it is for 0."""
    lines = text.splitlines(keepends=True)
    tests = [
        node for node in parse_python(text).body if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    ]
    spans = [(min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1, node.end_lineno) for node in tests]
    if not seed or not spans:
        return text
    pieces = ["".join(lines[start:end]) for start, end in spans]
    random.Random(seed).shuffle(pieces)
    return "\n".join(["".join(lines[: spans[0][0]]), *pieces])


def print_survivors(found: Study) -> None:
    """Print what was not tested and why, and the lines whose mutants were not noticed, most first."""
    for name, reason in found.left_out.items():
        print(f"    left out: {name}: {reason}")
    targets = sorted(found.targets, key=lambda one: len(one.lines))
    places: Counter[str] = Counter()
    for mutant in found.survivors:
        name = next((one.qualified_name for one in targets if mutant.line in one.lines), "(no target)")
        places[name] += 1
    reached = {line for seen in found.cases.values() for line in seen.lines}
    n_unreached = sum(mutant.line not in reached and mutant.statement not in reached for mutant in found.survivors)
    print(f"    survivors: {len(found.survivors)}, of them on lines that no case runs: {n_unreached}")
    for name, count in places.most_common(25):
        print(f"    {count:4} {name}")


if __name__ == "__main__":
    main()
