"""Decisions that are taken back, texts that are undone, files that ask twice: over stdio, with real buffers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lsprotocol import types

from support.chat_server import ChatServer, Script
from support.editor import Editor, editing, until, value_of
from support.edits import block
from support.workspaces import FILES, contents, environment, write_workspace

PRICE = FILES["shop/price.py"]
ADD_TAX = block("shop/price.py", "    return sum(items)\n", "    return sum(items) * 1.2\n")
TWO_FILES = ADD_TAX + block("shop/tax.py", "", "RATE = 0.2\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


@contextlib.asynccontextmanager
async def proposal(root: Path, script: Script) -> AsyncIterator[Editor]:
    """An editor in which the Engineer's proposal p1 is shown on the open file."""
    with ChatServer(script) as chat:
        async with editing(root, environment(root.parent / "home", chat.base_url)) as editor:
            await editor.run("rolecall.brief.implement", uri=editor.open("shop/price.py"), brief="Add the tax.")
            yield editor


async def accept(editor: Editor, hunk_id: str = "h1") -> None:
    await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId=hunk_id)
    await until(lambda: f"p1/{hunk_id}" not in editor.hunks("shop/price.py"))


async def shown_state(editor: Editor, hunk_id: str = "h1") -> str:
    shown = await editor.execute("rolecall.proposal.show", proposalId="p1")
    states = {value_of(hunk, "hunkId"): value_of(hunk, "state") for hunk in value_of(shown, "hunks")}
    return states[hunk_id]


async def test_undoing_an_acceptance_takes_exactly_its_lines_out_and_offers_the_hunk_again(root: Path) -> None:
    async with proposal(root, ADD_TAX) as editor:
        await accept(editor)
        editor.type_at("shop/price.py", '"""Prices."""', "# typed meanwhile\n")
        await editor.execute("rolecall.decision.undo")
        await until(lambda: "p1/h1" in editor.hunks("shop/price.py"))
        assert editor.text("shop/price.py") == "# typed meanwhile\n" + PRICE
        await accept(editor)
        assert "* 1.2" in editor.text("shop/price.py")


async def test_undoing_a_rejection_offers_the_hunk_again(root: Path) -> None:
    async with proposal(root, ADD_TAX) as editor:
        await editor.execute("rolecall.hunk.reject", proposalId="p1", hunkId="h1", reason="too much")
        await until(lambda: "p1/h1" not in editor.hunks("shop/price.py"))
        await editor.execute("rolecall.decision.undo", proposalId="p1", hunkId="h1")
        await until(lambda: "p1/h1" in editor.hunks("shop/price.py"))


async def test_there_is_nothing_to_undo_before_a_decision(root: Path) -> None:
    async with proposal(root, ADD_TAX) as editor:
        await editor.execute("rolecall.decision.undo")
        await until(lambda: any("no decision to undo" in message for message in editor.messages))


async def test_an_acceptance_whose_lines_were_rewritten_is_not_undone_by_guessing(root: Path) -> None:
    async with proposal(root, ADD_TAX) as editor:
        await accept(editor)
        editor.replace_text("shop/price.py", editor.text("shop/price.py").replace("1.2", "1.19"))
        await editor.execute("rolecall.decision.undo")
        await until(lambda: any("changed since" in message for message in editor.messages))
        assert "* 1.19" in editor.text("shop/price.py")


async def test_a_hunk_undone_in_the_editor_is_offered_again_and_redone_it_is_accepted(root: Path) -> None:
    async with proposal(root, ADD_TAX) as editor:
        await accept(editor)
        accepted = editor.text("shop/price.py")
        editor.replace_text("shop/price.py", PRICE)
        await until(lambda: "p1/h1" in editor.hunks("shop/price.py"))
        editor.replace_text("shop/price.py", accepted)
        await until(lambda: "p1/h1" not in editor.hunks("shop/price.py"))


async def test_an_accepted_hunk_of_a_buffer_that_is_closed_unsaved_is_offered_again(root: Path) -> None:
    async with proposal(root, ADD_TAX) as editor:
        await accept(editor)
        editor.close("shop/price.py")
        await until(lambda: "p1/h1" in editor.hunks("shop/price.py"))
    assert contents(root)["shop/price.py"] == PRICE.encode()


