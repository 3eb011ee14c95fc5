"""Print the version and the path of each Python from 3.11 on that this machine has, one of each minor version.

They are looked for where they usually lie: on PATH, with pyenv, with uv. What does not start is passed over.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

OLDEST = (3, 11)
ASKING = """
import sqlite3, ssl, sys, venv  # a Python that was built without one of these is of no use
if sys.implementation.name == "cpython" and "t" not in sys.abiflags:
    print(*sys.version_info[:2], sys.executable)
"""


def candidates() -> Iterator[str]:
    """Yield the paths of programs that may be a Python, those first that are preferred."""
    yield sys.executable
    yield from filter(None, (shutil.which(f"python3.{minor}") for minor in range(OLDEST[1], 100)))
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(pyenv.glob("versions/3.*/bin/python3"), reverse=True))
    listing = [os.environ["UV"], "python", "list", "--only-installed"]
    listed = _output(listing)
    yield from (line.split()[1] for line in listed.splitlines())


def find_pythons() -> dict[tuple[int, int], str]:
    """Return the path of the preferred Python of each minor version, oldest first."""
    found: dict[tuple[int, int], str] = {}
    for program in candidates():
        if said := _output([program, "-I", "-c", ASKING]):
            major, minor, path = said.strip().split(" ", 2)
            found.setdefault((int(major), int(minor)), path)
    return {version: found[version] for version in sorted(found) if version >= OLDEST}


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603 - what lies on PATH


if __name__ == "__main__":
    for (major, minor), path in find_pythons().items():
        print(f"{major}.{minor} {path}")
