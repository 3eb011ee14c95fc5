"""`rolecall graph unbound`: names that may be read before they have a value, as `path:line:column` lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rolecall_analysis import is_python
from rolecall_analysis.text import decode
from rolecall_analysis.unbound import UnboundRead, unbound_reads
from rolecall_server.cli.reading import read_code
from rolecall_server.cli.screen import Screen, say


def print_unbound(paths: Sequence[Path], messages: Screen) -> int:
    """Print the suspicious reads in files, and in folders with all that is in them; 1 if something was not read."""
    code, screen = 0, Screen()
    for path in (file for given in paths for file in _files_in(given, messages)):
        try:
            text, _ = decode(path.read_bytes())
        except OSError as error:
            say(messages, f"{path} cannot be read: {error.strerror}.", "bold red")
            code = 1
            continue
        for read in unbound_reads(str(path), text):
            say(screen, f"{path}:{_sentence(read)}")
    return code


def _files_in(given: Path, messages: Screen) -> Iterator[Path]:
    if not given.is_dir():
        yield given
        return
    code = read_code(given, messages)
    for path in sorted(code.snapshot.files):
        if is_python(path):
            yield given / code.shown(path)


def _sentence(read: UnboundRead) -> str:
    where = f"{read.span.start.line + 1}:{read.span.start.column + 1}"
    verb = "has no value here" if read.certain else "may have no value here"
    return f"{where}: {read.name} {verb}"
