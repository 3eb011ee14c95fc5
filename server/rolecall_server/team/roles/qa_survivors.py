"""Faults that the tests let pass, before the QA Engineer once more: a short conversation of its own, and only one."""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rolecall_analysis import Definition, Position, Snapshot, definitions_in, enclosing_definition, find_definition
from rolecall_server.craft.edits.edit_blocks import apply_edit_blocks
from rolecall_server.craft.edits.replies import parse_edit_blocks, text_beside_edits
from rolecall_server.craft.test_quality.test_text import changed_tests, written_tests
from rolecall_server.model import ChatMessage, estimate_tokens
from rolecall_server.python_trees import parse_python
from rolecall_server.sandbox import Mutant
from rolecall_server.team.request import Desk, RunRequest
from rolecall_server.team.test_quality.proving import More
from rolecall_server.text_work import beside_the_loop
from rolecall_server.workspace import read_for_model, split_lines

LEAST = 2
"""For a single fault nobody is asked: the last that good tests let pass makes mostly no difference at all."""
SHARE = 0.25
"""Of the tokens that the first request and its reply took, this much may be spent once more: a fault that is left
costs many times what one of those cost that the first tests notice."""
_TOKENS_OF_A_CASE = 40
_MAX_OF_A_LINE = 3
"""Faults of one line are mostly noticed together."""
_PROFILE = Path(__file__).with_suffix(".md")
_EQUIVALENT = re.compile(r"^[ \t>*_`-]*+Equivalent:(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class _Fault:
    """A fault that goes unnoticed, by the one line that it changes."""

    mutant: Mutant
    at: int
    """The line, from 0."""
    became: str


@dataclass(frozen=True)
class _Piece:
    """Some code, and the faults in it that go unnoticed."""

    lines: frozenset[int]
    """From 0: a function, the head of its class, what makes the class's instances."""
    faults: tuple[_Fault, ...]

    def tokens(self, source: Sequence[str]) -> int:
        """Return the number of tokens that it takes to show it, and to answer."""
        shown = estimate_tokens("".join(source[number] for number in self.lines))
        return shown + sum(estimate_tokens(fault.became) + _TOKENS_OF_A_CASE for fault in self.faults)


async def ask_about_survivors(
    request: RunRequest,
    desk: Desk,
    opening: Sequence[ChatMessage],
    files: Mapping[str, str | None],
    lived: Sequence[Mutant],
    *,
    known: str = "",
) -> More | None:
    """Ask the model for additions to the test *files* of *request* that notice the faults *lived*, the easiest to show
    first.

    *known* is what was reported and left out before.
    ``None`` where asking would not pay, by `LEAST` and by `SHARE` of what *opening* and *files* took.

    Raises:
        RolecallError: the model failed, or there is no room for it in the budget.
    """
    assert desk.client is not None
    source = split_lines(read_for_model(desk.workspace, request.path) or "")
    texts = {path: text for path, text in files.items() if text is not None}
    spent = sum(map(estimate_tokens, (*(message.text for message in opening), *texts.values())))
    system = _PROFILE.read_text(encoding="utf-8")
    tests = "\n".join([*(_describe_tests(path, text) for path, text in texts.items()), *([known] if known else [])])
    room = int(SHARE * spent) - estimate_tokens(system + tests)
    pieces = await asyncio.to_thread(_pieces, desk.snapshot, request.path, source, lived)
    chosen = _that_fit(pieces, source, room)
    faults = sorted((fault for piece in chosen for fault in piece.faults), key=lambda fault: fault.at)
    if len(faults) < LEAST:
        return None
    code = "".join(_with_faults(source, frozenset[int]().union(*(piece.lines for piece in chosen)), faults))
    desk.report(f"asking about {len(faults)} faults that no test notices", None)
    shown = f"# From {request.path}\n\n```\n{code}```\n\n{tests}"
    reply = await desk.client.complete([ChatMessage("system", system), ChatMessage("user", shown)])
    mutants = [fault.mutant for fault in faults]
    return await beside_the_loop("Applying the edits of the reply", _read, reply.text, texts, mutants)


def _pieces(snapshot: Snapshot, path: str, source: Sequence[str], lived: Sequence[Mutant]) -> list[_Piece]:
    """Return the functions with faults of *lived* in them; of code outside of functions the line alone."""
    by_lines: dict[frozenset[int], list[_Fault]] = {}
    details = _details(source)
    for mutant in lived:
        fault = _fault(source, mutant)
        indent = len(source[fault.at]) - len(source[fault.at].lstrip())
        around = enclosing_definition(snapshot, path, Position(fault.at, indent))
        faults = by_lines.setdefault((_lines_shown(snapshot, path, around) - details) | {fault.at}, [])
        if sum(other.at == fault.at for other in faults) < _MAX_OF_A_LINE:
            faults.append(fault)
    return [_Piece(lines, tuple(faults)) for lines, faults in by_lines.items()]


def _fault(source: Sequence[str], mutant: Mutant) -> _Fault:
    now = split_lines(mutant.text)
    pairs = enumerate(zip(source, now, strict=False))
    at = next((at for at, (old, new) in pairs if old.rstrip() != new.rstrip()), mutant.line - 1)
    return _Fault(mutant, at, now[at].strip())


def _lines_shown(snapshot: Snapshot, path: str, around: Definition | None) -> frozenset[int]:
    if around is None or around.kind not in ("function", "method"):
        return frozenset()
    shown = set(range(around.span.start.line, around.span.end.line + 1))
    holder = find_definition(snapshot, path, around.scope) if around.scope else None
    if holder is not None and holder.kind == "class":
        shown.add(holder.span.start.line)
        for other in definitions_in(snapshot, path):
            if other.scope == around.scope and other.name in ("__init__", "__new__"):
                shown |= set(range(other.span.start.line, other.span.end.line + 1))
    return frozenset(shown)


def _details(source: Sequence[str]) -> frozenset[int]:
    """Return the lines of docstrings below their first paragraph."""
    found: set[int] = set()
    for node in ast.walk(parse_python("".join(source))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines = range(node.lineno, (node.end_lineno or 0) - 1)
            end = next((line for line in lines if not source[line].strip()), lines.stop)
            found |= set(range(end, lines.stop))
    return frozenset(found)


def _that_fit(pieces: Sequence[_Piece], source: Sequence[str], room_tokens: int) -> list[_Piece]:
    """Return those of *pieces* that may be shown together, those with most faults for their size first; the last one
    with as many faults as fit.
    """
    chosen: list[_Piece] = []
    for piece in sorted(pieces, key=lambda piece: piece.tokens(source) / len(piece.faults)):
        left = piece
        while left.faults and left.tokens(source) > room_tokens:
            left = replace(left, faults=left.faults[:-1])
        if left.faults:
            chosen.append(left)
            room_tokens -= left.tokens(source)
    return chosen


def _with_faults(source: Sequence[str], lines: frozenset[int], faults: Sequence[_Fault]) -> Iterator[str]:
    """Yield the *lines* of *source*, each fault below the line it changes with its number; `...` for what is
    left out.
    """
    numbers = {id(fault): number for number, fault in enumerate(faults, 1)}
    previous = -1
    for number in sorted(lines):
        if number > previous + 1:
            yield "...\n"
        yield source[number].rstrip("\r\n") + "\n"
        yield from (f"[{numbers[id(fault)]}] {fault.became}\n" for fault in faults if fault.at == number)
        previous = number


def _describe_tests(path: str, text: str) -> str:
    """Describe the imports of the test file, and the names of its tests."""
    imports = [ast.unparse(node) for node in parse_python(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = ", ".join(test.name for test in written_tests(text))
    return "\n".join([f"# {path} has these imports\n", "```", *imports, "```\n", f"and these tests: {names}.\n"])


def _read(reply: str, texts: Mapping[str, str], asked: Sequence[Mutant]) -> More:
    """Return the additions of *reply* to *texts*; what would change a test of theirs is not taken."""
    edited = apply_edit_blocks(parse_edit_blocks(reply), texts.get)
    files = {
        path: text
        for path, text in edited.files.items()
        if text is not None and path in texts and not changed_tests(text, texts[path])
    }
    numbers = {int(number) for line in _EQUIVALENT.findall(reply) for number in re.findall(r"\d+", line)}
    equal = tuple(mutant for number, mutant in enumerate(asked, 1) if number in numbers)
    return More(files, text_beside_edits(reply), tuple(asked), equal)
