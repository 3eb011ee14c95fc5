"""Measure the check of names against what is installed: false reports, and faults that are put in on purpose.

    python benchmarks/studies/names.py false PYTHON PACKAGE...
    python benchmarks/studies/names.py faults PYTHON PACKAGE... [--each N] [--seed N]

PYTHON is that of an environment in which the packages are installed. Each package is taken for a repository of which
every file is new; the rest of the environment is what is installed. Working code has no wrong name, so that each
report is read as false, but for modules that the environment really lacks: PYTHON is asked whether it can find them.

A fault is another name in place of an attribute, an imported name or the name of an argument: ``made up`` is a word
that nothing has, ``borrowed`` another name of the same package that the holder, where it is known, does not have.
"""

from __future__ import annotations

import argparse
import ast
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rolecall_analysis import Index, Snapshot
from rolecall_analysis.installed.packages import InstalledCode
from rolecall_analysis.installed.world import World
from rolecall_server.python_trees import parse_python
from rolecall_server.review.names.checked_file import WrongName
from rolecall_server.review.names.checking import wrong_names
from rolecall_server.review.names.guarded import guarded_nodes
from rolecall_server.review.names.inference import Inference

SYNONYMS = {
    "get": "fetch",
    "set": "assign",
    "add": "append",
    "remove": "drop",
    "create": "make",
    "make": "build",
    "read": "load",
    "write": "store",
    "send": "transmit",
    "open": "start",
    "close": "shutdown",
    "start": "begin",
    "find": "locate",
    "name": "title",
    "parse": "interpret",
    "value": "content",
    "is": "check",
    "update": "refresh",
}
SUFFIXES = ("_all", "_now", "_by", "_value", "s_of")


