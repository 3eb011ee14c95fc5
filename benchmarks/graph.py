"""Measure the graph of a folder, made and kept current, as ratios to what cannot be avoided.

    python benchmarks/graph.py [FOLDER] [--rounds N] [--files N]

FOLDER is Django where nothing is named, as `make bench` laid it out. Anchor and engine take turns in one process; each
line is the median of the rounds' ratios, of CPU time unless it says wall.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import tree_sitter_python
from tree_sitter import Language, Parser

from rolecall_analysis import Index, Workers, callers
from rolecall_analysis.indexing.file_reading import SETTLED_NS

PARSER = Parser(Language(tree_sitter_python.language()))
N_EDITS = 60
N_COMMITS = 60
EDITED_LINES = 3_000
IDLE_S = 5.0
TICK_S = 0.005
SWITCH_S = 0.001
"""As the server has it."""
SOME_BYTES = 1_000
"""The least size of a file that is changed: few commits change smaller ones; a third of Django's are all but empty."""

UNCONCERNED = f"""
import asyncio, statistics, sys, time
late_ms = []
async def tick():
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    while not ended.done():
        start_s = time.perf_counter()
        await asyncio.sleep({TICK_S})
        late_ms.append((time.perf_counter() - start_s - {TICK_S}) * 1e3)
asyncio.run(tick())
print(f"p95 {{statistics.quantiles(late_ms, n=20)[18]:.1f}} ms, at most {{max(late_ms):.1f}} ms late")
"""
"""A program that prints the delays that a busy machine causes by itself."""

MEMORY = """
import sys
from pathlib import Path
from rolecall_analysis import Index
def status_mb(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(name))
before = status_mb("VmRSS")
index = Index(Path(sys.argv[1]), saved_in=Path(sys.argv[2]))
index.scan()
print(status_mb("VmRSS") - before, status_mb("VmHWM"))
"""


def main() -> None:
    """Measure, and print a line for each measure."""
    arguments = argparse.ArgumentParser(description=__doc__)
    bench = Path(os.environ.get("ROLECALL_BENCH", "."))
    arguments.add_argument("folder", type=Path, nargs="?", default=bench / "libraries" / "django-5.2.19")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--files", type=int, default=100_000, help="of the generated workspace; 0 leaves it out")
    arguments.add_argument("--repository", type=Path, help="a git directory, some commits of which are played again")
    given = arguments.parse_args()
    sys.setswitchinterval(SWITCH_S)
    with tempfile.TemporaryDirectory(prefix="rolecall-bench-") as scratch:
        root = copy_python(given.folder, Path(scratch) / "root")
        time.sleep(SETTLED_NS / 1e9)
        gc.freeze()
        measure_scans(root, Path(scratch) / "saved", given.rounds)
        measure_edits(root)
        measure_refreshes(root)
        if given.repository:
            measure_commits(Path(scratch) / "commits", given.repository)
        if sys.platform == "linux":
            measure_memory(root, Path(scratch) / "memory.sqlite3")
        if given.files:
            measure_many_files(Path(scratch) / "many", given.files, root)


def measure_scans(root: Path, saved: Path, rounds: int) -> None:
    """The first graph of a folder by one process and by two, and the graph of a later session."""
    contents = [path.read_bytes() for path in sorted(root.rglob("*.py"))]
    ratios: dict[str, list[float]] = {}

    def note(measure: str, time_s: float, anchor_s: float) -> None:
        ratios.setdefault(measure, []).append(time_s / anchor_s)

    for number in range(rounds):
        anchor = timed(lambda: [PARSER.parse(content) for content in contents])
        store = saved / f"{number}.sqlite3"
        with indexed(root, store) as index:
            note("cold graph, linked and saved, one process", timed(index.scan)[0], anchor[0])
        with indexed(root, store) as index:
            note("warm start", timed(index.scan)[0], anchor[0])
        workers = Workers(2)
        with indexed(root, saved / f"{number}-two.sqlite3", workers) as index:
            note("cold graph, linked and saved, two processes, wall", timed(index.scan)[1], anchor[1])
        workers.close()
    for measure, found in ratios.items():
        print(f"{measure}: {statistics.median(found):.2f} x a bare parse of its files", flush=True)


