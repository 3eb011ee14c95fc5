"""Classes above and below, and overriding members."""

from __future__ import annotations

from rolecall_analysis import (
    all_subtypes,
    callers,
    overridden,
    overrides,
    subtypes,
    supertypes,
)
from support.graph import definition_of, names_of, snapshot_from

SHOP = """
    #- base.py
    class Root:
        def total(self): ...
    class Left(Root):
        def total(self): ...
    class Right(Root):
        def total(self): ...
        def tax(self): ...
    #- shop.py
    import base
    from base import Left as L
    Plain = base.Right
    class Both(L, Plain):
        def tax(self):
            return super().tax() + self.total()
        def total(self):
            return super().total()
    class Deep(Both): ...
    """


def test_bases_are_found_through_aliases_in_their_order() -> None:
    snapshot = snapshot_from(SHOP)
    both = definition_of(snapshot, "shop.py:Both")
    assert names_of(supertypes(snapshot, both)) == ["base.py:Left", "base.py:Right"]


def test_subclasses_are_found_under_whatever_name_they_inherit() -> None:
    snapshot = snapshot_from(SHOP)
    right = definition_of(snapshot, "base.py:Right")
    assert names_of(subtypes(snapshot, right)) == ["shop.py:Both"]
    assert names_of(all_subtypes(snapshot, right)) == ["shop.py:Both", "shop.py:Deep"]
    root = definition_of(snapshot, "base.py:Root")
    assert names_of(all_subtypes(snapshot, root)) == ["base.py:Left", "base.py:Right", "shop.py:Both", "shop.py:Deep"]


def test_a_member_knows_what_it_overrides_and_what_overrides_it() -> None:
    snapshot = snapshot_from(SHOP)
    total = definition_of(snapshot, "shop.py:Both.total")
    assert names_of(overridden(snapshot, total)) == ["base.py:Left.total", "base.py:Right.total", "base.py:Root.total"]
    root = definition_of(snapshot, "base.py:Root.total")
    assert names_of(overrides(snapshot, root)) == ["base.py:Left.total", "base.py:Right.total", "shop.py:Both.total"]
    assert overrides(snapshot, definition_of(snapshot, "base.py:Root")) == ()


def test_super_is_the_next_class_in_the_order_of_lookup() -> None:
    snapshot = snapshot_from(SHOP)
    left = callers(snapshot, definition_of(snapshot, "base.py:Left.total"), certain_only=True)
    assert [(site.call.callee, site.rule) for site in left] == [("super().total", "super")]
    assert callers(snapshot, definition_of(snapshot, "base.py:Right.total"), certain_only=True) == ()
    tax = callers(snapshot, definition_of(snapshot, "base.py:Right.tax"), certain_only=True)
    assert [site.call.callee for site in tax] == ["super().tax"]


def test_a_member_behind_a_base_of_another_package_is_only_possible() -> None:
    snapshot = snapshot_from("""
        #- m.py
        from elsewhere import View
        class Mixin:
            def total(self): ...
        class First(Mixin, View):
            def show(self): return self.total()
        class Last(View, Mixin):
            def show(self): return self.total()
        """)
    found = callers(snapshot, definition_of(snapshot, "m.py:Mixin.total"))
    assert [(site.caller and site.caller.qualified_name, site.certain, site.rule) for site in found] == [
        ("First.show", True, "inherited"),
        ("Last.show", False, "inherited"),
    ]
