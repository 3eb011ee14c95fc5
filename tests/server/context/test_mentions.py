"""A brief's rare names are told with the lines that have them, so that nobody has to search for them first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from rolecall_analysis import Index
from rolecall_server.context import PackSource
from rolecall_server.context.items import lines_of
from rolecall_server.context.named import mentions, names_in
from rolecall_server.model import estimate_tokens
from rolecall_server.workspace import Workspace
from support.workspaces import write_workspace

FILES = {
    "shop/price.py": "def net_price(total):\n    return total\n\n\ndef gross(total):\n    return net_price(total)\n",
    "docs/prices.md": "# Prices\n\nUse `net_price` for what is left.\n",
    "setup.cfg": "needs = tax==2.3.6\n",
    "CHANGELOG.md": "# 1.0\n\n- net_price is new.\n",
    "uv.lock": "net_price\n",
}


def source(folder: Path, files: Mapping[str, str] = FILES) -> PackSource:
    root = write_workspace(folder / "work", dict(files))
    index = Index(root)
    index.scan()
    try:
        return PackSource(Workspace(root), index.snapshot(), estimate_tokens)
    finally:
        index.close()


def told(view: PackSource, brief: str) -> list[str]:
    return [line for item in mentions(view, brief, []) for line in item.text.splitlines()]


@pytest.mark.parametrize(
    ("brief", "names"),
    [
        ("Let net_price take a rate", ("net_price",)),
        ("Give PriceList a `total` and an `__iter__`", ("total", "__iter__", "PriceList")),
        ("Add pairwise() and bump tax to 2.3.6.", ("pairwise", "2.3.6")),
        ("Raise ValueError where the price is 1.", ()),
        ("Call it like `x()` does, a. b. c", ()),
    ],
)
def test_what_looks_like_code_is_a_name(brief: str, names: tuple[str, ...]) -> None:
    assert names_in(brief) == names


def test_each_line_with_the_name_is_told_but_those_of_changelogs_and_lock_files(tmp_path: Path) -> None:
    assert told(source(tmp_path), "Let net_price take a rate of 2.3.6") == [
        "setup.cfg:1: needs = tax==2.3.6",
        "docs/prices.md:3: Use `net_price` for what is left.",
        "shop/price.py:1: def net_price(total):",
        "shop/price.py:6: return net_price(total)",
    ]


def test_a_line_that_is_shown_is_not_told_again(tmp_path: Path) -> None:
    view = source(tmp_path)
    (item,) = mentions(view, "net_price", [lines_of(view, "shop/price.py", 0, 5, "the file to work on")])
    assert item.text == "docs/prices.md:3: Use `net_price` for what is left.\n"


def test_a_name_that_stands_nowhere_is_said_to(tmp_path: Path) -> None:
    assert told(source(tmp_path), "Add pairwise()") == ["pairwise stands nowhere."]
    assert told(source(tmp_path), "Make it faster") == []


def test_of_a_name_on_many_lines_each_files_first_is_told_and_one_that_is_everywhere_is_left_out(
    tmp_path: Path,
) -> None:
    many = {f"m{number}.py": "rate_of = 1\nrate_of = 2\nall_over = 1\n" + "all_over\n" * 9 for number in range(5)}
    assert told(source(tmp_path, many), "all_over and rate_of") == [
        "rate_of: 10 lines in 5 files, of each file the first:",
        *(f"m{number}.py:1: rate_of = 1" for number in range(5)),
    ]


def test_what_models_may_not_see_is_not_told(tmp_path: Path) -> None:
    view = source(tmp_path, {**FILES, ".rolecallignore": "docs/\n", ".gitignore": "setup.cfg\n"})
    assert [line.partition(":")[0] for line in told(view, "net_price 2.3.6")] == [
        "2.3.6 stands nowhere.",
        "shop/price.py",
        "shop/price.py",
    ]
