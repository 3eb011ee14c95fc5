"""`rolecall.hunk.revise`, `rolecall.proposal.revise`, `rolecall revise`: what was proposed made anew, as one says."""

from __future__ import annotations

import contextlib
import subprocess
import sys
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
    anew = block("shop/price.py", "    return sum(items) * 1.2\n", "    return sum(items) * 1.19\n")
    async with proposal(root, [TWO_CHANGES, anew]) as (editor, chat):
        await editor.run("rolecall.hunk.revise", proposalId="p1", hunkId="h1", brief="The tax is 19 per cent.")
        shown, _, task = chat.asked[1]["messages"][1]["content"].partition("# Your task")
        assert "    return sum(items) * 1.2\n" in shown, "the file with the hunk in it"
        assert "    return price * (1 - rate)\n" in shown, "and without the other one"
        assert "The developer asks: The tax is 19 per cent." in task
        assert set(editor.hunks("shop/price.py")) == {"p1/h2", "p2/h1"}
        assert "1.19" in editor.hunks("shop/price.py")["p2/h1"].message


async def test_an_edit_of_another_file_is_refused_and_asked_for_again(root: Path) -> None:
    elsewhere = block("shop/cart.py", "    return total(cart)\n", "    return total(cart) * 1.2\n")
    anew = block("shop/price.py", "    return sum(items) * 1.2\n", "    return sum(items) * 1.19\n")
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
        "def test_total_adds():\n    assert total([1, 2]) == 3\n",
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
    first, anew = block("shop/tax.py", "", "RATE = 0.2\n"), block("shop/tax.py", "RATE = 0.2\n", "RATE = 0.19\n")
    async with proposal(root, [first, anew]) as (editor, chat):
        ended = await editor.run("rolecall.hunk.revise", proposalId="p1", hunkId="h1")
        assert ended["state"] == "finished", editor.messages
        assert set(editor.hunks("shop/price.py")) == {"p2/h1"}
        await editor.execute("rolecall.proposal.accept", proposalId="p2")
        await until(lambda: not editor.hunks("shop/price.py"))
        assert editor.text("shop/tax.py") == "RATE = 0.19\n"


RAISED_AND_TAXED = TWO_CHANGES + block("shop/tax.py", "", "RATE = 0.2\n")


async def test_all_that_waits_of_a_proposal_is_made_anew_and_what_was_accepted_stays(root: Path) -> None:
    anew = block("shop/tax.py", "RATE = 0.2\n", "RATE = 0.19\n") + block(
        "tests/test_tax.py", "", "def test_it(): ...\n"
    )
    async with proposal(root, [RAISED_AND_TAXED, anew]) as (editor, chat):
        await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        await until(lambda: "* 1.2" in editor.text("shop/price.py"))
        ended = await editor.run("rolecall.proposal.revise", proposalId="p1", brief="The tax is 19 per cent. Test it.")
        assert ended["state"] == "finished", editor.messages
        shown = await editor.execute("rolecall.proposal.show", proposalId="p2")
        assert {(one["path"], one["hunkId"]) for one in shown["hunks"]} == {
            ("shop/price.py", "h1"),
            ("shop/tax.py", "h2"),
            ("tests/test_tax.py", "h3"),
        }, "what the model left as it was is proposed again"
        assert "1.2 - rate" in shown["text"]
        assert "* 1.2" not in "".join(line for line in shown["text"].splitlines() if line[:1] in "+-")
        assert [hunk for hunk in editor.hunks("shop/price.py") if hunk.startswith("p1/")] == []
        task = chat.asked[1]["messages"][1]["content"].partition("# Your task")[2]
        assert "The developer accepted 1 change of it." in task
        await editor.execute("rolecall.proposal.accept", proposalId="p2", untested=True)
        await until(lambda: not editor.hunks("shop/price.py"))
        assert editor.text("shop/tax.py") == "RATE = 0.19\n"
        assert editor.text("shop/price.py") == PRICE.replace("sum(items)", "sum(items) * 1.2").replace(
            "1 - r", "1.2 - r"
        )


