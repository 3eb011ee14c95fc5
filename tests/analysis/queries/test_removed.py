"""What a change took away and something still uses."""

from __future__ import annotations

from collections.abc import Mapping

from rolecall_analysis import Snapshot, dangling_uses, removed_definitions
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
