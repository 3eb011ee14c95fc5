"""Which hunks of a proposal need which."""

from __future__ import annotations

from textwrap import dedent

import pytest

from rolecall_analysis import Snapshot
from rolecall_server.review.checks.hunk_needs import link_hunks
from rolecall_server.review.proposals.hunks import file_change, number_hunks
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkKind
from rolecall_server.workspace import TextFile

Texts = dict[str, str]


def proposal(before: Texts, after: Texts) -> list[tuple[str, Hunk]]:
    """The hunks that turn one workspace into another, with their paths."""
    snapshot = Snapshot().with_changes({**before})
    changes = [
        file_change(path, TextFile(path, before[path]) if path in before else None, text)
        for path, text in after.items()
        if text != before.get(path)
    ]
    return [(change.path, hunk) for change in link_hunks(number_hunks(changes), snapshot) for hunk in change.hunks]


def needs(before: Texts, after: Texts) -> set[tuple[str, str]]:
    """Who needs whom; each hunk is named by the last line it adds, or takes away where it adds none."""
    found = proposal(before, after)
    names: dict[str, str] = {}
    for path, hunk in found:
        lines = hunk.new_lines or tuple(before[path].splitlines()[hunk.start : hunk.end])
        names[hunk.id] = [line.strip() for line in lines if line.strip()][-1]
    return {(names[hunk.id], names[need]) for _, hunk in found for need in hunk.needs}


def source(text: str) -> str:
    return dedent(text).lstrip("\n")


APART = "".join(f"x{n} = {n}\n" for n in range(7))
"""So many lines between two changes keep them apart."""

PRICE = source("""
    import math


    def total(items):
        return math.fsum(items)


    def net(items):
        return total(items) * 0.8


    class Cart:
        def price(self):
            return total([1])
    """)

SHOP = source("""
    from price import Cart, total


    def checkout(cart):
        cart.price()
        return total([1])


    def empty():
        return Cart()
    """)


def edited(text: str, *replacements: tuple[str, str]) -> str:
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text


def test_a_use_needs_the_import_it_comes_with() -> None:
    after = edited(
        PRICE, ("import math\n", "import math\nfrom decimal import Decimal\n"), ("* 0.8", '* Decimal("0.8")')
    )
    assert needs({"price.py": PRICE}, {"price.py": after}) == {
        ('return total(items) * Decimal("0.8")', "from decimal import Decimal")
    }


def test_an_import_is_taken_away_only_with_its_last_use() -> None:
    after = edited(PRICE, ("import math\n", ""), ("math.fsum(items)", "sum(items)"))
    assert needs({"price.py": PRICE}, {"price.py": after}) == {("import math", "return sum(items)")}


def test_a_use_needs_the_function_that_another_file_adds_and_the_import_it_comes_by() -> None:
    before = {"price.py": PRICE, "shop.py": SHOP}
    after = {
        "price.py": PRICE + "\n\ndef tax(items):\n    return 0.2\n",
        "shop.py": edited(SHOP, ("Cart, total", "Cart, tax, total"), ("return total([1])", "return tax([1])")),
    }
    assert needs(before, after) == {
        ("from price import Cart, tax, total", "return 0.2"),
        ("return tax([1])", "return 0.2"),
        ("return tax([1])", "from price import Cart, tax, total"),
    }


def test_a_function_that_only_has_the_name_of_an_added_one_is_not_confused_with_it() -> None:
    other = "def tax():\n    return 1\n\n\ndef show():\n    return 1\n"
    before = {"price.py": PRICE, "other.py": other}
    after = {"price.py": PRICE + "\n\ndef tax(items):\n    return 0.2\n", "other.py": other + "\n\nshow(tax())\n"}
    assert needs(before, after) == set()


def test_a_renamed_function_and_its_callers_need_each_other() -> None:
    before = {"price.py": PRICE, "shop.py": SHOP}
    after = {path: text.replace("total", "total_of") for path, text in before.items()}
    found = needs(before, after)
    renamed = "def total_of(items):"
    for caller in (
        "return total_of(items) * 0.8",
        "return total_of([1])",
        "from price import Cart, total_of",
    ):
        assert {(renamed, caller), (caller, renamed)} <= found


def test_a_renamed_method_and_a_call_on_an_unknown_value_need_each_other() -> None:
    before = {"price.py": PRICE, "shop.py": SHOP}
    after = {path: text.replace("price(", "cost(") for path, text in before.items()}
    assert needs(before, after) == {("def cost(self):", "cart.cost()"), ("cart.cost()", "def cost(self):")}


def test_a_call_that_gives_a_new_parameter_needs_the_signature_that_has_it() -> None:
    before = {"price.py": PRICE, "shop.py": SHOP}
    optional = edited(PRICE, ("def total(items):", "def total(items, start=0):"))
    after = {"price.py": optional, "shop.py": edited(SHOP, ("total([1])", "total([1], start=1)"))}
    assert needs(before, after) == {("return total([1], start=1)", "def total(items, start=0):")}


