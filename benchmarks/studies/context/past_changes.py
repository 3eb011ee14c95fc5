"""Whether the past changes that are described like a fix changed the file that the fix had to change.

    python benchmarks/studies/context/past_changes.py TASKS REPOSITORIES

TASKS and REPOSITORIES are those of `rolecall bench strategies`: JSON lines with `message` and `src` beside what a task
has. For each fix, the two changes before it that are most alike are looked up by its message, as the Engineer is shown
them with `rolecall.team.pastChanges`. Beside it: how often two of the 200 latest commits, taken by chance, would do.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from rolecall_analysis import Index
from rolecall_analysis.retrieval import Corpus, changes_alike
from rolecall_server.team.ablation.tasks import RepairTask, lay_out

N_SHOWN, N_LATEST = 2, 200


def looked_up(task: dict[str, Any], repositories: Path) -> tuple[list[bool], float]:
    """Return whether each change shown for *task* changed a file of the fix, and the share of the latest commits that
    did.
    """
    with tempfile.TemporaryDirectory(prefix="rolecall-past-") as scratch:
        root = Path(scratch) / "checkout"
        lay_out(RepairTask.model_validate({**task, "brief": task["message"]}), repositories, root)
        index, corpus = Index(root), Corpus(root)
        index.scan()
        found = changes_alike(corpus, index.snapshot(), task["message"], N_SHOWN)
        index.close()
    right = {*task["src"]}
    latest = corpus.past.history.commits[:N_LATEST]
    by_chance = sum(bool(right.intersection(one.files)) for one in latest) / max(1, len(latest))
    return [bool(right & one.diffs.keys()) for one in found], by_chance


def main() -> None:
    """Print how many fixes have a file of theirs among what is shown."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("tasks", type=Path)
    arguments.add_argument("repositories", type=Path)
    given = arguments.parse_args()
    tasks = [json.loads(line) for line in given.tasks.read_text("utf-8").splitlines()]
    ends = [looked_up(task, given.repositories.absolute()) for task in tasks]
    first, either = (sum(any(hits[:n]) for hits, _ in ends) for n in (1, N_SHOWN))
    chance = sum(1 - (1 - share) ** N_SHOWN for _, share in ends)
    print(f"{len(ends)} fixes: the first change in {first}, one of {N_SHOWN} in {either}; by chance {chance:.1f}")


if __name__ == "__main__":
    main()
