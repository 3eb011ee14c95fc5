"""The order in which members are looked up, against Python's own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rolecall_analysis.resolution.lineage import MAX_ANCESTORS, linearise

HIERARCHIES = st.lists(st.lists(st.integers(0, 9), max_size=3, unique=True), min_size=1, max_size=10)
"""For each class the numbers of its bases; those that are not smaller than its own are dropped."""


def test_a_diamond_is_walked_through_before_its_top() -> None:
    bases = {"D": ("B", "C"), "B": ("A",), "C": ("A",), "A": ()}
    assert linearise("D", bases.__getitem__) == ("D", "B", "C", "A")


def test_a_contradiction_is_nearest_first() -> None:
    bases = {"Z": ("X", "Y"), "X": ("A", "B"), "Y": ("B", "A"), "A": (), "B": ()}
    assert linearise("Z", bases.__getitem__) == ("Z", "X", "Y", "A", "B")


def test_a_circle_is_nearest_first() -> None:
    bases = {"A": ("B",), "B": ("C",), "C": ("A",)}
    assert linearise("A", bases.__getitem__) == ("A", "B", "C")


def test_a_chain_of_ten_thousand_classes_has_an_order() -> None:
    n_classes = 10_000
    assert n_classes > MAX_ANCESTORS
    found = linearise(0, lambda number: (number + 1,) if number + 1 < n_classes else ())
    assert found == tuple(range(n_classes))


@given(HIERARCHIES)
def test_the_order_is_that_of_python(hierarchy: list[list[int]]) -> None:
    bases = {number: tuple(base for base in found if base < number) for number, found in enumerate(hierarchy)}
    classes: dict[int, type] = {}
    for number, found in bases.items():
        if all(base in classes for base in found):
            try:
                classes[number] = type(str(number), tuple(classes[base] for base in found), {})
            except TypeError:  # Python has no order for these bases
                continue
    for number, made in classes.items():
        assert [str(each) for each in linearise(number, bases.__getitem__)] == [c.__name__ for c in made.__mro__[:-1]]
