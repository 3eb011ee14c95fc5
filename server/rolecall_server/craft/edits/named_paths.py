"""Read the names of files in a reply: exactly, or not at all. Nothing about a name is guessed.

A file may be called anything, with or without a dot or a slash. A name in backticks or quotes is taken as it stands
between them; any other as it stands on the line.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

_QUOTED = re.compile(r"(?P<quote>[`\"'])(?P<name>(?:(?!(?P=quote)).)+)(?P=quote)(?:\s*\([^()]*\))?")
"""A name in quotes, and perhaps a remark in parentheses after it."""
_BOLD = re.compile(r"\*\*(?P<name>.+)\*\*")
_DOUBTFUL = re.compile(r"^\S*\.\w+\W*\s|\s\([^()]*\)$|[:,;]$|`|^[\"'*\[]|[\"'*]$|\\|\s[#=]|[-=]>")
"""Text that rather belongs to a remark, to Markdown or to another system's spelling than to the name of a new file."""
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_MARKS = re.compile(r"\A(?:(?:[#>]++|[*+-]++|\d++[.)])\s++)++")
"""The signs that begin a heading, a quotation or an item of a list."""
_LIKE_A_PATH = re.compile(r"[\w-][/\\][\w.-]|\.\w")
_PATH_IN_PROSE = re.compile(r"(?<![\w.-])[\w-][\w.-]+(?:[/\\][\w.-]+){0,40}\.[A-Za-z]\w*+")
_CODE_IN_PROSE = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"")


@dataclass(frozen=True)
class Name:
    """The path of the file that a line of a reply means, and what is wrong or doubtful about it."""

    path: str = ""
    """Relative to the root; empty where none can be read."""
    fault: str = ""
    """Why none can be read, in words the model can act on."""
    doubt: str = ""
    """Why no new file gets this name before it was asked about; one that exists is meant."""


def read_name(written: str) -> Name:
    """Return the name that *written* holds, which is all that a line says beside ``FILE:``."""
    text = written.strip(" \t")
    while bold := _BOLD.fullmatch(text):
        text = bold["name"].strip(" \t")
    if quoted := _QUOTED.fullmatch(text):
        return _path(quoted["name"])
    name = _path(text)
    return replace(name, doubt=_alone(text)) if name.path and _DOUBTFUL.search(text) else name


def bare_name(line: str) -> Name | None:
    """Return the name that *line* holds alone, without ``FILE:``; ``None`` where it holds prose.

    One word that may be a file's, or a heading, is a name that cannot be read.
    """
    text = _MARKS.sub("", line.strip(), count=1).strip()
    if text.startswith(("```", "~~~")):
        return None
    while bold := _BOLD.fullmatch(text.removesuffix(":")):
        text = bold["name"].strip()
    text = text.removesuffix(":")
    if quoted := _QUOTED.fullmatch(text):
        text = quoted["name"]
    elif " " in text:
        return None
    if not re.search(r"\w", text) or text.endswith((".", "!", "?", "…", ",")):
        return None
    if "://" in text or not _LIKE_A_PATH.search(text):
        return Name(fault=unclear(line)) if len(text.split()) == 1 else None
    name = _path(text)
    return replace(name, doubt=_alone(text)) if " " in text or _DOUBTFUL.search(text) else name


def mentioned(line: str) -> list[str]:
    """Return what *line* of prose names that may be a file: what looks like a path, or stands in backticks."""
    spoken = [match[1] or match[2] for match in _CODE_IN_PROSE.finditer(line)]
    paths = [text for text in spoken if _LIKE_A_PATH.search(text) and " " not in text]
    return [*paths, *_PATH_IN_PROSE.findall(_CODE_IN_PROSE.sub(" ", line))]


def single_words(line: str) -> list[str]:
    """Return the words in backticks or quotes that *line* of prose holds."""
    spoken = (match[1] or match[2] for match in _CODE_IN_PROSE.finditer(line))
    return [text for text in spoken if " " not in text]


def unclear(line: str) -> str:
    """Return the reason why a block below *line* is asked for again."""
    said = " ".join(line.split())
    shown = said if len(said) <= _MOST_SHOWN else f"{said[:_MOST_SHOWN]}…"
    return f"The line {shown!r} above it may name a file, and cannot be read as one; write `FILE: path` there."


_MOST_SHOWN = 80
_LONGEST_PATH = 1_000
"""In characters; systems take four times as many, and no repository comes near it."""
_TOO_LONG = f"The name of its file has more than {_LONGEST_PATH:,} characters."


def _alone(text: str) -> str:
    return (
        f"There is no file {text!r}. Write the path alone on the `FILE:` line, with `/` between folders; put it into "
        "double quotes if it is the whole name."
    )


def _path(text: str) -> Name:
    """Return *text* as a path below the root, in its plainest form."""
    if not text.strip() or len(text) > _LONGEST_PATH:
        return Name(fault="The `FILE:` line above it names no file." if len(text) <= _LONGEST_PATH else _TOO_LONG)
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in text):
        return Name(fault="The name of its file holds a control character.")
    if text.startswith(("/", "\\")) or _DRIVE.match(text):
        return Name(fault=f"{text} is an absolute path; name the file relative to the root of the repository.")
    if ".." in re.split(r"[/\\]", text):
        return Name(fault=f"{text} leads through `..`; name the file as it lies below the root of the repository.")
    path = "/".join(part for part in text.split("/") if part not in ("", "."))
    if not path or text.endswith(("/", "/.")):
        return Name(fault=f"{text} names a folder, not a file.")
    return Name(path)
