"""The graph and the retrieval beside what other tools need for the same folder: aider's map, basedpyright's symbols.

    python benchmarks/others.py [FOLDER] [--rounds N]

The other tools live in an environment of their own, which `make bench` sets up; without it there is nothing to tell.
CPU seconds of the work alone, without starting Python; each line is the median of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from graph import copy_python

from rolecall_analysis import Index
from rolecall_analysis.retrieval.corpus import Corpus
from rolecall_analysis.retrieval.pack import pack
from rolecall_analysis.retrieval.question import Query
from rolecall_analysis.retrieval.ranking import rank

HERE = Path(__file__).parent
BUDGETS_TOKENS = (1_000, 8_000)
QUESTIONS = (
    "QuerySet.filter ignores the default manager of a related model",
    "session cookie is not marked secure behind a proxy",
    "migration autodetector renames a field twice",
    "template loader caches a missing template",
    "admin changelist search with quotes",
    "file upload handler leaves temporary files",
    "aggregate over an empty queryset returns None",
    "test client follows redirects to another host",
    "translation of plural forms in lazy strings",
    "email backend times out without an error",
)
COLD = """
import json, resource, sys, time
from pathlib import Path
from rolecall_analysis import Index
start = time.process_time()
Index(Path(sys.argv[1]), saved_in=Path(sys.argv[2])).scan()
peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"cpu_s": time.process_time() - start, "peak_mb": peak_mb}))
"""


def main() -> None:
    """Measure, and print a line for each comparison."""
    arguments = argparse.ArgumentParser(description=__doc__)
    bench = Path(os.environ.get("ROLECALL_BENCH", "."))
    arguments.add_argument("folder", type=Path, nargs="?", default=bench / "libraries" / "django-5.2.19")
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    programs = bench / "anchors" / "bin"
    if not (programs / "aider").exists():
        print(f"Other tools are not measured: {programs} does not have them.")
        return
    ratios: dict[str, list[float]] = {}
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory(prefix="rolecall-bench-") as scratch:
            root = copy_python(given.folder, Path(scratch) / "root")
            for comparison, ratio in compare(root, Path(scratch), programs):
                ratios.setdefault(comparison, []).append(ratio)
    for comparison, found in ratios.items():
        print(f"{comparison}: {statistics.median(found):.2f}")


def compare(root: Path, scratch: Path, programs: Path) -> list[tuple[str, float]]:
    """One round: what the others cost as multiples of ours."""
    ours = read_json([sys.executable, "-I", "-c", COLD, str(root), str(scratch / "saved.sqlite3")])
    aider = read_json([str(programs / "python"), str(HERE / "anchors/aider_map.py"), str(root), "2", "1024"])
    shutil.rmtree(next(root.glob(".aider*")), ignore_errors=True)
    server = [str(programs / "basedpyright-langserver"), "--stdio"]
    pyright = read_json([sys.executable, str(HERE / "anchors/symbols_ready.py"), str(root), "QuerySet", *server])
    answers_s = answer_times_s(root)
    p95_s = sorted(answers_s)[int(0.95 * len(answers_s))]
    return [
        ("aider's cold map, as a multiple of our cold graph", aider["cpu_s"][0] / ours["cpu_s"]),
        ("basedpyright's first symbols, likewise", pyright["cpu_s"] / ours["cpu_s"]),
        ("our peak memory, as a part of aider's", ours["peak_mb"] / aider["peak_mb"]),
        ("aider's warm map, as a multiple of our p95 rank and pack at 1k and 8k tokens", aider["cpu_s"][1] / p95_s),
    ]


def answer_times_s(root: Path) -> list[float]:
    """CPU seconds of each ranking with its packing, once everything has been read."""
    index = Index(root)
    index.scan()
    corpus, snapshot = Corpus(root), index.snapshot()
    rank(corpus, snapshot, Query(text="warm up"))
    times_s: list[float] = []
    for question in QUESTIONS:
        for level in ("file", "function"):
            for budget_tokens in BUDGETS_TOKENS:
                start = time.process_time()
                found = rank(corpus, snapshot, Query(text=question, level=level))
                pack(snapshot, found, budget_tokens, lambda text: len(text) // 4)
                times_s.append(time.process_time() - start)
    return times_s


def read_json(command: list[str]) -> Any:
    """Return what *command* prints last, read as JSON."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
