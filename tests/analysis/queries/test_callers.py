"""Callers, uses, importers and tests, across the files of a workspace."""

from __future__ import annotations

from rolecall_analysis import (
    Definition,
    Position,
    Snapshot,
    callers,
    definitions_in,
    enclosing_definition,
    find_definition,
    importers,
    is_test_path,
    module_names,
    uses,
)
from rolecall_analysis import tests_of as find_tests
from support.fixture import Fixture, parse_fixture


def snapshot_of(fixture: Fixture) -> Snapshot:
    return Snapshot().with_changes(fixture.files)


def at_cursor(snapshot: Snapshot, fixture: Fixture) -> Definition:
    assert fixture.cursor is not None
    found = enclosing_definition(snapshot, fixture.cursor.path, Position(fixture.cursor.line, fixture.cursor.column))
    assert found is not None
    return found


def check_callers(text: str) -> None:
    """The callers of the definition at the cursor are the lines labelled ``certain`` and ``possible``."""
    fixture = parse_fixture(text)
    snapshot = snapshot_of(fixture)
    found = callers(snapshot, at_cursor(snapshot, fixture))
    for certain, label in ((True, "certain"), (False, "possible")):
        lines = {(site.path, site.call.span.start.line) for site in found if site.certain is certain}
        assert lines == {(place.path, place.line) for place in fixture.labels.get(label, ())}, label


def check_uses(text: str, *expected: str) -> None:
    """What the definition at the cursor (without one: ``main.py``) uses is *expected*, as ``path:name``."""
    fixture = parse_fixture(text)
    snapshot = snapshot_of(fixture)
    definition = at_cursor(snapshot, fixture) if fixture.cursor else None
    found = uses(snapshot, definition.path if definition else "main.py", definition)
    assert [f"{d.path}:{d.qualified_name}" for d in found] == list(expected)


def snapshot_from(text: str) -> Snapshot:
    return snapshot_of(parse_fixture(text))


def test_callers_are_found_across_files() -> None:
    check_callers("""
        #- shop/price.py
        def total<CURSOR>(): ...

        def doubled():
            return total() * 2  #@ certain

        #- shop/cart.py
        import shop.price
        import shop.price as p
        from shop.price import total
        from shop.price import total as t
        from shop import price
        def checkout():
            total()  #@ certain
            t()  #@ certain
            price.total()  #@ certain
            p.total()  #@ certain
            return shop.price.total()  #@ certain

        #- shop/relative.py
        from . import price
        from .price import total
        price.total() + total()  #@ certain
        """)


def test_callers_through_a_package_that_exports_the_name_again() -> None:
    check_callers("""
        #- src/shop/__init__.py
        from . import price
        from .deep import *
        #- src/shop/deep/__init__.py
        from ..price import total
        #- src/shop/price.py
        def total<CURSOR>(): ...
        #- tests/test_shop.py
        import shop
        from shop import total
        def test_total():
            total()  #@ certain
            shop.total()  #@ certain
            shop.price.total()  #@ certain
            shop.deep.total()  #@ certain
            shop.deep.other()
        """)


def test_a_name_that_is_bound_elsewhere_is_no_caller() -> None:
    check_callers("""
        #- price.py
        def join<CURSOR>(): ...
        #- other.py
        import os.path
        from os.path import join
        os.path.join("a")
        join("b")
        def local():
            def join(): ...
            join()
        #- unbound.py
        join()
        "".join([])
        """)


def test_a_call_of_an_unknown_value_is_possible() -> None:
    check_callers("""
        #- price.py
        def total<CURSOR>(): ...
        class Cart:
            def total(self): ...
        def apply(total):
            total()  #@ possible
        def both(cart):
            cart.total()
            Cart.total(cart)
        """)


def test_methods_are_followed_through_self_and_super_and_matched_by_name_otherwise() -> None:
    check_callers("""
        #- base.py
        class Base:
            def total<CURSOR>(self): ...
            def twice(self):
                return self.total() * 2  #@ certain
        #- cart.py
        import base
        class Cart(base.Base):
            def checkout(self):
                def later():
                    return self.total()  #@ certain
                return later
        class Strict(Cart):
            def total(self):
                return super().total()  #@ certain
            def check(self):
                return self.total()
        class Unrelated:
            def total(self): ...
            def check(self):
                return self.total()
        def show(cart):
            cart.total()  #@ possible
            make().total()  #@ possible
            total()
        """)


def test_an_override_may_be_called_through_its_base() -> None:
    check_callers("""
        #- m.py
        class Base:
            def run(self):
                self.step()  #@ possible
            def step(self): ...
        class Job(Base):
            def step<CURSOR>(self): ...
        """)


