"""The text of a file when it was last committed."""

from __future__ import annotations

from pathlib import Path

from rolecall_analysis.programs import run_git


def committed_text(root: Path, path: str) -> str | None:
    """Return the text of *path* below *root* in the commit that is checked out; ``None`` where it has none, or is
    empty.

    Bytes that are no UTF-8 come back as replacement characters.
    """
    return run_git(root, "cat-file", "blob", f"HEAD:./{path}") or None
