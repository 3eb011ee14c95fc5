"""What is forked from the prepared parent is what a new process would be, to itself and to whoever asked for it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.prepared import ROLECALL, PreparedPopen
from support.workspaces import environment

TELL = """
import json, locale, os, signal, sys, tempfile, time

print(json.dumps({
    "arguments": sys.argv[1:],
    "cwd": os.getcwd(),
    "descriptors": [number for number in range(3, 50) if os.path.exists(f"/proc/self/fd/{number}")],
    "environment": dict(os.environ),
    "flags": list(sys.flags),
    "folder": tempfile.gettempdir(),
    "group": os.getpgid(0),
    "handlers": [str(signal.getsignal(each)) for each in sorted(signal.valid_signals())],
    "interpreter": [sys.executable, sys.prefix, sys.path, sys.dont_write_bytecode, sys.getswitchinterval()],
    "locale": locale.setlocale(locale.LC_ALL),
    "parent": os.getppid(),
    "read": sys.stdin.read(),
    "session": os.getsid(0),
    "streams": [(each.encoding, each.errors, each.isatty(), each.line_buffering, each.name, each.mode)
                for each in (sys.stdin, sys.stdout, sys.stderr)],
    "umask": os.umask(0),
    "zone": time.tzname,
}))
"""


class Telling(PreparedPopen):
    program = TELL


class Ending(PreparedPopen):
    program = "import sys; exec(sys.argv[1])"


class Drawing(PreparedPopen):
    program = "import random, uuid; print(random.random(), uuid.uuid4())"


ANEW = (subprocess.Popen, (sys.executable, "-I", "-c", TELL))
FORKED = (Telling, ROLECALL)


@pytest.mark.parametrize("new_session", [False, True])
def test_it_is_given_what_a_new_process_is_given(tmp_path: Path, new_session: bool) -> None:
    env = environment(tmp_path / "home", TZ="Asia/Tokyo")

    def told(popen: Any, command: tuple[str, ...]) -> dict[str, Any]:
        with popen(
            [*command, "two", "words"],
            cwd=tmp_path,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=new_session,
        ) as process:
            said, _ = process.communicate("typed é".encode())
        about = json.loads(said)
        about["session"], about["group"] = about["session"] == process.pid, about["group"] == process.pid
        return about

    assert told(*FORKED) == told(*ANEW)


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("pass", 0, ""),
        ("raise SystemExit(3)", 3, ""),
        ("raise SystemExit('a reason')", 1, "a reason\n"),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL, ""),
        ("import os; os.kill(os.getpid(), 2)", -signal.SIGINT, "KeyboardInterrupt"),
        ("import atexit; atexit.register(print, 'the end', file=sys.stderr)", 0, "the end\n"),
        (
            "import threading; threading.Thread(target=print, args=['heard'], kwargs={'file': sys.stderr}).start()",
            0,
            "heard",
        ),
    ],
)
def test_it_ends_as_a_new_process_does(tmp_path: Path, program: str, code: int, said: str) -> None:
    with Ending([*ROLECALL, program], env=environment(tmp_path), stderr=subprocess.PIPE, text=True) as process:
        _, told = process.communicate()
    assert process.returncode == code
    assert said in told if said else told == ""


def test_two_of_them_draw_different_numbers(tmp_path: Path) -> None:
    env = environment(tmp_path)
    with (
        Drawing(ROLECALL, env=env, stdout=subprocess.PIPE, text=True) as one,
        Drawing(ROLECALL, env=env, stdout=subprocess.PIPE, text=True) as other,
    ):
        drawn = {*one.communicate()[0].split(), *other.communicate()[0].split()}
    assert len(drawn) == 4


@pytest.mark.parametrize("variable", ["PYTHONUTF8", "LC_ALL", "LANG"])
def test_what_an_interpreter_reads_at_its_start_has_it_start_anew(tmp_path: Path, variable: str) -> None:
    env = environment(tmp_path) | {variable: "C"}
    with Drawing([*ROLECALL, "--version"], env=env, stdout=subprocess.PIPE, text=True) as process:
        said, _ = process.communicate()
    assert said.startswith("rolecall ")
