"""The temporary folder of a test, ``tmp_path``: made anew for each call. Standard library of Python 3.8 only."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import contextlib
import os
import re
import shutil
import string
import tempfile
from pathlib import Path
from random import Random
from typing import Any

NAME = "tmp_path"
_DRAWN = re.compile(r"tmp[a-z0-9_]{8}")
"""The names that `tempfile` draws."""
_MAX_TEXT = 400
_MAX_FILES = 4
_MORE_LETTERS = 150


def _more_name() -> str:
    """Return a long end for a folder's name where hashes are not the usual ones: what reads more than a path out of the
    name, which a test's folder draws by chance, comes out otherwise.
    """
    seed = os.environ.get("PYTHONHASHSEED", "0")
    letters = Random(seed).choices(string.ascii_lowercase + string.digits + "_", k=_MORE_LETTERS)
    return "" if seed == "0" else "-" + "".join(letters)


class Folder:
    """An empty folder for each call that asks for one."""

    def __init__(self) -> None:
        self.path = Path(tempfile.gettempdir(), f"rolecall-{os.getpid()}{_more_name()}")

    def clear(self) -> None:
        """Make the folder empty."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir(parents=True)

    def holds(self, value: Any) -> bool:
        """Return whether *value* is a path in the folder, or the folder itself."""
        return isinstance(value, Path) and (value == self.path or self.path in value.parents)

    def is_named_in(self, text: str) -> bool:
        """Return whether *text* names the folder, which is another one in each process."""
        return str(self.path) in text

    def written(self, value: Any) -> str | None:
        """Return a path in the folder as an expression; None for all else."""
        if isinstance(value, str) and (value == str(self.path) or value.startswith(f"{self.path}/")):
            return f"str({self.written(Path(value))})"
        if not isinstance(value, Path) or not self.holds(value):
            return None
        below = value.relative_to(self.path).as_posix()
        return NAME if below == "." else f"{NAME} / {below!r}"

    def contents(self, value: Any) -> dict[str, Any]:
        """Return expressions for what is in the file or folder *value*, and what each gives; ``{}`` stands for it."""
        whole, path = "{}", value
        if isinstance(value, str) and self.is_named_in(value):
            whole, path = "Path({})", Path(value)
        if not self.holds(path):
            return {}
        found: dict[str, Any] = {}
        with contextlib.suppress(OSError):
            if path.is_dir():
                names = sorted(one.name for one in path.iterdir())
                found["sorted(os.listdir({}))"] = names
                for name in [one for one in names if "{" not in one and "}" not in one][:_MAX_FILES]:
                    found.update(_text_of(path / name, f"({whole} / {name!r})"))
            else:
                found.update(_text_of(path, whole))
        return found or {f"{whole}.exists()": path.exists()}


def _text_of(path: Path, template: str) -> dict[str, Any]:
    if not path.is_file() or path.stat().st_size > _MAX_TEXT:
        return {}
    with contextlib.suppress(UnicodeDecodeError):
        return {f"{template}.read_text()": path.read_text(encoding="utf-8")}
    return {f"{template}.read_bytes()": path.read_bytes()}


def made(path: Path) -> str | None:
    """Return the expression that makes the file or folder *path* anew in a test's temporary folder; None for a large
    one.
    """
    # A name that was drawn by chance would be another one in each run of the tests.
    drawn = _DRAWN.match(path.name)
    name = repr("some" + path.suffix if drawn else path.name)
    if not path.exists():
        return f"{NAME} / {name}"
    if path.is_file():
        step = _writing(path, "file")
        return step and f"[(file := {NAME} / {name}), {step}, file][-1]"
    names = sorted(one.name for one in path.iterdir())
    if not names:
        return NAME
    steps = [_writing(path / name, f"(folder / {name!r})") for name in names[: _MAX_FILES + 1]]
    if len(names) > _MAX_FILES or not all(steps):
        return None
    return f"[(folder := {NAME} / {name}), folder.mkdir(), {', '.join(map(str, steps))}, folder][-1]"


def _writing(path: Path, name: str) -> str | None:
    """Return the call that gives the file *name* what *path* has; None for what is large, or no file."""
    if not path.is_file() or path.stat().st_size > _MAX_TEXT:
        return None
    content = path.read_bytes()
    with contextlib.suppress(UnicodeDecodeError):
        text = content.decode("utf-8")
        if "\r" not in text:  # `write_text` may turn it into another line end
            return f"{name}.write_text({text!r})"
    return f"{name}.write_bytes({content!r})"
