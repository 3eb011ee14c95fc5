"""What real editors announced, recorded by pytest-lsp: each gets the richest form it can use, and none it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types
from pytest_lsp import client_capabilities

from support.chat_server import ChatServer
from support.editor import Editor, editing, until
from support.edits import block
from support.workspaces import environment, write_workspace

RAISE_PRICE = block("shop/price.py", "    return sum(items)\n", "    return sum(items) * 1.2\n")
RECORDED = ["neovim@v0.6.1", "neovim@v0.9.1", "neovim@v0.11.0", "emacs@v29.1", "visual-studio-code@v1.65.2"]


def announced(editor: Editor, method: str) -> bool:
    """Whether the editor sends *method*, because it was told at the beginning or later."""
    assert editor.initialized
    provider = {
        types.TEXT_DOCUMENT_HOVER: editor.initialized.capabilities.hover_provider,
        types.TEXT_DOCUMENT_CODE_LENS: editor.initialized.capabilities.code_lens_provider,
    }[method]
    return bool(provider) or method in editor.registered


@pytest.mark.parametrize("name", RECORDED)
async def test_a_hunk_is_shown_and_accepted_as_that_editor_does_it(tmp_path: Path, name: str) -> None:
    root, abilities = write_workspace(tmp_path / "work"), client_capabilities(name)
    assert abilities.workspace
    assert abilities.text_document
    with ChatServer(RAISE_PRICE) as chat:
        environ = environment(tmp_path / "home", chat.base_url)
        async with editing(root, environ, {"tests": {"run": False}}, abilities) as editor:
            await editor.execute("rolecall.brief.implement", uri=editor.open("shop/price.py"), brief="Raise it.")
            await until(lambda: editor.hunks("shop/price.py"))
            await until(lambda: announced(editor, types.TEXT_DOCUMENT_HOVER))
            if abilities.text_document.code_lens is not None:
                await until(lambda: announced(editor, types.TEXT_DOCUMENT_CODE_LENS))
                assert len(await editor.lenses("shop/price.py")) == 4
            assert announced(editor, types.TEXT_DOCUMENT_CODE_LENS) is (abilities.text_document.code_lens is not None)

            line = editor.hunks("shop/price.py")["p1/h1"].range.start.line
            actions = await editor.actions("shop/price.py", line)
            accept = next(action for title, action in actions.items() if "accept h1" in title)
            resolving = abilities.text_document.code_action and abilities.text_document.code_action.resolve_support
            comes_later = bool(resolving) and "command" in resolving.properties
            assert (accept.command is None) is comes_later
            await editor.choose(await editor.client.code_action_resolve_async(accept) if comes_later else accept)
            await until(lambda: "* 1.2" in editor.text("shop/price.py"))
            refreshing = abilities.workspace.code_lens is not None and abilities.workspace.code_lens.refresh_support
            await until(lambda: bool(editor.lens_refreshes) is bool(refreshing))
            support = abilities.workspace.workspace_edit
            assert bool(editor.edits[0].change_annotations) is bool(support and support.change_annotation_support)
            assert "Raise it." in await editor.hover("shop/price.py", line)


@pytest.mark.parametrize("name", RECORDED)
async def test_a_proposal_is_opened_where_the_editor_opens_documents_and_its_path_told_where_not(
    tmp_path: Path, name: str
) -> None:
    root, abilities = write_workspace(tmp_path / "work"), client_capabilities(name)
    assert abilities.window
    with ChatServer(RAISE_PRICE) as chat:
        environ = environment(tmp_path / "home", chat.base_url)
        async with editing(root, environ, {"tests": {"run": False}}, abilities) as editor:
            await editor.execute("rolecall.brief.implement", uri=editor.open("shop/price.py"), brief="Raise it.")
            await until(lambda: editor.hunks("shop/price.py"))
            await editor.execute("rolecall.proposal.show", proposalId="p1")
            if abilities.window.show_document and abilities.window.show_document.support:
                await until(lambda: editor.client.shown_documents)
                assert editor.client.shown_documents[0].uri.startswith("file:"), "none of these reads our documents"
            else:
                await until(lambda: any("the proposal is in" in message for message in editor.messages))
                assert not editor.client.shown_documents
