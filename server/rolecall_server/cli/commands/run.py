"""`rolecall tests`, `implement`, `revise`, `run`, `resume`: a run, its proposal on the screen, only then a write."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rolecall_server.cli.boundary import NOT_WRITTEN, exit_code_of
from rolecall_server.cli.commands.log import list_what_waits
from rolecall_server.cli.deciding.deciding import carry_out_decisions
from rolecall_server.cli.deciding.offering import held_back, hunks_to_write, review_in_terminal, write_without_asking
from rolecall_server.cli.deciding.under_way import UnderWay
from rolecall_server.cli.failures import request_to_mend
from rolecall_server.cli.interrupts import run_until_interrupted
from rolecall_server.cli.repository import (
    check_is_here,
    find_workspace,
    open_user_store,
    proposal_here,
    read_repository,
    refreshed,
)
from rolecall_server.cli.screen import (
    Screen,
    ask,
    ask_line,
    next_step,
    print_json,
    proposal_json,
    say,
    say_prose,
    waiting,
)
from rolecall_server.craft.code_review.candidates import candidates_in
from rolecall_server.craft.code_review.follow_up import follow_up
from rolecall_server.errors import NoModelConfigured, NotFound, UserMustAct
from rolecall_server.model import Chosen
from rolecall_server.review.proposals.proposal_store import Reviewed, check_undecided, load_proposal
from rolecall_server.settings import Settings, read_settings
from rolecall_server.store import Store
from rolecall_server.store.messages import MessageRow
from rolecall_server.team.code_review.verdicts import promises_found
from rolecall_server.team.engine.reworking import branch_with, edit_document, rerun
from rolecall_server.team.engine.scheduler import Ended, carry_out_run
from rolecall_server.team.lessons.learning import waiting_handover
from rolecall_server.team.messages.board import load_pool
from rolecall_server.team.messages.rendering import describe_message
from rolecall_server.team.plan.planning import (
    Plan,
    begin_run,
    change_plan,
    plan_for,
    request_of,
)
from rolecall_server.team.request import TITLES, Repository, RoleName, RunRequest
from rolecall_server.team.revising import revision_of
from rolecall_server.team.roles.declarations import Role, RunWay, confirm_roles, known_roles, roles_to_confirm
from rolecall_server.team.room import Developer, answer_nothing
from rolecall_server.team.run import describe_broken, find_model_for
from rolecall_server.team.sprint.change_plan import drop_tasks
from rolecall_server.team.sprint.proposing import missing_tasks, review_sprint, take_up_missing
from rolecall_server.workspace import Workspace, relative_path, resolve

_ROLES_HELP = "  y  ask your model with what they say\n  n  leave them alone"


def ask_role(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall tests`, `implement`, `revise` or `fix`; the exit code."""
    return exit_code_of(lambda: _begin(arguments).ask_role(), as_json=arguments.json)


