"""Walls by bubblewrap: no network, no home, a system that can only be read, and memory instead of a disk.

Source: bwrap(1), version 0.8, and 0.11 for overlays; the masked parts of ``/proc`` are those of the Open Container
Initiative's runtime.
"""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from rolecall_server.sandbox.walls.confinement import Command, ConfinedPaths
from rolecall_server.sandbox.walls.process import OverlayMount, Supervision
from rolecall_server.sandbox.walls.system_calls import filter_for_this_machine

PRLIMIT = Path("/usr/bin/prlimit")
"""From util-linux: sets the limits on single processes, inside the walls, where only the run's processes count."""

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/run/current-system")
"""Folders of the system that are shown, to be read, as they are."""
_CONFIGURATION = (
    "alternatives", "group", "ld.so.cache", "localtime", "mime.types", "nsswitch.conf", "passwd", "protocols",
    "services", "ssl/certs", "ssl/openssl.cnf", "timezone",
)  # fmt: skip
"""The files of ``/etc`` that programs read; nothing that is secret, and no name of another machine."""
_SETS_THE_MACHINE = ("acpi", "bus", "fs", "irq", "mtrr", "scsi", "sys", "sysrq-trigger")
"""Below ``/proc``: root may write there without any capability, whatever namespace it is in."""
_TELLS_OF_OTHERS = ("kcore", "keys", "latency_stats", "sched_debug", "timer_list")

# The last form is what `child/supervisor.py` says of a namespace that the system does not allow.
_GAVE_UP = re.compile(r"bwrap: .*|prlimit: .*|an? (?:overlay|tmpfs|user namespace|private mount namespace): .*")

_FILTER = 9
"""The descriptor that the program finds the filter of system calls at; lower ones are the supervisor's own."""

_SLACK = 32
"""Processes that the supervisor lets pass beyond the limit that the kernel holds."""


@dataclass(frozen=True)
class Limits:
    """The limits on what one run may take."""

    memory_bytes: int
    """All its processes together, and each by itself."""
    processes: int = 512
    file_bytes: int = 256 * 2**20
    """The size of one file."""
    written_bytes: int = 512 * 2**20
    """The bytes that it may write, all files together; they are kept in memory."""
    spare_disk_bytes: int = 256 * 2**20
    """The bytes that stay free on the disk that holds a copy."""


