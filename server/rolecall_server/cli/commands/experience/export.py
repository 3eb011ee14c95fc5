"""`rolecall export`: what earlier attempts in this repository showed, as training data in a file that is named."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.repository import open_repository
from rolecall_server.cli.screen import Screen, ask, print_json, say_prose
from rolecall_server.errors import FileRefused, UserMustAct
from rolecall_server.settings import read_settings
from rolecall_server.team.experience.experiences import load_experiences
from rolecall_server.team.experience.exporting import Exported, export
from rolecall_server.team.experience.licences import allows, licences_of, named_in
from rolecall_server.workspace import Workspace

_EXPLANATION = "y writes it in place of what is there; n leaves that as it is."


def run_export(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall export`; the exit code."""
    return exit_code_of(lambda: _export(arguments), as_json=arguments.json)


def _export(arguments: argparse.Namespace) -> int:
    store, workspace = open_repository(arguments)
    settings, _ = read_settings(arguments.settings, os.environ)
    allowed = named_in(settings.experience.licences)
    _check_licences(workspace, allowed)
    if not _may_write(arguments):
        return 0
    exported = export(store, workspace, load_experiences(store, workspace.root), arguments.format, allowed)
    if exported.rows:
        write_whole(arguments.to, "".join(f"{row.model_dump_json(exclude_none=True)}\n" for row in exported.rows))
    _tell(exported, arguments)
    return 0


def _check_licences(workspace: Workspace, allowed: tuple[str, ...]) -> None:
    """Pass where all licences that the repository names are *allowed*.

    Raises:
        UserMustAct: one is not.
    """
    found = licences_of(workspace)
    if refused := sorted(one for one in found if not allows(allowed, one)):
        named = ", ".join(refused)
        raise UserMustAct(
            f"Nothing of {workspace.root} is exported: its licence ({named}) is none of those that "
            f"`rolecall.experience.licences` allows ({', '.join(allowed) or 'it is empty'}).",
            f'If you may use it so: --set experience.licences="{named}".',
        )


def _may_write(arguments: argparse.Namespace) -> bool:
    """Return whether the file may be written: it is not there yet, or the developer says so.

    Raises:
        FileRefused: it is there, and nobody can be asked; or it is no file.
    """
    path: Path = arguments.to
    if path.is_dir() or not path.parent.is_dir():
        raise FileRefused(f"{path} cannot be written: name a file in a folder that is there.")
    if arguments.yes or not os.path.lexists(path):
        return True
    screen = Screen()
    if arguments.json or not sys.stdin.isatty():
        raise FileRefused(f"{path} is there already.", "Name another file, or say --yes to have it replaced.")
    return ask(screen, f"{path} is there already. Replace it?", "yn", _EXPLANATION) == "y"


def write_whole(path: Path, text: str) -> None:
    """Write *text* to *path*, all of it or none; only its user can read it.

    Raises:
        FileRefused: it cannot be written.
    """
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise FileRefused(f"{path} cannot be written: {error.strerror}.", "Name another file.") from error


def _tell(exported: Exported, arguments: argparse.Namespace) -> None:
    n_rows = len(exported.rows)
    if arguments.json:
        print_json({"file": str(arguments.to) if n_rows else "", "rows": n_rows, "leftOut": dict(exported.left_out)})
        return
    screen = Screen()
    counted = f"{n_rows} row{'' if n_rows == 1 else 's'}"
    nothing = "Nothing was written: no experience that is kept here gives a row of that format."
    say_prose(screen, f"Wrote {counted} to {arguments.to}." if n_rows else nothing)
    for reason, n in exported.left_out.items():
        say_prose(screen, f"Left out {n}: {reason}.", "yellow")
