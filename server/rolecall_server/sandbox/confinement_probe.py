"""Finding out what confines on this machine, by confining something: no file that exists and no version is trusted."""

from __future__ import annotations

import ctypes
import json
import os
import re
import secrets
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from rolecall_server.sandbox.results import NotRun
from rolecall_server.sandbox.shadow.opening import make_base
from rolecall_server.sandbox.shadow.trees import remove_tree
from rolecall_server.sandbox.walls.bubblewrap import PRLIMIT, Bubblewrap, usual_limits
from rolecall_server.sandbox.walls.confinement import Command, ConfinedPaths, Confinement, Unconfined
from rolecall_server.sandbox.walls.process import run_process
from rolecall_server.sandbox.walls.programs import links_of
from rolecall_server.sandbox.walls.system_calls import MACHINES, calls_to_try, filter_for_this_machine

SETTING = "rolecall.tests.confinement"
OFF = "off"

# Not the user's PATH: a program of that name that somebody else put there would confine nothing.
_PLACES = "/usr/bin:/usr/local/bin:/bin:/run/current-system/sw/bin"
_DEADLINE_S = 20.0
_ALLOW = f"Or set {SETTING} to off: then tests run as you, with your files and your network."
_INSTALL = f"Install bubblewrap (Debian, Ubuntu, Fedora, Arch: the package bubblewrap). {_ALLOW}"

_CANARY = """
cd "$1" || exit
holds() { "$@" 2>/dev/null || { echo "not held: $*"; exit 1; }; }
fails() { if "$@" 2>/dev/null; then echo "not held: $*"; exit 1; fi; }
writes() { echo canary > "$1"; }
holds test -e "$2"
holds writes "$1/$2.written"
holds writes "$3"
fails test -e "$4"
fails writes /usr/"$2"
fails writes /"$2"
fails unshare --user true
holds test "$(grep -c : /proc/net/dev)" = 1
holds test "$(cat /proc/1/comm)" = bwrap
shift 4
"$@" || exit 1
echo held
"""
"""The script that tries each wall: the changes are seen, the network is gone, and so on; then it says `_HELD`.

After the first four words comes a command of its own, for what no shell can try: system calls.
"""
_HELD = "held"


@dataclass(frozen=True)
class ConfinementReport:
    """A report on what confines tests in one workspace, for `rolecall doctor` and people."""

    name: str
    """The name of the walls, as evidence will say it; empty when nothing will be run."""
    lays_over: bool
    """The workspace is laid under a run, which is quick; else it is copied."""
    program: str
    """The path of bubblewrap, or empty."""
    version: str
    reason: str
    """Why nothing is run, or why the workspace is copied; or empty."""
    next_step: str


async def choose_confinement(setting: str, root: Path) -> Confinement | NotRun:
    """Return the confinement in which tests of the workspace at *root* are run, or the reason why this machine cannot
    confine them.

    *setting* ``off`` is the developer's word that they need not be. What a canary has shown is remembered as long
    as this process runs; that it failed is not, because the developer may do something about it.
    """
    if setting == OFF:
        return Unconfined()
    if sys.platform != "linux":
        return NotRun("Tests cannot be confined on this system yet: that needs Linux with bubblewrap.", _ALLOW)
    if root in (home := Path.home(), *home.parents):
        return NotRun("The workspace holds your home directory.", f"Open a folder inside it. {_ALLOW}")
    program = _find_program()
    if isinstance(program, NotRun):
        return program
    if (known := _known.get((program, root))) is not None:
        return known
    found = await _try_each(program, root)
    if not isinstance(found, NotRun):
        _known[program, root] = found
    return found


async def describe_confinement(setting: str, root: Path) -> ConfinementReport:
    """Report in plain words what `choose_confinement` says about *root*."""
    chosen = await choose_confinement(setting, root)
    program = _find_program()
    if isinstance(program, NotRun):
        path = version = ""
    else:
        path, version = str(program), await _version(program)
    if isinstance(chosen, NotRun):
        return ConfinementReport("", False, path, version, chosen.reason, chosen.next_step)
    reason = ""
    if isinstance(chosen, Bubblewrap) and not chosen.overlays:
        refused = await _try(replace(chosen, overlays=True), root)
        reason = refused.reason if refused else ""
    return ConfinementReport(chosen.name, chosen.overlays, path, version, reason, "")


_known: dict[tuple[Path, Path], Confinement] = {}


def _find_program() -> Path | NotRun:
    if sys.platform != "linux":
        return NotRun("bubblewrap is there on Linux alone.")
    found = shutil.which("bwrap", path=_PLACES)
    if found is None:
        return NotRun("Tests are not run unconfined, and bubblewrap, which confines them, is not installed.", _INSTALL)
    if not PRLIMIT.exists():
        return NotRun(f"Tests are not run without limits, and {PRLIMIT}, which sets them, is missing.", _INSTALL)
    return Path(found)


