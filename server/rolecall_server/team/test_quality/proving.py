"""From the tests a model wrote to those that are proposed: what fails, wavers, checks or adds nothing is left out.

What goes unnoticed by the tests that are left may be put before the model once more; what comes of it is proven alike.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rolecall_analysis import find_definition
from rolecall_server.craft.attempt import AttemptOutcome
from rolecall_server.craft.test_quality.expected_failures import standing_alone
from rolecall_server.craft.test_quality.test_reduction import Weighed, named, weigh
from rolecall_server.craft.trial import LinesUnderTest, new_failures
from rolecall_server.errors import RolecallError, RunPaused
from rolecall_server.review.proposals.evidence import Defect, DroppedTest, Evidence, MutantTally, TestWorth
from rolecall_server.sandbox import Mutant, MutationRun, NotRun, TestRun
from rolecall_server.team.request import Desk, RunRequest
from rolecall_server.team.test_quality.draft import DraftTests, name_of
from rolecall_server.team.test_quality.reported import tell_known
from rolecall_server.team.test_quality.test_filter import Sieve, by_test, hold_to_tests, shuffle, sift
from rolecall_server.team.test_quality.trials import Trials
from rolecall_server.workspace import read_for_model, read_text_file, split_lines

_MAX_LAST_RUNS = 3


@dataclass(frozen=True)
class Proven:
    """Tests that are worth proposing, and what is known of them."""

    files: Mapping[str, str | None]
    run: TestRun | NotRun
    """The last run, of the files as they are proposed."""
    defects: tuple[Defect, ...] = ()
    worth: tuple[TestWorth, ...] = ()
    mutants: MutantTally | None = None
    left_out: tuple[DroppedTest, ...] = ()
    orders: int = 0
    off: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """The tests that show findings, marked to fail, by the file they belong to."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class More:
    """The additions of a model to test files, so that they notice more."""

    files: Mapping[str, str | None]
    """The whole texts of those that changed."""
    said: str
    """The text beside its edits."""
    asked: tuple[Mutant, ...]
    """The faults it was shown."""
    equal: tuple[Mutant, ...] = ()
    """Those of them that make no difference, by its word."""


AskForMore = Callable[[Mapping[str, str | None], Sequence[Mutant], str], Awaitable[More | None]]
"""Asks for what test files lack, given their texts, the faults they let pass, and what was reported and left out.

``None`` where that would not pay.
"""


async def prove_tests(
    request: RunRequest, desk: Desk, trials: Trials, outcome: AttemptOutcome, ask_for_more: AskForMore
) -> Proven:
    """Return the tests of *outcome* that pass in any order and are worth something, and what the others showed.

    Raises:
        NothingToTest: none of them is worth proposing.
    """
    files = outcome.attempt.files
    draft = DraftTests(dict(files), {path: read_for_model(desk.workspace, path) for path in files})
    sieve = Sieve(request, desk, trials, draft)
    run = sift(sieve, outcome.attempt.run, outcome.said)
    if isinstance(run, NotRun) or run.status in ("not run", "no tests"):
        return Proven(draft.files, run, sieve.defects, left_out=tuple(draft.left_out), notes=tuple(draft.notes))
    weighed = await _shuffled_and_weighed(sieve, run)
    hold_to_tests(sieve)
    if weighed is not None:
        weighed = await _notice_more(sieve, weighed, ask_for_more)
    if draft.files and draft.files != files:
        run = await _run_to_the_end(sieve)
    offered, off, run_of_off = await _offered(sieve)
    if not off:
        # None of them fails as it is marked to, so that they are no reason to go on without other tests.
        sieve.showing.clear()
        hold_to_tests(sieve)
    run = run if draft.files else run_of_off
    defects = tuple(replace(one, offered=offered.get(one.test, "")) for one in sieve.defects)
    kept = draft.added()
    return Proven(
        draft.files,
        run,
        defects,
        tuple(one for one in weighed.kept if one.test in kept) if weighed else (),
        weighed.mutants if weighed else None,
        tuple(draft.left_out),
        sieve.orders,
        off,
        tuple(draft.notes),
    )


async def _shuffled_and_weighed(sieve: Sieve, run: TestRun) -> Weighed | None:
    if not sieve.draft.files:
        return None
    await shuffle(sieve)
    return await _weigh(sieve, run, target_of(sieve.request, sieve.desk))


async def _offered(sieve: Sieve) -> tuple[dict[str, str], dict[str, list[str]], TestRun | NotRun]:
    """Return the tests that show findings, by the names they were written with and as text by file, and their run.

    One that does not fail as it is marked to is left out.
    """
    off: dict[str, list[str]] = {}
    offered: dict[str, str] = {}
    run: TestRun | NotRun = NotRun("No test shows a finding.")
    for name, (origin, marked) in sieve.showing.items():
        path = name.partition("::")[0]
        there = sieve.draft.files.get(path) or sieve.draft.bases[path] or ""
        text = standing_alone(marked.text, there, origin)
        files = {**sieve.draft.files, path: f"{there.rstrip()}\n\n\n{text}".lstrip("\n")}
        sieve.desk.report("running the tests that show findings", None)
        ids = f"{path}::{marked.name}"
        # Where no other test is left, this run is what is told of the file.
        run = await sieve.trials.with_change(files, [ids if sieve.draft.files else path])
        ended = [one for one in run.outcomes if name_of(one.test_id) == ids] if isinstance(run, TestRun) else []
        if ended and all(one.outcome == "xfailed" for one in ended):
            off.setdefault(path, []).append(text)
            offered[name] = ids
    return offered, off, run


