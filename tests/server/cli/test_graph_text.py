"""What `rolecall graph` prints for a person."""

from __future__ import annotations

import io
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.cli.graph.statistics import read_statistics
from rolecall_server.cli.graph.text import MAX_ROWS, import_cycles, print_imports, print_statistics
from rolecall_server.cli.reading import package_root, progress_bar, read_code
from rolecall_server.cli.screen import Screen

modules = st.sampled_from("abcdefg")
graphs = st.dictionaries(modules, st.sets(modules)).map(
    lambda graph: {name: graph.get(name, set()) - {name} for name in "abcdefg"}
)


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for target in graph[waiting.pop()] - found:
            found.add(target)
            waiting.append(target)
    return found


def screen() -> tuple[Screen, io.StringIO]:
    shown = io.StringIO()
    return Screen(file=shown, width=100), shown


@given(graphs)
def test_a_cycle_is_modules_that_all_reach_each_other(graph: dict[str, set[str]]) -> None:
    reached = {module: reachable(graph, module) for module in graph}
    wanted = {
        tuple(sorted(other for other in graph if other in reached[module] and module in reached[other]))
        for module in graph
        if module in reached[module]
    }
    assert {tuple(cycle) for cycle in import_cycles(graph)} == wanted


def test_a_chain_of_ten_thousand_imports_is_no_trouble() -> None:
    graph = {str(n): {str(n + 1)} for n in range(10_000)} | {"10000": {"0"}}
    assert len(import_cycles(graph)[0]) == 10_001


def test_a_long_table_ends_with_how_much_more_there_is() -> None:
    console, shown = screen()
    print_imports(console, {f"m{n}": set() for n in range(MAX_ROWS + 120)})
    assert "… 120 more (--json has all)" in shown.getvalue()


def test_numbers_are_counted_by_language_and_kind(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import b\n\nclass A:\n    def m(self):\n        b.f()")
    (tmp_path / "b.py").write_text("def f(: ...\n")
    console, shown = screen()
    statistics = read_statistics(read_code(tmp_path, Screen(quiet=True)))
    print_statistics(console, statistics)
    assert statistics.files["python"] == 2
    assert statistics.lines["python"] == 6
    assert statistics.imports == 1
    assert "b.py: " in shown.getvalue()


def test_a_package_is_read_from_the_folder_it_is_imported_from(tmp_path: Path) -> None:
    inner = tmp_path / "src" / "shop" / "inner"
    inner.mkdir(parents=True)
    (inner / "__init__.py").touch()
    (inner.parent / "__init__.py").touch()
    assert package_root(inner) == (tmp_path / "src", "shop/inner")
    assert package_root(tmp_path / "src") == (tmp_path / "src", "")


def test_a_bar_appears_in_a_terminal_when_work_takes_long_and_never_elsewhere() -> None:
    for is_terminal, patience_s, is_shown in ((True, 0.0, True), (True, 60.0, False), (False, 0.0, False)):
        shown = io.StringIO()
        console = Screen(file=shown, force_terminal=is_terminal, width=100)
        with progress_bar(console, "reading", patience_s) as report:
            report(1, 2)
        assert ("reading" in shown.getvalue()) == is_shown
