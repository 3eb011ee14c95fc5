"""A long file in parts: its top level, what matters whole and in its place, and lines that stand for the rest."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolecall_analysis import Index, definitions_in
from rolecall_server.context import ContextItem, PackSource
from rolecall_server.context.parts import alone, in_parts
from rolecall_server.model import estimate_tokens
from rolecall_server.workspace import Workspace
from support.fixture import parse_fixture

TILL = '''
    #- till.py
    # Copyright 2020 Nobody
    # Licence: MIT

    """Tills."""
    import re

    COINS = re.compile("[0-9]+")

    class Till:
        """A till."""

        __slots__ = ("coins",)
        fee = 1

        def open(self):
            one = 1
            two = 2
            return one

        def shut(self):
            one = 1
            two = 2
            return two

        class Key:
            number = 1
            size = 2
            form = 3

    def count(till):
        def each():
            return 1
        first = each()
        return first

    def drop(till):
        first = 1
        second = 2
        return first

    __all__ = ["count"]
'''


def view_of(folder: Path, text: str) -> PackSource:
    root = parse_fixture(text).write_to(folder).resolve()
    index = Index(root)
    index.scan()
    return PackSource(Workspace(root), index.snapshot(), estimate_tokens)


def parts(folder: Path, *wanted: str, text: str = TILL) -> ContextItem:
    return in_parts(view_of(folder, text), "till.py", wanted, "why")


def test_a_method_is_shown_in_its_class_with_what_stands_there_and_the_top_of_the_file(tmp_path: Path) -> None:
    assert (
        parts(tmp_path, "Till.shut").text
        == '''\
... 3 lines left out (1 to 3)
"""Tills."""
import re

COINS = re.compile("[0-9]+")

class Till:
    """A till."""

    __slots__ = ("coins",)
    fee = 1

    ... 4 lines left out (15 to 18): open

    def shut(self):
        one = 1
        two = 2
        return two

    ... 15 lines left out (25 to 39): Key, count, drop

__all__ = ["count"]
'''
    )


def test_a_function_within_another_brings_the_whole_of_that(tmp_path: Path) -> None:
    text = parts(tmp_path, "count.each").text
    assert "def count(till):\n    def each():\n        return 1\n    first = each()\n    return first\n" in text
    assert "class Till" not in text


def test_a_licence_is_left_out(tmp_path: Path) -> None:
    licence = "".join(f"    # Licence, line {n}\n" for n in range(9))
    text = parts(tmp_path, "count", text=TILL.replace("    # Copyright 2020 Nobody\n", licence)).text
    assert text.startswith('... 11 lines left out (1 to 11)\n"""Tills')


def test_of_a_table_and_a_long_docstring_the_beginning_is_shown(tmp_path: Path) -> None:
    rows = "".join(f"        {n},\n" for n in range(99))
    story = "".join(f"    {n} is told.\n" for n in range(50))
    text = f'    #- till.py\n    """Tills.\n{story}    """\n    TABLE = (\n{rows}    )\n'
    shown = parts(tmp_path, text=text).text
    assert shown.count(" is told.") == 5
    assert "TABLE = (\n    0,\n    1,\n    2,\n    3,\n    4,\n    ... 94 lines left out (59 to 152)\n)\n" in shown


def test_of_many_exported_names_those_are_shown_whose_definitions_are(tmp_path: Path) -> None:
    names = "".join(f'        "{name}",\n' for name in ("a", "b", "c", "count", "d", "drop", "e"))
    text = TILL.replace('["count"]', f"[\n{names}    ]")
    assert (
        parts(tmp_path, "count", text=text).text.partition("__all__")[2]
        == """\
 = [
    ... 3 lines left out (42 to 44)
    "count",
    ... 3 lines left out (46 to 48)
]
"""
    )


def test_a_file_of_which_little_would_be_left_out_is_shown_whole(tmp_path: Path) -> None:
    item = parts(tmp_path, "Till", "count", "drop", text=TILL.replace("# Licence: MIT", "").replace("# Copyright", "#"))
    assert (item.zoom, item.reason, item.text) == ("file", "why", (tmp_path / "till.py").read_text())


