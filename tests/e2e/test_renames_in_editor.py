"""A new name for a file, accepted in an editor: taken back, undone there, and cut short on the way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lsprotocol import types

from rolecall_server.review.proposals.proposal import HunkKind, HunkState
from rolecall_server.review.proposals.proposal_store import load_proposal
from support.editor import Editor, editing, until
from support.proposals import propose, store_of
from support.workspaces import FILES, environment, write_workspace

OLD, NEW = "shop/price.py", "shop/prices.py"
TEXT = FILES[OLD]
BETTER = TEXT.replace("    return sum(items)\n", "    return sum(items) * 1.2\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = write_workspace(tmp_path / "work")
    propose(store_of(root.parent / "home"), root, {NEW: BETTER}, {OLD: NEW})
    return root


def accepted(root: Path) -> set[HunkKind]:
    """The kinds of the hunks that the store has as accepted."""
    reviewed = load_proposal(store_of(root.parent / "home"), "p1")
    return {hunk.kind for _, hunk in reviewed.proposal.hunks() if reviewed.states[hunk.id] is HunkState.ACCEPTED}


def on_disk(root: Path) -> dict[str, str]:
    return {path: (root / path).read_text() for path in (OLD, NEW) if (root / path).exists()}


BOTH = {HunkKind.RENAME, HunkKind.TEXT}


async def test_a_new_name_and_its_lines_are_undone_by_command_and_by_the_editor(root: Path) -> None:
    async with editing(root, environment(root.parent / "home")) as editor:
        editor.open(OLD)
        await editor.execute("rolecall.proposal.accept", proposalId="p1")
        await until(lambda: accepted(root) == BOTH)
        assert editor.text(NEW) == BETTER
        assert on_disk(root) == {NEW: TEXT}, "the lines are not saved"
        await editor.execute("rolecall.decision.undo")
        await until(lambda: accepted(root) == set())
        assert editor.text(OLD) == TEXT
        await editor.execute("rolecall.proposal.accept", proposalId="p1")
        await until(lambda: accepted(root) == BOTH)
        editor.rename(*(((root / path).as_uri()) for path in (NEW, OLD)))
        editor.replace_text(OLD, TEXT)
        await until(lambda: accepted(root) == set())


async def killed(root: Path, half: Callable[[Editor, types.WorkspaceEdit], object]) -> list[str]:
    """Accept in an editor that makes *half* of the edit when its server is killed; what the next server says."""
    variables = environment(root.parent / "home")
    async with editing(root, variables) as editor:

        def die(edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
            half(editor, edit)
            editor.kill()
            return types.ApplyWorkspaceEditResult(applied=True)

        editor.answer_to_edit = die
        editor.client.protocol.send_request(
            types.WORKSPACE_EXECUTE_COMMAND,
            types.ExecuteCommandParams("rolecall.proposal.accept", [{"proposalId": "p1"}]),
        )
        await until(lambda: editor.killed)
    async with editing(root, variables) as editor:
        await until(lambda: any("ended while files were changed" in message for message in editor.messages))
        return [message for message in editor.messages if "ended while" in message]


def name_alone(editor: Editor, edit: types.WorkspaceEdit) -> None:
    (editor.root / OLD).rename(editor.root / NEW)


def lines_alone(editor: Editor, edit: types.WorkspaceEdit) -> None:
    (editor.root / OLD).write_text(BETTER)


def nothing(editor: Editor, edit: types.WorkspaceEdit) -> None:
    pass


def everything(editor: Editor, edit: types.WorkspaceEdit) -> None:
    (editor.root / OLD).unlink()
    (editor.root / NEW).write_text(BETTER)


@pytest.mark.parametrize(
    ("half", "stands", "says"),
    [
        (name_alone, {HunkKind.RENAME}, f"{NEW} has h1; {NEW} does not have h2."),
        (lines_alone, {HunkKind.TEXT}, f"{OLD} has h2"),
        (nothing, set[HunkKind](), f"{NEW} does not have h1, h2"),
        (everything, BOTH, f"{NEW} has h1, h2."),
    ],
)
async def test_of_a_rename_that_was_cut_short_counts_what_the_disk_shows_and_it_is_told(
    root: Path, half: Callable[[Editor, types.WorkspaceEdit], object], stands: set[HunkKind], says: str
) -> None:
    (told,) = await killed(root, half)
    assert says in told
    assert accepted(root) == stands
