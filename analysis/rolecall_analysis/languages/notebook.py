"""Jupyter notebooks, read as the Python script that their code cells make one after the other.

Positions in the facts of a notebook count in that script, in which a comment with its number stands before each cell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

import msgspec

from rolecall_analysis.python import read_facts as read_python
from rolecall_analysis.syntax import MAX_SOURCE_BYTES, parse
from rolecall_analysis.values import FileFacts, Problem

MAX_NOTEBOOK_CHARACTERS = 50_000_000
"""Notebooks hold pictures, so that they may be larger than sources; beyond this they are data."""

_LINE_MAGIC = re.compile(r"^[ \t]*(?:%[A-Za-z]|!|\?\w)|^[ \t]*[\w.]+\?{1,2}[ \t]*$")
_ASSIGNED_MAGIC = re.compile(r"^([^#'\"]*[^=!<>]=[ \t]*)([%!])(?=[A-Za-z./])")
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_PYTHON_CELL_MAGICS = frozenset({"time", "timeit", "capture", "prun", "python", "python3", "pypy", "debug"})


@dataclass(frozen=True, slots=True)
class Script:
    """The code cells of a notebook as one text: before each a comment with its number, magics made comments."""

    text: str
    problem: str = ""
    """Why there is no text."""


def script_of(notebook: str) -> Script:
    """Return the script in the JSON text of a notebook; without text, and with a problem, if it is none of Python."""
    if len(notebook) > MAX_NOTEBOOK_CHARACTERS:
        return Script("", f"It is larger than {MAX_NOTEBOOK_CHARACTERS:,} characters; it was left out.")
    try:
        content: object = msgspec.json.decode(notebook.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return Script("", "It is not a notebook: not JSON.")
    sources = _code_cells(_table(content))
    if sources is None:
        return Script("", "It is not a notebook: it has no cells.")
    if not _is_python(_table(_table(content).get("metadata"))):
        return Script("", "It is a notebook of another language than Python; it was left out.")
    lines: list[str] = []
    for number, source in sources:
        lines.append(f"# %% [{number}]")
        lines.extend(_plain_python(re.split(r"\r\n|\r|\n", source)))
    text = "\n".join((*lines, "")) if lines else ""
    return Script(text)


def read_notebook(path: str, notebook: str) -> FileFacts:
    """Return the facts of the script in a notebook. One that is malformed has a problem and no facts."""
    script = script_of(notebook)
    if script.problem:
        return FileFacts(path, problems=(Problem(path, script.problem),))
    if len(script.text) > MAX_SOURCE_BYTES:
        return FileFacts(path, problems=(Problem(path, "Its code is larger than a source file may be."),))
    return read_python(path, parse(script.text))


def _code_cells(notebook: dict[str, object]) -> list[tuple[int, str]] | None:
    cells = notebook.get("cells")
    sheets = notebook.get("worksheets")
    if not isinstance(cells, list) and isinstance(sheets, list):  # the format before version 4
        cells = [cell for sheet in cast("list[object]", sheets) for cell in _list(_table(sheet).get("cells"))]
    if not isinstance(cells, list):
        return None
    numbered = enumerate(map(_table, cast("list[object]", cells)))
    return [(number, _source(cell)) for number, cell in numbered if cell.get("cell_type") == "code"]


def _source(cell: dict[str, object]) -> str:
    # `input` is what versions before 4 call it.
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, str):
        return source
    return "".join(part for part in _list(source) if isinstance(part, str))


def _is_python(metadata: dict[str, object]) -> bool:
    names = (
        _table(metadata.get(part)).get(field) for part, field in (("language_info", "name"), ("kernelspec", "language"))
    )
    return next((name.lower().endswith("python") for name in names if isinstance(name, str)), True)


def _plain_python(lines: list[str]) -> list[str]:
    """Return the lines of a cell without magics, each as long as before."""
    magic = next((_CELL_MAGIC.match(line) for line in lines if line.strip()), None)
    if magic is not None and magic[1] not in _PYTHON_CELL_MAGICS:
        return [_commented(line) for line in lines]
    return [_without_magic(line) for line in lines]


def _without_magic(line: str) -> str:
    """Return a magic as a comment; in ``files = !ls`` the number 0 replaces the value."""
    if _LINE_MAGIC.match(line) or _CELL_MAGIC.match(line):
        return _commented(line)
    assigned = _ASSIGNED_MAGIC.match(line)
    return f"{assigned[1]}0#{line[assigned.end() + 1 :]}" if assigned is not None else line


def _commented(line: str) -> str:
    indent = len(line) - len(line.lstrip())
    return f"{line[:indent]}#{line[indent + 1 :]}" if line.strip() else line


def _table(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
