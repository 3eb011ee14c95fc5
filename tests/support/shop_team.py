"""What a team says that lets a small shop take a tax: one brief through all roles."""

from __future__ import annotations

from typing import Any

from support.edits import block
from support.team_model import Says, fenced

BRIEF = "Let total() take a tax rate, and print a receipt with the tax in it."

REQUIREMENTS: dict[str, Any] = {
    "title": "Taxes",
    "goals": ["Prices with tax"],
    "requirements": [
        {"id": "R1", "title": "total takes a tax", "priority": "P0", "consequence": "total([100], tax=0.5) == 150"},
        {"id": "R2", "title": "a receipt", "priority": "P1", "consequence": "receipt([1]) == 'total: 1'"},
    ],
}
DESIGN: dict[str, Any] = {
    "title": "Taxes in the shop",
    "approach": "A keyword argument of `total`, and a new module for receipts.",
    "files_to_change": [{"path": "shop/price.py", "what": "total takes a tax"}],
    "files_to_add": [{"path": "shop/receipt.py", "what": "prints a receipt"}],
    "symbols_to_change": [{"symbol": "shop/price.py::total", "serves": ["R1"], "what": "takes a tax"}],
    "symbols_to_add": [{"symbol": "shop/receipt.py::receipt", "serves": ["R2"], "what": "the receipt as text"}],
}
TASKS: dict[str, Any] = {
    "title": "Taxes",
    "tasks": [
        {
            "id": "T1",
            "title": "tax in total",
            "serves": ["R1"],
            "files": ["shop/price.py"],
            "symbols": ["shop/price.py::total"],
            "acceptance": ["total([100], tax=0.5) == 150"],
        },
        {
            "id": "T2",
            "title": "the receipt",
            "serves": ["R2"],
            "files": ["shop/receipt.py"],
            "symbols": ["shop/receipt.py::receipt"],
            "acceptance": ["receipt([1]) == 'total: 1'"],
        },
    ],
    "sprints": [{"id": "S1", "title": "all of it", "tasks": ["T1", "T2"]}],
}
TAX = block(
    "shop/price.py",
    'def total(items):\n    """The sum of the prices."""\n    return sum(items)\n',
    'def total(items, tax=0):\n    """The sum of the prices, with tax."""\n    return sum(items) * (1 + tax)\n',
)
RECEIPT = block(
    "shop/receipt.py",
    "",
    "from shop.price import total\n\n\ndef receipt(items):\n"
    '    """The receipt as text."""\n    return f"total: {total(items)}"\n',
)
TESTS = (
    "COVERS: tests/test_tax.py::test_tax_is_added R1 (basic): 150\n"
    "COVERS: tests/test_tax.py::test_receipt_names_the_total R2 (basic): the total\n\n"
    + block(
        "tests/test_tax.py",
        "",
        "from shop.price import total\nfrom shop.receipt import receipt\n\n\n"
        "def test_tax_is_added():\n    assert total([100], tax=0.5) == 150\n\n\n"
        'def test_receipt_names_the_total():\n    assert receipt([1]) == "total: 1"\n',
    )
)
ADDED = [{"path": path, "what": "new"} for path in ("shop/receipt.py", "shop/vat.py")]
LARGE_DESIGN = {
    **DESIGN,
    "files_to_change": [{"path": path, "what": "tax"} for path in ("shop/price.py", "shop/cart.py")],
    "files_to_add": ADDED,
}
LARGE_TASKS: dict[str, Any] = {
    "title": "Taxes",
    "tasks": [
        TASKS["tasks"][0],
        {**TASKS["tasks"][1], "needs": ["T1"]},
        {"id": "T3", "title": "carts with tax", "serves": ["R1"], "files": ["shop/cart.py"]},
        {"id": "T4", "title": "rates", "serves": ["R1"], "files": ["shop/vat.py"]},
    ],
    "sprints": [{"id": "S1", "title": "all of it", "tasks": ["T1", "T2", "T3", "T4"]}],
}
CART = block("shop/cart.py", "    return total(cart)\n", "    return total(cart) + 0\n")
RATES = block("shop/vat.py", "", "RATE = 0.1\n")
NO_FINDINGS: dict[str, Any] = {"title": "Fine", "summary": "It does what was asked."}


def shop_speeches(**others: Says | list[Says]) -> dict[str, Says | list[Says]]:
    """What each role says; *others* replace it, by title with ``_`` for spaces."""
    said: dict[str, Says | list[Says]] = {
        "Product Manager": fenced(REQUIREMENTS),
        "Architect": fenced(DESIGN),
        "Project Manager": fenced(TASKS),
        "Engineer T1": f"I add the argument.\n\n{TAX}",
        "Engineer T2": f"I add the module.\n\n{RECEIPT}",
        "QA Engineer": TESTS,
        "Reviewer": fenced(NO_FINDINGS),
    }
    return said | {who.replace("_", " "): says for who, says in others.items()}


def large_speeches(**others: Says | list[Says]) -> dict[str, Says | list[Says]]:
    """As `shop_speeches`, of a team whose four tasks change four files."""
    return shop_speeches(
        Architect=fenced(LARGE_DESIGN),
        Project_Manager=fenced(LARGE_TASKS),
        Engineer_T3=CART,
        Engineer_T4=RATES,
        Engineer_repair="Finding: what the tests want was left out.",
        **others,
    )
