"""The rungs of a repair: the functions under suspicion, then their files, then the repository with lookups."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from rolecall_analysis import Definition, find_definition
from rolecall_server.context import Focus, Parts, named_files
from rolecall_server.craft.attempt import Attempt, Rung, Try
from rolecall_server.craft.attempts import SHORT_EDIT_FORMAT
from rolecall_server.craft.history import name_of
from rolecall_server.craft.repair.feedback_forms import ask_explanation, kind_of, tell_values
from rolecall_server.craft.repair.localisation import Suspect
from rolecall_server.model import ChatMessage
from rolecall_server.sandbox import NotRun, TestResult
from rolecall_server.team.messages.edits import Edits, desk_with
from rolecall_server.team.model_stack import conversation
from rolecall_server.team.opening import open_conversation
from rolecall_server.team.repair.reproducing import Reproduction, left_of
from rolecall_server.team.repair.telling import MOST_TESTS, RANKED, task_of, tell_others
from rolecall_server.team.request import Desk, FailureToMend
from rolecall_server.workspace import file_exists, why_private

_PROFILE = Path(__file__).with_name("engineer_repair.md")
_IN_VIEW = 5
_LINES_IN_VIEW = 160
"""Of the suspects' own lines on the first rung, unless the first of them is longer."""
_IN_A_FILE = 20
_FILES = 2
_MOST_ASKED = 300
"""Lines of a function or file that is shown because the model asked to see it."""
_WHOLE_LINES = 400
"""Of a longer file the suspects are shown on the second rung, in as many lines."""
_NO_CHANGE = re.compile(r"^No change: (.{1,600})$", re.MULTILINE)
_PLACE = re.compile(r"(?<![\w./-])([\w./-]{1,300}+)(?:::([\w.]{1,200}+))?")


async def first_rung(desk: Desk, found: Reproduction, failure: FailureToMend) -> tuple[ChatMessage, ...]:
    """Return the conversation that shows the functions under suspicion; where there are none, all of the repository."""
    if not found.suspects:
        return await _in_repository(desk, found, failure, ())
    shown = _in_view(desk, found.suspects)
    parts = _view(desk, found, shown)
    told = await _values(desk, found.failing, {}) if _is_endless(found) else ""
    others = tell_others(found.suspects, shown)
    return await _open(
        replace(desk, lookups=()), Focus("", parts=tuple(parts)), task_of(found, failure, (), told, others)
    )


async def next_rung(
    desk: Desk, found: Reproduction, failure: FailureToMend, tries: Sequence[Try], best: Attempt
) -> Rung:
    """Return the conversation after *tries*: with what the last one asked to see, or with what is left where it
    helped; else the files of the suspects, then all of the repository with lookups.
    """
    kept = desk_with(desk, Edits(files=best.files))
    if best.failures and len(best.failures) < len(found.failing):
        found = await left_of(kept, found, best.failures)
    asked = _asked_for(kept, tries)
    wanted = [part for parts in asked for part in parts]
    if asked[-1] or (tries[-1].helped and found.suspects):
        shown = _in_view(kept, found.suspects)
        focus = Focus("", parts=tuple(_view(kept, found, shown, wanted)))
        task = task_of(found, failure, tries, "", tell_others(found.suspects, shown))
        return Rung(await _open(replace(kept, lookups=()), focus, task))
    n_failed = sum(not parts and not one.helped for parts, one in zip(asked, tries, strict=True))
    parts = [*_tests(kept, found.failing), *_files(kept, found.suspects), *wanted]
    told = await _values(kept, best.failures or found.failing, best.files)
    if n_failed == 1 and len(parts) > len({test.test_id.partition("::")[0] for test in found.failing}):
        focus = Focus("", parts=tuple(parts))
        return Rung(await _open(replace(kept, lookups=()), focus, task_of(found, failure, tries, told)))
    told = "\n\n".join(part for part in (told, ask_explanation() if n_failed > 1 else "") if part)
    return Rung(await _in_repository(kept, found, failure, tries, told), conversation(desk))


def _view(desk: Desk, found: Reproduction, shown: Sequence[Suspect], wanted: Sequence[Parts] = ()) -> Iterator[Parts]:
    """Yield the failing tests, the suspects in view and what was asked for, each without what is around it."""
    yield from (replace(one, is_alone=bool(one.names)) for one in _tests(desk, found.failing))
    yield from (Parts(one.path, (one.name,), _suspected(one), is_alone=True) for one in shown)
    yield from wanted


