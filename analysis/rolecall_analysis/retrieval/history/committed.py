"""The texts of files when they were committed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from rolecall_analysis.programs import run_git

_DIFF_TREE = (
    *("diff-tree", "--root", "--relative", "--no-renames"),
    *("--no-ext-diff", "--no-textconv", "--no-commit-id"),
)


def committed_text(root: Path, path: str) -> str | None:
    """Return the text of *path* below *root* in the commit that is checked out; ``None`` where it has none, or is
    empty.

    Bytes that are no UTF-8 come back as replacement characters.
    """
    # Without `./` git takes the path from the top of the repository, of which *root* may be a part.
    return run_git(root, "cat-file", "blob", f"HEAD:./{path}") or None


def commit_of(root: Path, revision: str) -> str:
    """Return the id of the commit that *revision* names (``main``, ``HEAD~2``); empty where it names none."""
    if "\0" in revision:  # no program can be given it
        return ""
    return run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()


def texts_before(root: Path, commit: str, now: Mapping[str, str], suffixes: tuple[str, ...]) -> dict[str, str | None]:
    """Return the texts that the files below *root* had in *commit*, where they are not as they are *now*.

    ``None`` for a file that was not there. Files that are gone are among them, by *suffixes*. Two texts that differ in
    line endings alone are the same. Nothing of the work tree is read: *now* says all there is to know of it.
    """
    blobs = {path: blob for path, blob in _blobs(root, commit) if path.endswith(suffixes)}
    found: dict[str, str | None] = {path: None for path in now if path not in blobs}
    for path, blob in blobs.items():
        text = now.get(path)
        # Most files are as they were: an id that is the same spares a run of git for each of them.
        if text is not None and blob == _blob_id(text, len(blob)):
            continue
        before = run_git(root, "cat-file", "blob", blob)
        if text is None or "".join(before.splitlines()) != "".join(text.splitlines()):
            found[path] = before
    return found


def message_of(root: Path, commit: str) -> str:
    """Return the message of a commit."""
    return run_git(root, "show", "--no-patch", "--no-show-signature", "--format=%B", commit).strip()


def paths_changed_in(root: Path, commit: str) -> list[str]:
    """Return the files below *root* that a commit changed, made or deleted; none for a merge."""
    return run_git(root, *_DIFF_TREE, "-r", "--name-only", "-z", commit).split("\0")[:-1]


def diff_of(root: Path, commit: str, path: str) -> str:
    """Return what a commit changed in the file *path* below *root*, as a unified diff without its header."""
    diff = run_git(root, *_DIFF_TREE, "-p", commit, "--", path)
    _, at, hunks = diff.partition("\n@@")
    return f"@@{hunks}" if at else ""


def _blobs(root: Path, commit: str) -> Iterator[tuple[str, str]]:
    """Yield path and id of the files below *root* in a commit."""
    for row in run_git(root, "ls-tree", "-r", "-z", commit).split("\0"):
        about, _, path = row.partition("\t")
        if path and about.split()[1] == "blob":
            yield path, about.split()[2]


def _blob_id(text: str, length: int) -> str:
    """Return the id that git gives *text*, as long as the ids of its repository are."""
    content = text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha1(usedforsecurity=False) if length == 40 else hashlib.sha256()
    digest.update(b"blob %d\0" % len(content) + content)
    return digest.hexdigest()