def measure_edits(root: Path) -> None:
    """Keystrokes in an open file of about 3,000 lines, to a snapshot that can be asked."""
    by_length = sorted(root.rglob("*.py"), key=lambda path: abs(path.read_bytes().count(b"\n") - EDITED_LINES))
    path, text = by_length[0].relative_to(root).as_posix(), by_length[0].read_bytes().decode()
    index = Index(root)
    index.scan()
    index.open_document(path, text)
    chance = random.Random(0)
    ratios: list[float] = []
    for _ in range(N_EDITS):
        at = text.index("\n", chance.randrange(len(text) - 1000))
        text = f"{text[:at]}\nx = {chance.randrange(1000)}{text[at:]}"
        source, change = text.encode(), text
        ratios.append(
            beside(lambda source=source: PARSER.parse(source), lambda change=change: index.edit_document(path, change))
        )
    report(f"edit of an open file of {text.count(chr(10)):,} lines", ratios, "a bare parse of it")


def measure_refreshes(root: Path) -> None:
    """Groups of neighbouring files, as many as commits have, changed on disk and looked at again."""
    index = Index(root)
    index.scan()
    chance = random.Random(0)
    paths = sorted(path for path in index.snapshot().files if (root / path).stat().st_size > SOME_BYTES)
    ratios: list[float] = []
    for number in range(N_COMMITS):
        start, n_files = chance.randrange(len(paths) - 8), chance.choice([1, 1, 2, 2, 3, 4, 6, 8])
        changed = paths[start : start + n_files]
        for path in changed:
            content = (root / path).read_bytes()
            (root / path).write_bytes(content + b"\n\ndef added_%d(): ...\n" % number)
        ratios.append(refreshed(index, root, changed))
    report("1 to 8 files changed on disk", ratios, "a bare parse of them")


