"""What a change took away and something still uses."""

from __future__ import annotations

from collections.abc import Mapping

from rolecall_analysis import Snapshot, dangling_uses, possibly_dangling_uses, removed_definitions
from support.graph import names_of, snapshot_from

SHOP = """
    #- shop/__init__.py
    from .price import total
    #- shop/price.py
    def total(): ...
    def tax(): ...
    class Cart:
        def lines(self): ...
        def show(self): return self.lines()
    #- main.py
    import shop.price
    from shop.price import tax as t
    def main():
        shop.total()
        return shop.price.Cart.lines(None), t()
    """

CART = "class Cart:\n    def lines(self): ...\n    def show(self): return self.lines()\n"


def left_over(before: Snapshot, changes: Mapping[str, str | None]) -> list[tuple[str, int, str]]:
    """Path, line and name of what is still used after *changes*."""
    found = dangling_uses(before, before.with_changes(changes), changes)
    return [(use.path, use.span.start.line, use.name) for use in found]


def test_a_function_that_is_gone_is_missed_where_it_is_imported_and_named() -> None:
    before = snapshot_from(SHOP)
    assert left_over(before, {"shop/price.py": CART}) == [
        ("main.py", 1, "tax"),
        ("main.py", 3, "shop.total"),
        ("shop/__init__.py", 0, "total"),
    ]


def test_a_member_that_is_gone_is_missed_on_its_class_and_on_self() -> None:
    before = snapshot_from(SHOP)
    price = "def total(): ...\ndef tax(): ...\nclass Cart:\n    def show(self): return self.lines()\n"
    assert left_over(before, {"shop/price.py": price}) == [
        ("main.py", 4, "shop.price.Cart.lines"),
        ("shop/price.py", 3, "self.lines"),
    ]


def test_what_moved_and_can_be_had_from_the_old_place_is_not_missed() -> None:
    before = snapshot_from(SHOP)
    moved = {"shop/price.py": f"from .tax import total, tax\n{CART}", "shop/tax.py": "def total(): ...\ndef tax(): ..."}
    assert left_over(before, moved) == []


def test_a_use_that_was_changed_as_well_is_not_missed() -> None:
    before = snapshot_from(SHOP)
    changes = {"shop/price.py": CART, "shop/__init__.py": "", "main.py": "import shop"}
    assert left_over(before, changes) == []


def test_a_module_that_is_gone_is_missed_by_its_importers() -> None:
    before = snapshot_from("""
        #- shop/__init__.py
        #- shop/price.py
        def total(): ...
        #- main.py
        from shop import price
        import shop.price
        from shop.price import total
        """)
    found = dangling_uses(before, before.with_changes({"shop/price.py": None}), ["shop/price.py"])
    assert [(use.span.start.line, use.name) for use in found] == [
        (0, "price"),
        (1, "shop.price"),
        (2, "total"),
    ]


def test_a_definition_that_only_moved_within_its_file_is_still_there() -> None:
    before = snapshot_from(SHOP)
    after = before.with_changes({"shop/price.py": f"x = 1\n{CART}\ndef total(x): ...\n"})
    assert names_of(removed_definitions(before, after, ["shop/price.py"])) == ["shop/price.py:tax"]


def test_a_name_that_the_module_makes_up_when_asked_is_not_missed() -> None:
    before = snapshot_from("""
        #- price.py
        def total(): ...
        #- shop.py
        from price import total
        import price

        price.total()
        """)
    assert dangling_uses(before, before.with_changes({"price.py": "def __getattr__(name): ..."}), ["price.py"]) == ()
    assert dangling_uses(before, before.with_changes({"price.py": "from elsewhere import *"}), ["price.py"]) == ()


def test_a_module_that_moved_to_another_source_folder_is_not_missed() -> None:
    before = snapshot_from("""
        #- shop/__init__.py
        #- shop/price.py
        from elsewhere import total
        #- tests/test_price.py
        from shop.price import total
        """)
    moved = {"shop/__init__.py": None, "shop/price.py": None, "src/shop/__init__.py": ""}
    after = before.with_changes({**moved, "src/shop/price.py": "from elsewhere import total"})
    assert dangling_uses(before, after, moved) == ()


def test_a_member_that_another_class_has_may_reach_self_through_a_subclass() -> None:
    before = snapshot_from("""
        #- base.py
        class Sender:
            def send(self): ...
            def go(self):
                self.send()
        #- web.py
        class Web:
            def send(self): ...
        """)
    after = before.with_changes({"base.py": "class Sender:\n    def go(self):\n        self.send()\n"})
    assert [(use.name, use.certain) for use in dangling_uses(before, after, ["base.py"])] == [("self.send", False)]


CALLER = """
    #- cart.py
    class Cart:
        limit: int = 3
        def total_price(self): ...
        def close(self): ...
        def __init__(self):
            self.owner_name = ""
    #- shop.py
    def go(cart):
        cart.total_price()
        cart.close()
        cart.limit
        cart.owner_name
    """


def possible(before_text: str, changes: dict[str, str | None]) -> list[str]:
    before = snapshot_from(before_text)
    return [use.name for use in possibly_dangling_uses(before, before.with_changes(changes), list(changes))]


def test_a_method_that_is_gone_may_still_be_read_from_an_unknown_value() -> None:
    assert possible(CALLER, {"cart.py": "class Cart: ..."}) == ["cart.total_price", "cart.limit"]


def test_a_member_is_not_missed_where_something_else_has_one_of_that_name() -> None:
    other = "class Cart: ...\nclass Basket:\n    limit = 1\n    def total_price(self): ...\n"
    assert possible(CALLER, {"cart.py": other}) == []


def test_a_member_is_not_missed_where_its_class_has_a_base_of_another_package() -> None:
    text = CALLER.replace("class Cart:", "class Cart(elsewhere.Base):")
    assert possible(text, {"cart.py": "class Cart(elsewhere.Base): ..."}) == []
