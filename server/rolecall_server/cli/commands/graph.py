"""`rolecall graph`: what the code graph knows, for people and for programs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rolecall_analysis import Definition, ImpactStep, SelectedTests, definitions_in, find_definition, select_tests
from rolecall_analysis.flow import call_graph, edges_as_dotted
from rolecall_analysis.installed.search import FoundSymbol
from rolecall_analysis.queries import Dependent, find_symbols, impact, import_graph
from rolecall_server.cli.graph import text as graph_text
from rolecall_server.cli.graph.statistics import read_statistics
from rolecall_server.cli.graph.unbound import print_unbound
from rolecall_server.cli.graph.view import write_view
from rolecall_server.cli.interrupts import STOPPED, end_like_ctrl_c
from rolecall_server.cli.reading import IndexedFolder, read_code
from rolecall_server.cli.screen import Screen, print_json, say, waiting, wide_screen
from rolecall_server.craft.history import NOTHING_KNOWN, SuiteHistory, recall, with_history
from rolecall_server.craft.installed import installed_beside
from rolecall_server.craft.lookups.packages import find_symbols_in, in_one_line
from rolecall_server.errors import NotFound, RolecallError, StoreUnavailable
from rolecall_server.store import open_store, store_path

MAX_SYMBOLS = 1_000
"""The most that a search prints."""


def run_graph(arguments: argparse.Namespace) -> int:
    """Carry out one of the `rolecall graph` commands; the exit code."""
    end_like_ctrl_c()
    messages = Screen(stderr=True)
    try:
        return _COMMANDS[arguments.question](arguments, messages)
    except RolecallError as error:
        say(messages, f"{error.code}: {error.what}", "bold red")
        say(messages, error.next_step)
        return 1
    except KeyboardInterrupt:
        say(messages, "Cancelled.")
        return STOPPED


def _calls(arguments: argparse.Namespace, messages: Screen) -> int:
    code = read_code(arguments.folder, messages)
    with waiting(messages, "following calls"):
        edges = call_graph(code.snapshot, code.snapshot.text, code.below)
    if arguments.json:
        print_json(edges_as_dotted(edges, code.below))
    else:
        graph_text.print_calls(wide_screen(), code, edges)
    return 0


def _imports(arguments: argparse.Namespace, messages: Screen) -> int:
    code = read_code(arguments.folder, messages)
    graph = import_graph(code.snapshot, code.below)
    if arguments.json:
        print_json({module: sorted(imported) for module, imported in sorted(graph.items())})
    else:
        graph_text.print_imports(wide_screen(), graph)
    return 0


def _symbols(arguments: argparse.Namespace, messages: Screen) -> int:
    code = read_code(arguments.folder, messages)
    if arguments.find is not None:
        found = find_symbols(code.snapshot, arguments.find, limit=MAX_SYMBOLS)
    else:
        found = tuple(d for path in sorted(code.snapshot.files) for d in definitions_in(code.snapshot, path))
    if arguments.json:
        print_json([_symbol_json(code, definition) for definition in found])
    elif arguments.find is not None:
        graph_text.print_found(wide_screen(), code, found)
    else:
        graph_text.print_outlines(wide_screen(), code, found)
    return 0


def _symbol_json(code: IndexedFolder, definition: Definition) -> Mapping[str, Any]:
    return {
        "path": code.shown(definition.path),
        "line": definition.name_span.start.line + 1,
        "endLine": definition.span.end.line + 1,
        "name": definition.qualified_name,
        "kind": definition.kind,
        "signature": definition.signature,
        "docstring": definition.docstring,
        "decorators": definition.decorators,
    }


def _impact(arguments: argparse.Namespace, messages: Screen) -> int:
    code = read_code(arguments.folder, messages)
    changed = [_changed(code, arguments.folder, text) for text in arguments.of]
    found = impact(
        code.snapshot, changed, max_steps=arguments.steps, limit=arguments.limit, certain_only=arguments.certain
    )
    if arguments.json:
        dependents = [_dependent_json(code, dependent) for dependent in found.dependents]
        print_json({"dependents": dependents, "complete": found.is_complete})
    else:
        graph_text.print_impact(wide_screen(), code, found)
    return 0


def _tests(arguments: argparse.Namespace, messages: Screen) -> int:
    code = read_code(arguments.folder, messages)
    changed = [_changed(code, arguments.folder, text) for text in arguments.of]
    found = with_history(code.snapshot, select_tests(code.snapshot, changed), changed, _history(code))
    if arguments.json:
        print_json([_selected_json(code, one) for one in found])
    else:
        graph_text.print_selection(wide_screen(), code, found)
    return 0


def _selected_json(code: IndexedFolder, selected: SelectedTests) -> Mapping[str, Any]:
    return {
        "path": code.shown(selected.path),
        "score": round(selected.score, 3),
        "reason": selected.reason,
        "certain": selected.certain,
        "steps": [_step_json(code, step) for step in selected.steps],
        "tests": [code.shown(test) for test in selected.tests],
    }


def _history(code: IndexedFolder) -> SuiteHistory:
    """Return what earlier runs in the folder showed of its tests; nothing where the store cannot tell."""
    # `open_store` makes a store where there is none.
    if code.below or not store_path().exists():
        return NOTHING_KNOWN
    try:
        with closing(open_store(store_path())) as store:
            return recall(store, code.root)
    except StoreUnavailable:
        return NOTHING_KNOWN


def _changed(code: IndexedFolder, folder: Path, text: str) -> Definition | str:
    """Return the definition or the path that ``PATH`` or ``PATH::SYMBOL`` names.

    Raises:
        NotFound: there is no such file or symbol in the graph.
    """
    name, separator, symbol = text.partition("::")
    typed = Path(name)
    path = code.path_of(typed if typed.is_absolute() or not (folder / typed).exists() else folder / typed)
    if path not in code.snapshot.files:
        raise NotFound(f"{name} is no file the graph knows.", "Name a source file, from the folder or from here.")
    if not separator:
        return path
    definition = find_definition(code.snapshot, path, symbol)
    if definition is None:
        raise NotFound(f"{name} defines no {symbol}.", "`rolecall graph symbols` lists what there is.")
    return definition


def _dependent_json(code: IndexedFolder, dependent: Dependent) -> Mapping[str, Any]:
    return {
        "path": code.shown(dependent.path),
        "name": dependent.definition.qualified_name if dependent.definition is not None else "",
        "certain": dependent.certain,
        "steps": [_step_json(code, step) for step in dependent.steps],
    }


def _step_json(code: IndexedFolder, step: ImpactStep) -> Mapping[str, Any]:
    return {
        "path": code.shown(step.path),
        "name": step.definition.qualified_name if step.definition is not None else "",
        "certain": step.certain,
        "rule": step.rule,
    }


def _stats(arguments: argparse.Namespace, messages: Screen) -> int:
    statistics = read_statistics(read_code(arguments.folder, messages))
    if arguments.json:
        print_json(asdict(statistics))
    else:
        graph_text.print_statistics(wide_screen(), statistics)
    return 0


def _unbound(arguments: argparse.Namespace, messages: Screen) -> int:
    return print_unbound(arguments.files, messages)


def _view(arguments: argparse.Namespace, messages: Screen) -> int:
    code = read_code(arguments.folder, messages)
    location = write_view(code, arguments.folder.resolve().name, arguments.output, arguments.calls, messages)
    say(messages, f"Wrote {location}; open it in a browser.")
    return 0


def _packages(arguments: argparse.Namespace, messages: Screen) -> int:
    code = read_code(arguments.folder, messages)
    installed = installed_beside(arguments.folder.resolve(), "", os.environ)
    with waiting(messages, "reading packages"):
        found = find_symbols_in(code.snapshot, installed, arguments.about, arguments.package)[: arguments.limit]
    if arguments.json:
        print_json([_found_json(one) for one in found])
    else:
        screen = wide_screen()
        for one in found:
            say(screen, in_one_line(one))
    return 0


def _found_json(found: FoundSymbol) -> Mapping[str, Any]:
    definition = found.definition
    return {
        "name": found.name,
        "kind": definition.kind,
        "signature": definition.signature,
        "docstring": definition.docstring,
        "path": definition.path,
        "line": definition.name_span.start.line + 1,
        "score": round(found.score, 3),
    }


_COMMANDS: Mapping[str, Callable[[argparse.Namespace, Screen], int]] = {
    "calls": _calls,
    "imports": _imports,
    "symbols": _symbols,
    "impact": _impact,
    "tests": _tests,
    "stats": _stats,
    "unbound": _unbound,
    "view": _view,
    "packages": _packages,
}