async def test_a_hunk_edited_by_the_developer_brings_in_the_developers_text(root: Path) -> None:
    async with proposal(root, ADD_TAX) as editor:
        edited = "    taxed = sum(items) * 1.19\n    return taxed"
        await editor.execute("rolecall.hunk.edit", proposalId="p1", hunkId="h1", text=edited)
        await until(lambda: "+    return taxed" in editor.hunks("shop/price.py")["p1/h1"].message)
        await accept(editor)
        assert editor.text("shop/price.py") == PRICE.replace("    return sum(items)\n", edited + "\n")
        await editor.execute("rolecall.decision.undo")
        await until(lambda: "p1/h1" in editor.hunks("shop/price.py"))
        assert await shown_state(editor) == "edited"


async def test_a_refused_edit_of_two_files_is_undone_in_the_file_that_the_editor_had_changed(root: Path) -> None:
    async with proposal(root, TWO_FILES) as editor:
        editor.open("shop/tax.py", "")

        def half(edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
            assert edit.document_changes
            editor.answer_to_edit = editor.apply
            editor.apply(types.WorkspaceEdit(document_changes=edit.document_changes[:1]))
            return types.ApplyWorkspaceEditResult(applied=False, failure_reason="no room", failed_change=1)

        editor.answer_to_edit = half
        await editor.execute("rolecall.proposal.accept", proposalId="p1")
        await until(lambda: any("no room" in message for message in editor.messages))
        assert (editor.text("shop/price.py"), editor.text("shop/tax.py")) == (PRICE, "")
        assert await shown_state(editor) == "pending"


async def test_a_guarded_file_changes_only_after_a_second_question_that_names_it(root: Path) -> None:
    async with proposal(root, block("conftest.py", "", "import pytest\n")) as editor:
        editor.answer_to_question = lambda question: "Leave it"
        await editor.execute("rolecall.proposal.accept", proposalId="p1")
        await until(lambda: any("conftest.py was left as it is" in message for message in editor.messages))
        assert not editor.edits
        assert "conftest.py" in editor.questions[0]
        assert "pytest runs it before any test" in editor.questions[0]
        editor.answer_to_question = lambda question: "Change it"
        await editor.execute("rolecall.proposal.accept", proposalId="p1")
        await until(lambda: editor.edits)
        await until(lambda: editor.text("conftest.py") == "import pytest\n")


async def test_an_environment_that_the_folder_holds_is_named_before_anything_lands_in_it(root: Path) -> None:
    (root / "tools").mkdir()
    (root / "tools/pyvenv.cfg").write_text("home = /usr\n")
    async with proposal(root, block("tools/start.py", "", "import os\n")) as editor:
        editor.answer_to_question = lambda question: "Leave it"
        await editor.execute("rolecall.proposal.accept", proposalId="p1")
        await until(lambda: any("tools/start.py was left as it is" in message for message in editor.messages))
        assert "it lies in an environment" in editor.questions[0]
        assert not editor.edits


async def test_everything_can_be_accepted_or_rejected_at_once(root: Path) -> None:
    async with proposal(root, [ADD_TAX, block("shop/tax.py", "", "RATE = 0.2\n")]) as editor:
        uri = (root / "shop/price.py").as_uri()
        await editor.run("rolecall.brief.implement", uri=uri, brief="A rate.")
        await editor.execute("rolecall.all.accept")
        await until(lambda: len(editor.edits) == 2 and not editor.hunks("shop/price.py"))
        assert "* 1.2" in editor.text("shop/price.py")
        assert editor.text("shop/tax.py") == "RATE = 0.2\n"


async def test_an_acceptance_that_the_editor_made_just_before_the_server_died_counts_once_it_is_saved(
    root: Path,
) -> None:
    async with proposal(root, ADD_TAX) as editor:

        def save_and_kill(edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
            result = editor.apply(edit)
            editor.save("shop/price.py")
            editor.kill()
            return result

        editor.answer_to_edit = save_and_kill
        with contextlib.suppress(Exception):
            await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        await until(lambda: editor.killed)
    with ChatServer("") as chat:
        async with editing(root, environment(root.parent / "home", chat.base_url)) as editor:
            editor.open("shop/price.py")
            await editor.execute("rolecall.decision.undo", proposalId="p1", hunkId="h1")
            await until(lambda: "p1/h1" in editor.hunks("shop/price.py"))
            assert editor.text("shop/price.py") == PRICE
