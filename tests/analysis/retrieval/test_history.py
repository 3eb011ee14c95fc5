"""Past commits as evidence, and a repository that would like git to run its programs."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from rolecall_analysis.retrieval.history.commits import MAX_FILES, HistoryReader
from rolecall_analysis.retrieval.history.committed import commit_of

_IDENTITY = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def git(root: Path, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _IDENTITY
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "--quiet")
    return root


def commit(root: Path, message: str, files: Sequence[str]) -> None:
    for path in files:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        with (root / path).open("a", encoding="utf-8") as stream:
            stream.write(f"# {message}\n")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--no-gpg-sign", "-m", message)


def test_commits_come_newest_first_with_their_files_and_the_terms_of_their_messages(repository: Path):
    commit(repository, "Round prices", ["price.py"])
    commit(repository, "Count carts", ["cart.py", "shop/count.py"])

    newest, oldest = HistoryReader(repository).read().commits

    assert newest.files == ("cart.py", "shop/count.py")
    assert newest.terms == ("count", "cart")
    assert oldest.files == ("price.py",)


def test_a_new_commit_is_seen_by_the_same_reader(repository: Path):
    reader = HistoryReader(repository)
    commit(repository, "Round prices", ["price.py"])
    assert len(reader.read().commits) == 1
    commit(repository, "Count carts", ["cart.py"])
    assert len(reader.read().commits) == 2


def test_a_commit_that_changes_very_many_files_is_no_evidence(repository: Path):
    commit(repository, "Reformat", [f"m{number}.py" for number in range(MAX_FILES + 1)])
    assert HistoryReader(repository).read().commits == ()


def test_below_a_folder_of_a_repository_only_its_own_files_count(repository: Path):
    commit(repository, "Round prices", ["shop/price.py", "tools/release.py"])
    (only,) = HistoryReader(repository / "shop").read().commits
    assert only.files == ("price.py",)


def test_a_folder_without_a_repository_and_one_without_commits_have_no_history(tmp_path: Path, repository: Path):
    assert HistoryReader(tmp_path).read().commits == ()
    assert HistoryReader(repository).read().commits == ()


def test_a_file_name_with_odd_characters_is_read_or_left_out(repository: Path):
    commit(repository, "Odd", ["größe.py", 'quo"te.py', "line\nbreak.py", "plain.py"])
    (only,) = HistoryReader(repository).read().commits
    assert set(only.files) == {"größe.py", "plain.py"}


def test_a_message_cannot_forge_the_record_of_another_commit(repository: Path):
    commit(repository, "One \x01" + "0" * 40 + "\x02 fake \x02\nforged.py", ["real.py"])
    assert all("forged.py" not in found.files for found in HistoryReader(repository).read().commits)


def test_nothing_that_the_repository_configures_is_run(repository: Path, tmp_path: Path):
    commit(repository, "Round prices", ["price.py"])
    commit(repository, "Count carts", ["cart.py"])
    witness = tmp_path / "witness"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho ran >> '{witness}'\n", encoding="utf-8")
    program.chmod(0o755)
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "post-index-change", "fsmonitor-watchman", "reference-transaction"):
        (hooks / hook).write_text(program.read_text(encoding="utf-8"), encoding="utf-8")
        (hooks / hook).chmod(0o755)
    for name, value in {
        "core.fsmonitor": str(program),
        "core.pager": str(program),
        "pager.log": str(program),
        "pager.rev-list": str(program),
        "core.sshCommand": str(program),
        "core.gitProxy": str(program),
        "diff.external": str(program),
        "diff.evil.command": str(program),
        "diff.evil.textconv": str(program),
        "gpg.program": str(program),
        "log.showSignature": "true",
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
        "extensions.partialClone": "origin",
        "remote.origin.url": f"ext::{program}",
        "remote.origin.promisor": "true",
        "core.repositoryFormatVersion": "1",
        "alias.rev-list": f"!{program}",
    }.items():
        git(repository, "config", name, value)
    (repository / ".git" / "info" / "attributes").write_text("* diff=evil filter=evil\n", encoding="utf-8")
    lost = git(repository, "rev-parse", "HEAD~1^{tree}").strip()
    (repository / ".git" / "objects" / lost[:2] / lost[2:]).unlink()

    HistoryReader(repository).read()

    assert not witness.exists()
    subprocess.run(["git", "-C", str(repository), "log", "--name-only"], check=False, capture_output=True)
    assert witness.exists(), "the trap does not even catch a plain git"


def test_a_revision_that_no_program_can_be_given_names_no_commit(tmp_path: Path) -> None:
    assert commit_of(tmp_path, "HEAD\0") == ""
