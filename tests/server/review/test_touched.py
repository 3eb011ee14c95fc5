"""What a hunk touches in the code graph."""

from __future__ import annotations

from dataclasses import replace

from rolecall_server.review.checks.touched import MAX_FILES, Touched, touched_by, with_touched
from rolecall_server.review.proposals.hunks import file_change, number_hunks
from rolecall_server.review.proposals.rendering import describe_place
from rolecall_server.workspace import TextFile
from support.fixture import parse_fixture
from support.graph import snapshot_from

SHOP = """
    #- price.py
    RATE = 0.2

    def total(items):
        return sum(items)

    class Cart:
        def price(self):
            return total([1])

        def show(self):
            return RATE
    #- shop.py
    from price import Cart, total

    def checkout(cart):
        cart.price()
        return total([1]) + total([2])
    #- tests/test_shop.py
    from shop import checkout

    def test_checkout():
        checkout(None)
    #- tests/test_total.py
    from price import total

    def test_total():
        assert total([1]) == 1
    #- tests/test_prices.py
    import price
    """


def touched(*replacement: str, text: str = SHOP, base: str | None = None) -> Touched:
    """What the first hunk of a replacement in ``price.py`` touches."""
    snapshot = snapshot_from(text)
    base = base if base is not None else parse_fixture(text).files["price.py"]
    old, new = replacement
    assert old in base
    change = file_change("price.py", TextFile("price.py", base), base.replace(old, new, 1))
    return touched_by(snapshot, change, change.hunks[0])


def test_a_change_in_a_function_touches_it_its_callers_and_the_tests_of_its_file() -> None:
    found = touched("return sum(items)", "return sum(items, 0)")
    assert found.symbols == ("total",)
    assert (found.n_callers, found.n_possible_callers) == (3, 0)
    assert [(place.path, place.line, place.text) for place in found.callers] == [
        ("price.py", 7, "return total([1])"),
        ("shop.py", 4, "return total([1]) + total([2])"),
        ("tests/test_total.py", 3, "assert total([1]) == 1"),
    ]
    assert found.tests == ("tests/test_total.py", "tests/test_prices.py")
    assert found.summary == "total: 3 callers; 2 test files"


def test_calls_on_values_nobody_knows_are_counted_apart() -> None:
    found = touched("return total([1])", "return total([2])")
    assert found.symbols == ("Cart.price",)
    assert (found.n_callers, found.n_possible_callers) == (0, 1)
    assert [place.text for place in found.callers] == ["cart.price()"]


def test_a_change_of_a_constant_touches_those_who_read_it() -> None:
    found = touched("RATE = 0.2", "RATE = 0.19")
    assert (found.symbols, found.n_callers) == (("RATE",), 1)


def test_lines_added_in_a_function_touch_it_and_lines_between_functions_touch_none() -> None:
    assert touched("    return sum(items)", "    items = items\n    return sum(items)").symbols == ("total",)
    assert touched("class Cart", "\n\ndef net(items):\n    return 1\n\n\nclass Cart").symbols == ()


def test_the_base_counts_even_where_the_file_has_moved_on() -> None:
    base = "# a comment\n" + parse_fixture(SHOP).files["price.py"]
    assert touched("return sum(items)", "return 0", base=base).symbols == ("total",)


def test_a_new_file_touches_nothing_that_is_there() -> None:
    change = file_change("tax.py", None, "def tax():\n    return 1\n")
    assert touched_by(snapshot_from(SHOP), change, change.hunks[0]) == Touched(())


def test_a_name_that_is_everywhere_is_not_searched_for() -> None:
    others = "".join(f"    #- other{n}.py\n    item.price()\n" for n in range(MAX_FILES))
    found = touched("return total([1])", "return total([2])", text=SHOP + others)
    assert (found.symbols, found.n_callers, found.is_complete) == (("Cart.price",), 0, False)
    assert found.summary.startswith("Cart.price: at least 0 callers")


def test_a_hunk_says_in_one_line_what_it_touches_and_what_it_serves() -> None:
    base = parse_fixture(SHOP).files["price.py"]
    proposed = base.replace("return sum(items)", "return sum(items, 0)")
    changes = number_hunks(
        [
            file_change("price.py", TextFile("price.py", base), proposed),
            file_change("notes.md", None, "Prices.\n"),
        ]
    )
    (price, notes) = with_touched(changes, snapshot_from(SHOP))
    assert describe_place(price.hunks[0]) == "Touches total: 3 callers; 2 test files."
    served = replace(price.hunks[0], serves=("R3", "T2"))
    assert describe_place(served) == "Touches total: 3 callers; 2 test files. Serves R3, T2."
    assert describe_place(notes.hunks[0]) == ""


def test_that_nobody_calls_a_test_goes_without_saying_but_a_helper_of_tests_has_callers() -> None:
    base = "def made():\n    return 1\n\n\ndef test_made():\n    assert made() == 1\n"
    proposed = base.replace("return 1", "return 2") + "\n\ndef test_more():\n    assert made()\n"
    changes = number_hunks([file_change("tests/test_made.py", TextFile("tests/test_made.py", base), proposed)])
    helper, added = changes[0].hunks
    named = replace(changes[0], hunks=(helper, replace(added, symbol="test_more")))
    (change,) = with_touched((named,), snapshot_from(f"#- tests/test_made.py\n{base}"))
    assert [describe_place(hunk) for hunk in change.hunks] == ["Touches made: 1 caller; 1 test file.", ""]


def test_a_new_file_is_not_told_to_have_no_callers() -> None:
    (change,) = number_hunks([file_change("shop/checks.py", None, "class TestTotal:\n    pass\n")])
    named = replace(change, hunks=tuple(replace(hunk, symbol="TestTotal") for hunk in change.hunks))
    (told,) = with_touched((named,), snapshot_from(SHOP))
    assert [describe_place(hunk) for hunk in told.hunks] == [""]


def test_a_proposal_does_not_wait_for_what_all_its_hunks_touch() -> None:
    base = parse_fixture(SHOP).files["price.py"]
    changes = number_hunks([file_change("price.py", TextFile("price.py", base), base.replace("sum", "max"))])
    assert with_touched(changes, snapshot_from(SHOP), patience_s=-1.0) == changes
