"""What a change touches, and by which path."""

from __future__ import annotations

from rolecall_analysis import Dependent, Snapshot, impact
from support.graph import definition_of, names_of, snapshot_from

SHOP = """
    #- shop/price.py
    def total(): ...
    class Tax:
        def __init__(self): ...
        def of(self): return total()
    #- shop/cart.py
    from shop import price
    def checkout(): return price.total()
    RATE = price.total()
    #- shop/web.py
    from shop.cart import checkout, RATE
    def view(request): return checkout()
    def rate(): return RATE
    def guess(tax): return tax.of()
    #- tests/test_web.py
    from shop.web import view
    def test_view(): assert view(None)
    """


def path_of(dependent: Dependent) -> str:
    return " < ".join(names_of(step.definition for step in dependent.steps))


def test_dependents_are_found_through_others_with_the_path_that_explains_them() -> None:
    snapshot = snapshot_from(SHOP)
    found = impact(snapshot, [definition_of(snapshot, "shop/price.py:total")])
    assert found.is_complete
    assert [(path_of(d), d.certain) for d in found.dependents] == [
        ("shop/price.py:Tax.of", True),
        ("shop/cart.py:checkout", True),
        ("shop/cart.py:RATE", True),
        ("shop/cart.py:checkout < shop/web.py:view", True),
        ("shop/cart.py:RATE < shop/web.py:rate", True),
        ("shop/cart.py:checkout < shop/web.py:view < tests/test_web.py:test_view", True),
        ("shop/price.py:Tax.of < shop/web.py:guess", False),
    ]


def test_what_is_only_possible_can_be_left_out() -> None:
    snapshot = snapshot_from(SHOP)
    found = impact(snapshot, [definition_of(snapshot, "shop/price.py:Tax.of")], certain_only=True)
    assert found.dependents == ()


def test_a_class_changes_with_its_members_and_a_file_with_all_that_is_in_it() -> None:
    snapshot = snapshot_from("""
        #- shop.py
        class Cart:
            def __init__(self): ...
            def total(self): ...
        def new(): return Cart()
        #- main.py
        import shop
        class Big(shop.Cart):
            def twice(self): return self.total()
        #- other.py
        import shop
        """)
    cart = impact(snapshot, [definition_of(snapshot, "shop.py:Cart")])
    assert names_of(d.definition for d in cart.dependents) == ["shop.py:new", "main.py:Big", "main.py:Big.twice"]
    file = impact(snapshot, ["shop.py"])
    assert names_of(d.definition for d in file.dependents) == ["main.py:Big", "main.py:Big.twice", "-", "-"]
    assert [d.path for d in file.dependents if d.definition is None] == ["main.py", "other.py"]


def test_a_search_is_bounded_in_number_and_in_distance() -> None:
    n_functions = 30
    chain = "\n".join(f"def f{n + 1}(): return f{n}()" for n in range(n_functions))
    snapshot = Snapshot().with_changes({"m.py": f"def f0(): ...\n{chain}"})
    origin = [definition_of(snapshot, "m.py:f0")]
    near = impact(snapshot, origin, max_steps=3)
    assert (len(near.dependents), near.is_complete) == (3, False)
    few = impact(snapshot, origin, max_steps=100, limit=10)
    assert (len(few.dependents), few.is_complete) == (10, False)
    everything = impact(snapshot, origin, max_steps=100)
    assert (len(everything.dependents), everything.is_complete) == (n_functions, True)


def test_functions_that_call_each_other_are_told_once() -> None:
    snapshot = snapshot_from("""
        #- m.py
        def a(): b()
        def b(): a()
        """)
    found = impact(snapshot, [definition_of(snapshot, "m.py:a")])
    assert names_of(d.definition for d in found.dependents) == ["m.py:b"]


def test_a_removed_definition_still_has_dependents() -> None:
    before = snapshot_from(SHOP)
    total = definition_of(before, "shop/price.py:total")
    after = before.with_changes({"shop/web.py": None})
    assert names_of(d.definition for d in impact(after, [total]).dependents)[1] == "shop/cart.py:checkout"


def test_what_calls_a_definition_without_naming_it_depends_on_it() -> None:
    snapshot = snapshot_from("""
        #- m.py
        def price(item): ...
        #- table.py
        from m import price
        COLUMNS = {"price": price}
        #- tests/test_view.py
        from table import COLUMNS
        def test_price(): assert COLUMNS["price"]("bread")
        """)
    found = impact(snapshot, [definition_of(snapshot, "m.py:price")], max_steps=1)
    assert "tests/test_view.py:test_price" in names_of(d.definition for d in found.dependents)
