"""The modules around a module."""

from __future__ import annotations

from pathlib import Path

from rolecall_analysis import Index
from rolecall_server.craft.trial import Bench
from rolecall_server.sandbox import NotRun
from rolecall_server.settings import Settings
from rolecall_server.team.request import Desk
from rolecall_server.team.test_quality.surroundings import neighbours_of
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


def test_what_a_module_imports_comes_before_its_packages_what_imports_it_and_what_these_import(tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "work", FILES).resolve()
    index = Index(root)
    index.scan()
    off = NotRun("nothing is run")
    desk = Desk(Workspace(root), index.snapshot(), Settings(), None, Bench(off, off, 1.0), lambda *_: None)
    modules = [neighbour.module for neighbour in neighbours_of(desk, "shop/cart.py")]
    assert modules == ["shop.money", "shop", "shop.till", "shop.paper"]
