"""The arms of an ablation: the strategy as it is, and without each of its parts; how a task goes in one of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from rolecall_analysis import Index
from rolecall_server.errors import CodeNotRun, NotReproduced, ReplyUnusable
from rolecall_server.model import Chosen
from rolecall_server.review.proposals.proposal_store import load_proposal
from rolecall_server.review.selection import texts_with
from rolecall_server.sandbox import NotRun, TestRun
from rolecall_server.settings import Settings, StrategyName, read_settings
from rolecall_server.store import Store, open_store
from rolecall_server.store.usage import usage
from rolecall_server.team.ablation.tasks import RepairTask, lay_out
from rolecall_server.team.engine.scheduler import carry_out_run
from rolecall_server.team.plan.planning import begin_run
from rolecall_server.team.plan.strategies import parts, with_strategy
from rolecall_server.team.request import Report, Repository
from rolecall_server.team.room import Developer
from rolecall_server.team.run import open_bench
from rolecall_server.workspace import Workspace, read_text_or_none

AS_IT_IS = "as it is"
_COMMANDS = frozenset({"fix", "implement"})
CANNOT_DECIDE = (CodeNotRun, NotReproduced)
"""The errors after which a task is left out: whatever a model did, its tests could not tell."""

FindModel = Callable[[Settings, Store], Awaitable[Chosen]]


@dataclass(frozen=True)
class Arm:
    """One way to work on all tasks."""

    name: str
    settings: Settings
    commands: frozenset[str]
    """The commands whose work it reaches: at other tasks it is as good as the strategy as it is."""


class TaskResult(BaseModel):
    """How one task went in one arm."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    task: str
    strategy: str
    arm: str
    model: str
    solved: bool
    calls: int
    tokens: int
    """Sent and received, as the endpoint counts them."""
    seconds: float
    said: str
    """Why it is not solved; empty where it is."""


def arms_of(
    strategy: StrategyName, options: Mapping[str, Mapping[str, Any]], environ: Mapping[str, str]
) -> Iterator[Arm]:
    """Yield the *strategy* as it is, with the settings in *options* and *environ*, and without each part that it has
    on.
    """
    chosen = _with(options, "team.strategy", strategy)
    whole, _ = read_settings(chosen, environ)
    yield Arm(AS_IT_IS, whole, _COMMANDS)
    for part in parts():
        settings, _ = read_settings(_with(chosen, part.setting, part.off), environ)
        is_on = with_strategy(settings, strategy) != with_strategy(whole, strategy)
        if is_on and _COMMANDS.intersection(part.reaches):
            yield Arm(f"without {part.name}", settings, _COMMANDS.intersection(part.reaches))


def _with(options: Mapping[str, Mapping[str, Any]], key: str, value: object) -> dict[str, Mapping[str, Any]]:
    group, option = key.split(".")
    return {**options, group: {**options.get(group, {}), option: value}}


@dataclass(frozen=True)
class Ablation:
    """What all runs of a measurement share."""

    strategy: StrategyName
    repositories: Path
    environ: Mapping[str, str]
    find_model: FindModel
    report: Report


async def carry_out(task: RepairTask, arm: Arm, around: Ablation, scratch: Path) -> TaskResult:
    """Have *task* done in *arm*, in a checkout of its own below *scratch*, and judged by its hidden tests.

    Raises:
        RequestRefused: the task cannot be laid out.
        CodeNotRun: its tests cannot be run here, or pass without the change.
        NotReproduced: the same, where they are shown.
        RolecallError: the model cannot be asked any more.
    """
    root = scratch / "checkout"
    tests = await asyncio.to_thread(lay_out, task, around.repositories, root)
    store = open_store(scratch / "rolecall.db")
    index = Index(root)
    try:
        await asyncio.to_thread(index.scan)
        repository = Repository(Workspace(root.resolve()), index.snapshot(), store, arm.settings, around.environ)
        began = time.perf_counter()
        files, label, said = await _work(task, repository, around)
        seconds = time.perf_counter() - began
        missed = said or await missed_by(task, tests, files, repository, around)
        used = usage(store)[0]
    finally:
        index.close()
        store.close()
    return TaskResult(
        task=task.id,
        strategy=around.strategy,
        arm=arm.name,
        model=label,
        solved=not missed,
        calls=used.n_calls,
        tokens=used.tokens,
        seconds=round(seconds, 1),
        said=missed,
    )


async def _work(
    task: RepairTask, repository: Repository, around: Ablation
) -> tuple[Mapping[str, str | None], str, str]:
    """Return the files that are proposed for *task*, the model, and why nothing is proposed, if so."""
    store = repository.store
    model = await around.find_model(repository.settings, store)
    try:
        run_id = begin_run(store, repository.workspace.root, task.request)
        ended = await carry_out_run(run_id, repository, model, Developer(around.report))
    finally:
        await model.client.aclose()
    if ended.error is not None and not isinstance(ended.error, ReplyUnusable):
        raise ended.error
    if not ended.proposal_id:
        return {}, model.client.label, ended.error.what if ended.error is not None else "Nothing was proposed."
    reviewed = load_proposal(store, ended.proposal_id)
    files = texts_with(reviewed, reviewed.taken_together, partial(read_text_or_none, repository.workspace))
    return files, model.client.label, ""


async def missed_by(
    task: RepairTask,
    tests: Mapping[str, str | None],
    files: Mapping[str, str | None],
    repository: Repository,
    around: Ablation,
) -> str:
    """Return what the hidden *tests* of *task* miss in *files*: tests that still fail, or that passed without them;
    empty where they miss nothing.

    Raises:
        CodeNotRun: they cannot be run here, or none of them fails without the change.
    """
    async with open_bench(repository, around.report, for_model=False) as bench:
        without = _ran(await bench.run(tests, task.tests, ()))
        # The hidden tests last: what a model wrote into their files does not count.
        with_change = _ran(await bench.run({**files, **tests}, task.tests, ()))
    if not without.outcomes and not with_change.outcomes:
        raise CodeNotRun(f"Its tests cannot be run: {without.reason}", "Name a Python that has what they need.")
    before, after = ({one.test_id for one in run.passed} for run in (without, with_change))
    if {*task.f2p} <= before:
        raise CodeNotRun("Its tests pass without the change.", "Leave the task out.")
    failing, broken = sorted({*task.f2p} - after), sorted(before - after)
    told = [f"{len(failing)} of {len(task.f2p)} tests fail: {failing[0]}"] if failing else []
    return "; ".join([*told, *([f"{len(broken)} tests are broken: {broken[0]}"] if broken else [])])


def _ran(run: TestRun | NotRun) -> TestRun:
    """Return *run*.

    Raises:
        CodeNotRun: it is none.
    """
    if isinstance(run, NotRun):
        raise CodeNotRun(f"Its tests cannot be run: {run.reason}", run.next_step or None)
    return run
