"""Where a definition is named, and what a name at a place leads to."""

from __future__ import annotations

from rolecall_analysis import Position, definitions_at, references
from support.graph import cursor_of, definition_of, fixture_and_snapshot, lines_of, names_of, shown


def check_references(text: str) -> None:
    """What names the definition at the cursor: the lines labelled ``certain`` and ``possible``."""
    fixture, snapshot = fixture_and_snapshot(text)
    (destination,) = definitions_at(snapshot, *cursor_of(fixture))
    assert destination.definition is not None
    found = references(snapshot, destination.definition)
    for certain, label in ((True, "certain"), (False, "possible")):
        lines = {(o.path, o.span.start.line) for o in found if o.certain is certain}
        assert lines == lines_of(fixture, label), label
    name = destination.definition.name
    for occurrence in found:
        assert (
            occurrence.kind != "read"
            or shown(fixture, occurrence.path, occurrence.span) == (occurrence.text.rpartition(".")[2])
        )
    assert all(shown(fixture, o.path, o.span) == name for o in found if o.kind != "read")


def test_a_function_is_named_by_imports_re_exports_and_reads() -> None:
    check_references("""
        #- shop/price.py
        def <CURSOR>total(): ...  #@ certain
        TOTALS = [total]  #@ certain
        #- shop/__init__.py
        from .price import total  #@ certain
        #- main.py
        import shop
        from shop import total as t  #@ certain
        t()  #@ certain
        print(shop.total)  #@ certain
        def f(total): return total
        #- other.py
        def total(): ...
        total()
        """)


def test_a_method_is_named_on_its_object_and_possibly_on_others() -> None:
    check_references("""
        #- m.py
        class Cart:
            def <CURSOR>total(self): ...  #@ certain
            def twice(self): return self.total() + self.total()  #@ certain
        class Big(Cart):
            def total(self): return super().total()  #@ certain
            def show(self): self.total()
        class Other:
            def total(self): ...
            def show(self): self.total()
        def show(cart):
            cart.total()  #@ possible
            Cart.total(cart)  #@ certain
        import os
        os.total()
        """)


def test_an_override_is_possibly_meant_by_its_base() -> None:
    check_references("""
        #- m.py
        class Cart:
            def total(self): ...
            def twice(self): return self.total()  #@ possible
        class Big(Cart):
            def <CURSOR>total(self): ...  #@ certain
        """)


def test_a_class_is_named_where_it_is_inherited_annotated_and_aliased() -> None:
    check_references("""
        #- m.py
        class <CURSOR>Cart: ...  #@ certain
        class Big(Cart): ...  #@ certain
        Alias = Cart  #@ certain
        def f(cart: "Cart") -> Cart: ...  #@ certain
        Alias()
        """)


def test_the_value_a_variable_is_said_or_made_to_have_is_likely() -> None:
    check_references("""
        #- shop.py
        class Cart:
            def <CURSOR>total(self): ...  #@ certain
        class Other:
            def total(self): ...
        #- main.py
        import shop
        from shop import Cart
        cart = Cart()
        other = shop.Other()
        stated: Cart | None = make()
        cart.total()  #@ possible
        other.total()
        stated.total()  #@ possible
        """)


def test_a_module_variable_is_named_wherever_it_is_read() -> None:
    check_references("""
        #- settings.py
        <CURSOR>RATE = 2  #@ certain
        def f(): return RATE  #@ certain
        #- main.py
        import settings
        settings.RATE  #@ certain
        """)


def test_each_part_of_a_dotted_name_leads_somewhere_else() -> None:
    fixture, snapshot = fixture_and_snapshot("""
        #- shop/__init__.py
        #- shop/cart.py
        class Cart:
            @classmethod
            def empty(cls): ...
        #- main.py
        import shop.cart
        x = shop.cart.Cart.empty()
        """)
    line = fixture.files["main.py"].split("\n")[1]
    found = {
        part: definitions_at(snapshot, "main.py", Position(1, line.index(part)))
        for part in ("shop", "cart.Cart", "Cart.", "empty")
    }
    assert {part: [d.path for d in each] for part, each in found.items()} == {
        "shop": ["shop/__init__.py"],
        "cart.Cart": ["shop/cart.py"],
        "Cart.": ["shop/cart.py"],
        "empty": ["shop/cart.py"],
    }
    assert names_of(d.definition for d in found["empty"]) == ["shop/cart.py:Cart.empty"]
    assert found["shop"][0].definition is None


def test_an_imported_name_leads_to_what_it_imports() -> None:
    fixture, snapshot = fixture_and_snapshot("""
        #- shop/price.py
        def total(): ...
        #- main.py
        from shop.price import <CURSOR>total as t
        """)
    (found,) = definitions_at(snapshot, *cursor_of(fixture))
    assert names_of([found.definition]) == ["shop/price.py:total"]


def test_an_attribute_of_an_unknown_value_may_be_any_member_of_that_name() -> None:
    fixture, snapshot = fixture_and_snapshot("""
        #- m.py
        class Cart:
            def total(self): ...
        class Bill:
            def total(self): ...
        def total(): ...
        def f(x):
            return x.<CURSOR>total()
        """)
    found = definitions_at(snapshot, *cursor_of(fixture))
    assert names_of(d.definition for d in found) == ["m.py:Cart.total", "m.py:Bill.total"]
    assert {(d.certain, d.rule) for d in found} == {(False, "same name")}


def test_nothing_is_at_a_place_that_is_no_name_or_has_no_known_value() -> None:
    _, snapshot = fixture_and_snapshot("""
        #- m.py
        def f(x):
            return x.y + 1
        """)
    for place in (Position(1, 11), Position(1, 13), Position(1, 17), Position(9, 0)):
        assert definitions_at(snapshot, "m.py", place) == ()
    assert definitions_at(snapshot, "missing.py", Position(0, 0)) == ()


def test_the_definition_itself_can_be_left_out_and_so_can_what_is_only_possible() -> None:
    _, snapshot = fixture_and_snapshot("""
        #- m.py
        class Cart:
            def total(self): return self.total()
        def f(cart): cart.total()
        """)
    total = definition_of(snapshot, "m.py:Cart.total")
    found = references(snapshot, total, include_definition=False, certain_only=True)
    assert [(o.text, o.owner and o.owner.qualified_name) for o in found] == [("self.total", "Cart.total")]