def run_team(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall run` or `rolecall resume`; the exit code."""
    cancelled = "Stopped, before a run was begun."
    return exit_code_of(lambda: _carry_out(arguments), as_json=arguments.json, cancelled=cancelled)


def _carry_out(arguments: argparse.Namespace) -> int:
    if arguments.command == "resume" and arguments.run is None:
        return list_what_waits(arguments)
    command = _begin(arguments)
    return command.run() if arguments.command == "run" else command.resume()


def _begin(arguments: argparse.Namespace) -> _Command:
    file: Path | None = getattr(arguments, "file", None)
    store = open_user_store()
    workspace = find_workspace(arguments.root, file)
    settings, _ = read_settings(arguments.settings, os.environ)
    return _Command(arguments, store, workspace, settings, Screen(stderr=True))


@dataclass(frozen=True)
class _Command:
    """One command, with what it works on."""

    arguments: argparse.Namespace
    store: Store
    workspace: Workspace
    settings: Settings
    messages: Screen

    @property
    def asks(self) -> bool:
        """Return whether there is somebody to ask."""
        is_silent = self.arguments.yes and self.arguments.command in ("run", "resume")
        return sys.stdin.isatty() and not self.arguments.json and not is_silent

    def ask_role(self) -> int:
        """Have one role do what the command asks for."""
        ended = run_until_interrupted(self._work_alone(_request(self.arguments, self.store, self.workspace)))
        if ended.error is not None and not ended.proposal_id:
            raise ended.error
        if ended.error is not None and not self.arguments.json:
            said = f"{ended.error.code}: cut short; this is the best of what there was."
            say_prose(self.messages, said, "bold red")
            say_prose(self.messages, next_step(ended.error))
        reviewed = load_proposal(self.store, ended.proposal_id)
        written = self._offer(reviewed)
        if self.arguments.json:
            decided = proposal_json(self.workspace, load_proposal(self.store, ended.proposal_id))
            print_json({**decided, "written": written, **({"error": ended.error.code} if ended.error else {})})
        return 1 if ended.error is not None else self._not_written(reviewed)

    def run(self) -> int:
        """Plan a run, begin it, and go on with it."""
        roles = self._roles()
        wanted, way = _names(self.arguments.roles), RunWay(self.arguments.way) if self.arguments.way else None
        plan = plan_for(self.arguments.brief, roles, self.settings, wanted, self.store, way=way)
        self._show(plan, roles)
        if self.arguments.plan:
            return 0
        if self.asks and not plan.is_lean and not wanted and way is None:
            plan = self._settle(plan, roles)
        file: Path | None = self.arguments.file
        path = relative_path(self.workspace, resolve(file)) if file is not None else ""
        run_until_interrupted(self._check_model())  # refused before anything is stored
        repository = run_until_interrupted(self._repository())
        request = RunRequest(path=path, brief=self.arguments.brief)
        return self._go_on(begin_run(self.store, self.workspace.root, request, plan), repository)

    def resume(self) -> int:
        """Go on with a run, after what the developer wants to be different."""
        run_id: str = self.arguments.run
        row = self.store.run(run_id)
        check_is_here(self.store, self.workspace, run_id, run_id)
        # A run whose process is gone was marked as interrupted when the store was opened.
        if row.state == "running" and row.process is not None:
            raise UserMustAct(f"{run_id} is being worked on by process {row.process.number}.", "End that one first.")
        pool = load_pool(self.store, run_id)
        if names := _names(self.arguments.roles):
            change_plan(self.store, pool, names, "You chose them when the run was taken up again.")
        if dropped := self.arguments.drop.replace(",", " ").split():
            drop_tasks(self.store, pool, dropped)
        if self.arguments.again:
            rerun(self.store, run_id, self._roles(), self.arguments.again)
        if self.arguments.edit:
            message, file = self.arguments.edit
            text = Path(file).read_text(encoding="utf-8")
            if self.arguments.branch:
                run_id = branch_with(self.store, self.workspace.root, run_id, message, text)
                say(self.messages, f"{run_id} branches off {self.arguments.run} there.")
            else:
                edit_document(self.store, run_id, message, text)
        self._offer_missing(run_id)
        self.store.resume_run(run_id)
        return self._go_on(run_id, run_until_interrupted(self._repository()))

    def _offer_missing(self, run_id: str) -> None:
        """Have the tasks done that the sprint reviews call missing, where the developer wants that; else say how."""
        review_sprint(self.store, load_pool(self.store, run_id), self.workspace)
        pool = load_pool(self.store, run_id)
        missing = missing_tasks(self.store, pool, self.workspace)
        for task, what in missing.items():
            say_prose(self.messages, f"{task} is not done: {what}.")
        if not missing:
            return
        wanted = self.arguments.missing
        if not wanted and self.asks:
            wanted = ask_line(self.messages, "y to have it done now, Enter to leave it").strip().lower() == "y"
        elif not wanted:
            say_prose(self.messages, f"`rolecall resume {run_id} --missing` has it done.")
        if wanted:
            take_up_missing(self.store, pool, self.workspace)

    def _go_on(self, run_id: str, repository: Repository) -> int:
        """Take sprint after sprint, until something is left to the developer.

        Raises:
            KeyboardInterrupt: the developer stopped it; what it says names the run.
        """
        try:
            return self._take_sprints(run_id, repository)
        except KeyboardInterrupt:
            stopped = f"Stopped. `rolecall resume {run_id}` goes on; `rolecall log {run_id}` shows how far it is."
            raise KeyboardInterrupt(stopped) from None

    def _take_sprints(self, run_id: str, repository: Repository) -> int:
        while True:
            ended = run_until_interrupted(self._work(run_id, repository))
            if ended.error is not None and not self.arguments.json:
                for error in ended.errors:
                    say_prose(self.messages, f"{error.code}: {error.what}", "bold red")
                    say_prose(self.messages, next_step(error))
            code = self._decide(ended)
            # The next sprint builds on what was decided of this one, so nothing of that may be open.
            if code or ended.state != "waiting" or self._left(ended):
                return self._say_end(run_id, ended, code)
            self.store.resume_run(run_id)
            repository = run_until_interrupted(self._repository())

    async def _work_alone(self, request: RunRequest) -> Ended:
        """Begin the run of one role, and work on it."""
        title = TITLES[request.role]
        async with self._model(request, title) as model:
            repository = await self._repository()
            for sentence in describe_broken(repository.snapshot, request.path):
                say_prose(self.messages, f"{sentence}; the {title} gets it as it is.", "yellow")
            run_id = begin_run(self.store, self.workspace.root, request)
            try:
                return await self._carry_out(run_id, repository, model, is_alone=True)
            except asyncio.CancelledError:
                sent = f"`rolecall log {run_id} --sent` shows what was asked"
                say(self.messages, f"{run_id} was stopped; {sent}, `rolecall resume {run_id}` goes on.")
                raise

    async def _work(self, run_id: str, repository: Repository) -> Ended:
        request = request_of(load_pool(self.store, run_id))
        who = "the team" if request is None else f"the {TITLES[request.role]}"
        async with self._model(request, f"{run_id}: {who}") as model:
            return await self._carry_out(run_id, repository, model, is_alone=request is not None)

    async def _carry_out(
        self, run_id: str, repository: Repository, model: Chosen | NoModelConfigured, *, is_alone: bool
    ) -> Ended:
        with UnderWay(self.messages, self.store, run_id, self.settings.team.question_seconds) as shown:
            asking = {"ask_for_more": shown.ask_for_more, "ask_trust": shown.ask_trust} if self.asks else {}
            ask = shown.ask if self.asks else answer_nothing
            developer = Developer(shown.report, ask, tell=self._say)
            if not is_alone:
                developer = Developer(shown.report, ask, self._tell, on_steps=shown.note_steps)
            return await carry_out_run(run_id, replace(repository, **asking), model, developer)

    async def _check_model(self) -> None:
        async with self._model(None):
            return

    @asynccontextmanager
    async def _model(self, request: RunRequest | None, who: str = "") -> AsyncGenerator[Chosen | NoModelConfigured]:
        """Open the model for a run, and say *who* works with it, where that is told."""
        model = await find_model_for(request, self.settings, os.environ, store=self.store)
        client = None if isinstance(model, NoModelConfigured) else model.client
        if who:
            how = f"with {client.label}" if client is not None else "without a model"
            say(self.messages, f"{who} in {self.workspace.root}, {how}")
        try:
            yield model
        finally:
            if client is not None:
                await client.aclose()

    async def _repository(self) -> Repository:
        with waiting(self.messages, "reading the repository") as status:
            snapshot = await asyncio.to_thread(read_repository, self.workspace.root, status)
        return Repository(self.workspace, snapshot, self.store, self.settings, os.environ)

    def _tell(self, message: MessageRow) -> None:
        if not self.arguments.json:
            say_prose(self.messages, f"  {describe_message(message)}")

    def _say(self, text: str) -> None:
        if not self.arguments.json:
            say_prose(self.messages, text)

    def _roles(self) -> dict[str, Role]:
        """Ask about roles that the repository brings and that are not confirmed yet; return the roles that
        may be used.
        """
        found = roles_to_confirm(self.workspace, self.store)
        if found is not None:
            files = ", ".join(found.files)
            said = f"This repository brings roles of its own ({files}). What they say is told to your model."
            say_prose(self.messages, said, "yellow")
            if self.arguments.repository_roles or (
                self.asks and ask(self.messages, "Use them?", "yn", _ROLES_HELP) == "y"
            ):
                confirm_roles(self.workspace, self.store, found)
            else:
                say_prose(self.messages, "They are not used; --repository-roles confirms them.")
        return known_roles(self.workspace, self.store)

    def _show(self, plan: Plan, roles: Mapping[str, Role]) -> None:
        if self.arguments.json:
            return
        say_prose(self.messages, plan.why, "bold")
        for name in plan.roles:
            published = ", ".join(dict.fromkeys(kind for duty in roles[name].duty for kind in duty.publishes))
            say_prose(self.messages, f"  {roles[name].title} ({name}): {published}")
        say_prose(self.messages, f"  {plan.estimate}")
        say_prose(self.messages, f"  {plan.costs} --way chooses one.")

    def _settle(self, plan: Plan, roles: Mapping[str, Role]) -> Plan:
        """Let the developer choose another way, or other roles; return the plan as the developer wants it."""
        said = ask_line(self.messages, f"Enter to go on, or another way ({', '.join(RunWay)}), or the roles you want")
        if not said.strip():
            return plan
        names = _names(said)
        way = RunWay(names[0]) if len(names) == 1 and names[0] in set(RunWay) else None
        wanted = () if way else names
        chosen = plan_for(self.arguments.brief, roles, self.settings, wanted, self.store, way=way)
        self._show(chosen, roles)
        return chosen

    def _decide(self, ended: Ended) -> int:
        """Have the proposal decided; the exit code of that."""
        code = 1 if ended.error is not None else 0
        if not ended.proposal_id or ended.state in ("paused", "failed"):
            return code
        reviewed = refreshed(self.store, self.workspace, ended.proposal_id)
        self._offer(reviewed)
        return code or self._not_written(reviewed)

    def _offer(self, reviewed: Reviewed) -> tuple[str, ...]:
        """Have a proposal decided, or write what `--yes` accepts; the files that are written for a program."""
        wanted = hunks_to_write(self.store, self.workspace, reviewed, self.arguments)
        if self.arguments.json:
            return carry_out_decisions(self.store, self.workspace, reviewed, wanted, {})
        if self.arguments.yes or not sys.stdin.isatty():
            write_without_asking(self.store, self.workspace, reviewed, wanted, self.arguments)
        else:
            review_in_terminal(Screen(), self.store, self.workspace, reviewed)
        return ()

    def _not_written(self, reviewed: Reviewed) -> int:
        return NOT_WRITTEN * bool(held_back(self.workspace, reviewed, self.arguments))

    def _left(self, ended: Ended) -> bool:
        return bool(refreshed(self.store, self.workspace, ended.proposal_id).undecided)

    def _say_end(self, run_id: str, ended: Ended, code: int) -> int:
        if self.arguments.json:
            proposals = {}
            if ended.proposal_id:
                proposals = proposal_json(self.workspace, refreshed(self.store, self.workspace, ended.proposal_id))
            errors = [{"code": error.code, "what": error.what, "nextStep": next_step(error)} for error in ended.errors]
            learned = waiting_handover(self.store, run_id)
            print_json(
                {"run": run_id, "state": ended.state, "proposal": proposals, "learned": learned, "errors": errors}
            )
        elif ended.state in ("waiting", "paused", "failed"):
            say_prose(self.messages, f"{run_id} is {ended.state}; `rolecall resume {run_id}` goes on.", "bold")
        say(self.messages, f"`rolecall log {run_id}` shows who published what, and why.")
        return code


def _names(said: str) -> tuple[str, ...]:
    return tuple(name.strip().replace("-", "_") for name in said.replace(",", " ").split())


def _request(arguments: argparse.Namespace, store: Store, workspace: Workspace) -> RunRequest:
    """Return what one role is asked for.

    Raises:
        FileRefused: the file lies outside of *workspace*.
        NotFound: the proposal or the hunk that is named does not wait here; or there is no fault at the line named.
    """
    if arguments.command == "revise":
        return _request_to_revise(arguments, store, workspace)
    if arguments.command == "fix":
        return request_to_mend(arguments, workspace)
    file: Path | None = arguments.file
    path = relative_path(workspace, resolve(file)) if file is not None else ""
    if arguments.command == "tests" and arguments.fault:
        return _request_to_show(store, workspace, path, arguments.fault)
    if arguments.command == "tests":
        return RunRequest(RoleName.QA_ENGINEER, path, arguments.symbol, arguments.brief)
    makes_file = bool(path) and not (workspace.root / path).exists()
    return RunRequest(RoleName.ENGINEER, path, "", arguments.brief, makes_file=makes_file)


def _request_to_show(store: Store, workspace: Workspace, path: str, line: int) -> RunRequest:
    """Return the request for a test of the fault that a review tells of a line of *path*.

    Raises:
        NotFound: it tells of none there.
    """
    by_rules = candidates_in(read_repository(workspace.root), [path])
    found = (*by_rules, *promises_found(store, workspace.root, path))
    candidate = next((one for one in found if one.fault.span.start.line + 1 == line), None)
    if candidate is None:
        what = f"A review tells of no fault in {path}, line {line}."
        raise NotFound(what, f"`rolecall review-code {path} --no-model` lists those it tells of.")
    return RunRequest(RoleName.QA_ENGINEER, path, candidate.fault.scope, follow_up("test", candidate))


def _request_to_revise(arguments: argparse.Namespace, store: Store, workspace: Workspace) -> RunRequest:
    reviewed = proposal_here(store, workspace, arguments.proposal)
    if arguments.hunk:
        check_undecided(reviewed, [arguments.hunk])
    return revision_of(store, reviewed, arguments.hunk, arguments.brief)
