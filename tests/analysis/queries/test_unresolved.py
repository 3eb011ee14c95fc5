"""Names that nothing binds: found, and no others."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from rolecall_analysis import Index, missing_attributes, unresolved_names
from support.graph import fixture_and_snapshot, lines_of, shown, snapshot_from


def check_unresolved(text: str) -> None:
    """The lines of ``main.py`` with names that nothing binds are those labelled ``unbound``."""
    fixture, snapshot = fixture_and_snapshot(text)
    found = unresolved_names(snapshot, "main.py")
    assert {("main.py", one.span.start.line) for one in found} == lines_of(fixture, "unbound")
    assert all(shown(fixture, "main.py", one.span) == one.name for one in found)


def test_a_name_that_is_bound_in_no_scope_around_it_is_told() -> None:
    check_unresolved("""
        #- main.py
        import os
        LIMIT = 1
        def total(items, *rest, key=None, **more):
            for item in items: print(item, rest, more, key, LIMIT, os)
            return itmes  #@ unbound
        class Cart:
            rate = 2
            def total(self):
                return rate  #@ unbound
            both = rate + LIMIT
        mising.attribute  #@ unbound
        @decorated  #@ unbound
        def f(x: Unknown = default): ...  #@ unbound
        """)


def test_every_way_to_bind_a_name_counts() -> None:
    check_unresolved("""
        #- main.py
        import a.b, c as d
        from e import (f, g as h)
        x, (y, *z) = 1, (2, 3)
        with open(x) as (first, second): first, second
        for i, j in z: i, j
        try: y
        except (OSError, ValueError) as error: error
        except* KeyError as group: group
        if (n := 10) > 5: n
        match x:
            case [one, *others]: one, others
            case {"k": value, **remaining}: value, remaining
            case complex(real=px) as point: px, point
            case str() | int(): pass
            case other: other
        print([q for q in z if q], {k: v for k, v in x}, lambda p, *r, s=1: (p, r, s))
        a, d, f, h
        def outer():
            inside = 1
            def inner():
                nonlocal inside
                inside += 1
                return inside, __class__
            return inner
        class Meta(type):
            print(__module__, __qualname__)
        print(__name__, __file__, __doc__, __builtins__, WindowsError, reveal_type, ExceptionGroup)
        async def late():
            async with x as k1: k1
            async for k2 in x: k2
            return [k3 async for k3 in x]
        """)


def test_type_parameters_are_seen_in_headers_and_bodies() -> None:
    check_unresolved("""
        #- main.py
        def first[T](items: list[T]) -> T:
            found: T = items[0]
            return found
        class Box[V]:
            value: V
            def get(self) -> V:
                return self.make(V)
        """)


def test_what_a_star_import_brings_is_bound_unless_it_is_known_not_to() -> None:
    check_unresolved("""
        #- names.py
        from deeper import *
        here = 1
        #- deeper.py
        there = 2
        #- main.py
        from names import *
        here, there
        nowhere  #@ unbound
        """)
    check_unresolved("""
        #- main.py
        from elsewhere import *
        anything
        """)


def test_what_is_imported_from_a_module_that_does_not_have_it_is_told() -> None:
    check_unresolved("""
        #- shop/__init__.py
        #- shop/price.py
        from .deep import *
        from elsewhere import rate
        def total(): ...
        #- shop/deep.py
        deep = 1
        #- shop/lazy.py
        def __getattr__(name): ...
        #- main.py
        from shop.price import total, deep, rate, __name__
        from shop.price import totl  #@ unbound
        from shop.lazy import anything
        from shop import compiled
        from shop.nowhere import x
        from elsewhere import y
        """)


def test_a_module_that_binds_names_as_it_runs_is_not_judged() -> None:
    for line in ("exec('x = 1')", "globals()['x'] = 1", "vars().update(x=1)"):
        assert unresolved_names(snapshot_from(f"\n#- main.py\n{line}\nx\n"), "main.py") == ()


def test_a_package_sees_its_submodules_and_a_broken_file_is_not_judged() -> None:
    check_unresolved("""
        #- price.py
        #- main.py
        x = (
        y
        """)
    snapshot = snapshot_from("""
        #- shop/__init__.py
        from .price import total
        print(price, cart)
        #- shop/price.py
        total = 1
        """)
    assert [one.name for one in unresolved_names(snapshot, "shop/__init__.py")] == ["cart"]


@pytest.mark.parametrize("package", ["json", "email", "asyncio", "unittest", "xml", "concurrent"])
def test_the_standard_library_has_none(package: str, tmp_path: Path) -> None:
    (tmp_path / package).symlink_to(Path(sysconfig.get_path("stdlib")) / package)
    index = Index(tmp_path / package)
    index.scan()
    snapshot = index.snapshot()
    paths = [path for path in snapshot.files if "test" not in path]
    assert paths
    assert [one for path in paths for one in unresolved_names(snapshot, path)] == []


def missing(text: str, path: str) -> list[tuple[int, str, bool]]:
    """Line, counted from 1, name, and whether it is certain, of each attribute that is not there."""
    snapshot = snapshot_from(text)
    found = missing_attributes(snapshot, path, snapshot.text(path) or "")
    return [(one.span.start.line + 1, one.name, one.certain) for one in found]


MODULES = """
    #- price.py
    import math
    def total(): ...
    #- made_up.py
    def __getattr__(name): ...
    #- starred.py
    from elsewhere import *
    #- package/__init__.py
    #- shop.py
    import elsewhere
    import made_up
    import package
    import price
    import starred
    price.total.cache_clear()
    price.sum()
    price.math.anything
    price.__doc__
    made_up.sum
    starred.sum
    package.sum
    elsewhere.sum
    """


def test_an_attribute_that_a_module_of_the_repository_lacks_is_certain() -> None:
    assert missing(MODULES, "shop.py") == [(7, "price.sum", True)]


def test_an_attribute_that_is_assigned_or_named_by_a_string_is_given() -> None:
    assert missing(MODULES + "    price.sum = 1\n", "shop.py") == []
    assert missing(MODULES + "    setattr(price, 'sum', 1)\n", "shop.py") == []


CLASS = """
    #- cart.py
    class Base:
        limit = 3
    class Cart(Base):
        def __init__(self):
            self.items = []
        def total(self):
            if self.itms:
                return self.items, self.limit, self.__class__, self.total
    Cart.mro()
    Cart.limt
    """


def test_an_attribute_that_nothing_gives_to_self_or_a_class_is_possible() -> None:
    assert missing(CLASS, "cart.py") == [(7, "self.itms", False), (10, "Cart.limt", False)]


def test_a_class_that_others_may_give_attributes_to_is_not_judged() -> None:
    assert missing(CLASS.replace("class Base:", "class Base(elsewhere.Model):"), "cart.py") == []
    assert missing(CLASS.replace("limit = 3", "def __getattr__(self, name): ..."), "cart.py") == []
    assert missing(CLASS.replace("class Cart(Base)", "class Cart(Base, metaclass=Meta)"), "cart.py") == []
    assert missing(CLASS + "#- other.py\n    def f(cart): cart.itms = cart.limt = 1\n", "cart.py") == []
