"""The QA Engineer: tests for a file or a symbol, in the repository's own way, each of them run."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from rolecall_analysis import is_test_path, tests_of
from rolecall_server.context import Focus
from rolecall_server.craft.attempts import Work
from rolecall_server.errors import FileRefused
from rolecall_server.sandbox import NotRun, TestRun
from rolecall_server.team.opening import open_conversation
from rolecall_server.team.request import Desk, RunRequest
from rolecall_server.team.test_placement import choose_style_example, choose_test_path
from rolecall_server.team.trials import Trials
from rolecall_server.workspace import file_exists, read_text_or_none

_PROFILE = Path(__file__).with_suffix(".md")
_ON_FAILURE = (
    "Find out for each whether the test or the code is wrong. Correct the tests that are wrong. Where the code is "
    "wrong, take the case out again and say so in a sentence that begins with `Finding:`."
)
_MAX_LINES_NAMED = 60


async def write_tests(request: RunRequest, desk: Desk) -> tuple[Work, Trials]:
    """The work of testing the file or symbol of *request*, its tests as they are run already.

    Raises:
        FileRefused: there is no such file, it is a test file itself, or no Python.
    """
    _check(request)
    test_path = choose_test_path(desk.workspace, desk.snapshot, request.path)
    extends = file_exists(desk.workspace, test_path)
    trials = Trials(desk, (request.path,))
    existing = tests_of(desk.snapshot, request.path)
    await trials.without_change(existing)
    focus = Focus(
        request.path,
        request.symbol,
        test_path=test_path if extends else "",
        style_path=choose_style_example(desk.snapshot, test_path) or "",
        brief=request.brief,
    )
    task = _task(request, test_path, extends, trials.before)
    work = Work(
        opening=open_conversation(_PROFILE, desk, focus, task),
        read_text=lambda path: read_text_or_none(desk.workspace, path),
        refusal=_refusal,
        try_out=lambda files: trials.with_change(files, tuple(dict.fromkeys((*existing, *files)))),
        before=lambda: trials.before,
        on_failure=_ON_FAILURE,
    )
    return work, trials


def _check(request: RunRequest) -> None:
    if not request.path.endswith(".py"):
        raise FileRefused(f"{request.path or 'Nothing'} is no Python file.", "Open the module you want tests for.")
    if is_test_path(request.path):
        raise FileRefused(f"{request.path} is a test file itself.", "Open the module it tests.")


def _task(request: RunRequest, test_path: str, extends: bool, before: TestRun | NotRun | None) -> str:
    what = f"`{request.symbol}` in {request.path}" if request.symbol else request.path
    lines = [f"Write tests for {what}."]
    if extends:
        lines.append(f"Add them to {test_path}, which exists: an empty SEARCH adds at its end.")
        lines.append("Imports that they need and the file lacks go to its other imports, in an edit of their own.")
    else:
        lines.append(f"Put them into {test_path}, which does not exist yet: an empty SEARCH creates it.")
    if isinstance(before, TestRun) and request.path in before.coverage and not request.symbol:
        missing = before.coverage[request.path].missing_lines
        if missing:
            lines.append(f"The existing tests do not reach these lines of {request.path}: {_ranges(missing)}.")
    if request.brief:
        lines.append(f"The developer adds: {request.brief}")
    return "\n".join(lines)


def _ranges(numbers: Collection[int]) -> str:
    """``1-3, 7`` for 1, 2, 3 and 7; the first ones where there are many."""
    runs: list[list[int]] = []
    for number in sorted(numbers)[:_MAX_LINES_NAMED]:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    text = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    more = len(numbers) - _MAX_LINES_NAMED
    return f"{text} and {more} more" if more > 0 else text


def _refusal(path: str) -> str | None:
    if is_test_path(path) and PurePosixPath(path).name != "conftest.py":
        return None
    return f"The QA Engineer may change test files only, and {path} is none."
