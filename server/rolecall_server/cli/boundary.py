"""The outermost part of a command that decides or writes: how it ends, whatever happens in it."""

from __future__ import annotations

from collections.abc import Callable

from rolecall_server.cli.files.disk import changed_here
from rolecall_server.cli.interrupts import STOPPED, end_like_ctrl_c
from rolecall_server.cli.screen import Screen, print_json_error, say, say_error
from rolecall_server.errors import RolecallError

NOT_WRITTEN = 3
"""The exit code where something that was to be written waits: no test ran with it, it is guarded, or does not fit."""


def exit_code_of(
    command: Callable[[], int], *, as_json: bool, cancelled: str = "Cancelled; nothing was written."
) -> int:
    """Run *command* and return its exit code; report an error where its reader looks, with what to do next."""
    end_like_ctrl_c()
    messages = Screen(stderr=True)
    try:
        return command()
    except RolecallError as error:
        if as_json:
            print_json_error(error)
        else:
            say_error(messages, error)
        return 1
    except KeyboardInterrupt as stopped:
        say(messages, f"{str(stopped) or ('Stopped.' if changed_here else cancelled)}{_changed()}")
        return STOPPED


def _changed() -> str:
    """Return which files this process has changed, where it has."""
    files = ", ".join(dict.fromkeys(changed_here))
    return f" It had changed {files} before; `rolecall log` says what was decided." if files else ""
