"""`rolecall.hunk.revise`: one hunk made anew, alone."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.chat_server import ChatServer, Script
from support.editor import Editor, editing, until, value_of
from support.edits import block
from support.workspaces import FILES, GOOD_TESTS, environment, write_workspace

PRICE = FILES["shop/price.py"]
TWO_CHANGES = block("shop/price.py", "    return sum(items)\n", "    return sum(items) * 1.2\n") + block(
    "shop/price.py", "    return price * (1 - rate)\n", "    return price * (1.2 - rate)\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


@contextlib.asynccontextmanager
async def proposal(root: Path, script: Script) -> AsyncIterator[tuple[Editor, ChatServer]]:
    """An editor in which the Engineer's proposal p1 is shown on the open file."""
    with ChatServer(script) as chat:
        async with editing(root, environment(root.parent / "home", chat.base_url)) as editor:
            uri = editor.open("shop/price.py")
            await editor.run("rolecall.brief.implement", uri=uri, brief="Raise the price.")
            yield editor, chat


async def test_a_stale_hunk_is_made_anew_on_the_text_as_it_is_and_takes_the_place_of_the_old_one(root: Path) -> None:
    anew = block("shop/price.py", "    return max(items)\n", "    return max(items) * 1.2\n")
    async with proposal(root, [TWO_CHANGES, anew]) as (editor, chat):
        editor.replace_text("shop/price.py", PRICE.replace("sum(items)", "max(items)"))
        await until(lambda: set(editor.stale("shop/price.py")) == {"p1/h1"})
        ended = await editor.run("rolecall.hunk.revise", proposalId="p1", hunkId="h1")
        assert ended["state"] == "finished", editor.messages
        assert set(editor.hunks("shop/price.py")) == {"p1/h2", "p2/h1"}
        assert not editor.stale("shop/price.py")
        asked = chat.asked[1]["messages"][1]["content"]
        assert "    return max(items)" in asked.partition("# Your task")[0], "the file as it is now"
        task = asked.partition("# Your task")[2]
        assert "+    return sum(items) * 1.2" in task
        assert "The lines around it have changed since it was proposed." in task
        assert "1.2 - rate" not in task, "the other hunk is decided by itself"
        shown = await editor.execute("rolecall.proposal.show", proposalId="p1")
        assert "[rejected: p2 took its place.]" in value_of(shown, "text")
        await editor.execute("rolecall.proposal.accept", proposalId="p2")
        await until(lambda: "max(items) * 1.2" in editor.text("shop/price.py"))
        assert "Raise the price., p1/h1 again" in await editor.hover("shop/price.py", 5)


async def test_a_hunk_on_offer_is_made_anew_as_the_developer_says(root: Path) -> None:
    anew = block("shop/price.py", "    return sum(items)\n", "    return sum(items) * 1.19\n")
    async with proposal(root, [TWO_CHANGES, anew]) as (editor, chat):
        await editor.run("rolecall.hunk.revise", proposalId="p1", hunkId="h1", brief="The tax is 19 per cent.")
        assert "The developer asks: The tax is 19 per cent." in chat.asked[1]["messages"][1]["content"]
        assert set(editor.hunks("shop/price.py")) == {"p1/h2", "p2/h1"}
        assert "1.19" in editor.hunks("shop/price.py")["p2/h1"].message


async def test_an_edit_of_another_file_is_refused_and_asked_for_again(root: Path) -> None:
    elsewhere = block("shop/cart.py", "    return total(cart)\n", "    return total(cart) * 1.2\n")
    anew = block("shop/price.py", "    return sum(items)\n", "    return sum(items) * 1.19\n")
    async with proposal(root, [TWO_CHANGES, elsewhere, anew]) as (editor, chat):
        await editor.run("rolecall.hunk.revise", proposalId="p1", hunkId="h1", brief="Less.")
        assert "Only shop/price.py is to be changed here" in chat.asked[2]["messages"][-1]["content"]
        assert set(editor.hunks("shop/price.py")) == {"p1/h2", "p2/h1"}
        assert not editor.hunks("shop/cart.py")


async def test_a_revision_that_comes_to_nothing_leaves_the_hunk_as_it_is(root: Path) -> None:
    async with proposal(root, [TWO_CHANGES, "It is there already.", "Still.", "Still."]) as (editor, chat):
        ended = await editor.run("rolecall.hunk.revise", proposalId="p1", hunkId="h1")
        assert ended["state"] == "failed"
        assert set(editor.hunks("shop/price.py")) == {"p1/h1", "p1/h2"}


async def test_tests_are_made_anew_by_the_role_that_wrote_them_and_run(root: Path) -> None:
    anew = block(
        "tests/test_price.py",
        "",
        "def test_total_adds_three():\n    assert total([1, 2, 3]) == 6\n",
    )
    with ChatServer([GOOD_TESTS, anew]) as chat:
        async with editing(root, environment(root.parent / "home", chat.base_url)) as editor:
            editor.open("tests/test_price.py")
            await editor.run("rolecall.tests.generate", uri=editor.open("shop/price.py"))
            await editor.run("rolecall.hunk.revise", proposalId="p1", hunkId="h2", brief="Three items.")
            assert chat.asked[1]["messages"][0]["content"].startswith("You are the QA Engineer")
            assert "2 passed, 0 failed" in editor.hunks("tests/test_price.py")["p2/h1"].message
            assert set(editor.hunks("tests/test_price.py")) == {"p1/h1", "p1/h3", "p1/h4", "p2/h1"}


async def test_a_hunk_of_a_file_that_does_not_exist_yet_is_made_anew_too(root: Path) -> None:
    first, anew = block("shop/tax.py", "", "RATE = 0.2\n"), block("shop/tax.py", "", "RATE = 0.19\n")
    async with proposal(root, [first, anew]) as (editor, chat):
        ended = await editor.run("rolecall.hunk.revise", proposalId="p1", hunkId="h1")
        assert ended["state"] == "finished", editor.messages
        assert set(editor.hunks("shop/price.py")) == {"p2/h1"}
        await editor.execute("rolecall.proposal.accept", proposalId="p2")
        await until(lambda: not editor.hunks("shop/price.py"))
        assert editor.text("shop/tax.py") == "RATE = 0.19\n"
