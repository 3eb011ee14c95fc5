"""The Engineer: what a brief asks for, as the smallest change that the tests bear out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from rolecall_analysis import Snapshot, is_test, is_test_path
from rolecall_server.context import Focus, named_files
from rolecall_server.craft.attempt import AttemptWork
from rolecall_server.craft.attempts import EDIT_FORMAT, FILE_OPERATIONS
from rolecall_server.craft.trial import with_failures
from rolecall_server.craft.wanted_files import wanted_files
from rolecall_server.errors import BriefMissing, FileRefused
from rolecall_server.review.guards.edit_paths import why_not_changed
from rolecall_server.sandbox import NotRun, TestRun
from rolecall_server.team.opening import open_conversation, tell_how_to_begin
from rolecall_server.team.request import Desk, RunRequest
from rolecall_server.team.test_quality.test_placement import choose_style_example, choose_test_path
from rolecall_server.team.test_quality.trials import Trials
from rolecall_server.workspace import Workspace, file_exists, read_for_model

_PROFILE = Path(__file__).with_suffix(".md")
_ON_FAILURE = (
    "They fail since your change. Correct it; change a test that was there before only where the brief asks for "
    "behaviour that it contradicts."
)


async def implement(request: RunRequest, desk: Desk, told: str = "") -> tuple[AttemptWork, Trials]:
    """Prepare the work of implementing the brief of *request*.

    *told* is what to say of it where somebody else writes the tests; else that is the brief itself, and what is settled
    about it.

    Raises:
        BriefMissing: there is nothing to implement.
        FileRefused: the file it names cannot be read.
    """
    if not request.brief.strip():
        raise BriefMissing("The Engineer needs a brief.", "Say in a sentence what to implement.")
    if request.makes_file and (reason := why_not_changed(desk.workspace, request.path)):
        raise FileRefused(reason, "Name another file.")
    path = "" if request.makes_file else request.path
    focus = await asyncio.to_thread(focus_of, request, path, desk.workspace, desk.snapshot)
    trials = Trials(desk, (path,) if path.endswith(".py") else ())
    settled = "" if told else desk.settled
    files = [one for one in wanted_files(request.brief) if not (told and is_test_path(one))]
    task = "\n\n".join(part for part in (told or task_of(request), settled, tell_how_to_begin(desk, files)) if part)

    async def try_out(files: Mapping[str, str | None]) -> TestRun | NotRun:
        return with_failures(await trials.of_change(files), await desk.also_try(files))

    work = AttemptWork(
        opening=await open_conversation(_PROFILE, desk, focus, task, EDIT_FORMAT + FILE_OPERATIONS),
        read_text=lambda path: read_for_model(desk.workspace, path),
        refusal=lambda path: why_not_changed(desk.workspace, path),
        try_out=try_out,
        before=lambda: trials.before,
        on_failure=_ON_FAILURE,
        moves_files=True,
    )
    return work, trials


def focus_of(request: RunRequest, path: str, workspace: Workspace, snapshot: Snapshot) -> Focus:
    """Return the subject of the Engineer's work on *request*; *path* is the file it was given on, if there is one."""
    test_path, style_path = _tests_to_show(path, workspace, snapshot)
    return Focus(
        path,
        request.symbol,
        test_path=test_path,
        style_path=style_path,
        brief=request.brief,
        hand=request.hand,
        writes_code=True,
        named=named_files(workspace, request.brief),
    )


def _tests_to_show(path: str, workspace: Workspace, snapshot: Snapshot) -> tuple[str, str]:
    """Return the test file of the file in focus, or else, as the second value, a test file to imitate."""
    if not path.endswith(".py") or is_test(snapshot, path):
        return "", ""
    chosen = choose_test_path(workspace, snapshot, path)
    if file_exists(workspace, chosen):
        return chosen, ""
    return "", choose_style_example(snapshot, path, chosen) or ""


def task_of(request: RunRequest) -> str:
    """Return the brief of *request*, with the place it was given on."""
    where = f"\nIt was given on `{request.symbol}` in {request.path}." if request.symbol else ""
    if request.hand.selection is not None:
        first, last = request.hand.selection
        where += f"\nThe developer had selected lines {first} to {last} of {request.path}."
    if request.makes_file:
        where += f"\nPut it into {request.path}, which does not exist yet: an empty SEARCH creates it."
    return f"{request.brief.strip()}{where}"
