"""`textDocument/codeLens`: decisions above each hunk, in the file itself, and where accepted lines came from."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from support.chat_server import ChatServer, Script
from support.editor import Editor, editing, rich_capabilities, until, value_of
from support.edits import block
from support.workspaces import FILES, environment, write_workspace

TOLD = "what the model was told"
RAISE_PRICE = block("shop/price.py", "    return sum(items)\n", "    return sum(items) * 1.2\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


@contextlib.asynccontextmanager
async def proposal(root: Path, script: Script, review: Mapping[str, Any]) -> AsyncIterator[Editor]:
    with ChatServer(script) as chat:
        environ, settings = (
            environment(root.parent / "home", chat.base_url),
            {"tests": {"run": False}, "review": review},
        )
        async with editing(root, environ, settings, rich_capabilities()) as editor:
            await editor.run("rolecall.brief.implement", uri=editor.open("shop/price.py"), brief="Raise it.")
            yield editor


def drawn(lenses: list[types.CodeLens]) -> list[tuple[int, str]]:
    """The line and the words of each lens."""
    return [(lens.range.start.line, lens.command.title) for lens in lenses if lens.command]


async def test_each_hunk_is_accepted_rejected_or_looked_at_above_its_lines(root: Path) -> None:
    async with proposal(root, RAISE_PRICE, {}) as editor:
        lenses = await editor.lenses("shop/price.py")
        assert drawn(lenses) == [(5, "Rolecall p1/h1: accept"), (5, "reject"), (5, "diff"), (5, TOLD)]
        accept = lenses[0].command
        assert accept
        await editor.execute(accept.command, **dict((accept.arguments or [{}])[0]))  # pyright: ignore
        await until(lambda: "* 1.2" in editor.text("shop/price.py"))
        await until(lambda: not editor.hunks("shop/price.py"))
        assert await editor.lenses("shop/price.py") == []


async def test_a_hunk_of_a_file_that_does_not_exist_yet_says_above_another_file_what_it_does(root: Path) -> None:
    async with proposal(root, block("shop/tax.py", "", "RATE = 0.2\n"), {}) as editor:
        first = drawn(await editor.lenses("shop/price.py"))[0]
        assert first[0] == 0
        assert first[1].startswith("Rolecall p1/h1: accept what adds") or "begins shop/tax.py" in first[1]
        assert "shop/tax.py (1 line)" in first[1]


async def test_what_the_model_was_told_is_one_click_away_above_the_first_hunk_and_above_what_was_accepted(
    root: Path,
) -> None:
    several = RAISE_PRICE + block("shop/price.py", "    if rate > 1:\n", "    if rate >= 1:\n")
    async with proposal(root, several, {"trace": "hoverAndLens"}) as editor:
        for n_left in (2, 0):
            lenses = [lens for lens in await editor.lenses("shop/price.py") if lens.command]
            told = [lens.command for lens in lenses if lens.command and lens.command.title == TOLD]
            assert len(told) == (1 if n_left else 2)
            reply = await editor.execute(told[0].command, **dict((told[0].arguments or [{}])[0]))  # pyright: ignore
            assert value_of(reply, "text").startswith("# What was sent in r1")
            await editor.execute("rolecall.proposal.accept", proposalId="p1")
            await until(lambda: not editor.hunks("shop/price.py"))


async def test_a_hunk_that_moves_takes_its_lenses_along_and_the_editor_is_told_to_ask_again(root: Path) -> None:
    async with proposal(root, RAISE_PRICE, {}) as editor:
        await until(lambda: editor.lens_refreshes)
        before = editor.lens_refreshes
        editor.type_at("shop/price.py", '"""Prices."""', "# one\n# two\n")
        await until(lambda: editor.lens_refreshes > before)
        assert [line for line, _ in drawn(await editor.lenses("shop/price.py"))] == [7, 7, 7, 7]


async def test_a_stale_hunk_offers_to_be_regenerated(root: Path) -> None:
    async with proposal(root, RAISE_PRICE, {}) as editor:
        editor.replace_text("shop/price.py", FILES["shop/price.py"].replace("sum(items)", "max(items)"))
        await until(lambda: editor.stale("shop/price.py"))
        assert drawn(await editor.lenses("shop/price.py"))[0] == (5, "Rolecall p1/h1 is stale: regenerate")


async def test_the_lenses_of_hunks_can_be_switched_off_and_those_of_accepted_lines_on(root: Path) -> None:
    async with proposal(root, RAISE_PRICE, {"codeLens": False, "trace": "hoverAndLens"}) as editor:
        assert await editor.lenses("shop/price.py") == []
        await editor.execute("rolecall.proposal.accept", proposalId="p1")
        await until(lambda: not editor.hunks("shop/price.py"))
        [where_from, told] = drawn(await editor.lenses("shop/price.py"))
        assert where_from[0] == 5
        assert where_from[1].startswith("Rolecall p1: Engineer, tests not run")
        assert told == (5, TOLD)


async def test_without_any_lens_nothing_is_announced(root: Path) -> None:
    with ChatServer("") as chat:
        environ, review = environment(root.parent / "home", chat.base_url), {"codeLens": False, "trace": "off"}
        async with editing(root, environ, {"review": review}) as editor:
            assert editor.initialized
            assert editor.initialized.capabilities.code_lens_provider is None
            assert editor.initialized.capabilities.hover_provider is None


async def test_each_function_can_have_its_tests_and_its_change_asked_for_above_it_once_that_is_turned_on(
    root: Path,
) -> None:
    environ = environment(root.parent / "home")
    async with editing(root, environ, {"review": {"symbolLens": True}}, rich_capabilities()) as editor:
        uri = editor.open("shop/price.py")
        lenses = [(lens.range.start.line, lens.command) for lens in await editor.lenses("shop/price.py")]
        assert [(line, command.title, [*(command.arguments or ())]) for line, command in lenses if command] == [
            (line, title, [{"uri": uri, "symbol": symbol}])
            for line, symbol in ((3, "total"), (8, "discount"))
            for title in ("tests", "implement…")
        ]
        editor.open("tests/test_price.py")
        assert [lens.command.title for lens in await editor.lenses("tests/test_price.py") if lens.command] == [
            "implement…"
        ]
    async with editing(root, environ, None, rich_capabilities()) as editor:
        editor.open("shop/price.py")
        assert await editor.lenses("shop/price.py") == []


async def test_a_client_that_draws_the_graph_is_offered_the_callers_above_each_function(root: Path) -> None:
    drawing = rich_capabilities()
    drawing.experimental = {"rolecall": {"graph": True}}
    async with editing(root, environment(root.parent / "home"), {"review": {"symbolLens": True}}, drawing) as editor:
        uri = editor.open("shop/price.py")
        offered = [lens.command for lens in await editor.lenses("shop/price.py") if lens.command]
        assert [[*(command.arguments or ())] for command in offered if command.command == "rolecall.graph.calls"] == [
            [{"uri": uri, "symbol": "total"}],
            [{"uri": uri, "symbol": "discount"}],
        ]
