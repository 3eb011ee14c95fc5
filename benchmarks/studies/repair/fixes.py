"""`rolecall fix` on real fixes whose tests are given, beside the same model asked once with the same first request.

    python benchmarks/studies/repair/fixes.py run TASKS CLONES RESULTS PYTHON --way rolecall|plain [--only ID,ID]
    python benchmarks/studies/repair/fixes.py show RESULTS...

TASKS, CLONES and PYTHON are those of `localisation.py`, the model that which ROLECALL_MODEL and ROLECALL_BASE_URL name.
Each fix gets a git repository of its own: the parent of the fix with the fix's tests over it. The plain way sends the
first request of `rolecall fix`, once, without its offers to try edits and to show more, and applies the edits that
come. A fix is solved where all its tests pass and none that passed before is broken, with the tests that the fix has.

A line for each fix is added to RESULTS; what stands there already is not run again. Calls and tokens are counted on the
way to the endpoint, alike for both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from localisation import git, lay_out
from quixbugs import REPLY_S, Result, ask_once, metered, read, show

from rolecall_analysis import Index
from rolecall_server.craft.edits.edit_blocks import apply_edit_blocks, parse_edit_blocks
from rolecall_server.craft.history import name_of
from rolecall_server.model import ChatMessage
from rolecall_server.settings import read_settings
from rolecall_server.store import open_store
from rolecall_server.team.repair.reproducing import reproduce
from rolecall_server.team.repair.rungs import Climb, first_rung
from rolecall_server.team.request import Desk, FailureToMend, Repository
from rolecall_server.team.run import open_bench
from rolecall_server.workspace import Workspace

TEST_S, JUDGE_S = 240, 400
_PASSED = re.compile(r"^PASSED (\S.*)$", re.MULTILINE)
_NEUTRAL = ("-q", "-rA", "--tb=no", "-p", "no:cacheprovider", "-W", "ignore", "-o", "addopts=", "-o", "filterwarnings=")
"""A repository's own options must not decide which tests run, or which warnings are errors."""
_OFFERS = re.compile(r"^- (?:Your edits are run|If the cause,) .*\n", re.MULTILINE)
"""The sentences of our prompt that promise another turn, which there is not in the plain way."""


