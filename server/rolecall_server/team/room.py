"""The things that the roles of a run share: the repository, the model, a bench, somebody who answers questions."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from rolecall_server.context import ContextPack
from rolecall_server.context.manifest import MANIFEST_JSON, manifest_of
from rolecall_server.craft.trial import Bench
from rolecall_server.errors import NoModelConfigured
from rolecall_server.model import ChatMessage, Chosen, Parameters
from rolecall_server.settings import Settings
from rolecall_server.store.messages import MessageRow
from rolecall_server.team.consulting import Consulting, how_to_ask, owners_of
from rolecall_server.team.control import Control
from rolecall_server.team.documents import Question
from rolecall_server.team.experience.keeping import keep_with
from rolecall_server.team.lessons.learning import accepted_rules
from rolecall_server.team.messages.board import TEAM, Pool
from rolecall_server.team.model_calls.budgeted import Allowance, StoredCalls, fingerprint
from rolecall_server.team.model_calls.prices import prices_of
from rolecall_server.team.model_stack import IN_A_TEAM, lookups_for
from rolecall_server.team.plan.steps import Step
from rolecall_server.team.request import Desk, Report, Repository
from rolecall_server.team.roles.declarations import Role, Verb

CONSULTED = "consulted"
"""The kind of work of a role that another role asks."""

AskDeveloper = Callable[[Sequence[Question]], Awaitable[Mapping[str, str]]]
"""Asks questions; the answers by the id of the question. One without an answer has none: the recommendation holds."""


async def answer_nothing(questions: Sequence[Question]) -> Mapping[str, str]:
    """Return no answers, where nobody can be asked."""
    return {}


OnSteps = Callable[[Sequence[Step]], None]
"""Told which steps are under way, whenever one begins or ends."""
OnMessage = Callable[[MessageRow], None]
"""Told of each message once it is stored."""


@dataclass(frozen=True)
class Developer:
    """The means by which a run speaks with the developer."""

    report: Report
    """Told what goes on."""
    ask: AskDeveloper = answer_nothing
    on_message: OnMessage = lambda message: None
    control: Control = field(default_factory=Control)
    on_steps: OnSteps = lambda steps: None
    tell: Callable[[str], None] = lambda text: None
    """Told what should be read while a run goes on."""


@dataclass(frozen=True)
class Room:
    """The place where the steps of one run are taken."""

    run_id: str
    repository: Repository
    roster: Mapping[str, Role]
    model: Chosen | NoModelConfigured
    """The model that answers, or why there is none, where tests are written without one."""
    bench: Bench
    developer: Developer
    allowance: Allowance = field(default_factory=Allowance)
    claims: dict[str, str] = field(default_factory=dict[str, str])
    claiming: threading.Lock = field(default_factory=threading.Lock)
    """Held from looking whose a file is to its claim: edits are applied in threads."""
    """The files outside the design that tasks were let into, and by which task."""

    @property
    def has_tester(self) -> bool:
        """Return whether somebody writes tests from the requirements."""
        return any(role.publishes("tests") for role in self.roster.values())

    def calls(self, step: Step, pool: Pool, role: Role) -> StoredCalls:
        """Return the model as *role* asks it for *step*; what was answered for that step is not asked again."""
        assert not isinstance(self.model, NoModelConfigured)
        repository, row = self.repository, pool.steps.get(step.key)
        settings = repository.settings.for_role(role.name)
        return StoredCalls(
            self.model.client,
            repository.store,
            self.run_id,
            settings.budget,
            settings.model.reply_tokens,
            repository.ask_for_more,
            self.bench.kept_back.covers(),
            role=role.name,
            kind=self._kind(step, role),
            prices=prices_of(settings.model),
            parameters=parameters_of(role, repository.settings),
            # The attempt is part of it, so that a step which is taken again asks the model anew.
            purpose=f"{step.key}#{row.attempt if row else 0}",
            allowance=self.allowance,
            # In a team a pause lets steps end. In a run of one step, no other moment would come to heed it.
            is_paused=lambda: step.duty.is_whole_run and self.developer.control.is_paused,
        )

    def _kind(self, step: Step, role: Role) -> str:
        """Return the kind of work that *role* does for *step*: its own, or an answer to who does it."""
        if role.name != step.role.name:
            return CONSULTED
        is_of_its_own = step.duty.is_whole_run or step.duty.does is Verb.DOUBT
        is_alone = not is_of_its_own and len(self.roster.keys() - {TEAM}) == 1
        return Verb.ALONE if is_alone else step.duty.does

    def desk(self, step: Step, pool: Pool) -> Desk:
        """Return the desk of a role, with the repository as it was when the run began."""
        repository, names, own = self.repository, (), None
        calls, owners = partial(self.calls, step, pool), owners_of(step, self.roster)
        if not isinstance(self.model, NoModelConfigured):
            tools = step.role.tools if repository.snapshot.files else ()  # in no code there is nothing to look up
            names = lookups_for(self.model, repository.settings.for_role(step.role.name), tools)
            own = calls(step.role)
        desk = Desk(
            repository.workspace,
            repository.snapshot,
            repository.settings,
            Consulting(own, calls, step, pool, owners, repository.workspace) if own else None,
            self.bench,
            partial(self._report, step),
            partial(self._record, step.role),
            lookups=names,
            tool_limits=IN_A_TEAM,
            role=step.role.name,
            accepted_rules=accepted_rules(repository.store, repository.workspace, step.role.name),
            how_to_ask=how_to_ask(owners),
            corpus=repository.corpus,
            tell=self.developer.tell,
        )
        return replace(desk, keep=keep_with(own)) if own and repository.settings.experience.kept else desk

    def _report(self, step: Step, message: str, fraction: float | None) -> None:
        self.developer.report(message if step.duty.is_whole_run else f"{step.label}: {message}", fraction)

    def _record(self, role: Role, packed: ContextPack, opening: Sequence[ChatMessage]) -> None:
        body = MANIFEST_JSON.dump_json(manifest_of(role.title, packed)).decode()
        self.repository.store.add_manifest(self.run_id, body, fingerprint(opening))


def parameters_of(role: Role, settings: Settings) -> Parameters:
    """Return the parameters for a role's model: as the developer set them for that role, else as the role declares
    them.
    """
    own = settings.of_role(role.name)
    logprobs = settings.experience.kept or None
    given = Parameters(own.model or "", own.temperature, own.top_p, own.seed, own.reply_tokens, logprobs)
    return given.over(Parameters(model=role.model, temperature=role.temperature))