def main() -> None:
    """Measure, and print a line for each package."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("measure", choices=("false", "faults"))
    arguments.add_argument("python", type=Path)
    arguments.add_argument("packages", nargs="+")
    arguments.add_argument("--each", type=int, default=60, help="faults of each kind and package")
    arguments.add_argument("--seed", type=int, default=18)
    given = arguments.parse_args()
    places = [Path(line) for line in _ask(given.python, "import sys; print(*sys.path[1:], sep='\\n')").splitlines()]
    totals = Counter[str]()
    for package in given.packages:
        repository = _repository(places, package)
        if given.measure == "false":
            totals += _count_false(repository, package, given.python)
        else:
            totals += _count_told(repository, package, random.Random(f"{given.seed}{package}"), given.each)
    print("all:", _shown(totals))


@dataclass(frozen=True)
class Code:
    """A package as a repository, and what is installed around it."""

    snapshot: Snapshot
    installed: InstalledCode
    paths: tuple[str, ...]


def _ask(python: Path, code: str) -> str:
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout


def _repository(places: Sequence[Path], package: str) -> Code:
    installed = InstalledCode(places)
    found = installed.search_path.find(package)
    assert found is not None, package
    root = Path((found.folders or (found.path,))[0]).parent
    index = Index(root)
    index.refresh([package])
    snapshot = index.snapshot()
    return Code(snapshot, installed, tuple(sorted(path for path in snapshot.files if path.endswith(".py"))))


def _wrong(code: Code, path: str, text: str) -> tuple[WrongName, ...]:
    return wrong_names(World(code.snapshot.with_changes({path: text}), code.installed), path, changed=[path])


def _count_false(code: Code, package: str, python: Path) -> Counter[str]:
    counts, started_s = Counter[str](), time.process_time()
    world = World(code.snapshot, code.installed)
    inference = Inference(world)
    for path in code.paths:
        counts["lines"] += (code.snapshot.text(path) or "").count("\n")
        for one in wrong_names(world, path, inference, changed=[path]):
            if one.kind == "module" and _is_lacking(python, one.name):
                counts["modules that the environment lacks"] += 1
                continue
            counts["certain" if one.certain else one.kind if one.kind == "unheard" else "by annotation"] += 1
            sure = "certain" if one.certain else "possible"
            print(f"  {sure}: {path}, line {one.line + 1}: {one.kind} {one.name} {one.reason}")
    print(f"{package}: {_shown(counts)}; {1000 * (time.process_time() - started_s) / len(code.paths):.0f} ms a file")
    return counts


def _is_lacking(python: Path, module: str) -> bool:
    find = f"print(importlib.util.find_spec({module!r}) is None)"
    return _ask(python, f"import importlib.util\ntry: {find}\nexcept ImportError: print(True)").strip().endswith("True")


@dataclass(frozen=True)
class _Use:
    kind: str
    name: str
    line: int
    """From 0."""
    start: int
    """In bytes of the line."""


def _count_told(code: Code, package: str, chance: random.Random, each: int) -> Counter[str]:
    texts = {path: code.snapshot.text(path) or "" for path in code.paths}
    uses = {path: list(_uses(text)) for path, text in texts.items()}
    vocabulary = sorted({one.name for found in uses.values() for one in found})
    every = [(path, one) for path, found in uses.items() for one in found]
    counts = Counter[str]()
    for kind in ("import", "attribute", "argument"):
        of_kind = [(path, one) for path, one in every if one.kind == kind]
        for number, (path, one) in enumerate(chance.sample(of_kind, min(each, len(of_kind)))):
            way = ("made up", "borrowed")[number % 2]
            name = _made_up(one.name, chance) if way == "made up" else _borrowed(one.name, vocabulary, chance)
            told = [
                found for found in _wrong(code, path, _replaced(texts[path], one, name)) if _is_about(found, one, name)
            ]
            counts[f"{kind} {way}"] += 1
            counts[f"{kind} {way} told as certain"] += any(found.certain for found in told)
            counts[f"{kind} {way} told"] += bool(told)
    print(f"{package}: {_shown(counts)}")
    return counts


def _is_about(found: WrongName, use: _Use, name: str) -> bool:
    return found.line == use.line and (name in found.name or f"'{name}'" in found.reason)


def _uses(text: str) -> Iterator[_Use]:
    """Yield the attributes, imported names and arguments of a text that can be replaced where they stand."""
    tree = parse_python(text)
    guarded = guarded_nodes(tree)
    for node in ast.walk(tree):
        if node in guarded:
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and not node.attr.startswith("_"):
            end, line = node.end_col_offset or 0, (node.end_lineno or 1) - 1
            yield _Use("attribute", node.attr, line, end - len(node.attr.encode()))
        elif isinstance(node, ast.ImportFrom):
            found = (one for one in node.names if one.asname is None and one.name != "*")
            yield from (_Use("import", one.name, one.lineno - 1, one.col_offset) for one in found)
        elif isinstance(node, ast.Call):
            named = (one for one in node.keywords if one.arg)
            yield from (_Use("argument", one.arg or "", one.lineno - 1, one.col_offset) for one in named)


def _made_up(name: str, chance: random.Random) -> str:
    """Return *name* with a word replaced by one that means the same, or with a further word."""
    words = name.split("_")
    known = [n for n, word in enumerate(words) if word in SYNONYMS]
    if known:
        words[known[0]] = SYNONYMS[words[known[0]]]
        return f"{'_'.join(words)}{chance.choice(('', '_it'))}"
    return f"{name}{chance.choice(SUFFIXES)}"


def _borrowed(name: str, vocabulary: Sequence[str], chance: random.Random) -> str:
    alike = [one for one in vocabulary if one != name and set(one.split("_")) & set(name.split("_"))]
    return chance.choice(alike or [one for one in vocabulary if one != name])


def _replaced(text: str, use: _Use, name: str) -> str:
    lines = text.encode().split(b"\n")
    line, end = lines[use.line], use.start + len(use.name.encode())
    # What is imported keeps its name in the rest of the file.
    written = f"{name} as {use.name}" if use.kind == "import" else name
    lines[use.line] = line[: use.start] + written.encode() + line[end:]
    return b"\n".join(lines).decode()


def _shown(counts: Counter[str]) -> str:
    return ", ".join(f"{what} {n:,}" for what, n in counts.items())


if __name__ == "__main__":
    sys.exit(main())
