"""One role's work on one request, from the command to a stored proposal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from rolecall_analysis import Snapshot
from rolecall_analysis.retrieval import Corpus
from rolecall_server.context import ContextPack
from rolecall_server.context.kept_back import KeptBack, find_kept_back
from rolecall_server.context.manifest import MANIFEST_JSON, manifest_of
from rolecall_server.craft.attempts import Attempt, Outcome, Work, work_out
from rolecall_server.craft.history import Memory
from rolecall_server.craft.lookups import TOOL_NAMES
from rolecall_server.craft.trial import Bench, evidence
from rolecall_server.craft.verdicts import without_suspicions
from rolecall_server.errors import NoModelConfigured, RolecallError
from rolecall_server.model import (
    ChatMessage,
    EditorOffer,
    ModelClient,
    find_model,
)
from rolecall_server.review.changes import changes_of, without_needs_of_off
from rolecall_server.review.checks import check_changes
from rolecall_server.review.dependents import link_hunks
from rolecall_server.review.evidence import Evidence
from rolecall_server.review.proposal import FileChange, Proposal
from rolecall_server.review.shelf import save_proposal, supersede_earlier
from rolecall_server.review.touched import with_touched
from rolecall_server.sandbox import Mutant, NotRun, choose_confinement, find_interpreter, shadow_workspace
from rolecall_server.sandbox.trust import AskTrust, confirmed, trust_nothing
from rolecall_server.settings import Settings
from rolecall_server.store import Store, cache_path
from rolecall_server.team.calibration import fit_of
from rolecall_server.team.calls import AskForMore, StoredCalls, fingerprint, stop_there
from rolecall_server.team.declared import ALONE
from rolecall_server.team.earlier import earlier_proposal, show_earlier
from rolecall_server.team.known import KnownModel, known_model, lookups_for
from rolecall_server.team.learning import accepted_rules
from rolecall_server.team.looking_up import looking_up
from rolecall_server.team.planning import title_of_brief
from rolecall_server.team.prices import prices_of
from rolecall_server.team.proving import More, prove_tests, with_proof
from rolecall_server.team.rejections import earlier_rejections
from rolecall_server.team.repacking import Repacking
from rolecall_server.team.request import TITLES, Desk, Report, RoleName, RunRequest
from rolecall_server.team.revising import put_revised_aside, revise, revision_title
from rolecall_server.team.roles import ask_about_survivors, implement, write_tests
from rolecall_server.team.trials import Trials, red_and_green
from rolecall_server.workspace import Workspace, read_text_file

DoWork = Callable[[RunRequest, Desk], Awaitable[tuple[Work, Trials]]]

_WORK: Mapping[RoleName, DoWork] = {RoleName.QA_ENGINEER: write_tests, RoleName.ENGINEER: implement}


@dataclass(frozen=True)
class Repository:
    """The repository a run works on, as it was when the command came."""

    workspace: Workspace
    snapshot: Snapshot
    store: Store
    settings: Settings
    environ: Mapping[str, str]
    ask_for_more: AskForMore = stop_there
    """Asked when the run has used up its budget."""
    ask_trust: AskTrust = trust_nothing
    """Asked before a Python that lies in the workspace is used for the first time."""

    @cached_property
    def corpus(self) -> Corpus:
        """The words of its files, read when a role first asks what a brief is about, and once for the whole run."""
        return Corpus(self.workspace.root)


@dataclass(frozen=True)
class Finished:
    """What a run came to."""

    proposal: Proposal
    error: RolecallError | None = None
    """What ended it early; the proposal is the best of what there was."""


@dataclass(frozen=True)
class _Written:
    """What a role made of a request."""

    attempt: Attempt
    rationale: str
    evidence: Evidence
    interrupted: RolecallError | None = None
    off: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Tests that show findings, by the file they belong to."""


async def whom_to_ask(
    request: RunRequest,
    settings: Settings,
    environ: Mapping[str, str],
    *,
    offer: EditorOffer | None = None,
    store: Store | None = None,
) -> ModelClient | NoModelConfigured:
    """The model that answers for a role; where there is none, the reason, if *request* is for tests: they do without.

    Raises:
        NoModelConfigured: there is none, or the one that is named cannot be used.
        UserMustAct: what is named cannot be used for another reason.
    """
    try:
        own = settings.for_role(request.role)
        return known_model(await find_model(own.model, environ, offer=offer, store=store), store)
    except NoModelConfigured as missing:
        named = settings.model.name or settings.model.base_url
        if named or request.role is not RoleName.QA_ENGINEER or request.revises is not None:
            raise
        return missing


