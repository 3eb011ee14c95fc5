"""The test file that exercises the code a brief is about, and the part of it that matters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath

from rolecall_analysis import Definition, SelectedTests, definitions_in, is_test
from rolecall_analysis.retrieval import Query, rank
from rolecall_analysis.retrieval.words import identifiers
from rolecall_server.context.found import Likely, corpus_of
from rolecall_server.context.items import ContextItem, PackSource, body, check_shown
from rolecall_server.context.parts import in_parts, without_licence
from rolecall_server.errors import FileRefused

_REASON = "the tests that exercise it"
_BY_NAME = 0.6
_BY_CALLS = 0.6
_MOST_FILES = 2
_NEARLY = 0.8
"""Of the best score."""
_MAX_TESTS = 12
_MAX_CHANGED = 3
"""So many of the likeliest definitions are asked which tests call them: each takes a walk through the graph."""


def exercising(view: PackSource, brief: str, likely: Likely, room_tokens: int) -> Iterator[ContextItem]:
    """Yield the part that matters of the test file for the files and definitions that are *likely* meant; of two, each
    in half the room, where nearly as much speaks for another.

    They are found by what *brief* says and what changed together before, by their names, by what they call, and by what
    earlier runs saw them run.
    """
    selected = view.select_tests(view.snapshot, likely.concerned[:_MAX_CHANGED])
    ran = {one.path: one.tests for one in selected}
    paths = _likeliest_tests(view, brief, likely, selected)
    names = " ".join(one.name for one in likely.concerned[:_MAX_CHANGED])
    for path in paths:
        with suppress(FileRefused):
            check_shown(view, path)
            text = f"{brief}\n{names}"
            yield nearest_tests(view, path, text, room_tokens // len(paths), _REASON, ran=ran.get(path, ()))


def _likeliest_tests(view: PackSource, brief: str, likely: Likely, calling: Sequence[SelectedTests]) -> list[str]:
    """Return the test file that most speaks for, and the next one where that has nearly as much."""
    snapshot = view.snapshot
    candidates = {path for path in snapshot.files if is_test(snapshot, path)}
    ranked = rank(corpus_of(view), snapshot, Query(brief, seed=likely.paths[0], candidates=candidates))
    scores = defaultdict[str, float](float, _shares({one.path: one.score for one in ranked}))
    for path, share in _shares({one.path: one.score for one in calling}).items():
        scores[path] += _BY_CALLS * share
    for n, shown in enumerate(likely.paths):
        for path in _named_after(candidates, shown):
            scores[path] += _BY_NAME / (n + 1)
    best = sorted(scores.keys() & candidates, key=lambda path: (-scores[path], path))[:_MOST_FILES]
    return [path for path in best if scores[path] >= _NEARLY * scores[best[0]]]


def _shares(scores: Mapping[str, float]) -> dict[str, float]:
    best = max(scores.values(), default=0.0)
    return {path: score / best for path, score in scores.items()} if best else {}


def _named_after(tests: Iterable[str], path: str) -> list[str]:
    stem = PurePosixPath(path).stem.strip("_")
    return [test for test in tests if PurePosixPath(test).stem in (f"test_{stem}", f"{stem}_test")]


def nearest_tests(
    view: PackSource, path: str, text: str, room_tokens: int, reason: str, *, ran: Sequence[str] = ()
) -> ContextItem:
    """Return the test file *path* where it has room; else its head and the tests nearest to *text*, its first ones
    where none is near, with the helpers that they use. Those of *ran*, as node ids, count as near, the first most.

    Raises:
        FileRefused: it cannot be read.
    """
    whole = without_licence(view, path, reason)
    if whole.tokens <= room_tokens:
        return whole
    functions = {one.qualified_name: one for one in definitions_in(view.snapshot, path) if one.kind != "variable"}
    places = {f"{path}::{name}" for name in functions}
    query = Query(text, level="function", candidates=places, limit=_MAX_TESTS)
    ranked = [one.name for one in rank(corpus_of(view), view.snapshot, query)] if text.strip() else []
    seen = [test.partition("::")[2].replace("::", ".") for test in ran]
    wanted: list[str] = []
    item = in_parts(view, path, wanted, reason)
    for name in _fused(ranked, [name for name in seen if name in functions]) or [*functions][:_MAX_TESTS]:
        more = [*wanted, name, *_helpers(view, functions, name)]
        larger = in_parts(view, path, more, reason)
        # The first one counts whatever its length, or no test at all would be shown.
        if larger.tokens <= room_tokens or not wanted:
            wanted, item = more, larger
    return item


def _fused(*orders: Sequence[str]) -> list[str]:
    """Return what stands in *orders*, what stands in several first.

    Source: reciprocal rank fusion, Cormack, Clarke and Büttcher 2009; 60 is theirs.
    """
    scores = defaultdict[str, float](float)
    for order in orders:
        for place, name in enumerate(order):
            scores[name] += 1 / (60 + place)
    return sorted(scores, key=lambda name: -scores[name])


def _helpers(view: PackSource, functions: dict[str, Definition], name: str) -> Iterator[str]:
    """Yield the functions and fixtures of the file, other than tests, that the text of a test names."""
    test = functions.get(name)
    if test is None:
        return
    said = set(identifiers(body(view, test, "").text))
    yield from (each for each in functions if each in said and not each.startswith("test") and each != name)