def test_a_signature_that_asks_for_more_and_the_calls_that_give_it_need_each_other() -> None:
    before = {"price.py": PRICE, "shop.py": SHOP}
    required = edited(PRICE, ("def total(items):", "def total(items, start):"), ("total([1])", "total([1], 0)"))
    after = {"price.py": required, "shop.py": edited(SHOP, ("total([1])", "total([1], 1)"))}
    signature, calls = "def total(items, start):", {"return total([1], 1)", "return total([1], 0)"}
    assert needs(before, after) == {(call, signature) for call in calls} | {(signature, call) for call in calls}


def test_constructing_a_class_with_a_new_field_needs_the_field() -> None:
    order = "from dataclasses import dataclass\n\n\n@dataclass\nclass Order:\n    name: str\n    size: int = 1\n"
    use = "from order import Order\n\nfirst = Order('a')\nlast = Order('b')\n"
    after = {"order.py": order + "    price: int = 0\n", "use.py": use.replace("Order('b')", "Order('b', price=3)")}
    assert needs({"order.py": order, "use.py": use}, after) == {("last = Order('b', price=3)", "price: int = 0")}


def test_a_test_needs_the_fixture_it_is_handed() -> None:
    conftest = "import pytest\n"
    tests = "def test_one():\n    assert 1\n"
    after = {
        "tests/conftest.py": conftest + "\n\n@pytest.fixture\ndef cart():\n    return []\n",
        "tests/test_cart.py": tests + "\n\ndef test_two(cart):\n    assert cart == []\n",
    }
    assert needs({"tests/conftest.py": conftest, "tests/test_cart.py": tests}, after) == {
        ("assert cart == []", "return []")
    }


def test_the_lines_of_a_function_need_the_variable_that_others_of_them_bind() -> None:
    body = source("""
        def total(items):
            first = 1
            second = 2
            third = 3
            fourth = 4
            fifth = 5
            sixth = 6
            seventh = 7
            eighth = 8
            ninth = 9
            return first
        """)
    after = edited(
        body, ("    second = 2\n", "    second = 2\n    rate = 0.2\n"), ("return first", "return first * rate")
    )
    assert needs({"a.py": body}, {"a.py": after}) == {("return first * rate", "rate = 0.2")}


def test_a_comprehension_binds_its_variable_within_its_function_alone() -> None:
    module = source("""
        def squares(numbers):
            return [n * n for n in numbers]


        def cubes(numbers):
            return [n * n * n for n in numbers]


        def halves(numbers):
            for n in numbers:
                yield n / 2
        """)
    assert needs({}, {"a.py": module}) == set()


def test_the_body_needs_the_new_parameter_it_reads() -> None:
    far = '    """Net."""\n' + APART.replace("x", "    x") + "    return total(items) * 0.8"
    lines_between = PRICE.replace("    return total(items) * 0.8", far)
    after = edited(lines_between, ("def net(items):", "def net(items, share=0.8):"), ("* 0.8", "* share"))
    assert needs({"a.py": lines_between}, {"a.py": after}) == {
        ("return total(items) * share", "def net(items, share=0.8):")
    }


def test_an_attribute_needs_the_hunk_that_gives_it_to_self() -> None:
    cart = source("""
        class Cart:
            def __init__(self):
                self.items = []

            def first(self):
                return self.items[0]

            def last(self):
                return self.items[-1]

            def size(self):
                return 1
        """)
    after = edited(cart, ("= []\n", "= []\n        self.n_items = 0\n"), ("return 1", "return self.n_items"))
    assert needs({"cart.py": cart}, {"cart.py": after}) == {("return self.n_items", "self.n_items = 0")}


def test_a_function_that_moves_within_its_file_moves_whole() -> None:
    moving, staying = "def a():\n    return 1\n\n\n", "def b():\n    x = 2\n    y = 3\n    return 2\n\n\n"
    found = proposal({"m.py": moving + staying}, {"m.py": staying + moving})
    assert [(hunk.id, hunk.needs) for _, hunk in found] == [("h1", ("h2",)), ("h2", ("h1",))]


def test_an_import_that_moves_into_the_function_that_uses_it_goes_only_where_it_comes() -> None:
    after = edited(
        PRICE, ("import math\n", ""), ("(items):\n    return math", "(items):\n    import math\n\n    return math")
    )
    found = proposal({"price.py": PRICE}, {"price.py": after})
    assert [hunk.needs for _, hunk in found] == [("h2",), ()]


def test_a_name_that_comes_from_elsewhere_now_needs_its_new_import() -> None:
    base = "from price import total, net\n\nprint(net)\n" + APART + "print(2)\nprint(total)\n"
    after = "from price import net\n\nprint(net)\n" + APART + "from sums import total\nprint(2)\nprint(total)\n"
    assert needs({"a.py": base}, {"a.py": after}) == {("from price import net", "from sums import total")}


