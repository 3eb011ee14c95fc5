"""Folders full of source, for tests that need much of it."""

from __future__ import annotations

from pathlib import Path


def write_modules(root: Path, n_files: int, marker: str = "first", n_lines: int = 5) -> Path:
    """*n_files* Python files in folders of a hundred below *root*, which is returned.

    The first function of file 7 is ``first7``, the second ``shared``; files of more lines take longer to read.
    """
    more = "".join(f"def more{number}(): return shared({number})\n" for number in range(n_lines - 5))
    for number in range(n_files):
        path = root / f"pkg{number // 100}" / f"m{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"def {marker}{number}():\n    return shared({number})\n\n\ndef shared(n): ...\n{more}")
    return root
