"""The words of a repair's request: what fails and how, where the cause may be, what was tried, what is to be done."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from rolecall_server.craft.attempt import Attempt, Try
from rolecall_server.craft.edits.notes import tell_notes
from rolecall_server.craft.feedback import fenced, trimmed
from rolecall_server.craft.history import name_of
from rolecall_server.craft.repair.localisation import Suspect
from rolecall_server.craft.repair.spectrum import Place
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.sandbox import TestResult, TestRun
from rolecall_server.team.repair.reproducing import Reproduction
from rolecall_server.team.request import FailureToMend

MOST_TESTS = 4
"""Failing tests that are shown with what they say; the others are named."""
RANKED = 8
"""Suspects that are told a model."""
_PROMPTS = prompts_beside(__file__)
_CASES = 2
"""Cases of a test that are told beside the one that is shown."""
_MOST_NAMED = 12
_DETAIL_LINES = 30
_LOG_LINES = 60
_SAID = 600
"""Characters of what was said of an earlier try: its hypothesis where there is one."""
NO_CHANGE = re.compile(r"^No change: (.{1,600})$", re.MULTILINE)
"""A line in which a model names what it needs to see, or says why it changes nothing."""
_HYPOTHESIS = re.compile(r"^Hypothesis: .{1,600}", re.MULTILINE)
_ADDRESS = re.compile(r" at 0x[0-9a-f]{1,16}\b")
_EMPTY = frozenset({"E", "E     Use -v to get more diff", "E     Use -v to get the full diff"})
_TOLD_LINE = re.compile(r"^(?:>|E  |[^\s:][^:\n]{0,300}\.py:\d)")


def task_of(found: Reproduction, failure: FailureToMend, tries: Sequence[Try], told: str, others: str = "") -> str:
    """Return what fails and what is to be done; *others* names what is not shown."""
    may_change = failure.changes_tests
    parts = [
        "# What fails",
        _failures(found.failing) if found.failing else _report(failure),
        told,
        others,
        _tried(tries, found.failing),
        "# Your task",
        _PROMPTS["tests may change" if may_change else "tests stay"],
    ]
    return "\n\n".join(part for part in parts if part)


def _failures(failing: Sequence[TestResult]) -> str:
    """Return how the tests fail: of the cases of a test one in full, the one that says it in the fewest words."""
    by_test: dict[str, list[TestResult]] = {}
    for one in failing:
        by_test.setdefault(name_of(one.test_id), []).append(one)
    groups = [*by_test.values()]
    told = [_PROMPTS["fails"], *(part for cases in groups[:MOST_TESTS] for part in _cases(cases))]
    names = [f"- {cases[0].test_id}: {cases[0].message}" for cases in groups[MOST_TESTS:_MOST_NAMED]]
    more = len(groups) - _MOST_NAMED
    return "\n\n".join([*told, "\n".join([*names, *([f"- and {more} more"] if more > 0 else [])])]).rstrip()


def _cases(cases: Sequence[TestResult]) -> Iterator[str]:
    """Yield the parts that tell of one test: its shortest case whole, some others in a line each."""
    shown, *others = sorted(cases, key=lambda one: len(one.message) + len(one.detail))
    detail = _detail(shown.detail)
    said = shown.message.partition("\n")[0]
    is_told = bool(said) and (said in detail or (said.partition(": ")[2] or said) in detail)
    yield "\n".join(part for part in (f"### {shown.test_id}", "" if is_told else shown.message, fenced(detail)) if part)
    if others:
        lines = [f"- [{one.test_id.partition('[')[2]}: {one.message}" for one in others[:_CASES]]
        more = len(others) - _CASES
        yield "\n".join([_PROMPTS["cases"], *lines, *([f"- and {more} more"] if more > 0 else [])])


def _detail(detail: str) -> str:
    """Return the lines of a traceback that say where it went and what was wrong: the code around them is shown."""
    plain = _ADDRESS.sub("", detail)
    lines = [line for line in plain.splitlines() if _TOLD_LINE.match(line) and line.rstrip() not in _EMPTY]
    return trimmed("\n".join(_without_repeats(lines)) or plain, _DETAIL_LINES)


def _without_repeats(lines: Sequence[str]) -> Iterator[str]:
    """Yield *lines*, of those that repeat themselves one, with how often."""
    for line, same in groupby(lines):
        n_same = len([*same])
        yield line if n_same == 1 else f"{line}  [{n_same} times]"


def _report(failure: FailureToMend) -> str:
    log = trimmed(_ADDRESS.sub("", failure.log), _LOG_LINES)
    return "\n\n".join([_PROMPTS["reported"], fenced(log)])


def tell_others(suspects: Sequence[Suspect], shown: Collection[Place], now: Collection[Place] | None = None) -> str:
    """Return the names of further *suspects*, and of those functions that were *shown* before and are not shown *now*;
    ``None``: all that were shown are.
    """
    before = [place for place in shown if now is not None and place not in now][-_MOST_NAMED:]
    seen = {*shown, *(now or ())}
    left = [(one.path, one.name) for one in suspects if (one.path, one.name) not in seen][:RANKED]
    lists = (_PROMPTS["shown before"], before), (_PROMPTS["other suspects"], left)
    told = (
        "\n".join([f"{head}\n", *(f"- {path}::{name}" for path, name in places)]) for head, places in lists if places
    )
    return "\n\n".join(told)


def _tried(tries: Sequence[Try], failing: Sequence[TestResult]) -> str:
    edits = [one for one in tries if not _only_asks(one)]
    asked = [f"- {line}" for one in tries if _only_asks(one) for line in NO_CHANGE.findall(one.said)]
    told = [f"{number}. {_told(one, failing)}" for number, one in enumerate(edits, start=1)]
    parts = [*(["# What was tried", _PROMPTS["tries"], *told] if told else ())]
    return "\n\n".join([*parts, *(["\n".join([_PROMPTS["asked"], *asked])] if asked else ())])


def _only_asks(one: Try) -> bool:
    """Return whether the model sent no edit, and said what it needs to see."""
    return one.attempt is None and not one.is_again and NO_CHANGE.search(one.said) is not None


def _told(one: Try, failing: Sequence[TestResult]) -> str:
    said = next(iter(_HYPOTHESIS.findall(one.said)), one.said.strip())[:_SAID]
    again, helped = one.is_again, one.helped
    if one.attempt is None:
        verdict = _PROMPTS["again" if again else "no edit"]
    else:
        verdict = " ".join(
            [_PROMPTS["helped" if helped else "did not help"], _ended(one.attempt, () if helped else failing)]
        )
    notes = tell_notes(one.attempt.notes) if one.attempt else ""
    return "\n".join(part for part in (f"{said}\n   {verdict}", notes) if part)


def _ended(attempt: Attempt, failing: Sequence[TestResult]) -> str:
    if attempt.syntax_errors:
        return attempt.syntax_errors[0]
    run = attempt.run
    if not isinstance(run, TestRun) or run.status != "ran":
        return _PROMPTS["unended"].format(reason=run.reason)
    before = {one.test_id: one.message for one in failing}
    if {one.test_id: one.message for one in attempt.failures} == before:
        return _PROMPTS["same"]
    return "\n".join(["", *(f"   - {one.test_id}: {one.message}" for one in attempt.failures[:MOST_TESTS])])
