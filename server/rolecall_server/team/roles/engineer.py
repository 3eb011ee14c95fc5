"""The Engineer: what a brief asks for, as the smallest change that the tests bear out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from rolecall_analysis import is_test_path
from rolecall_server.context import Focus
from rolecall_server.craft.attempts import Work
from rolecall_server.craft.trial import affected_tests
from rolecall_server.errors import BriefMissing
from rolecall_server.sandbox import NotRun, TestRun
from rolecall_server.team.opening import open_conversation
from rolecall_server.team.request import Desk, RunRequest
from rolecall_server.team.test_placement import choose_style_example, choose_test_path
from rolecall_server.team.trials import Trials
from rolecall_server.workspace import file_exists, read_text_or_none, why_not_changed

_PROFILE = Path(__file__).with_suffix(".md")
_ON_FAILURE = (
    "They pass without your change. Correct your change; change a test only where the brief asks for behaviour that "
    "it contradicts."
)


async def implement(request: RunRequest, desk: Desk) -> tuple[Work, Trials]:
    """The work of implementing the brief of *request*.

    Raises:
        BriefMissing: there is nothing to implement.
        FileRefused: the file it names cannot be read.
    """
    if not request.brief.strip():
        raise BriefMissing("The Engineer needs a brief.", "Say in a sentence what to implement.")
    test_path, style_path = await asyncio.to_thread(_tests_to_show, request, desk)
    focus = Focus(request.path, request.symbol, test_path=test_path, style_path=style_path, brief=request.brief)
    trials = Trials(desk, (request.path,) if request.path.endswith(".py") else ())

    async def try_out(files: Mapping[str, str]) -> TestRun | NotRun:
        changed = await asyncio.to_thread(desk.snapshot.with_changes, dict(files))
        targets = await asyncio.to_thread(affected_tests, changed, files)
        if not targets:
            return NotRun("No test reaches the changed files.")
        await trials.without_change(targets)
        return await trials.with_change(files, targets)

    work = Work(
        opening=await open_conversation(_PROFILE, desk, focus, _task(request)),
        read_text=lambda path: read_text_or_none(desk.workspace, path),
        refusal=lambda path: why_not_changed(desk.workspace, path),
        try_out=try_out,
        before=lambda: trials.before,
        on_failure=_ON_FAILURE,
    )
    return work, trials


def _tests_to_show(request: RunRequest, desk: Desk) -> tuple[str, str]:
    """The test file of the file in focus, where it has one; else one to imitate."""
    if not request.path.endswith(".py") or is_test_path(request.path):
        return "", ""
    chosen = choose_test_path(desk.workspace, desk.snapshot, request.path)
    if file_exists(desk.workspace, chosen):
        return chosen, ""
    return "", choose_style_example(desk.snapshot, request.path, chosen) or ""


def _task(request: RunRequest) -> str:
    where = f"\nIt was given on `{request.symbol}` in {request.path}." if request.symbol else ""
    return f"{request.brief.strip()}{where}"
