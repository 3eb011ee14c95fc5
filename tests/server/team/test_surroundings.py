"""The modules around a module."""

from __future__ import annotations

from pathlib import Path

from rolecall_analysis import Index
from rolecall_server.craft.trial import Bench
from rolecall_server.sandbox import NotRun
from rolecall_server.settings import Settings
from rolecall_server.team.request import Desk
from rolecall_server.team.test_quality.surroundings import neighbours_of, subject_of
from rolecall_server.workspace import Workspace
from support.workspaces import write_workspace

FILES = {
    "shop/__init__.py": "from shop.cart import Cart\n",
    "shop/cart.py": "from shop.money import Money\n\n\nclass Cart: ...\n",
    "shop/money.py": "class Money: ...\n",
    "shop/till.py": "from shop.cart import Cart\nfrom shop.paper import Roll\n",
    "shop/paper.py": "class Roll: ...\n",
    "shop/unrelated.py": "import json\n",
    "shop/broken.py": "from shop.cart import Cart\ndef (:\n",
    "tests/test_cart.py": "from shop.cart import Cart\n",
}


def desk_of(root: Path) -> Desk:
    index = Index(root)
    index.scan()
    off = NotRun("nothing is run")
    return Desk(Workspace(root), index.snapshot(), Settings(), None, Bench(off, off, 1.0), lambda *_: None)


def test_what_a_module_imports_comes_before_its_packages_what_imports_it_and_what_these_import(tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "work", FILES).resolve()
    desk = desk_of(root)
    modules = [neighbour.module for neighbour in neighbours_of(desk, "shop/cart.py")]
    assert modules == ["shop.money", "shop", "shop.till", "shop.paper"]


def test_tests_that_use_a_module_come_before_those_that_name_it_and_those_of_what_imports_it(tmp_path: Path) -> None:
    files = {
        "shop/__init__.py": "",
        "shop/plug_in.py": "def change(text): ...\n",
        "shop/till.py": "from shop.plug_in import change\n\n\ndef run(): ...\n",
        "tests/test_all.py": "from shop.till import run\n",
        "tests/test_names.py": "from engine import start\n\nstart(['shop.plug_in'])\n",
        "tests/test_others.py": "import json\n",
        "tests/test_plug_in.py": "from shop.plug_in import change\n",
    }
    desk = desk_of(write_workspace(tmp_path / "work", files).resolve())
    found = subject_of(desk, "shop/plug_in.py", (), 1.0)
    assert list(found.tests) == ["tests/test_plug_in.py", "tests/test_names.py", "tests/test_all.py"]
