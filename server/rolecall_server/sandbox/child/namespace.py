"""A mount namespace of our own, in which the workspace can be written to while its files stay as they are.

Source: Linux, Documentation/filesystems/overlayfs.rst; user_namespaces(7). Mounting an overlay without being root
needs Linux 5.11.
"""
# ruff: noqa: PTH102, PTH108, PTH211 -- pathlib takes longer to import than all the rest.

from __future__ import annotations

import ctypes
import os

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_MS_NOSUID, _MS_NODEV, _MS_REC, _MS_PRIVATE = 0x2, 0x4, 0x4000, 0x40000

_libc = ctypes.CDLL(None, use_errno=True)


def enter_with_overlay(own: str, size: str, target: str, changes: str, original: str) -> None:
    """Shows, to this process and what it starts alone, *changes* laid over the files of *original* at *target*.

    What is written there goes to memory, of which *size* bytes are at *own*, together with the empty folders
    ``home`` and ``tmp``. All of it is gone when the last process is.

    Raises:
        OSError: the system does not allow it; ``filename`` says what it did not allow.
    """
    user, group = os.getuid(), os.getgid()
    _check(_libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS), "a user namespace")
    # In this order: who is not root may map a group only after giving up `setgroups`.
    for name, content in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        _write(f"/proc/self/{name}", content)
    _check(_libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None), "a private mount namespace")
    _mount("tmpfs", own, f"size={size},mode=700", "a tmpfs")
    # The options of a mount name folders relative to the current one, which the command must not end up in.
    before = os.open(".", os.O_PATH)
    os.chdir(own)
    for folder in ("home", "tmp", "upper", "work"):
        os.mkdir(folder)
    # Links, because commas and colons in the names of folders would end an option.
    os.symlink(changes, "changes")
    os.symlink(original, "original")
    _mount("overlay", target, "userxattr,lowerdir=changes:original,upperdir=upper,workdir=work", "an overlay")
    os.unlink("changes")
    os.unlink("original")
    os.fchdir(before)
    os.close(before)


def _mount(kind: str, target: str, options: str, what: str) -> None:
    flags = ctypes.c_ulong(_MS_NOSUID | _MS_NODEV)
    _check(_libc.mount(kind.encode(), os.fsencode(target), kind.encode(), flags, options.encode()), what)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def _write(path: str, content: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, content.encode())
    finally:
        os.close(descriptor)