def passing(python: Path, root: Path, tests: list[str]) -> set[str]:
    """Return the tests of the files *tests* that pass at *root*."""
    source = root / "src" if (root / "src").is_dir() else root
    known = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(source)}
    command = [python, "-m", "pytest", *_NEUTRAL, *tests]
    try:
        ended = subprocess.run(
            command, cwd=root, env=known, capture_output=True, text=True, timeout=JUDGE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return set()
    return {*_PASSED.findall(ended.stdout)}


def commit_tests(root: Path) -> None:
    """Commit the tests that lie over the parent of a fix, so that what is changed afterwards can be told."""
    git("add", "-A", at=root)
    git("-c", "user.name=study", "-c", "user.email=study@localhost", "commit", "-q", "-m", "Add tests", at=root)


def fix_with_rolecall(task: dict[str, Any], python: Path, root: Path, address: str) -> str:
    """Run `rolecall fix` on the failing tests of *task*; return the last line it prints."""
    settings = {"tests.timeoutSeconds": TEST_S, "model.timeoutSeconds": REPLY_S, "budget.secondsPerRun": 0}
    chosen = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    tests = dict.fromkeys(map(name_of, task["f2p"]))
    command = [sys.executable, "-I", "-m", "rolecall_server", "fix", *tests, "--yes", *chosen]
    known = {"ROLECALL_BASE_URL": address, "XDG_DATA_HOME": str(root.with_name("data"))}
    environment = {"OPENAI_API_KEY": "none", **os.environ, **known, "VIRTUAL_ENV": str(python.parents[1])}
    ended = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    root.with_name("log").write_text(ended.stdout + ended.stderr, "utf-8")
    lines = (ended.stdout.strip() or ended.stderr.strip()).splitlines()
    return f"exit {ended.returncode}: {lines[-1] if lines else ''}"


def fix_plainly(task: dict[str, Any], python: Path, root: Path, address: str) -> str:
    """Send the first request of a repair once, and apply the edits that come; return what is wrong with them, if so."""
    messages = asyncio.run(first_request(task, python, root))
    text = ask_once([{"role": one.role, "content": _OFFERS.sub("", one.text)} for one in messages], address)
    root.with_name("log").write_text("\n\n".join([*(one.text for one in messages), "=" * 80, text]), "utf-8")
    edited = apply_edit_blocks(parse_edit_blocks(text), lambda path: read_or_none(root / path))
    for path, after in edited.files.items():
        if after is not None and (root / path).resolve().is_relative_to(root.resolve()):
            (root / path).write_text(after, "utf-8")
    return "; ".join(problem.reason.partition("\n")[0] for problem in edited.problems) or "no edit" * (not edited.files)


def read_or_none(path: Path) -> str | None:
    """Return the text of a file; ``None`` where there is none."""
    return path.read_text("utf-8") if path.is_file() else None


async def first_request(task: dict[str, Any], python: Path, root: Path) -> tuple[ChatMessage, ...]:
    """Return what `rolecall fix` sends first for the failing tests of *task*."""
    settings, _ = read_settings({"tests": {"interpreter": str(python), "timeoutSeconds": TEST_S}}, {})
    index, store = Index(root), open_store(root.with_name("plain.sqlite"))
    index.scan()
    environ = {"PATH": os.environ["PATH"], "XDG_DATA_HOME": str(root.with_name("data"))}
    repository = Repository(Workspace(root), index.snapshot(), store, settings, environ)
    failure = FailureToMend(tuple(dict.fromkeys(map(name_of, task["f2p"]))))
    async with open_bench(repository, lambda message, fraction: None) as bench:
        desk = Desk(repository.workspace, repository.snapshot, settings, None, bench, lambda message, fraction: None)
        found = await reproduce(desk, failure)
        messages = await first_rung(desk, Climb(found, failure))
    index.close()
    store.close()
    return messages


WAYS: dict[str, Callable[[dict[str, Any], Path, Path, str], str]] = {
    "rolecall": fix_with_rolecall,
    "plain": fix_plainly,
}


def run_one(task: dict[str, Any], clones: Path, python: Path, way: str, scratch: Path) -> Result:
    """Have one fix made in one way, and judge it."""
    root, clone = (
        scratch / f"{task['id'].replace(':', '-')}-{way}" / "tree",
        next(clones.glob(f"*+{task['repo']}/repo")),
    )
    lay_out(task, clone, root)
    commit_tests(root)
    before = passing(python, root, task["tests"])
    start = time.perf_counter()
    with metered(os.environ["ROLECALL_BASE_URL"].rstrip("/")) as (address, meter):
        said = WAYS[way](task, python, root, address)
    own_s = time.perf_counter() - start - meter.waited_s
    changed = git("diff", "--name-only", "HEAD", at=root).splitlines()
    kept = not any("tests/" in path or path.endswith("conftest.py") for path in changed)
    git("checkout", "HEAD", "--", *task["tests"], at=root)
    now = passing(python, root, task["tests"])
    broken = before - now - passing(python, root, task["tests"])
    solved = {*task["f2p"]} <= now and not broken
    said = f"{len(broken)} broken; {said}" if broken else said
    return Result(task["id"], way, solved, kept, meter.n_calls, meter.sent, meter.received, round(own_s, 1), said)


def run(given: argparse.Namespace) -> None:
    """Run what RESULTS does not hold yet."""
    tasks = [json.loads(line) for line in given.tasks.read_text("utf-8").splitlines()]
    results: Path = given.results
    done = {one.program for one in read(results)} if results.exists() else set[str]()
    scratch = Path(given.keep or tempfile.mkdtemp(prefix="rolecall-fixes-")).absolute()
    for task in tasks:
        if task["id"] in done or (given.only and task["id"] not in given.only.split(",")):
            continue
        one = run_one(task, given.clones.absolute(), given.python.absolute(), given.way, scratch)
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(one)) + "\n")
        print(f"{one.program}: {'solved' if one.fixed else 'NOT SOLVED'}, {one.tokens:,} tokens", flush=True)
    if not given.keep:
        shutil.rmtree(scratch)


def main() -> None:
    """Run, or show."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = arguments.add_subparsers(dest="command", required=True)
    runs, shows = commands.add_parser("run"), commands.add_parser("show")
    for name in ("tasks", "clones", "results", "python"):
        runs.add_argument(name, type=Path)
    runs.add_argument("--way", choices=[*WAYS], required=True)
    runs.add_argument("--only", default="", help="ids, with commas")
    runs.add_argument("--keep", default="", help="a folder for the repositories and logs, which are else removed")
    shows.add_argument("results", type=Path, nargs="+")
    given = arguments.parse_args()
    if given.command == "run":
        run(given)
    else:
        show(given.results)


if __name__ == "__main__":
    main()
