"""The graph around a symbol in a real VS Code: drawn, walked by keys, at ten places and at a thousand."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from support.fixture import parse_fixture

SHOP = """
    #- shop/price.py
    def rounded(amount):
        return round(amount, 2)


    def total(items):
        return rounded(sum(items))
    #- shop/cart.py
    from shop.price import total


    class Cart:
        items = ()

        def checkout(self):
            return total(self.items)
    #- shop/web.py
    from shop.cart import Cart
    from shop.price import total


    def view(request):
        return total(request)


    def sale(cart: Cart):
        return cart.checkout()
    #- tests/test_price.py
    from shop.price import total


    def test_total():
        assert total([1]) == 1
"""


SAID = "total in shop/price.py · 3 callers · 1 callee · within 2 steps · 1 only possible: not shown"


def write_many(root: Path) -> Path:
    """A function that a thousand functions call, in 50 files of 5 folders."""
    (root / "lib.py").parent.mkdir(parents=True)
    (root / "lib.py").write_text("def total(n):\n    return n\n", encoding="utf-8")
    for k in range(50):
        path = root / f"area_{k % 5}" / f"part_{k:02}.py"
        path.parent.mkdir(exist_ok=True)
        functions = "".join(f"def use_{k}_{n}():\n    return total({n})\n\n\n" for n in range(20))
        path.write_text(f"from lib import total\n\n\n{functions}", encoding="utf-8")
    return root


def test_a_developer_sees_what_is_around_a_function(
    machine: Path,
    play: Callable[[str, Mapping[str, object]], Mapping[str, Any]],
    start_code_server: Callable[[Mapping[str, object], Mapping[str, str]], str],
) -> None:
    root, many = parse_fixture(SHOP).write_to(machine / "shop"), write_many(machine / "many")
    address = start_code_server({"rolecall.server.interpreter": sys.executable}, {})
    report = play(
        "graph.mjs",
        {
            "url": f"{address}/?folder={root}",
            "settings": str(machine / "data" / "User" / "settings.json"),
            "open": ["shop", "price.py"],
            "at": "5:6",
            "center": "total",
            "around": ["rounded", "Cart.checkout", "view", "test_total"],
            "walkedTo": "view",
            "goTo": {"label": "Cart.checkout", "file": "cart.py"},
            "many": {"url": f"{address}/?folder={many}", "open": ["lib.py"], "at": "1:6", "filter": "use_7_"},
        },
    )
    assert report["said"] == SAID
    assert "default-src 'none'" in report["policy"]
    assert "'unsafe" not in report["policy"]
    assert report["left"].startswith("view, function in shop/web.py, line 5, calls it")
    assert report["cursor"] == "Ln 7, Col 9"
    assert report["boxes"] < 40, "a thousand places are drawn as groups"
    assert "1,000 callers" in report["manySaid"]
    assert report["opened"] > 0
    assert report["expanded"] == "true"
    assert report["filtered"] == 21, "the functions of one file, and the centre"
    assert report["outside"] == []
