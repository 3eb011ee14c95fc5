"""Print what a newcomer meets in the product's code, for one checkout or for several side by side.

    python benchmarks/studies/house.py [CHECKOUT...]

A checkout is a folder with `server/` and `analysis/` in it: this one where none is named, or what
`git archive COMMIT | tar -x -C FOLDER` makes of an earlier commit.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles

from rich.console import Console
from rich.table import Table

PACKAGES = ("analysis/rolecall_analysis", "server/rolecall_server")
RIDDLES = ("What", "Whether", "Which", "Where", "Who", "Whose", "Why", "How", "When")
FLAT = 15
"""Modules in a folder that can still be surveyed."""
LONG = 400
COPIED = 6
"""Lines in a row that are the same elsewhere count as copied."""


@dataclass(frozen=True)
class Module:
    """A file of the product."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """All of its functions, nested ones and methods as well."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def main() -> None:
    """Print one column for each checkout."""
    checkouts = [Path(name) for name in sys.argv[1:]] or [Path(__file__).parents[2]]
    columns = [dict(figures(modules_of(checkout))) for checkout in checkouts]
    table = Table("figure", *(checkout.resolve().name for checkout in checkouts))
    for name in columns[0]:
        table.add_row(name, *(column[name] for column in columns))
    Console().print(table)


def modules_of(checkout: Path) -> list[Module]:
    """Return the modules of both packages."""
    paths = [path for package in PACKAGES for path in sorted((checkout / package).rglob("*.py"))]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    return [Module(path, text, ast.parse(text)) for path, text in texts.items()]  # noqa: TID251 - one thread


def figures(modules: Sequence[Module]) -> Iterator[tuple[str, str]]:
    """Yield each figure with its name."""
    sizes = [module.text.count("\n") for module in modules]
    functions = [function for module in modules for function in module.functions]
    lengths = sorted((function.end_lineno or function.lineno) - function.lineno + 1 for function in functions)
    folders = Counter(module.path.parent for module in modules)
    n_lines = sum(sizes)
    yield "modules", f"{len(modules)}"
    yield "lines", f"{n_lines:,}"
    yield f"modules above {LONG} lines", f"{sum(size > LONG for size in sizes)}"
    yield "functions", f"{len(functions):,}"
    yield "lines of a function: median/90th percentile/most", f"{median(lengths):.0f}/{ninth(lengths)}/{lengths[-1]}"
    yield f"folders with more than {FLAT} modules", f"{sum(n > FLAT for n in folders.values())}"
    yield "most modules in a folder", f"{max(folders.values())}"
    yield "class names of two modules or more", f"{len(homonyms(modules))}"
    yield "docstrings of functions that begin with What, Whether, ...", percent(riddles(functions))
    yield "comments in 100 lines", f"{100 * sum(map(n_comments, modules)) / n_lines:.1f}"
    yield "comments, and notes beneath a name, in 100 lines", f"{100 * sum(map(n_notes, modules)) / n_lines:.1f}"
    yield f"lines in a row of {COPIED} that stand elsewhere too", f"{n_copied(modules):,}"


def ninth(lengths: Sequence[int]) -> int:
    """Return the 90th percentile."""
    return round(quantiles(lengths, n=10)[-1])


def percent(share: float) -> str:
    """Return *share* in percent."""
    return f"{100 * share:.0f} %"


def homonyms(modules: Sequence[Module]) -> list[str]:
    """Return the names of classes that two modules define; what runs in a child process has names of its own."""
    holders = defaultdict[str, set[Path]](set)
    for module in modules:
        if module.path.parent.name != "child":
            for node in module.tree.body:
                if isinstance(node, ast.ClassDef):
                    holders[node.name].add(module.path)
    return [name for name, paths in holders.items() if len(paths) > 1]


def riddles(functions: Sequence[ast.FunctionDef | ast.AsyncFunctionDef]) -> float:
    """Return the share of docstrings that ask instead of telling."""
    told = [text.split()[0] for function in functions if (text := ast.get_docstring(function))]
    return sum(word.strip(".,:;`") in RIDDLES for word in told) / len(told)


def n_comments(module: Module) -> int:
    """Return how many comments it has, those for tools left out."""
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return sum(not comment.startswith(("# noqa", "# pyright", "# type")) for comment in comments)


def n_notes(module: Module) -> int:
    """Return how many comments it has, and texts beneath a constant or a field: elsewhere these are comments too."""
    bodies = (node.body for node in ast.walk(module.tree) if isinstance(node, ast.Module | ast.ClassDef))
    pairs = (pair for body in bodies for pair in pairwise(body))
    return n_comments(module) + sum(
        isinstance(name, ast.Assign | ast.AnnAssign) and is_text(note) for name, note in pairs
    )


def is_text(node: ast.stmt) -> bool:
    """Return whether *node* is nothing but a string."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def n_copied(modules: Sequence[Module]) -> int:
    """Return how many lines stand in a row of `COPIED` that another place has too; imports and blank lines left out."""
    places = defaultdict[tuple[str, ...], list[tuple[Path, int]]](list)
    for module in modules:
        lines = [line.strip() for line in module.text.splitlines()]
        kept = [(number, line) for number, line in enumerate(lines) if is_code(line)]
        for start in range(len(kept) - COPIED + 1):
            places[tuple(line for _, line in kept[start : start + COPIED])].append((module.path, start))
    copied = {
        (path, start + n) for found in places.values() if len(found) > 1 for path, start in found for n in range(COPIED)
    }
    return len(copied)


def is_code(line: str) -> bool:
    """Return whether *line* is more than an import, a comment, a bracket or nothing."""
    return len(line) > 3 and not line.startswith(("#", "from ", "import ", '"""'))


if __name__ == "__main__":
    main()