async def carry_out(
    run_id: str, request: RunRequest, repository: Repository, client: ModelClient | NoModelConfigured, report: Report
) -> Finished:
    """The stored proposal that *request* leads to; how the run ended is stored in every case.

    Raises:
        RolecallError: nothing came of it; the error says who acts next.
    """
    store = repository.store
    try:
        finished = await _work(run_id, request, repository, client, report)
    except asyncio.CancelledError:
        store.end_run(run_id, "cancelled")
        raise
    except BaseException as error:
        store.end_run(run_id, "failed", str(error))
        raise
    store.end_run(run_id, "failed" if finished.error else "finished", str(finished.error or ""))
    return finished


async def _work(
    run_id: str, request: RunRequest, repository: Repository, client: ModelClient | NoModelConfigured, report: Report
) -> Finished:
    workspace, store = repository.workspace, repository.store
    if request.path and request.revises is None and not request.makes_file:
        read_text_file(workspace, request.path)  # refused before anything is copied or asked
    async with open_bench(repository, report, for_model=not isinstance(client, NoModelConfigured)) as bench:
        record = partial(_record, store, run_id, TITLES[request.role])
        rejections = earlier_rejections(store, workspace.root, TITLES[request.role], request.path)
        earlier = await asyncio.to_thread(_earlier, store, workspace, request)
        desk = Desk(
            workspace,
            repository.snapshot,
            repository.settings,
            None,
            bench,
            report,
            record,
            rejections,
            earlier,
            role=request.role,
            accepted_rules=accepted_rules(store, workspace, request.role),
            corpus=repository.corpus,
        )
        if isinstance(client, NoModelConfigured):
            written = await _without_a_model(request, desk, client)
        else:
            settings = repository.settings.for_role(request.role)
            calls = StoredCalls(
                client,
                store,
                run_id,
                settings.budget,
                settings.model.reply_tokens,
                repository.ask_for_more,
                role=request.role,
                kind=ALONE if request.revises is None else "revise",
                prices=prices_of(settings.model),
                covers=bench.kept_back.covers(),
            )
            known = client if isinstance(client, KnownModel) else KnownModel(client)
            fit = fit_of(store, known.label, known.context_tokens)
            desk = replace(desk, client=calls, fit=fit, lookups=lookups_for(known, settings, TOOL_NAMES))
            written = await _with_a_model(request, desk, replace(calls, ask_for_more=stop_there))
    proposal = Proposal(
        id=store.reserve_proposal(run_id),
        run_id=run_id,
        role=TITLES[request.role],
        title=_title(request),
        rationale=written.rationale,
        origin=request.revises.origin if request.revises else request.path,
        files=await asyncio.to_thread(_changes, repository, written),
        evidence=written.evidence,
    )
    save_proposal(store, proposal)
    if written.interrupted is None:
        supersede_earlier(store, workspace.root, proposal)
        put_revised_aside(store, request, proposal)
    return Finished(proposal, written.interrupted)


async def _with_a_model(request: RunRequest, desk: Desk, to_spare: ModelClient) -> _Written:
    """What a role makes of *request*; *to_spare* answers what may be asked only where the budget has room for it."""
    assert desk.client is not None
    work, trials = await _work_of(request)(request, desk)
    client = looking_up(desk, Repacking(desk.client, desk.repacks))
    checked = replace(work, check=partial(check_changes, desk.snapshot), draft=desk.draft)
    outcome = await work_out(checked, client, desk.report)
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
    )
    if proven is not None:
        shown = with_proof(shown, proven)
    shown = await red_and_green(desk, shown, outcome.attempt.files)
    shown = replace(shown, notes=(*shown.notes, *desk.bench.kept_back.notes))
    rationale = "\n\n".join(part for part in (work.chosen, without_suspicions(outcome.rationale)) if part)
    return _Written(outcome.attempt, rationale, shown, outcome.interrupted, proven.off if proven else {})


