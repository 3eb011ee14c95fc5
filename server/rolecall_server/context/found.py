"""The few files that a brief is most likely about, where the developer named none, each in one piece."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

from rolecall_analysis import Definition, Snapshot, definitions_in, find_definition, is_test
from rolecall_analysis.queries.symbols import definitions_named
from rolecall_analysis.retrieval import Corpus, Query, Ranked, rank
from rolecall_analysis.retrieval.words import code_names
from rolecall_server.context.items import ContextItem, LeftOut, PackSource, check_shown, lines_of, whole_file
from rolecall_server.context.parts import in_parts, without_licence
from rolecall_server.errors import FileRefused

_MAX_FILES = 6
_MAX_RANKED = 12
_MAX_FUNCTIONS = 40
_MAX_PASSED_ON = 2
_MAX_HOMES = 2
"""A name that more files define is a common word."""
_SHARE = 0.36
"""Of the room, for the text of all files."""
_ANY_LENGTH = 3
"""So many of the likeliest functions are shown whatever they take."""
_SHARE_OF_LATER = 0.03
"""Of the room: what a later one may take, with what must stand around it."""
_SHARE_OF_WHOLE = 0.12
"""Of the room: a file among the likeliest that takes no more is shown whole."""
_UNLIKELY = 0.42
"""Of the best score: what has less is not likely to be used."""
_BESIDE = frozenset(("benchmarks", "doc", "docs", "example", "examples", "test", "tests"))
"""Folders whose files use the code and are not it."""
_WORD = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True)
class Likely:
    """The files that a brief is most likely about, and what else may be."""

    items: tuple[ContextItem | LeftOut, ...] = ()
    paths: tuple[str, ...] = ()
    """The files shown, the likeliest first."""
    concerned: tuple[Definition, ...] = ()
    """Their definitions that the brief seems to be about, the likeliest first."""
    likely: tuple[str, ...] = ()
    """The files in the order of their likelihood, those that are not shown too."""


def corpus_of(view: PackSource) -> Corpus:
    """Return the words of the files; made anew where nobody keeps them."""
    return view.corpus or Corpus(view.workspace.root)


def found(view: PackSource, brief: str, room_tokens: int) -> Likely:
    """Return the files that *brief* is most likely about: short ones whole, of long ones the functions and classes that
    matter in their place in the file. Tests are left out, and what is not likely to be used.
    """
    corpus, code = corpus_of(view), _code(view.snapshot, brief)
    defining = _defining(view.snapshot, brief, code)
    ranked_files = rank(corpus, view.snapshot, Query(brief, limit=_MAX_RANKED, candidates=code))
    files = [*defining, *(one for one in ranked_files if one.path not in {other.path for other in defining})]
    ranked = rank(corpus, view.snapshot, Query(brief, level="function", limit=_MAX_FUNCTIONS))
    readable = {one.path: _whole(view, one) for one in files}
    texts = {path: item for path, item in readable.items() if isinstance(item, ContextItem) and item.text}
    others = [one for one in files if one.path in texts and one not in defining]
    said = [one.path for one in defining if one.path in texts]
    order = [*said, *_in_order(others, ranked, texts)][: max(_MAX_FILES, len(said))]
    least = _UNLIKELY * max((one.score for one in ranked), default=0.0)
    likely = [(one.path, one.name) for one in ranked if one.path in order and one.score >= least]
    named = _said(view.snapshot, brief, order)
    wanted = [*dict.fromkeys([*named, *likely])]
    shown = _shown(view, {path: texts[path] for path in order}, wanted, room_tokens, named)
    definitions = (find_definition(view.snapshot, *place) for place in wanted)
    refused = [item for item in readable.values() if isinstance(item, LeftOut)]
    return Likely(
        (*shown, *_passed_on(view, named), *refused),
        tuple(item.path for item in shown),
        tuple(one for one in definitions if one is not None),
        tuple(one.path for one in files),
    )


def found_within(view: PackSource, path: str, brief: str, room_tokens: int, reason: str) -> ContextItem:
    """Return the parts of the long file *path* that *brief* is most likely about.

    Raises:
        FileRefused: it cannot be read.
    """
    places = {f"{path}::{one.qualified_name}" for one in definitions_in(view.snapshot, path) if one.kind != "variable"}
    query = Query(brief, level="function", limit=_MAX_FUNCTIONS, candidates=places)
    ranked = [(one.path, one.name) for one in rank(corpus_of(view), view.snapshot, query)]
    wanted = [*dict.fromkeys([*_said(view.snapshot, brief, [path]), *ranked])]
    whole = whole_file(view, path, reason)
    # `_shown` takes a share of the room for all files; here the whole room is for this one.
    (item,) = _shown(view, {path: whole}, wanted, int(room_tokens / _SHARE), wanted) or [
        in_parts(view, path, (), reason)
    ]
    return item


def _defining(snapshot: Snapshot, brief: str, code: Collection[str]) -> list[Ranked]:
    """Return the files that define what *brief* names as code, those with most of it first; a name that many files
    define tells nothing.
    """
    found: dict[str, int] = {}
    for name in code_names(brief):
        homes = {one.path for one in definitions_named(snapshot, name) if one.path in code and one.kind != "variable"}
        for path in homes if len(homes) <= _MAX_HOMES else ():
            found[path] = found.get(path, 0) + 1
    best = sorted(found, key=lambda path: (-found[path], path))[:_MAX_FILES]
    return [Ranked(path, "", 0.0, ("it defines what the brief names",)) for path in best]


def _said(snapshot: Snapshot, brief: str, order: Sequence[str]) -> list[tuple[str, str]]:
    """Return the classes and functions of the files in *order* whose name *brief* says as code; those of the first line
    first.
    """
    first = code_names(brief.strip().partition("\n")[0])
    names = [first, code_names(brief) - first]
    return [
        (path, one.qualified_name)
        for among in names
        for path in order
        for one in definitions_in(snapshot, path)
        if one.kind != "variable" and one.name in among and not one.name.startswith("__")
    ]


def _code(snapshot: Snapshot, brief: str) -> set[str]:
    """Return the files that a change may be about: no tests, no examples or documents unless *brief* says so, and none
    that only passes on names of others.
    """
    spoken = {word.lower().rstrip("s") for word in _WORD.findall(brief)}
    beside = {folder for folder in _BESIDE if folder.rstrip("s") not in spoken}
    return {
        path
        for path in snapshot.files
        if not is_test(snapshot, path)
        and beside.isdisjoint(path.split("/")[:-1])
        and not _passes_names_on(snapshot, path)
    }


def _passes_names_on(snapshot: Snapshot, path: str) -> bool:
    facts = snapshot.files[path]
    return bool(facts.imports) and all(one.name.startswith("__") for one in facts.definitions)


def _in_order(files: Sequence[Ranked], functions: Sequence[Ranked], readable: Mapping[str, ContextItem]) -> list[str]:
    """Return the likeliest files, by their own score and that of their best function."""
    best_file = max((one.score for one in files), default=1.0)
    best_function = max((one.score for one in functions), default=1.0)
    scores = {one.path: one.score / best_file for one in files if one.path in readable}
    of_functions: dict[str, float] = {}
    for one in functions:
        # Functions come best first, so the first one of a file is its best.
        of_functions.setdefault(one.path, one.score / best_function)
    total = {path: score + of_functions.get(path, 0.0) for path, score in scores.items()}
    likely = [path for path in total if total[path] >= _UNLIKELY * max(total.values())]
    return sorted(likely, key=lambda path: -total[path])[:_MAX_FILES]


def _shown(
    view: PackSource,
    texts: Mapping[str, ContextItem],
    wanted: Sequence[tuple[str, str]],
    room_tokens: int,
    named: Collection[tuple[str, str]],
) -> list[ContextItem]:
    """Return of the files in *texts* the short ones whole, of the others the definitions *wanted* as far as there is
    room: those *named*, the first few, and after these only what takes little.
    """
    left = int(room_tokens * _SHARE)
    shown: dict[str, ContextItem] = {}
    for path, text in texts.items():
        if text.tokens <= min(left, room_tokens * _SHARE_OF_WHOLE):
            shown[path] = text
            left -= text.tokens
    names: dict[str, list[str]] = {}
    # These are whole; below, *shown* gets parts of others.
    whole = frozenset(shown)
    for n, (path, name) in enumerate(place for place in wanted if place[0] not in whole):
        before = shown.get(path)
        more = [*names.get(path, ()), name]
        item = in_parts(view, path, more, texts[path].reason)
        cost = item.tokens - (before.tokens if before else 0)
        is_sure = n < _ANY_LENGTH or (path, name) in named
        if cost <= (left if is_sure else min(left, room_tokens * _SHARE_OF_LATER)):
            names[path], shown[path] = more, item
            left -= cost
    return [shown[path] for path in texts if path in shown]


def _passed_on(view: PackSource, named: Sequence[tuple[str, str]]) -> Iterator[ContextItem]:
    """Yield for each package the imports with which it passes on what stands beside the first definitions that are
    *named*: a new name is told there too.
    """
    places: dict[str, set[int]] = {}
    for path, name in named[:_MAX_PASSED_ON]:
        front = PurePosixPath(path).with_name("__init__.py").as_posix()
        facts = view.snapshot.files.get(front) if front != path else None
        imports = [one for one in facts.imports if not one.scope] if facts else []
        modules = {one.module for one in imports if one.bound_name == name}
        spans = [one.span for one in imports if one.module in modules]
        places.setdefault(front, set()).update(line for span in spans for line in (span.start.line, span.end.line))
    for front, lines in places.items():
        if lines:
            with suppress(FileRefused):
                yield lines_of(view, front, min(lines), max(lines), "where names of it are passed on")


def _whole(view: PackSource, ranked: Ranked) -> ContextItem | LeftOut:
    try:
        check_shown(view, ranked.path)
        return without_licence(view, ranked.path, _why(ranked))
    except FileRefused as error:
        return LeftOut(ranked.path, _why(ranked), "file", 1, 0, error.what)


def _why(ranked: Ranked) -> str:
    return next(iter(ranked.reasons), "the brief is about it")
