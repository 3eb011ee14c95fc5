"""Free text from editors without an input box: a document of ours, submitted by its save."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from support.chat_server import ChatServer, Script
from support.editor import Editor, capabilities, editing, rich_capabilities, until, value_of
from support.edits import block
from support.frames import connected
from support.workspaces import FILES, contents, environment, write_workspace

RAISE_PRICE = block("shop/price.py", "    return sum(items)\n", "    return sum(items) * 1.2\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


@contextlib.asynccontextmanager
async def session(
    root: Path, script: Script, abilities: types.ClientCapabilities | None = None
) -> AsyncIterator[tuple[Editor, ChatServer]]:
    """An editor without a box to type in, on an open file."""
    with ChatServer(script) as chat:
        environ, settings = environment(root.parent / "home", chat.base_url), {"tests": {"run": False}}
        async with editing(root, environ, settings, abilities or rich_capabilities()) as editor:
            editor.open("shop/price.py")
            yield editor, chat


@contextlib.asynccontextmanager
async def proposal(root: Path, script: Script) -> AsyncIterator[tuple[Editor, ChatServer]]:
    async with session(root, script) as (editor, chat):
        await editor.run("rolecall.brief.implement", uri=uri(root), brief="Raise it.")
        yield editor, chat


def uri(root: Path) -> str:
    return (root / "shop/price.py").as_uri()


def document_of(reply: Any) -> Path:
    """The file that the developer is to write in."""
    return Path(str(value_of(reply, "document")).removeprefix("file://"))


def write(editor: Editor, document: Path, text: str, *, told: bool = True, ready: bool = True) -> None:
    """Put *text* above the scissors and save; *told*: the editor tells the server of it; *ready*: nothing holds it."""
    below = document.read_text(encoding="utf-8").partition("# ---- 8<")[2]
    if ready:
        below = "".join(line for line in below.splitlines(keepends=True) if not line.startswith("# Delete this line"))
    document.write_text(f"{text}# ---- 8<{below}", encoding="utf-8")
    if told:
        identifier = types.TextDocumentIdentifier(document.as_uri())
        editor.client.text_document_did_save(types.DidSaveTextDocumentParams(identifier))


@pytest.mark.parametrize("told", [True, False], ids=["the editor tells of the save", "only the file changes"])
async def test_a_brief_is_written_in_a_document_and_its_save_starts_the_work(root: Path, told: bool) -> None:
    before = contents(root)
    async with session(root, RAISE_PRICE) as (editor, chat):
        document = document_of(await editor.execute("rolecall.brief.implement", uri=uri(root)))
        await until(lambda: [each.uri for each in editor.client.shown_documents] == [document.as_uri()])
        assert "save: that starts the work" in document.read_text(encoding="utf-8")
        assert document.is_relative_to(root.parent / "home")
        write(editor, document, "Raise every price\nby a fifth.\n", told=told)
        await until(lambda: editor.ended_runs)
        assert chat.asked[0]["messages"][1]["content"].endswith("# Your task\n\nRaise every price\nby a fifth.")
        assert "p1/h1" in editor.hunks("shop/price.py")
    assert contents(root) == before, "nothing of it lies in the workspace"


@pytest.mark.parametrize("text", ["", "\n  \n"])
async def test_an_empty_document_submits_nothing_and_can_still_be_written(root: Path, text: str) -> None:
    async with session(root, RAISE_PRICE) as (editor, chat):
        document = document_of(await editor.execute("rolecall.brief.implement", uri=uri(root)))
        write(editor, document, text)
        await editor.actions("shop/price.py")  # the save has been looked at by now
        assert not chat.asked
        write(editor, document, "Raise it.\n")
        await until(lambda: editor.ended_runs)


@pytest.mark.parametrize("told", [True, False], ids=["the editor tells of the save", "only the file changes"])
async def test_what_an_editor_saves_by_itself_waits_until_the_developer_lets_it_go(root: Path, told: bool) -> None:
    async with session(root, RAISE_PRICE) as (editor, chat):
        document = document_of(await editor.execute("rolecall.brief.implement", uri=uri(root)))
        for half in ("Rai", "Raise every pri", "Raise every price\n"):
            write(editor, document, half, told=told, ready=False)
            await asyncio.sleep(0.7)  # longer than a document that nobody tells of goes unlooked at
        assert not chat.asked
        write(editor, document, "Raise every price\n", told=told)
        await until(lambda: editor.ended_runs)
        assert len(chat.asked) == 1


async def test_a_text_that_was_typed_over_everything_is_not_handed_over(root: Path) -> None:
    async with session(root, RAISE_PRICE) as (editor, chat):
        document = document_of(await editor.execute("rolecall.brief.implement", uri=uri(root)))
        whole = document.read_text(encoding="utf-8")
        document.write_text("Rai", encoding="utf-8")
        editor.client.text_document_did_save(
            types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(document.as_uri()))
        )
        await editor.actions("shop/price.py")  # the save has been looked at by now
        assert not chat.asked
        document.write_text(whole, encoding="utf-8")
        write(editor, document, "Raise it.\n")
        await until(lambda: editor.ended_runs)


async def test_a_brief_is_taken_once(root: Path) -> None:
    async with session(root, RAISE_PRICE) as (editor, chat):
        document = document_of(await editor.execute("rolecall.brief.implement", uri=uri(root)))
        write(editor, document, "Raise it.\n")
        await until(lambda: editor.ended_runs)
        write(editor, document, "Raise it again.\n")
        await until(lambda: any("was taken before" in message for message in editor.messages))
        assert len(chat.asked) == 1


async def test_a_brief_that_could_not_be_worked_on_is_taken_at_the_next_save(root: Path) -> None:
    async with session(root, RAISE_PRICE) as (editor, chat):
        document = document_of(await editor.execute("rolecall.brief.implement", uri=uri(root)))
        await configure(editor, {"model": {"replay": str(root / "missing.jsonl")}})
        write(editor, document, "Raise it.\n")
        await until(lambda: any("missing.jsonl" in message for message in editor.messages))
        await configure(editor, {"model": {"replay": ""}, "tests": {"run": False}})
        write(editor, document, "Raise it.\n")
        await until(lambda: editor.ended_runs)


async def configure(editor: Editor, settings: dict[str, Any]) -> None:
    params = types.DidChangeConfigurationParams({"rolecall": settings})
    editor.client.workspace_did_change_configuration(params)


async def test_an_editor_that_cannot_show_the_document_is_told_where_it_is(root: Path) -> None:
    abilities = capabilities(rolecall=False)
    async with session(root, RAISE_PRICE, abilities) as (editor, chat):
        document = document_of(await editor.execute("rolecall.brief.implement", uri=uri(root)))
        await until(
            lambda: any(
                f"write in {document}, delete the line below the scissors and save it" in message
                for message in editor.messages
            )
        )


async def test_a_hunk_is_edited_in_a_document_as_often_as_it_is_saved(root: Path) -> None:
    async with proposal(root, RAISE_PRICE) as (editor, chat):
        document = document_of(await editor.execute("rolecall.hunk.edit", proposalId="p1", hunkId="h1"))
        assert document.suffix == ".py"
        assert document.read_text(encoding="utf-8").startswith("    return sum(items) * 1.2\n# ---- 8<")
        write(editor, document, "    return sum(items) * 1.3\n")
        await until(lambda: "* 1.3" in editor.hunks("shop/price.py")["p1/h1"].message)
        write(editor, document, "    # a comment counts\n    return sum(items) * 1.4\n")
        await until(lambda: "* 1.4" in editor.hunks("shop/price.py")["p1/h1"].message)
        await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        await until(lambda: not editor.hunks("shop/price.py"))
        expected = "    # a comment counts\n    return sum(items) * 1.4\n"
        assert editor.text("shop/price.py") == FILES["shop/price.py"].replace("    return sum(items)\n", expected)
        assert "then edited by the developer" in await editor.hover("shop/price.py", 5)


async def test_the_reason_of_a_rejection_is_written_in_a_document_and_told_to_the_role_next_time(root: Path) -> None:
    async with proposal(root, [RAISE_PRICE, RAISE_PRICE]) as (editor, chat):
        reply = await editor.execute("rolecall.hunk.reject", proposalId="p1", hunkId="h1", ask=True)
        assert list(value_of(reply, "hunkIds")) == []
        document = document_of(reply)
        assert "# +    return sum(items) * 1.2" in document.read_text(encoding="utf-8")
        assert "p1/h1" in editor.hunks("shop/price.py"), "nothing is decided yet"
        write(editor, document, "Prices hold\ntax already.\n")
        await until(lambda: not editor.hunks("shop/price.py"))
        await editor.run("rolecall.brief.implement", uri=uri(root), brief="Something else.")
        opening = chat.asked[1]["messages"][1]["content"]
        told = opening.partition("# What the developer turned down before")[2]
        assert "- changes total in shop/price.py (-1 +1): Prices hold tax already." in told
        assert "turned down" not in chat.asked[0]["messages"][1]["content"]


async def test_an_editor_with_a_box_is_asked_there(root: Path) -> None:
    async with session(root, RAISE_PRICE, capabilities()) as (editor, chat):
        await editor.run("rolecall.brief.implement", uri=uri(root), brief="Raise it.")
        editor.brief = None
        await editor.execute("rolecall.hunk.reject", proposalId="p1", hunkId="h1", ask=True)
        assert "p1/h1" in editor.hunks("shop/price.py"), "the developer closed the box"
        editor.brief = "too dear"
        await editor.execute("rolecall.hunk.reject", proposalId="p1", hunkId="h1", ask=True)
        await until(lambda: not editor.hunks("shop/price.py"))


async def test_a_document_of_ours_brings_no_folder_into_a_session_without_any(root: Path) -> None:
    async with connected(root, environment(root.parent / "home")) as client:
        await client.initialize()

        async def command(name: str, **arguments: object) -> Any:
            params = {"command": name, "arguments": [arguments]}
            return (await client.request("workspace/executeCommand", params))["result"]

        document = (await command("rolecall.brief.implement", uri=uri(root)))["document"]
        item = {"uri": document, "languageId": "markdown", "version": 1, "text": ""}
        await client.notify("textDocument/didOpen", {"textDocument": item})
        assert (await command("rolecall.tests.generate", uri=document))["error"] == "FileRefused"
