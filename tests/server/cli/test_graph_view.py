"""The page of `rolecall graph view`: its data, and that nothing in a repository can break out of it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from rolecall_server.cli.graph.view import Calls, render_page, view_data, write_view
from rolecall_server.cli.reading import read_code
from rolecall_server.cli.screen import Screen
from rolecall_server.errors import FileRefused

HOSTILE = "</script><script>alert(1)</script>\u2028<!--<script>{data}"
quiet = Screen(stderr=True, quiet=True)


class Scripts(HTMLParser):
    """What a browser would take for scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.links: list[str] = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag == "script"
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.found.append(data)
            self._inside = False


def write_shop(root: Path) -> Path:
    (root / "shop").mkdir()
    (root / "tests").mkdir()
    (root / "shop" / "__init__.py").write_text("")
    (root / "shop" / "price.py").write_text(
        "class Price:\n    def total(self):\n        return add()\n\ndef add(): ...\n"
    )
    (root / "tests" / "test_price.py").write_text("from shop import price\n\nprice.add()\n")
    return root


@pytest.mark.parametrize("calls", ["names", "values"])
def test_files_symbols_imports_and_calls_are_told_by_number(tmp_path: Path, calls: Calls) -> None:
    data = view_data(read_code(write_shop(tmp_path), quiet), "shop", calls, quiet)
    assert data["files"] == [
        ("shop/__init__.py", "shop", 0, 0),
        ("shop/price.py", "shop.price", 5, 0),
        ("tests/test_price.py", "tests.test_price", 3, 1),
    ]
    assert data["symbols"] == [(1, "Price", "class", 1), (1, "Price.total", "method", 2), (1, "add", "function", 5)]
    assert data["imports"] == [2, 1]
    assert data["calls"] == [2, 5, 1, 4, 5, 1]


def test_of_a_package_the_paths_begin_inside_and_the_names_outside(tmp_path: Path) -> None:
    data = view_data(read_code(write_shop(tmp_path) / "shop", quiet), "shop", "names", quiet)
    assert [row[:2] for row in data["files"]] == [("__init__.py", "shop"), ("price.py", "shop.price")]


def test_whatever_the_code_is_called_the_page_has_its_own_scripts_only() -> None:
    data = {"title": HOSTILE, "files": [(HOSTILE, HOSTILE, 1, 0)], "symbols": [], "imports": [], "calls": []}
    page = render_page(HOSTILE, data)
    scripts = Scripts(page)
    assert len(scripts.found) == 2
    assert json.loads(scripts.found[0]) == json.loads(json.dumps(data))
    assert "alert(1)" not in scripts.found[1]


def test_the_page_needs_nothing_from_anywhere() -> None:
    page = render_page("shop", {"title": "shop", "files": [], "symbols": [], "imports": [], "calls": []})
    assert not Scripts(page).links
    assert set(re.findall(r"https?://[^\s\"']+", page)) == {"http://www.w3.org/2000/svg"}, "a name, not an address"
    assert "default-src 'none'" in page


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    code = read_code(write_shop(tmp_path), quiet)
    with pytest.raises(FileRefused, match="cannot be written"):
        write_view(code, "shop", tmp_path / "no" / "folder.html", "names", quiet)
