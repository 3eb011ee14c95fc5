"""One role's work on one request, from the command to a stored proposal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from rolecall_analysis import Snapshot
from rolecall_server.context.kept_back import KeptBack, find_kept_back
from rolecall_server.craft.attempt import Attempt, AttemptOutcome, AttemptWork
from rolecall_server.craft.attempts import work_out
from rolecall_server.craft.from_memory import tell_from_memory
from rolecall_server.craft.history import SuiteHistoryStore
from rolecall_server.craft.installed import checking
from rolecall_server.craft.trial import bad_outcomes, evidence
from rolecall_server.craft.verdicts import without_suspicions
from rolecall_server.errors import NoModelConfigured, RolecallError, RunPaused
from rolecall_server.model import Chosen, EditorOffer, ModelClient, find_model
from rolecall_server.review.checks.hunk_needs import link_hunks
from rolecall_server.review.checks.touched import with_touched
from rolecall_server.review.proposals.changes import changes_of, without_needs_of_off
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.proposal import FileChange, Proposal
from rolecall_server.review.proposals.proposal_store import save_proposal, supersede_earlier
from rolecall_server.sandbox import (
    Mutant,
    NotRun,
    TestRun,
    TestTrace,
    choose_confinement,
    find_interpreter,
    shadow_workspace,
)
from rolecall_server.sandbox.python.trust import confirmed
from rolecall_server.settings import Settings
from rolecall_server.store import Store, cache_path
from rolecall_server.store.messages import NewMessage
from rolecall_server.team.experience.keeping import keep_with
from rolecall_server.team.experience.replaying import recall_at
from rolecall_server.team.lessons.earlier import earlier_proposal, show_earlier
from rolecall_server.team.lessons.past_changes import recall_changes
from rolecall_server.team.lessons.rejections import earlier_rejections
from rolecall_server.team.messages.board import Pool, as_draft, publish
from rolecall_server.team.messages.edits import SharedBench
from rolecall_server.team.messages.settled import with_settled
from rolecall_server.team.model_calls.budgeted import stop_there
from rolecall_server.team.model_calls.calibration import fit_of
from rolecall_server.team.model_stack import ALONE, OF_A_REPAIR, conversation
from rolecall_server.team.plan.briefs import title_of_brief
from rolecall_server.team.plan.planning import request_in
from rolecall_server.team.plan.steps import Step
from rolecall_server.team.repair import Reproduction, mend, reproduce, trace_first
from rolecall_server.team.request import TITLES, Desk, FailureToMend, Report, Repository, RoleName, RunRequest
from rolecall_server.team.revising import put_revised_aside, revise, revision_title
from rolecall_server.team.roles import ask_about_survivors, implement, write_tests
from rolecall_server.team.roles.engineer_plans import work_out_by_plans
from rolecall_server.team.room import Room
from rolecall_server.team.test_quality.proving import More, prove_tests, with_proof
from rolecall_server.team.test_quality.trials import Trials, red_and_green
from rolecall_server.workspace import Workspace, file_exists, read_text_file

DoWork = Callable[[RunRequest, Desk], Awaitable[tuple[AttemptWork, Trials]]]

_WORK: Mapping[RoleName, DoWork] = {RoleName.QA_ENGINEER: write_tests, RoleName.ENGINEER: implement}


@dataclass(frozen=True)
class _Written:
    """The result of a role's work on a request."""

    attempt: Attempt
    rationale: str
    evidence: Evidence
    interrupted: RolecallError | None = None
    """The error that ended it early; the attempt is the best of what there was."""
    off: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Tests that show findings, by the file they belong to."""


async def find_model_for(
    request: RunRequest | None,
    settings: Settings,
    environ: Mapping[str, str],
    *,
    offer: EditorOffer | None = None,
    store: Store | None = None,
) -> Chosen | NoModelConfigured:
    """Return the model that answers in a run for *request*, or of the team where there is none; or why there is no
    model, if the run is for tests, which do without.

    Raises:
        NoModelConfigured: there is none, or the one that is named cannot be used.
        UserMustAct: what is named cannot be used for another reason.
    """
    try:
        own = settings if request is None else settings.for_role(request.role)
        return await find_model(own.model, environ, offer=offer, store=store)
    except NoModelConfigured as missing:
        named = settings.model.name or settings.model.base_url
        if named or request is None or request.role is not RoleName.QA_ENGINEER or request.revises is not None:
            raise
        return missing


def check_request(request: RunRequest, workspace: Workspace) -> None:
    """Hold *request* to a file that can be read, before anything is copied or asked.

    Raises:
        FileRefused: it cannot.
    """
    if request.path and request.revises is None and not request.makes_file:
        read_text_file(workspace, request.path)


async def work_alone(step: Step, room: Room, pool: Pool) -> tuple[NewMessage, ...]:
    """Do what a command asked one role for, store the proposal, and return the message that says so.

    Raises:
        RolecallError: it was cut short; what there was by then is proposed and told of.
    """
    brief = step.message("brief")
    assert brief is not None
    request, repository, store = request_in(brief), room.repository, room.repository.store
    if file_exists(repository.workspace, request.path):  # a file that was to be made may be there by now
        request = replace(request, makes_file=False)
    desk = await _desk(request, step, room, pool)
    if isinstance(room.model, NoModelConfigured):
        written = await _without_a_model(request, desk, room.model)
    else:
        calls = room.calls(step, pool, step.role)
        fit = fit_of(store, calls.label, room.model.context_tokens, room.run_id)
        keep = keep_with(calls) if repository.settings.experience.kept else desk.keep
        seated = replace(desk, client=calls, fit=fit, keep=keep)
        # What it asks is worth having and no more: no developer is to be asked to raise a limit for it.
        to_spare = replace(calls, ask_for_more=stop_there)
        written = await _with_a_model(request, _work_of(request, store), seated, to_spare)
    proposal = Proposal(
        id=store.reserve_proposal(room.run_id),
        run_id=room.run_id,
        role=step.role.title,
        title=_title(request),
        rationale=written.rationale,
        origin=request.revises.origin if request.revises else request.path,
        files=await asyncio.to_thread(_changes, repository, written),
        evidence=written.evidence,
    )
    save_proposal(store, proposal)
    told = as_draft("proposal", {"proposalId": proposal.id}, step.subject)
    if written.interrupted is not None:
        # Of a step that raises, nothing is stored: the message has to go out before. Being half of the work, the
        # proposal puts no earlier one aside either.
        publish(store, room.run_id, step.role.name, told, [brief.id])
        raise written.interrupted
    supersede_earlier(store, repository.workspace.root, proposal)
    put_revised_aside(store, request, proposal.id)
    return (told,)


async def _desk(request: RunRequest, step: Step, room: Room, pool: Pool) -> Desk:
    """Return the desk of the room, with what concerns *request* of earlier runs."""
    store, root = room.repository.store, room.repository.workspace.root
    desk, log = with_settled(room.desk(step, pool), step.read), request.mends.log if request.mends else ""
    task = " ".join(part for part in (request.brief, request.path, request.symbol, log) if part)
    return replace(
        desk,
        experience=await recall_at(desk, store, room.run_id, task),
        past_changes=await asyncio.to_thread(recall_changes, desk, request.brief) if _is_new_work(request) else (),
        rejections=earlier_rejections(store, root, step.role.title, request.path),
        earlier=await asyncio.to_thread(_earlier, room, request),
        tool_limits=OF_A_REPAIR if request.mends else ALONE,
    )


def _is_new_work(request: RunRequest) -> bool:
    """Return whether *request* is a brief for the Engineer; of a failure or a proposal history says less than it."""
    return request.role is RoleName.ENGINEER and request.mends is None and request.revises is None


async def _with_a_model(request: RunRequest, do_work: DoWork, desk: Desk, to_spare: ModelClient) -> _Written:
    """Return the role's work on *request* by *do_work*; *to_spare* answers what may be asked only where the budget has
    room for it.

    Raises:
        RunPaused: the developer wants no further call for now.
        RolecallError: there is nothing to propose.
    """
    plans = bool(desk.settings.team.plans) and _is_new_work(request)
    if plans:  # what is good of a plan that is given up is known by what ran
        desk = replace(desk, bench=replace(desk.bench, watches_changes=True))
    assert desk.client is not None
    work, trials = await do_work(request, desk)
    check = await checking(desk.bench, desk.snapshot, desk.workspace.root)
    most = desk.settings.team.repairs
    checked = replace(work, check=check, draft=desk.draft, unfound=desk.unfound, keep=desk.keep, most_repairs=most)
    if plans:
        outcome = await work_out_by_plans(checked, desk)
    else:
        outcome = await work_out(checked, conversation(desk, looks_up=work.looks_up), desk.report)
    if isinstance(outcome.interrupted, RunPaused):
        # A pause proposes nothing: once the run is taken up, stored replies bring it back to this point.
        raise outcome.interrupted
    proven = None
    if request.role is RoleName.QA_ENGINEER and request.revises is None:
        spare = replace(desk, client=to_spare)

        def ask_for_more(
            files: Mapping[str, str | None], lived: Sequence[Mutant], known: str
        ) -> Awaitable[More | None]:
            return ask_about_survivors(request, spare, work.opening, files, lived, known=known)

        proven = await prove_tests(request, desk, trials, outcome, ask_for_more)
        outcome = replace(outcome, attempt=replace(outcome.attempt, files=proven.files, run=proven.run))
    shown = evidence(
        trials.before,
        outcome.attempt.run,
        problems=(*describe_broken(desk.snapshot, request.path), *_problems(outcome)),
        findings=outcome.attempt.findings,
        repairs=outcome.repairs,
        model=desk.client.label,
        changed=outcome.attempt.files,
    )
    if proven is not None:
        shown = with_proof(shown, proven)
    shown = await red_and_green(desk, shown, outcome.attempt.files)
    attempt = outcome.attempt
    remembered = tell_from_memory(attempt.notes, attempt.files, attempt.findings, attempt.run)
    shown = replace(shown, notes=(*shown.notes, *remembered, *desk.bench.kept_back.notes))
    rationale = "\n\n".join(part for part in (work.chosen, without_suspicions(outcome.rationale)) if part)
    return _Written(outcome.attempt, rationale, shown, outcome.interrupted, proven.off if proven else {})


async def _without_a_model(request: RunRequest, desk: Desk, missing: NoModelConfigured) -> _Written:
    from rolecall_server.team.roles.characterization import write_plain_tests  # slow to import, and seldom needed

    plain = await write_plain_tests(request, desk, missing.what)
    check = await checking(desk.bench, desk.snapshot, desk.workspace.root)
    findings = await asyncio.to_thread(check, plain.files)
    shown = evidence(
        plain.before, plain.after, problems=(), findings=findings, repairs=0, model="", changed=plain.files
    )
    return _Written(Attempt(plain.files, plain.after), plain.rationale, replace(shown, notes=plain.notes))


def _earlier(room: Room, request: RunRequest) -> str:
    """Return the tests proposed before that the brief of *request* is about."""
    if request.role is not RoleName.QA_ENGINEER or request.revises is not None or not request.brief.strip():
        return ""
    store, root = room.repository.store, room.repository.workspace.root
    found = earlier_proposal(store, root, TITLES[request.role], _title(request), request.path, run_id=room.run_id)
    return show_earlier(found) if found else ""


@asynccontextmanager
async def open_bench(repository: Repository, report: Report, *, for_model: bool = True) -> AsyncGenerator[SharedBench]:
    """Open a bench to try changes on; it runs nothing, and says why, where the settings or the machine forbid it.

    What runs *for_model* does not see what is kept from models.
    """
    tests = repository.settings.tests
    if not tests.run:
        off = NotRun("rolecall.tests.run is off.")
        yield SharedBench(off, off, tests.timeout_seconds)
        return
    root = repository.workspace.root
    report("setting the workspace apart", None)
    confinement = await choose_confinement(tests.confinement, root)
    interpreter = find_interpreter(root, tests.interpreter, repository.environ)
    # Without walls nothing is run, so nobody has to be asked whether this Python may be started.
    if not isinstance(confinement, NotRun):
        interpreter = await confirmed(interpreter, root, tests.interpreter, repository.store, repository.ask_trust)
    kept_back = await asyncio.to_thread(find_kept_back, repository.workspace) if for_model else KeptBack()
    # Masked texts are laid over the files as if an editor held them, so that the copy never has the secrets.
    seen = replace(repository.workspace, buffers={**repository.workspace.buffers, **kept_back.texts})
    copies = cache_path() / "copies"
    async with shadow_workspace(seen, confinement, copies=copies, without=kept_back.gone) as shadow:
        memory = SuiteHistoryStore(repository.store, root, repository.snapshot)
        yield SharedBench(shadow, interpreter, tests.timeout_seconds, tests.suite_seconds, kept_back, memory)


async def locate_failure(repository: Repository, failure: FailureToMend, report: Report) -> Reproduction:
    """Return *failure* as it happens here, with the functions that it lays under suspicion; no model is asked.

    Raises:
        UserMustAct: it cannot be made to happen; the error says why.
    """
    async with open_bench(repository, report, for_model=False) as bench:
        desk = Desk(repository.workspace, repository.snapshot, repository.settings, None, bench, report)
        return await reproduce(desk, failure)


async def trace_failure(repository: Repository, failure: FailureToMend, report: Report) -> TestTrace:
    """Return what the lines of the first test of *failure* compute, whether it fails or not; no model is asked.

    Raises:
        UserMustAct: it cannot be run; the error says why.
    """
    async with open_bench(repository, report, for_model=False) as bench:
        desk = Desk(repository.workspace, repository.snapshot, repository.settings, None, bench, report)
        return await trace_first(desk, failure)


async def try_selection(repository: Repository, texts: Mapping[str, str | None], report: Report) -> Evidence:
    """Return what the tests show of *texts*: some hunks of a proposal without the rest."""
    async with open_bench(repository, report, for_model=False) as bench:
        trials = Trials(Desk(repository.workspace, repository.snapshot, repository.settings, None, bench, report), ())
        after = await trials.of_change(texts)
        return evidence(trials.before, after, problems=(), findings=(), repairs=0, model="", changed=texts)


async def first_that_passes(
    repository: Repository, choices: Sequence[Mapping[str, str | None]], tests: Collection[str], report: Report
) -> int | None:
    """Return the number of the first of some *choices* of texts with which all *tests* pass; ``None`` if none is so.

    A test is a node id, or a file all of whose tests are meant.
    """
    files = sorted({test.partition("::")[0] for test in tests})
    async with open_bench(repository, report, for_model=False) as bench:
        for number, texts in enumerate(choices):
            run = await bench.run(texts, files, ())
            passed = {one.test_id for one in run.passed} if isinstance(run, TestRun) else set[str]()
            failed = {one.test_id for one in bad_outcomes(run)} if isinstance(run, TestRun) else set[str]()
            if all(test not in failed and _has_any(passed, test) for test in tests):
                return number
    return None


def _has_any(passed: Collection[str], test: str) -> bool:
    return test in passed or any(one.startswith(f"{test}::") for one in passed)


def _changes(repository: Repository, written: _Written) -> tuple[FileChange, ...]:
    """Return the files of *written* as hunks on the workspace's texts, which know what they need and touch."""
    attempt = written.attempt
    changes = changes_of(repository.workspace, attempt.files, attempt.renames, written.off)
    linked = without_needs_of_off(link_hunks(changes, repository.snapshot))
    return with_touched(linked, repository.snapshot)


def describe_broken(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """Return a sentence that says so where the file that a role is to work on does not parse."""
    facts = snapshot.files.get(path)
    if facts is None or not facts.problems:
        return ()
    first = facts.problems[0]
    where = f"line {first.span.start.line + 1}: " if first.span else ""
    return (f"{path} does not parse as it is ({where}{first.message})",)


def _problems(outcome: AttemptOutcome) -> tuple[str, ...]:
    stopped = (f"The work was cut short: {outcome.interrupted.what}",) if outcome.interrupted else ()
    return (*outcome.attempt.syntax_errors, *outcome.problems, *stopped)


def _work_of(request: RunRequest, store: Store) -> DoWork:
    if request.revises is not None:
        return partial(revise, store)
    return mend if request.mends is not None else _WORK[request.role]


def _title(request: RunRequest) -> str:
    if request.revises is not None:
        return revision_title(request.revises)
    if request.role is RoleName.QA_ENGINEER:
        return f"Tests for {request.symbol or request.path}"
    return title_of_brief(request.brief)
