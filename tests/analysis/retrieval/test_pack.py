"""What of a ranking is shown, and from how near, within a budget."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolecall_analysis import Index, Snapshot
from rolecall_analysis.retrieval.pack import PackedItem, pack
from rolecall_analysis.retrieval.ranking import Ranked
from support.workspaces import write_workspace

SOURCE = '''\
class Cart:
    """Holds what is bought."""

    def total(self, rate):
        """The sum.

        With the rate, for each of the items that were not taken back since they were put in.
        """
        found = 0
        for item in self.items:
            found += item.price * rate
        return found

    def clear(self):
        self.items = []


def pay(cart):
    """Take the money."""
    return cart.total(1)
'''


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    root = write_workspace(tmp_path_factory.mktemp("shop"), {"cart.py": SOURCE, "empty.py": ""})
    index = Index(root)
    index.scan()
    return index.snapshot()


def ranked(*items: str) -> list[Ranked]:
    split = [item.partition("::") for item in items]
    return [Ranked(path, name, 1.0, (f"because of {path}",)) for path, _, name in split]


def words(text: str) -> int:
    return len(text.split())


def packed(shop: Snapshot, budget_tokens: int, *items: str) -> tuple[PackedItem, ...]:
    return pack(shop, ranked(*items), budget_tokens, words)


def test_what_fits_is_shown_whole_as_it_stands_in_the_file(shop: Snapshot):
    (only,) = packed(shop, 200, "cart.py::Cart.clear")
    assert only.zoom == "body"
    assert only.text == "    def clear(self):\n        self.items = []"
    assert only.first_line == 13
    assert only.tokens == words(only.text)
    assert only.reasons == ("because of cart.py",)


def test_a_long_body_gives_way_to_its_docstring_and_then_to_its_signature(shop: Snapshot):
    (near,) = packed(shop, 36, "cart.py::Cart.total")
    assert near.zoom == "docstring"
    assert near.text.splitlines()[:2] == ["    def total(self, rate)", '        """The sum.']
    assert near.text.endswith('since they were put in."""')
    (far,) = packed(shop, 12, "cart.py::Cart.total")
    assert (far.zoom, far.text) == ("signature", "    def total(self, rate)")


def test_the_best_come_nearer_first_and_the_order_stays(shop: Snapshot):
    found = packed(shop, 27, "cart.py::Cart.clear", "cart.py::pay", "cart.py::Cart.total")
    assert [item.name for item in found] == ["Cart.clear", "pay", "Cart.total"]
    assert found[0].zoom == "body"
    assert found[-1].zoom == "signature"


def test_a_file_is_shown_by_what_it_defines(shop: Snapshot):
    (outline,) = packed(shop, 32, "cart.py")
    assert outline.zoom == "signature"
    assert outline.text.splitlines() == [
        "class Cart",
        "    def total(self, rate)",
        "    def clear(self)",
        "def pay(cart)",
    ]


def test_what_lies_in_something_shown_whole_is_not_shown_again(shop: Snapshot):
    for order in (["cart.py::Cart", "cart.py::Cart.total"], ["cart.py::Cart.total", "cart.py::Cart"]):
        assert [(item.name, item.zoom) for item in packed(shop, 500, *order)] == [("Cart", "body")]
    assert [item.name for item in packed(shop, 500, "cart.py::pay", "cart.py", "cart.py::Cart")] == [""]


def test_what_is_not_there_or_says_nothing_is_left_out(shop: Snapshot):
    assert packed(shop, 100, "gone.py", "cart.py::gone", "empty.py") == ()


def test_nothing_fits_into_nothing(shop: Snapshot):
    assert packed(shop, 0, "cart.py", "cart.py::pay") == ()


@settings(deadline=None)
@given(
    budget_tokens=st.integers(-5, 300),
    items=st.lists(
        st.sampled_from(["cart.py", "empty.py", "cart.py::Cart", "cart.py::Cart.total", "cart.py::pay"]), unique=True
    ),
)
def test_the_budget_is_never_exceeded_and_nothing_is_shown_twice(shop: Snapshot, budget_tokens: int, items: list[str]):
    found = packed(shop, budget_tokens, *items)
    assert sum(item.tokens for item in found) <= max(budget_tokens, 0)
    assert all(item.tokens == words(item.text) for item in found)
    assert len({(item.path, item.name) for item in found}) == len(found)
