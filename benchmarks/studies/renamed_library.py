"""Measure how many names of a library that a model remembers wrongly reach a proposal without a word about them.

    python benchmarks/studies/renamed_library.py PYTHON

PYTHON is that of an environment with httpx, click and requests. They are copied, and their public names replaced by
others, consistently (`renamed/names.toml`). A model that knows the old names alone, and sends the same code again when
it is told, answers the 30 briefs in `renamed/tasks.md` through the loop that works for all roles.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import io
import re
import shutil
import subprocess
import tempfile
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rolecall_analysis import Snapshot
from rolecall_analysis.installed.packages import InstalledCode
from rolecall_server.craft.attempt import AttemptOutcome, AttemptWork
from rolecall_server.craft.attempts import work_out
from rolecall_server.model import NO_WISHES, ChatMessage, Reply, Wishes
from rolecall_server.python_trees import parse_python
from rolecall_server.review.checks.graph_checks import check_changes
from rolecall_server.review.proposals.evidence import GraphFinding
from rolecall_server.sandbox import NotRun, TestRun

DATA = Path(__file__).parent / "renamed"
Renamed = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Task:
    """A brief, and the code that a model remembers for it."""

    library: str
    brief: str
    code: str


class Stubborn:
    """A model that gives the same code however often it is asked."""

    label = "stubborn"

    def __init__(self, code: str) -> None:
        self.reply = f"FILE: app.py\n<<<<<<< SEARCH\n=======\n{code}>>>>>>> REPLACE\n"
        self.asked: list[str] = []

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """The same reply."""
        self.asked.append(messages[-1].text)
        return Reply(self.reply, "stubborn", 1, 1)

    async def aclose(self) -> None:
        """Nothing is open."""


def main() -> None:
    """Measure, and print a line for each task and the sums."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("python", type=Path)
    given = arguments.parse_args()
    names = tomllib.loads((DATA / "names.toml").read_text(encoding="utf-8"))
    ask = [given.python, "-c", "import sys; print(*sys.path[1:], sep='\\n')"]
    places = [Path(line) for line in subprocess.run(ask, capture_output=True, text=True, check=True).stdout.split()]
    totals = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for library in names:
            rename(places, library, names[library], Path(folder))
        for task in tasks():
            totals += _measure(task, names[task.library], [Path(folder), *places])
    print("all:", ", ".join(f"{what} {n}" for what, n in totals.items()))


def tasks() -> tuple[Task, ...]:
    """Return the tasks in their order."""
    parts = re.split(r"^# (\w+): (.*)\n\n", (DATA / "tasks.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return tuple(Task(*one) for one in zip(parts[1::3], parts[2::3], parts[3::3], strict=True))


def rename(places: Sequence[Path], library: str, names: Renamed, folder: Path) -> None:
    """Copy *library* from *places* into *folder* with other names."""
    source = next(place / library for place in places if (place / library).is_dir())
    shutil.copytree(source, folder / library, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (folder / library).rglob("*.py"):
        file.write_text(renamed_text(file.read_text(encoding="utf-8"), names), encoding="utf-8")


def renamed_text(text: str, names: Renamed) -> str:
    """Return *text* with the names of a library replaced, as words, and as whole strings."""
    found: list[tuple[int, str]] = []
    before, is_import = "", False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        plain = token.string.strip("\"'")
        is_import = token.string in ("from", "import") if before in ("", "\n") else is_import and token.string != "\n"
        is_defined = is_import or before == "def" or token.type == tokenize.STRING
        new = names["everywhere"].get(plain) or (names["defined"].get(plain) if is_defined else None)
        is_name = token.type in (tokenize.NAME, tokenize.STRING)
        found.append((token.type, token.string.replace(plain, new) if new and is_name else token.string))
        before = (
            "\n" if token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT) else token.string
        )
    return tokenize.untokenize(found)


def old_names(code: str, names: Renamed) -> Iterator[tuple[int, str]]:
    """Yield the line, from 0, and the name of each use of an old name in *code*."""
    old = {**names["everywhere"], **names["defined"]}
    for node in ast.walk(parse_python(code)):
        if isinstance(node, ast.Attribute) and node.attr in old:
            yield (node.end_lineno or 1) - 1, node.attr
        elif isinstance(node, ast.keyword) and node.arg in old:
            yield node.value.lineno - 1, node.arg or ""
        elif isinstance(node, ast.alias) and node.name in old:
            yield node.lineno - 1, node.name


def _measure(task: Task, names: Renamed, places: Sequence[Path]) -> Counter[str]:
    model = Stubborn(task.code)
    outcome = asyncio.run(_work_out(task, model, InstalledCode(places)))
    proposed = outcome.attempt.files["app.py"] or ""
    counts = Counter({"tasks": 1, "asked about": int(len(model.asked) > 1)})
    unmarked: list[str] = []
    for line, name in old_names(proposed, names):
        named = [one for one in outcome.attempt.findings if one.line == line and f"'{name}'" in one.sentence]
        after = any(place.line == line for one in outcome.attempt.findings for place in one.places)
        about = named
        counts["told as what comes of another"] += after and not named
        counts["old names"] += 1
        counts["told as certain"] += any(one.certain for one in about)
        counts["told as a doubt"] += bool(about) and not any(one.certain for one in about)
        new = {**names["everywhere"], **names["defined"]}[name]
        counts["told with the new name"] += any(re.search(rf"\b{new}\b", _there(one)) for one in about)
        if not named and not after:
            unmarked.append(f"{name} (line {line + 1})")
    counts["unmarked"] += len(unmarked)
    print(f"{task.library}: {task.brief}: {f'UNMARKED {unmarked}' if unmarked else 'all marked'}")
    return counts


def _there(finding: GraphFinding) -> str:
    return finding.sentence.partition(" It has: ")[2] or finding.sentence


async def _work_out(task: Task, model: Stubborn, installed: InstalledCode) -> AttemptOutcome:
    async def nothing_runs(files: Mapping[str, str | None]) -> TestRun | NotRun:
        return NotRun("nothing is run here")

    work = AttemptWork(
        opening=(ChatMessage("user", task.brief),),
        read_text=lambda path: None,
        refusal=lambda path: None,
        try_out=nothing_runs,
        before=lambda: None,
        on_failure="",
        check=partial(check_changes, Snapshot(), installed=installed),
    )
    return await work_out(work, model, lambda text, share: None)


if __name__ == "__main__":
    main()
