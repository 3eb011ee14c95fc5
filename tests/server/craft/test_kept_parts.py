"""What is worth keeping of a draft that is given up: what passing tests ran of it, and no failing one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from textwrap import dedent

from hypothesis import given
from hypothesis import strategies as st

from rolecall_analysis import Snapshot
from rolecall_server.craft.kept_parts import KeptParts, kept_parts
from rolecall_server.sandbox import NotRun, TestResult, TestRun

PRICE, TEST = "shop/price.py", "tests/test_price.py"
BEFORE = """
    def discount(price, rate=0.1):
        return price * (1 - rate)

    def unused(price):
        return price

    def total(items):
        return sum(items)
"""
DRAFT = """
    def discount(price, rate=0.1):
        return price * (1 - rate)

    def unused(price):
        return price

    def total(items):
        return reduced(sum(items)) + 1

    def reduced(price):
        return discount(price)

    class Basket:
        def worth(self):
            return total([])
"""
TESTS = """
    from shop.price import Basket, reduced, total, unused

    def test_reduced():
        assert reduced(10) == 9

    def test_total():
        assert total([]) == 0

    def test_worth():
        assert Basket().worth() == 1

    def test_unused():
        assert unused(1) == 1
"""
LINES = {
    "discount": (PRICE, 2),
    "unused": (PRICE, 5),
    "total": (PRICE, 8),
    "reduced": (PRICE, 11),
    "worth": (PRICE, 15),
    "test_reduced": (TEST, 4),
    "test_total": (TEST, 7),
    "test_worth": (TEST, 10),
    "test_unused": (TEST, 13),
}
FILES = {PRICE: dedent(DRAFT), TEST: dedent(TESTS)}


def snapshot() -> Snapshot:
    return Snapshot().with_changes({"shop/__init__.py": "", PRICE: dedent(BEFORE)})


def kept(
    ran: Mapping[str, Collection[str]], failing: Collection[str] = (), *, unseen: Collection[str] = ()
) -> KeptParts:
    """What is kept where each test *ran* these functions, beside itself."""
    ended = tuple(TestResult(f"{TEST}::{test}", "failed" if test in failing else "passed") for test in ran)
    seen = {
        f"{TEST}::{test}": frozenset(LINES[name] for name in (*names, test))
        for test, names in ran.items()
        if test not in unseen
    }
    return kept_parts(snapshot(), FILES, TestRun("ran", outcomes=ended, functions=seen))


def test_what_passing_tests_ran_and_no_failing_one_is_kept_with_its_text() -> None:
    parts = kept(
        {"test_reduced": ["reduced", "discount"], "test_worth": ["worth"], "test_total": ["total"]}, ["test_total"]
    )
    assert [(one.path, one.name, one.n_passed) for one in parts.functions] == [
        (PRICE, "reduced", 1),
        (PRICE, "Basket.worth", 1),
    ]
    assert parts.functions[0].text == "def reduced(price):\n    return discount(price)"


def test_what_a_failing_test_ran_is_not_kept_whatever_else_ran_it() -> None:
    parts = kept({"test_reduced": ["reduced"], "test_total": ["total", "reduced"]}, ["test_total"])
    assert parts == KeptParts()


def test_of_the_repositorys_own_functions_those_are_named_that_a_kept_one_called() -> None:
    parts = kept({"test_reduced": ["reduced", "discount"], "test_unused": ["unused"]})
    assert [one.signature for one in parts.helpers] == ["def discount(price, rate=0.1)"]


def test_a_function_of_the_repository_that_a_failing_test_ran_too_is_not_named() -> None:
    parts = kept({"test_reduced": ["reduced", "discount"], "test_total": ["total", "discount"]}, ["test_total"])
    assert ([one.name for one in parts.functions], parts.helpers) == (["reduced"], ())


def test_what_more_passing_tests_ran_comes_first() -> None:
    parts = kept({"test_worth": ["worth", "total"], "test_total": ["total"], "test_reduced": ["reduced"]})
    assert [one.name for one in parts.functions] == ["total", "reduced", "Basket.worth"]


def test_where_it_is_not_known_what_a_failing_test_ran_nothing_is_kept() -> None:
    ran = {"test_reduced": ["reduced"], "test_total": ["total"]}
    assert kept(ran, ["test_total"], unseen=["test_total"]) == KeptParts()
    unread = TestResult("tests/test_cart.py", "error", message="ImportError")
    seen = {f"{TEST}::test_reduced": frozenset({LINES["reduced"]})}
    passed = TestResult(f"{TEST}::test_reduced", "passed")
    assert kept_parts(snapshot(), FILES, TestRun("ran", outcomes=(unread, passed), functions=seen)) == KeptParts()


def test_where_nothing_is_known_of_what_ran_nothing_is_kept() -> None:
    ran = {"test_reduced": ["reduced"]}
    assert kept(ran, unseen=["test_reduced"]) == KeptParts()
    assert kept_parts(snapshot(), FILES, NotRun("Tests are off.")) == KeptParts()
    assert kept_parts(snapshot(), FILES, TestRun("timed out", "It took too long.")) == KeptParts()


FUNCTIONS = ("discount", "unused", "total", "reduced", "worth")


@given(
    st.dictionaries(
        st.sampled_from([name for name in LINES if name.startswith("test")]), st.sets(st.sampled_from(FUNCTIONS))
    ),
    st.sets(st.sampled_from([name for name in LINES if name.startswith("test")])),
)
def test_nothing_that_a_failing_test_ran_is_ever_kept(ran: dict[str, set[str]], failing: set[str]) -> None:
    parts = kept(ran, failing)
    blamed = {name for test, names in ran.items() if test in failing for name in names}
    offered = {one.name.rpartition(".")[2] for one in parts.functions} | {one.name for one in parts.helpers}
    assert not offered & blamed
    assert offered <= {name for test, names in ran.items() if test not in failing for name in names}
    assert not {one.name for one in parts.functions} & {"discount", "unused"}, "they stand as they were"
