"""A guard that keeps a call from reaching beyond its process, and notices what makes its result depend on the day."""

# pyright: basic, reportMissingImports=false
# It looks at objects of which nothing is known, and finds its other parts beside itself.

from __future__ import annotations

import functools
import os
import pathlib
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_FORBIDDEN = {
    *("builtins.input", "os.chmod", "os.chown", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.link"),
    *("os.mkdir", "os.posix_spawn", "os.remove", "os.rename", "os.rmdir", "os.spawn", "os.symlink", "os.system"),
    *("os.truncate", "shutil.copyfile", "shutil.move", "shutil.rmtree", "socket.bind", "socket.connect"),
    *("socket.getaddrinfo", "socket.sendto", "subprocess.Popen", "webbrowser.open", "_thread.start_new_thread"),
    "_thread.start_joinable_thread",  # since Python 3.13
}
"""Events of Python's audit that reach beyond the process."""
_ON_FILES = {
    *("open", "os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate"),
    *("shutil.copyfile", "shutil.move", "shutil.rmtree"),
}
"""Those of which all arguments that name a file are changed or read: they may be in the folder of the call."""
_READING = ("open", "os.listdir", "os.scandir")
"""Those that tell what lies on this machine."""
_ON_DESCRIPTORS = ("close", "closerange", "dup2", "ftruncate", "read", "write")
"""Functions of `os` that are no events, with descriptors as arguments: of a call's own they may be."""


# Neither this nor `Refused` is an `Exception`: the code that is called may handle those.
class Overtime(BaseException):
    """A call has had its time."""


class Refused(BaseException):
    """A call would have reached beyond its process."""


class Guard:
    """Lets nothing be written, deleted, started or connected to while it is armed, except in `folder`."""

    def __init__(self) -> None:
        self.armed = False
        self.tripped = ""
        self.by_chance = False
        self.variables: dict[str, None] = {}
        """The environment variables that the workspace's code asked for."""
        self.is_given_variables = False
        self.folder = ""
        """The folder that may be written to; empty for none."""
        self.places: tuple[str, ...] = ()
        """The folders whose files are the same wherever a test runs: the workspace, and Python with its packages."""
        self.descriptors: frozenset[int] = frozenset()
        """Those that were open before the call."""
        # A hook of the audit cannot be taken off again; hence `armed`.
        sys.addaudithook(self.audit)
        # Only since Python 3.12 is the start of a thread an event.
        start = getattr(threading, "_start_new_thread", None)
        if start is not None:
            setattr(threading, "_start_new_thread", self._guarded(start))  # noqa: B010 - it is there only before 3.13

    def arm(self) -> None:
        self.descriptors = _open_descriptors()
        self.armed = True

    def check_descriptors(self, name: str, numbers: tuple[Any, ...]) -> None:
        """Refuse what *name* of `os` does to a descriptor that the call has not opened, such as that of the report."""
        if not self.armed:
            return
        own = _open_descriptors() - self.descriptors
        if any(isinstance(number, int) and number not in own for number in numbers):
            self.tripped = f"os.{name}"
            raise Refused(self.tripped)

    def _guarded(self, start: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*arguments: Any) -> Any:
            self.audit("_thread.start_new_thread", arguments)
            return start(*arguments)

        return guarded

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.armed:
            return
        if event in _FORBIDDEN or (event == "open" and (_writes(arguments) or _is_of_process(arguments))):
            if self.folder and event in _ON_FILES and _are_below(self.folder, event, arguments):
                return
            self.tripped = event
            raise Refused(event)
        if event in _READING and not self._is_known(arguments[0]):
            self.by_chance = True

    def _is_known(self, place: Any) -> bool:
        """Return whether *place* is there, with the same content, on every machine that has the workspace."""
        if not isinstance(place, (str, bytes, os.PathLike)):
            return True  # the folder that a process is in, or what it opened before
        path = os.path.realpath(os.fsdecode(place))
        known = (*self.places, self.folder) if self.folder else self.places
        return path == os.devnull or any(path == one or path.startswith(f"{one}/") for one in known)


def known_places(root: str) -> tuple[str, ...]:
    """Return the folders of the workspace at *root*, of Python with its packages, and of the time zones."""
    zones = getattr(sys.modules.get("zoneinfo"), "TZPATH", ())
    places = {root, os.path.curdir, sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(None, sys.path), *zones}
    return tuple(os.path.realpath(place) for place in places)


def _are_below(folder: str, event: str, arguments: tuple[Any, ...]) -> bool:
    """Return whether all paths among the *arguments* of *event* lead into *folder*."""
    named = arguments[:1] if event == "open" else arguments
    paths = [os.path.realpath(os.fsdecode(one)) for one in named if isinstance(one, (str, bytes, os.PathLike))]
    # What makes sure that a folder is there asks for one that is.
    made = (folder,) if event == "os.mkdir" else ()
    return bool(paths) and all(path.startswith(f"{folder}/") or path in made for path in paths)


def _is_of_process(arguments: tuple[Any, ...]) -> bool:
    """Return whether what is opened is a descriptor, which in each process is another file: 0 is what a user types."""
    return isinstance(arguments[0], int)


def _writes(arguments: tuple[Any, ...]) -> bool:
    # `open` tells a mode, `os.open` flags alone.
    _, mode, flags = (*arguments, None, None)[:3]
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def shift_clock(days: int) -> None:
    """Moves the clock of `time` and `datetime`, so that what depends on it shows."""
    import datetime

    shift = datetime.timedelta(days=days)
    real_time = time.time
    time.time = lambda: real_time() + shift.total_seconds()
    real_date, real_datetime = datetime.date, datetime.datetime

    class Real(type):
        """Makes objects of the real class, which tell and compare as always, and takes them for its own."""

        def __call__(cls, *arguments: Any, **words: Any) -> Any:
            return type.__call__(real.get(cls, cls), *arguments, **words)

        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, real[cls]) if cls in real else type.__instancecheck__(cls, value)

        def __subclasscheck__(cls, other: Any) -> bool:
            return issubclass(other, real[cls]) if cls in real else type.__subclasscheck__(cls, other)

    class Date(real_date, metaclass=Real):
        @classmethod
        def today(cls) -> Any:
            return real_date.today() + shift

    class DateTime(real_datetime, metaclass=Real):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return real_datetime.now(tz) + shift

        @classmethod
        def utcnow(cls) -> Any:
            # The Python of a workspace may be older than ours, and have no `datetime.UTC`.
            return real_datetime.now(datetime.timezone.utc).replace(tzinfo=None) + shift  # noqa: UP017

        @classmethod
        def today(cls) -> Any:
            return real_datetime.now() + shift

    real: dict[Any, Any] = {Date: real_date, DateTime: real_datetime}
    datetime.date, datetime.datetime = Date, DateTime  # type: ignore[misc]