def measure_commits(root: Path, repository: Path) -> None:
    """Measure files of newer commits, drawn evenly, that are changed on disk and looked at again."""

    def git(*arguments: str) -> bytes:
        return subprocess.check_output(["git", "--git-dir", repository, *arguments])

    log = git("log", "--no-merges", "--format=%H", "--diff-filter=M", "--max-count=4000", "--", "*.py").decode().split()
    root.mkdir()
    subprocess.run(["tar", "-x", "-C", root], input=git("archive", log[0]), check=True)
    index = Index(root)
    index.scan()
    ratios: list[float] = []
    sizes: list[int] = []
    for commit in log[:: max(len(log) // N_COMMITS, 1)]:
        listed = git("diff-tree", "-r", "--no-commit-id", "--name-only", "--diff-filter=M", commit).decode()
        changed = [path for path in listed.splitlines() if path.endswith(".py")]
        for version in (f"{commit}^", commit):
            for path in changed:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(git("show", f"{version}:{path}"))
            if version != commit:
                index.refresh(changed)
        ratios.append(refreshed(index, root, changed))
        sizes.append(sum((root / path).stat().st_size for path in changed))
    report(
        f"the files of {len(ratios)} commits ({statistics.median(sizes) / 1e3:.0f} kB at the median) changed on disk",
        ratios,
        "a bare parse of them",
    )


def refreshed(index: Index, root: Path, changed: list[str]) -> float:
    """Return the time of another look at files that changed, in bare parses of them."""
    contents = [(root / path).read_bytes() for path in changed]
    return beside(lambda: [PARSER.parse(one) for one in contents], lambda: index.refresh(changed))


def measure_memory(root: Path, saved: Path) -> None:
    """Measure the memory of a process that has the graph: what it holds, and held at most while it read."""
    n_lines = sum(path.read_bytes().count(b"\n") for path in root.rglob("*.py"))
    for name in ("cold", "warm"):
        command = [sys.executable, "-I", "-c", MEMORY, str(root), str(saved)]
        held_mb, peak_mb = map(float, subprocess.check_output(command).split())
        print(f"memory, {name}: {held_mb / n_lines * 1e6:.0f} MB per million lines held, {peak_mb:.0f} MB at most")


def measure_many_files(root: Path, n_files: int, asked: Path) -> None:
    """A generated workspace in three roots, until its graph is ready; meanwhile questions about the folder *asked*."""
    generate(root, n_files)
    read_all(root)
    anchor_s = timed(lambda: read_all(root))[1]
    workers = Workers()
    indexes = [
        Index(root / f"root{number}", saved_in=root / f"{number}.sqlite3", workers=workers) for number in range(3)
    ]
    known = Index(asked)
    known.scan()
    gc.collect()
    gc.freeze()  # as a server may, once its first graph stands
    idle = asyncio.run(watched(known, lambda: time.sleep(IDLE_S)))
    with subprocess.Popen(
        [sys.executable, "-I", "-c", UNCONCERNED], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        busy = asyncio.run(watched(known, lambda: scan_all(indexes)))
        unconcerned = other.communicate()[0].decode().strip()
    workers.close()
    n_found = sum(len(index.snapshot().files) for index in indexes)
    for index in indexes:
        index.close()
    print(f"{n_found:,} generated files in three roots, wall: {busy.took_s / anchor_s:.1f} x listing and reading them")
    print(f"a tick of the event loop of a process that has nothing to do with it, meanwhile: {unconcerned}")
    for measure, at_rest, meanwhile in (
        ("a question", idle.answers_s, busy.answers_s),
        ("a tick of the event loop, how late", idle.late_s, busy.late_s),
    ):
        before, after = (statistics.quantiles(found, n=20) for found in (at_rest, meanwhile))
        print(
            f"{measure}, meanwhile: p50 {after[9] / before[9]:.1f}, p95 {after[18] / before[18]:.1f} x idle; "
            f"p95 {after[18] * 1e3:.1f} ms, at most {max(meanwhile) * 1e3:.1f} ms ({max(at_rest) * 1e3:.1f} idle)"
        )


def generate(root: Path, n_files: int) -> None:
    """Small modules that import one another, in three roots."""
    for number in range(n_files):
        path = root / f"root{number % 3}" / f"pkg{number // 3000}" / f"sub{number // 150 % 20}" / f"m{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"from pkg0 import m{number // 2}\n\n\ndef f{number}(n):\n    return m{number // 2}.g(n)\n")


def scan_all(indexes: list[Index]) -> None:
    """Scan all at once, as a session with several folders does."""
    threads = [threading.Thread(target=index.scan) for index in indexes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@dataclass(frozen=True)
class Watched:
    """The delays of an event loop and of those who ask it, while something ran."""

    took_s: float
    late_s: list[float]
    """The delay of each tick, in seconds."""
    answers_s: list[float]
    """The time of each question, in seconds."""


async def watched(index: Index, work: Callable[[], object]) -> Watched:
    """Run *work* in a thread; meanwhile tick, and ask *index* for the definition and uses of names drawn by lot."""
    late_s: list[float] = []
    answers_s: list[float] = []
    snapshot = index.snapshot()
    chance = random.Random(0)
    named = [name for path in sorted(snapshot.files) for name in snapshot.files[path].definitions]
    some = [one for one in chance.sample(named, 400) if len(list(snapshot.mentioning(one.name))) < 20]
    running = asyncio.create_task(asyncio.to_thread(lambda: timed(work)[1]))

    async def tick() -> None:
        while not running.done():
            start_s = time.perf_counter()
            await asyncio.sleep(TICK_S)
            late_s.append(time.perf_counter() - start_s - TICK_S)

    async def ask() -> None:
        while not running.done():
            wanted = chance.choice(some)
            start_s = time.perf_counter()
            await asyncio.to_thread(callers, snapshot, wanted, reach=None)
            answers_s.append(time.perf_counter() - start_s)
            await asyncio.sleep(TICK_S)

    await asyncio.gather(tick(), ask())
    return Watched(await running, late_s, answers_s)


def read_all(root: Path) -> int:
    """List and read everything below *root*; the number of bytes."""
    n_bytes, waiting = 0, [os.fspath(root)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    with open(entry.path, "rb") as stream:  # noqa: PTH123 - the anchor does no more than it must
                        n_bytes += len(stream.read())
    return n_bytes


def copy_python(folder: Path, target: Path) -> Path:
    """A copy of what is Python in *folder*: what it is measured against reads nothing else."""

    def others(_folder: str, names: list[str]) -> list[str]:
        return [name for name in names if "." in name and not name.endswith(".py")]

    return Path(shutil.copytree(folder, target, ignore=others))


@contextmanager
def indexed(root: Path, saved_in: Path, workers: Workers | None = None) -> Iterator[Index]:
    """An index that is closed afterwards."""
    index = Index(root, saved_in=saved_in, workers=workers)
    yield index
    index.close()


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """The CPU seconds of this process, and the seconds, that *work* takes."""
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu_s, time.perf_counter() - wall_s


def beside(anchor: Callable[[], object], work: Callable[[], object]) -> float:
    """The CPU time of *work*, which can be done once, against that of *anchor* just before and just after it."""
    before_s = timed(anchor)[0]
    work_s = timed(work)[0]
    return 2 * work_s / (before_s + timed(anchor)[0])


def report(measure: str, ratios: list[float], anchor: str) -> None:
    """Print the median and the 95th percentile."""
    cuts = statistics.quantiles(ratios, n=20)
    print(f"{measure}: p50 {cuts[9]:.2f}, p95 {cuts[18]:.2f} x {anchor}", flush=True)


if __name__ == "__main__":
    main()