async def test_what_was_said_of_earlier_ones_is_told_again(root: Path) -> None:
    first = block("shop/price.py", "    return sum(items) * 1.2\n", "    return sum(items) * 1.19\n")
    second = block("shop/price.py", "    return sum(items) * 1.19\n", "    return round(sum(items) * 1.19, 2)\n")
    async with proposal(root, [TWO_CHANGES, first, second]) as (editor, chat):
        await editor.run("rolecall.hunk.revise", proposalId="p1", hunkId="h1", brief="The tax is 19 per cent.")
        await editor.run("rolecall.proposal.revise", proposalId="p2", brief="And round it.")
        task = chat.asked[2]["messages"][1]["content"].partition("# Your task")[2]
        said = "- Raise the price.\n- of p1/h1: The tax is 19 per cent.\n"
        assert said in task
        assert task.index(said) < task.index("The developer asks: And round it.")
        assert set(editor.hunks("shop/price.py")) == {"p1/h2", "p3/h1"}
        shown = await editor.execute("rolecall.proposal.show", proposalId="p3")
        assert value_of(shown, "text").count("Raise the price., p2 again") == 1


async def test_lines_that_were_accepted_cannot_be_taken_back_by_a_revision(root: Path) -> None:
    back = block("shop/price.py", "    return sum(items) * 1.2\n", "    return sum(items)\n")
    anew = block("shop/price.py", "    return price * (1.2 - rate)\n", "    return price * (1.3 - rate)\n")
    async with proposal(root, [TWO_CHANGES, back, anew]) as (editor, chat):
        await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        await until(lambda: "* 1.2" in editor.text("shop/price.py"))
        await editor.run("rolecall.proposal.revise", proposalId="p1", brief="More.")
        refused = chat.asked[2]["messages"][-1]["content"]
        assert "Lines that the developer accepted would be gone or another: return sum(items) * 1.2." in refused
        shown = await editor.execute("rolecall.proposal.show", proposalId="p2")
        assert "1.3 - rate" in shown["text"]
        assert "sum(items)\n" not in shown["text"]


async def test_a_reply_without_an_edit_leaves_the_proposal_as_it_is(root: Path) -> None:
    async with proposal(root, [TWO_CHANGES, "No change: it is 1.2 already."]) as (editor, chat):
        ended = await editor.run("rolecall.proposal.revise", proposalId="p1", brief="Make it 1.2.")
        assert ended["state"] == "failed"
        assert len(chat.asked) == 2
        assert set(editor.hunks("shop/price.py")) == {"p1/h1", "p1/h2"}


def test_in_a_terminal_a_proposal_is_talked_over_again_and_again(root: Path) -> None:
    first = block("shop/price.py", "    return sum(items) * 1.2\n", "    return sum(items) * 1.19\n")
    second = block("shop/price.py", "    return sum(items) * 1.19\n", "    return sum(items) * 1.07\n")
    with ChatServer([TWO_CHANGES, first, second]) as chat:
        environ = environment(root.parent / "home", chat.base_url)

        def rolecall(*words: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-I", "-m", "rolecall_server", *words]
            return subprocess.run(
                command, cwd=root, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )

        began = rolecall("implement", "Raise the price.", "--in", "shop/price.py")
        assert '`rolecall revise p1 "…"` has them made anew, as you say.' in " ".join(began.stdout.split())
        rolecall("revise", "p1", "The tax is 19 per cent.", "--hunk", "h1")
        ended = rolecall("revise", "p2", "No, 7.", "--yes", "--untested")
        assert ended.returncode == 0, ended.stderr
        assert (root / "shop/price.py").read_text() == PRICE.replace("sum(items)", "sum(items) * 1.07")
        gone = rolecall("revise", "p2", "Once more.")
        assert gone.returncode == 1
        assert "p2" in gone.stderr
