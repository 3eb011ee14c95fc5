"""`textDocument/hover`: where an accepted line came from, and silence everywhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.chat_server import ChatServer
from support.editor import editing, until
from support.edits import block
from support.workspaces import environment, write_workspace

RAISE_PRICE = block("shop/price.py", "    return sum(items)\n", "    return sum(items) * 1.2\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


async def test_an_accepted_line_says_where_it_came_from_also_in_the_next_session(root: Path) -> None:
    with ChatServer(RAISE_PRICE) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        async with editing(root, environ, {"tests": {"run": False}}) as editor:
            await editor.run("rolecall.brief.implement", uri=editor.open("shop/price.py"), brief="Raise it by a fifth.")
            assert await editor.hover("shop/price.py", 5) == "", "it is not accepted yet"
            await editor.execute("rolecall.proposal.accept", proposalId="p1")
            await until(lambda: not editor.hunks("shop/price.py"))
            editor.type_at("shop/price.py", '"""Prices."""', "# typed above\n")
            said = await editor.hover("shop/price.py", 6)
            assert "Raise it by a fifth.: changes total in shop/price.py" in said
            assert "Written by the Engineer (scripted-model" in said
            assert "as p1/h1 of run r1." in said
            assert await editor.hover("shop/price.py", 5) == ""
            assert await editor.hover("shop/cart.py", 0) == ""
            editor.save("shop/price.py")
        async with editing(root, environ) as editor:
            editor.open("shop/price.py")
            assert await editor.hover("shop/price.py", 6) == said


async def test_a_line_that_was_taken_back_is_silent_again(root: Path) -> None:
    with ChatServer(RAISE_PRICE) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        async with editing(root, environ, {"tests": {"run": False}}) as editor:
            await editor.run("rolecall.brief.implement", uri=editor.open("shop/price.py"), brief="Raise it.")
            await editor.execute("rolecall.proposal.accept", proposalId="p1")
            await until(lambda: not editor.hunks("shop/price.py"))
            await editor.execute("rolecall.decision.undo")
            await until(lambda: editor.hunks("shop/price.py"))
            assert await editor.hover("shop/price.py", 5) == ""
