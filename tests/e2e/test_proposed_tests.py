"""The tests of a proposal for an editor that shows tests: listed with their results, run again, what they reach."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from rolecall_server.lsp.untyped import plain
from rolecall_server.review.proposals.evidence import CoverageChange, Evidence, MutantTally, Tally, TestEnd
from support.editor import Editor, capabilities, editing, until, value_of
from support.patience import PATIENCE_S
from support.proposals import propose, store_of
from support.workspaces import FILES, contents, environment, write_workspace

PRICE, TESTS, NEW = "shop/price.py", "tests/test_price.py", "tests/test_discount.py"
ADDED = FILES[TESTS] + "\n\ndef test_total_adds():\n    assert total([1, 2]) == 3\n"
DISCOUNT = """\
import pytest

from shop.price import discount


@pytest.mark.parametrize("rate", [0, 2])
def test_discount_of_nothing(rate):
    assert discount(0, rate) == 0


class TestRefusal:
    def test_more_than_all(self):
        with pytest.raises(ValueError, match="rate"):
            discount(1, 2)
"""
CHANGE: dict[str, str | None] = {TESTS: ADDED, NEW: DISCOUNT}
TWO = f"{NEW}::test_discount_of_nothing"
SEEN = Evidence(
    ran=True,
    after=Tally(3, 1),
    tests=(
        TestEnd(f"{TESTS}::test_total_of_nothing", "passed", duration_s=0.25),
        TestEnd(f"{TESTS}::test_total_adds", "passed"),
        TestEnd(f"{TWO}[0]", "passed"),
        TestEnd(f"{TWO}[2]", "failed", "ValueError: rate"),
    ),
    coverage=(CoverageChange(PRICE, 0.5, 0.9),),
    mutants=MutantTally(3, 4, ("line 12: '>' became '>='",)),
    confinement="here",
)


@contextlib.asynccontextmanager
async def offered(
    root: Path, change: dict[str, str | None] = CHANGE, shown: Evidence = SEEN, **experimental: bool
) -> AsyncIterator[Editor]:
    """An editor in a workspace for which these tests are proposed."""
    store = store_of(root.parent / "home")
    propose(store, root, change, evidence=shown, title="Tests for shop/price.py")
    store.close()
    announced = capabilities()
    announced.experimental = {"rolecall": {"review": True, **experimental}}
    async with editing(root, environment(root.parent / "home"), {}, announced) as editor:
        yield editor


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


async def ask(editor: Editor, method: str, **params: Any) -> Any:
    return plain(await asyncio.wait_for(editor.client.protocol.send_request_async(method, params), PATIENCE_S))


async def listed(editor: Editor, **params: Any) -> dict[str, Any]:
    (proposal,) = (await ask(editor, "rolecall/tests", **params))["proposals"]
    return proposal


def ends(answer: dict[str, Any]) -> dict[str, str]:
    return {one["testId"].partition("::")[2]: one["outcome"] for one in answer["tests"]}


async def test_the_tests_of_a_proposal_are_told_with_their_place_and_how_each_case_ended(root: Path) -> None:
    async with offered(root) as editor:
        found = await listed(editor)
        by_id = {one["testId"].partition("::")[2]: one for one in found["tests"]}
        assert list(by_id) == [
            *("test_total_adds", "test_discount_of_nothing", "TestRefusal::test_more_than_all", "test_total_of_nothing")
        ]
        assert [name for name, one in by_id.items() if not one["isBrought"]] == ["test_total_of_nothing"]
        assert [(case["testId"], case["outcome"]) for case in by_id["test_discount_of_nothing"]["cases"]] == [
            *((f"{TWO}[0]", "passed"), (f"{TWO}[2]", "failed"))
        ]
        assert by_id["TestRefusal::test_more_than_all"]["cases"] == []
        place = by_id["test_total_adds"]["lines"]
        assert ADDED.splitlines()[place["start"] : place["end"]][0] == "def test_total_adds():"
        assert found["coverage"][0]["uri"] == (root / PRICE).as_uri()
        assert [(one["path"], one["line"], one["text"]) for one in found["survivors"]] == [
            (PRICE, 11, "'>' became '>='")
        ]


async def test_a_rejected_test_is_told_no_more_and_an_accepted_one_stands_in_the_file(root: Path) -> None:
    async with offered(root) as editor:
        editor.open(TESTS)
        assert {one["isOpen"] for one in (await listed(editor))["tests"]} == {True}
        await editor.execute("rolecall.file.reject", proposalId="p1", path=NEW)
        await editor.execute("rolecall.file.accept", proposalId="p1", path=TESTS)
        await until(lambda: "test_total_adds" in editor.text(TESTS))
        await until_decided(editor)
        found = await listed(editor, proposalIds=["p1", "p9"])
        assert [one["testId"] for one in found["tests"] if one["isBrought"]] == [f"{TESTS}::test_total_adds"]
        assert {one["isOpen"] for one in found["tests"]} == {False}


async def until_decided(editor: Editor) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while (await ask(editor, "rolecall/review"))["proposals"]:
            await asyncio.sleep(0.02)


async def test_the_tests_run_again_as_they_would_stand_and_nothing_is_written(root: Path) -> None:
    before = contents(root)
    async with offered(root) as editor:
        answer = await ask(editor, "rolecall/tests/run", proposalId="p1")
        assert answer["ran"], answer
        assert ends(answer) == {
            "test_total_of_nothing": "passed",
            "test_total_adds": "passed",
            "test_discount_of_nothing[0]": "passed",
            "test_discount_of_nothing[2]": "failed",
            "TestRefusal::test_more_than_all": "passed",
        }
        (failed,) = (one for one in answer["tests"] if one["outcome"] == "failed")
        assert failed["message"] == "ValueError: rate"
        assert "shop/price.py" in failed["detail"]
        assert answer["coverage"] == []
    assert contents(root) == before


async def test_one_test_or_one_case_runs_alone(root: Path) -> None:
    async with offered(root) as editor:
        alone = await ask(editor, "rolecall/tests/run", proposalId="p1", testIds=[f"{TWO}[0]"])
        assert ends(alone) == {"test_discount_of_nothing[0]": "passed"}
        refused = ask(editor, "rolecall/tests/run", proposalId="p1", testIds=["../elsewhere.py"])
        with pytest.raises(JsonRpcException, match=r"elsewhere\.py is no test of p1"):
            await refused


async def test_an_edited_hunk_runs_with_the_text_that_the_developer_gave_it(root: Path) -> None:
    async with offered(root, {TESTS: ADDED}) as editor:
        wrong = "\n\ndef test_total_adds():\n    assert total([1, 2]) == 4\n"
        await editor.execute("rolecall.hunk.edit", proposalId="p1", hunkId="h1", text=wrong)
        answer = await ask(editor, "rolecall/tests/run", proposalId="p1", testIds=[f"{TESTS}::test_total_adds"])
        assert ends(answer) == {"test_total_adds": "failed"}


async def test_coverage_tells_the_lines_that_are_reached_without_the_proposal_and_with_it(root: Path) -> None:
    async with offered(root) as editor:
        answer = await ask(editor, "rolecall/tests/run", proposalId="p1", coverage=True)
        (measured,) = answer["coverage"]
        assert measured["path"] == PRICE
        assert not measured["isOpen"]
        refusing = FILES[PRICE].splitlines().index('        raise ValueError("rate")')
        assert refusing in measured["before"]["missed"]
        assert refusing in measured["after"]["reached"]
        assert measured["after"]["missed"] == []
        assert measured["before"]["ratio"] < measured["after"]["ratio"] == 1
        one = await ask(
            editor, "rolecall/tests/run", proposalId="p1", testIds=[f"{TESTS}::test_total_adds"], coverage=True
        )
        assert one["coverage"][0]["before"] is None
        assert refusing in one["coverage"][0]["after"]["missed"]


async def test_where_nothing_may_run_the_reason_is_the_answer(root: Path) -> None:
    async with offered(root, restricted=True) as editor:
        answer = await ask(editor, "rolecall/tests/run", proposalId="p1")
        assert not answer["ran"]
        assert answer["tests"] == []
        assert answer["reason"].startswith("This workspace is not trusted.")


async def test_tests_that_a_role_wrote_are_there_with_their_results_once_its_run_ends(root: Path) -> None:
    announced = capabilities()
    announced.experimental = {"rolecall": {"review": True, "trusted": True}}
    async with editing(root, environment(root.parent / "home"), {}, announced) as editor:
        uri = editor.open(PRICE)
        run_id = value_of(await editor.execute("rolecall.tests.generate", uri=uri), "runId")
        await until(lambda: run_id in editor.ended_runs)
        found = await listed(editor)
        brought = [one for one in found["tests"] if one["isBrought"]]
        assert brought
        assert {case["outcome"] for one in brought for case in one["cases"]} == {"passed"}
        assert all(one["cases"] and one["lines"] for one in brought)
        assert found["notRun"] == []
