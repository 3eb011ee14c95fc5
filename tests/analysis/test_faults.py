"""The queries for places that look like faults: where they point, by which way, and in which files they look."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_analysis.faults import QUERIES, PossibleFault, find_faults
from support.graph import snapshot_from


def faults(text: str, *paths: str, query: str = "") -> tuple[PossibleFault, ...]:
    return find_faults(snapshot_from(text), paths or ["m.py"], (query,) if query else tuple(QUERIES))


def way_of(fault: PossibleFault) -> list[str]:
    return [f"{step.span.start.line + 1} {step.text}" for step in fault.way]


def test_a_possible_fault_tells_its_place_its_function_and_the_way_to_it() -> None:
    (found,) = faults(
        """
        #- m.py
        import re

        class Shop:
            def price(self, text, tax):
                found = re.match("[0-9]+", text)
                if not tax:
                    return 0
                while tax > 1:
                    tax -= 1
                return found.group()
        """
    )
    assert (found.query, found.scope, found.span.start.line) == ("none_dereferenced", "Shop.price", 9)
    assert way_of(found) == [
        '5 `re.match("[0-9]+", text)` gives None where nothing matches',
        "6 `tax` holds",
        "8 `tax > 1` does not hold",
        "10 `found.group` fails where `found` is None",
    ]


def test_a_function_of_another_file_is_known_by_what_it_returns() -> None:
    workspace = """
        #- rows.py
        def find(rows, name):
            for row in rows:
                if row.name == name:
                    return row
        #- m.py
        from rows import find

        def price(rows, name):
            return find(rows, name).price
        """
    (found,) = faults(workspace, "m.py")
    assert found.message == "`find(rows, name)` gives None: rows.py:1 can end without a return, and it is used at once."


def test_a_condition_that_comes_again_gives_the_same_answer() -> None:
    workspace = """
        #- m.py
        def text_of(path, wanted):
            if wanted:
                stream = open(path)
            text = ""
            if wanted:
                text = stream.read()
                stream.close()
            return text
        """
    assert faults(workspace) == ()


def test_a_condition_on_a_name_that_is_bound_anew_is_forgotten() -> None:
    text = """
#- m.py
def load(path, mode, check):
    if mode:
        mode = check()
        file = open(path)
        if mode:
            file.close()
"""
    (fault,) = faults(text, query="unclosed_resources")
    assert "5 `mode` does not hold" in way_of(fault)


def test_a_way_out_by_an_exception_that_is_caught_leaves_a_file_open() -> None:
    (found,) = faults(
        """
        #- m.py
        def first(path):
            try:
                stream = open(path)
                line = stream.readline()
                stream.close()
            except ValueError:
                return None
            return line
        """
    )
    assert found.message == "`stream` is not closed on every way out of the function."


def test_what_the_types_say_is_never_none_is_believed() -> None:
    workspace = """
        #- m.py
        def find(rows, name) -> int:
            if name not in rows:
                return None
            return rows[name]

        def price(rows):
            return find(rows, "tea").real
        """
    assert faults(workspace, query="none_dereferenced") == ()


def test_overloads_say_when_none_comes_back() -> None:
    workspace = """
        #- m.py
        from typing import overload

        @overload
        def find(name: str) -> int: ...
        @overload
        def find(name: None) -> None: ...
        def find(name):
            if name == "":
                return None
            return 1

        def price():
            return find("tea").real
        """
    assert faults(workspace, query="none_dereferenced") == ()


@pytest.mark.parametrize("query", QUERIES)
def test_a_sum_of_five_thousand_parts_is_no_trouble(query: str) -> None:
    code = "def f(cursor, a=None):\n    cursor.execute('select ' + " + " + ".join(["a"] * 5_000) + ")\n"
    found = find_faults(snapshot_from("").with_changes({"m.py": code}), ["m.py"], (query,))
    assert len(found) == (query == "injections")


_LINES = st.sampled_from(
    [
        "def f(a, b=None, c=[]):",
        "    x = open(a)",
        "    if x is b or 'y':",
        "        c.append(b.name)",
        "    except Exception:",
        "        pass",
        "    try:",
        "        return x",
        "    x.execute(f'select {a}' % b)",
        "    for y in f(a)",
        "class C(:",
        "        x = re.match(a, b).group()",
        "    finally:",
        "        continue",
        "async def g(): g()",
    ]
)


@given(st.lists(_LINES).map("\n".join))
def test_any_text_has_an_answer(code: str) -> None:
    for found in find_faults(snapshot_from("").with_changes({"m.py": code}), ["m.py", "gone.py"]):
        assert found.path == "m.py"
        assert found.message


def test_the_way_to_a_read_without_a_value_passes_the_exception_that_kept_it_from_one() -> None:
    (found,) = faults(
        """
        #- m.py
        def load(path, strict):
            try:
                text = path.read_text()
            except OSError:
                if strict:
                    raise
            return text
        """
    )
    assert way_of(found) == ["5 `strict` does not hold", "7 `text` is read"]
