"""The files that a brief names, and what is shown of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from rolecall_analysis import Index, Snapshot
from rolecall_analysis.retrieval.history.committed import commit_of
from rolecall_server.context import ContextItem, Focus, PackSource, named_files, pack
from rolecall_server.context.named import named_passages
from rolecall_server.errors import FileRefused
from rolecall_server.model import estimate_tokens
from rolecall_server.workspace import Workspace
from support.traps import commit, git
from support.workspaces import write_workspace

GUIDE = "".join(f"Chapter {number} is about other things.\n" for number in range(400))
FILES = {
    "README.md": "# Shop\n",
    "CHANGELOG.rst": "1.0\n===\n",
    "docs/guide.rst": GUIDE.replace("Chapter 200 is", "Chapter 200 explains ``refund()`` and is"),
    "shop/price.py": "RATE = 1\n",
}


@pytest.mark.parametrize(
    ("brief", "named"),
    [
        ("Let total take a tax.", ()),
        ("Describe it in docs/guide.rst, and in README.md.", ("docs/guide.rst", "README.md")),
        ("Say it in the changelog.", ("CHANGELOG.rst",)),
        ("Round the price in shop/price.py; README and changelog too", ("shop/price.py", "CHANGELOG.rst", "README.md")),
        ("Make docs/other.rst, version 1.2, and read ../outside.md", ()),
    ],
)
def test_a_brief_names_files_by_path_and_prose_at_the_root_by_title(
    tmp_path: Path, brief: str, named: tuple[str, ...]
) -> None:
    (tmp_path / "outside.md").write_text("not of the workspace")
    assert named_files(Workspace(write_workspace(tmp_path / "work", FILES)), brief) == named


@pytest.mark.parametrize("opened", ["README.md", "no such folder"])
def test_what_is_no_folder_is_refused_by_its_name(tmp_path: Path, opened: str) -> None:
    root = write_workspace(tmp_path / "work", FILES)
    with pytest.raises(FileRefused, match=opened):
        named_files(Workspace(root / opened), "Say it in the changelog.")


def passages(root: Path, path: str, brief: str, room_tokens: int) -> dict[int, str]:
    view = PackSource(Workspace(write_workspace(root, FILES)), Snapshot(), estimate_tokens)
    items = [*named_passages(view, path, brief, room_tokens)]
    return {item.first_line: item.text for item in items if isinstance(item, ContextItem)}


def test_a_short_file_is_shown_whole(tmp_path: Path) -> None:
    assert passages(tmp_path, "README.md", "Say it in README.md.", 1000) == {1: "# Shop\n"}


def test_of_a_long_one_the_beginning_is_shown_and_what_tells_of_the_names_that_the_brief_quotes(tmp_path: Path) -> None:
    shown = passages(tmp_path, "docs/guide.rst", "Describe it beside `refund()` in docs/guide.rst.", 5000)
    beginning, passage = shown
    assert shown[beginning].startswith("Chapter 0 is")
    lines = shown[passage].splitlines()
    assert (passage, lines[6], len(lines)) == (195, "Chapter 200 explains ``refund()`` and is about other things.", 13)
    assert estimate_tokens("".join(shown.values())) <= 0.13 * 5000


def test_of_a_long_file_of_code_the_top_and_what_the_brief_is_about_are_shown(tmp_path: Path) -> None:
    others = "".join(f"def other_{n}(value):\n    first = value + {n}\n    return first\n\n\n" for n in range(300))
    text = f"import math\n\nRATE = 2\n\n\n{others}def refund(order):\n    return -order\n"
    root = write_workspace(tmp_path / "work", {"shop/orders.py": text})
    index = Index(root)
    index.scan()
    view = PackSource(Workspace(root), index.snapshot(), estimate_tokens)
    (item,) = named_passages(view, "shop/orders.py", "Let `refund` round, in shop/orders.py.", 5000)
    assert isinstance(item, ContextItem)
    assert item.text.startswith("import math\n\nRATE = 2\n")
    assert item.text.endswith("def refund(order):\n    return -order\n")
    assert item.tokens <= 0.2 * 5000


def test_what_the_repository_keeps_from_models_is_not_shown(tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "work", {**FILES, ".aiignore": "README.md\n"})
    view = PackSource(Workspace(root), Snapshot(), estimate_tokens)
    packed = pack(view, Focus("", named=("README.md",), brief="README.md"), 5000)
    assert "README.md" not in "".join(f"{item.path} {item.text}" for item in packed.items)
    assert [left.path for left in packed.left_out] == ["README.md"]


def test_a_commit_that_the_brief_names_is_shown_as_a_diff_with_the_code_it_changed(tmp_path: Path) -> None:
    view, commit = _with_a_commit(tmp_path / "work")
    packed = pack(view, Focus("", brief=f"Revert {commit[:7]}, not 1234567 and deadbeef", writes_code=True), 5000)
    diffs = {item.path: item.text for item in packed.items if item.zoom == "diff"}
    assert diffs == {
        "CHANGELOG.rst": "@@ -0,0 +1,2 @@\n+1.0\n+===\n",
        "README.md": "@@ -0,0 +1 @@\n+# Shop\n",
        "shop/price.py": "@@ -0,0 +1 @@\n+RATE = 1\n",
    }
    reasons = {item.reason for item in packed.items if item.zoom == "diff"}
    assert reasons == {f'changed so by commit {commit[:10]}, "total", which the brief names'}
    (code,) = (item for item in packed.items if item.zoom == "file")
    assert (code.path, code.reason.startswith("as it is now, where commit")) == ("shop/price.py", True)
    assert [left.path for left in packed.left_out if left.zoom == "diff"] == ["docs/guide.rst"]


def test_of_a_long_file_of_a_commit_the_code_that_it_changed_is_shown(tmp_path: Path) -> None:
    others = "".join(f"def other_{n}(value):\n    first = value + {n}\n    return first\n\n\n" for n in range(300))
    text = f"{others}def refund(order):\n    return -order\n"
    root = write_workspace(tmp_path / "work", {"shop/orders.py": text})
    commit(root)
    write_workspace(root, {"shop/orders.py": text.replace("-order", "-order.total")})
    git(root, "commit", "-qam", "Refund the total")
    index = Index(root)
    index.scan()
    view = PackSource(Workspace(root), index.snapshot(), estimate_tokens)
    brief = f"Revert {commit_of(root, 'HEAD')}"
    (code,) = (
        item for item in pack(view, Focus("", brief=brief, writes_code=True), 5000).items if item.zoom == "parts"
    )
    assert code.text.endswith("def refund(order):\n    return -order.total\n")
    assert code.tokens <= 0.2 * 5000


def test_of_a_commit_nothing_is_shown_that_is_kept_from_models(tmp_path: Path) -> None:
    view, commit = _with_a_commit(tmp_path / "work", {".aiignore": "shop/\n"})
    packed = pack(view, Focus("", brief=f"Revert {commit}", writes_code=True), 5000)
    assert "RATE" not in "".join(item.text for item in packed.items)


def _with_a_commit(root: Path, more: Mapping[str, str] = MappingProxyType({})) -> tuple[PackSource, str]:
    commit(write_workspace(root, {**FILES, **more}))
    index = Index(root)
    index.scan()
    return PackSource(Workspace(root), index.snapshot(), estimate_tokens), commit_of(root, "HEAD")