class _WatchedWords(list):
    """The command line of this process: a test has another one, so that what is read of it has come by chance."""

    guard: Guard

    def __getitem__(self, place: Any) -> Any:
        # The first is the name of the program, which every parser asks for.
        self.guard.by_chance = self.guard.by_chance or place != 0
        return super().__getitem__(place)

    def __iter__(self) -> Any:
        self.guard.by_chance = True
        return super().__iter__()

    def __len__(self) -> int:
        self.guard.by_chance = True
        return super().__len__()


def _open_descriptors() -> frozenset[int]:
    """Return the open descriptors of this process; none where the system does not tell."""
    folders = [folder for folder in map(pathlib.Path, ("/proc/self/fd", "/dev/fd")) if folder.is_dir()]
    return frozenset(filter(_is_open, (int(one.name) for folder in folders[:1] for one in folder.iterdir())))


def _is_open(descriptor: int) -> bool:
    """Return whether *descriptor* is open, as the one with which its folder was listed no longer is."""
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def watch_descriptors(guard: Guard) -> None:
    """Have calls close, read and write no file of this process: a number is another file in each."""

    def watched(name: str, function: Callable[..., Any], n_descriptors: int) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*arguments: Any, **words: Any) -> Any:
            guard.check_descriptors(name, arguments[:n_descriptors])
            return function(*arguments, **words)

        return checked

    for name in _ON_DESCRIPTORS:
        if hasattr(os, name):
            n_descriptors = 2 if name in ("closerange", "dup2") else 1
            setattr(os, name, watched(name, getattr(os, name), n_descriptors))


def watch_chance(guard: Guard) -> None:
    """Has every function that draws by chance say so, if it may draw the same twice, and the command line.

    A result that hangs on a unique identifier is another one in each process, which shows.
    """
    import random
    import secrets

    sys.argv = _WatchedWords(sys.argv)
    sys.argv.guard = guard

    def watched(draw: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(draw)
        def noted(*arguments: Any, **words: Any) -> Any:
            guard.by_chance = True
            return draw(*arguments, **words)

        return noted

    for module in (random, secrets):
        for name, value in list(vars(module).items()):
            is_drawing = not name.startswith(("_", "seed", "token_")) and not isinstance(value, type)
            if callable(value) and is_drawing:
                setattr(module, name, watched(value))
