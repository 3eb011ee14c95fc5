"""Text inside the structure of a document: a line that looks like structure gets a backslash, which reading takes off.

Only such lines are touched, and none within a fenced block, so that what a role wrote as Markdown is still Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

# In Markdown no backtick may follow a fence of backticks: such a line is code within text.
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_LABELLED = re.compile(r" {0,1}[-*+] \*\*([^*:]+)(?::\*\*|\*\*:)(.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)")


def fenced_lines(lines: Sequence[str]) -> frozenset[int]:
    """Return the numbers of the lines in fenced blocks, with the fences."""
    return frozenset(number for block in fenced_blocks(lines) for number in block)


def fenced_blocks(lines: Sequence[str]) -> list[range]:
    """Return the lines of each fenced block, including its fences; a fence that is never closed begins no block."""
    blocks: list[range] = []
    never_closed: dict[str, int] = {}
    number = 0
    while number < len(lines):
        opening = _FENCE.match(lines[number])
        mark = opening[1] if opening else ""
        # Where a fence has no end, a later one that is as long has none either: each length is looked for once.
        if mark and len(mark) < never_closed.get(mark[0], len(mark) + 1):
            end = _closing(lines, number, mark)
            if end is None:
                never_closed[mark[0]] = len(mark)
            else:
                blocks.append(range(number, end + 1))
                number = end
        number += 1
    return blocks


def opens_block(line: str) -> bool:
    """Return whether *line* begins a fenced block and says of which language, so that it cannot end one."""
    match = _FENCE.match(line)
    return match is not None and bool(line[match.end() :].strip())


def labelled(line: str, labels: Iterable[str]) -> tuple[str, str] | None:
    """Return the label and the rest of a line such as ``- **Priority:** P0``, where the label is one of *labels*."""
    match = _LABELLED.fullmatch(line)
    label = match[1].strip().casefold() if match else ""
    return (label, match[2].strip()) if match and label in labels else None


def heading(line: str, level: int) -> tuple[int, str] | None:
    """Return the level and the text of a heading of *level* or above it; ``None`` where *line* is none."""
    match = _headings(level).fullmatch(line)
    return (len(match[1]), (match[2] or "").strip()) if match else None


def escape(text: str, level: int, labels: frozenset[str] = frozenset()) -> str:
    """Return *text* so that no line of it is a heading down to *level*, a field with one of *labels*, or half
    a fence.
    """
    lines = text.split("\n")
    fenced = fenced_lines(lines)
    return "\n".join(
        line if number in fenced else _escape_line(line, lines[number - 1] if number else "", level, labels)
        for number, line in enumerate(lines)
    )


def unescape(text: str, level: int, labels: frozenset[str] = frozenset()) -> str:
    """Return the text that `escape` was given."""
    lines = text.split("\n")
    fenced = fenced_lines(lines)
    return "\n".join(
        line if number in fenced else _unescape_line(line, level, labels) for number, line in enumerate(lines)
    )


def escape_cell(text: str) -> str:
    """Return *text* for a cell of a table."""
    return text.replace("\\", "\\\\").replace("|", "\\|")


def read_cells(line: str) -> list[str]:
    """Return the cells of a row of a table, as `escape_cell` was given them."""
    cells = re.findall(r"((?:[^\\|]|\\.|\\$)*)\|?", line.strip().removeprefix("|"))
    cells = cells[: -1 if cells and not cells[-1] else None]
    return [re.sub(r"\\([\\|])", r"\1", cell.strip()) for cell in cells]


def _closing(lines: Sequence[str], number: int, mark: str) -> int | None:
    """Return the line that closes the fence *mark* that line *number* opens."""
    closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*")
    return next((later for later in range(number + 1, len(lines)) if closing.fullmatch(lines[later])), None)


def _escape_line(line: str, above: str, level: int, labels: frozenset[str]) -> str:
    indent, slashes, rest = _split(line)
    if not _is_structure(rest, level, labels):
        return line
    # Dashes below an empty line underline nothing, and are a rule.
    if not slashes and _UNDERLINE.fullmatch(rest) and not above.strip():
        return line
    return f"{indent}\\{slashes}{rest}"


def _unescape_line(line: str, level: int, labels: frozenset[str]) -> str:
    indent, slashes, rest = _split(line)
    return f"{indent}{slashes[1:]}{rest}" if slashes and _is_structure(rest, level, labels) else line


def _split(line: str) -> tuple[str, str, str]:
    rest = line.lstrip(" ")
    after = rest.lstrip("\\")
    return line[: len(line) - len(rest)], rest[: len(rest) - len(after)], after


def _is_structure(text: str, level: int, labels: frozenset[str]) -> bool:
    """Return whether *text*, the end of a line, could be read as something other than text."""
    return bool(
        _headings(level).fullmatch(text)
        or _FENCE.match(text)
        or _UNDERLINE.fullmatch(text)
        or _OPENS_HTML.match(text)
        or labelled(text, labels)
    )


_OPENS_HTML = re.compile(r"<(!|\?|/?(script|pre|style|textarea)\b)", re.IGNORECASE)


@cache
def _headings(level: int) -> re.Pattern[str]:
    return re.compile(rf" {{0,3}}(#{{1,{level}}})(?:[ \t]+(.*))?[ \t]*")
