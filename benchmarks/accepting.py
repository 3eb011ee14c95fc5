"""Measure a large proposal: building, placing again and accepting it, each as a ratio to an anchor of the same run.

    python benchmarks/accepting.py FOLDER

The proposal has 200 hunks in 50 files of Django. Anchor and engine take turns, and the median of the rounds' ratios
is printed: the machine may be busy, the ratio hardly cares.
"""

from __future__ import annotations

import difflib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from rolecall_server.cli.files.disk import write_accepted
from rolecall_server.review.proposals.anchor import locate
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.hunks import file_change, number_hunks
from rolecall_server.review.proposals.proposal import FileChange, Proposal
from rolecall_server.review.proposals.proposal_store import load_proposal, save_proposal
from rolecall_server.store import open_store
from rolecall_server.workspace import TextFile, Workspace

ROUNDS = 5
N_FILES = 50
N_HUNKS_PER_FILE = 4

Texts = dict[str, tuple[str, str]]
"""By path: a text and what is proposed in its place."""


@dataclass(frozen=True)
class Measure:
    """One line of the table."""

    name: str
    anchor: str
    promised: float
    """The ratio that must not be passed."""
    run_anchor: Callable[[], float]
    """Seconds."""
    run_ours: Callable[[], float]


def main(library: Path) -> None:
    """Measure, and print a table."""
    texts = texts_of(library)
    table = Table("measure", "anchor", "anchor ms", "ratio", "promised")
    with tempfile.TemporaryDirectory() as scratch:
        for measure in measures(texts, Path(scratch)):
            times = [(measure.run_anchor(), measure.run_ours()) for _ in range(ROUNDS)]
            ratio = statistics.median(ours / anchor for anchor, ours in times)
            anchor_ms = 1000 * statistics.median(anchor for anchor, _ in times)
            table.add_row(measure.name, measure.anchor, f"{anchor_ms:.1f}", f"{ratio:.2f}", f"{measure.promised}")
    Console().print(table)


def texts_of(library: Path) -> Texts:
    """The longest modules of *library* up to a size people write, each with places spread over it changed."""
    sources = sorted(library.rglob("*.py"), key=lambda path: (-path.stat().st_size, path.as_posix()))
    texts: Texts = {}
    for source in sources:
        text = source.read_bytes().decode("utf-8", "replace")
        proposed = with_changes(text)
        if len(text) < 60_000 and proposed is not None:
            texts[source.relative_to(library).as_posix()] = text, proposed
        if len(texts) == N_FILES:
            return texts
    raise SystemExit(f"{library} has not enough files.")


