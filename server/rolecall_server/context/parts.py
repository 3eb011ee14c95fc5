"""A file in parts, in its own order: what stands at its top level, and of its definitions those that matter, whole.

A line that begins with dots stands for each run of lines that is left out, with their number and what they define.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import groupby

from rolecall_analysis import Definition, FileFacts, definitions_in, is_test_path
from rolecall_analysis.queries.definitions import is_inside
from rolecall_analysis.retrieval.words import identifiers
from rolecall_server.context.items import ContextItem, PackSource, whole_file
from rolecall_server.workspace import read_text_file, split_lines

_LONG_TABLE = 30
"""A statement of the module with more lines is data; its beginning shows its form."""
_LONG_DOCSTRING = 12
_BEGINNING = 6
_LONG_CLASS_BODY = 60
_SHORTEST_GAP = 2
"""Fewer lines take no more room than the line that stands for them."""
_MAX_NAMES = 12
_LICENCE = re.compile(r"licen[cs]e|copyright|SPDX|all rights reserved", re.IGNORECASE)
_EXPORTS = "__all__"
HOW_TO_READ = "in parts: `... n lines left out` stands for the others"


def in_parts(view: PackSource, path: str, wanted: Collection[str], reason: str) -> ContextItem:
    """Return *path* with the definitions *wanted*, by qualified name, the classes around them, and its top level.

    All of it where little would be left out.

    Raises:
        FileRefused: it cannot be read.
    """
    whole = whole_file(view, path, reason)
    lines = split_lines(whole.text)
    # The file on disk may be shorter by now than when the graph read it.
    definitions = [one for one in definitions_in(view.snapshot, path) if _end(one) < len(lines)]
    kept = _kept(lines, definitions, wanted)
    if len(kept) == len(lines):
        return whole
    text = "".join(_written(lines, kept, partial(_gap, definitions)))
    return ContextItem(path, f"{reason}; {HOW_TO_READ}", "parts", text, 1, view.count_tokens(text), _runs(kept))


def alone(view: PackSource, path: str, wanted: Collection[str], reason: str) -> ContextItem:
    """Return the definitions *wanted* of *path*, by qualified name, without what else is there: of their long
    docstrings the beginning, of the classes around them the first lines, and of classes and module those variables that
    they use; outside of tests, which nobody is to edit, imports as well.

    Raises:
        FileRefused: it cannot be read.
    """
    lines = split_lines(read_text_file(view.workspace, path).text)
    definitions = [one for one in definitions_in(view.snapshot, path) if _end(one) < len(lines)]
    named = [one for one in definitions if one.qualified_name in wanted]
    # Of an overloaded function the definition with the body is enough.
    blocks = [one for one in named if not any(name.rpartition(".")[2] == "overload" for name in one.decorators)]
    kept = {number for one in blocks for number in lines_alone(lines, one)}
    for one in definitions:
        if one.kind != "variable" and any(is_inside(block.scope, one.qualified_name) for block in blocks):
            kept |= _head(lines, one)
    names = frozenset(identifiers("".join(lines[number] for number in kept)))
    kept |= _bindings(view.snapshot.files[path], lines, definitions, blocks, names)
    kept = _with_short_gaps(kept, lines)
    text = "".join(
        _written(lines[: max(kept, default=-1) + 1], kept, lambda run: f"... lines {run[0] + 1} to {run[-1] + 1}")
    )
    return ContextItem(path, reason, "parts", text, 1, view.count_tokens(text), _runs(kept))


def lines_alone(lines: Sequence[str], definition: Definition) -> set[int]:
    """Return the numbers, from 0, of the lines that `alone` shows of a function or class itself."""
    shown, head = _span(definition), _head(lines, definition)
    docstring = _docstring(lines, max(head) + 1, shown - head)
    return shown - set(docstring[_BEGINNING:-1]) if len(docstring) > _LONG_DOCSTRING else shown


def without_licence(view: PackSource, path: str, reason: str) -> ContextItem:
    """Return all of *path* but the comment about its licence, where it begins with one.

    Raises:
        FileRefused: it cannot be read.
    """
    whole = whole_file(view, path, reason)
    lines = split_lines(whole.text)
    licence = _licence(lines)
    if len(licence) < _SHORTEST_GAP:
        return whole
    kept = set(range(len(lines))) - licence
    text = "".join(lines[number] for number in sorted(kept))
    return ContextItem(path, f"{reason}; without its licence", "parts", text, 1, view.count_tokens(text), _runs(kept))


def _kept(lines: Sequence[str], definitions: Sequence[Definition], wanted: Collection[str]) -> set[int]:
    """Return the numbers of the lines to show, from 0."""
    blocks = [one for one in definitions if one.kind != "variable"]
    exports = {n for one in definitions if (one.name, one.scope) == (_EXPORTS, "") for n in _span(one)}
    kept = _level(lines, definitions, "", range(len(lines))) - _licence(lines) - exports
    kept |= _of_statement(lines, sorted(exports), {name.partition(".")[0] for name in wanted})
    for one in blocks:
        if one.qualified_name in wanted:
            kept |= _around(lines, definitions, one)
    return _with_short_gaps(_without_lone_blanks(kept, lines), lines)


def _without_lone_blanks(kept: set[int], lines: Sequence[str]) -> set[int]:
    """Return *kept* without the empty lines that only part what is left out."""
    alone = (
        run
        for run in _runs(kept)
        if run[0] > 1 and run[1] < len(lines) and not "".join(lines[run[0] - 1 : run[1]]).strip()
    )
    return kept - {number for first, last in alone for number in range(first - 1, last)}


def _with_short_gaps(kept: set[int], lines: Sequence[str]) -> set[int]:
    """Return *kept* with the lines that take no more room than what would stand for them."""
    gaps = _runs(set(range(len(lines))) - kept)
    return kept | {n for first, last in gaps if last - first < _SHORTEST_GAP for n in range(first - 1, last)}


def _around(lines: Sequence[str], definitions: Sequence[Definition], wanted: Definition) -> set[int]:
    """Return the lines of *wanted*, or of the function that it lies in, and of what stands in the classes around."""
    by_name = {one.qualified_name: one for one in definitions if one.kind != "variable"}
    names = wanted.qualified_name.split(".")
    outer = [by_name[name] for n in range(1, len(names)) if (name := ".".join(names[:n])) in by_name]
    kept: set[int] = set()
    for one in outer:
        if one.kind in ("function", "method"):
            return kept | _span(one)
        kept |= _level(lines, definitions, one.qualified_name, _span(one))
    return kept | _span(wanted)


def _head(lines: Sequence[str], definition: Definition) -> set[int]:
    """Return the lines of *definition* up to the end of its signature."""
    first = definition.name_span.start.line
    last = next((n for n in range(first, _end(definition)) if lines[n].rstrip().endswith(":")), first)
    return set(range(definition.span.start.line, last + 1))


def _bindings(
    facts: FileFacts,
    lines: Sequence[str],
    definitions: Sequence[Definition],
    blocks: Sequence[Definition],
    names: AbstractSet[str],
) -> set[int]:
    """Return the lines that bind *names* for *blocks*, and the entries of ``__all__`` for these; of long statements the
    first line, the last, and those that have such a name.
    """
    scopes = {"", *(one.scope for one in blocks)}
    exported = {one.name for one in blocks if not one.scope}.intersection(facts.exported or ())
    inner = {number for one in definitions if one.kind in ("function", "method") for number in _span(one)}
    kept: set[int] = set()
    for one in () if is_test_path(facts.path) else facts.imports:
        if not one.scope and one.bound_name in names and not one.for_types_only:
            kept |= _of_statement(lines, range(one.span.start.line, one.span.end.line + 1), names)
    for one in definitions:
        # A mere annotation gives the name no value.
        has_value = "=" in "".join(lines[number] for number in sorted(_span(one)))
        if one.kind == "variable" and one.scope in scopes and has_value and inner.isdisjoint(_span(one)):
            if one.name == _EXPORTS and exported:
                kept |= _of_statement(lines, sorted(_span(one)), exported)
            elif one.name in names:
                kept |= _of_statement(lines, sorted(_span(one)), frozenset())
    return kept


def _of_statement(lines: Sequence[str], numbers: Sequence[int], names: AbstractSet[str]) -> set[int]:
    if len(numbers) <= _BEGINNING:
        return {*numbers}
    beginning = 1 if names else _BEGINNING
    return {
        *numbers[:beginning],
        numbers[-1],
        *(number for number in numbers if not names.isdisjoint(identifiers(lines[number]))),
    }


def _level(lines: Sequence[str], definitions: Sequence[Definition], scope: str, within: Iterable[int]) -> set[int]:
    """Return the lines *within* that belong to *scope* itself, the module or a class, and to nothing defined in it; of
    long tables and docstrings the beginning.
    """
    inner = [one for one in definitions if one.scope == scope]
    kept = set(within)
    for one in inner:
        if one.kind != "variable":
            kept -= _span(one)
        elif len(_span(one)) > _LONG_TABLE:
            kept -= set(sorted(_span(one))[_BEGINNING:-1])
    docstring = _docstring(lines, min(kept, default=0), kept)
    if len(docstring) > _LONG_DOCSTRING:
        kept -= set(docstring[_BEGINNING:-1])
    own = sorted(kept)
    return set(own[:_LONG_CLASS_BODY]) if scope else kept


def _docstring(lines: Sequence[str], first: int, among: Collection[int]) -> list[int]:
    """Return the lines of the first long string literal that begins a line among the first of a class or module."""
    for start in range(first, min(first + _LONG_DOCSTRING, len(lines))):
        # No `b` and no `f`: Python takes such a string for no docstring.
        mark = re.match(r"\s*[rRuU]?(\"\"\"|''')", lines[start])
        if mark is None:
            continue
        rest = lines[start][mark.end() :]
        if mark[1] in rest:
            return [start]
        end = next((n for n in range(start + 1, len(lines)) if mark[1] in lines[n]), start)
        return [n for n in range(start, end + 1) if n in among]
    return []


def _licence(lines: Sequence[str]) -> set[int]:
    """Return the comment at the top of a file where it is about its licence."""
    end = next((n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    top = "".join(lines[:end])
    return set(range(end)) if _LICENCE.search(top) else set()


def _written(lines: Sequence[str], kept: Collection[int], gap: Callable[[Sequence[int]], str]) -> Iterator[str]:
    """Yield the lines that are *kept*, and for each run of others what *gap* says of it, as far in as it begins."""
    for is_kept, numbers in groupby(range(len(lines)), kept.__contains__):
        run = [*numbers]
        if is_kept:
            yield from (lines[number] for number in run)
        else:
            text = next((lines[number] for number in run if lines[number].strip()), "")
            yield f"{text[: len(text) - len(text.lstrip())]}{gap(run)}\n"


def _gap(definitions: Sequence[Definition], run: Sequence[int]) -> str:
    first, last = run[0], run[-1]
    inside = [one for one in definitions if one.kind != "variable" and first <= one.span.start.line <= last]
    outermost = [one for one in inside if not any(one.scope == other.qualified_name for other in inside)]
    names = [*dict.fromkeys(one.name for one in outermost)]
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    told = f": {', '.join(names[:_MAX_NAMES])}{more}" if names else ""
    return f"... {len(run)} lines left out ({first + 1} to {last + 1}){told}"


def _runs(numbers: Collection[int]) -> tuple[tuple[int, int], ...]:
    """Return the first and the last of each unbroken run of *numbers*, which are from 0; the runs are from 1."""
    firsts = sorted(number + 1 for number in numbers if number - 1 not in numbers)
    lasts = sorted(number + 1 for number in numbers if number + 1 not in numbers)
    return tuple(zip(firsts, lasts, strict=True))


def _span(definition: Definition) -> set[int]:
    return set(range(definition.span.start.line, _end(definition) + 1))


def _end(definition: Definition) -> int:
    return definition.span.end.line
