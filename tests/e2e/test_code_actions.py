"""`textDocument/codeAction` and `codeAction/resolve`: everything that can be decided, in any editor."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lsprotocol import types

from rolecall_server.review.proposals.proposal_store import load_proposal
from support.chat_server import ChatServer, Script
from support.editor import Editor, capabilities, editing, rich_capabilities, until
from support.edits import block
from support.proposals import store_of
from support.workspaces import FILES, GOOD_TESTS, environment, write_workspace

RAISE_PRICE = block("shop/price.py", "    return sum(items)\n", "    return sum(items) * 1.2\n")
CONFTEST = block("conftest.py", "", "import shop  # \u202eevil\u202c\n")
EDITORS = {"everything at once": capabilities(), "resolving later": rich_capabilities()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


@contextlib.asynccontextmanager
async def proposal(
    root: Path, script: Script, abilities: types.ClientCapabilities | None = None
) -> AsyncIterator[Editor]:
    """An editor in which the Engineer's proposal p1 is shown on the open file."""
    with ChatServer(script) as chat:
        environ, settings = environment(root.parent / "home", chat.base_url), {"tests": {"run": False}}
        async with editing(root, environ, settings, abilities) as editor:
            editor.open("tests/test_price.py")
            await editor.run("rolecall.brief.implement", uri=editor.open("shop/price.py"), brief="Raise it.")
            yield editor


async def resolved(editor: Editor, action: types.CodeAction) -> types.CodeAction:
    """*action* as the editor has it when somebody chooses it."""
    return action if action.command else await editor.client.code_action_resolve_async(action)


@pytest.mark.parametrize("abilities", EDITORS.values(), ids=EDITORS)
async def test_a_hunk_a_file_a_proposal_and_everything_can_be_accepted_rejected_and_shown(
    root: Path, abilities: types.ClientCapabilities
) -> None:
    async with proposal(root, [RAISE_PRICE + CONFTEST, GOOD_TESTS], abilities) as editor:
        await editor.run("rolecall.tests.generate", uri=(root / "shop/price.py").as_uri())
        line = editor.hunks("shop/price.py")["p1/h1"].range.start.line
        actions = await editor.actions("shop/price.py", line)
        commands = [(await resolved(editor, action)).command for action in actions.values()]
        offered = [command.command.removeprefix("rolecall.") for command in commands if command]
        nouns = ("hunk", "file", "proposal", "all")
        assert {f"{noun}.{verb}" for noun in nouns for verb in ("accept", "reject")} <= set(offered)
        assert offered.count("proposal.show") == 3, "the hunk, the file, the proposal"
        assert {"hunk.edit", "hunk.revise", "proposal.revise"} <= set(offered)


async def test_what_asks_for_words_stands_below_all_that_is_decided_with_one_key(root: Path) -> None:
    async with proposal(root, [RAISE_PRICE + CONFTEST, GOOD_TESTS]) as editor:
        await editor.run("rolecall.tests.generate", uri=(root / "shop/price.py").as_uri())
        line = editor.hunks("shop/price.py")["p1/h1"].range.start.line
        every = await editor.actions("shop/price.py", line)
        titles = [title for title in every if "implement" not in title and "generate" not in title]
        asking = [title for title in titles if title.endswith("…")]
        first = titles.index(asking[0])
        assert titles[first : first + len(asking)] == asking
        assert max(i for i, title in enumerate(titles) if " accept " in title or " reject all" in title) < first


async def test_accepting_is_preferred_where_there_is_one_hunk_to_accept(root: Path) -> None:
    async with proposal(root, RAISE_PRICE, rich_capabilities()) as editor:
        line = editor.hunks("shop/price.py")["p1/h1"].range.start.line
        actions = await editor.actions("shop/price.py", line)
        assert [title.split()[1:3] for title, action in actions.items() if action.is_preferred] == [["accept", "h1:"]]


async def test_titles_come_at_once_and_the_rest_when_somebody_chooses(root: Path) -> None:
    async with proposal(root, RAISE_PRICE, rich_capabilities()) as editor:
        diagnostic = editor.hunks("shop/price.py")["p1/h1"]
        actions = await editor.actions("shop/price.py", diagnostic.range.start.line)
        accept = next(action for title, action in actions.items() if "accept h1" in title)
        assert accept.command is None
        assert accept.diagnostics is None
        whole = await resolved(editor, accept)
        assert whole.title == accept.title
        assert whole.command
        assert list(whole.command.arguments or ()) == [{"proposalId": "p1", "hunkId": "h1"}]
        assert [each.message for each in whole.diagnostics or ()] == [diagnostic.message]
        await editor.choose(whole)
        await until(lambda: "* 1.2" in editor.text("shop/price.py"))


async def test_an_action_of_somebody_elses_is_resolved_to_itself(root: Path) -> None:
    async with proposal(root, RAISE_PRICE, rich_capabilities()) as editor:
        for data in (None, 5, {"command": 7}, {"target": []}):
            strange = types.CodeAction("strange", data=data)
            assert (await editor.client.code_action_resolve_async(strange)).command is None


