"""What is understood of a repository without a model."""

from __future__ import annotations

from pathlib import Path

from rolecall_analysis import Index
from rolecall_server.team.documents import Document, parse, render
from rolecall_server.team.documents.understanding import lines_of, understand
from rolecall_server.workspace import Workspace
from support.workspaces import write_workspace

SHOP = {
    "README.md": "# Shop\n\n[badge]: x\n\nSells things to people, slowly.\n\nMore.\n",
    "pyproject.toml": (
        '[project]\nname = "shop"\nrequires-python = ">=3.11"\ndependencies = ["rich>=14", "httpx[http2]"]\n\n'
        '[project.scripts]\nshop = "shop.cli:main"\n\n[tool.pytest.ini_options]\n\n[tool.ruff]\nline-length = 100\n'
    ),
    "shop/__init__.py": "import os\n\nfrom shop.price import total\n\nLIMIT = 3\n_SECRET = 1\n",
    "shop/__main__.py": "from shop.cli import main\n\nmain()\n",
    "shop/cli.py": "from shop.price import total\n\n\ndef main() -> None:\n    print(total([]))\n",
    "shop/price.py": 'def total(items):\n    """The sum."""\n    return sum(items)\n\n\ndef _round(x):\n    return x\n',
    "tests/test_price.py": "from shop.price import total\n\n\ndef test_total():\n    assert total([]) == 0\n",
}


def facts(root: Path, files: dict[str, str]) -> dict[str, str]:
    index = Index(write_workspace(root, files))
    index.scan()
    try:
        found = understand(index.snapshot(), Workspace(root))
    finally:
        index.close()
    document = Document(id="d1", author="Product Manager", content=found)
    assert parse(document.kind, render(document)) == (document, ())
    return {"title": found.title} | {fact.topic: fact.text for fact in found.facts}


def test_a_repository_is_told_in_ten_lines_at_most(tmp_path: Path):
    assert facts(tmp_path, SHOP) == {
        "title": "shop",
        "What it is": "Shop · Sells things to people, slowly.",
        "Languages": "python (5 files)",
        "Packages": "`shop` (4 files, 3 definitions)",
        "Entry points": "`shop` runs `shop.cli:main`, `shop/__main__.py`",
        "Public names": "`shop` gives `LIMIT`, `total`",
        "Most depended on": "`shop.price` (2 importers)",
        "Largest files": "`shop/price.py` (2 definitions), `shop/cli.py` (1 definition)",
        "Tests": "1 test in 1 file, most in `tests`; run by pytest",
        "Conventions": "of 2 public functions 1 have a docstring, 1 say what they return; ruff configured; "
        "lines of at most 100",
        "Needs": "Python >=3.11; `rich`, `httpx`",
    }


def test_another_language_is_told_with_what_is_known_of_it(tmp_path: Path):
    files = {
        "package.json": "{}",
        "src/cart.ts": 'import { total } from "./price";\nexport function pay() { return total([]); }\n',
        "src/order.ts": 'import { total } from "./price";\nexport class Order {}\n',
        "src/price.ts": "export function total(items: number[]) { return 0; }\n",
    }
    told = facts(tmp_path, files)
    assert told["Languages"] == "typescript (3 files)"
    assert told["Packages"] == "`src` (3 files, 3 definitions)"
    assert told["Most depended on"] == "`src/price.ts` (2 importers)"
    assert told["Tests"] == "none were found"


def test_nothing_is_made_up_of_an_empty_folder(tmp_path: Path):
    assert facts(tmp_path, {}) == {"title": tmp_path.name, "Tests": "none were found"}


def test_a_folder_that_is_a_package_itself_and_a_broken_pyproject_are_no_hindrance(tmp_path: Path):
    told = facts(tmp_path, {"__init__.py": "from .a import f\n", "a.py": "def f(): pass\n", "pyproject.toml": "[[["})
    assert told["Languages"] == "python (2 files)"


def test_the_developers_corrections_go_before_the_facts(tmp_path: Path):
    index = Index(write_workspace(tmp_path, {"a.py": "x = 1\n"}))
    index.scan()
    found = understand(index.snapshot(), Workspace(tmp_path))
    index.close()
    corrected = found.model_copy(update={"corrections": ("It is a toy.",)})
    rest = ("Packages: `.` (1 file, 0 definitions)", "Tests: none were found")
    assert [*lines_of(corrected)] == ["It is a toy.", "Languages: python (1 file)", *rest]