def _asked_for(desk: Desk, tries: Sequence[Try]) -> list[list[Parts]]:
    """Return what each of *tries* named for the first time instead of an edit, as far as it can be shown."""
    seen: set[Parts] = set()
    asked: list[list[Parts]] = []
    for tried in tries:
        named = () if tried.attempt is not None or tried.is_again else _named(desk, tried.said)
        asked.append([one for one in named if one not in seen])
        seen.update(asked[-1])
    return asked


def _named(desk: Desk, said: str) -> Iterator[Parts]:
    """Yield the functions and files that *said* asks to see, those that are there, not private, and short enough."""
    found = _PLACE.findall("\n".join(_NO_CHANGE.findall(said)))
    for path, name in dict.fromkeys((path.rstrip("."), name.rstrip(".")) for path, name in found):
        if path not in desk.snapshot.files or why_private(desk.workspace, path) is not None:
            continue
        definition = find_definition(desk.snapshot, path, name) if name else None
        n_lines = _length(definition) if definition else (desk.snapshot.text(path) or "").count("\n")
        if n_lines <= _MOST_ASKED and (definition is not None or not name):
            yield Parts(path, (name,) if name else (), "you asked to see it", is_alone=True)


def _length(definition: Definition) -> int:
    return definition.span.end.line - definition.span.start.line + 1


def _is_endless(found: Reproduction) -> bool:
    return bool(found.failing) and kind_of(found.failing[0]) == "endless"


async def _values(desk: Desk, failing: Sequence[TestResult], files: Mapping[str, str | None]) -> str:
    """Return what the lines of the first of *failing* computed, with *files*; empty where it cannot be traced."""
    if not failing:
        return ""
    desk.report("tracing the failing test", None)
    trace = await desk.bench.trace(files, failing[0].test_id)
    return "" if isinstance(trace, NotRun) else tell_values(failing[0], trace, desk.snapshot)


async def _in_repository(
    desk: Desk, found: Reproduction, failure: FailureToMend, tries: Sequence[Try], told: str = ""
) -> tuple[ChatMessage, ...]:
    names = " ".join(one.place for one in found.suspects[:RANKED])
    said = " ".join(one.message for one in found.failing[:MOST_TESTS]) or found.reported.error
    brief = f"{_tested(found)} {said} {names}"
    focus = Focus("", brief=brief, writes_code=True, named=named_files(desk.workspace, brief))
    return await _open(desk, focus, task_of(found, failure, tries, told))


async def _open(desk: Desk, focus: Focus, task: str) -> tuple[ChatMessage, ...]:
    return await open_conversation(_PROFILE, desk, focus, task, SHORT_EDIT_FORMAT)


def _tested(found: Reproduction) -> str:
    return " ".join(dict.fromkeys(name_of(one.test_id) for one in found.failing[:MOST_TESTS]))


def _tests(desk: Desk, failing: Sequence[TestResult]) -> Iterator[Parts]:
    """Yield the failing tests as they are written."""
    names: dict[str, list[str]] = {}
    for one in failing[:MOST_TESTS]:
        path, _, name = name_of(one.test_id).partition("::")
        names.setdefault(path, []).append(name.replace("::", "."))
    for path, wanted in names.items():
        if file_exists(desk.workspace, path):
            yield Parts(path, tuple(dict.fromkeys(wanted)), "the failing test" + ("s" if len(wanted) > 1 else ""))


def _in_view(desk: Desk, suspects: Sequence[Suspect]) -> list[Suspect]:
    """Return the likeliest suspects, as far as they are short enough to be shown together."""
    chosen: list[Suspect] = []
    left = _LINES_IN_VIEW
    for one in suspects[:_IN_VIEW]:
        definition = find_definition(desk.snapshot, one.path, one.name)
        n_lines = _length(definition) if definition else 0
        if chosen and n_lines > left:
            continue
        left -= n_lines
        chosen.append(one)
    return chosen


def _suspected(one: Suspect) -> str:
    return "; ".join(["under suspicion", *one.reasons])


def _files(desk: Desk, suspects: Sequence[Suspect]) -> Iterator[Parts]:
    """Yield the files of the likeliest suspects: short ones whole, of the others the suspects in them."""
    left = _WHOLE_LINES
    for path in islice(dict.fromkeys(one.path for one in suspects), _FILES):
        if (desk.snapshot.text(path) or "").count("\n") <= _WHOLE_LINES:
            yield Parts(path, (), "the file under suspicion")
            continue
        for one in islice((one for one in suspects if one.path == path), _IN_A_FILE):
            definition = find_definition(desk.snapshot, path, one.name)
            n_lines = _length(definition) if definition else 0
            if n_lines <= left:
                left -= n_lines
                yield Parts(path, (one.name,), _suspected(one), is_alone=True)