def with_proof(shown: Evidence, proven: Proven) -> Evidence:
    """Return *shown* with what the proof of the tests has added."""
    return replace(
        shown,
        notes=(*shown.notes, *proven.notes),
        defects=proven.defects,
        worth=proven.worth,
        mutants=proven.mutants,
        left_out=proven.left_out,
        orders=proven.orders,
    )


def target_of(request: RunRequest, desk: Desk) -> LinesUnderTest:
    """Return the lines that *request* wants tests for."""
    symbol = find_definition(desk.snapshot, request.path, request.symbol) if request.symbol else None
    if symbol is not None:
        return LinesUnderTest(request.path, range(symbol.span.start.line + 1, symbol.span.end.line + 2))
    return LinesUnderTest(
        request.path, range(1, len(split_lines(read_text_file(desk.workspace, request.path).text)) + 1)
    )


async def _weigh(sieve: Sieve, run: TestRun, target: LinesUnderTest, known: Collection[str] = ()) -> Weighed | None:
    """Take out the tests, beside those *known*, that add nothing on *target*; what each of the others adds."""
    desk, draft = sieve.desk, sieve.draft
    limit_s = desk.settings.tests.worth_seconds
    if not limit_s or not draft.files:
        return None
    desk.report("trying the tests on faults put into the code", None)
    found = await desk.bench.mutate(draft.files, target, sieve.tests, limit_s)
    if not isinstance(found, MutationRun):
        draft.notes.append(f"What each test adds was not measured: {found.reason}")
        return None
    durations_s = {outcome.test_id: outcome.duration_s for outcome in run.outcomes}
    weighed = weigh(found, draft.added().keys() - set(known), durations_s)
    draft.leave_out(dict.fromkeys(weighed.idle, "reaches and notices nothing that the other tests do not"))
    return weighed


async def _notice_more(sieve: Sieve, weighed: Weighed, ask_for_more: AskForMore) -> Weighed:
    """Have the model add tests for what goes unnoticed, prove them like the others; what all are worth together.

    What was proven before stays, whatever comes of it.

    Raises:
        RunPaused: the developer wants no further call for now.
    """
    draft = sieve.draft
    try:
        known = tell_known((f"{one.path}::{one.symbol}: {one.sentence}" for one in sieve.defects), draft.left_out)
        more = await ask_for_more(draft.files, weighed.lived, known)
    except RunPaused:
        raise  # taken up again, the run goes on from here
    except RolecallError as error:
        draft.notes.append(f"The model was not asked about the faults that go unnoticed: {error.what}")
        return weighed
    if more is None:
        return weighed
    tests = draft.added().keys()
    now = await _with_more(sieve, more, tests)
    again = await _weigh(sieve, now, _lines_of(sieve.request.path, weighed.lived), tests) if now else None
    noticed = frozenset(again.killed) if again else frozenset[Mutant]()
    lived = tuple(mutant for mutant in weighed.lived if mutant not in noticed)
    draft.notes.append(_what_it_brought(more, lived))
    return replace(
        weighed,
        kept=(*weighed.kept, *(again.kept if again else ())),
        lived=lived,
        mutants=replace(
            weighed.mutants,
            killed=weighed.mutants.total - len(lived),
            survivors=named(lived),
            duration_s=weighed.mutants.duration_s + (again.mutants.duration_s if again else 0.0),
        ),
    )


async def _with_more(sieve: Sieve, more: More, known: Collection[str]) -> TestRun | None:
    """Run the draft with *more* in it and return the run, sifted; where *known* tests fail, undo this in the draft and
    return ``None``.
    """
    draft, before = sieve.draft, dict(sieve.draft.files)
    draft.files.update(more.files)
    if draft.files == before:
        return None
    sieve.desk.report("running the tests that notice more", None)
    run = await sieve.trials.with_change(draft.files, sieve.tests)
    added = draft.added().keys() - set(known)
    is_usable = isinstance(run, TestRun) and run.status == "ran"
    if not is_usable or not {name_of(bad.test_id) for bad in new_failures(sieve.trials.before, run)} <= added:
        draft.files = before
        draft.notes.append("What the model then added was left out: with it, the other tests do not run.")
        return None
    assert isinstance(run, TestRun)
    sift(sieve, run, more.said)
    await shuffle(sieve)
    return run


def _lines_of(path: str, mutants: Sequence[Mutant]) -> LinesUnderTest:
    return LinesUnderTest(path, frozenset(mutant.line for mutant in mutants))


def _what_it_brought(more: More, lived: Sequence[Mutant]) -> str:
    n_noticed = sum(mutant not in lived for mutant in more.asked)
    said = f"The model was asked once more, about {len(more.asked)} faults: the tests now notice {n_noticed} of them."
    equal = [str(mutant) for mutant in more.equal if mutant in lived]
    return f"{said} By its word these make no difference: {'; '.join(equal)}." if equal else said


async def _run_to_the_end(sieve: Sieve) -> TestRun | NotRun:
    """Run the tests as they are to be proposed, and again without those that fail, and return the last run."""
    draft, before = sieve.draft, sieve.trials.before
    run: TestRun | NotRun = NotRun("No test is left.")
    for _ in range(_MAX_LAST_RUNS):
        sieve.desk.report("running the tests that are left", None)
        run = await sieve.trials.with_change(draft.files, sieve.tests)
        tests = draft.added()
        failing = [name for name in by_test(new_failures(before, run)) if name in tests]
        if not failing:
            break
        draft.leave_out(dict.fromkeys(failing, "does not pass in every run"))
        hold_to_tests(sieve)
    return run
