"""What a model is told when its edits do not fit or its tests fail: exact, and no longer than it must be."""

from __future__ import annotations

from collections.abc import Sequence

from rolecall_server.craft.edit_blocks import Problem
from rolecall_server.sandbox import NotRun, TestOutcome, TestRun

MAX_FAILURES = 6
MAX_DETAIL_LINES = 40
MAX_OUTPUT_LINES = 40

_STATES = "Your edits so far are applied; the files are as you left them. Send only the edits that are still needed."


def describe_problems(problems: Sequence[Problem]) -> str:
    """A request for the blocks that could not be used, alone."""
    if not problems:
        return (
            "Your reply holds no edit block. Send the edits now, each as a FILE line followed by "
            "<<<<<<< SEARCH, =======, >>>>>>> REPLACE."
        )
    parts = ["Some edits could not be applied. Send these again, corrected, and no others; the rest is applied.\n"]
    parts += [f"- {problem.path}: {problem.reason}" if problem.path else f"- {problem.reason}" for problem in problems]
    return "\n".join(parts)


def describe_syntax(errors: Sequence[str]) -> str:
    """A request to mend a change that does not parse."""
    return "\n".join(["Your change does not parse:\n", *(f"- {error}" for error in errors), "", _STATES])


def describe_failures(run: TestRun | NotRun, failures: Sequence[TestOutcome], request: str) -> str:
    """The failing tests with what they say, and what to do about them."""
    if isinstance(run, NotRun) or run.status != "ran":
        return "\n".join(
            [f"The tests did not run to their end: {run.reason}\n", _fenced(_tail(run)), "", request, _STATES]
        )
    parts = [f"{len(failures)} of {len(run.outcomes)} tests fail:\n"]
    for outcome in failures[:MAX_FAILURES]:
        parts += [f"### {outcome.test_id}", outcome.message, _fenced(_trimmed(outcome.detail, MAX_DETAIL_LINES)), ""]
    if len(failures) > MAX_FAILURES:
        parts.append(f"(and {len(failures) - MAX_FAILURES} more)\n")
    return "\n".join([*parts, request, _STATES])


def _tail(run: TestRun | NotRun) -> str:
    return "\n".join(run.output.splitlines()[-MAX_OUTPUT_LINES:]) if isinstance(run, TestRun) else ""


def _trimmed(text: str, max_lines: int) -> str:
    """The beginning and the end of *text*: the call that failed, and how."""
    lines = text.splitlines()
    if len(lines) <= max_lines:
        return "\n".join(lines)
    head = max_lines // 4
    left_out = f"[{len(lines) - max_lines} lines left out]"
    return "\n".join([*lines[:head], left_out, *lines[head - max_lines :]])


def _fenced(text: str) -> str:
    return f"````\n{text}\n````" if text else ""
