"""Where `rolecall fix --locate` looks for the cause of a failure, beside what the real fix changed.

    python benchmarks/studies/repair/localisation.py collect TASKS CLONES PYTHON FOLDER [--only ID,ID]
    python benchmarks/studies/repair/localisation.py score FOLDER [--half looked|held] [--list]

TASKS has a line of JSON for each fix: "id", "repo", "commit", "parent", "src" (the sources that it changed), "tests"
(its test files) and "f2p" (the tests that fail before it). CLONES holds a clone OWNER+NAME/repo of each; PYTHON runs
the tests.

`collect` lays each fix's tests over its parent, makes the failure happen, and keeps in FOLDER what was seen, which
takes a run of the tests for each: `--suite` names the seconds for those in other files than the failing ones. `score`
ranks by what is kept, as often as one likes: how often a file of the fix is first, a function that it changed is first,
or among five. Fixes are in two halves by a digest of their id: who changes the ranking looks at `looked` only.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from rolecall_analysis import Index, Position, Snapshot, enclosing_definition
from rolecall_server.cli.screen import wide_screen
from rolecall_server.craft.history import NOTHING_KNOWN, learned_from
from rolecall_server.craft.repair.failure_text import seen_failure
from rolecall_server.craft.repair.localisation import Suspect, rank_suspects
from rolecall_server.craft.repair.spectrum import spectrum_of
from rolecall_server.errors import RolecallError
from rolecall_server.sandbox import TestResult, TestRun
from rolecall_server.settings import read_settings
from rolecall_server.store import open_store
from rolecall_server.team.request import FailureToMend, Repository
from rolecall_server.team.run import locate_failure
from rolecall_server.workspace import Workspace

TESTS_S = 400


@dataclass(frozen=True)
class Kept:
    """A failure as it was made to happen."""

    failing: tuple[TestResult, ...]
    run: TestRun


def main() -> None:
    """Collect, or score."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = arguments.add_subparsers(dest="command", required=True)
    collects, scores = commands.add_parser("collect"), commands.add_parser("score")
    for name in ("tasks", "clones", "python", "folder"):
        collects.add_argument(name, type=Path)
    collects.add_argument("--only", default="", help="ids, with commas")
    collects.add_argument("--suite", type=float, default=60)
    scores.add_argument("folder", type=Path)
    scores.add_argument("--half", choices=["looked", "held"], default="")
    scores.add_argument("--list", action="store_true", help="a line for each fix")
    given = arguments.parse_args()
    if given.command == "score":
        score(given.folder, given.half, each=given.list)
        return
    tasks = [json.loads(line) for line in given.tasks.read_text("utf-8").splitlines()]
    for task in tasks:
        if not given.only or task["id"] in given.only.split(","):
            collect(task, given.clones.absolute(), given.python.absolute(), given.folder.absolute(), given.suite)


def half_of(task_id: str) -> str:
    """Return the half that a fix is in."""
    return "held" if hashlib.sha256(task_id.encode()).digest()[0] % 2 else "looked"


def collect(task: dict[str, Any], clones: Path, python: Path, folder: Path, suite_s: float) -> None:
    """Make the failure of *task* happen, and keep what was seen."""
    place = folder / task["id"].replace(":", "-")
    if (place / "kept.pickle").exists():
        return
    root, clone = place / "tree", next(clones.glob(f"*+{task['repo']}/repo"))
    if not root.exists():
        lay_out(task, clone, root)
    (place / "task.json").write_text(json.dumps({**task, "functions": sorted({*changed(task, clone, root)})}), "utf-8")
    try:
        kept = asyncio.run(reproduced(root, python, place, task["f2p"], suite_s))
    except RolecallError as error:
        print(f"{task['id']}: {error}", file=sys.stderr, flush=True)
        return
    (place / "kept.pickle").write_bytes(pickle.dumps((kept.failing, kept.run)))
    print(
        f"{task['id']}: {len(kept.failing)} of {len(task['f2p'])} fail, {len(kept.run.functions)} watched", flush=True
    )


def lay_out(task: dict[str, Any], clone: Path, root: Path) -> None:
    """Check the parent of a fix out at *root*, with the fix's tests over it; its history ends there."""
    root.parent.mkdir(parents=True, exist_ok=True)
    git("clone", "-q", "--shared", "--no-checkout", str(clone), str(root))
    git("checkout", "-q", "--detach", task["parent"], at=root)
    names = git("diff", "--name-only", "--no-renames", "-z", task["parent"], task["commit"], at=clone).split("\0")
    for path in names:
        if "tests/" not in path and not path.startswith("test"):
            continue
        shown = subprocess.run(["git", "show", f"{task['commit']}:{path}"], cwd=clone, capture_output=True, check=False)
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if shown.returncode == 0:
            (root / path).write_bytes(shown.stdout)
        else:
            (root / path).unlink(missing_ok=True)


