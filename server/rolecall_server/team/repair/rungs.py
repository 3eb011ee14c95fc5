"""The rungs of a repair: the likeliest suspects, then those after them, then what words find, with lookups.

Each begins a conversation of its own: one that goes on would pay for all that was said before with each call. So each
shows again only what an attempt changed or what was asked for, names the rest of what was shown, and is bounded: with
`_MOST_NEW` tokens of code a later rung costs about what the first one did.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rolecall_analysis import Definition, definitions_in, find_definition, is_test, is_test_function, uses
from rolecall_analysis.queries.definitions import is_inside
from rolecall_analysis.retrieval import Query, rank
from rolecall_server.context import Focus, Parts, corpus_of, named_files
from rolecall_server.context.parts import lines_alone
from rolecall_server.craft.attempt import Attempt, Rung, Try
from rolecall_server.craft.attempts import SHORT_EDIT_FORMAT
from rolecall_server.craft.history import name_of
from rolecall_server.craft.repair.feedback_forms import ask_explanation, kind_of, tell_values
from rolecall_server.craft.repair.localisation import Suspect
from rolecall_server.craft.repair.spectrum import Place
from rolecall_server.model import ChatMessage, estimate_tokens
from rolecall_server.sandbox import NotRun, TestResult
from rolecall_server.team.messages.edits import Edits, desk_with
from rolecall_server.team.model_stack import conversation
from rolecall_server.team.opening import open_conversation
from rolecall_server.team.repair.reproducing import Reproduction, left_of
from rolecall_server.team.repair.telling import MOST_TESTS, NO_CHANGE, RANKED, task_of, tell_others
from rolecall_server.team.request import Desk, FailureToMend
from rolecall_server.workspace import file_exists, split_lines, why_private

_PROFILE = Path(__file__).with_name("engineer_repair.md")
_IN_VIEW = 10
_MOST_NEW = 2_000
"""Tokens of code that a rung shows for the first time, unless the first suspect alone takes more. With ten suspects in
them a changed function is in view of 41 of 48 fixes, and all that changed of 28; with seven in 1,500, their docstrings
whole, of 37 and 24. That takes 290 tokens more."""
_LEAST_BESIDE = 600
"""Tokens of these that are left for others, however long the first suspect is."""
_MOST_ASKED = 3_000
"""Tokens of all that is shown because the model asked to see it: ten functions of an ordinary length."""
_MOST_HELP = 20
"""Lines of a function or class beside a test that the test uses."""
_SHARE_WITHOUT_SUSPECTS = 0.4
"""Of the room for the repository, where nothing is suspected."""
_MOST_FOUND = 40
_PLACE = re.compile(r"(?<![\w./-])([\w./-]{1,300}+)(?:::([\w.]{1,200}+))?")


@dataclass
class Climb:
    """A failure on its way up the rungs."""

    found: Reproduction
    failure: FailureToMend
    shown: dict[Place, None] = field(default_factory=dict[Place, None])
    """The functions that the rungs have shown so far."""
    last: list[Suspect] = field(default_factory=list[Suspect])
    """Those that the last rung showed for the first time."""

    def show(self, suspects: Sequence[Suspect]) -> None:
        """Note that a rung shows *suspects*."""
        self.last = [*suspects]
        self.shown |= dict.fromkeys((one.path, one.name) for one in suspects)


@dataclass(frozen=True)
class _ShownPart:
    """A function that is shown, and why."""

    path: str
    name: str
    """Dotted, within the file; empty for all of it."""
    why: str


async def first_rung(desk: Desk, climb: Climb) -> tuple[ChatMessage, ...]:
    """Return the conversation that shows the functions under suspicion; where there are none, a part of the
    repository.
    """
    found = climb.found
    if not found.suspects:
        return await _in_repository(desk, climb, ())
    climb.show(_fitting(desk, found.suspects[:_IN_VIEW]))
    told = await _values(desk, found.failing, {}) if _is_endless(found) else ""
    task = task_of(found, climb.failure, (), told, tell_others(found.suspects, climb.shown))
    # Without them here: else the opening would offer lookups, which only later rungs have.
    return await _open(replace(desk, lookups=()), _focus(desk, found, _suspected(climb.last)), task)


async def next_rung(desk: Desk, climb: Climb, tries: Sequence[Try], best: Attempt) -> Rung:
    """Return the conversation after *tries*: with what the last one asked to see, or with what is left where it
    helped; else the next suspects, and after them what words find in the repository, with lookups.
    """
    kept, found = desk_with(desk, Edits(files=best.files)), climb.found
    if best.failures and len(best.failures) < len(found.failing):
        found = await left_of(kept, found, best.failures)
    if not found.suspects:
        return Rung(await _in_repository(kept, climb, tries), conversation(desk))
    asked = _asked_for(kept, tries)
    n_failed = sum(not pieces and not one.helped for pieces, one in zip(asked, tries, strict=True))
    looks_up, told = n_failed > 1, ""
    if tries[-1].helped:
        # The tests that are left have suspects of their own, none of which was shown for their sake.
        climb.shown.clear()
        climb.show(_fitting(kept, found.suspects[:_IN_VIEW]))
    elif not asked[-1]:
        climb.show(await asyncio.to_thread(_next_suspects, kept, found, climb.shown, by_words=looks_up))
        is_asked = looks_up and desk.settings.team.feedback == "fitting"
        told = ask_explanation() if is_asked else await _values(kept, best.failures or found.failing, best.files)
    pieces = [*_changed(kept, tries), *_suspected(climb.last), *(one for each in asked for one in each)]
    others = tell_others(found.suspects, climb.shown, {(one.path, one.name) for one in pieces})
    task = task_of(found, climb.failure, tries, told, others)
    view = kept if looks_up else replace(kept, lookups=())
    return Rung(await _open(view, _focus(kept, found, pieces), task), conversation(desk) if looks_up else None)


def _fitting(desk: Desk, suspects: Iterable[Suspect]) -> list[Suspect]:
    """Return the first of *suspects*, and of those after it the ones that are short enough to be shown beside it."""
    chosen: list[Suspect] = []
    left = _MOST_NEW
    for one in suspects:
        is_shown = any(one.path == other.path and is_inside(one.name, other.name) for other in chosen)
        # What stands in a function that is shown takes no more room.
        n_tokens = 0 if is_shown else _tokens(desk, one.path, one.name)
        if not chosen:
            left = max(left - n_tokens, _LEAST_BESIDE)
        elif n_tokens <= left:
            left -= n_tokens
        else:
            continue
        chosen.append(one)
    return chosen


def _next_suspects(desk: Desk, found: Reproduction, shown: Collection[Place], *, by_words: bool) -> list[Suspect]:
    """Return functions that were not shown yet: what words find, *by_words* or where no other suspect is left, and the
    next suspects; the first ones again where all was shown.
    """
    suspects = [one for one in found.suspects if (one.path, one.name) not in shown]
    words = _by_words(desk, found) if by_words or not suspects else ()
    known = {*shown, *((one.path, one.name) for one in suspects)}
    others = [one for one in words if (one.path, one.name) not in known]
    return _fitting(desk, [*others, *suspects]) or _fitting(desk, found.suspects[:_IN_VIEW])


def _by_words(desk: Desk, found: Reproduction) -> Iterator[Suspect]:
    """Yield the functions that what fails is about by its words, the likeliest first."""
    query = Query(_brief(found), level="function", limit=_MOST_FOUND)
    for one in rank(corpus_of(desk.view), desk.snapshot, query):
        definition = find_definition(desk.snapshot, one.path, one.name)
        if definition is not None and definition.kind != "class" and not is_test(desk.snapshot, one.path):
            line = definition.span.start.line + 1
            yield Suspect(one.path, one.name, line, 0.0, ("its words are those of the failure",))


def _changed(desk: Desk, tries: Sequence[Try]) -> Iterator[_ShownPart]:
    """Yield the functions that those attempts changed which did not help."""
    texts = [one.attempt.files for one in tries if one.attempt is not None and not one.helped]
    for path in dict.fromkeys(path for files in texts for path in files if path in desk.snapshot.files):
        lines = split_lines(desk.snapshot.text(path) or "")
        for one in definitions_in(desk.snapshot, path):
            body = "".join(lines[one.span.start.line : one.span.end.line + 1])
            # A file that the attempt left alone counts as it is; one that it deleted has None for its text.
            is_changed = any(body not in (files.get(path, body) or "") for files in texts)
            if one.kind in ("function", "method") and is_changed:
                yield _ShownPart(path, one.qualified_name, "an attempt changed it")


def _suspected(suspects: Iterable[Suspect]) -> Iterator[_ShownPart]:
    for one in suspects:
        reasons = (reason.partition(" through ")[0] for reason in one.reasons)
        yield _ShownPart(one.path, one.name, f"suspected, {', '.join(reasons)}")


def _focus(desk: Desk, found: Reproduction, pieces: Iterable[_ShownPart]) -> Focus:
    """Return the failing tests and *pieces* as parts of their files, each file once."""
    by_path: dict[str, dict[str, str]] = {}
    for one in (*_tests(desk, found.failing), *pieces):
        by_path.setdefault(one.path, {}).setdefault(one.name, one.why)
    parts: list[Parts] = []
    for path, all_known in by_path.items():
        known = {name: why for name, why in all_known.items() if not any(_holds(other, name) for other in all_known)}
        names = {why: ", ".join(name for name, other in known.items() if other == why) for why in known.values() if why}
        told = "; ".join(f"{which}: {why}" if which else why for why, which in names.items())
        parts.append(Parts(path, () if "" in known else tuple(known), told, is_alone="" not in known))
    return Focus("", parts=tuple(parts))


def _holds(outer: str, name: str) -> bool:
    return bool(outer) and outer != name and is_inside(name, outer)


def _asked_for(desk: Desk, tries: Sequence[Try]) -> list[list[_ShownPart]]:
    """Return what each of *tries* named for the first time instead of an edit, as far as it can be shown."""
    seen: set[_ShownPart] = set()
    asked: list[list[_ShownPart]] = []
    left = _MOST_ASKED
    for tried in tries:
        asked.append([])
        named = () if tried.attempt is not None or tried.is_again else _named(desk, tried.said)
        for one in named:
            n_tokens = _tokens(desk, one.path, one.name)
            if one not in seen and n_tokens <= left:
                left -= n_tokens
                seen.add(one)
                asked[-1].append(one)
    return asked


def _named(desk: Desk, said: str) -> Iterator[_ShownPart]:
    """Yield the functions and files that *said* asks to see, those that are there and not private."""
    found = _PLACE.findall("\n".join(NO_CHANGE.findall(said)))
    # A name at the end of a sentence comes with the full stop.
    for path, name in dict.fromkeys((path.rstrip("."), name.rstrip(".")) for path, name in found):
        is_there = path in desk.snapshot.files and (not name or find_definition(desk.snapshot, path, name) is not None)
        if is_there and why_private(desk.workspace, path) is None:
            yield _ShownPart(path, name, "you asked to see it")


def _tokens(desk: Desk, path: str, name: str) -> int:
    """Return about how many tokens the function, or the file where *name* is empty, takes."""
    text = desk.snapshot.text(path) or ""
    definition = find_definition(desk.snapshot, path, name) if name else None
    if definition is not None:
        lines = split_lines(text)
        text = "".join(lines[number] for number in sorted(lines_alone(lines, definition)))
    return estimate_tokens(text)


def _is_endless(found: Reproduction) -> bool:
    return bool(found.failing) and kind_of(found.failing[0]) == "endless"


async def _values(desk: Desk, failing: Sequence[TestResult], files: Mapping[str, str | None]) -> str:
    """Return what the lines of the first of *failing* computed, with *files*; empty where it cannot be traced, or
    values are not wanted.
    """
    if not failing or desk.settings.team.feedback == "plain":
        return ""
    desk.report("tracing the failing test", None)
    trace = await desk.bench.trace(files, failing[0].test_id)
    return "" if isinstance(trace, NotRun) else tell_values(failing[0], trace, desk.snapshot)


async def _in_repository(desk: Desk, climb: Climb, tries: Sequence[Try]) -> tuple[ChatMessage, ...]:
    brief = _brief(climb.found)
    focus = Focus("", brief=brief, writes_code=True, named=named_files(desk.workspace, brief))
    return await _open(desk, focus, task_of(climb.found, climb.failure, tries, ""), _SHARE_WITHOUT_SUSPECTS)


async def _open(desk: Desk, focus: Focus, task: str, share: float = 1.0) -> tuple[ChatMessage, ...]:
    return await open_conversation(_PROFILE, desk, focus, task, SHORT_EDIT_FORMAT, share=share)


def _brief(found: Reproduction) -> str:
    """Return the words of what fails, and of what is suspected most."""
    tested = " ".join(dict.fromkeys(name_of(one.test_id) for one in found.failing[:MOST_TESTS]))
    said = " ".join(one.message for one in found.failing[:MOST_TESTS]) or found.reported.error
    return " ".join([tested, said, *(one.place for one in found.suspects[:RANKED])])


def _tests(desk: Desk, failing: Sequence[TestResult]) -> Iterator[_ShownPart]:
    """Yield the failing tests, and the short functions and classes beside them that they use."""
    names: dict[str, list[str]] = {}
    for one in failing[:MOST_TESTS]:
        path, _, name = name_of(one.test_id).partition("::")
        names.setdefault(path, []).append(name.replace("::", "."))
    for path, tests in names.items():
        if file_exists(desk.workspace, path):
            yield from (_ShownPart(path, test, "the failing test" if test else "the tests that fail") for test in tests)
            yield from (_ShownPart(path, name, "") for name in _used_beside(desk, path, tests))


def _used_beside(desk: Desk, path: str, tests: Sequence[str]) -> Iterator[str]:
    beside = [one for one in definitions_in(desk.snapshot, path) if one.kind != "variable" and not one.scope]
    for test in tests:
        definition = find_definition(desk.snapshot, path, test)
        used = uses(desk.snapshot, path, definition) if definition is not None else ()
        places = {(one.path, one.qualified_name) for one in used}
        for one in beside:
            if (path, one.name) in places and _length(one) <= _MOST_HELP and not is_test_function(one):
                yield one.name


def _length(definition: Definition) -> int:
    return definition.span.end.line - definition.span.start.line + 1
