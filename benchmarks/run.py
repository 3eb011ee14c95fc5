"""Measure the work on proposals, each as a ratio to an anchor measured in the same run.

Anchor and engine take turns, and the median of the rounds' ratios is printed: the machine may be busy, the ratio
hardly cares. Python's own standard library is the repository under test, because every machine has it.
"""

from __future__ import annotations

import difflib
import shutil
import statistics
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from rolecall_server.review.proposals.anchor import locate
from rolecall_server.review.proposals.hunks import file_change, number_hunks
from rolecall_server.workspace import TextFile

ROUNDS = 5
FOLDERS = ("asyncio", "email", "http", "json", "logging", "unittest", "xml")


def main() -> None:
    """Measure, and print a table."""
    table = Table("measure", "anchor", "anchor ms", "ratio")
    with tempfile.TemporaryDirectory() as scratch:
        root = _copy_of_the_standard_library(Path(scratch))
        for measure, anchor, run_anchor, run_ours in _measures(root):
            times = [(_seconds(run_anchor), _seconds(run_ours)) for _ in range(ROUNDS)]
            ratio = statistics.median(ours / base for base, ours in times)
            base_ms = 1000 * statistics.median(base for base, _ in times)
            table.add_row(measure, anchor, f"{base_ms:.1f}", f"{ratio:.2f}")
    Console().print(table)


Work = Callable[[], object]


def _measures(root: Path) -> list[tuple[str, str, Work, Work]]:
    longest = max(root.rglob("*.py"), key=lambda path: path.stat().st_size)
    text = longest.read_bytes().decode("utf-8")
    proposed = text.replace("return", "return  # changed\n    return", 5)
    change = number_hunks([file_change("a.py", TextFile("a.py", text), proposed)])[0]
    typed = "# typed\n" + text
    lines, proposed_lines = text.splitlines(True), proposed.splitlines(True)
    return [
        (
            "a proposal's hunks",
            "difflib.unified_diff",
            lambda: list(difflib.unified_diff(lines, proposed_lines)),
            lambda: file_change("a.py", TextFile("a.py", text), proposed),
        ),
        (
            "placing them again after an edit",
            "difflib.unified_diff",
            lambda: list(difflib.unified_diff(lines, proposed_lines)),
            lambda: locate(change, (), typed),
        ),
    ]


def _copy_of_the_standard_library(scratch: Path) -> Path:
    library = Path(sysconfig.get_paths()["stdlib"])
    for name in FOLDERS:
        shutil.copytree(library / name, scratch / name, ignore=shutil.ignore_patterns("__pycache__"))
    return scratch


def _seconds(work: Work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