def with_changes(text: str) -> str | None:
    """*text* with a few of its `return` statements explained; ``None`` where it has too few."""
    lines = text.splitlines(keepends=True)
    returns = [i for i, line in enumerate(lines) if line.strip().startswith("return ") and line.endswith("\n")]
    if len(returns) < 3 * N_HUNKS_PER_FILE:
        return None
    for n in range(N_HUNKS_PER_FILE):
        i = returns[n * len(returns) // N_HUNKS_PER_FILE]
        indent = lines[i][: len(lines[i]) - len(lines[i].lstrip())]
        lines[i] = f"{indent}result = {lines[i].strip().removeprefix('return ')}\n{indent}return result\n"
    return "".join(lines)


def build(texts: Texts) -> tuple[FileChange, ...]:
    """The proposal's files."""
    return number_hunks([file_change(path, TextFile(path, old), new) for path, (old, new) in texts.items()])


def measures(texts: Texts, scratch: Path) -> list[Measure]:
    """The work that is measured, and its anchor."""
    changes = build(texts)
    n_hunks = sum(len(change.hunks) for change in changes)
    first = next(iter(texts))
    typed = {path: "# typed\n" + old if path == first else old for path, (old, _) in texts.items()}
    lines = [(old.splitlines(True), new.splitlines(True)) for old, new in texts.values()]
    title = f"{n_hunks} hunks in {len(changes)} files"
    return [
        Measure(
            f"building {title}",
            "difflib.unified_diff",
            1.5,
            lambda: seconds(lambda: [list(difflib.unified_diff(old, new)) for old, new in lines]),
            lambda: seconds(lambda: build(texts)),
        ),
        Measure(
            "placing them all again after an edit",
            "git merge-file, once for each file",
            0.2,
            merging(texts, typed, scratch),
            lambda: seconds(lambda: [locate(change, (), typed[change.path]) for change in changes]),
        ),
        Measure(
            "accepting them all on the command line",
            "a script that makes the same edits",
            2.0,
            editing(texts, changes, scratch),
            accepting(texts, changes, scratch),
        ),
        Measure(
            "the same",
            "a script that was given the texts that come out",
            2.0,
            writing(texts, scratch),
            accepting(texts, changes, scratch),
        ),
    ]


def merging(texts: Texts, typed: dict[str, str], scratch: Path) -> Callable[[], float]:
    """Seconds that git takes to merge the proposal with what was typed."""
    triples: list[list[str]] = []
    for number, (path, (old, new)) in enumerate(texts.items()):
        names = [str(scratch / f"{which}{number}") for which in ("current", "base", "proposed")]
        for name, text in zip(names, (typed[path], old, new), strict=True):
            Path(name).write_bytes(text.encode())
        triples.append(names)

    def merge() -> None:
        for names in triples:
            subprocess.run(["git", "merge-file", "-p", *names], check=True, stdout=subprocess.DEVNULL)

    return lambda: seconds(merge)


def editing(texts: Texts, changes: tuple[FileChange, ...], scratch: Path) -> Callable[[], float]:
    """Seconds that a plain script takes: read a file, see that the lines are those it knows, put others there, write.

    Neither it nor Rolecall syncs the files; both put a new one in place of the old in one step.
    """

    def script() -> None:
        for change in changes:
            location = scratch / "plain" / change.path
            lines = location.read_bytes().decode("utf-8").splitlines(keepends=True)
            for hunk in reversed(change.hunks):
                if tuple(lines[hunk.start : hunk.end]) == removed[change.path, hunk.id]:
                    lines[hunk.start : hunk.end] = hunk.new_lines
            replace_file(location, "".join(lines))

    removed = {(c.path, hunk.id): c.base_lines[hunk.start : hunk.end] for c in changes for hunk in c.hunks}
    return lambda: (write_all(texts, scratch / "plain"), seconds(script))[1]


def writing(texts: Texts, scratch: Path) -> Callable[[], float]:
    """Seconds that a plain script takes: read a file, see that it is the known one, replace it."""

    def script() -> None:
        for path, (old, new) in texts.items():
            location = scratch / "plain" / path
            if location.read_bytes().decode("utf-8") == old:
                replace_file(location, new)

    return lambda: (write_all(texts, scratch / "plain"), seconds(script))[1]


def replace_file(location: Path, text: str) -> None:
    """Put *text* in place of the file in one step."""
    beside = location.with_name(location.name + "~")
    beside.write_bytes(text.encode("utf-8"))
    beside.replace(location)


def accepting(texts: Texts, changes: tuple[FileChange, ...], scratch: Path) -> Callable[[], float]:
    """Seconds that an acceptance of everything takes, with all that is stored before and after."""
    root = (scratch / "ours").resolve()
    store = open_store(scratch / "rolecall.db")

    def accept() -> float:
        write_all(texts, root)
        proposal_id = store.reserve_proposal(store.add_run(root, "engineer", "", ""))
        save_proposal(store, Proposal(proposal_id, "r1", "Engineer", "t", "", "", changes, Evidence(ran=False)))
        reviewed = load_proposal(store, proposal_id)
        spent = seconds(lambda: write_accepted(store, Workspace(root), reviewed, reviewed.offered))
        assert all((root / path).read_bytes().decode("utf-8") == new for path, (_, new) in texts.items())
        return spent

    return accept


def write_all(texts: Texts, root: Path) -> None:
    """The texts before, below *root*."""
    for path, (old, _) in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(old.encode("utf-8"))


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds that *work* takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main(Path(sys.argv[1]))
