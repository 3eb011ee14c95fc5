"""The Testing view in a real VS Code: tests that were generated, seen to pass there, with the lines they reach."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from rolecall_server.review.proposals.evidence import CoverageChange, Evidence, Failure, MutantTally, Tally, TestEnd
from support.proposals import propose
from support.stores import open_store
from support.workspaces import FILES, contents, write_workspace

MODULE = '''\
def discount(price: int, rate: int = 10) -> int:
    """The price less *rate* percent."""
    if rate > 100:
        raise ValueError("rate")
    return price - price * rate // 100
'''
TESTS = "tests/test_price.py"
ADDED = (
    FILES[TESTS].replace("import total\n", "import discount, total\n")
    + "\n\ndef test_discount_of_all():\n    assert discount(10, 1) == 0\n"
    + "\n\ndef test_discount_of_more():\n    assert discount(1, 2) == 0\n"
)
SEEN = Evidence(
    ran=True,
    before=Tally(1, 0),
    after=Tally(2, 1),
    failures=(Failure(f"{TESTS}::test_discount_of_more", "ValueError: rate"),),
    tests=(
        TestEnd(f"{TESTS}::test_total_of_nothing", "passed"),
        TestEnd(f"{TESTS}::test_discount_of_all", "passed"),
        TestEnd(f"{TESTS}::test_discount_of_more", "failed", "ValueError: rate"),
    ),
    coverage=(CoverageChange("shop/price.py", 0.5, 1.0),),
    mutants=MutantTally(3, 4, ("line 12: '>' became '>='",)),
)


def test_generated_tests_are_seen_to_pass_in_the_testing_view_with_coverage(
    machine: Path,
    play: Callable[[str, Mapping[str, object]], Mapping[str, str]],
    start_code_server: Callable[[Mapping[str, object], Mapping[str, str]], str],
) -> None:
    root, second = write_workspace(machine / "shop", {"price.py": MODULE}), write_workspace(machine / "second")
    settings = {
        "rolecall.server.interpreter": sys.executable,
        "rolecall.tests.interpreter": sys.executable,
        "rolecall.model.probeLocal": False,
    }
    address = start_code_server(settings, {})
    store = open_store(machine / "xdg" / "data" / "rolecall" / "rolecall.db")
    propose(store, second, {TESTS: ADDED}, evidence=SEEN, title="Tests for shop/price.py")
    store.close()
    seen = play(
        "testing.mjs",
        {
            "url": f"{address}/?folder={root}",
            "second": f"{address}/?folder={second}",
            "root": str(root),
        },
    )
    assert "test_discount" in seen["rows"]
    assert "test_discount (Passed)" in seen["labels"], "who hears the row hears its name"
    assert seen["written"] == "price.py", "a run writes nothing"
    assert seen["accepted"] == "price.py tests tests/test_price.py"
    assert contents(second) == {path: text.encode() for path, text in FILES.items()}
