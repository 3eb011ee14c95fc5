"""The same questions asked of other languages than Python."""

from __future__ import annotations

from rolecall_analysis import callers, definitions_at, importers, references, subtypes
from support.graph import cursor_of, definition_of, fixture_and_snapshot, names_of, snapshot_from

SHOP = """
    #- shop/price.ts
    export function total(items) { return items; }
    export class Cart { total() { return total([]); } }
    #- main.ts
    import { total as sum, Cart } from "./shop/price";
    class Big extends Cart { show(other) { return this.total() + other.total(); } }
    export function main() { return sum([]); }
    #- same_name.py
    def total(): ...
    def show(cart): return cart.total()
    """


def test_callers_are_found_through_imports_and_only_in_the_same_language() -> None:
    snapshot = snapshot_from(SHOP)
    found = callers(snapshot, definition_of(snapshot, "shop/price.ts:total"), certain_only=True)
    assert [(s.path, s.call.callee) for s in found] == [("shop/price.ts", "total"), ("main.ts", "sum")]
    possible = callers(snapshot, definition_of(snapshot, "shop/price.ts:Cart.total"))
    assert ("main.ts", "this.total", True) in [(s.path, s.call.callee, s.certain) for s in possible]
    assert all(s.path.endswith(".ts") for s in possible)


def test_references_importers_and_subclasses_are_found() -> None:
    snapshot = snapshot_from(SHOP)
    cart = definition_of(snapshot, "shop/price.ts:Cart")
    assert [(o.path, o.kind) for o in references(snapshot, cart)] == [
        ("shop/price.ts", "definition"),
        ("main.ts", "import"),
        ("main.ts", "read"),
    ]
    assert names_of(subtypes(snapshot, cart)) == ["main.ts:Big"]
    assert importers(snapshot, "shop/price.ts") == ("main.ts",)


def test_a_name_leads_to_its_definition() -> None:
    fixture, snapshot = fixture_and_snapshot(SHOP.replace("return sum", "return <CURSOR>sum"))
    (found,) = definitions_at(snapshot, *cursor_of(fixture))
    assert names_of([found.definition]) == ["shop/price.ts:total"]