async def _without_a_model(request: RunRequest, desk: Desk, missing: NoModelConfigured) -> _Written:
    from rolecall_server.team.roles.plain_tests import write_plain_tests  # slow to import, and seldom needed

    plain = await write_plain_tests(request, desk, missing.what)
    findings = await asyncio.to_thread(check_changes, desk.snapshot, plain.files)
    shown = evidence(plain.before, plain.after, problems=(), findings=findings, repairs=0, model="")
    return _Written(Attempt(plain.files, plain.after), plain.rationale, replace(shown, notes=plain.notes))


def _earlier(store: Store, workspace: Workspace, request: RunRequest) -> str:
    """The tests proposed before that the brief of *request* is about."""
    if request.role is not RoleName.QA_ENGINEER or request.revises is not None or not request.brief.strip():
        return ""
    found = earlier_proposal(store, workspace.root, TITLES[request.role], _title(request), request.path)
    return show_earlier(found) if found else ""


def _record(store: Store, run_id: str, role: str, packed: ContextPack, opening: Sequence[ChatMessage]) -> None:
    store.add_manifest(run_id, MANIFEST_JSON.dump_json(manifest_of(role, packed)).decode(), fingerprint(opening))


@asynccontextmanager
async def open_bench(repository: Repository, report: Report, *, for_model: bool = True) -> AsyncGenerator[Bench]:
    """Open a bench to try changes on; it runs nothing, and says why, where the settings or the machine forbid it.

    What runs *for_model* does not see what is kept from models.
    """
    tests = repository.settings.tests
    if not tests.run:
        off = NotRun("rolecall.tests.run is off.")
        yield Bench(off, off, tests.timeout_seconds)
        return
    root = repository.workspace.root
    report("setting the workspace apart", None)
    confinement = await choose_confinement(tests.confinement, root)
    interpreter = find_interpreter(root, tests.interpreter, repository.environ)
    if not isinstance(confinement, NotRun):
        interpreter = await confirmed(interpreter, root, tests.interpreter, repository.store, repository.ask_trust)
    kept_back = await asyncio.to_thread(find_kept_back, repository.workspace) if for_model else KeptBack()
    seen = replace(repository.workspace, buffers={**repository.workspace.buffers, **kept_back.texts})
    copies = cache_path() / "copies"
    async with shadow_workspace(seen, confinement, copies=copies, without=kept_back.gone) as shadow:
        memory = Memory(repository.store, root, repository.snapshot)
        yield Bench(shadow, interpreter, tests.timeout_seconds, tests.suite_seconds, kept_back, memory)


async def try_selection(repository: Repository, texts: Mapping[str, str | None], report: Report) -> Evidence:
    """Return what the tests show of *texts*: some hunks of a proposal without the rest."""
    async with open_bench(repository, report, for_model=False) as bench:
        trials = Trials(Desk(repository.workspace, repository.snapshot, repository.settings, None, bench, report), ())
        after = await trials.of_change(texts)
        return evidence(trials.before, after, problems=(), findings=(), repairs=0, model="")


def _changes(repository: Repository, written: _Written) -> tuple[FileChange, ...]:
    """Return the files of *written* as hunks on the workspace's texts, which know what they need and touch."""
    attempt = written.attempt
    changes = changes_of(repository.workspace, attempt.files, attempt.renames, written.off)
    linked = without_needs_of_off(link_hunks(changes, repository.snapshot))
    return with_touched(linked, repository.snapshot)


def describe_broken(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """A sentence where the file a role is to work on does not parse as it is."""
    facts = snapshot.files.get(path)
    if facts is None or not facts.problems:
        return ()
    first = facts.problems[0]
    where = f"line {first.span.start.line + 1}: " if first.span else ""
    return (f"{path} does not parse as it is ({where}{first.message})",)


def _problems(outcome: Outcome) -> tuple[str, ...]:
    stopped = (f"The work was cut short: {outcome.interrupted.what}",) if outcome.interrupted else ()
    return (*outcome.attempt.syntax_errors, *outcome.problems, *stopped)


def _work_of(request: RunRequest) -> DoWork:
    return revise if request.revises is not None else _WORK[request.role]


def _title(request: RunRequest) -> str:
    if request.revises is not None:
        return revision_title(request.revises)
    if request.role is RoleName.QA_ENGINEER:
        return f"Tests for {request.symbol or request.path}"
    return title_of_brief(request.brief)