def test_a_class_is_called_to_construct_it_and_so_is_its_initialiser() -> None:
    text = """
        #- m.py
        class Cart:{a}
            def __init__(self):{b}
                self.lines = []
        class Big(Cart):
            def __init__(self):
                super().__init__(){c}
        #- main.py
        from m import Cart
        Cart()  #@ certain
        """
    check_callers(text.format(a="<CURSOR>", b="", c=""))
    check_callers(text.format(a="", b="<CURSOR>", c="  #@ certain"))


def test_a_definition_of_an_older_snapshot_still_finds_its_callers() -> None:
    before = snapshot_from("""
        #- m.py
        def total(): ...
        total()
        """)
    (definition,) = definitions_in(before, "m.py")
    after = before.with_changes({"m.py": "\n\ndef total(): ...\ntotal()\n"})
    assert [(site.call.span.start.line, site.certain) for site in callers(after, definition)] == [(3, True)]
    assert callers(after.with_changes({"m.py": None}), definition) == ()


def test_names_of_a_class_are_not_seen_by_its_methods_but_by_their_decorators() -> None:
    check_callers("""
        #- m.py
        def cached<CURSOR>(f): ...
        class Cart:
            def cached(f): ...
            @cached
            def total(self):
                return cached(1)  #@ certain
            @cached(1)
            def other(self): ...
        """)


def test_a_caller_site_names_the_function_around_it() -> None:
    snapshot = snapshot_from("""
        #- m.py
        def total(): ...
        class Cart:
            def checkout(self):
                return [total() for _ in ()]
        total()
        """)
    definition = find_definition(snapshot, "m.py", "total")
    assert definition is not None
    names = [site.caller and site.caller.qualified_name for site in callers(snapshot, definition)]
    assert names == ["Cart.checkout", None]


def test_uses_of_a_function_include_its_signature_and_what_it_calls() -> None:
    check_uses(
        """
        #- main.py
        import money
        from shop import Cart
        RATE = 0.2
        def helper(): ...
        def unrelated(): ...
        @money.audited
        def checkout<CURSOR>(cart: "Cart", rate=RATE) -> money.Price:
            def inner(): return helper()
            if cart is money.EMPTY: return inner()
            return cart.total() + len([])
        #- money.py
        EMPTY = None
        class Price: ...
        def audited(f): ...
        #- shop/__init__.py
        from .cart import Cart
        #- shop/cart.py
        class Cart:
            def total(self): ...
        """,
        "money.py:audited",
        "shop/cart.py:Cart",
        "main.py:RATE",
        "money.py:Price",
        "main.py:helper",
        "money.py:EMPTY",
    )


def test_uses_of_a_file_are_what_lies_outside_it() -> None:
    check_uses(
        """
        #- main.py
        from shop.cart import Cart, Line
        import shop.price as price
        def own(): return price.total(), Cart.empty()
        own()
        #- shop/cart.py
        class Cart:
            @classmethod
            def empty(cls): ...
        class Line: ...
        #- shop/price.py
        def total(): ...
        """,
        "shop/price.py:total",
        "shop/cart.py:Cart",
        "shop/cart.py:Cart.empty",
        "shop/cart.py:Line",
    )


def test_importers_name_the_module_in_whatever_way() -> None:
    snapshot = snapshot_from("""
        #- src/shop/__init__.py
        from .cart import Cart
        #- src/shop/price.py
        #- src/shop/cart.py
        from . import price
        #- src/shop/relative.py
        from .price import total
        #- src/shop/sub/deep.py
        from ..price import total
        #- plain.py
        import shop.price
        #- taken.py
        from shop import price
        #- late.py
        def f():
            from shop.price import total
        #- package.py
        import shop
        #- other.py
        import price
        from elsewhere import price
        """)
    assert importers(snapshot, "src/shop/price.py") == (
        "late.py",
        "plain.py",
        "src/shop/cart.py",
        "src/shop/relative.py",
        "src/shop/sub/deep.py",
        "taken.py",
    )
    assert importers(snapshot, "src/shop/__init__.py") == ("package.py",)
    assert importers(snapshot, "missing.py") == ()


def test_tests_are_those_that_import_the_module_or_reach_its_names() -> None:
    snapshot = snapshot_from("""
        #- src/shop/__init__.py
        from .price import total
        #- src/shop/price.py
        def total(): ...
        def tax(): ...
        #- src/shop/other.py
        def total(): ...
        #- tests/test_zero.py
        import shop.price
        #- tests/test_price.py
        from shop import total
        #- tests/test_all.py
        import shop
        def test(): assert shop.total()
        #- tests/test_other.py
        from shop.other import total
        total()
        #- tests/test_package.py
        import shop
        #- tests/support.py
        import shop.price
        """)
    assert find_tests(snapshot, "src/shop/price.py") == (
        "tests/test_price.py",
        "tests/test_zero.py",
        "tests/test_all.py",
    )
    assert find_tests(snapshot, "src/shop/other.py") == ("tests/test_other.py",)


