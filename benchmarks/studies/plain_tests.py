"""Tests written without a model for modules of a repository with all it comes with: mutants killed, time, flakiness.

    python benchmarks/studies/plain_tests.py ENVIRONMENT ROOT MODULE... [--survivors] [--seconds S]

ENVIRONMENT is a virtual environment with pytest and what the repository needs. ROOT is a repository, of which every
module is tested in a copy, and each MODULE a file in it, as `src/semver/version.py`. Its own tests are there: what
they pass is used, and what they reach is tested all the same. A line for each module tells the mutants of Rolecall's
own that its tests notice, of all that there are (those for which there was no time count as not noticed), the seconds,
the tests, and how many of them did not pass in one of three runs, each in another order of the file, with other hashes
and in another time zone. *--survivors* tells which mutants were not noticed, and what was not tested.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from rolecall_analysis import Index
from rolecall_server.craft.characterization import HouseStyle, Study, write_test_file
from rolecall_server.errors import RolecallError
from rolecall_server.settings import read_settings
from rolecall_server.store import open_store
from rolecall_server.team.request import Desk, Repository, RoleName, RunRequest
from rolecall_server.team.roles.characterization import STUDY_S, PlainTests, write_plain_tests
from rolecall_server.team.run import open_bench
from rolecall_server.workspace import Workspace

RUNS = ((0, "UTC"), (4242, "Pacific/Kiritimati"), (77, "America/Los_Angeles"))
"""The seed of the hashes and of the order, and the time zone of each run."""
TESTS = "test_written_without_a_model.py"
_FAILING = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


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
    given = arguments.parse_args()
    environment = given.environment.absolute()
    for path in given.modules:
        with tempfile.TemporaryDirectory(prefix="rolecall-bench-") as scratch:
            copy = Path(scratch, given.root.name)
            shutil.copytree(given.root, copy, symlinks=True)
            outcome = asyncio.run(write_tests(copy, path, environment, given.seconds))
            print(f"{given.root.name} {path}: {told(copy, path, outcome, environment)}", flush=True)
            if given.survivors and outcome.written is not None:
                print_survivors(outcome.written.study)


async def write_tests(root: Path, path: str, environment: Path, seconds: float = STUDY_S) -> Outcome:
    """Return what is written without a model for *path*."""
    data = root.parent / "data"
    data.mkdir()
    environ = {**os.environ, "VIRTUAL_ENV": str(environment), "XDG_DATA_HOME": str(data)}
    settings, _ = read_settings({}, environ)
    store, index = open_store(data / "rolecall.sqlite"), Index(root)
    index.scan()
    repository = Repository(Workspace(root), index.snapshot(), store, settings, environ)
    started, worked = time.perf_counter(), processor_s()
    try:
        async with open_bench(repository, lambda message, fraction: None, for_model=False) as bench:
            desk = Desk(
                repository.workspace, repository.snapshot, settings, None, bench, lambda message, fraction: None
            )
            request = RunRequest(RoleName.QA_ENGINEER, path)
            written = await write_plain_tests(request, desk, "", anew=True, budget_s=seconds)
        return Outcome(time.perf_counter() - started, processor_s() - worked, written)
    except RolecallError as error:
        return Outcome(time.perf_counter() - started, processor_s() - worked, None, str(error))
    finally:
        index.close()
        store.close()


def processor_s() -> float:
    """Return the processor's time of this process and of those it waited for, in seconds."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def told(root: Path, path: str, outcome: Outcome, environment: Path) -> str:
    """Return the line about *outcome*."""
    if outcome.written is None:
        return f"nothing in {outcome.seconds:.0f} s: {outcome.said[:200]}"
    found = outcome.written.study
    module = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    n_tests, bad = unsteady(root, found, module, outcome.written.dropped, environment)
    n_all = found.n_mutants + found.n_untried
    return (
        f"{found.n_killed} of {n_all} mutants ({found.n_killed / max(1, n_all):.2f}; {found.n_untried} untried), "
        f"{outcome.seconds:.0f} s ({outcome.processor_s:.0f} s of a processor), "
        f"{n_tests} tests, {len(found.cases)} cases of {found.n_calls} calls, "
        f"{len(outcome.written.dropped)} taken out, not passing: {bad or 'none'}"
    )


def unsteady(
    root: Path, found: Study, module: str, without: tuple[str, ...], environment: Path
) -> tuple[int, list[str]]:
    """Return how many tests there are, and those that did not pass in one of the runs."""
    bad: set[str] = set()
    n_tests = 0
    for seed, zone in RUNS:
        text = write_test_file(found, module, HouseStyle(), without=without, shuffled=seed) or ""
        n_tests = len(re.findall(r"^def test_", text, re.MULTILINE))
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
            [*command, "--rootdir=.", "-rfE", TESTS],
            cwd=root, env=variables, capture_output=True, text=True, check=False,
        )  # fmt: skip
        bad |= set(_FAILING.findall(ended.stdout))
        if ended.returncode not in (0, 1):
            bad.add(f"exit code {ended.returncode}: {ended.stdout[-300:]}")
    return n_tests, sorted(bad)


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
