"""What the roles of a run share: the repository, the model, a bench, somebody who answers questions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from rolecall_server.context import ContextPack
from rolecall_server.context.manifest import MANIFEST_JSON, manifest_of
from rolecall_server.craft.trial import Bench
from rolecall_server.model import ChatMessage, ModelClient, Parameters
from rolecall_server.settings import Settings
from rolecall_server.team.calls import Allowance, StoredCalls, fingerprint
from rolecall_server.team.consulting import Consulting, how_to_ask, owners_of
from rolecall_server.team.declared import ALONE, Role
from rolecall_server.team.documents import Question
from rolecall_server.team.known import KnownModel, lookups_for
from rolecall_server.team.learning import accepted_rules
from rolecall_server.team.looking_up import IN_A_TEAM
from rolecall_server.team.pool import TEAM, Pool
from rolecall_server.team.prices import prices_of
from rolecall_server.team.request import Desk, Report
from rolecall_server.team.run import Repository
from rolecall_server.team.steps import Step

CONSULTED = "consulted"
"""The kind of work of a role that another role asks."""

AskDeveloper = Callable[[Sequence[Question]], Awaitable[Mapping[str, str]]]
"""Asks questions; the answers by the id of the question. One without an answer has none: the recommendation holds."""


async def answer_nothing(questions: Sequence[Question]) -> Mapping[str, str]:
    """The answers where nobody can be asked."""
    return {}


@dataclass(frozen=True)
class Room:
    """Where the steps of one run are taken."""

    run_id: str
    repository: Repository
    roster: Mapping[str, Role]
    client: ModelClient
    bench: Bench
    report: Report
    ask: AskDeveloper = answer_nothing
    allowance: Allowance = field(default_factory=Allowance)
    claims: dict[str, str] = field(default_factory=dict[str, str])
    """The files outside the design that tasks were let into, and by which task."""

    @property
    def has_tester(self) -> bool:
        """Whether somebody writes tests from the requirements."""
        return any(role.publishes("tests") for role in self.roster.values())

    def calls(self, step: Step, pool: Pool, role: Role) -> StoredCalls:
        """The model as *role* asks it for *step*: what it was told before for the same step is not asked again."""
        repository, settings = self.repository, self.repository.settings.for_role(role.name)
        row = pool.steps.get(step.key)
        return StoredCalls(
            self.client,
            repository.store,
            self.run_id,
            settings.budget,
            settings.model.reply_tokens,
            repository.ask_for_more,
            role=role.name,
            kind=self._kind(step, role),
            prices=prices_of(settings.model),
            purpose=f"{step.key}#{row.attempt if row else 0}",
            allowance=self.allowance,
            parameters=parameters_of(role, repository.settings),
            covers=self.bench.kept_back.covers(),
        )

    def _kind(self, step: Step, role: Role) -> str:
        """Return the kind of work that *role* does for *step*: its own, or an answer to who does it."""
        if role.name != step.role.name:
            return CONSULTED
        return ALONE if len(self.roster.keys() - {TEAM}) == 1 else step.duty.does

    def desk(self, step: Step, pool: Pool) -> Desk:
        """What a role finds on its desk: the repository as it was when the run began."""
        repository = self.repository
        calls, owners = partial(self.calls, step, pool), owners_of(step, self.roster)
        known = self.client if isinstance(self.client, KnownModel) else KnownModel(self.client)
        return Desk(
            repository.workspace,
            repository.snapshot,
            repository.settings,
            Consulting(calls(step.role), calls, step, pool, owners, repository.workspace),
            self.bench,
            partial(self._report, step),
            partial(self._record, step.role),
            lookups=lookups_for(known, repository.settings.for_role(step.role.name), step.role.tools),
            tool_limits=IN_A_TEAM,
            role=step.role.name,
            accepted_rules=accepted_rules(repository.store, repository.workspace, step.role.name),
            how_to_ask=how_to_ask(owners),
            corpus=repository.corpus,
        )

    def _report(self, step: Step, message: str, fraction: float | None) -> None:
        self.report(f"{step.label}: {message}", fraction)

    def _record(self, role: Role, packed: ContextPack, opening: Sequence[ChatMessage]) -> None:
        body = MANIFEST_JSON.dump_json(manifest_of(role.title, packed)).decode()
        self.repository.store.add_manifest(self.run_id, body, fingerprint(opening))


def parameters_of(role: Role, settings: Settings) -> Parameters:
    """How a role's model shall answer: as the developer set it for that role, else as the role declares it."""
    own = settings.of_role(role.name)
    given = Parameters(own.model or "", own.temperature, own.top_p, own.seed, own.reply_tokens)
    return given.over(Parameters(model=role.model, temperature=role.temperature))
