"""The output of `rolecall graph` for a person: sorted, and no longer than one wants to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import groupby

from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from rolecall_analysis import Definition, SelectedTests, is_test
from rolecall_analysis.flow import CallEdge
from rolecall_analysis.queries import Dependent, Impact, OutlineSymbol, symbol_tree
from rolecall_server.cli.graph.statistics import Statistics
from rolecall_server.cli.reading import IndexedFolder
from rolecall_server.cli.screen import Screen, say, shown

MAX_ROWS = 40
MAX_FILES = 25
MAX_SYMBOLS_OF_FILE = 15
_STYLES = {"class": "bold cyan", "interface": "bold cyan", "function": "green", "method": "green", "variable": "dim"}


def print_imports(screen: Screen, graph: Mapping[str, Set[str]]) -> None:
    """Print the modules by how many import them, and the cycles among them."""
    importers = _importers(graph)
    n_imports = sum(len(imported) for imported in graph.values())
    cycles = import_cycles(graph)
    say(screen, f"{len(graph):,} modules, {n_imports:,} imports, {len(cycles):,} cycles", "bold")
    ordered = sorted(graph, key=lambda module: (-len(importers[module]), module))
    table = _table("module", "imported by", "imports")
    for module in ordered[:MAX_ROWS]:
        table.add_row(module, f"{len(importers[module]):,}", f"{len(graph[module]):,}")
    screen.print(table)
    _say_more(screen, len(ordered) - MAX_ROWS)
    for cycle in cycles[:10]:
        shown = ", ".join(cycle[:8]) + (f" and {len(cycle) - 8:,} more" if len(cycle) > 8 else "")
        say(screen, f"cycle of {len(cycle):,}: {shown}", "yellow")
    _say_more(screen, len(cycles) - 10, "cycles")


def _importers(graph: Mapping[str, Set[str]]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {module: [] for module in graph}
    for module, imported in graph.items():
        for target in imported:
            found[target].append(module)
    return found


def import_cycles(graph: Mapping[str, Set[str]]) -> list[list[str]]:
    """Return the groups of modules that all import each other, directly or through others; the largest first.

    Source: Kosaraju's two passes (Sharir 1981), without recursion.
    """
    finished: list[str] = []
    seen: set[str] = set()
    for start in sorted(graph):
        _finish(graph, start, seen, finished)
    backwards = _importers(graph)
    groups: list[list[str]] = []
    seen.clear()
    for start in reversed(finished):
        group: list[str] = []
        _finish(backwards, start, seen, group)
        if len(group) > 1:
            groups.append(sorted(group))
    return sorted(groups, key=lambda group: (-len(group), group))


def _finish(graph: Mapping[str, Iterable[str]], start: str, seen: set[str], finished: list[str]) -> None:
    """Add to *finished* what can be reached from *start* and was not *seen*, each after all it leads to."""
    if start in seen:
        return
    seen.add(start)
    path = [(start, iter(sorted(graph[start])))]
    while path:
        node, following = path[-1]
        onwards = next((target for target in following if target not in seen), None)
        if onwards is None:
            finished.append(node)
            path.pop()
        else:
            seen.add(onwards)
            path.append((onwards, iter(sorted(graph[onwards]))))


def print_calls(screen: Screen, code: IndexedFolder, edges: Sequence[CallEdge]) -> None:
    """Print the functions that are called most, and how the calls were found."""
    pairs: dict[tuple[str, str], dict[tuple[str, str], bool]] = {}
    for edge in edges:
        callers = pairs.setdefault((edge.callee_path, edge.callee_name), {})
        caller = (edge.caller_path, edge.caller_name)
        callers[caller] = edge.certain or callers.get(caller, False)
    n_certain = sum(edge.certain for edge in edges)
    summary = (
        f"{len(edges):,} calls of {len(pairs):,} functions: {n_certain:,} certain, {len(edges) - n_certain:,} possible"
    )
    say(screen, summary, "bold")
    table = _table("function", "callers", "of them certain")
    ordered = sorted(pairs, key=lambda place: (-len(pairs[place]), place))
    for path, name in ordered[:MAX_ROWS]:
        callers = pairs[path, name].values()
        table.add_row(f"{code.shown(path)}::{name}", f"{len(callers):,}", f"{sum(callers):,}")
    screen.print(table)
    _say_more(screen, len(ordered) - MAX_ROWS)
    rules = Counter(edge.rule for edge in edges)
    say(screen, "found by " + ", ".join(f"{rule} {count:,}" for rule, count in rules.most_common()), "dim")


def print_outlines(screen: Screen, code: IndexedFolder, definitions: Sequence[Definition]) -> None:
    """Print the classes and functions of each file as a tree."""
    named = [d for d in definitions if d.kind != "variable"]
    by_file = [(path, tuple(group)) for path, group in groupby(named, key=lambda d: d.path)]
    say(screen, f"{len(named):,} classes and functions in {len(by_file):,} files", "bold")
    for path, group in by_file[:MAX_FILES]:
        tree = Tree(shown((code.shown(path), "bold")), guide_style="dim")
        _add_symbols(tree, symbol_tree(group))
        screen.print(tree)
    _say_more(screen, len(by_file) - MAX_FILES, "files")


def _add_symbols(tree: Tree, symbols: Sequence[OutlineSymbol]) -> None:
    waiting = [(tree, symbols)]
    while waiting:
        branch, children = waiting.pop()
        for symbol in children[:MAX_SYMBOLS_OF_FILE]:
            waiting.append((branch.add(_described(symbol.definition)), symbol.children))
        if len(children) > MAX_SYMBOLS_OF_FILE:
            branch.add(shown((f"… {len(children) - MAX_SYMBOLS_OF_FILE:,} more", "dim")))


def _described(definition: Definition) -> Text:
    line = f"  {definition.name_span.start.line + 1}"
    return shown((definition.name, _STYLES.get(definition.kind, "")), (line, "dim"))


def print_found(screen: Screen, code: IndexedFolder, found: Sequence[Definition]) -> None:
    """Print what a search found, the likeliest first."""
    for definition in found[:MAX_ROWS]:
        place = f"{code.shown(definition.path)}:{definition.name_span.start.line + 1}"
        name = (definition.qualified_name, _STYLES.get(definition.kind, ""))
        screen.print(shown(name, (f"  {definition.kind}  {place}", "dim")), soft_wrap=True)
    _say_more(screen, len(found) - MAX_ROWS)
    if not found:
        say(screen, "Nothing has such a name.")


def print_impact(screen: Screen, code: IndexedFolder, found: Impact) -> None:
    """Print what a change touches, each with the way that leads there."""
    n_certain = sum(dependent.certain for dependent in found.dependents)
    n_possible = len(found.dependents) - n_certain
    n_tests = sum(is_test(code.snapshot, dependent.path) for dependent in found.dependents)
    summary = f"{n_certain:,} certain, {n_possible:,} possible, {n_tests:,} of them in tests"
    say(screen, summary, "bold")
    for dependent in found.dependents[:MAX_ROWS]:
        screen.print(_explained(code, dependent), soft_wrap=True)
    _say_more(screen, len(found.dependents) - MAX_ROWS)
    if not found.is_complete:
        say(screen, "There is more, further away or beyond the limit (--steps, --limit).", "dim")


def print_selection(screen: Screen, code: IndexedFolder, selected: Sequence[SelectedTests]) -> None:
    """Print the test files to run for a change, likeliest to fail first, each with its reason."""
    say(screen, f"{len(selected):,} test file{'s' if len(selected) != 1 else ''}, likeliest to fail first", "bold")
    for one in selected[:MAX_ROWS]:
        screen.print(shown((code.shown(one.path), "bold"), (f"  {one.reason}", "dim")), soft_wrap=True)
    _say_more(screen, len(selected) - MAX_ROWS)


def _explained(code: IndexedFolder, dependent: Dependent) -> Text:
    names = [_place(code, step.path, step.definition) for step in dependent.steps]
    how = ("certain   ", "green") if dependent.certain else ("possible  ", "yellow")
    via = " ← ".join(reversed(names[:-1]))
    return shown(how, (names[-1], "bold"), (f"  {dependent.steps[-1].rule}" + (f", by {via}" if via else ""), "dim"))


def _place(code: IndexedFolder, path: str, definition: Definition | None) -> str:
    shown = code.shown(path)
    return f"{shown}::{definition.qualified_name}" if definition is not None else shown


def print_statistics(screen: Screen, statistics: Statistics) -> None:
    """Print the numbers of a folder."""
    table = _table("language", "files", "lines")
    for language, n_files in statistics.files.items():
        table.add_row(language, f"{n_files:,}", f"{statistics.lines[language]:,}")
    screen.print(table)
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in statistics.definitions.items())
    say(screen, f"definitions: {kinds or 'none'}")
    counts = f"{statistics.imports:,} imports, {statistics.calls:,} calls, {statistics.references:,} references"
    say(screen, counts)
    for problem in statistics.problems[:10]:
        say(screen, problem, "yellow")
    _say_more(screen, len(statistics.problems) - 10, "problems")


def _table(first: str, *numbers: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(first, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _say_more(screen: Screen, n_left: int, what: str = "") -> None:
    if n_left > 0:
        say(screen, f"… {n_left:,} more{' ' + what if what else ''} (--json has all)", "dim")
