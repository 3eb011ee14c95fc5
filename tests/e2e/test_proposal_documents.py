"""`workspace/textDocumentContent`, and a proposal as a document in editors that lack it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from support.chat_server import ChatServer
from support.editor import Editor, capabilities, editing, rich_capabilities, until
from support.edits import block
from support.workspaces import contents, environment, write_workspace

TWO_FILES = block("shop/price.py", "    return sum(items)\n", "    return sum(items) * 1.2\n") + block(
    "shop/tax.py", "", "RATE = 0.2\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


@contextlib.asynccontextmanager
async def proposal(root: Path, abilities: types.ClientCapabilities | None = None) -> AsyncIterator[Editor]:
    with ChatServer(TWO_FILES) as chat:
        environ, settings = environment(root.parent / "home", chat.base_url), {"tests": {"run": False}}
        async with editing(root, environ, settings, abilities) as editor:
            await editor.run("rolecall.brief.implement", uri=editor.open("shop/price.py"), brief="Raise it.")
            yield editor


async def read(editor: Editor, uri: str) -> str:
    found = await editor.client.workspace_text_document_content_async(types.TextDocumentContentParams(uri))
    return found.text


async def test_a_proposal_a_file_and_a_hunk_of_it_are_documents(root: Path) -> None:
    async with proposal(root, rich_capabilities()) as editor:
        whole = await read(editor, "rolecall-proposal:/p1.diff")
        assert whole.startswith("# Raise it. (p1, Engineer)")
        assert "+    return sum(items) * 1.2" in whole
        assert "+RATE = 0.2" in whole
        for part in ("rolecall-proposal:/p1/h2.diff", "rolecall-proposal:/p1/files/shop/tax.py.diff"):
            text = await read(editor, part)
            assert "+RATE = 0.2" in text
            assert "sum(items)" not in text


async def test_showing_opens_that_document_where_the_editor_reads_it_from_us(root: Path) -> None:
    async with proposal(root, rich_capabilities()) as editor:
        await editor.execute("rolecall.proposal.show", proposalId="p1", path="shop/tax.py")
        await until(lambda: editor.client.shown_documents)
        assert [each.uri for each in editor.client.shown_documents] == ["rolecall-proposal:/p1/files/shop/tax.py.diff"]


async def test_an_editor_that_only_shows_documents_gets_a_file_beside_the_store(root: Path) -> None:
    abilities, before = capabilities(), contents(root)
    assert abilities.window
    abilities.window.show_document = types.ShowDocumentClientCapabilities(support=True)
    async with proposal(root, abilities) as editor:
        await editor.execute("rolecall.proposal.show", proposalId="p1", hunkId="h2")
        await until(lambda: editor.client.shown_documents)
        shown = Path(editor.client.shown_documents[0].uri.removeprefix("file://"))
        assert "+RATE = 0.2" in shown.read_text(encoding="utf-8")
        assert shown.is_relative_to(root.parent / "home")
    assert contents(root) == before


async def test_any_other_editor_is_told_where_that_file_is(root: Path) -> None:
    async with proposal(root) as editor:
        await editor.execute("rolecall.proposal.show", proposalId="p1")
        await until(lambda: any("the proposal is in" in message for message in editor.messages))


async def test_the_editor_is_told_when_a_document_it_reads_has_changed(root: Path) -> None:
    async with proposal(root, rich_capabilities()) as editor:
        uri, other = "rolecall-proposal:/p1.diff", "rolecall-proposal:/p1/h2.diff"
        await read(editor, uri)
        await read(editor, other)
        await editor.execute("rolecall.hunk.reject", proposalId="p1", hunkId="h1", reason="too dear")
        await until(lambda: editor.content_refreshes)
        assert editor.content_refreshes == [uri], "the hunk h2 is as it was"
        assert "[rejected: too dear]" in await read(editor, uri)


@pytest.mark.parametrize("uri", ["rolecall-proposal:/p9.diff", "rolecall-proposal:/p1/h9.diff", "rolecall-proposal:x"])
async def test_an_address_of_nothing_is_an_error(root: Path, uri: str) -> None:
    async with proposal(root, rich_capabilities()) as editor:
        with pytest.raises(JsonRpcException) as raised:
            await read(editor, uri)
        assert raised.value.code == -32602


async def test_edits_say_what_they_are_for_where_the_editor_takes_that_and_never_ask_for_a_confirmation(
    root: Path,
) -> None:
    async with proposal(root, rich_capabilities()) as editor:
        await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        await until(lambda: "* 1.2" in editor.text("shop/price.py"))
        [edit] = editor.edits
        assert edit.change_annotations
        [annotation] = edit.change_annotations.values()
        assert annotation.label == "Rolecall: Raise it."
        assert annotation.needs_confirmation is False
        assert edit.document_changes
        changed = edit.document_changes[0]
        assert isinstance(changed, types.TextDocumentEdit)
        assert {type(each) for each in changed.edits} == {types.AnnotatedTextEdit}
