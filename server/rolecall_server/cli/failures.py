"""The failure that a command names: tests as pytest does, a traceback, the log of a red build."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rolecall_server.craft.repair.failure_text import MOST_CHARACTERS
from rolecall_server.errors import BriefMissing, FileRefused
from rolecall_server.team.request import FailureToMend, RunRequest, request_for_failure
from rolecall_server.workspace import Workspace, file_exists, relative_path, resolve

_MOST_BYTES = 4 * MOST_CHARACTERS  # a character takes at most four


def request_to_mend(arguments: argparse.Namespace, workspace: Workspace) -> RunRequest:
    """Return what `rolecall fix` asks the Engineer for.

    Raises:
        BriefMissing: neither a test nor a log is named.
        FileRefused: one of them cannot be read, or lies outside of *workspace*.
    """
    return request_for_failure(failure_named(arguments, workspace))


def failure_named(arguments: argparse.Namespace, workspace: Workspace) -> FailureToMend:
    """Return the failure that the command line names."""
    tests = tuple(dict.fromkeys(_test_id(named, workspace) for named in arguments.tests))
    log = _read_log(arguments.traceback) if arguments.traceback else ""
    if not tests and not log.strip():
        raise BriefMissing(
            "It is not said what fails.",
            "Name tests as pytest does (FILE::TEST), or a log with --traceback FILE; - reads standard input.",
        )
    return FailureToMend(tests, log, arguments.unreproduced, arguments.change_tests)


def _test_id(named: str, workspace: Workspace) -> str:
    """Return the node id of the test *named*, whose file is looked for from here and from the root."""
    place, separator, name = named.partition("::")
    if not Path(place).exists() and file_exists(workspace, place):
        return named
    return f"{relative_path(workspace, resolve(Path(place)))}{separator}{name}"


def _read_log(name: str) -> str:
    """Return the end of a log; ``-`` is standard input.

    Raises:
        FileRefused: it cannot be read.
    """
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise FileRefused(
            f"{name} cannot be read: {error.strerror}.", "Name a file with a traceback or a log, or - for input."
        ) from None
    return content[-_MOST_BYTES:].decode("utf-8", "replace")[-MOST_CHARACTERS:]
