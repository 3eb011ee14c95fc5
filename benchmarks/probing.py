"""Tests written without a model: how long it takes, what they reach, which mutants they kill, whether any is flaky.

    python benchmarks/probing.py ENVIRONMENT [--no-mutants] [--pynguin ENVIRONMENT]

ENVIRONMENT is a virtual environment with what `benchmarks/probing.txt` names; `make bench` makes it. Each module is
copied out of it without its tests, so that all that is measured was written here. The anchors are Pynguin, given its
120 seconds, and inflection's own tests, which kill 92 % of cosmic-ray's mutants. Pynguin needs Python 3.10; where
its environment is not given, its time is taken for 120 seconds, and only our own lines are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

PYNGUIN_S = 120
N_RUNS = 20
COSMIC_RAY = """\
[cosmic-ray]
module-path = "{module}"
timeout = 10.0
excluded-modules = []
test-command = "{python} -m pytest -x -q -p no:cacheprovider -p no:randomly {tests}"
[cosmic-ray.distributor]
name = "local"
"""


@dataclass(frozen=True)
class Module:
    """A module of a library."""

    library: str
    path: str
    mutants: bool = False
    """True where cosmic-ray is run on it, which takes minutes."""

    @property
    def name(self) -> str:
        """By which it is imported."""
        return self.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


MODULES = (
    Module("inflection", "inflection/__init__.py", mutants=True),
    Module("semver", "semver/version.py"),
    Module("humanize", "humanize/number.py"),
)


@dataclass(frozen=True)
class Bench:
    """A copy of a library in which tests were written."""

    root: Path
    python: Path
    module: str
    tests: str

    def pytest(self, *arguments: str, seed: int = 0, prefix: tuple[str, ...] = ()) -> bool:
        """Return whether the written tests pass, in the order that *seed* gives."""
        command = [self.python, *prefix, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        return run([*command, f"--randomly-seed={seed}", self.tests], self.root, self.environment(seed)) == 0

    def environment(self, seed: int = 0) -> dict[str, str]:
        """Return the environment variables of the tests."""
        return {"PATH": os.environ["PATH"], "PYTHONPATH": str(self.root), "PYTHONHASHSEED": str(seed)}


def run(command: Sequence[str | Path], root: Path, environment: Mapping[str, str] | None = None) -> int:
    """The exit code of *command*, of which nothing is shown."""
    ended = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False)
    return ended.returncode


def main() -> None:
    """Measure, and print a line for each module."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("environment", type=Path)
    arguments.add_argument("--no-mutants", action="store_true", help="leave cosmic-ray out, which takes minutes")
    arguments.add_argument("--pynguin", type=Path, help="a Python 3.10 environment with Pynguin and the libraries")
    given = arguments.parse_args()
    titles = (
        "module",
        "tests",
        "s",
        "x of Pynguin's time",
        "lines",
        "branches",
        f"flaky of {N_RUNS} runs",
        "mutants killed",
    )
    table = Table(*titles)
    with tempfile.TemporaryDirectory() as scratch:
        for module in MODULES:
            bench = _bench(module, given.environment.absolute(), Path(scratch))
            anchor_s = float(PYNGUIN_S)
            if given.pynguin:
                anchor_s = _add_anchor(table, module, bench, given.pynguin.absolute(), mutants=not given.no_mutants)
            started = time.perf_counter()
            n_passed, tests = _write_tests(bench.root, module.path, given.environment.absolute(), Path(scratch))
            duration_s = time.perf_counter() - started
            times = (str(n_passed), f"{duration_s:.1f}", f"{duration_s / anchor_s:.2f}")
            ours = _measured(module, replace(bench, tests=tests), mutants=not given.no_mutants)
            table.add_row(module.path, *times, *ours)
    Console().print(table)


def _bench(module: Module, environment: Path, scratch: Path) -> Bench:
    root = scratch / module.library
    packages = next(environment.glob("lib/python*/site-packages"))
    shutil.copytree(packages / module.library, root / module.library, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "pyproject.toml").write_text(f'[project]\nname = "{module.library}"\n')
    return Bench(root, environment / "bin" / "python", module.path, "")


def _measured(module: Module, bench: Bench, *, mutants: bool) -> list[str]:
    """Lines and branches reached, runs that failed, mutants killed."""
    n_bad = sum(not bench.pytest(seed=seed) for seed in range(1, N_RUNS + 1))
    killed = _killed(bench) if mutants and module.mutants else "not measured"
    return [*_reached(bench), str(n_bad), killed]


def _add_anchor(table: Table, module: Module, bench: Bench, environment: Path, *, mutants: bool) -> float:
    """Return the seconds that Pynguin takes; what it wrote becomes a row, and is taken away."""
    out = bench.root / "pynguin_tests"
    out.mkdir()
    command = (environment / "bin" / "pynguin", "--project-path", bench.root, "--module-name", module.name)
    options = ("--output-path", out, "--maximum-search-time", str(PYNGUIN_S))
    variables = {"PATH": os.environ["PATH"], "PYNGUIN_DANGER_AWARE": "yes", "HOME": str(bench.root)}
    started = time.perf_counter()
    code = run([*command, *options], bench.root, variables)
    duration_s = time.perf_counter() - started
    written = sorted(out.glob("test_*.py"))
    row = ["-", "-", "-", f"nothing: exit code {code}"]
    n_tests = "0"
    if written:
        n_tests = str(sum(path.read_text().count("def test_") for path in written))
        row = _measured(module, replace(bench, tests=str(out.relative_to(bench.root))), mutants=mutants)
    table.add_row(f"Pynguin: {module.path}", n_tests, f"{duration_s:.1f}", "1.00", *row)
    shutil.rmtree(out)
    return duration_s


def _write_tests(root: Path, path: str, environment: Path, scratch: Path) -> tuple[int, str]:
    """Return how many tests pass that Rolecall wrote without a model, and where they are."""
    command = [sys.executable, "-I", "-m", "rolecall_server", "tests", path, "--yes", "--json"]
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(scratch),
        "XDG_DATA_HOME": str(scratch / "data"),
        "VIRTUAL_ENV": str(environment),
    }
    ended = subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True, check=True)
    said = json.loads(ended.stdout)
    return said["proposal"]["evidence"]["after"]["passed"], said["written"][0]


def _reached(bench: Bench) -> tuple[str, str]:
    prefix = ("-m", "coverage", "run", "--branch", f"--include={bench.module}")
    bench.pytest(prefix=prefix)
    told = bench.root / "coverage.json"
    run([bench.python, "-m", "coverage", "json", "-o", told], bench.root)
    totals = json.loads(told.read_text())["totals"]
    lines = f"{totals['covered_lines']} of {totals['num_statements']}"
    return lines, f"{totals['covered_branches']} of {totals['num_branches']}"


def _killed(bench: Bench) -> str:
    """Return what cosmic-ray says of the tests."""
    settings = COSMIC_RAY.format(module=bench.module, python=bench.python, tests=bench.tests)
    (bench.root / "cosmic-ray.toml").write_text(settings)
    program = bench.python.with_name("cosmic-ray")
    for command in ("init", "exec"):
        run([program, command, "cosmic-ray.toml", "session.sqlite"], bench.root, bench.environment())
    dump = subprocess.run(
        [program, "dump", "session.sqlite"], cwd=bench.root, capture_output=True, text=True, check=True
    )
    results = [json.loads(line)[1] for line in dump.stdout.splitlines()]
    outcomes = [result["test_outcome"] for result in results if result]
    n_killed = sum(outcome != "survived" for outcome in outcomes)
    return f"{n_killed} of {len(outcomes)} ({n_killed / len(outcomes):.1%})" if outcomes else "none"


if __name__ == "__main__":
    main()
