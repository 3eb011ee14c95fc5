"""The outline of a file, and the search for names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_analysis import OutlineSymbol, Snapshot, find_symbols, outline
from rolecall_analysis.queries.symbols import MAX_OUTLINE_DEPTH
from support.graph import snapshot_from


def tree(symbols: tuple[OutlineSymbol, ...]) -> list[object]:
    return [s.definition.name if not s.children else {s.definition.name: tree(s.children)} for s in symbols]


def test_an_outline_nests_what_stands_in_a_scope() -> None:
    snapshot = snapshot_from("""
        #- m.py
        LIMIT = 1
        class Cart:
            rate = 2
            def total(self):
                def inner(): ...
            class Line:
                def f(self): ...
        def main(): ...
        """)
    assert tree(outline(snapshot, "m.py")) == [
        "LIMIT",
        {"Cart": ["rate", {"total": ["inner"]}, {"Line": ["f"]}]},
        "main",
    ]
    assert outline(snapshot, "missing.py") == ()


def test_an_outline_of_any_depth_can_be_drawn() -> None:
    n_classes = 300
    text = "\n".join(f"{' ' * n}class C{n}:" for n in range(n_classes)) + f"\n{' ' * n_classes}x = 1"
    depth, symbols = 0, outline(Snapshot().with_changes({"m.py": text}), "m.py")
    while symbols:
        depth, symbols = depth + 1, tuple(child for symbol in symbols for child in symbol.children)
    assert depth == MAX_OUTLINE_DEPTH


NAMES = """
    #- m.py
    def query(): ...
    class QuerySet:
        def filter(self): ...
    def run_query(): ...
    def subquery(): ...
    class QueryString: ...
    def quite_every(): ...
    def _query(): ...
    class Other:
        def filter(self): ...
    #- tests/test_m.py
    def query(): ...
    """


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("query", ["query", "query", "_query", "QuerySet", "QueryString", "run_query", "subquery", "quite_every"]),
        ("QUERYS", ["QuerySet", "QueryString"]),
        ("qs", ["QuerySet", "QueryString"]),
        ("qy", ["query", "query", "_query", "QuerySet", "subquery", "run_query", "QueryString", "quite_every"]),
        ("queryset.fil", ["filter"]),
        ("nothing", []),
        ("(", []),
    ],
)
def test_the_likeliest_name_comes_first(query: str, expected: list[str]) -> None:
    assert [found.name for found in find_symbols(snapshot_from(NAMES), query)] == expected


def test_of_equal_names_that_of_a_test_comes_last() -> None:
    found = find_symbols(snapshot_from(NAMES), "query", limit=2)
    assert [d.path for d in found] == ["m.py", "tests/test_m.py"]


def test_files_that_nobody_wants_take_no_room_and_those_behind_the_last_that_is_shown_are_not_read() -> None:
    snapshot = snapshot_from(NAMES)
    asked: list[str] = []

    def is_for_tests(path: str) -> bool:
        asked.append(path)
        return path.startswith("tests/")

    assert [each.path for each in find_symbols(snapshot, "query", 1, is_for_tests)] == ["tests/test_m.py"]
    assert asked == ["m.py", "tests/test_m.py"]


def test_without_a_word_there_is_the_beginning_of_everything() -> None:
    assert len(find_symbols(snapshot_from(NAMES), "", limit=3)) == 3
    assert find_symbols(Snapshot(), "") == ()


@given(st.text(max_size=20), st.lists(st.from_regex(r"[^\W\d]\w{0,8}", fullmatch=True), max_size=8))
def test_any_query_finds_only_names_that_have_its_letters_in_order(query: str, names: list[str]) -> None:
    text = "".join(f"def {name}(): ...\n" for name in names)
    for found in find_symbols(Snapshot().with_changes({"m.py": text}), query):
        letters = iter(found.name.casefold())
        wanted = "".join(query.split()).rpartition(".")[2].casefold()
        assert not wanted.isascii() or all(letter in letters for letter in wanted)


def test_a_page_of_text_that_is_pasted_into_the_search_finds_nothing() -> None:
    snapshot = snapshot_from(f"#- m.py\n{'a' * 300} = 1\n")
    assert [len(found.name) for found in find_symbols(snapshot, "a" * 200)] == [300]
    assert find_symbols(snapshot, "a" * 201) == ()
