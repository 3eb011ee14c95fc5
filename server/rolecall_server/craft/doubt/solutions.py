"""Solutions of a brief, as a model gives several in one reply; `solutions.md` says what it is asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rolecall_analysis import facts_of, is_python
from rolecall_server.craft.edits.edit_blocks import Texts, apply_edit_blocks, parse_edit_blocks
from rolecall_server.python_trees import parse_expression
from rolecall_server.review.checks.syntax import syntax_errors

PROFILE = Path(__file__).with_suffix(".md")
MOST_SOLUTIONS = 3
_HEAD = re.compile(
    r"^#{1,4}[ \t*_]++Solution[ \t]++\d{1,2}\b[ \t*_]*+[:.\u2013\u2014-]?[ \t*_]*+(.*)$",
    re.MULTILINE | re.IGNORECASE,
)
_CALL = re.compile(r"^[ \t>*_-]*+Call[*_]*+:[*_ \t`]*+([^\n`]*+)", re.MULTILINE | re.IGNORECASE)
_MOST_OF_READING = 160
"""Characters; what is asked for is fifteen words."""
_MOST_CALLS, _MOST_OF_CALL = 3, 500


@dataclass(frozen=True)
class ShortSolution:
    """One way to carry out a brief."""

    reading: str
    """The reading of what the brief leaves open, in the model's words; may be empty."""
    files: Mapping[str, str | None]
    """The whole text of each file that it changes."""
    calls: tuple[ast.Call, ...] = ()
    """Calls of which the model says that they show where it parts from the others."""


def read_solutions(reply: str, read_text: Texts, refusal: Callable[[str], str | None]) -> tuple[ShortSolution, ...]:
    """Return the solutions in *reply* whose edits all fit and parse, each on the texts of *read_text*; at most three.

    *refusal* says why a path may not be changed. A solution that touches such a path is left out.
    """
    heads = [*_HEAD.finditer(reply)]
    ends = (*(head.start() for head in heads[1:]), len(reply))
    found: list[ShortSolution] = []
    for head, end in zip(heads[:MOST_SOLUTIONS], ends, strict=False):
        said = reply[head.end() : end]
        edited = apply_edit_blocks(parse_edit_blocks(said), read_text)
        files = {path: text for path, text in edited.files.items() if text != read_text(path)}
        if files and not edited.problems and not any(map(refusal, files)) and all(map(_parses, files, files.values())):
            reading = " ".join(head[1].split())[:_MOST_OF_READING].strip(" .*_")
            found.append(ShortSolution(reading, files, tuple(_calls_in(said))))
    return tuple(found)


def _calls_in(said: str) -> Iterator[ast.Call]:
    """Yield the calls that lines before the edits name, as far as they are calls."""
    for line in _CALL.findall(said.partition("FILE:")[0])[:_MOST_CALLS]:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            tree = parse_expression(line.strip()[:_MOST_OF_CALL])
            yield from [tree] if isinstance(tree, ast.Call) else []


def _parses(path: str, text: str | None) -> bool:
    return text is None or not is_python(path) or not syntax_errors(facts_of(path, text), text)