def test_a_call_that_fits_only_what_is_imported_now_needs_the_import() -> None:
    base = "from price import total\n" + APART + "print(total([1]))\n"
    after = "from sums import total\n" + APART + "print(total([1], safe=True))\n"
    imports, call = "from sums import total", "print(total([1], safe=True))"
    assert needs({"a.py": base}, {"a.py": after}) == {(imports, call), (call, imports)}


def test_a_name_in_all_needs_its_definition() -> None:
    init = '__all__ = ["total"]\n' + APART + "from price import total\n"
    after = '__all__ = ["net", "total"]\n' + APART + "from price import net, total\n"
    assert needs({"i.py": init, "price.py": PRICE}, {"i.py": after, "price.py": PRICE}) == {
        ('__all__ = ["net", "total"]', "from price import net, total")
    }


def test_a_name_that_a_package_hands_on_needs_the_import_in_the_package_too() -> None:
    before = {"shop/price.py": PRICE, "shop/__init__.py": "from .price import total\n", "main.py": "import shop\n"}
    after = {
        "shop/price.py": PRICE + "\n\ndef tax(items):\n    return 0.2\n",
        "shop/__init__.py": "from .price import tax, total\n",
        "main.py": "import shop\n\nshop.tax([])\n",
        "other.py": "from shop import tax\n",
    }
    found = needs(before, after)
    assert {need for user, need in found if user == "shop.tax([])"} == {"return 0.2", "from .price import tax, total"}
    assert {need for user, need in found if user == "from shop import tax"} == {
        "return 0.2",
        "from .price import tax, total",
    }


def test_an_import_of_a_new_file_needs_its_first_hunk() -> None:
    found = proposal({"shop.py": SHOP}, {"shop.py": "import tax\n" + SHOP, "tax.py": "RATE = 1\n"})
    assert {hunk.id: hunk.needs for _, hunk in found} == {"h1": ("h2",), "h2": ()}


def test_a_deleted_file_needs_those_who_no_longer_import_it() -> None:
    before = {"tax.py": "RATE = 1\n", "shop.py": "import tax\nimport math\n\nmath.pi\n"}
    old = Snapshot().with_changes({**before})
    deletion = FileChange("tax.py", before["tax.py"], "", (Hunk("", 0, 0, (), kind=HunkKind.DELETE),))
    edit = file_change("shop.py", TextFile("shop.py", before["shop.py"]), "import math\n\nmath.pi\n")
    found = link_hunks(number_hunks([deletion, edit]), old)
    assert [hunk.needs for change in found for hunk in change.hunks] == [("h2",), ()]


def test_a_renamed_file_and_its_importers_need_each_other() -> None:
    before = {"tax.py": "RATE = 1\n", "shop.py": "import tax\n\nprint(1)\n"}
    old = Snapshot().with_changes({**before})
    rename = FileChange("tax.py", "RATE = 1\n", "", (Hunk("", 0, 0, (), kind=HunkKind.RENAME),), "rates.py")
    edit = file_change("shop.py", TextFile("shop.py", before["shop.py"]), "import rates\n\nprint(1)\n")
    found = link_hunks(number_hunks([rename, edit]), old)
    assert [hunk.needs for change in found for hunk in change.hunks] == [("h2",), ("h1",)]


@pytest.mark.parametrize("word", ["total", "price", "math", "items"])
def test_words_in_comments_and_strings_are_no_names(word: str) -> None:
    after = edited(PRICE, ("import math\n", f"import math\n\nNOTE = '{word}_new'\n"), ("* 0.8", f"* 0.8  # {word}_new"))
    assert needs({"price.py": PRICE}, {"price.py": after}) == set()


def test_other_languages_are_followed_by_the_same_rules() -> None:
    shop = "function total(items) {\n  return 1;\n}\n\n// a\n// b\n// c\n\nfunction net(items) {\n  return 2;\n}\n"
    after = "const tax = (items) => 3;\n" + shop.replace("return 2;", "return tax(items);")
    assert needs({"shop.js": shop}, {"shop.js": after}) == {("return tax(items);", "const tax = (items) => 3;")}


def test_the_base_counts_even_where_the_file_has_moved_on() -> None:
    after = edited(PRICE, ("import math\n", ""), ("math.fsum(items)", "sum(items)"))
    change = file_change("price.py", TextFile("price.py", PRICE), after)
    snapshot = Snapshot().with_changes({"price.py": "# a comment\n" * 9 + PRICE})
    (found,) = link_hunks(number_hunks([change]), snapshot)
    assert [(hunk.symbol, hunk.needs) for hunk in found.hunks] == [("", ("h2",)), ("total", ())]
