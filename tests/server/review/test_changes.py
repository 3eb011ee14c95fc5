"""What the developer decides on: texts, new files, files that go or move."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall_server.review.proposals.changes import changes_of
from rolecall_server.review.proposals.proposal import FileChange, HunkKind
from rolecall_server.review.proposals.rendering import describe_hunk, file_header, hunk_diff, hunk_header
from rolecall_server.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "price.py").write_text("def total(items):\n    return sum(items)\n")
    (tmp_path / "old.py").write_bytes("# coding: latin-1\nNAME = 'é'\n".encode("latin-1"))
    return Workspace(tmp_path.resolve())


def rendered(change: FileChange) -> list[str]:
    lines = file_header(change)
    for hunk in change.hunks:
        lines += [hunk_header(change, hunk), *hunk_diff(change, hunk)]
    return lines


def test_a_file_that_goes_is_one_hunk_with_all_its_lines(workspace: Workspace) -> None:
    (change,) = changes_of(workspace, {"price.py": None}, {})
    assert [hunk.kind for hunk in change.hunks] == [HunkKind.DELETE]
    assert rendered(change) == [
        "deleted file",
        "--- a/price.py",
        "+++ /dev/null",
        "@@ -1,2 +0,0 @@ h1",
        "-def total(items):",
        "-    return sum(items)",
    ]
    assert describe_hunk(change, change.hunks[0]) == "deletes price.py (-2)"


def test_a_file_that_moves_is_a_hunk_beside_those_of_its_text(workspace: Workspace) -> None:
    files = {"price.py": None, "cost.py": "def total(items):\n    return sum(items) or 0\n"}
    (change,) = changes_of(workspace, files, {"price.py": "cost.py"})
    assert (change.path, change.renamed_to) == ("price.py", "cost.py")
    assert [(hunk.id, hunk.kind) for hunk in change.hunks] == [("h1", HunkKind.RENAME), ("h2", HunkKind.TEXT)]
    assert rendered(change)[:5] == [
        "rename from price.py",
        "rename to cost.py",
        "--- a/price.py",
        "+++ b/cost.py",
        "@@ -0,0 +0,0 @@ h1 renames price.py to cost.py",
    ]


def test_an_empty_new_file_is_a_hunk_that_makes_it(workspace: Workspace) -> None:
    (change,) = changes_of(workspace, {"shop/__init__.py": ""}, {})
    assert [hunk.kind for hunk in change.hunks] == [HunkKind.CREATE]
    assert describe_hunk(change, change.hunks[0]) == "makes shop/__init__.py, an empty file"


def test_a_text_that_is_as_it_was_is_no_change(workspace: Workspace) -> None:
    assert changes_of(workspace, {"price.py": "def total(items):\n    return sum(items)\n"}, {}) == ()


def test_what_a_file_is_written_in_is_remembered(workspace: Workspace) -> None:
    (change,) = changes_of(workspace, {"old.py": None}, {})
    assert (change.base, change.encoding) == ("# coding: latin-1\nNAME = 'é'\n", "iso8859-1")
