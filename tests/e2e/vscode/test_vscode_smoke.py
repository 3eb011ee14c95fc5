"""The main job in a real VS Code: the packaged extension, a workbench in a browser, a developer's clicks and keys."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from support.chat_server import MODEL, ChatServer

PRICE = '''\
def net(gross: int, tax: int = 0) -> int:
    """What is left of *gross* without *tax*."""
    if tax > gross:
        raise ValueError("the tax is more than the price")
    return gross - tax


def total(prices: list[int], shipping: int = 0) -> int:
    if shipping:
        return sum(prices) + shipping
    return sum(prices)
'''

FIRST_TEST = """\
def test_net_without_tax_is_gross() -> None:
    assert net(10) == 10
"""

TESTS = f"""\
from shop.price import net, total


{FIRST_TEST}

def test_total_of_nothing_is_nothing() -> None:
    assert total([]) == 0
"""

TESTED_TAX = """\


def test_net_is_what_the_tax_leaves() -> None:
    assert net(10, 3) == 7
"""

TESTED_TOTAL = """\


def test_total_adds_up() -> None:
    assert total([1, 2, 3], shipping=4) == 10
"""

REPLY = f"""\
I add a test of the tax beside the one without, and one of a total with shipping.

FILE: tests/test_price.py
<<<<<<< SEARCH
{FIRST_TEST}=======
{FIRST_TEST}{TESTED_TAX}>>>>>>> REPLACE

FILE: tests/test_price.py
<<<<<<< SEARCH
=======
{TESTED_TOTAL}>>>>>>> REPLACE
"""

FILES = {
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
    "shop/__init__.py": "",
    "shop/price.py": PRICE,
    "tests/test_price.py": TESTS,
}


def write_files(root: Path) -> None:
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8", newline="\n")


def read_files(root: Path) -> dict[str, str]:
    return {path: (root / path).read_bytes().decode() for path in FILES}


def test_a_hunk_accepted_in_the_diff_that_opens_is_in_the_buffer_and_once_saved_it_alone_is_on_disk(
    machine: Path,
    play: Callable[[str, Mapping[str, object]], Mapping[str, str]],
    start_code_server: Callable[[Mapping[str, object], Mapping[str, str]], str],
) -> None:
    shop = machine / "shop"
    write_files(shop)
    with ChatServer([REPLY]) as model:
        address = start_code_server(
            {"rolecall.server.interpreter": sys.executable, "rolecall.tests.interpreter": sys.executable},
            {"ROLECALL_BASE_URL": model.base_url, "ROLECALL_MODEL": MODEL},
        )
        report = play(
            "drive.mjs",
            {
                "url": f"{address}/?folder={shop}",
                "open": ["shop", "price.py"],
                "proposedIn": "test_price.py",
                "proposedLines": ["test_net_is_what_the_tax_leaves", "test_total_adds_up"],
                "acceptedLine": "test_net_is_what_the_tax_leaves",
                "file": str(shop / "tests" / "test_price.py"),
            },
        )
    assert report["unsaved"] == TESTS
    accepted = TESTS.replace(FIRST_TEST, FIRST_TEST + TESTED_TAX)
    assert read_files(shop) == FILES | {"tests/test_price.py": accepted}
