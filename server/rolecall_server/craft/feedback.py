"""The messages to a model whose edits do not fit or whose tests fail: exact, and no longer than they must be."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from rolecall_server.craft.edits.edit_blocks import EditProblem
from rolecall_server.craft.test_quality.test_text import WrittenTest, failing_rows, function_of, written_tests
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.review.proposals.evidence import GraphFinding
from rolecall_server.sandbox import NotRun, TestResult, TestRun
from rolecall_server.workspace import split_lines

MAX_FAILURES = 6
MAX_FINDINGS = 10
MAX_DETAIL_LINES = 40
MAX_OUTPUT_LINES = 40
MAX_FAILING_TESTS = 12
MAX_CASES = 8

_PROMPTS = prompts_beside(__file__)


def describe_problems(problems: Sequence[EditProblem], n_blocks: int = 0, applied: Sequence[int] = ()) -> str:
    """Return a request for the edits that could not be used, alone, and a word about those that may not be made.

    *n_blocks* is how many blocks the reply had; those with the numbers *applied* are in the files.
    """
    if not problems:
        return _PROMPTS["no block"]
    refused = [problem for problem in problems if problem.is_refusal]
    misfits = [problem for problem in problems if not problem.is_refusal]
    told: list[str] = []
    if refused:
        told += [f"{_PROMPTS['refused']}\n", *(_listed(problem, n_blocks) for problem in refused), ""]
    if misfits:
        told += [f"{_PROMPTS['unplaced']}\n"]
        told += [_listed(problem, n_blocks) for problem in misfits]
    else:
        told += [_PROMPTS["instead"]]
    if applied:
        told += ["\n" + _PROMPTS["applied"].format(blocks=_blocks(applied, n_blocks))]
    return "\n".join(told)


def _listed(problem: EditProblem, n_blocks: int) -> str:
    where = f"About {_blocks(problem.blocks, n_blocks)}:\n" if problem.blocks and n_blocks > 1 else ""
    is_named = not problem.path or problem.reason.startswith(f"{problem.path} ")
    return f"{where}- {problem.reason}" if is_named else f"{where}- {problem.path}: {problem.reason}"


def _blocks(numbers: Sequence[int], n_blocks: int) -> str:
    """``block 3 of 5``, ``blocks 1, 2 and 4 of 5``"""
    *others, last = map(str, numbers)
    return f"blocks {', '.join(others)} and {last} of {n_blocks}" if others else f"block {last} of {n_blocks}"


def describe_syntax(errors: Sequence[str]) -> str:
    """Return a request to mend a change that does not parse."""
    return "\n".join([f"{_PROMPTS['unparsable']}\n", *(f"- {error}" for error in errors), "", _PROMPTS["states"]])


def describe_findings(findings: Sequence[GraphFinding]) -> str:
    """Return a message that says what a change breaks, with the places, and asks to mend it."""
    lines = [f"{_PROMPTS['unfitting']}\n"]
    for finding in findings[:MAX_FINDINGS]:
        lines.append(f"- {finding}")
        lines += [f"    {place.path}, line {place.line + 1}: {place.text}" for place in finding.places]
    if len(findings) > MAX_FINDINGS:
        lines.append(f"- and {len(findings) - MAX_FINDINGS} more")
    return "\n".join([*lines, "", _PROMPTS["states"]])


def describe_failures(run: TestRun | NotRun, failures: Sequence[TestResult], request: str) -> str:
    """Return the failing tests with what they say, and what to do about them."""
    if isinstance(run, NotRun) or run.status != "ran":
        head = _PROMPTS["unfinished"].format(reason=run.reason)
        return "\n".join([f"{head}\n", fenced(_tail(run)), "", request, _PROMPTS["states"]])
    parts = [_PROMPTS["failing"].format(failing=len(failures), all=len(run.outcomes)) + "\n"]
    for outcome in failures[:MAX_FAILURES]:
        parts += [f"### {outcome.test_id}", outcome.message, fenced(trimmed(outcome.detail, MAX_DETAIL_LINES)), ""]
    if len(failures) > MAX_FAILURES:
        parts.append(f"(and {len(failures) - MAX_FAILURES} more)\n")
    return "\n".join([*parts, request, _PROMPTS["states"]])


def describe_failing_tests(run: TestRun, failures: Sequence[TestResult], texts: Mapping[str, str | None]) -> str:
    """Return each failing test as it is written in *texts*, with the cases that fail and what they say.

    For a model that does not have before it what it wrote: of a long list of cases those that fail are shown.
    """
    groups: dict[tuple[str, str], list[TestResult]] = {}
    for outcome in failures:
        groups.setdefault((outcome.test_id.partition("::")[0], function_of(outcome.test_id)), []).append(outcome)
    parts = [_PROMPTS["failing"].format(failing=len(failures), all=len(run.outcomes)) + "\n"]
    for (path, name), outcomes in list(groups.items())[:MAX_FAILING_TESTS]:
        text = texts.get(path) or ""
        test = next((each for each in written_tests(text) if each.name == name), None)
        parts.append(f"### {path}::{name}" if name else f"### {path}")
        if test is not None:
            parts.append(fenced(_excerpt(text, test, failing_rows(test, run, path))))
        parts += [_case(outcome) for outcome in outcomes[:MAX_CASES]]
        parts.append(f"(and {len(outcomes) - MAX_CASES} more cases)\n" if len(outcomes) > MAX_CASES else "")
    if len(groups) > MAX_FAILING_TESTS:
        parts.append(f"(and {len(groups) - MAX_FAILING_TESTS} more tests)\n")
    return "\n".join(parts)


def _excerpt(text: str, test: WrittenTest, rows: Sequence[int]) -> str:
    """Return the lines of *test*; of its cases only *rows*, where that is known."""
    shown = set(range(test.start, test.end))
    if rows:
        hidden = [row for number, row in enumerate(test.rows) if number not in rows]
        kept = {line for number in rows for line in _lines_of(test.rows[number])}
        shown -= {line for row in hidden for line in _lines_of(row)} - kept
    excerpt: list[str] = []
    for number, line in enumerate(split_lines(text)[test.start : test.end], test.start):
        if number in shown:
            excerpt.append(line.rstrip("\r\n"))
        # Once for all hidden lines in a row.
        elif number - 1 in shown:
            excerpt.append("    [cases that pass]")
    return "\n".join(excerpt)


def _lines_of(node: ast.expr) -> range:
    return range(node.lineno - 1, node.end_lineno or node.lineno)


def _case(outcome: TestResult) -> str:
    case = outcome.test_id.partition("::")[2].partition("[")[2].removesuffix("]")
    said = [line.strip() for line in outcome.detail.splitlines() if line.startswith("E ")]
    detail = "\n".join(said[:6]) or outcome.message
    return f"{f'Case {case}: ' if case else ''}{outcome.message if len(said) < 2 else detail}"


def _tail(run: TestRun | NotRun) -> str:
    return "\n".join(run.output.splitlines()[-MAX_OUTPUT_LINES:]) if isinstance(run, TestRun) else ""


def trimmed(text: str, max_lines: int) -> str:
    """Return the beginning and the end of *text*: the call that failed, and how."""
    lines = text.splitlines()
    if len(lines) <= max_lines:
        return "\n".join(lines)
    head = max_lines // 4
    left_out = f"[{len(lines) - max_lines} lines left out]"
    return "\n".join([*lines[:head], left_out, *lines[head - max_lines :]])


def fenced(text: str) -> str:
    """Return *text* between two fences that no line of it ends; empty where it is."""
    fence = "````"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}" if text else ""
