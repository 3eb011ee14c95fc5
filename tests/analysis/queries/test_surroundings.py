"""What lies around a place in the graph: by steps, bounded, with counts of what was left out."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rolecall_analysis import Snapshot
from rolecall_analysis.queries.surroundings import GraphPlace, SurroundingKind, Surroundings, surroundings
from support.graph import snapshot_from

SHOP = """
    #- shop/price.py
    def rounded(amount): return round(amount, 2)
    def total(items): return rounded(sum(items))
    #- shop/cart.py
    from shop.price import total
    class Cart:
        def checkout(self): return total(self.items)
    def preview(cart): return cart.checkout()
    #- shop/web.py
    from shop.cart import Cart
    def view(request): return Cart().checkout()
    #- tests/test_price.py
    from shop.price import total
    def test_total(): assert total([1]) == 1
    """


def distances(found: Surroundings) -> dict[str, int]:
    return {f"{path}:{name}": distance for (path, name), distance in found.distances.items()}


def connections(found: Surroundings) -> set[str]:
    return {f"{one.dependent[1]} {'>' if one.certain else '?'} {one.dependency[1]}" for one in found.connections}


def around(
    centre: str, kind: SurroundingKind = "calls", snapshot: Snapshot | None = None, **options: Any
) -> Surroundings:
    path, _, name = centre.partition(":")
    return surroundings(snapshot or snapshot_from(SHOP), (path, name), kind, **options)


def test_callers_are_below_zero_and_callees_above() -> None:
    found = around("shop/price.py:total")
    assert distances(found) == {
        "shop/price.py:total": 0,
        "shop/cart.py:Cart.checkout": -1,
        "tests/test_price.py:test_total": -1,
        "shop/price.py:rounded": 1,
    }
    assert connections(found) == {"Cart.checkout > total", "test_total > total", "total > rounded"}
    assert found.is_complete


def test_more_steps_lead_further_in_both_directions() -> None:
    found = around("shop/cart.py:Cart.checkout", steps=2)
    assert distances(found)["shop/price.py:rounded"] == 2
    assert distances(found)["shop/web.py:view"] == -1
    assert "total > rounded" in connections(found)


def test_what_is_only_possible_comes_when_it_is_wanted_and_is_counted_otherwise() -> None:
    without = around("shop/cart.py:Cart.checkout")
    assert "shop/cart.py:preview" not in distances(without)
    assert without.n_possible_left_out == 1
    with_them = around("shop/cart.py:Cart.checkout", with_possible=True)
    assert "preview ? Cart.checkout" in connections(with_them)
    assert with_them.n_possible_left_out == 0


def test_tests_can_be_left_out_and_are_counted_then() -> None:
    found = around("shop/price.py:total", with_tests=False)
    assert "tests/test_price.py:test_total" not in distances(found)
    assert found.n_tests_left_out == 1


def test_a_limit_keeps_product_code_before_tests_and_says_how_many_it_left_out() -> None:
    found = around("shop/price.py:total", limit=1)
    assert "shop/cart.py:Cart.checkout" in distances(found)
    assert "tests/test_price.py:test_total" not in distances(found)
    assert (found.n_dependents_left_out, found.n_dependencies_left_out, found.is_complete) == (1, 0, False)


def test_modules_lie_around_a_module_by_their_imports() -> None:
    found = around("shop/cart.py", "modules", steps=2)
    assert distances(found) == {"shop/cart.py:": 0, "shop/web.py:": -1, "shop/price.py:": 1}
    assert {(one.dependent[0], one.dependency[0]) for one in found.connections} == {
        ("shop/web.py", "shop/cart.py"),
        ("shop/cart.py", "shop/price.py"),
    }


def test_an_import_of_another_language_counts_too() -> None:
    snapshot = snapshot_from("""
        #- cart.ts
        import { total } from "./price";
        export function checkout() { return total(); }
        #- price.ts
        export function total() { return 1; }
        """)
    assert distances(around("price.ts", "modules", snapshot)) == {"price.ts:": 0, "cart.ts:": -1}
    assert distances(around("price.ts:total", "calls", snapshot)) == {"price.ts:total": 0, "cart.ts:checkout": -1}


def test_the_impact_of_a_change_is_drawn_by_the_way_that_leads_there() -> None:
    found = around("shop/price.py:rounded", "impact", steps=4, with_possible=True)
    assert distances(found)["shop/web.py:view"] == -3
    assert "view ? Cart.checkout" in connections(found)
    assert "Cart.checkout > total" in connections(found)
    assert max(found.distances.values()) == 0


def test_a_module_calls_what_runs_when_it_is_imported() -> None:
    snapshot = snapshot_from("""
        #- app.py
        from lib import make
        app = make()
        def later(): return other()
        def other(): ...
        #- lib.py
        def make(): ...
        """)
    assert distances(around("app.py", "calls", snapshot)) == {"app.py:": 0, "lib.py:make": 1}


def test_a_name_that_is_called_everywhere_on_unknown_values_connects_nothing() -> None:
    callers = "\n".join(f"    def use_{n}(thing): thing.get()" for n in range(30))
    snapshot = snapshot_from(f"""
    #- box.py
    class Box:
        def get(self): ...
    #- users.py
{callers}
    """)
    found = around("box.py:Box.get", "calls", snapshot, with_possible=True)
    assert list(distances(found)) == ["box.py:Box.get"]
    assert found.n_possible_left_out == 30


def test_a_place_that_is_not_there_has_nothing_around_it() -> None:
    for kind in ("calls", "impact", "modules"):
        assert list(around("nowhere.py:gone", kind).distances) == [("nowhere.py", "gone")]


NAMES = st.sampled_from([f"f{n}" for n in range(6)])


@given(st.lists(st.tuples(NAMES, NAMES), max_size=15), st.integers(1, 4), st.integers(1, 4))
def test_whatever_calls_whatever_each_place_is_connected_and_the_limit_holds(
    calls: list[tuple[str, str]], steps: int, limit: int
) -> None:
    bodies = {f"f{n}": [callee for caller, callee in calls if caller == f"f{n}"] for n in range(6)}
    text = "\n".join(f"def {name}(): {'; '.join(f'{c}()' for c in body) or '...'}" for name, body in bodies.items())
    snapshot = Snapshot().with_changes({"m.py": text})
    found = surroundings(snapshot, ("m.py", "f0"), "calls", steps=steps, limit=limit)
    assert sum(distance < 0 for distance in found.distances.values()) <= limit
    assert sum(distance > 0 for distance in found.distances.values()) <= limit
    assert all(abs(distance) <= steps for distance in found.distances.values())
    for place, distance in found.distances.items():
        assert distance == 0 or _is_reached(found, place, distance)


def _is_reached(found: Surroundings, place: GraphPlace, distance: int) -> bool:
    """Whether a connection leads from *place* to one that is a step nearer to the centre."""
    nearer = distance + 1 if distance < 0 else distance - 1
    pairs = (
        (one.dependent, one.dependency) if distance < 0 else (one.dependency, one.dependent)
        for one in found.connections
    )
    return any(far == place and abs(found.distances[near]) <= abs(nearer) for far, near in pairs)
