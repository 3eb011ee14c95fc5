"""What the code graph says a change breaks, and what it keeps quiet about."""

from __future__ import annotations

from rolecall_server.review.checks.graph_checks import check_changes
from rolecall_server.review.proposals.evidence import GraphFinding
from support.fixture import parse_fixture
from support.graph import snapshot_from

SHOP = """\
#- price.py
import math

RATE = 0.2


def total(items):
    return math.fsum(items)


def net(items, rate=RATE):
    return total(items) * (1 - rate)


class Cart:
    def __init__(self, owner):
        self.owner = owner

    def price(self):
        return total([1])

    def tell_owner(self, loudly=False):
        return self.price()

#- shop.py
import price
from price import Cart, net, total


def checkout(cart):
    cart.tell_owner()
    return total([1]) + price.total([2]) + net([3], rate=0.1)


def new_cart():
    return Cart("me")

#- tests/test_price.py
import pytest

from price import Cart, total


def test_total():
    assert total([1, 2]) == 3


def test_no_owner():
    with pytest.raises(TypeError):
        Cart()
"""


def texts() -> dict[str, str]:
    return dict(parse_fixture(SHOP).files)


def findings(files: dict[str, str | None], workspace: str = SHOP) -> list[GraphFinding]:
    return list(check_changes(snapshot_from(workspace), files))


def after(path: str, *replacements: tuple[str, str]) -> dict[str, str | None]:
    """The file of the shop with some words replaced."""
    text = texts()[path]
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return {path: text}


def told(found: list[GraphFinding]) -> list[str]:
    return [str(finding) for finding in found]


def places(finding: GraphFinding) -> list[tuple[str, int, str]]:
    return [(place.path, place.line + 1, place.text) for place in finding.places]


def test_a_sound_change_has_no_findings() -> None:
    changed = after("price.py", ("RATE = 0.2", "RATE = 0.19"), ("def total(items)", "def total(items, start=0)"))
    assert findings(changed) == []


def test_a_syntax_error_is_told_with_its_line() -> None:
    found = findings(after("price.py", ("return math.fsum(items)", "return math.fsum(items))")))
    assert {(one.kind, one.path, one.line, one.certain) for one in found} == {("syntax error", "price.py", 6, True)}


def test_wrong_indentation_is_a_syntax_error() -> None:
    (found,) = findings(after("price.py", ("    return math", "return math")))
    assert str(found) == "price.py, line 7: Expected an indented block after function definition on line 6."
    (found,) = findings(after("price.py", ("RATE =", "  RATE =")))
    assert str(found) == "price.py, line 3: Unexpected indent."


def test_syntax_that_only_this_python_refuses_is_possible_only() -> None:
    (found,) = findings(after("price.py", ("RATE = 0.2", "RATE = 0.2\nmath.fsum(start=1, [2])")))
    assert (found.kind, found.certain) == ("syntax error", False)


def test_who_finds_a_file_broken_may_go_on_working_in_it() -> None:
    broken = SHOP.replace("def total(items):", "def total(items")
    assert findings({"price.py": parse_fixture(broken).files["price.py"] + "\nRATE = = 3\n"}, broken) == []


def test_a_dropped_import_leaves_its_name_without_meaning() -> None:
    assert told(findings(after("price.py", ("import math\n", "")))) == ["price.py, line 6: Nothing binds 'math'."]


def test_a_misspelled_name_is_told_and_one_that_was_misspelled_before_is_not() -> None:
    assert told(findings(after("price.py", ("return total(items)", "return totl(items)")))) == [
        "price.py, line 11: Nothing binds 'totl'."
    ]
    known = SHOP.replace("return total(items)", "return totl(items)")
    assert findings({"price.py": "# more\n" + parse_fixture(known).files["price.py"]}, known) == []


def test_a_new_file_that_imports_what_is_not_there_is_told() -> None:
    assert told(findings({"tax.py": "from price import tax, total\n\ntotal([tax])\n"})) == [
        "tax.py, line 1: price has no 'tax' to import."
    ]


def test_an_attribute_that_a_module_does_not_have_is_told() -> None:
    assert told(findings(after("shop.py", ("price.total", "price.sum")))) == ["shop.py, line 7: price has no 'sum'."]


def test_an_attribute_that_nothing_gives_to_self_is_possible_only() -> None:
    (found,) = findings(after("price.py", ("self.price()", "self.prise()")))
    assert (str(found), found.certain) == ("price.py, line 22: Nothing gives self an attribute 'prise'.", False)


