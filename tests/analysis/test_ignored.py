"""What a repository leaves out is what git would leave out."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolecall_analysis import Index
from rolecall_analysis.folder import SourceFile, files_below, source_files
from rolecall_analysis.ignored import Ignored
from support.fixture import parse_fixture


def found(root: Path) -> set[str]:
    return {one.path for one in source_files(root) if isinstance(one, SourceFile)}


def test_gitignore_files_count_in_their_folder_and_below_and_the_nearest_decides(tmp_path: Path) -> None:
    parse_fixture(
        """
        #- .gitignore
        generated/
        *_pb2.py
        /only_here.py
        # a comment
        !kept_pb2.py
        #- a_pb2.py
        #- kept_pb2.py
        #- only_here.py
        #- generated/x.py
        #- pkg/generated/y.py
        #- pkg/only_here.py
        #- pkg/.gitignore
        !b_pb2.py
        secret.py
        #- pkg/b_pb2.py
        #- pkg/secret.py
        #- pkg/deep/secret.py
        #- secret.py
        """
    ).write_to(tmp_path)
    assert found(tmp_path) == {"kept_pb2.py", "pkg/only_here.py", "pkg/b_pb2.py", "secret.py"}


def test_what_lies_in_an_ignored_folder_cannot_be_brought_back(tmp_path: Path) -> None:
    parse_fixture("#- .gitignore\nout/\n!out/kept.py\n#- out/kept.py\n#- a.py\n").write_to(tmp_path)
    assert found(tmp_path) == {"a.py"}


def test_who_opens_a_folder_that_is_left_out_sees_what_is_in_it(tmp_path: Path) -> None:
    parse_fixture(
        """
        #- .gitignore
        generated/
        #- generated/pkg/x.py
        #- venv/.gitignore
        *
        #- venv/lib/pkg/y.py
        """
    ).write_to(tmp_path)
    (tmp_path / ".git").mkdir()
    assert found(tmp_path) == set()
    assert found(tmp_path / "generated" / "pkg") == {"x.py"}
    assert found(tmp_path / "venv" / "lib") == {"pkg/y.py"}


def test_the_repositorys_own_exclusions_and_the_files_above_an_opened_folder_count(tmp_path: Path) -> None:
    parse_fixture(
        """
        #- .git/info/exclude
        mine.py
        #- .gitignore
        /app/src/anchored.py
        src/slashed.py
        anywhere.py
        #- app/.gitignore
        src/near.py
        #- app/src/mine.py
        #- app/src/anchored.py
        #- app/src/slashed.py
        #- app/src/anywhere.py
        #- app/src/near.py
        #- app/src/kept.py
        """
    ).write_to(tmp_path)
    assert found(tmp_path / "app" / "src") == {"kept.py", "slashed.py"}


def test_a_linked_work_tree_has_the_exclusions_of_the_main_one(tmp_path: Path) -> None:
    parse_fixture(
        """
        #- main/.git/info/exclude
        mine.py
        #- main/.git/worktrees/other/commondir
        ../..
        #- other/mine.py
        #- other/kept.py
        """
    ).write_to(tmp_path)
    (tmp_path / "other" / ".git").write_text(f"gitdir: {tmp_path}/main/.git/worktrees/other\n")
    assert found(tmp_path / "other") == {"kept.py"}


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
@pytest.mark.parametrize("place", ["config/git/ignore", "mine", "empty"])
def test_what_the_user_leaves_out_of_every_repository_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    home, root = tmp_path / "home", tmp_path / "repository"
    parse_fixture("#- .gitignore\n!kept.py\n#- mine.py\n#- kept.py\n#- a.py\n").write_to(root)
    parse_fixture(f"#- {place}\nmine.py\nkept.py\n").write_to(home)
    named = {"mine": f"[core]\nexcludesFile = ~/{place}\n", "empty": "[core]\nexcludesFile =\n"}
    (home / ".gitconfig").write_text(named.get(place, ""))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    (root / ".git").mkdir()
    assert found(root) == ({"a.py", "kept.py"} | ({"mine.py"} if place == "empty" else set()))


def test_a_pattern_that_would_take_hours_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*a*a*a*a*a*a*a*a*a*a*b\nleft_out.py\n")
    for name in ("a" * 200, "left_out"):
        (tmp_path / f"{name}.py").write_text("x = 1")
    index = Index(tmp_path)
    (problem,) = index.scan()
    assert problem.path == ".gitignore"
    assert set(index.snapshot().files) == {f"{'a' * 200}.py"}


@pytest.mark.parametrize("content", [b"\xff\xfe\0", b"!\n\\\n[\n/\n//\n", b"a" * 3_000_000, b"\r\n\r\n"])
def test_any_content_of_a_gitignore_is_survived(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".gitignore").write_bytes(content)
    (tmp_path / "kept.py").write_text("x = 1")
    assert found(tmp_path) == {"kept.py"}


NAMES = ["a", "b", "ab", "a.py", "b.py", "ab.py"]
PATHS = [f"{folder}{name}" for folder in ("", "a/", "b/", "a/b/", "ab/a/") for name in ("a.py", "b.py", "ab.py")]
OTHER_PATHS = [".ci/a", ".ci/b/a.yml", "build/b", "dist/ab", "a/.b/ab"]
"""Files that are no source, in folders that only git would look into."""
parts = st.sampled_from([*NAMES, "*", "**", "a*", "*.py", "?.py", "[ab].py", "*b", "[!a].py"])
patterns = st.builds(
    lambda negation, start, middle, end: f"{negation}{start}{'/'.join(middle)}{end}",
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(parts, min_size=1, max_size=3),
    st.sampled_from(["", "", "/"]),
)
ignore_files = st.lists(patterns, max_size=4).map("\n".join)


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
@settings(max_examples=60, deadline=None)
@given(ignore_files, ignore_files, ignore_files)
def test_what_is_left_out_is_what_git_leaves_out(
    tmp_path_factory: pytest.TempPathFactory, outer: str, inner: str, users: str
) -> None:
    root = tmp_path_factory.mktemp("git")
    for path in (*PATHS, *OTHER_PATHS):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("")
    (root / ".gitignore").write_text(outer)
    (root / "a" / ".gitignore").write_text(inner)
    git = ["git", "-C", str(root)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "config", "core.excludesFile", ".git/users"], check=True)
    (root / ".git" / "users").write_text(users)
    listed = subprocess.run(
        [*git, "ls-files", "--others", "--exclude-standard", "-z"], check=True, capture_output=True, text=True
    )
    by_git = {path for path in listed.stdout.split("\0") if path}
    assert found(root) == {path for path in by_git if path.endswith(".py")}
    every = files_below(Ignored(root, as_git_does=True), "", lambda path: True)
    assert {one.path for one in every if isinstance(one, SourceFile)} == by_git
