"""The developer's trust in a Python that lies in the workspace.

Such a program may have come with the repository. It is started behind walls only, and not before somebody was asked,
once, by its path and fingerprint.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rolecall_analysis.programs import git_refusal, run_git
from rolecall_server.sandbox.python.interpreter import SETTING, Interpreter
from rolecall_server.sandbox.results import NotRun
from rolecall_server.sandbox.walls.programs import links_of, repository_of
from rolecall_server.store import Store
from rolecall_server.store.messages import is_trusted, trust
from rolecall_server.workspace import read_beginning

_MOST_CONFIGURATION_BYTES = 64 * 1024
_WHOSE = {
    True: "git tracks it: it came with the repository",
    False: "git does not track it",
    None: "git does not say whether it came with the repository, which another user owns",
}


@dataclass(frozen=True)
class Unconfirmed:
    """A Python of the workspace that nobody has said may be used."""

    interpreter: Interpreter
    fingerprint: str
    """Of its path, of each link that it is reached by, of the program itself where that lies in the repository, and
    of ``pyvenv.cfg``. Not of its packages: installing some is no reason to ask again, and walls hold those too."""
    leads_to: Path
    """The program itself, links followed."""
    is_tracked: bool | None
    """It came with the repository, by what git says; ``None`` where git refuses to say."""

    @property
    def question(self) -> str:
        """Return the question that the developer is asked, or is told where there is nobody to ask."""
        path = self.interpreter.path
        link = "" if self.leads_to == path else f", a link to {self.leads_to}"
        whose = _WHOSE[self.is_tracked]
        return (
            f"{path}{link} would run the tests, behind walls. It lies in the workspace, and {whose}. "
            f"Fingerprint: {self.fingerprint[:16]}."
        )

    @property
    def refusal(self) -> NotRun:
        """Return the reason why it is not used."""
        return NotRun(
            f"{self.interpreter.path} lies in the workspace, and nobody has said that it may be used.",
            "If it is yours: `rolecall trust` asks in a terminal and remembers the answer, `rolecall trust --yes` does "
            f"not ask. Or name another Python in {SETTING}.",
        )


AskTrust = Callable[[Unconfirmed], Awaitable[bool]]
"""Asks the developer whether a Python may be used."""


async def trust_nothing(unconfirmed: Unconfirmed) -> bool:
    """Return no: there is nobody to ask."""
    return False


async def confirmed(
    interpreter: Interpreter | NotRun, root: Path, setting: str, store: Store, ask: AskTrust
) -> Interpreter | NotRun:
    """Return *interpreter* if the developer has said that it may run, or says so now; else why it is not used."""
    if isinstance(interpreter, NotRun):
        return interpreter
    found = await asyncio.to_thread(to_confirm, interpreter, root, setting, store)
    if found is None:
        return interpreter
    if not await ask(found):
        return found.refusal
    confirm(found, root, store)
    return interpreter


def to_confirm(interpreter: Interpreter, root: Path, setting: str, store: Store) -> Unconfirmed | None:
    """Return what the developer has to be asked before *interpreter* is used; ``None`` where there is nothing to ask.

    That is where it lies outside of the workspace and its repository and git does not track it, where an absolute path
    in the *setting* names it, and where it was confirmed as it is.
    """
    if interpreter.source == SETTING and Path(setting).expanduser().is_absolute():
        return None
    path = interpreter.path
    chain = [path, path.parent.resolve() / path.name, *links_of(path)]
    floor = repository_of(root)
    is_tracked = any(_is_tracked(each, floor) for each in dict.fromkeys(chain))
    if not is_tracked and not any(_lies_in(each, floor) for each in chain):
        return None
    said = None if not is_tracked and git_refusal(floor) else is_tracked
    found = Unconfirmed(interpreter, _fingerprint(chain, floor), path.resolve(), said)
    return None if is_trusted(store, str(root), found.fingerprint) else found


def confirm(found: Unconfirmed, root: Path, store: Store) -> None:
    """Remember that the developer said *found* may run the tests of the workspace at *root*."""
    trust(store, str(root), found.fingerprint)


def _lies_in(path: Path, floor: Path) -> bool:
    return path.is_relative_to(floor) or path.resolve().is_relative_to(floor)


def _is_tracked(path: Path, floor: Path) -> bool:
    """Return whether a repository that holds *path* has it under version control; git lies outside of *floor*."""
    if not any((folder / ".git").exists() for folder in path.parents):
        return False
    return bool(run_git(path.parent, "ls-files", "--", path.name, stranger=floor))


def _fingerprint(chain: list[Path], floor: Path) -> str:
    digest = hashlib.sha256()
    for part in _parts(chain, floor):
        # With the lengths, parts that are divided in another way have another fingerprint.
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _parts(chain: list[Path], floor: Path) -> Iterator[bytes]:
    for path in dict.fromkeys(chain):
        yield str(path).encode("utf-8", "surrogateescape")
        yield read_beginning(path.parent.parent / "pyvenv.cfg", _MOST_CONFIGURATION_BYTES)
    real = chain[0].resolve()
    yield str(real).encode("utf-8", "surrogateescape")
    # What lies elsewhere is the machine's own, and is another program after each update of the system.
    if real.is_relative_to(floor):
        with real.open("rb") as program:
            yield hashlib.file_digest(program, "sha256").digest()