def test_a_removed_function_is_told_with_every_place_that_still_names_it() -> None:
    (found,) = findings(
        after("price.py", ("def total(items):\n    return math.fsum(items)\n", "math.pi\n"), ("total(", "sum("))
    )
    assert str(found) == "price.py, line 6: 'total' is gone, and still used in 3 places."
    assert places(found) == [
        ("shop.py", 2, "from price import Cart, net, total"),
        ("shop.py", 7, "return total([1]) + price.total([2]) + net([3], rate=0.1)"),
        ("tests/test_price.py", 3, "from price import Cart, total"),
    ]


def test_a_renamed_function_is_told_with_its_new_name() -> None:
    found = findings(after("price.py", ("def total(", "def total_of(")))
    assert "'total' is now 'total_of', and still used" in found[0].sentence
    assert ("price.py", 11, "return total(items) * (1 - rate)") in places(found[0])
    assert [finding.kind for finding in found] == ["missing symbol"], "its uses are told once"


def test_a_rename_with_all_its_uses_is_sound() -> None:
    changed: dict[str, str | None] = {path: text.replace("total", "total_of") for path, text in texts().items()}
    assert findings(changed) == []


def test_a_function_that_moved_and_is_imported_back_is_not_missed() -> None:
    moved = after(
        "price.py", ("def total(items):\n    return math.fsum(items)\n", "from sums import total\n\nmath.pi\n")
    )
    assert findings({**moved, "sums.py": "import math\n\n\ndef total(items):\n    return math.fsum(items)\n"}) == []


def test_a_deleted_file_is_told_once_with_those_who_import_it() -> None:
    found = [finding for finding in findings({"price.py": None}) if finding.certain]
    assert [finding.sentence for finding in found] == ["The module is gone, and still used in 4 places."]


def test_a_method_that_is_gone_may_be_called_on_a_value_nobody_knows() -> None:
    (found,) = findings(after("price.py", ("def tell_owner(", "def notify(")))
    assert (found.sentence, found.certain) == (
        "'Cart.tell_owner' is now 'notify', and perhaps still used in one place.",
        False,
    )
    assert places(found) == [("shop.py", 6, "cart.tell_owner()")]


def test_a_new_parameter_is_told_with_the_calls_that_do_not_give_it() -> None:
    (found,) = findings(
        after("price.py", ("def total(items)", "def total(items, start)"), ("total([1])", "total([1], 0)"))
    )
    assert found.sentence == "3 calls do not fit 'def total(items, start)' any more: it needs 'start'."
    assert [place.path for place in found.places] == ["price.py", "shop.py", "tests/test_price.py"] or len(
        found.places
    ) == 3


def test_a_renamed_argument_is_told_where_it_is_given_by_name() -> None:
    (found,) = findings(after("price.py", ("rate=RATE", "share=RATE"), ("1 - rate", "1 - share")))
    assert found.sentence == "A call does not fit 'def net(items, share=RATE)' any more: it has no parameter 'rate'."
    assert [(place.path, place.line) for place in found.places] == [("shop.py", 6)]


def test_what_constructing_a_class_takes_is_judged_with_its_subclasses() -> None:
    workspace = SHOP + '\n#- vip.py\nfrom price import Cart\n\n\nclass Vip(Cart):\n    pass\n\n\nVip("you")\n'
    found = findings(after("price.py", ("self, owner)", "self, owner, vip)")), workspace)
    assert {place.path for finding in found for place in finding.places} == {"shop.py", "vip.py"}


def test_a_field_that_is_added_to_a_dataclass_must_be_given() -> None:
    workspace = (
        "#- order.py\nfrom dataclasses import dataclass\n\n\n@dataclass\nclass Order:\n    name: str\n"
        "#- use.py\nfrom order import Order\n\nOrder('a')\n"
    )
    changed = parse_fixture(workspace).files["order.py"] + "    price: int\n"
    (found,) = findings({"order.py": changed}, workspace)
    assert places(found) == [("use.py", 3, "Order('a')")]


def test_a_call_that_is_meant_to_fail_is_not_told() -> None:
    found = findings(after("price.py", ("self, owner)", "self, owner, *, vip)")))
    assert {place.path for finding in found for place in finding.places} == {"shop.py"}


def test_a_new_call_that_does_not_fit_is_told_where_it_stands() -> None:
    (found,) = findings(after("shop.py", ("net([3], rate=0.1)", "net([3], tax=0.1)")))
    assert str(found) == "shop.py, line 7: price.py has 'def net(items, rate=RATE)': it has no parameter 'tax'."


def test_other_languages_are_checked_as_far_as_the_graph_goes() -> None:
    (found,) = findings({"a.js": "function f( {\n"}, "#- a.js\nfunction f() {}\n")
    assert (found.kind, found.certain) == ("syntax error", False)


def test_files_that_are_no_source_are_passed_over() -> None:
    assert findings({"notes.md": "# total\n", "data.json": "{"}) == []
