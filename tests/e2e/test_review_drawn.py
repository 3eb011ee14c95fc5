"""The review for an editor that draws hunks itself: what waits, the two sides of a file, an edit of the right one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from rolecall_server.lsp.untyped import plain
from rolecall_server.review.proposals.evidence import Evidence, Tally
from support.editor import Editor, capabilities, editing, until
from support.patience import PATIENCE_S
from support.proposals import propose, store_of
from support.workspaces import FILES, environment, write_workspace

PRICE, TAX, CART = "shop/price.py", "shop/tax.py", "shop/cart.py"
BETTER = (
    FILES[PRICE]
    .replace("sum(items)", "sum(items) or 0")
    .replace('"""The price less the rate."""', '"""The price less a rate."""')
)
CHANGE: dict[str, str | None] = {PRICE: BETTER, TAX: "RATE = 1\n", CART: None}
CHECKED = Evidence(ran=True, after=Tally(3, 0), confinement="here", model="a script")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


def drawing() -> types.ClientCapabilities:
    """What an editor announces that draws hunks itself."""
    announced = capabilities()
    announced.experimental = {"rolecall": {"input": True, "review": True}}
    return announced


@contextlib.asynccontextmanager
async def review(root: Path, *changes: dict[str, str | None], told: list[int] | None = None) -> AsyncIterator[Editor]:
    """An editor in a workspace for which these changes are proposed."""
    store = store_of(root.parent / "home")
    for n, change in enumerate(changes or (CHANGE,)):
        propose(store, root, change, evidence=CHECKED, title=f"change {n}")
    store.close()
    settings = {"tests": {"run": False}}
    async with editing(root, environment(root.parent / "home"), settings, drawing()) as editor:

        @editor.client.feature("rolecall/review/changed")
        def note(params: Any) -> None:
            if told is not None:
                told.append(1)

        yield editor


async def ask(editor: Editor, method: str, **params: Any) -> Any:
    return plain(await asyncio.wait_for(editor.client.protocol.send_request_async(method, params), PATIENCE_S))


async def hunks(editor: Editor, proposal_id: str = "p1") -> dict[str, Any]:
    found = await ask(editor, "rolecall/review")
    (proposal,) = [one for one in found["proposals"] if one["proposalId"] == proposal_id]
    return {hunk["hunkId"]: {**hunk, "path": file["path"]} for file in proposal["files"] for hunk in file["hunks"]}


async def test_what_waits_is_told_with_files_hunks_and_evidence(root: Path) -> None:
    async with review(root) as editor:
        found = await ask(editor, "rolecall/review")
        (proposal,) = found["proposals"]
        assert (proposal["title"], proposal["counts"]) == ("change 0", {"pending": 4})
        assert proposal["evidence"]["misfit"] == ""
        assert "3 passed" in proposal["evidence"]["text"]
        assert {file["path"]: file["kind"] for file in proposal["files"]} == {
            PRICE: "changed",
            TAX: "added",
            CART: "deleted",
        }
        known = await hunks(editor)
        assert (known["h1"]["added"], known["h1"]["removed"], known["h1"]["state"]) == (1, 1, "pending")
        assert known["h1"]["place"]["range"]["start"] == {"line": 5, "character": 0}
        assert known["h3"]["place"] is None, "there is no such file yet"
        assert found["undo"] is None


async def test_an_editor_that_draws_hunks_gets_no_diagnostics_lenses_or_actions_of_them(root: Path) -> None:
    async with review(root) as editor:
        editor.open(PRICE)
        assert await editor.lenses(PRICE) == []
        assert not any("accept" in title for title in await editor.actions(PRICE, 5))
        await ask(editor, "rolecall/review")
        assert editor.hunks(PRICE) == {}


async def test_the_sides_of_a_file_follow_decisions_and_the_editor_is_told(root: Path) -> None:
    told: list[int] = []
    async with review(root, told=told) as editor:
        editor.open(PRICE)
        sides = await ask(editor, "rolecall/review/text", proposalId="p1", path=PRICE)
        assert (sides["left"], sides["right"]) == (FILES[PRICE], BETTER)
        assert [hunk["hunkId"] for hunk in sides["hunks"]] == ["h1", "h2"]
        seen = len(told)
        await editor.execute("rolecall.hunk.reject", proposalId="p1", hunkId="h2")
        await until(lambda: len(told) > seen)
        await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkIds=["h1", "h3"])
        await until(lambda: "or 0" in editor.text(PRICE))
        await until(lambda: len(told) > seen + 1)
        sides = await ask(editor, "rolecall/review/text", proposalId="p1", path=PRICE)
        assert sides["left"] == sides["right"] == editor.text(PRICE)
        known = await hunks(editor)
        assert {hunk_id: hunk["state"] for hunk_id, hunk in known.items()} == {
            "h1": "accepted",
            "h2": "rejected",
            "h3": "accepted",
            "h4": "pending",
        }
        undo = (await ask(editor, "rolecall/review"))["undo"]
        assert undo == {"proposalId": "p1", "hunkIds": ["h1", "h3"], "text": "p1: 2 hunks accepted"}
        gone = await ask(editor, "rolecall/review/text", proposalId="p1", path=CART)
        assert (gone["left"], gone["right"]) == (FILES[CART], None)


async def test_the_editor_is_told_of_a_decision_on_a_file_that_does_not_exist_yet(root: Path) -> None:
    told: list[int] = []
    async with review(root, {TAX: "RATE = 1\n"}, told=told) as editor:
        await ask(editor, "rolecall/review")
        seen = len(told)
        await editor.execute("rolecall.hunk.reject", proposalId="p1", hunkId="h1")
        await until(lambda: len(told) > seen)


async def save(editor: Editor, text: str, version: str = "") -> dict[str, Any]:
    version = version or (await ask(editor, "rolecall/review/text", proposalId="p1", path=PRICE))["version"]
    return await ask(editor, "rolecall/review/save", proposalId="p1", path=PRICE, version=version, text=text)


async def test_saving_the_right_side_edits_a_hunk_and_its_evidence_says_that_it_is_about_another_text(
    root: Path,
) -> None:
    async with review(root) as editor:
        editor.open(PRICE)
        assert await save(editor, BETTER.replace("or 0", "or 1")) == {"hunkIds": ["h1"], "problem": ""}
        assert (await hunks(editor))["h1"]["state"] == "edited"
        (proposal,) = (await ask(editor, "rolecall/review"))["proposals"]
        assert proposal["evidence"]["misfit"] == "This was seen before h1 was edited."
        await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        await until(lambda: "or 1" in editor.text(PRICE))


async def test_a_hunk_that_is_taken_back_on_the_right_side_is_rejected(root: Path) -> None:
    told: list[int] = []
    async with review(root, told=told) as editor:
        assert (await save(editor, BETTER.replace(" or 0", "")))["hunkIds"] == ["h1"]
        assert (await hunks(editor))["h1"]["state"] == "rejected"
        seen = len(told)
        await editor.execute("rolecall.decision.undo")
        await until(lambda: len(told) > seen)
        assert (await hunks(editor))["h1"]["state"] == "pending"


async def test_a_change_outside_every_hunk_or_of_a_side_that_moved_on_is_refused_whole(root: Path) -> None:
    async with review(root) as editor:
        version = (await ask(editor, "rolecall/review/text", proposalId="p1", path=PRICE))["version"]
        said = await save(editor, BETTER.replace("or 0", "or 1").replace('"""Prices."""', '"""Costs."""'))
        assert "Line 1 of shop/price.py" in said["problem"]
        assert said["hunkIds"] == []
        await save(editor, BETTER.replace("or 0", "or 2"))
        late = await save(editor, BETTER.replace("or 0", "or 3"), version)
        assert "Compare, then save again." in late["problem"]
        assert "or 2" in (await ask(editor, "rolecall/review/text", proposalId="p1", path=PRICE))["right"]


async def test_all_of_several_proposals_is_asked_about_once_with_numbers(root: Path) -> None:
    second: dict[str, str | None] = {TAX: "RATE = 2\n"}
    async with review(root, {PRICE: BETTER}, second) as editor:
        editor.open(PRICE)
        await editor.execute("rolecall.all.accept")
        await until(lambda: editor.questions)
        assert editor.questions == ["accept 3 hunks of 2 proposals, in 2 files?"]
        assert editor.text(PRICE) == FILES[PRICE]
        editor.answer_to_question = lambda question: "Accept 3 hunks"
        await editor.execute("rolecall.all.accept")
        await until(lambda: editor.text(PRICE) == BETTER)
        await until(lambda: (root / TAX).exists() and editor.text(TAX) == "RATE = 2\n")
        assert len(editor.questions) == 2
