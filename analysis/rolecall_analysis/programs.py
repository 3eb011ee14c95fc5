"""Programs of the machine, and none that a repository brings along; git so that it runs nothing of a repository's."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from threading import Timer

MAX_OUTPUT_BYTES = 64_000_000
GIT_TIMEOUT_S = 10.0
"""For each run of git; what was printed until then counts."""

_SAFE_OPTIONS = (
    "--no-pager",
    "--no-replace-objects",
    # Settings of the repository could name programs here, or lead git to some.
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", f"core.attributesFile={os.devnull}"),
    # Without this, git writes the characters of a path that are not ASCII as octal numbers.
    *("-c", "core.quotePath=false"),
    *("-c", "diff.external="),
    *("-c", "log.showSignature=false"),
    *("-c", "protocol.allow=never"),
)


def find_program(name: str, root: Path) -> str | None:
    """Return the program *name* from the search path, except from places inside *root* and from relative entries.

    A *name* with a folder in it is a place already, and stays what it is; ``None`` where nothing can be run there.
    """
    here = root.resolve()
    places = [Path(place) for place in os.get_exec_path()]
    outside = [str(place) for place in places if place.is_absolute() and not place.resolve().is_relative_to(here)]
    return shutil.which(name, path=os.pathsep.join(outside))


def git_refusal(root: Path) -> str:
    """Return git's own words, with the cure, where it reads no repository at *root* as another user owns it; else
    empty.
    """
    said = run_git(root, "rev-parse", "--git-dir", with_errors=True)
    # The cure is a command, and so the same in every language.
    return said.strip() if "safe.directory" in said else ""


def run_git(
    root: Path, *arguments: str, stdin: str = "", stranger: Path | None = None, with_errors: bool = False
) -> str:
    """Return the output of a git command, as far as it came in time; empty where it cannot be run.

    It is run so that a hostile repository cannot make it run anything: no hooks, pager, file-system monitor, signature
    check or transport. Git itself is taken from no place inside *stranger*, which is *root* where nothing else is
    named.
    """
    git = find_program("git", stranger or root)
    if git is None:
        return ""
    # A file and no pipe: git may print before it has read all, and would then wait for us while we wait for it.
    with tempfile.TemporaryFile() as given:
        given.write(stdin.encode())
        given.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603
                [git, *_SAFE_OPTIONS, "-C", str(root), *arguments],
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if with_errors else subprocess.DEVNULL,
                env=_safe_environment(os.environ),
            )
        except OSError:
            return ""
    with process:
        assert process.stdout is not None
        timer = Timer(GIT_TIMEOUT_S, process.kill)
        timer.start()
        try:
            output = process.stdout.read(MAX_OUTPUT_BYTES)
        finally:
            timer.cancel()
            # Git may have more to say than we read, and would wait for ever to say it.
            process.kill()
    return output.decode("utf-8", "replace")


def _safe_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what points git at another repository or makes it run a program; without a way to fetch."""
    kept = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_ALLOW_PROTOCOL": "",
        # A partial clone fetches what it lacks, from wherever the repository says.
        "GIT_NO_LAZY_FETCH": "1",
        # Else even a look at the state may write git's index, and get in the way of the developer's own git.
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }
