"""The house itself: folders that can be surveyed, names that mean one thing, a map that names every room."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise, takewhile
from pathlib import Path

import pytest

from rolecall_server.python_trees import parse_python

REPOSITORY = Path(__file__).parents[2]
PACKAGES = (REPOSITORY / "analysis" / "rolecall_analysis", REPOSITORY / "server" / "rolecall_server")
MODULES = [path for package in PACKAGES for path in sorted(package.rglob("*.py"))]
TREES = {path: parse_python(path.read_text(encoding="utf-8")) for path in MODULES}
MOST_MODULES = 15
RIDDLES = frozenset({"What", "Whether", "Which", "Where", "Who", "Whose", "Why", "How", "When"})
RIDDLES_OF_VALUES = frozenset({"What", "Whether", "Which", "How"})
SHARED_NAMES = frozenset[str]()
"""Names of classes that two modules may use."""


def documented() -> Iterator[tuple[str, str]]:
    """Yield each function's place and the first word of its docstring."""
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (text := ast.get_docstring(node)):
                yield f"{path.relative_to(REPOSITORY)}:{node.lineno}", text.split()[0]


def described() -> Iterator[tuple[str, str]]:
    """Yield the place and the first word of each docstring below a value, but for those in schemas that models read."""
    blocks = [(path, node) for path, tree in TREES.items() for node in ast.walk(tree) if hasattr(node, "body")]
    in_schemas = {"BaseModel"}
    for _ in range(3):  # a model of a model of a model
        in_schemas |= {
            node.name for _, node in blocks if isinstance(node, ast.ClassDef) and bases_of(node) & in_schemas
        }
    for path, block in blocks:
        if isinstance(block, ast.Module | ast.FunctionDef) or (
            isinstance(block, ast.ClassDef) and block.name not in in_schemas
        ):
            for value, text in pairwise(block.body):
                match value, text:
                    case ast.Assign() | ast.AnnAssign(), ast.Expr(ast.Constant(str() as words)):
                        yield f"{path.relative_to(REPOSITORY)}:{text.lineno}", words.split()[0]
                    case _:
                        pass


def bases_of(node: ast.ClassDef) -> set[str]:
    return {name.id for base in node.bases for name in ast.walk(base) if isinstance(name, ast.Name)}


def folders_in(cell: str) -> Iterator[str]:
    """Yield the folders of a row of the map: ``a/{b,c}/`` names three, and ``b/`` after ``a/`` is ``a/b/`` too."""
    first = ""
    for path in re.findall(r"`([^`]+/)`", cell):
        before, brace, inside = path.partition("{")
        paths = [before, *(f"{before}{name}/" for name in inside.rstrip("}/").split(","))] if brace else [path]
        for name in paths:
            yield name
            yield first + name
        first = first or path


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_folder_has_at_most_fifteen_modules(package: Path) -> None:
    sizes = Counter(path.parent for path in package.rglob("*.py"))
    assert {str(folder): n for folder, n in sizes.items() if n > MOST_MODULES} == {}


def test_the_name_of_a_class_means_one_thing() -> None:
    found = defaultdict[str, list[str]](list)
    for path, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and path.parent.name != "child":
                found[node.name].append(str(path.relative_to(REPOSITORY)))
    assert {name: paths for name, paths in found.items() if len(paths) > 1 and name not in SHARED_NAMES} == {}


def test_a_docstring_says_what_is_returned_or_done() -> None:
    assert [place for place, word in documented() if word.strip(".,:;`") in RIDDLES] == []


def test_the_docstring_of_a_value_is_no_question() -> None:
    assert [place for place, word in described() if word in RIDDLES_OF_VALUES] == []


def test_the_makefile_runs_only_programs_that_are_there() -> None:
    named = re.findall(
        r"(?:scripts|benchmarks)/\S+\.(?:py|sh|txt)", (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    )
    assert [path for path in named if not (REPOSITORY / path).is_file()] == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_the_map_names_every_folder(package: Path) -> None:
    told = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = told.partition("## Code map")[2].partition("\n## ")[0].splitlines()
    named = {folder for row in rows if row.startswith("|") for folder in folders_in(row.split("|")[1])}
    folders = {path.parent for path in package.rglob("*.py")} - {package}
    assert {name for folder in folders if (name := f"{folder.relative_to(package)}/") not in named} == set()


def test_each_threat_names_tests_that_are_there() -> None:
    """A row of docs/security.md whose last cell names no test, or one that was moved or removed, promises too much."""
    known = {path.name for folder in ("tests", "client-vscode/test") for path in (REPOSITORY / folder).rglob("*test*")}
    lines = (REPOSITORY / "docs" / "security.md").read_text(encoding="utf-8").split("\n")
    starts = [i + 2 for i, line in enumerate(lines) if line == "| threat | held by | test |"]
    rows = [row for start in starts for row in takewhile(lambda line: line.startswith("|"), lines[start:])]
    named = {row: re.findall(r"`([^`]+)`", row.rstrip("| ").rpartition("|")[2]) for row in rows}
    assert len(starts) >= 3
    assert [row for row, tests in named.items() if not tests] == []
    assert [test for tests in named.values() for test in tests if Path(test).name not in known] == []
