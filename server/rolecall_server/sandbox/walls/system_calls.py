"""A filter of system calls for what runs behind walls: the kernel refuses what tests do not need and exploits love.

It is a program of some sixty instructions, which bubblewrap has the kernel load. It is written here and not by
libseccomp, because the binding that PyPI has was last released in 2021 and needs a library of the system that not every
system has; Debian's is for Debian's own Python alone.

Source: seccomp(2); the kernel's ``include/uapi/linux/{filter,seccomp,audit}.h`` and ``arch/*/entry`` tables. What is
refused is what the profile of the Open Container Initiative's runtimes refuses, of families of sockets some more.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""Codes of instructions: load a word, compare it with a constant in three ways, end."""
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
"""Where a call's facts lie in ``struct seccomp_data``; of the argument the lower half, as both machines store it."""
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000
_OF_X32 = 0x40000000
"""From this number on calls are those of x86-64 with short pointers, each a second way to one of the others."""

_NAMESPACES = 0x7E020000
"""Flags for a new cgroup, UTS, IPC, user, process and network namespace, and one for mounts."""
_TIME_NAMESPACE = 0x80
"""For ``unshare`` alone: in ``clone`` these bits are the signal that a child ends with."""
_FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Others, AF_VSOCK above all, have no namespace, or many lines of kernel."""


@dataclass(frozen=True)
class _Machine:
    """One kind of processor: its name in an audit, and the numbers of its system calls."""

    audit: int
    numbers: Mapping[str, int]


_NAMES = (
    "socket", "socketpair", "clone", "unshare", "setns", "ptrace", "process_vm_readv", "process_vm_writev",
    "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd", "syslog",
)  # fmt: skip
_EVERYWHERE = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "clone3": 435,
    "pidfd_getfd": 438,
}
"""Calls from 424 on have the same number on all machines."""


def _machine(audit: int, *numbers: int) -> _Machine:
    return _Machine(audit, {**dict(zip(_NAMES, numbers, strict=True)), **_EVERYWHERE})


MACHINES = {
    "x86_64": _machine(0xC000003E, 41, 53, 56, 272, 308, 101, 310, 311, 248, 249, 250, 321, 298, 323, 103),
    "aarch64": _machine(0xC00000B7, 198, 199, 220, 97, 268, 117, 270, 271, 217, 218, 219, 280, 241, 282, 116),
}

_REFUSED = {
    **dict.fromkeys(("setns", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "syslog"), errno.EPERM),
    # A program that could do with them takes "this kernel has none" for an answer: glibc asks clone3 first.
    **dict.fromkeys(("add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd"), errno.ENOSYS),
    # The flags of clone3 lie in memory, where no filter can look: all of its calls are refused.
    **dict.fromkeys(_EVERYWHERE.keys() - {"pidfd_getfd"}, errno.ENOSYS),
}
"""The calls that fail whatever their arguments, and the error of each."""


@cache
def filter_for(machine: str) -> bytes:
    """Return the program for *machine*, as `os.uname` names it; empty where its system calls are not known here."""
    known = MACHINES.get(machine)
    return b"".join(_instructions(known)) if known is not None else b""


def filter_for_this_machine() -> bytes:
    """Return the program for the machine this runs on; empty where there is none."""
    return filter_for(os.uname().machine) if hasattr(os, "uname") else b""


def calls_to_try(machine: str) -> list[tuple[str, int, tuple[int, ...], int]]:
    """Return the name, number and arguments of a call for each rule, and the error with which the filter refuses it.

    The arguments are such that the kernel itself, if it were asked, would give another error, or do no harm.
    """
    known = MACHINES.get(machine)
    if known is None:
        return []
    by_arguments = [
        ("a vsock socket", "socket", (40, 1, 0)),
        ("a new namespace by unshare", "unshare", (0x10000000 | 1,)),
        ("a new namespace by clone", "clone", (0x10000000 | 0x200, 0, 0, 0, 0)),
    ]
    tried = [(what, known.numbers[name], given, errno.EPERM) for what, name, given in by_arguments]
    nonsense = (-1, 0, 0, 0, 0)
    return tried + [(name, known.numbers[name], nonsense, error) for name, error in sorted(_REFUSED.items())]


def _instructions(machine: _Machine) -> Iterator[bytes]:
    yield _instruction(_LOAD, _ARCHITECTURE)
    yield _instruction(_EQUAL, machine.audit, if_true=1)
    yield _instruction(_RETURN, _KILL)  # calls of a 32-bit program have other numbers
    yield _instruction(_LOAD, _NUMBER)
    yield _instruction(_AT_LEAST, _OF_X32, if_false=1)
    yield _refuse(errno.ENOSYS)
    for name, error in _REFUSED.items():
        yield from _when(machine.numbers[name], [_refuse(error)])
    for name in ("socket", "socketpair"):
        families = [line for family in _FAMILIES for line in (_instruction(_EQUAL, family, if_false=1), _allow())]
        yield from _when(machine.numbers[name], [_instruction(_LOAD, _FIRST_ARGUMENT), *families, _refuse(errno.EPERM)])
    for name, flags in (("clone", _NAMESPACES), ("unshare", _NAMESPACES | _TIME_NAMESPACE)):
        asked = [_instruction(_LOAD, _FIRST_ARGUMENT), _instruction(_ANY_BIT, flags, if_false=1)]
        yield from _when(machine.numbers[name], [*asked, _refuse(errno.EPERM), _allow()])
    yield _allow()


def _when(number: int, lines: list[bytes]) -> Iterator[bytes]:
    """Yield *lines*, which end the program, preceded by an instruction that skips them for calls other than
    *number*.
    """
    yield _instruction(_EQUAL, number, if_false=len(lines))
    yield from lines


def _refuse(error: int) -> bytes:
    return _instruction(_RETURN, _FAIL | error)


def _allow() -> bytes:
    return _instruction(_RETURN, _ALLOW)


def _instruction(code: int, constant: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    """``struct sock_filter``: so many instructions are jumped over where a comparison is true, or false."""
    return struct.pack("<HBBI", code, if_true, if_false, constant)
