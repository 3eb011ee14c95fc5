"""One run of a command in a shadow: its temporary folder, what it sees as its environment, and its end."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rolecall_server.sandbox.shadow.shadow import Shadow
from rolecall_server.sandbox.shadow.trees import remove_tree
from rolecall_server.sandbox.walls.completion import complete
from rolecall_server.sandbox.walls.confinement import Command, ConfinedPaths
from rolecall_server.sandbox.walls.event_stream import Hearing
from rolecall_server.sandbox.walls.process import OUTPUT_BYTES, ProcessEnd, run_process

_SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
_WINDOWS_NEEDS = ("SYSTEMROOT", "COMSPEC", "PATHEXT")
_XDG = ("CACHE_HOME", "CONFIG_HOME", "DATA_HOME", "STATE_HOME", "RUNTIME_DIR")


@dataclass(frozen=True)
class RunFolder:
    """The place where one run has its home, its temporary files and its report."""

    path: Path

    @property
    def own(self) -> Path:
        """Return the folder that the run fills as it likes."""
        return self.path / "own"

    @property
    def home(self) -> Path:
        """An empty home directory."""
        return self.own / "home"

    @property
    def temporary(self) -> Path:
        """The folder for temporary files."""
        return self.own / "tmp"

    @property
    def plugin(self) -> Path:
        """A folder with what reports, its request, and its report: the only file there that the run may write to."""
        return self.path / "plugin"

    @property
    def lent(self) -> Path:
        """A folder with nothing but the packages that are lent to the run."""
        return self.path / "lent"

    @property
    def noted(self) -> Path:
        """Return the file of what was told about the run over a descriptor; behind walls there is no such file."""
        return self.path / "noted.jsonl"

    @property
    def report(self) -> Path:
        """Return the file of what was told about the run from within."""
        return self.plugin / "report.jsonl"


@asynccontextmanager
async def run_folder(shadow: Shadow) -> AsyncGenerator[RunFolder]:
    """A new folder for one run in *shadow*, removed when it is over.

    Raises:
        OSError: the shadow is gone, or the disk is full.
    """
    folder = RunFolder(Path(tempfile.mkdtemp(prefix="run-", dir=shadow.scratch)))
    try:
        for below in (folder.own, folder.home, folder.temporary, folder.plugin):
            below.mkdir()
        # Behind walls it is the one file that is mounted to be written to, and what is mounted has to be there.
        folder.report.touch()
        yield folder
    finally:
        await complete(asyncio.to_thread(remove_tree, folder.path))


def clean_environment(folder: RunFolder, programs: Sequence[Path]) -> dict[str, str]:
    """Return all that a run sees as its environment; *programs* are the folders where it finds programs first."""
    on_windows = sys.platform == "win32"
    system_path = (os.environ.get("PATH", ""),) if on_windows else _SYSTEM_PATH
    environment = {
        "PATH": os.pathsep.join([*map(str, programs), *system_path]),
        "HOME": str(folder.home),
        **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(folder.temporary)),
        **{f"XDG_{name}": str(folder.home / f".{name.lower()}") for name in _XDG},
        "LANG": "C.UTF-8",
    }
    if on_windows:
        environment |= {name: os.environ[name] for name in _WINDOWS_NEEDS if name in os.environ}
    return environment


async def run_in_shadow(
    shadow: Shadow,
    folder: RunFolder,
    command: Command,
    readable: Sequence[Path],
    *,
    timeout_s: float,
    hearing: Hearing | None = None,
    output_bytes: int = OUTPUT_BYTES,
) -> ProcessEnd:
    """Run *command* at the root of *shadow*, confined as the shadow says, and return how it ended.

    *readable* are the places outside the workspace that it has to read; *hearing* notes what it tells. Of a longer
    output than *output_bytes* the middle is left out.

    Raises:
        OSError: it cannot be started.
    """
    told = (folder.plugin, *readable)
    room = ConfinedPaths(shadow.root, shadow.original, shadow.changes, folder.own, folder.report, told)
    confined = shadow.confinement.confine(command, room)
    return await run_process(
        confined.arguments,
        cwd=shadow.root,
        environment=confined.environment,
        timeout_s=timeout_s,
        supervision=confined.supervision,
        hearing=hearing,
        output_bytes=output_bytes,
    )
