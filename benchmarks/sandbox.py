"""Measure confinement and shadows, each as a ratio to an anchor measured in the same run.

Anchor and engine take turns in random order, and the median of the rounds' ratios is printed: the machine may be
busy, the ratio hardly cares. The first argument is the root of a large repository, Django's for `make bench`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import distribution
from pathlib import Path

from rich.console import Console
from rich.table import Table

from rolecall_server.sandbox import Interpreter, Shadow, choose_confinement, run_tests, shadow_workspace
from rolecall_server.sandbox.run_folder import clean_environment, run_folder, run_in_shadow
from rolecall_server.sandbox.walls.confinement import Command, Confinement, Unconfined
from rolecall_server.workspace import Workspace

ROUNDS = 25
ROUNDS_OF_COPIES = 3
PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "pygments", "coverage")
SMALL = {
    "price.py": "def discount(total):\n    return total * 0.9 if total > 100 else total\n",
    "test_price.py": "import price\ndef test_small(): assert price.discount(50) == 50\n"
    "def test_large(): assert price.discount(200) == 180\n",
}

Work = Callable[[], Awaitable[object]]


async def main(large: Path) -> None:
    """Measure, with *large* as the large repository, and print a table."""
    table = Table("measure", "anchor", "anchor ms", "ratio", "CPU ratio", "target")
    with tempfile.TemporaryDirectory(prefix="rolecall-bench-") as scratch:
        for measure, anchor, target, run_anchor, run_ours in await _measures(Path(scratch), large):
            rounds = ROUNDS_OF_COPIES if measure.startswith("copy") else ROUNDS
            base_ms, ratio, cpu_ratio = await _compare(run_anchor, run_ours, rounds)
            table.add_row(measure, anchor, f"{base_ms:.1f}", f"{ratio:.3f}", f"{cpu_ratio:.3f}", target)
    Console().print(table)


async def _compare(run_anchor: Work, run_ours: Work, rounds: int) -> tuple[float, float, float]:
    """The anchor's median time in ms, and the medians of the ratios of the times and of the processors' times."""
    base_s: list[float] = []
    ratios: list[tuple[float, float]] = []
    for _ in range(rounds):
        taken: dict[Work, tuple[float, float]] = {}
        for work in random.sample([run_anchor, run_ours], 2):
            start, start_cpu = time.perf_counter(), _cpu_s()
            await work()
            taken[work] = time.perf_counter() - start, _cpu_s() - start_cpu
        (base, base_cpu), (ours, ours_cpu) = taken[run_anchor], taken[run_ours]
        base_s.append(base)
        ratios.append((ours / base, ours_cpu / base_cpu))
    wall, cpu = (statistics.median(each) for each in zip(*ratios, strict=True))
    return 1000 * statistics.median(base_s), wall, cpu


def _cpu_s() -> float:
    """The processor time of this process and of all it has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime + time.process_time()


async def _measures(scratch: Path, large: Path) -> list[tuple[str, str, str, Work, Work]]:
    small = scratch / "small"
    small.mkdir()
    for name, text in SMALL.items():
        (small / name).write_text(text)
    python = _make_environment(scratch / "environment")
    walls = await choose_confinement("required", small)
    if not isinstance(walls, Confinement):
        raise SystemExit(f"nothing to measure: {walls}")
    count = sum(len(names) for _, _, names in os.walk(large))
    plain = [str(python.path), "-m", "pytest"]
    measured = [
        str(python.path),
        "-m",
        "coverage",
        "run",
        "--branch",
        "--data-file",
        str(scratch / "coverage"),
        *plain[1:],
    ]
    shadow_of_large = f"overlay of {count:,} files, a command in it"
    return [
        ("a small pytest run", "plain subprocess", "1.15", _process(plain, small), _tests(small, walls, python, [])),
        ("the same, no walls", "plain subprocess", "", _process(plain, small), _tests(small, Unconfined(), python, [])),
        ("with coverage", "coverage run", "", _process(measured, small), _tests(small, walls, python, ["price.py"])),
        (shadow_of_large, "hard links", "0.1", _hard_links(large, scratch), _true(large, walls)),
        (f"copy of {count:,} files", "hard links", "", _hard_links(large, scratch), _true(large, Unconfined())),
        (
            f"copy of {count:,} files that is kept",
            "hard links",
            "",
            _hard_links(large, scratch),
            _true(large, Unconfined(), scratch / "copies"),
        ),
    ]


def _make_environment(folder: Path) -> Interpreter:
    """A Python with pytest and coverage and no other plugins."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for installed in map(distribution, PYTEST):
        for top in {file.parts[0] for file in installed.files or ()} - {"..", "__pycache__"}:
            if not top.endswith(".pth"):
                source = Path(str(installed.locate_file(top)))
                (shutil.copytree if source.is_dir() else shutil.copy)(source, site / top)
    subprocess.run([sys.executable, "-m", "compileall", "-q", site], check=True)
    return Interpreter(folder / "bin" / "python", "benchmark")


def _process(command: Sequence[str], folder: Path) -> Work:
    async def run() -> None:
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder.parent)}
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        await process.communicate()
        assert process.returncode == 0

    return run


def _tests(folder: Path, confinement: Confinement, python: Interpreter, measure: Sequence[str]) -> Work:
    async def run() -> None:
        async with shadow_workspace(Workspace(folder), confinement) as shadow:
            assert isinstance(shadow, Shadow)
            found = await run_tests(shadow, python, (), measure, timeout_s=60)
            assert len(found.passed) == 2, found

    return run


def _hard_links(folder: Path, scratch: Path) -> Work:
    target = scratch / "links"

    def link() -> None:
        subprocess.run(["cp", "-al", str(folder), str(target)], check=True)
        subprocess.run(["rm", "-rf", str(target)], check=True)

    return lambda: asyncio.to_thread(link)


def _true(folder: Path, confinement: Confinement, copies: Path | None = None) -> Work:
    async def run() -> None:
        async with shadow_workspace(Workspace(folder), confinement, copies=copies) as shadow:
            assert isinstance(shadow, Shadow)
            async with run_folder(shadow) as own:
                command = Command(("/usr/bin/true",), clean_environment(own, []))
                end = await run_in_shadow(shadow, own, command, [], timeout_s=60)
                assert end.exit_code == 0, end

    return run


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path, help="a large repository, for the cost of a shadow")
    asyncio.run(main(parser.parse_args().repository.resolve()))
