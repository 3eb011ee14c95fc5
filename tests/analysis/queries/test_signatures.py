"""Calls that what they reach cannot take: found, and no others."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_analysis import Index, signature_mismatches
from rolecall_analysis.queries.arguments.parameters import Arguments, misfit, parameters_of
from support.graph import fixture_and_snapshot, lines_of


def check_mismatches(text: str) -> list[str]:
    """The calls of ``main.py`` that cannot succeed are on the lines labelled ``wrong``; returns what is said."""
    fixture, snapshot = fixture_and_snapshot(text)
    found = signature_mismatches(snapshot, "main.py", fixture.files["main.py"])
    assert {("main.py", one.call.span.start.line) for one in found} == lines_of(fixture, "wrong")
    return [one.message for one in found]


def test_too_many_unknown_twice_and_missing_are_told() -> None:
    messages = check_mismatches("""
        #- price.py
        def total(items, /, rate, *, tax=0, currency): ...
        #- main.py
        from price import total
        total([], 1, currency="EUR")
        total([], rate=1, tax=2, currency="EUR")
        total([], 1, 2, currency="EUR")  #@ wrong
        total([], 1, currency="EUR", country="FR")  #@ wrong
        total([], 1, rate=2, currency="EUR")  #@ wrong
        total([], currency="EUR")  #@ wrong
        total([], 1)  #@ wrong
        total(rate=1, currency="EUR")  #@ wrong
        """)
    assert messages == [
        "takes 2 positional arguments but is given 3",
        "has no parameter 'country'",
        "is given 'rate' twice",
        "needs 'rate'",
        "needs 'currency'",
        "needs 'items'",
    ]


def test_splats_may_hold_anything_but_cannot_take_anything_back() -> None:
    check_mismatches("""
        #- main.py
        def total(items, rate, *, tax): ...
        def any_of(*items, **named): ...
        total(*x, tax=1)
        total(**x)
        total(1, *x, **y)
        total(*x)  #@ wrong
        total(1, 2, 3, *x, tax=1)  #@ wrong
        total(*x, tax=1, other=2)  #@ wrong
        any_of(1, 2, 3, a=4)
        total((i for i in x))  #@ wrong
        """)


def test_a_call_that_is_meant_to_fail_is_not_judged() -> None:
    check_mismatches("""
        #- main.py
        import pytest
        def total(items): ...
        def test_total(self):
            with pytest.raises(TypeError, match="x"):
                total()
            with self.assertRaises(TypeError):
                total()
            try:
                total()
            except (TypeError, ValueError):
                total()  #@ wrong
            with open("x"):
                total()  #@ wrong
        """)


def test_methods_are_given_the_object_or_class_they_are_called_on() -> None:
    check_mismatches("""
        #- main.py
        class Cart:
            def total(self, rate): ...
            @classmethod
            def empty(cls, name): ...
            @staticmethod
            def parse(text): ...
            def check(self):
                self.total(1)
                self.total()  #@ wrong
                self.total(self, 1)  #@ wrong
                self.empty("x")
                self.parse("x")
                self.parse("x", 1)  #@ wrong
            @classmethod
            def make(cls):
                cls.empty("x")
                cls.empty()  #@ wrong
                cls.total(cls(), 1)
        Cart.total(Cart(), 1)
        Cart.total(1)  #@ wrong
        Cart.parse()  #@ wrong
        Cart.empty("x")
        class Big(Cart):
            def total(self, rate):
                return super().total(rate, 1)  #@ wrong
        def show(cart): cart.total(1, 2, 3)
        """)


def test_a_method_that_a_subclass_widens_is_not_judged_on_self() -> None:
    check_mismatches("""
        #- main.py
        class Base:
            def step(self): ...
            def stop(self): ...
            def run(self):
                self.step(1)
                self.stop(1)  #@ wrong
        class Job(Base):
            def step(self, n): ...
            def stop(self): ...
        """)


def test_what_an_alias_of_a_method_is_bound_to_is_not_judged() -> None:
    check_mismatches("""
        #- main.py
        class Cart:
            @classmethod
            def of(cls, name): ...
            def total(self, rate): ...
        class Shop:
            cart = Cart
            def show(self):
                return self.cart.total(1), self.cart(1)
            def __init__(self, x): super(Shop, self).__init__(x)
        make = Cart.of
        make("x")
        Renamed = Shop
        Renamed()  #@ wrong
        """)


def test_constructing_a_class_calls_its_initialiser() -> None:
    check_mismatches("""
        #- base.py
        class Base:
            def __init__(self, name): ...
        #- main.py
        from base import Base
        class Cart(Base): ...
        class Plain: ...
        class Failure(Exception):
            def __init__(self, code): ...
        Cart("x")
        Cart()  #@ wrong
        Plain()
        Plain(1)  #@ wrong
        Failure(1)
        Failure(1, 2)  #@ wrong
        """)


def test_a_dataclass_is_constructed_from_its_fields() -> None:
    check_mismatches("""
        #- main.py
        import dataclasses
        from dataclasses import dataclass, field, KW_ONLY
        from typing import ClassVar
        @dataclass
        class Base:
            name: str
            limit: ClassVar[int] = 3
            lines: list = field(default_factory=list)
        @dataclasses.dataclass(frozen=True)
        class Line(Base):
            rate: int = 0
            made: int = field(init=False)
            _: KW_ONLY
            tax: int
        Base("x")
        Base("x", [])
        Base()  #@ wrong
        Base("x", [], 3)  #@ wrong
        Line("x", [], 1, tax=2)
        Line("x", [], 1, 2)  #@ wrong
        Line("x", tax=2, made=1)  #@ wrong
        @dataclass(init=False)
        class Bare:
            x: int
        Bare(1)  #@ wrong
        """)


def test_what_may_change_a_signature_is_not_judged() -> None:
    check_mismatches("""
        #- main.py
        import functools, elsewhere
        from elsewhere import Model, wrap
        from typing import overload
        @wrap
        def wrapped(): ...
        @functools.lru_cache(maxsize=1)
        def cached(): ...
        def replaced(): ...
        replaced = elsewhere.patch(replaced)
        try:
            from elsewhere import optional
        except ImportError:
            def optional(): ...
        class Meta(type): ...
        class Made(metaclass=Meta): ...
        class Row(Model): ...
        class New:
            def __new__(cls, x): ...
        @wrap
        class Decorated: ...
        class Tupled(elsewhere.namedtuple("T", "a b")): ...
        @overload
        def over(x: int): ...
        @overload
        def over(x: str, y: str): ...
        def over(x, y=None): ...
        wrapped(1), replaced(1), optional(1), Made(1), Row(1), New(1, 2), Decorated(1), Tupled(1, 2)
        over(1, 2)
        over(1, 2, 3)  #@ wrong
        cached(1)  #@ wrong
        def local(cached):
            cached(1)
        functools.partial(cached, 1)
        """)


NAMES = st.sampled_from(["a", "b", "c"])


@st.composite
def signatures(draw: st.DrawFn) -> str:
    names = draw(st.permutations(["a", "b", "c", "d"]))[: draw(st.integers(0, 4))]
    first_default = draw(st.integers(0, len(names)))
    slash, star = sorted((draw(st.integers(0, len(names))), draw(st.integers(0, len(names)))))
    parts = [f"{name}=0" if n >= first_default else name for n, name in enumerate(names)]
    marks = ["/"] if slash and draw(st.booleans()) else []
    stars = draw(st.sampled_from([[], ["*rest"], ["*"] if star < len(names) else []]))
    tail = ["**more"] if draw(st.booleans()) else []
    return f"def f({', '.join([*parts[:slash], *marks, *parts[slash:star], *stars, *parts[star:], *tail])})"


@given(signatures(), st.integers(0, 5), st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), unique=True, max_size=4))
def test_a_call_fits_exactly_when_it_succeeds(signature: str, n_positional: int, keywords: list[str]) -> None:
    namespace: dict[str, object] = {}
    exec(f"{signature}: ...", namespace)
    function = namespace["f"]
    assert callable(function)
    parameters = parameters_of(signature)
    assert parameters is not None
    arguments: Arguments = ("",) * n_positional + tuple(keywords)
    try:
        function(*range(n_positional), **dict.fromkeys(keywords))
    except TypeError:
        assert misfit(parameters, arguments)
    else:
        assert misfit(parameters, arguments) is None


@pytest.mark.parametrize("package", ["json", "email", "asyncio", "logging", "importlib"])
def test_the_standard_library_has_none(package: str, tmp_path: Path) -> None:
    stdlib = Path(sysconfig.get_path("stdlib"))
    (tmp_path / package).symlink_to(stdlib / package)
    index = Index(tmp_path / package)
    index.scan()
    snapshot = index.snapshot()
    assert snapshot.files
    for path in snapshot.files:
        text = (stdlib / package / path).read_text(encoding="utf-8")
        assert signature_mismatches(snapshot, path, text) == (), path
