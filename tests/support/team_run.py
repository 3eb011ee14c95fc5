"""Runs of the team in the process of the test, without a sandbox or with the real one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rolecall_analysis import Index
from rolecall_server.model import Chosen, ModelClient
from rolecall_server.sandbox import NotRun
from rolecall_server.settings import Settings
from rolecall_server.store import Store
from rolecall_server.store.messages import MessageRow
from rolecall_server.team.control import Control
from rolecall_server.team.engine.scheduler import Ended, operate
from rolecall_server.team.messages.board import Pool, load_pool
from rolecall_server.team.messages.edits import SharedBench
from rolecall_server.team.plan.planning import begin_run, plan_for, planned_roster
from rolecall_server.team.request import Repository, RunRequest
from rolecall_server.team.roles.declarations import RunWay, our_roles
from rolecall_server.team.room import AskDeveloper, Developer, Room, answer_nothing
from rolecall_server.workspace import Workspace
from support.stores import open_store
from support.workspaces import write_workspace

OFF = NotRun("nothing is run here")


@dataclass
class TeamRun:
    """One run in a small workspace; `go_on` may be called again and again, as after a pause."""

    root: Path
    store: Store
    model: ModelClient
    run_id: str = ""
    takes_tools: bool = False
    settings: Settings = field(default_factory=Settings)
    bench: SharedBench = field(default_factory=lambda: SharedBench(OFF, OFF, 1.0))
    ask: AskDeveloper = answer_nothing
    messages: list[MessageRow] = field(default_factory=list[MessageRow])
    """Those that were told of, in order."""

    def begin(self, brief: str, roles: Iterable[str] = (), way: RunWay | None = None) -> TeamRun:
        known = our_roles()
        plan = plan_for(brief, known, self.settings, roles or (() if way else known), way=way)
        self.run_id = begin_run(self.store, self.root, RunRequest(brief=brief), plan)
        return self

    def begin_alone(self, request: RunRequest) -> TeamRun:
        self.run_id = begin_run(self.store, self.root, request)
        return self

    async def go_on(self, control: Control | None = None) -> Ended:
        return await operate(self.room(control))

    def room(self, control: Control | None = None) -> Room:
        index = Index(self.root)
        index.scan()
        repository = Repository(Workspace(self.root), index.snapshot(), self.store, self.settings, {})
        index.close()
        roster = planned_roster(self.pool, our_roles(), doubts=self.settings.team.doubt)
        model = Chosen(self.model, "the test names it", takes_tools=self.takes_tools)
        developer = Developer(lambda *_: None, self.ask, self.messages.append, control or Control())
        return Room(self.run_id, repository, roster, model, self.bench, developer)

    @property
    def pool(self) -> Pool:
        return load_pool(self.store, self.run_id)

    @property
    def story(self) -> list[str]:
        """``architect design 1``: who published what, in order."""
        return [
            " ".join(part for part in (m.sender, m.kind, m.subject, f"v{m.version}") if part)
            for m in self.pool.messages
        ]


def team_run(folder: Path, model: Any, **named: Any) -> TeamRun:
    """A run that is about to begin in the shop of `support.workspaces`."""
    root = write_workspace(folder / "work")
    return TeamRun(root, open_store(folder / "rolecall.db"), model, **named)


def play(run: TeamRun, control: Control | None = None) -> Ended:
    """Let *run* go on in a loop of its own."""
    return asyncio.run(run.go_on(control))