@given(wanted=st.sets(st.sampled_from(["Till", "Till.open", "Till.shut", "Till.Key", "count", "count.each", "drop"])))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
def test_each_line_shown_is_a_line_of_the_file_and_everything_wanted_is_whole(tmp_path: Path, wanted: set[str]) -> None:
    view = view_of(tmp_path, TILL)
    item = in_parts(view, "till.py", wanted, "why")
    lines = (tmp_path / "till.py").read_text().splitlines()
    of_file = [line for line in item.text.splitlines() if " lines left out (" not in line]
    assert of_file == [line for first, last in item.lines for line in lines[first - 1 : last]]
    for one in definitions_in(view.snapshot, "till.py"):
        if one.qualified_name in wanted:
            first, last = one.span.start.line + 1, one.span.end.line + 1
            assert any(start <= first and last <= end for start, end in item.lines)


MARKET = """
    #- till.py
    from __future__ import annotations
    import json
    import re
    from decimal import (
        ROUND_DOWN,
        ROUND_UP,
        Context,
        Decimal,
        getcontext,
        localcontext,
    )

    __all__ = [
        "Till",
        "audit",
        "close",
        "count",
        "drop",
        "weigh",
        "zero",
    ]

    COINS = re.compile("[0-9]+")
    NOTES = re.compile("[A-Z]+")

    class Till(dict):
        fee = 1
        self: Till
        name = "till"

        def open(self):
            return 1

        def shut(self):
            return Decimal(self.fee)

    @overload
    def count(till: int) -> int: ...
    @overload
    def count(till: str) -> str: ...
    def count(till):
        return COINS.match(till)
"""


def test_a_method_alone_is_shown_with_the_imports_that_it_uses_its_class_and_what_it_uses_of_it(tmp_path: Path) -> None:
    shown = alone(view_of(tmp_path, MARKET), "till.py", ["Till.shut"], "why").text
    assert (
        shown.rstrip()
        == """\
... lines 1 to 3
from decimal import (
    ... lines 5 to 7
    Decimal,
    getcontext,
    localcontext,
)
... lines 12 to 25
class Till(dict):
    fee = 1
    ... lines 28 to 33
    def shut(self):
        return Decimal(self.fee)"""
    )


def test_a_function_alone_is_shown_with_the_variables_that_it_uses_and_its_place_among_the_exports(
    tmp_path: Path,
) -> None:
    shown = alone(view_of(tmp_path, MARKET), "till.py", ["count"], "why").text
    assert (
        shown.rstrip()
        == """\
... lines 1 to 12
__all__ = [
    ... lines 14 to 16
    "count",
    ... lines 18 to 20
]

COINS = re.compile("[0-9]+")
... lines 24 to 40
def count(till):
    return COINS.match(till)"""
    )


def test_of_a_long_docstring_of_a_function_alone_the_beginning_and_the_end_are_shown(tmp_path: Path) -> None:
    words = "".join(f"        Paragraph {n}.\n" for n in range(20))
    method = f'    def shut(self):\n        """Close the till.\n\n{words}        """\n        return self.money\n'
    text = f"#- till.py\nclass Till:\n{method}"
    shown = alone(view_of(tmp_path, text), "till.py", ["Till.shut"], "why").text
    assert shown == (
        'class Till:\n    def shut(self):\n        """Close the till.\n\n'
        + "".join(f"        Paragraph {n}.\n" for n in range(4))
        + '        ... lines 9 to 24\n        """\n        return self.money\n'
    )


def test_of_a_test_alone_the_variables_that_it_uses_are_shown_and_no_imports(tmp_path: Path) -> None:
    text = """
        #- test_till.py
        import json
        import re
        import till
        COINS = [1, 2]
        def test_count():
            assert till.count(COINS) == 2
    """
    shown = alone(view_of(tmp_path, text), "test_till.py", ["test_count"], "why").text
    assert shown == "... lines 1 to 3\nCOINS = [1, 2]\ndef test_count():\n    assert till.count(COINS) == 2\n"
