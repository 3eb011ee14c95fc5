"""The QA Engineer without a model: tests from what calls of the code are seen to do."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from rolecall_analysis import module_names, tests_of
from rolecall_server.craft.characterization import HouseStyle, Stage, Study, read_style, study, write_test_file
from rolecall_server.craft.characterization.inputs.call_forms import THROUGH
from rolecall_server.craft.characterization.inputs.domains import IMPORTS
from rolecall_server.craft.characterization.inputs.stand_ins import holds_stand_in
from rolecall_server.craft.characterization.inputs.survey import is_private
from rolecall_server.craft.characterization.observation import STOOD_IN
from rolecall_server.craft.characterization.text.layout import on_one_line
from rolecall_server.craft.characterization.text.origins import Origins
from rolecall_server.craft.characterization.text.placing import names_of_tests_on, names_of_tests_using, tests_added
from rolecall_server.craft.characterization.text.test_file import BACKWARDS
from rolecall_server.errors import CodeNotRun, FileRefused, NothingToTest
from rolecall_server.sandbox import Mutant, NotRun, TestResult, TestRun
from rolecall_server.team.request import Desk, RunRequest
from rolecall_server.team.roles.qa_engineer import check_target
from rolecall_server.team.test_quality.beforehand import (
    beyond,
    gain_of,
    not_run_before,
    noticed_before,
    run_beforehand,
    with_those_before,
)
from rolecall_server.team.test_quality.surroundings import subject_of
from rolecall_server.team.test_quality.test_placement import choose_style_example, choose_test_path
from rolecall_server.team.test_quality.trials import Trials
from rolecall_server.workspace import file_exists, read_text_file, read_text_or_none

_OTHER_ORDERS = (1, BACKWARDS)
"""Of each two tests one comes first in the file, the other where all stand backwards."""
STUDY_S = 20.0
"""The time for making calls, beside that for running tests."""
_MAX_NAMED = 8
_MOCKED = "Mocks stand in for objects that could not be made, or that reach out, and show what they are asked"
_SLOW_TESTS_S = 10.0
"""Where the existing tests take longer, they do not run once more with the new ones."""


@dataclass(frozen=True)
class PlainTests:
    """Tests that were written without a model, and what is known of them."""

    files: Mapping[str, str]
    rationale: str
    notes: tuple[str, ...]
    before: TestRun | NotRun | None
    after: TestRun | NotRun
    study: Study
    dropped: tuple[str, ...] = ()
    """The tests that were taken out because they did not pass each time."""


@dataclass(frozen=True)
class _Place:
    """The place where the tests go, and what they look like."""

    path: str
    base: str | None
    module: str
    style: HouseStyle
    origins: Origins


@dataclass(frozen=True)
class _Known:
    """The things known of the tests that are there: how they ended, and the faults that they notice."""

    run: TestRun | NotRun | None = None
    noticed: frozenset[Mutant] = frozenset()

    def covered(self, path: str) -> frozenset[int]:
        """Return the lines of *path* that they reach."""
        reached = self.run.coverage.get(path) if isinstance(self.run, TestRun) else None
        return reached.executed_lines if reached is not None else frozenset()


async def write_plain_tests(
    request: RunRequest, desk: Desk, why: str, *, anew: bool = False, budget_s: float = STUDY_S
) -> PlainTests:
    """Tests of the file or symbol of *request*; *why* says why no model is asked.

    Written *anew*, they are about all of it, whatever the tests there are reach. *budget_s* is the time for making
    calls.

    Raises:
        FileRefused: there is no such file, it is a test file itself, or no Python that can be read.
        NotFound: the file has no such symbol.
        CodeNotRun: the code cannot be run here, or not be imported.
        NothingToTest: no call of it was found that a test could hold it to.
    """
    check_target(request, desk)
    existing = await asyncio.to_thread(tests_of, desk.snapshot, request.path)
    place = await asyncio.to_thread(_place, request, desk)
    stage = _stage(request, desk, place.module)
    tests = list(dict.fromkeys([*existing, place.path]))
    trials = await run_beforehand(desk, request.path, tests, whole=not anew)
    unread, unread_file = _unread(trials.before, place.path), place.path
    if unread:
        place = await asyncio.to_thread(_own_file, place, desk)
    known = _Known()
    if not anew:
        known = _Known(trials.before, await noticed_before(desk, request.path, tests, trials.before))
    found = await _study(stage, request, desk, known, budget_s)
    if not found.cases:
        raise NothingToTest(_nothing(request, found))
    desk.report("running the new tests", None)
    text, after, dropped = await _proven(found, place, trials, existing)
    if not anew and (vain := _in_vain(request, found, trials.before, after)):
        raise NothingToTest(vain)
    return PlainTests(
        files={place.path: text},
        rationale=_rationale(request, found, dropped, why, _about_file(unread_file, unread.message if unread else "")),
        notes=_notes(request, found, trials.before, after),
        before=trials.before,
        after=after,
        study=found,
        dropped=dropped,
    )


def _place(request: RunRequest, desk: Desk) -> _Place:
    path = choose_test_path(desk.workspace, desk.snapshot, request.path)
    base = read_text_file(desk.workspace, path).text if file_exists(desk.workspace, path) else None
    example = choose_style_example(desk.snapshot, request.path, path)
    shown = base or (read_text_or_none(desk.workspace, example) if example else None)
    style = read_style(shown, read_text_or_none(desk.workspace, "pyproject.toml"))
    names = module_names(desk.snapshot.modules, request.path)
    if not names:
        raise CodeNotRun(f"{request.path} is no module that can be imported.", "Give it a name without dots or dashes.")
    return _Place(path, base, names[0], style, Origins(desk.snapshot, path))


def _own_file(place: _Place, desk: Desk) -> _Place:
    """Return a place beside that of *place*, for where the file that is there cannot be read."""
    path = PurePosixPath(place.path)
    beside = str(path.with_name(f"{path.stem}_characterization.py"))
    base = read_text_file(desk.workspace, beside).text if file_exists(desk.workspace, beside) else None
    return replace(place, path=beside, base=base, origins=Origins(desk.snapshot, beside))


def _unread(run: TestRun | NotRun | None, path: str) -> TestResult | None:
    """Return what pytest says of the test file *path* where it could not read it."""
    if not isinstance(run, TestRun):
        return None
    said = next((outcome for outcome in run.failed if outcome.test_id == path), None)
    return said if said is None or said.message else replace(said, message="it says nothing")


def _stage(request: RunRequest, desk: Desk, module: str) -> Stage:
    bench = desk.bench
    for missing in (bench.shadow, bench.interpreter):
        if isinstance(missing, NotRun):
            raise CodeNotRun(f"Without a model, tests come from running the code. {missing.reason}", missing.next_step)
    assert not isinstance(bench.shadow, NotRun)
    assert not isinstance(bench.interpreter, NotRun)
    return Stage(bench.shadow, bench.interpreter, module, request.path, IMPORTS, bench.timeout_s)


async def _study(stage: Stage, request: RunRequest, desk: Desk, known: _Known, budget_s: float) -> Study:
    symbols = (request.symbol,) if request.symbol else ()
    try:
        subject = await asyncio.to_thread(subject_of, desk, request.path, symbols, budget_s)
        subject = replace(subject, covered=known.covered(request.path), noticed=known.noticed)
        found = await study(stage, subject, desk.report)
    except SyntaxError as error:
        raise FileRefused(f"{request.path} is no Python that can be read: {error}.", "Correct it first.") from error
    if isinstance(found, NotRun):
        raise CodeNotRun(found.reason, found.next_step)
    return found


async def _proven(
    found: Study, place: _Place, trials: Trials, existing: Sequence[str]
) -> tuple[str, TestRun | NotRun, tuple[str, ...]]:
    """Return the test file without the tests that fail in one of three runs, each in another order; its last run; and
    what was left out. The *existing* tests run with it in the last run, unless they take long; for all that ran before,
    what they reached counts.
    """
    dropped: set[str] = set()
    slow = _duration_s(trials.before, {*existing, place.path}) > _SLOW_TESTS_S
    orders = list(_OTHER_ORDERS)
    while True:
        order = orders.pop() if orders else 0  # the last run is that of the file as it is proposed
        text = await asyncio.to_thread(_written, found, place, dropped, order)
        added = [f"{place.path}::{name}" for name in tests_added(text, place.base)]
        targets = added if order or slow else list(dict.fromkeys([*existing, place.path]))
        run = await trials.with_change({place.path: text}, targets)
        if said := _unread(run, place.path):
            breaking = _breaking(said, place.path, text) & set(tests_added(text, place.base)) - dropped
            if not breaking:
                raise NothingToTest(f"pytest could not read the tests that were written: {said.message}")
            dropped |= breaking
            orders += [order] if order else []
            continue
        failing = _failing(run, added) - dropped
        dropped |= failing
        if not order and not failing:
            return text, with_those_before(trials.before, run), tuple(sorted(dropped))


def _duration_s(run: TestRun | NotRun | None, files: Collection[str]) -> float:
    """Return how long the tests of *files* took in *run*."""
    outcomes = run.outcomes if isinstance(run, TestRun) else ()
    return sum(one.duration_s for one in outcomes if one.test_id.partition("::")[0] in files)


def _in_vain(request: RunRequest, found: Study, before: TestRun | NotRun | None, after: TestRun | NotRun) -> str:
    """Return in a sentence that the new tests show nothing that those before do not; empty where they do."""
    gain = gain_of(request.path, before, after)
    if gain is None or gain.lines or gain.branches or found.n_killed:
        return ""
    n = found.n_mutants
    tried = f", and of {n} fault{'s' if n != 1 else ''} put into it they notice none" if n else ""
    return (
        f"Nothing is proposed: tests were written, but they reach no line and no branch of {request.path} that the "
        f"tests there are do not reach{tried}."
    )


def _written(found: Study, place: _Place, dropped: set[str], order: int) -> str:
    """Return the whole test file.

    Raises:
        NothingToTest: no test is left.
    """
    text = write_test_file(
        found, place.module, place.style, base=place.base, without=dropped, order=order, origins=place.origins
    )
    if text is None:
        raise NothingToTest("Every test that was written failed when pytest ran it.")
    return text


def _breaking(said: TestResult, path: str, text: str) -> set[str]:
    """Return the names of the tests for which pytest cannot read *text*, the test file *path*: those that use the name
    that cannot be imported, or the one at the line that fails.
    """
    if name := re.search(r"cannot import name '(\w+)'", said.message):
        return names_of_tests_using(text, name[1])
    return names_of_tests_on(
        text, [int(line) for line in re.findall(rf"{re.escape(path)}:(\d+): in <module>", said.detail)]
    )


def _failing(run: TestRun | NotRun, added: Sequence[str]) -> set[str]:
    """Return the names of the tests that did not pass of those that were *added*: functions, or classes."""
    if not isinstance(run, TestRun):
        return set()
    # A parameter may hold line ends.
    ids = {re.sub(r"\[.*", "", outcome.test_id, flags=re.DOTALL) for outcome in run.failed}
    return {one.rpartition("::")[2] for one in ids if any(one == new or one.startswith(f"{new}::") for new in added)}


def _nothing(request: RunRequest, found: Study) -> str:
    what = request.symbol or request.path
    if not found.targets:
        return f"{what} has nothing public to call."
    if found.n_noticed:
        n = f"{found.n_noticed} fault{'s' if found.n_noticed != 1 else ''}"
        return f"Nothing is proposed: no call of {what} shows more than its tests do, which notice {n} put into it."
    reasons = [f"{names}: {reason}." for reason, names in _by_reason(found)]
    return " ".join([f"No call of {what} has a result that a test could check.", *reasons])


def _by_reason(found: Study) -> Iterator[tuple[str, str]]:
    """Yield each reason why something is left out, with the names of that."""
    for reason in dict.fromkeys(found.left_out.values()):
        yield reason, _listed([name for name, why in found.left_out.items() if why == reason])


def _rationale(request: RunRequest, found: Study, dropped: Sequence[str], why: str, about_file: str) -> str:
    what = request.symbol or request.path
    kept = f"{found.n_calls:,} calls were tried; kept are the {len(found.cases)} that go another way through the code "
    lines = [
        f"These tests say what {what} does today, not what it should do: whether that is right is for you to say.",
        f"{why} Arguments come from types, defaults, documented examples, calls in the repository and literals.",
        f"{kept}or tell a mutant from it, and end alike in every process.",
        *_tested(found),
    ]
    if request.brief:
        lines.append("The wish that came with the command was not heeded: that takes a model.")
    if about_file:
        lines.append(about_file)
    lines += [f"Left out, as {reason}: {names}." for reason, names in _by_reason(found)]
    if dropped:
        lines.append(f"Taken out because they did not pass each time: {_listed(dropped)}.")
    return "\n".join(lines)


def _tested(found: Study) -> Iterator[str]:
    """Yield what is tested and why, a sentence each for what is public, private, and reached from elsewhere."""
    through = {call.target for call in found.cases if call.is_through_another}
    own = [name for name in dict.fromkeys(call.target for call in found.cases) if name not in through]
    if public := [name for name in own if not is_private(name)]:
        are = "it is public" if len(public) == 1 else "they are public"
        everything = all(target in found.targets for target in found.survey.targets)
        more = "" if everything else " and the tests there are leave something out"
        yield f"Tested: {_listed(public)}, because {are}{more}."
    if private := [name for name in own if is_private(name)]:
        yield f"Tested though private, as nothing public was called that leads there: {_listed(private)}."
    mocked = [call for call in found.cases if call.origin == STOOD_IN and any(map(holds_stand_in, call.operands))]
    if mocked:
        yield f"{_MOCKED}: {_listed(list(dict.fromkeys(call.target for call in mocked)))}."
    if through:
        names = sorted(name.removeprefix(THROUGH) for name in through)
        yield f"Reached as the existing tests do, through functions of other modules: {_listed(names)}."


def _about_file(path: str, unread: str) -> str:
    return f"They are in a file of their own, as pytest cannot read {path}: {unread}." if unread else ""


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MAX_NAMED])
    return shown if len(names) <= _MAX_NAMED else f"{shown} and {len(names) - _MAX_NAMED} more"


def _notes(
    request: RunRequest, found: Study, before: TestRun | NotRun | None, after: TestRun | NotRun
) -> tuple[str, ...]:
    """Return notes on what looks wrong, then on what the tests reach and tell apart."""
    notes = [
        f"Looks wrong, and is not asserted: {on_one_line(call.source)} raises {seen.type_name}"
        f"{f' ({seen.message})' if seen.message else ''} at line {seen.line} of {request.path}."
        for call, seen in found.crashes[:_MAX_NAMED]
    ]
    if gain := gain_of(request.path, before, after):
        lines = f"{gain.lines} of {gain.all_lines} lines"
        branches = f"{gain.branches} of {gain.all_branches} branches"
        notes.append(
            f"Of {request.path} the new tests reach {lines} and {branches} {beyond(before)}".rstrip()
            + f". {not_run_before(before)}".rstrip()
        )
        notes.append(f"Each new test ran {len(_OTHER_ORDERS) + 1} times, each time in another order.")
    if found.n_mutants:
        untried = f" There was no time for {found.n_untried} more." if found.n_untried else ""
        of = f"{found.n_mutants} mutants" + (" that the tests there are do not notice" if found.n_noticed else "")
        others = (
            f"Those notice {found.n_noticed}." if found.n_noticed else "Whether other tests notice them was not tried."
        )
        notes.append(
            f"The cases tell {found.n_killed} of {of} from the code; {len(found.survivors)} survive.{untried} {others}"
        )
    return tuple(notes)
