"""`rolecall` forked from a parent that has imported all of it, where a test is not about its start.

`PreparedPopen` takes the place of `subprocess.Popen`: the command `python -I -m rolecall_server …` becomes a child of
this process like any other, with its own environment, folder, standard streams and session. All other commands are
started as ever, and so is this one where its environment changes how an interpreter starts. Run as a script, this is
the parent.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import io
import json
import os
import pkgutil
import platform
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROLECALL = (sys.executable, "-I", "-m", "rolecall_server")

IN_TERMINAL = (
    *(sys.executable, "-I", "-S", "-c"),
    "import os, sys; os.close(os.open(os.ttyname(0), os.O_RDWR)); os.execv(sys.argv[1], sys.argv[1:])",
)
"""What starts a command as a leader of a session: the first terminal it opens is its own, and Ctrl+C reaches it."""

_LOCALE = "C.UTF-8"
_READ_AT_START = ("LC_", "LD_", "PYTHON")
"""How the variables begin that an interpreter reads when it starts."""
_CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine()) if sys.platform == "linux" else None
"""The number of the system call. Source: arch/x86/entry/syscalls/syscall_64.tbl and asm-generic/unistd.h of Linux."""
_CLONE_PARENT = 0x8000
"""The new process is a sibling of the one that makes it, so whoever asked for it can wait for it. Source: clone(2)."""
_ONE_AT_A_TIME = threading.Lock()
_NEEDED_LATER = (
    "anyio._backends._asyncio",
    "coverage",
    "httpcore2",
    "openai.lib.streaming.chat",
    "openai.resources.chat.completions.completions",
    "openai.resources.models",
    "pygls.lsp.server",
    "rich.console",
    "rich.progress",
    "truststore",
)
"""What Rolecall or its libraries import when it is first needed."""
_WORKED_OUT_LATER = (
    "rolecall_analysis.indexing.saved_facts:graph_version",
    "rolecall_server.craft.code_review.rules:review_rules",
    "rolecall_server.review.proposals.proposal_store:evidence_adapter",
    "rolecall_server.review.proposals.proposal_store:proposal_adapter",
    "rolecall_server.store.schema:_known_tables",
    "rolecall_server.team.plan.planning:_request_type",
    "rolecall_server.team.plan.strategies:_declared",
    "lsprotocol.converters:get_converter",
    "platform:platform",  # it starts `uname`
)
"""What follows from the code and the machine alone, and is kept once it was asked for."""


class PreparedPopen(subprocess.Popen[Any]):
    """`subprocess.Popen`, but for Rolecall, which is forked from its prepared parent."""

    program = "import sys; from rolecall_server.__main__ import main; sys.exit(main())"
    """What a forked process runs."""

    def _execute_child(
        self,
        args: Any,
        executable: Any,
        preexec_fn: Any,
        close_fds: bool,
        pass_fds: Any,
        cwd: Any,
        env: Mapping[str, str] | None,
        startupinfo: Any,
        creationflags: int,
        shell: bool,
        *others: Any,
    ) -> None:
        # The six ends of pipes come first; the last argument but one is `start_new_session`.
        pipes, new_session = others[:6], others[-2]
        arguments = _arguments_of(args, os.environ if env is None else env)
        # For a folder that is not there the real one raises what the caller expects.
        if arguments is None or executable or preexec_fn or pass_fds or shell or not Path(cwd or ".").is_dir():
            start = (executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell)
            super()._execute_child(args, *start, *others)  # pyright: ignore
            return
        given = zip((pipes[0], pipes[3], pipes[5]), (0, 1, 2), strict=True)
        self.pid = _fork(
            # -1: there is no pipe, and the child gets the stream of this process.
            [number if pipe == -1 else pipe for pipe, number in given],
            program=self.program,
            arguments=arguments,
            cwd=str(Path(cwd or ".").absolute()),
            env=dict(os.environ if env is None else env),
            new_session=new_session,
        )
        self._child_created = True
        self._close_pipe_fds(*pipes)  # pyright: ignore


def _fork(streams: Sequence[int], **request: Any) -> int:
    """Return the id of a new child of this process, which does what is requested with these standard streams."""
    with _ONE_AT_A_TIME:
        parent = _parent()
        said = json.dumps(request).encode()
        socket.send_fds(parent, [len(said).to_bytes(8)], streams)
        parent.sendall(said)
        return int.from_bytes(_receive(parent, 8))


def _arguments_of(command: Any, env: Mapping[str, str]) -> list[str] | None:
    """Return what is said to Rolecall where a fork does *command* as well as a start; else None."""
    if _CLONE is None or isinstance(command, str | bytes | os.PathLike):
        return None
    words = tuple(map(os.fspath, command))
    words = words[len(IN_TERMINAL) :] if words[: len(IN_TERMINAL)] == IN_TERMINAL else words
    if words[: len(ROLECALL)] != ROLECALL or env.get("LANG") != _LOCALE or any(map(_is_read_at_start, env)):
        return None
    return list(words[len(ROLECALL) :])


def _is_read_at_start(name: str) -> bool:
    return name.startswith(_READ_AT_START)


@cache
def _parent() -> socket.socket:
    """Return the way to the prepared parent, which ends when this process does."""
    ours, its = socket.socketpair()
    with its:
        command = [sys.executable, "-I", __file__, str(its.fileno())]
        env = {"PATH": os.environ["PATH"], "LANG": _LOCALE}
        process = subprocess.Popen(command, env=env, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL)
    # Called in the reverse order: the parent ends because its connection was closed.
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _receive(connection: socket.socket, n_bytes: int) -> bytes:
    data = b""
    while len(data) < n_bytes:
        more = connection.recv(n_bytes - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def import_everything() -> None:
    """Import all of Rolecall, and what it imports and works out when it is first needed."""
    import rolecall_analysis
    import rolecall_server

    for package in (rolecall_analysis, rolecall_server):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".child." not in module.name:  # what runs in other processes
                importlib.import_module(module.name)
    for needed_later in _NEEDED_LATER:
        importlib.import_module(needed_later)
    for worked_out_later in _WORKED_OUT_LATER:
        pkgutil.resolve_name(worked_out_later)()


def _serve(connection: socket.socket) -> str:
    """Fork whenever that is asked for. Return only in the new process: what it shall run."""
    while True:
        head, streams, _, _ = socket.recv_fds(connection, 8, 3)
        if not head:
            os._exit(0)
        head += _receive(connection, 8 - len(head)) if len(head) < 8 else b""
        request = json.loads(_receive(connection, int.from_bytes(head)))
        process_id = _clone()
        if process_id == 0:
            connection.detach()  # the number is closed with all others
            return _become(request, streams)
        connection.sendall(process_id.to_bytes(8))
        for stream in streams:
            os.close(stream)


def _clone() -> int:
    """Fork as `os.fork` does, except that the child is our parent's."""
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    # `PyDLL` keeps the interpreter's lock: the child has no other thread that could give it back.
    process_id = ctypes.PyDLL(None).syscall(_CLONE, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if process_id == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return process_id


def _become(request: Mapping[str, Any], streams: Sequence[int]) -> str:
    """Make this process what a new one would be, and return what it shall run."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    # The zone was read when the parent started.
    time.tzset()
    if request["new_session"]:
        os.setsid()
        if os.isatty(0):
            os.close(os.open(os.ttyname(0), os.O_RDWR))
    sys.stdin, sys.stdout, sys.stderr = map(_stream_like, (sys.__stdin__, sys.__stdout__, sys.__stderr__))
    sys.argv = [importlib.import_module("rolecall_server.__main__").__file__ or "", *request["arguments"]]
    return request["program"]


def _stream_like(before: Any) -> Any:
    """Return a stream on the same number, with what is there now."""
    number = before.fileno()
    raw = io.FileIO(number, before.mode, closefd=False)
    raw.name = before.name
    stream: Any = io.TextIOWrapper(
        io.BufferedReader(raw) if number == 0 else io.BufferedWriter(raw),
        encoding=before.encoding,
        errors=before.errors,
        newline=None if number == 0 else "\n",
        line_buffering=number == 2 or os.isatty(number),
    )
    stream.mode = before.mode
    return stream


if __name__ == "__main__":
    import_everything()
    # What is frozen no collection of a child looks at, so its memory stays shared with the parent.
    gc.collect()
    gc.freeze()
    exec(_serve(socket.socket(fileno=int(sys.argv[1]))))