def test_a_test_file_is_known_by_its_name() -> None:
    named = ["test_a.py", "x/a_test.py", "app/tests.py", "a/tests/test_b.py"]
    others = ["tests/conftest.py", "tests/helpers.py", "contest.py", "testing.py", "latest.py", "test_a.pyi"]
    assert [path for path in named + others if is_test_path(path)] == named


def test_the_standard_library_goes_before_a_folder_of_that_name() -> None:
    snapshot = snapshot_from("""
        #- src/shop/__init__.py
        #- src/shop/json.py
        def loads(): ...
        #- src/shop/use.py
        import json
        json.loads()
        #- examples/json/__init__.py
        def loads(): ...
        """)
    assert importers(snapshot, "src/shop/json.py") == ()
    assert importers(snapshot, "examples/json/__init__.py") == ()


def test_a_script_finds_its_neighbours_and_a_test_its_support_folder() -> None:
    snapshot = snapshot_from("""
        #- tools/run.py
        import steps
        #- tools/steps.py
        #- tests/support/fixture.py
        #- tests/unit/test_a.py
        from support.fixture import parse
        """)
    assert importers(snapshot, "tools/steps.py") == ("tools/run.py",)
    assert importers(snapshot, "tests/support/fixture.py") == ("tests/unit/test_a.py",)


def test_of_two_packages_with_one_name_the_nearer_is_meant() -> None:
    snapshot = snapshot_from("""
        #- a/shop/__init__.py
        #- a/use.py
        import shop
        #- b/shop/__init__.py
        #- b/use.py
        import shop
        """)
    assert importers(snapshot, "a/shop/__init__.py") == ("a/use.py",)
    assert importers(snapshot, "b/shop/__init__.py") == ("b/use.py",)


def test_a_module_knows_the_names_it_can_be_imported_by() -> None:
    snapshot = snapshot_from("""
        #- src/shop/__init__.py
        #- src/shop/price.py
        #- spaces/deep/a.py
        #- main.py
        """)
    paths = ("src/shop/__init__.py", "src/shop/price.py", "spaces/deep/a.py", "main.py")
    assert [module_names(snapshot.modules, path)[0] for path in paths] == [
        "shop",
        "shop.price",
        "spaces.deep.a",
        "main",
    ]


def test_a_package_below_a_namespace_in_src_has_the_whole_name() -> None:
    snapshot = snapshot_from("""
        #- src/store/shared/__init__.py
        #- src/store/shared/keys.py
        #- src/project/package/__init__.py
        #- src/project/setup.py
        """)
    named = {
        path: module_names(snapshot.modules, path)[0]
        for path in ("src/store/shared/keys.py", "src/project/package/__init__.py")
    }
    assert named == {"src/store/shared/keys.py": "store.shared.keys", "src/project/package/__init__.py": "package"}


def test_circles_of_imports_and_of_bases_come_to_an_end() -> None:
    snapshot = snapshot_from("""
        #- a.py
        from b import x
        from b import *
        class C(C.C, D): ...
        class D(C):
            def f(self): return self.nothing() + x() + y() + C.f()
        #- b.py
        from a import x
        from a import *
        """)
    definition = find_definition(snapshot, "a.py", "D.f")
    assert definition is not None
    assert len(callers(snapshot, definition)) == 1
    assert [d.qualified_name for d in uses(snapshot, "a.py", definition)] == ["C"]


def test_a_chain_of_ten_thousand_re_exports_is_followed() -> None:
    n_files = 10_000
    files = {f"m{i}.py": f"from m{i + 1} import total" for i in range(n_files)}
    snapshot = Snapshot().with_changes(
        {**files, f"m{n_files}.py": "def total(): ...", "main.py": "from m0 import total\ntotal()"}
    )
    assert [d.path for d in uses(snapshot, "main.py")] == [f"m{n_files}.py"]


def test_the_enclosing_definition_is_the_innermost_on_the_line() -> None:
    fixture = parse_fixture("""
        #- m.py
        x = 1  #@ module
        class Cart:  #@ class
            @property  #@ method
            def total(self):  #@ method
                def f(): ...  #@ inner
                return 1  #@ method
        y = 2  #@ module
        """)
    snapshot = snapshot_of(fixture)
    expected = {"module": None, "class": "Cart", "method": "Cart.total", "inner": "Cart.total.f"}
    for label, name in expected.items():
        for place in fixture.labels[label]:
            found = enclosing_definition(snapshot, place.path, Position(place.line, 0))
            assert (found and found.qualified_name) == name


