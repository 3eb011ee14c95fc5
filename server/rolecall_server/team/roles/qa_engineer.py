"""The QA Engineer: tests for a file or a symbol, in the repository's own way, each of them run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from rolecall_analysis import Position, definitions_in, enclosing_definition, find_definition, is_test_path, tests_of
from rolecall_server.context import Focus
from rolecall_server.craft.attempts import Work
from rolecall_server.errors import FileRefused, NotFound
from rolecall_server.sandbox import NotRun, TestRun
from rolecall_server.team.opening import open_conversation
from rolecall_server.team.request import Desk, RunRequest
from rolecall_server.team.test_placement import choose_style_example, choose_test_path
from rolecall_server.team.trials import Trials
from rolecall_server.workspace import file_exists, read_text_file, read_text_or_none, split_lines, why_not_changed

_PROFILE = Path(__file__).with_suffix(".md")
_ON_FAILURE = (
    "Find out for each whether the test or the code is wrong. Correct the tests that are wrong. Where the code is "
    "wrong, take the case out again and say so in a sentence that begins with `Finding:`."
)
_MAX_RUNS_NAMED = 40


async def write_tests(request: RunRequest, desk: Desk) -> tuple[Work, Trials]:
    """The work of testing the file or symbol of *request*, its tests as they are run already.

    Raises:
        FileRefused: there is no such file, it is a test file itself, or no Python.
        NotFound: the file has no such symbol.
    """
    _check(request, desk)
    test_path = await asyncio.to_thread(choose_test_path, desk.workspace, desk.snapshot, request.path)
    extends = file_exists(desk.workspace, test_path)
    trials = Trials(desk, (request.path,))
    existing = await asyncio.to_thread(tests_of, desk.snapshot, request.path)
    await trials.without_change(existing)
    style_path = await asyncio.to_thread(choose_style_example, desk.snapshot, request.path, test_path)
    focus = Focus(
        request.path,
        request.symbol,
        test_path=test_path if extends else "",
        style_path=style_path or "",
        brief=request.brief,
    )
    task = _task(request, desk, test_path, extends, trials.before)
    work = Work(
        opening=await open_conversation(_PROFILE, desk, focus, task),
        read_text=lambda path: read_text_or_none(desk.workspace, path),
        refusal=lambda path: why_not_changed(desk.workspace, path) or _refusal(path),
        try_out=lambda files: trials.with_change(files, tuple(dict.fromkeys((*existing, *files)))),
        before=lambda: trials.before,
        on_failure=_ON_FAILURE,
    )
    return work, trials


def _check(request: RunRequest, desk: Desk) -> None:
    if not request.path.endswith(".py"):
        raise FileRefused(f"{request.path or 'Nothing'} is no Python file.", "Open the module you want tests for.")
    if is_test_path(request.path):
        raise FileRefused(f"{request.path} is a test file itself.", "Open the module it tests.")
    if request.symbol and find_definition(desk.snapshot, request.path, request.symbol) is None:
        names = [d.qualified_name for d in definitions_in(desk.snapshot, request.path) if d.kind != "variable"]
        raise NotFound(f"{request.path} has no {request.symbol}.", f"It has: {', '.join(names) or 'nothing to test'}.")


def _task(request: RunRequest, desk: Desk, test_path: str, extends: bool, before: TestRun | NotRun | None) -> str:
    what = f"`{request.symbol}` in {request.path}" if request.symbol else request.path
    lines = [f"Write tests for {what}."]
    if extends:
        lines.append(f"Add them to {test_path}, which exists: beside the tests they belong with, or at its end.")
        lines.append("Imports that they need and the file lacks go to its other imports, in an edit of their own.")
    else:
        lines.append(f"Put them into {test_path}, which does not exist yet: an empty SEARCH creates it.")
    unreached = _unreached(desk, request, before)
    if unreached:
        lines += [f"The existing tests do not reach these lines of {request.path}:", *unreached]
    elif before is None:
        lines.append(f"No existing test imports {request.path}.")
    if request.brief:
        lines.append(f"The developer adds: {request.brief}")
    return "\n".join(lines)


def _unreached(desk: Desk, request: RunRequest, before: TestRun | NotRun | None) -> list[str]:
    """What the existing tests leave out, as a line of text for each run of lines: where, and how it begins."""
    if not isinstance(before, TestRun) or request.path not in before.coverage:
        return []
    source = split_lines(read_text_file(desk.workspace, request.path).text)
    missing = [line for line in sorted(before.coverage[request.path].missing_lines) if line <= len(source)]
    symbol = find_definition(desk.snapshot, request.path, request.symbol) if request.symbol else None
    if symbol is not None:
        missing = [line for line in missing if symbol.span.start.line < line <= symbol.span.end.line + 1]
    runs = _runs(missing)
    described = [_describe(desk, request.path, run, source) for run in runs[:_MAX_RUNS_NAMED]]
    more = len(runs) - _MAX_RUNS_NAMED
    return [*described, f"- and {more} more places"] if more > 0 else described


def _runs(numbers: Iterable[int]) -> list[list[int]]:
    """Ascending *numbers* in runs without gaps."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _describe(desk: Desk, path: str, run: Sequence[int], source: Sequence[str]) -> str:
    """``- lines 30-32, in Cart.total, from `if not items:` ``"""
    around = enclosing_definition(desk.snapshot, path, Position(run[0] - 1, 0))
    where = f", in {around.qualified_name}" if around else ""
    lines = f"line {run[0]}" if len(run) == 1 else f"lines {run[0]}-{run[-1]}"
    return f"- {lines}{where}{', from' if len(run) > 1 else ':'} `{source[run[0] - 1].strip()}`"


def _refusal(path: str) -> str | None:
    if is_test_path(path) and PurePosixPath(path).name != "conftest.py":
        return None
    return f"The QA Engineer may change test files only, and {path} is none."
