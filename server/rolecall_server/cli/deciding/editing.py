"""A text in the developer's own editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path, PurePosixPath

from rolecall_analysis.programs import find_program
from rolecall_server.errors import FileRefused
from rolecall_server.sandbox.shadow.trees import temporary_prefix

_USUAL_EDITORS = ("sensible-editor", "editor", "nano", "vi", "notepad")


def edit_in_editor(text: str, path: str, root: Path) -> str | None:
    """Return *text* as the developer edited it; ``None`` if nothing was changed, or everything was deleted.

    *path* says what kind of text it is. Line endings are ``\\n`` meanwhile. No program of the repository at *root* is
    taken for the editor.

    Raises:
        FileRefused: there is no editor, or it ended with an error.
    """
    command = _editor(root)
    shown = text.replace("\r\n", "\n").replace("\r", "\n")
    with tempfile.TemporaryDirectory(prefix=temporary_prefix()) as folder:
        file = Path(folder, f"hunk{PurePosixPath(path).suffix}")
        file.write_bytes(shown.encode("utf-8", "surrogatepass"))
        try:
            subprocess.run([*command, str(file)], check=True)  # noqa: S603 - the developer's own editor
            edited = file.read_bytes().decode("utf-8")
        except (OSError, subprocess.CalledProcessError, UnicodeDecodeError) as error:
            raise FileRefused(f"{command[0]} gave no text: {error}.", "Set EDITOR to another program.") from error
    return edited if edited.strip() and edited != shown else None


def _editor(root: Path) -> list[str]:
    """Return the command of the developer's editor.

    Raises:
        FileRefused: there is none.
    """
    named = shlex.split(os.environ.get("VISUAL", "")) or shlex.split(os.environ.get("EDITOR", ""))
    for name in named[:1] or _USUAL_EDITORS:
        if found := find_program(name, root):
            return [found, *named[1:]]
    what = f"The editor {named[0]} was not found" if named else "No editor was found"
    raise FileRefused(f"{what} outside {root}.", "Set EDITOR to the one you use, with its folder.")