def test_of_several_definitions_the_one_with_a_body_is_found() -> None:
    snapshot = snapshot_from("""
        #- m.py
        import typing as t
        class C:
            @t.overload
            def f(self, a: int): ...
            def f(self, a): return 1
            @property
            def p(self): ...
            @p.setter
            def p(self, value): ...
        """)
    signatures = [d and d.signature for d in (find_definition(snapshot, "m.py", n) for n in ("C.f", "C.p"))]
    assert signatures == ["def f(self, a)", "def p(self)"]
    assert find_definition(snapshot, "m.py", "C.q") is None
    assert find_definition(snapshot, "other.py", "C") is None


def test_what_if_leaves_the_snapshot_it_starts_from_alone() -> None:
    before = snapshot_from("""
        #- price.py
        def total(): ...
        #- cart.py
        from price import total
        total()
        """)
    after = before.with_changes({"price.py": None, "new.py": "def total(): ...", "notes.md": "# def"})
    assert set(after.files) == {"cart.py", "new.py"}
    assert uses(after, "cart.py") == ()
    assert [d.path for d in uses(before, "cart.py")] == ["price.py"]


def test_a_function_that_is_passed_is_called_where_the_parameter_is() -> None:
    check_callers(
        """
        #- m.py
        def price<CURSOR>(item): ...
        #- shop.py
        from m import price
        def each(items, function):
            return [function(item) for item in items]  #@ possible
        def total(items): return each(items, price)
        """
    )


def test_what_a_call_returns_of_what_it_is_passed_is_certain() -> None:
    check_callers(
        """
        #- m.py
        def price<CURSOR>(item): ...
        #- shop.py
        from m import price
        def same(function): return function
        def total(item): return same(price)(item)  #@ certain
        """
    )


def test_a_partial_calls_the_function_it_was_made_of() -> None:
    check_callers(
        """
        #- m.py
        def price<CURSOR>(rate, item): ...
        #- test_m.py
        from functools import partial
        from m import price
        reduced = partial(price, 7)
        def test_price():
            assert reduced("bread")  #@ certain
        """
    )


def test_an_attribute_that_another_function_looks_up_has_a_name_that_nobody_wrote_out() -> None:
    check_callers(
        """
        #- m.py
        def price<CURSOR>(item): ...
        #- loading.py
        from functools import reduce
        import m
        def load(path):
            found = reduce(getattr, path.split("."), m)
            map(setattr, [m], ["price"], [found])
            return m.price("bread")  #@ certain
        """
    )


def test_a_function_in_a_table_is_called_where_the_table_is_used() -> None:
    check_callers(
        """
        #- m.py
        def price<CURSOR>(item): ...
        def weight(item): ...
        #- table.py
        from m import price, weight
        COLUMNS = {"price": price, "weight": weight}
        #- view.py
        from table import COLUMNS
        def cell(column, item):
            return COLUMNS[column](item)  #@ possible
        def first(item):
            return COLUMNS["price"](item)  #@ certain
        """
    )


def test_a_function_that_registers_itself_is_called_where_the_registry_is_run() -> None:
    check_callers(
        """
        #- m.py
        from hooks import register
        @register
        def price<CURSOR>(item): ...
        #- hooks.py
        REGISTERED = []
        def register(function):
            REGISTERED.append(function)
            return function
        def run(item):
            for function in REGISTERED:
                function(item)  #@ possible
        """
    )


def test_values_are_not_followed_without_reach() -> None:
    snapshot = Snapshot().with_changes({"m.py": "def f(): ...\ndef g(function): function()\ng(f)\n"})
    definition = find_definition(snapshot, "m.py", "f")
    assert definition is not None
    assert [site.rule for site in callers(snapshot, definition)] == ["value flow"]
    assert callers(snapshot, definition, reach=None) == ()


def test_a_call_whose_name_is_known_to_be_another_is_not_made_a_caller_by_values() -> None:
    check_callers(
        """
        #- m.py
        def price<CURSOR>(item): ...
        from other import price
        #- other.py
        def price(item): ...
        #- main.py
        from m import price
        price(1)
        """
    )


def test_a_module_in_a_package_that_imports_its_neighbour_as_a_script_does_possibly_means_it() -> None:
    check_callers(
        """
        #- shop/__init__.py
        #- shop/price.py
        def total<CURSOR>(): ...
        #- shop/main.py
        from price import total
        import price
        total()  #@ possible
        price.total()  #@ possible
        #- shop/json.py
        def total(): ...
        #- shop/other.py
        from json import total
        total()
        """
    )