def git(*arguments: str, at: Path | None = None) -> str:
    """Run git, and return what it prints."""
    return subprocess.run(["git", *arguments], cwd=at, capture_output=True, text=True, check=True).stdout


async def reproduced(root: Path, python: Path, place: Path, failing: list[str], suite_s: float) -> Kept:
    """Return the failure of the tests *failing* as it happens at *root*."""
    given = {"tests": {"interpreter": str(python), "suiteSeconds": suite_s, "timeoutSeconds": TESTS_S}}
    settings, _ = read_settings(given, {})
    index, store = Index(root), open_store(place / "store.sqlite")
    index.scan()
    environ = {"PATH": os.environ["PATH"], "XDG_DATA_HOME": str(place)}
    repository = Repository(Workspace(root), index.snapshot(), store, settings, environ)
    try:
        found = await locate_failure(repository, FailureToMend(tuple(failing)), lambda message, fraction: None)
    finally:
        index.close()
        store.close()
    assert isinstance(found.trials.before, TestRun)
    return Kept(found.failing, found.trials.before)


def changed(task: dict[str, Any], clone: Path, root: Path) -> Iterator[str]:
    """Yield the functions of the parent that a fix changes, as PATH::NAME."""
    index = Index(root)
    index.scan()
    snapshot = index.snapshot()
    for path in task["src"]:
        before = (root / path).read_text("utf-8").splitlines()
        after = git("show", f"{task['commit']}:{path}", at=clone).splitlines()
        for tag, start, end, _, _ in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            for line in range(start, max(end, start + 1)) if tag != "equal" else ():
                around = enclosing_definition(snapshot, path, Position(min(line, len(before) - 1), 0))
                if around is not None and around.kind in ("function", "method"):
                    yield f"{path}::{around.qualified_name}"
    index.close()


def ranked(place: Path) -> tuple[Suspect, ...]:
    """Return the suspects for the failure that is kept at *place*."""
    index = Index(place / "tree")
    index.scan()
    found = suspected_in(read_kept(place), index.snapshot())
    index.close()
    return found


def read_kept(place: Path) -> Kept:
    """Return the failure that is kept at *place*."""
    return Kept(*pickle.loads((place / "kept.pickle").read_bytes()))


def suspected_in(kept: Kept, snapshot: Snapshot) -> tuple[Suspect, ...]:
    """Return the suspects for *kept* in the repository of *snapshot*."""
    ids = [one.test_id for one in kept.failing]
    spectrum = spectrum_of(kept.run, learned_from(NOTHING_KNOWN, kept.run, snapshot), ids)
    return rank_suspects(snapshot, [seen_failure(one, snapshot) for one in kept.failing], spectrum)


def score(folder: Path, half: str, *, each: bool) -> None:
    """Print how often the right file and the right function come first, and how often the function among five."""
    table = Table("fix", "half", "file first", "function at", "of", "first suspects", "changed")
    hits: list[tuple[bool, int, bool]] = []
    for place in sorted(path.parent for path in folder.glob("*/kept.pickle")):
        task = json.loads((place / "task.json").read_text("utf-8"))
        if half and half_of(task["id"]) != half:
            continue
        suspects, right = ranked(place), set(task["functions"])
        at = next((number for number, one in enumerate(suspects, 1) if one.place in right), 0)
        is_file = bool(suspects) and suspects[0].path in task["src"]
        hits.append((is_file, at, bool(right)))
        names = " ".join(one.name for one in suspects[:5])
        shown = " ".join(one.partition("::")[2] for one in sorted(right)[:5])
        table.add_row(
            task["id"], half_of(task["id"]), "yes" if is_file else "no", str(at), str(len(suspects)), names, shown
        )
    if each:
        wide_screen().print(table)
    n_right = sum(has for _, _, has in hits)
    print(
        f"{half or 'all'}: the file first in {share(sum(file for file, _, _ in hits), len(hits))}, "
        f"the function first in {share(sum(at == 1 for _, at, _ in hits), n_right)}, "
        f"among five in {share(sum(0 < at <= 5 for _, at, _ in hits), n_right)}"
    )


def share(part: int, whole: int) -> str:
    """Return ``.50 (1 of 2)``."""
    return f"{part / whole:.2f} ({part} of {whole})" if whole else "none"


if __name__ == "__main__":
    main()
