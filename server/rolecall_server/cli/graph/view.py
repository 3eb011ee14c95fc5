"""`rolecall graph view`: the graph of a folder as one HTML page that needs nothing else."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from rolecall_analysis.flow import call_graph
from rolecall_analysis.modules import module_names
from rolecall_analysis.queries import import_graph, is_test
from rolecall_analysis.queries.callers import call_targets
from rolecall_server.cli.graph.statistics import count_lines
from rolecall_server.cli.reading import IndexedFolder, progress_bar
from rolecall_server.cli.screen import Screen, waiting
from rolecall_server.errors import FileRefused

_FOLDER = Path(__file__).with_name("view")
_SCRIPTS = ("treemap.js", "page.js")
_NODES = frozenset({"class", "function", "interface", "method"})

Calls = Literal["names", "values"]
"""The way to find out who calls whom."""

MAX_FILES_TO_FOLLOW = 300
"""More files than this take minutes to follow values through."""

_Place = tuple[str, str]
"""A path, and the qualified name of a definition in it; empty for the module itself."""


def write_view(code: IndexedFolder, title: str, output: Path, calls: Calls | None, messages: Screen) -> Path:
    """Write the page to *output*, and say where that is.

    Calls are found by following *values* through the code, or the *names* alone, which is quicker; None: whichever
    is done in half a minute.

    Raises:
        FileRefused: it cannot be written there.
    """
    if calls is None:
        calls = "values" if len(code.snapshot.files) <= MAX_FILES_TO_FOLLOW else "names"
    page = render_page(title, view_data(code, title, calls, messages))
    try:
        output.write_text(page, encoding="utf-8")
    except OSError as error:
        raise FileRefused(f"{output} cannot be written: {error.strerror}.", "Name another --output.") from error
    return output.resolve()


def view_data(code: IndexedFolder, title: str, calls: Calls, messages: Screen) -> Mapping[str, Any]:
    """Return the data that the page shows: files, their classes and functions by number, and flat lists of edges
    between them.

    ``imports`` has pairs of files. ``calls`` has triples (caller, callee, 1 if certain), where functions are numbered
    after the files, and a file stands for the code of its module.
    """
    snapshot = code.snapshot
    paths = sorted(snapshot.files)
    numbers: dict[_Place, int] = {(path, ""): number for number, path in enumerate(paths)}
    symbols: list[tuple[int, str, str, int]] = []
    for path in paths:
        for definition in snapshot.files[path].definitions:
            place = (path, definition.qualified_name)
            if definition.kind in _NODES and place not in numbers:
                numbers[place] = len(paths) + len(symbols)
                line = definition.name_span.start.line + 1
                symbols.append((numbers[path, ""], definition.qualified_name, definition.kind, line))
    return {
        "title": title,
        "files": [
            (code.shown(path), _module_name(code, path), count_lines(code, path), int(_is_for_tests(code, path)))
            for path in paths
        ],
        "symbols": symbols,
        "imports": [number for edge in _imports(code, numbers) for number in edge],
        "calls": [number for edge in _calls(code, numbers, calls, messages) for number in edge],
    }


def _module_name(code: IndexedFolder, path: str) -> str:
    return next(iter(module_names(code.snapshot.modules, path)), "")


def _is_for_tests(code: IndexedFolder, path: str) -> bool:
    return is_test(code.snapshot, path) or "tests" in path.split("/")[:-1]


def _imports(code: IndexedFolder, numbers: Mapping[_Place, int]) -> Iterator[tuple[int, int]]:
    modules = code.snapshot.modules
    by_name = {_module_name(code, path): path for path in modules.files.values()}
    for module, imported in import_graph(code.snapshot, code.below).items():
        for other in sorted(imported):
            yield numbers[by_name[module], ""], numbers[by_name[other], ""]


def _calls(
    code: IndexedFolder, numbers: Mapping[_Place, int], calls: Calls, messages: Screen
) -> list[tuple[int, int, int]]:
    """Return each pair of caller and callee once, certain if one of the calls is."""
    found: dict[tuple[int, int], bool] = {}
    edges = _by_values(code, messages) if calls == "values" else _by_names(code, messages)
    for caller, callee, is_certain in edges:
        pair = _number(numbers, caller), numbers.get(callee)
        if pair[0] is not None and pair[1] is not None:
            found[pair[0], pair[1]] = is_certain or found.get((pair[0], pair[1]), False)
    return sorted((caller, callee, int(is_certain)) for (caller, callee), is_certain in found.items())


def _number(numbers: Mapping[_Place, int], place: _Place) -> int | None:
    """Return the number of a definition, or of the one around it: a lambda's calls are those of its function."""
    path, name = place
    while name and (path, name) not in numbers:
        name = name.rpartition(".")[0]
    return numbers.get((path, name))


def _by_values(code: IndexedFolder, messages: Screen) -> Iterator[tuple[_Place, _Place, bool]]:
    with waiting(messages, "following calls"):
        edges = call_graph(code.snapshot, code.snapshot.text, code.below)
    for edge in edges:
        yield (edge.caller_path, edge.caller_name), (edge.callee_path, edge.callee_name), edge.certain


def _by_names(code: IndexedFolder, messages: Screen) -> Iterator[tuple[_Place, _Place, bool]]:
    with progress_bar(messages, "following calls") as report:
        for n_done, (path, facts) in enumerate(code.snapshot.files.items(), start=1):
            for call in facts.calls:
                for target in call_targets(code.snapshot, facts, call):
                    callee = target.definition
                    yield (path, call.scope), (callee.path, callee.qualified_name), target.certain
            report(n_done, len(code.snapshot.files))


def render_page(title: str, data: Mapping[str, Any]) -> str:
    """Return the page that shows *data*, as `view_data` gives it."""
    parts = {
        "title": html.escape(title),
        "style": (_FOLDER / "page.css").read_text("utf-8"),
        "data": _embedded(data),
        "script": "\n".join((_FOLDER / name).read_text("utf-8") for name in _SCRIPTS),
    }
    page = (_FOLDER / "page.html").read_text("utf-8")
    # In one pass, since what is filled in has braces of its own.
    head, *rest = page.split("{")
    for piece in rest:
        name, _, tail = piece.partition("}")
        head += parts[name] + tail
    return head


def _embedded(data: Mapping[str, Any]) -> str:
    """JSON that no HTML or JavaScript parser takes for anything else: ASCII, and no ``<``."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")
