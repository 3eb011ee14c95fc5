"""A whole file with one hunk in its place."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePath

from rolecall_analysis.programs import find_program
from rolecall_server.cli.screen import Screen, say
from rolecall_server.review.proposals.anchor import Stale, locate, path_now
from rolecall_server.review.proposals.proposal import FileChange, Hunk
from rolecall_server.review.proposals.proposal_store import Reviewed
from rolecall_server.review.proposals.rendering import visible
from rolecall_server.workspace import Workspace, read_text_or_none, split_lines

_ROWS_FOR_THE_QUESTION = 4
_ROWS_ABOVE = 10
"""So much of what stands above the hunk is on the first screen."""


def show_file(screen: Screen, workspace: Workspace, reviewed: Reviewed, change: FileChange, hunk: Hunk) -> None:
    """Print the file of *change* as it is now with *hunk* in its place; through the pager where it is long."""
    rows = list(_rows(workspace, reviewed, change, hunk))
    if not screen.is_terminal or len(rows) + _ROWS_FOR_THE_QUESTION <= screen.height:
        _print(screen, rows)
        return
    with screen.capture() as captured:
        _print(screen, rows)
    first = next((number for number, (_, style) in enumerate(rows) if style in ("red", "green")), 0)
    pager = _pager(max(1, first - _ROWS_ABOVE), workspace.root)
    if pager:
        subprocess.run(pager, input=captured.get(), text=True, check=False)  # noqa: S603 - the developer's own
    else:
        _print(screen, rows)


def _pager(row: int, root: Path) -> list[str]:
    """Return the developer's pager, the usual one at *row*, counted from 1; empty where there is none outside
    *root*.
    """
    name, *options = shlex.split(os.environ.get("PAGER", "")) or ["less"]
    found = find_program(name, root)
    if found is None:
        return []
    return [found, *options, "-R", f"+{row}"] if PurePath(name).name == "less" else [found, *options]


def _print(screen: Screen, rows: list[tuple[str, str]]) -> None:
    for row, style in rows:
        say(screen, row, style)


def _rows(workspace: Workspace, reviewed: Reviewed, change: FileChange, hunk: Hunk) -> Iterator[tuple[str, str]]:
    """Yield each line with its number, and its style: what is added is green, what goes is red and has no number."""
    path = path_now(change, reviewed.accepted)
    current = read_text_or_none(workspace, path)
    place = locate(change, reviewed.accepted, current)[hunk.id]
    lines = split_lines(current or "")
    if isinstance(place, Stale):
        yield place.reason, "yellow"
        start = end = len(lines)
    else:
        start, end = (place.start, place.end) if hunk.start != hunk.end or hunk.new_lines else (0, 0)
    yield path, "bold"
    number = 0
    for sign, style, group in (
        (" ", "", lines[:start]),
        ("-", "red", lines[start:end]),
        ("+", "green", hunk.new_lines if not isinstance(place, Stale) else ()),
        (" ", "", lines[end:]),
    ):
        for line in group:
            number += sign != "-"
            shown = visible(line.rstrip("\r\n"))
            yield f"{'' if sign == '-' else number:>5} {sign} {shown}".rstrip(), style
