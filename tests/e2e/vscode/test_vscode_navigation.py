"""The code graph as VS Code shows it once it is turned on: outline, definition, references, hierarchies, symbols."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from support.fixture import parse_fixture

SHOP = parse_fixture("""
    #- shop/price.py
    def total(prices: list[int]) -> int:
        return sum(prices)
    #- shop/cart.py
    from shop.price import total


    class Cart:
        def checkout(self) -> int:
            return total(self.items())

        def items(self) -> list[int]:
            return []


    class Basket(Cart):
        def items(self) -> list[int]:
            return [1]
""")

ALL_ON = {
    f"rolecall.navigation.{name}": True
    for name in ("definition", "references", "documentSymbol", "workspaceSymbol", "callHierarchy", "typeHierarchy")
}


def test_a_developer_finds_their_way_by_the_graph(
    machine: Path,
    play: Callable[[str, Mapping[str, object]], Mapping[str, str]],
    start_code_server: Callable[[Mapping[str, object], Mapping[str, str]], str],
) -> None:
    root = SHOP.write_to(machine / "shop")
    address = start_code_server({"rolecall.server.interpreter": sys.executable, **ALL_ON}, {})
    play(
        "navigate.mjs",
        {
            "url": f"{address}/?folder={root}",
            "open": ["shop", "cart.py"],
            "outline": ["Cart", "Basket", "checkout"],
            "call": "6:18",
            "reference": "import total",
            "caller": "Cart.checkout",
            "type": "4:8",
            "subtype": "Basket",
            "definedIn": "price.py",
            "defined": "total",
            "symbol": "Basket",
        },
    )
