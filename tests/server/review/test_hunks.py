"""How two texts become hunks."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_analysis import Snapshot
from rolecall_server.review.acceptance import plan_edit
from rolecall_server.review.checks.hunk_needs import link_hunks
from rolecall_server.review.proposals.anchor import text_with
from rolecall_server.review.proposals.hunks import file_change, line_ending, number_hunks
from rolecall_server.review.proposals.proposal import FileChange
from rolecall_server.review.proposals.rendering import describe_hunk, hunk_diff
from rolecall_server.workspace import TextFile, split_lines

PRICE = """\
import math


def total(items):
    return sum(items)


def discount(price):
    return price * 0.9
"""


def change(base: str | None, proposed: str, path: str = "price.py") -> FileChange:
    numbered = number_hunks([file_change(path, TextFile(path, base) if base is not None else None, proposed)])
    return numbered[0] if numbered else FileChange(path, base, "", ())


def linked(base: str | None, proposed: str, path: str = "price.py") -> FileChange:
    before = Snapshot() if base is None else Snapshot().with_changes({path: base})
    return link_hunks([change(base, proposed, path)], before)[0]


def ids(found: FileChange) -> set[str]:
    return {hunk.id for hunk in found.hunks}


def test_each_added_function_is_a_hunk_of_its_own() -> None:
    added = (
        "\n\ndef tax(price):\n    return price * 0.2\n\n\n# rounded up\ndef ceil(price):\n    return math.ceil(price)\n"
    )
    found = linked(PRICE, PRICE + added)
    assert [hunk.symbol for hunk in found.hunks] == ["tax", "ceil"]
    assert "".join(found.hunks[1].new_lines).startswith("\n\n# rounded up\ndef ceil")


def test_the_tests_that_a_class_gets_are_one_hunk_and_so_is_a_class_of_new_ones() -> None:
    base = "class TestOld:\n    def test_old(self):\n        assert 1\n\n\ndef test_b():\n    assert 2\n"
    more = "\n    def test_more(self):\n        assert 3\n\n    def test_most(self):\n        assert 4\n"
    new = "\n\nclass TestNew:\n    def test_x(self):\n        assert 5\n\n    def test_y(self):\n        assert 6\n"
    found = linked(base, base.replace("assert 1\n", f"assert 1\n{more}") + new, "tests/test_a.py")
    in_old, in_new = ("".join(hunk.new_lines) for hunk in found.hunks)
    assert (in_old.strip(), in_new) == (more.strip(), new)


def test_a_change_inside_a_method_is_named_after_it() -> None:
    base = "class Cart:\n    def total(self):\n        return 1\n\n    def clear(self):\n        pass\n"
    found = linked(base, base.replace("return 1", "return 2"))
    assert [(hunk.symbol, hunk.start, hunk.end) for hunk in found.hunks] == [("Cart.total", 2, 3)]


def test_two_places_are_two_hunks() -> None:
    found = linked(PRICE, PRICE.replace("sum(items)", "math.fsum(items)").replace("0.9", "0.8"))
    assert [hunk.symbol for hunk in found.hunks] == ["total", "discount"]
    assert text_with(found, {"h2"}) == PRICE.replace("0.9", "0.8")


NUMBERS = "".join(f"line {n}\n" for n in range(40))


def test_changes_that_git_shows_together_are_one_hunk_and_those_further_apart_are_two() -> None:
    for between, n_hunks in ((0, 1), (2, 1), (6, 1), (7, 2)):
        other = f"line {11 + between}\n"
        proposed = NUMBERS.replace("line 10\n", "new\n").replace(other, "newer\n")
        found = linked(NUMBERS, proposed, "a.txt")
        assert len(found.hunks) == n_hunks, between
        assert text_with(found, ids(found)) == proposed


def test_names_added_here_and_there_in_one_import_are_one_hunk() -> None:
    base = "from shop import (\n    b,\n    d,\n    f,\n    h,\n)\n\nprint(b, d, f, h)\n"
    found = linked(
        base, base.replace("    b", "    a,\n    b").replace("    h", "    g,\n    h").replace("    d", "    dd")
    )
    assert len(found.hunks) == 1


def test_changes_of_two_functions_are_two_hunks_however_near() -> None:
    base = "def a():\n    return 1\n\n\ndef b():\n    return 2\n"
    assert len(linked(base, base.replace("return 1", "return 3").replace("return 2", "return 4")).hunks) == 2
    assert len(linked(base, base.replace("return 1", "return 3") + "\n\ndef c():\n    return 5\n").hunks) == 2


def test_a_hunk_says_whether_it_adds_a_function_or_lines_to_one_that_is_there() -> None:
    base = "def main():\n    first()\n    last()\n"
    more = linked(base, base.replace("    last", "    middle()\n    last"))
    new = linked(base, base + "\n\ndef other():\n    main()\n")
    assert describe_hunk(more, more.hunks[0]) == "adds 1 line to main in price.py"
    assert describe_hunk(new, new.hunks[0]) == "adds other to price.py (4 lines)"


def test_the_lines_that_stay_within_a_hunk_are_shown_as_such_and_no_edit_touches_them() -> None:
    proposed = NUMBERS.replace("line 10\n", "new\n").replace("line 13\n", "newer\n")
    found = linked(NUMBERS, proposed, "a.txt")
    (hunk,) = found.hunks
    assert [line for line in hunk_diff(found, hunk) if line[0] != " "] == ["-line 10", "+new", "-line 13", "+newer"]
    assert describe_hunk(found, hunk) == "changes lines 11-14 in a.txt (-2 +2)"
    edit = plan_edit(found, (), NUMBERS, bring_in=["h1"])
    assert [each.new_text for each in edit.edits] == ["new\n", "newer\n"]
    assert edit.result == proposed
    back = plan_edit(found, ["h1"], proposed, take_out=["h1"])
    assert [each.new_text for each in back.edits] == ["line 10\n", "line 13\n"]
    assert back.result == NUMBERS


def test_a_new_file_is_cut_at_its_functions_and_they_need_its_imports() -> None:
    found = linked(
        None, "import pytest\n\n\ndef test_a():\n    pytest.fail()\n\n\ndef test_b():\n    assert 1\n", "test_x.py"
    )
    assert found.creates
    assert [(hunk.symbol, hunk.needs) for hunk in found.hunks] == [("", ()), ("test_a", ("h1",)), ("test_b", ())]


def test_an_added_function_begins_with_its_own_first_line() -> None:
    base = "def test_one():\n    x = 1\n    assert x\n\n\ndef test_two():\n    x = 2\n    assert x\n"
    added = "def test_mid():\n    x = 3\n    assert x\n\n\n"
    found = change(base, base.replace("def test_two", added + "def test_two"))
    assert ["".join(hunk.new_lines).lstrip("\n").splitlines()[0] for hunk in found.hunks] == ["def test_mid():"]


def test_the_blank_lines_after_an_added_function_stay_with_it() -> None:
    base = "import math\n\n\ndef total():\n    return 1\n"
    found = linked(base, base.replace("def total", "def net():\n    return 0\n\n\ndef total"))
    assert [hunk.symbol for hunk in found.hunks] == ["net"]
    assert "".join(found.hunks[0].new_lines).strip() == "def net():\n    return 0"


DEFINITION = st.sampled_from(
    [
        "def {0}():\n    return {1}\n",
        "# Why {1}\ndef {0}():\n    return {1}\n",
        "# A part of {0}\n\n# of two\n@cache\ndef {0}():\n    total = 1\n\n    return {1}\n",
        "class {0}:\n    def inner(self):\n        return 1\n\n    def other(self):\n        return {1}\n",
    ]
)
BLANK = st.sampled_from(["\n", "\n\n"])


def spaced(blank: str, parts: Iterable[str]) -> str:
    return blank.join(["import os\n", *filter(None, parts)])


@given(st.lists(st.tuples(st.booleans(), DEFINITION), min_size=2, max_size=7), BLANK, st.data())
def test_whichever_of_the_added_functions_are_accepted_they_stand_as_far_apart_as_in_the_whole(
    parts: list[tuple[bool, str]], blank: str, data: st.DataObject
) -> None:
    whole = [text.format(f"name_{number}", 1) for number, (_, text) in enumerate(parts)]
    before = ["" if is_new else text for text, (is_new, _) in zip(whole, parts, strict=True)]
    found = change(spaced(blank, before), spaced(blank, whole))
    some = data.draw(st.sets(st.sampled_from(sorted(ids(found))))) if found.hunks else set()
    text = text_with(found, some) or ""
    assert text == spaced(blank, (one for one in whole if one in text))


@given(st.lists(DEFINITION, max_size=3), DEFINITION, st.lists(DEFINITION, max_size=3), BLANK, st.data())
def test_so_do_those_that_are_added_beside_one_that_is_changed(
    above: list[str], changed: str, below: list[str], blank: str, data: st.DataObject
) -> None:
    whole = [text.format(f"name_{number}", number) for number, text in enumerate([*above, changed, *below])]
    old = whole[len(above)].replace(":\n", ":  # old\n", 1)
    found = change(spaced(blank, [old]), spaced(blank, whole))
    some = data.draw(st.sets(st.sampled_from(sorted(ids(found)))))
    text = text_with(found, some) or ""
    there = [one if one in text else old if number == len(above) else "" for number, one in enumerate(whole)]
    assert text == spaced(blank, there)


def test_added_lines_get_the_line_ending_of_the_file_and_the_rest_keeps_its_own() -> None:
    base = "a = 1\r\nb = 2\nc = 3\r\n"
    found = change(base, "a = 1\nb = 2\nnew = 0\nc = 3\n")
    assert text_with(found, ids(found)) == "a = 1\r\nb = 2\nnew = 0\r\nc = 3\r\n"


def test_a_file_without_a_final_newline_gets_one_only_where_lines_are_added() -> None:
    assert text_with(change("a = 1\nb = 2", "a = 0\nb = 2"), {"h1"}) == "a = 0\nb = 2"
    assert text_with(change("a = 1", "a = 1\nb = 2\n"), {"h1"}) == "a = 1\nb = 2\n"


def test_the_most_frequent_line_ending_counts() -> None:
    assert line_ending("a\r\nb\r\nc\n") == "\r\n"
    assert line_ending("") == "\n"
    assert line_ending("a\rb\r") == "\r"
    assert line_ending("a\rb\rc\n") == "\n", "a carriage return alone might meet an empty line"


@pytest.mark.parametrize(
    ("base", "proposed"),
    [
        ("\n\n\r\r\r", "new = 1\n\n\n\n\n\n"),
        ("a\rb\n\nc\n", "a\n\nc\n"),
        ("a\rb\nc\n", "a\n\nb\nc\n"),
        ("a\rb\nc\n", "a\n\nc\n"),
    ],
)
def test_a_carriage_return_alone_never_takes_the_line_feed_of_an_empty_line(base: str, proposed: str) -> None:
    found = change(base, proposed)
    text = text_with(found, ids(found))
    assert text is not None
    assert [line.rstrip("\r\n") for line in split_lines(text)] == proposed.split("\n")[:-1]
    assert plan_edit(found, ids(found), text, take_out=ids(found)).result == base


def test_form_feeds_and_unicode_separators_do_not_end_a_line() -> None:
    assert split_lines("a\x0cb\u2028c\nd\re\r\nf") == ["a\x0cb\u2028c\n", "d\r", "e\r\n", "f"]


LINES = st.lists(st.sampled_from(["def f():", "    return 1", "", "x = 1", "class A:", "é = '𝄞'", "@d"]), max_size=14)


@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.data())
def test_accepting_all_hunks_gives_the_proposal_and_none_gives_the_base(
    old: list[str], new: list[str], ending: str, data: st.DataObject
) -> None:
    base, proposed = "".join(line + ending for line in old), "".join(line + "\n" for line in new)
    found = change(base, proposed)
    assert text_with(found, ids(found)) == proposed.replace("\n", ending) or not old
    assert text_with(found, set()) == base
    some = data.draw(st.sets(st.sampled_from(sorted(ids(found))))) if found.hunks else set()
    assert not old or all(line.endswith(ending) for line in split_lines(text_with(found, some) or ""))


def test_dedent_is_not_confused_by_a_nested_function() -> None:
    base = dedent("""\
        def outer():
            def inner():
                return 1
            return inner
        """)
    found = linked(base, base.replace("return 1", "return 2"))
    assert [hunk.symbol for hunk in found.hunks] == ["outer.inner"]
