"""What names mean: aliases, properties, constructors, conditional bindings, and the rule each edge has."""

from __future__ import annotations

from rolecall_analysis import Snapshot, callees, callers
from support.graph import definition_of, names_of, snapshot_from


def calls_of(snapshot: Snapshot, name: str) -> list[tuple[str, bool, str]]:
    """Callee as written, certainty and rule of each caller of the definition *name*."""
    return [(s.call.callee, s.certain, s.rule) for s in callers(snapshot, definition_of(snapshot, name))]


def test_each_edge_has_the_rule_that_made_it() -> None:
    snapshot = snapshot_from("""
        #- base.py
        class Base:
            def step(self): ...
            def run(self): self.step()
        def total(): ...
        total()
        #- main.py
        from base import Base, total as t
        sum_up = t
        class Job(Base):
            def step(self): super().step()
            def go(self):
                self.run()
        def main(job):
            t()
            sum_up()
            job.step()
            Job.step(job)
        """)
    assert calls_of(snapshot, "base.py:total") == [
        ("total", True, "name in scope"),
        ("t", True, "import"),
        ("sum_up", True, "alias"),
    ]
    assert calls_of(snapshot, "base.py:Base.step") == [
        ("self.step", True, "attribute of self"),
        ("super().step", True, "super"),
        ("job.step", False, "same name"),
    ]
    assert calls_of(snapshot, "main.py:Job.step") == [
        ("Job.step", True, "attribute"),
        ("job.step", False, "same name"),
        ("self.step", False, "override"),
    ]
    assert calls_of(snapshot, "base.py:Base.run") == [("self.run", True, "inherited")]


def test_reading_a_property_calls_it() -> None:
    snapshot = snapshot_from("""
        #- m.py
        from functools import cached_property
        class Cart:
            @property
            def total(self): ...
            @cached_property
            def lines(self): return self.total + 1
            def show(self, other):
                return self.lines, other.total
        """)
    total = callers(snapshot, definition_of(snapshot, "m.py:Cart.total"))
    assert [(s.caller and s.caller.name, s.certain) for s in total] == [("lines", True), ("show", False)]
    lines = callers(snapshot, definition_of(snapshot, "m.py:Cart.lines"))
    assert [(s.caller and s.caller.name, s.certain) for s in lines] == [("show", True)]


def test_callees_are_what_the_calls_inside_lead_to() -> None:
    snapshot = snapshot_from("""
        #- shop.py
        class Base:
            def __init__(self): ...
        class Cart(Base):
            def total(self): ...
        class Empty: ...
        #- main.py
        import shop
        def helper(): ...
        def main(unknown):
            cart = shop.Cart()
            shop.Empty()
            def inner(): helper()
            cart.total()
            unknown()
            len([])
            return shop.Cart.total(cart)
        """)
    found = callees(snapshot, definition_of(snapshot, "main.py:main"))
    assert names_of(callee.definition for callee in found) == [
        "shop.py:Base.__init__",
        "shop.py:Empty",
        "main.py:helper",
        "shop.py:Cart.total",
    ]
    assert [callee.rule for callee in found][:2] == ["constructor", "constructor"]


def test_both_branches_of_a_condition_may_bind_a_name() -> None:
    snapshot = snapshot_from("""
        #- fast.py
        def total(): ...
        #- slow.py
        def total(): ...
        #- main.py
        try:
            from fast import total
        except ImportError:
            from slow import total
        total()
        """)
    assert calls_of(snapshot, "fast.py:total") == calls_of(snapshot, "slow.py:total") == [("total", True, "import")]


def test_a_definition_replaces_the_import_before_it_and_an_import_the_definition() -> None:
    snapshot = snapshot_from("""
        #- base.py
        class Cart:
            def total(self): ...
        def rate(): ...
        #- shop.py
        from base import Cart
        class Cart(Cart):
            def empty(self): return self.total()
        def rate(): ...
        from base import rate
        #- main.py
        from shop import Cart, rate
        Cart.total(1)
        rate()
        """)
    assert calls_of(snapshot, "base.py:Cart.total") == [
        ("Cart.total", True, "inherited"),
        ("self.total", True, "inherited"),
    ]
    assert calls_of(snapshot, "base.py:rate") == [("rate", True, "import")]
    assert calls_of(snapshot, "shop.py:rate") == []


def test_self_of_a_nested_function_is_its_own() -> None:
    snapshot = snapshot_from("""
        #- m.py
        class Cart:
            def total(self): ...
            def make(self):
                def total(self): return self.total()
                return lambda: self.total()
        """)
    assert [certain for _, certain, _ in calls_of(snapshot, "m.py:Cart.total")] == [True, False]


def test_a_chain_of_aliases_ends_and_so_does_a_circle_of_them() -> None:
    aliases = "\n".join(f"a{n + 1} = a{n}" for n in range(2_000))
    snapshot = Snapshot().with_changes({"m.py": f"def a0(): ...\n{aliases}\nx = y\ny = x\nx()\na3()\na2000()"})
    assert calls_of(snapshot, "m.py:a0") == [("a3", True, "alias"), ("a2000", True, "value flow")]
    assert calls_of(snapshot, "m.py:x") == [("x", True, "name in scope")]


def test_only_certain_edges_are_given_on_request() -> None:
    snapshot = snapshot_from("""
        #- m.py
        class Cart:
            def total(self): return self.total()
        def f(cart): cart.total()
        """)
    total = definition_of(snapshot, "m.py:Cart.total")
    assert [s.certain for s in callers(snapshot, total)] == [True, False]
    assert [s.certain for s in callers(snapshot, total, certain_only=True)] == [True]
