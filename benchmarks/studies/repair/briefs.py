"""One plain prompt with the three files that BM25 finds, on tasks that have a brief and hidden tests.

    python benchmarks/studies/repair/briefs.py EVALS TASKS REPOSITORIES RESULTS PYTHON [--strategy NAME]

EVALS is the folder of the retrieval harness, whose BM25 ranks the sources by their contents. TASKS, REPOSITORIES and
RESULTS are those of `rolecall bench strategies`: each result is a line as that command writes it, of an arm called
`one plain prompt`, so that the command shows it beside those of NAME. The prompt holds the brief, the files whole and
the short form of our edit blocks; what comes is applied and judged by the hidden tests as there. Calls and tokens are
those that the endpoint is sent, and sends.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

from quixbugs import ask_once, metered

from rolecall_analysis import Index, is_test
from rolecall_server.craft.attempts import SHORT_EDIT_FORMAT
from rolecall_server.craft.edits.edit_blocks import apply_edit_blocks, parse_edit_blocks
from rolecall_server.errors import CodeNotRun
from rolecall_server.settings import read_settings
from rolecall_server.store import open_store
from rolecall_server.team.ablation.arms import Ablation, TaskResult, missed_by
from rolecall_server.team.ablation.tasks import RepairTask, lay_out, read_tasks
from rolecall_server.team.request import Repository
from rolecall_server.workspace import Workspace, read_text_or_none

N_FILES = 3
TEST_S = 240
ARM = "one plain prompt"
PROMPT = """\
Change this repository as the task says. Reply with the edits alone.

{form}

{files}

The task: {brief}
"""


def best_files(index: Index, brief: str, baselines: Any) -> list[str]:
    """Return the sources whose contents are nearest to *brief*, the nearest first."""
    snapshot = index.snapshot()
    sources = [path for path in snapshot.files if path.endswith(".py") and not is_test(snapshot, path)]
    contents = {path: Counter(baselines.tokenize(snapshot.text(path) or "")) for path in sources}
    return baselines.best_first(baselines.bm25(contents, baselines.tokenize(brief)))[:N_FILES]


def carry_out(task: RepairTask, given: argparse.Namespace, baselines: Any, scratch: Path) -> TaskResult:
    """Have *task* done by one plain prompt, and judged."""
    root = scratch / "checkout"
    tests = lay_out(task, given.repositories, root)
    store, index = open_store(scratch / "rolecall.db"), Index(root)
    index.scan()
    settings, _ = read_settings({"tests": {"interpreter": str(given.python), "timeoutSeconds": TEST_S}}, {})
    workspace = Workspace(root.resolve())
    repository = Repository(workspace, index.snapshot(), store, settings, os.environ)
    around = Ablation(given.strategy, given.repositories, os.environ, no_model, lambda text, fraction: None)
    shown = "\n\n".join(
        f"## {path}\n```\n{(root / path).read_text('utf-8')}```" for path in best_files(index, task.brief, baselines)
    )
    began = time.perf_counter()
    with metered(os.environ["ROLECALL_BASE_URL"].rstrip("/")) as (address, meter):
        prompt = PROMPT.format(form=SHORT_EDIT_FORMAT, files=shown, brief=task.brief)
        reply = ask_once([{"role": "user", "content": prompt}], address)
    edited = apply_edit_blocks(parse_edit_blocks(reply), lambda path: read_text_or_none(workspace, path))
    seconds = time.perf_counter() - began
    said = "; ".join(one.reason.partition("\n")[0] for one in edited.problems) or "no edit" * (not edited.files)
    missed = asyncio.run(missed_by(task, tests, edited.files, repository, around))
    index.close()
    store.close()
    return TaskResult(
        task=task.id,
        strategy=given.strategy,
        arm=ARM,
        model=os.environ.get("ROLECALL_MODEL", ""),
        solved=not missed,
        calls=meter.n_calls,
        tokens=meter.sent + meter.received,
        seconds=round(seconds, 1),
        said="; ".join(part for part in (said, missed) if part) if missed else "",
    )


async def no_model(*_: object) -> Any:
    """Stand in for the model that the judge does not ask."""
    raise AssertionError


def main() -> None:
    """Carry out what RESULTS does not hold yet."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("evals", "tasks", "repositories", "results", "python"):
        arguments.add_argument(name, type=Path)
    arguments.add_argument("--strategy", default="standard")
    given = arguments.parse_args()
    given.repositories, given.python = given.repositories.absolute(), given.python.absolute()
    sys.path.insert(0, str(given.evals))
    baselines = import_module("retrieval_baselines")
    results: Path = given.results
    lines = results.read_text("utf-8").splitlines() if results.exists() else []
    done = {one["task"] for one in map(json.loads, lines) if one["arm"] == ARM}
    for task in read_tasks(given.tasks.read_text("utf-8")):
        if task.id in done:
            continue
        with tempfile.TemporaryDirectory(prefix="rolecall-briefs-") as scratch:
            try:
                one = carry_out(task, given, baselines, Path(scratch))
            except CodeNotRun as error:
                print(f"{task.id} is left out: {error.what}", flush=True)
                continue
        with results.open("a", encoding="utf-8") as file:
            file.write(f"{one.model_dump_json()}\n")
        print(f"{one.task}: {'solved' if one.solved else f'NOT SOLVED, {one.said}'}, {one.tokens:,} tokens", flush=True)


if __name__ == "__main__":
    main()