async def test_a_title_and_a_diagnostic_say_that_a_file_is_guarded_and_that_a_line_hides_characters(
    root: Path,
) -> None:
    async with proposal(root, CONFTEST) as editor:
        titles = list(await editor.actions("shop/price.py", 0))
        accept = next(title for title in titles if title.startswith("Rolecall: accept h1"))
        assert "[guarded: pytest runs it before any test; hides characters]" in accept
        assert any(
            title.startswith("Rolecall: accept all of p1") and "guarded: conftest.py" in title for title in titles
        )
        message = editor.hunks("shop/price.py")["p1/h1"].message
        assert "conftest.py is guarded: pytest runs it before any test." in message
        assert "Line 1, column 16 holds a character that turns the direction of writing" in message
        assert "\u202e" not in message


ADD_NET = (
    block("shop/price.py", "    return sum(items)\n", "    return sum(items)\n\n\ndef net(items):\n    return 1\n")
    + block("shop/cart.py", "from shop.price import total\n", "from shop.price import net, total\n")
    + block("shop/cart.py", "    return total(cart)\n", "    return net(cart)\n")
)


@pytest.mark.parametrize(
    ("chosen", "has_price", "has_cart"),
    [("Accept h1 too", True, True), ("Accept anyway", False, True), ("Cancel", False, False), ("", False, False)],
)
async def test_accepting_what_would_break_is_confirmed_with_what_is_missing(
    root: Path, chosen: str, has_price: bool, has_cart: bool
) -> None:
    async with proposal(root, ADD_NET) as editor:
        editor.open("shop/cart.py")
        editor.answer_to_question = lambda _: chosen
        await editor.execute("rolecall.hunk.reject", proposalId="p1", hunkId="h1")
        await editor.execute("rolecall.file.accept", proposalId="p1", path="shop/cart.py")
        await until(lambda: bool(editor.questions))
        assert "p1 would break: checkout calls net, which h1 adds" in editor.questions[-1]
        if has_cart:
            await until(lambda: "net(cart)" in editor.text("shop/cart.py"))
        else:
            assert (await editor.execute("rolecall.hunk.reject", proposalId="p1", hunkId="h2"))["hunkIds"] == ["h2"]
        assert ("def net" in editor.text("shop/price.py")) is has_price
        assert ("net(cart)" in editor.text("shop/cart.py")) is has_cart


DOUBLE = block("shop/price.py", "    return sum(items)\n", "    return 2 * sum(items)\n") + block(
    "tests/test_price.py", "", "def test_doubled():\n    assert total([1]) == 2\n"
)


async def test_what_is_left_after_a_rejection_is_tried_in_the_background_and_failing_is_confirmed(root: Path) -> None:
    with ChatServer(DOUBLE) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        async with editing(root, environ, {}) as editor:
            editor.open("tests/test_price.py")
            await editor.run("rolecall.brief.implement", uri=editor.open("shop/price.py"), brief="Double it.")
            await editor.execute("rolecall.hunk.reject", proposalId="p1", hunkId="h1")
            store = store_of(root.parent / "home")
            try:
                await until(lambda: load_proposal(store, "p1").tried)
            finally:
                store.close()
            await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h2")
            await until(lambda: bool(editor.questions))
            assert "1 test fails with this choice: tests/test_price.py::test_doubled" in editor.questions[-1]


async def test_a_stale_hunk_is_a_hint_near_its_place_that_can_be_regenerated_rejected_and_shown(root: Path) -> None:
    async with proposal(root, RAISE_PRICE) as editor:
        editor.replace_text(
            "shop/price.py", FILES["shop/price.py"].replace("return sum(items)", "return math.fsum(items)")
        )
        await until(lambda: "p1/h1" in editor.stale("shop/price.py"))
        assert not editor.hunks("shop/price.py")
        hint = editor.stale("shop/price.py")["p1/h1"]
        assert "The lines around it have changed since it was proposed." in hint.message
        assert hint.range.start.line == 5
        titles = list(await editor.actions("shop/price.py", 5))
        kinds = [title.split()[1] for title in titles if "h1" in title]
        assert kinds == ["regenerate", "reject", "show"]
        await editor.choose((await editor.actions("shop/price.py", 5))[titles[1]])
        await until(lambda: not editor.stale("shop/price.py"))


async def test_the_last_decision_can_be_undone_from_the_file_it_was_about(root: Path) -> None:
    async with proposal(root, RAISE_PRICE) as editor:
        assert not [title for title in await editor.actions("shop/price.py") if "undo" in title]
        await editor.execute("rolecall.hunk.reject", proposalId="p1", hunkId="h1")
        await until(lambda: not editor.hunks("shop/price.py"))
        title = "Rolecall: undo the last decision (p1: h1 rejected)"
        assert title not in await editor.actions("tests/test_price.py")
        await editor.choose((await editor.actions("shop/price.py"))[title])
        await until(lambda: "p1/h1" in editor.hunks("shop/price.py"))


async def test_what_another_tool_says_can_be_mended_where_the_editor_draws_the_review(root: Path) -> None:
    able = rich_capabilities()
    able.experimental = {"rolecall": {"review": True}}
    where = types.Range(types.Position(5, 4), types.Position(5, 10))
    said = types.Diagnostic(where, "Argument of type\n  list is not int", source="types")
    async with editing(root, environment(root.parent / "home"), None, able) as editor:
        uri = editor.open("shop/price.py")
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(uri),
            where,
            types.CodeActionContext([said], only=[types.CodeActionKind.QuickFix]),
        )
        actions = await editor.client.text_document_code_action_async(params) or ()
        assert [each.title for each in actions] == ["Rolecall: propose a fix of “Argument of type list is not int”"]