def usual_limits() -> Limits:
    """4 GiB of memory, or half of what the machine has."""
    machine_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Limits(memory_bytes=min(4 * 2**30, machine_bytes // 2))


@dataclass(frozen=True)
class Bubblewrap:
    """Commands run by the program bubblewrap, in namespaces of their own."""

    program: Path
    overlays: bool
    limits: Limits
    mounts_overlays: bool = False
    """The program mounts the overlay itself, which it can from 0.11 on; else a namespace of ours has it."""
    filter: bytes = field(default_factory=filter_for_this_machine, repr=False)
    """The filter of system calls that the kernel is to refuse; empty where it is to refuse nothing."""

    @property
    def name(self) -> str:
        """Return the words in which evidence says where the code ran."""
        where = "changes laid over the workspace in memory" if self.overlays else "a copy of the workspace"
        unfiltered = "" if self.filter else ", system calls not filtered"
        return f"bubblewrap: no network, no home directory, {where}{unfiltered}"

    def confine(self, command: Command, room: ConfinedPaths) -> Command:
        """Return *command* so that it reaches nothing but *room*."""
        return replace(
            command,
            arguments=(
                *self._overlay(room),
                *(str(self.program), *self._walls(room), "--", *self._prlimit(), *command.arguments),
            ),
            supervision=self._supervision(room),
        )

    def refusal(self, output: str) -> str:
        """Return the message of bubblewrap in *output* when it gave up; empty when the command was started."""
        return found[0] if (found := _GAVE_UP.match(output)) else ""

    def _supervision(self, room: ConfinedPaths) -> Supervision:
        size_bytes = self.limits.written_bytes
        return Supervision(
            memory_bytes=self.limits.memory_bytes,
            # Where the kernel holds the number, which for root it does not, code sees an error and is not ended.
            processes=self.limits.processes + _SLACK,
            # Behind an overlay only the report is written to a disk.
            spare=(room.root if room.changes is None else room.told.parent, self.limits.spare_disk_bytes),
            overlay=OverlayMount(room.own, size_bytes, room.root, room.changes, room.original)
            if room.changes is not None and not self.mounts_overlays
            else None,
            filter=(_FILTER, self.filter) if self.filter else None,
        )

    def _overlay(self, room: ConfinedPaths) -> Iterator[str]:
        """Yield the arguments that start the walls in two namespaces, one with memory of a limited size, one with an
        overlay that uses it.

        Two, because bubblewrap takes what it mounts from outside of the namespace it makes.
        """
        if room.changes is None or not self.mounts_overlays:
            return
        everything = (str(self.program), "--unshare-user", "--die-with-parent", "--dev-bind", "/", "/")
        folders = [str(room.own / name) for name in ("home", "tmp", "upper", "work")]
        yield from everything
        yield from self._memory(str(room.own), "0700")
        for folder in folders:
            yield from ("--perms", "0700", "--dir", folder)
        yield from ("--", *everything)
        yield from ("--overlay-src", str(room.original), "--overlay-src", str(room.changes))
        yield from ("--overlay", *folders[2:], str(room.root), "--")

    def _prlimit(self) -> Iterator[str]:
        # Of memory only what can be written to counts: some programs set much more aside than they ever use.
        data = _at_most(self.limits.memory_bytes, resource.RLIMIT_DATA)
        size = _at_most(self.limits.file_bytes, resource.RLIMIT_FSIZE)
        processes = _at_most(self.limits.processes, resource.RLIMIT_NPROC)
        yield from (str(PRLIMIT), f"--data={data}", f"--fsize={size}", f"--nproc={processes}", "--core=0", "--")

    def _walls(self, room: ConfinedPaths) -> Iterator[str]:
        # `--unshare-all` only tries to make a user namespace, and `--disable-userns` insists on one.
        yield from ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session")
        yield from ("--cap-drop", "ALL", "--uid", str(os.getuid()), "--gid", str(os.getgid()))
        yield from _system()
        yield from self._memory("/dev/shm", "1777")  # noqa: S108
        # This concerns the one mount: /dev/shm is another, and can still be written to.
        yield from ("--remount-ro", "/dev")
        yield from self._places(room)
        yield from ("--remount-ro", "/", "--chdir", str(room.root))
        if self.filter:
            yield from ("--seccomp", str(_FILTER))

    def _memory(self, place: str, mode: str) -> Iterator[str]:
        yield from ("--perms", mode, "--size", str(self.limits.written_bytes), "--tmpfs", place)

    def _places(self, room: ConfinedPaths) -> Iterator[str]:
        """Yield the arguments that mount the room's places, each place after those that contain it."""
        yield from self._memory("/tmp", "1777")  # noqa: S108
        places: dict[Path, list[str]] = {path: ["--ro-bind", str(path), str(path)] for path in _visible(room)}
        places[room.original] = ["--bind", str(room.root), str(room.original)]
        places[room.root] = ["--bind", str(room.root), str(room.root)]
        places[room.told] = ["--bind", str(room.told), str(room.told)]
        if room.changes is None:
            places[room.own] = [*self._memory(str(room.own), "0700")]
        for path in (room.own / "home", room.own / "tmp"):
            places[path] = ["--bind", str(path), str(path)] if room.changes is not None else ["--dir", str(path)]
        for path in sorted(places, key=lambda path: len(path.parts)):
            yield from places[path]


def _at_most(wanted: int, kind: int) -> int:
    """Return *wanted*, or the limit of this process where that is lower: limits are never raised."""
    hard = resource.getrlimit(kind)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def _system() -> Iterator[str]:
    for path in map(Path, SYSTEM):
        # On many systems /bin and /lib are links into /usr, which is shown already.
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    for name in _CONFIGURATION:
        yield from _read_only(Path("/etc", name))
    yield from ("--proc", "/proc")
    for name in _SETS_THE_MACHINE:
        yield from _read_only(Path("/proc", name))
    for path in (Path("/proc", name) for name in _TELLS_OF_OTHERS):
        if path.exists():
            # Nothing below /proc can be left out, but something empty can lie over it.
            yield from ("--ro-bind", os.devnull, str(path))
    yield from ("--dev", "/dev")


def _read_only(path: Path) -> Iterator[str]:
    if path.exists():
        yield from ("--ro-bind", str(path), str(path))


def _visible(room: ConfinedPaths) -> Iterator[Path]:
    """Yield the places that are to be read, as few as possible: none of the system's, none that holds the home
    directory.

    An environment below the workspace is a place of its own: it stays what it is, and cannot be written to.
    """
    home = Path.home()
    places = {path for path in room.readable if path.exists() and not home.is_relative_to(path)}
    for path in places:
        holders = {parent for parent in path.parents if parent in places or str(parent) in SYSTEM}
        if path.is_relative_to(room.original):
            holders = {parent for parent in holders if parent.is_relative_to(room.original)}
        if not holders and str(path) not in SYSTEM:
            yield path