async def _try_each(program: Path, root: Path) -> Confinement | NotRun:
    """Return the first that confines: an overlay by bubblewrap itself, one in a namespace of ours, a copy.

    Those without a filter of system calls come after all that have one.
    """
    refused: NotRun | None = None
    # Where no filter is known for the machine both are the same, and are tried once.
    for calls in dict.fromkeys((filter_for_this_machine(), b"")):
        for overlays, mounts_them in ((True, True), (True, False), (False, False)):
            candidate = Bubblewrap(program, overlays, usual_limits(), mounts_them, calls)
            refused = await _try(candidate, root)
            if refused is None:
                return candidate
    assert refused is not None
    return refused


async def _try(candidate: Bubblewrap, root: Path) -> NotRun | None:
    """Return the reason why *candidate* does not confine here, or ``None`` when it does."""
    base = make_base()
    try:
        said = await _run_canary(candidate, root, base)
    except OSError as error:
        return NotRun(f"The canary of the confinement could not be set up: {error.strerror}.", "Free some space.")
    finally:
        remove_tree(base)
    if said == _HELD:
        return None
    return NotRun(f"Tests are not run unconfined, and bubblewrap does not confine here: {said}.", _advice(said))


async def _run_canary(candidate: Bubblewrap, root: Path, base: Path) -> str:
    """`_HELD`, or what the canary met, or that it met nothing."""
    name = f".rolecall-{secrets.token_hex(8)}"
    room = ConfinedPaths(
        root=base / "root" / "workspace",
        original=root if candidate.overlays else base / "original",
        changes=base / "changes" if candidate.overlays else None,
        own=base / "own",
        told=base / "told",
        readable=what_our_python_reads(),
    )
    for folder in (room.root, base / "original", base / "changes", room.own):
        folder.mkdir(parents=True)
    ((room.changes or room.root) / name).touch()
    room.told.touch()
    secret = base / "secret"
    secret.touch()
    words = (*map(str, (room.root, name, room.told, secret)), *_calls(candidate))
    command = Command(("/bin/sh", "-c", _CANARY, "canary", *words), _CLEAN)
    confined = candidate.confine(command, room)
    end = await run_process(
        confined.arguments,
        cwd=base,
        environment=confined.environment,
        timeout_s=_DEADLINE_S,
        supervision=confined.supervision,
    )
    trace = room.original / f"{name}.written"
    if trace.exists():
        trace.unlink()
        return "what is written there reaches the workspace"
    if end.timed_out:
        return "it did not end"
    return _HELD if end.exit_code == 0 and end.output.strip() == _HELD else _last_line(end.output)


def _calls(candidate: Bubblewrap) -> tuple[str, ...]:
    """Return the command that tries system calls: those that *candidate* filters, and which session keyring it has."""
    machine = os.uname().machine
    keyctl = MACHINES[machine].numbers["keyctl"] if machine in MACHINES else 0
    # KEYCTL_GET_KEYRING_ID is 0, KEY_SPEC_SESSION_KEYRING is -3: `ctypes` knows neither name.
    keyring = ctypes.CDLL(None).syscall(keyctl, 0, -3, 0) if keyctl else 0
    calls = calls_to_try(machine) if candidate.filter else []
    ours = (sys.executable, "-I", "-S", "-c", _TRIES_CALLS.read_text("utf-8"))
    return (*ours, str(keyctl), str(keyring), json.dumps(calls))


def what_our_python_reads() -> tuple[Path, ...]:
    """Return what has to be shown behind walls for the Python that runs Rolecall to start there."""
    return (Path(sys.prefix), Path(sys.base_prefix), *links_of(Path(sys.executable)))


_TRIES_CALLS = Path(__file__).with_name("child") / "rolecall_canary.py"
_CLEAN = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}


def _last_line(output: str) -> str:
    return (output.strip().splitlines() or ["it said nothing"])[-1].strip().rstrip(".")


def _advice(said: str) -> str:
    if re.search(r"namespace|uid map|Operation not permitted|Permission denied|No space left", said):
        return (
            "User namespaces seem to be switched off here: ask who runs the machine to allow them for bubblewrap "
            f"(on Ubuntu an AppArmor profile for it; in a container, its security options). {_ALLOW}"
        )
    return f"Look at what it said. {_ALLOW}"


async def _version(program: Path) -> str:
    end = await run_process([str(program), "--version"], cwd=Path("/"), environment=_CLEAN, timeout_s=_DEADLINE_S)
    return end.output.strip().removeprefix("bubblewrap ")
