"""The first message of an Engineer on real fixes: its tokens, and how much of what the fix changed it shows."""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from rolecall_analysis import Index, definitions_in
from rolecall_analysis.retrieval import Corpus
from rolecall_server.context import ContextItem, PackSource, pack, render
from rolecall_server.model import estimate_tokens
from rolecall_server.settings import ModelSettings
from rolecall_server.team.request import RunRequest
from rolecall_server.team.roles.engineer import focus_of
from rolecall_server.workspace import Workspace, read_text_or_none, split_lines

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+", re.MULTILINE)

Run = tuple[int, int]
"""The first and the last of an unbroken run of lines, from 1."""


@dataclass(frozen=True)
class Shown:
    """Of one fix: what its description alone brings."""

    task: str
    repository: str
    tokens: int
    whole: int
    """Files of the fix of which all changed lines, and the functions around them, are there."""
    files: int
    own_tests: bool | None
    """A test file of the fix is shown; ``None`` where none existed before."""
    missing: tuple[str, ...]


def measure(evals: Path, clones: Path, tasks: Path, table: Path, part: tuple[int, int]) -> list[Shown]:
    """Measure the tasks whose place in the file, divided by the second of *part*, leaves the first."""
    sys.path.insert(0, str(evals))
    repairs = import_module("repair_tasks")
    chosen = repairs.load_tasks(tasks)[part[0] :: part[1]]
    with tempfile.TemporaryDirectory(prefix="packing-") as work:
        return [*_measured(chosen, repairs.load_repo_table(table), clones, Path(work))]


def tell(results: Sequence[Shown], *, each: bool) -> None:
    """Print the figures of all, then of each repository; with *each* also of each task."""
    for one in results if each else ():
        tests = {True: "own tests", False: "OTHER TESTS", None: "no tests before"}[one.own_tests]
        print(f"{one.task:<28} {one.tokens:>6} tokens  {one.whole}/{one.files} whole  {tests}  {' '.join(one.missing)}")
    for repository in ("", *sorted({one.repository for one in results})):
        mine = [one for one in results if repository in ("", one.repository)]
        tokens = [one.tokens for one in mine]
        tests = [one.own_tests for one in mine if one.own_tests is not None]
        share = sum(one.whole for one in mine) / sum(one.files for one in mine)
        print(
            f"{repository or 'all':<15} {len(mine):>3} fixes  tokens: median {statistics.median(tokens):,.0f}, "
            f"most {max(tokens):,}  files whole enough {share:.3f}  own tests {sum(tests)}/{len(tests)}"
        )


def _measured(tasks: Sequence[Any], table: Any, clones: Path, work: Path) -> Iterator[Shown]:
    repos = import_module("repos")
    for name in sorted({task.repo for task in tasks}):
        mine = sorted((task for task in tasks if task.repo == name), key=lambda task: task.date)
        source = repos.find_repository(clones, table[name].github)
        checkout = repos.PastOnlyCheckout(source, work / name, source.common_ancestor([one.parent for one in mine]))
        corpus, index = Corpus(checkout.directory), Index(checkout.directory)
        for task in mine:
            checkout.move_to(task.parent)
            index.scan()
            view = PackSource(Workspace(checkout.directory), index.snapshot(), estimate_tokens, corpus)
            yield _of_one(task, view, source.read)


def _of_one(task: Any, view: PackSource, git: Any) -> Shown:
    focus = focus_of(RunRequest(brief=task.message), "", view.workspace, view.snapshot)
    packed = pack(view, focus, ModelSettings().context_tokens)
    missing = [path for path in task.src if not _is_whole(path, packed.items, view, _changed(git, task, path))]
    existing = [path for path in task.tests if path in view.snapshot.files]
    shown = {item.path for item in packed.items if item.lines}
    return Shown(
        task.id,
        task.repo,
        estimate_tokens(render(packed)),
        len(task.src) - len(missing),
        len(task.src),
        any(path in shown for path in existing) if existing else None,
        tuple(missing),
    )


def _changed(git: Any, task: Any, path: str) -> list[Run]:
    """Return the lines of *path* that the fix of *task* replaces; where it only inserts, the two lines around."""
    diff = git("diff", "--no-ext-diff", "--no-renames", "-U0", task.parent, task.commit, "--", path)
    places = ((int(first), int(n or 1)) for first, n in _HUNK.findall(diff))
    return [(first, first + n - 1) if n else (max(first, 1), first + 1) for first, n in places]


def _is_whole(path: str, items: Sequence[ContextItem], view: PackSource, changed: Sequence[Run]) -> bool:
    """Return whether *items* show each of the *changed* lines of *path*, and the innermost function around it."""
    runs = [run for item in items if item.path == path for run in item.lines]
    shown = {line for first, last in runs for line in range(first, last + 1)}
    n_lines = len(split_lines(read_text_or_none(view.workspace, path) or ""))
    functions = [
        (one.span.start.line + 1, one.span.end.line + 1)
        for one in definitions_in(view.snapshot, path)
        if one.kind in ("function", "method")
    ]
    for first, last in changed:
        start, end = max((run for run in functions if run[0] <= first and last <= run[1]), default=(first, last))
        if not shown.issuperset(range(start, min(end, n_lines) + 1)):
            return False
    return True
