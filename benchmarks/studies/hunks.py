"""Count the hunks that changes fall into, beside git's own count, over the commits of any repository.

    python benchmarks/studies/hunks.py REPOSITORY COMMIT...
    git -C REPOSITORY log --no-merges --format=%H -100 | python benchmarks/studies/hunks.py REPOSITORY -

REPOSITORY is a clone, bare or not. Each commit is compared with its first parent, file by file, as a proposal of that
change would be; git counts with three lines of context, which is what `git diff` shows. A file that cannot be
decoded is left out on both sides.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from rolecall_server.review.proposals.hunks import file_change
from rolecall_server.workspace import TextFile

PROMISED = 1.5
"""So many times git's count is the most that is promised."""


@dataclass(frozen=True)
class Counted:
    """The hunks of one commit."""

    commit: str
    n_git: int
    n_ours: int

    @property
    def ratio(self) -> float:
        """Return our count by git's."""
        return self.n_ours / self.n_git


def main() -> None:
    """Count the hunks of the commits, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("commits", nargs="+", help="commits, or - for those on standard input")
    arguments = parser.parse_args()
    commits = sys.stdin.read().split() if arguments.commits == ["-"] else arguments.commits
    counted = [one for commit in commits if (one := count(arguments.repository, commit)).n_git]
    Console(highlight=False).print(table_of(counted))


def count(repository: Path, commit: str) -> Counted:
    """Return how many hunks *commit* has."""
    n_git, n_ours = 0, 0
    for path, before, after in changed_files(repository, commit):
        n_git += _n_in_git(repository, commit, path)
        base = TextFile(path, before) if before is not None else None
        n_ours += len(file_change(path, base, after).hunks) if after is not None else 1
    return Counted(commit, n_git, n_ours)


def changed_files(repository: Path, commit: str) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield path, text before and text after of each file that *commit* changes; ``None`` where there is none."""
    listed = _git(repository, "diff", "--no-renames", "--name-only", "-z", f"{commit}^", commit).decode()
    for path in listed.split("\0")[:-1]:
        before, after = (_text(repository, revision, path) for revision in (f"{commit}^", commit))
        if before != after:
            yield path, before, after


def table_of(counted: Sequence[Counted]) -> Table:
    """Return the totals, and how the commits are spread."""
    n_git, n_ours = sum(one.n_git for one in counted), sum(one.n_ours for one in counted)
    ratios = sorted(one.ratio for one in counted)
    table = Table("measure", "value")
    table.add_row("commits", str(len(counted)))
    table.add_row("hunks of git", str(n_git))
    table.add_row("hunks of Rolecall", str(n_ours))
    table.add_row("ratio of the totals", f"{n_ours / max(1, n_git):.2f} (promised: at most {PROMISED})")
    if ratios:
        table.add_row("ratio of a commit, median", f"{statistics.median(ratios):.2f}")
        table.add_row("90 of 100 commits", f"{ratios[int(0.9 * (len(ratios) - 1))]:.2f} at most")
        table.add_row("commits above the promise", str(sum(ratio > PROMISED for ratio in ratios)))
        worst = max(counted, key=lambda one: one.ratio)
        table.add_row("worst", f"{worst.commit[:12]}: {worst.n_ours} for {worst.n_git}")
    return table


def _n_in_git(repository: Path, commit: str, path: str) -> int:
    shown = _git(repository, "diff", "--no-renames", "--unified=3", f"{commit}^", commit, "--", path)
    return max(1, sum(line.startswith(b"@@ ") for line in shown.splitlines()))


def _text(repository: Path, revision: str, path: str) -> str | None:
    found = _git(repository, "show", f"{revision}:{path}", check=False)
    try:
        return found.decode() if found else None
    except UnicodeDecodeError:
        return None


def _git(repository: Path, *arguments: str, check: bool = True) -> bytes:
    return subprocess.run(["git", "-C", repository, *arguments], capture_output=True, check=check).stdout


if __name__ == "__main__":
    main()
