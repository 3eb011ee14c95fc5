"""The QA Engineer: tests for a file or a symbol, in the repository's own way, each of them run."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rolecall_analysis import Snapshot, definitions_in, find_definition, is_test, tests_of
from rolecall_server.context import Focus
from rolecall_server.craft.attempt import Attempt, AttemptWork
from rolecall_server.craft.test_quality.test_text import changed_tests
from rolecall_server.craft.verdicts import read_suspicions, unexplained
from rolecall_server.errors import FileRefused, NotFound
from rolecall_server.model.recordings.recording import ABOUT_THE_MACHINE
from rolecall_server.review.guards.edit_paths import why_not_changed
from rolecall_server.team.opening import open_conversation
from rolecall_server.team.request import Desk, RunRequest
from rolecall_server.team.roles.qa_aims import Aims, find_aims
from rolecall_server.team.roles.qa_repair import begin_repair
from rolecall_server.team.test_quality.reported import tell_known
from rolecall_server.team.test_quality.test_filter import is_own_module, unsound_in
from rolecall_server.team.test_quality.test_placement import choose_style_example, choose_test_path, is_for_tests
from rolecall_server.team.test_quality.trials import Trials
from rolecall_server.workspace import file_exists, read_for_model, read_text_file

_PROFILE = Path(__file__).with_suffix(".md")
_ON_FAILURE = "Correct the tests. What the code does wrong is a line that begins with `Finding:`, in the form you know."
_MAX_NAMED = 5
_EARLIER = (
    "You proposed the tests below for this before, and the developer wants them otherwise. They are not in the file: "
    "write all of them anew, as the developer now adds."
)


async def write_tests(request: RunRequest, desk: Desk) -> tuple[AttemptWork, Trials]:
    """Prepare the work of testing the file or symbol of *request*, after running the tests that it has already.

    Raises:
        FileRefused: there is no such file, it is a test file itself, or no Python.
        NotFound: the file has no such symbol.
    """
    check_target(request, desk)
    test_path = await asyncio.to_thread(choose_test_path, desk.workspace, desk.snapshot, request.path)
    extends = file_exists(desk.workspace, test_path)
    trials = Trials(desk, (request.path,))
    existing = await asyncio.to_thread(tests_of, desk.snapshot, request.path)
    await trials.without_change(existing)
    aims = await find_aims(request, desk, trials.before, existing)
    style_path = await asyncio.to_thread(choose_style_example, desk.snapshot, request.path, test_path)
    focus = Focus(
        request.path,
        request.symbol,
        test_path=test_path if extends else "",
        style_path=style_path or "",
        brief=request.brief,
        hand=request.hand,
    )
    task = _task(request, aims, test_path, await desk.bench.tools(), extends=extends)
    if desk.earlier:
        task = f"{_EARLIER}\n\n{desk.earlier}\n{task}"

    def is_own(name: str) -> bool:
        return is_own_module(desk.snapshot, name)

    work = AttemptWork(
        opening=await open_conversation(_PROFILE, desk, focus, task),
        read_text=lambda path: read_for_model(desk.workspace, path),
        refusal=lambda path: why_not_changed(desk.workspace, path) or _refusal(desk.snapshot, path),
        try_out=lambda files: trials.with_change(files, tuple(dict.fromkeys((*existing, *files)))),
        before=lambda: trials.before,
        on_failure=_ON_FAILURE,
        chosen=aims.reason,
        objection=lambda path, text: _objection(path, text, read_for_model(desk.workspace, path)),
        to_mend=lambda failures, said: unexplained(failures, said, is_own),
        begin_repair=lambda attempt, said: begin_repair(
            desk.workspace, desk.snapshot, request.path, attempt, _known(request, desk, attempt, said)
        ),
    )
    return work, trials


def _known(request: RunRequest, desk: Desk, attempt: Attempt, said: str) -> str:
    """Return what is known of the tests of *attempt* that need no mending, so that they are not sent again."""
    bases = {path: read_for_model(desk.workspace, path) for path in attempt.files}
    reported = (f"{one.path}::{one.symbol}: {one.sentence}" for one in read_suspicions(said))
    return tell_known(reported, unsound_in(request, desk.snapshot, attempt.files, bases))


def check_target(request: RunRequest, desk: Desk) -> None:
    """Hold *request* to a Python module that is no test, and to a symbol that it has.

    Raises:
        FileRefused: the file is a test itself, or no Python.
        NotFound: the file has no such symbol.
    """
    if not request.path.endswith(".py"):
        raise FileRefused(f"{request.path or 'Nothing'} is no Python file.", "Open the module you want tests for.")
    if is_test(desk.snapshot, request.path):
        raise FileRefused(f"{request.path} is a test file itself.", "Open the module it tests.")
    if not read_text_file(desk.workspace, request.path).text.strip():
        raise FileRefused(f"{request.path} is empty.", "There is nothing to test in it yet.")
    if request.symbol and find_definition(desk.snapshot, request.path, request.symbol) is None:
        names = [d.qualified_name for d in definitions_in(desk.snapshot, request.path) if d.kind != "variable"]
        raise NotFound(f"{request.path} has no {request.symbol}.", f"It has: {', '.join(names) or 'nothing to test'}.")


def _task(request: RunRequest, aims: Aims, test_path: str, tools: str, *, extends: bool) -> str:
    what = f"`{request.symbol}` in {request.path}" if request.symbol else request.path
    lines = [f"Write tests for {what}."]
    if extends:
        lines.append(f"Add them to {test_path}, which exists: beside the tests they belong with, or at its end.")
        lines.append("Imports that they need and the file lacks go to its other imports, in an edit of their own.")
    else:
        lines.append(f"Put them into {test_path}, which does not exist yet: an empty SEARCH creates it.")
    # Recordings know this line by its beginning and leave it out, as it is another on each machine.
    lines += [f"{ABOUT_THE_MACHINE}{tools}."] if tools else []
    lines += aims.task
    if request.brief:
        lines.append(f"The developer adds: {request.brief}")
    return "\n".join(lines)


def _objection(path: str, text: str, base: str | None) -> str | None:
    """Return the reason why *text* may not take the place of *base*: it changes tests of the developer's, or leaves
    them out; else ``None``.
    """
    changed = changed_tests(text, base) if base else ()
    if not changed:
        return None
    return f"Your edits of {path} change {', '.join(changed[:_MAX_NAMED])}, which exist: leave them as they are."


def _refusal(snapshot: Snapshot, path: str) -> str | None:
    if is_for_tests(snapshot, path):
        return None
    return f"The QA Engineer may change test files, and what lies with them, only; {path} is none."
