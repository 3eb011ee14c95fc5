"""Give the whole team a brief; pause a run, have it go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from rolecall_server.errors import FileRefused, NotFound
from rolecall_server.lsp.arguments import read_range, read_text_argument, symbol_at
from rolecall_server.lsp.asking import choose
from rolecall_server.lsp.runs.running import (
    check_stopped,
    folder_of_run,
    may_be_meant,
    pause_run,
    resume_run,
    roles_for,
    start_run,
)
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder
from rolecall_server.lsp.writing import ask_brief
from rolecall_server.team.engine.reworking import rerun
from rolecall_server.team.messages.board import load_pool
from rolecall_server.team.plan.briefs import is_short
from rolecall_server.team.plan.planning import change_plan, plan_for
from rolecall_server.team.request import RoleName, RunRequest
from rolecall_server.team.roles.declarations import RunWay
from rolecall_server.team.sprint.change_plan import drop_tasks
from rolecall_server.team.sprint.proposing import missing_tasks, review_sprint, take_up_missing

_OFFERED = {
    "The Engineer alone": RunWay.ENGINEER,
    "The middle way": RunWay.MIDDLE,
    "The whole team": RunWay.TEAM,
}
_HAVE_IT_DONE, _LEAVE_IT = "Have it done", "Leave it"


async def start(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Have the team, or the *roles* named, work on a brief, or those of a *way*: on the folder, a file, a symbol."""
    folder, path, symbol = await _place(ls, arguments)
    wanted, way = _names(arguments.get("roles")), _way(read_text_argument(arguments, "way"))
    brief = read_text_argument(arguments, "brief")

    async def begin(text: str) -> dict[str, Any]:
        return await _begin(ls, folder, RunRequest(RoleName.ENGINEER, path, symbol, text), wanted, way)

    guidance = ("Say above what the team shall do, then save: that starts the work.", "Left empty, nothing is.")
    return await (begin(brief) if brief else ask_brief(ls, "What shall the team do?", guidance, begin))


async def resume(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Have a run go on; with *again*, a message's step is taken anew first; with *roles*, others go on with it.

    With *drop*, some tasks are left out; with *missing*, those are done that the sprint reviews call missing.
    """
    run_id = read_text_argument(arguments, "runId") or _latest(ls)
    folder = folder_of_run(ls.session, run_id)
    check_stopped(ls.session, run_id)
    store, pool = ls.session.store, load_pool(ls.session.store, run_id)
    if names := _names(arguments.get("roles")):
        change_plan(store, pool, names, "You chose them when the run was taken up again.")
    if dropped := _names(arguments.get("drop")):
        drop_tasks(store, pool, dropped)
    if again := read_text_argument(arguments, "again"):
        rerun(store, run_id, await roles_for(ls, folder), again)
    await _settle_missing(ls, folder, run_id, arguments.get("missing"))
    await resume_run(ls, folder, run_id)
    return {"runId": run_id}


async def _settle_missing(ls: RolecallServer, folder: Folder, run_id: str, wanted: object) -> None:
    """Have the tasks of a run done that are missing, where the developer wants it; ask where *wanted* does not say."""
    store, workspace = ls.session.store, ls.session.workspace(folder)
    review_sprint(store, load_pool(store, run_id), workspace)
    pool = load_pool(store, run_id)
    missing = missing_tasks(store, pool, workspace)
    if missing and not isinstance(wanted, bool):
        told = " ".join(f"{task} is not done: {what}." for task, what in missing.items())
        wanted = await choose(ls, told, [_HAVE_IT_DONE, _LEAVE_IT]) == _HAVE_IT_DONE
    if missing and wanted:
        take_up_missing(store, pool, workspace)


def pause(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Have a run, or all of them where none is named, begin nothing more."""
    run_id = read_text_argument(arguments, "runId")
    wanted = [run_id] if run_id else list(ls.session.controls)
    for each in wanted:
        pause_run(ls.session, each)
    ls.tell(f"{', '.join(wanted)} will pause once what is being done is finished." if wanted else "Nothing is at work.")
    ls.activity_changed()
    return {"runIds": wanted}


async def _begin(
    ls: RolecallServer, folder: Folder, request: RunRequest, wanted: Sequence[str], way: RunWay | None
) -> dict[str, Any]:
    """Begin a run, and return the reply to the command: the run and its plan; the developer may have chosen another
    way.

    A command that names neither roles nor a way, and a brief of more than a sentence or two, lead to a question; what
    the plan has comes first.
    """
    roles, settings = await roles_for(ls, folder), ls.session.settings
    plan = plan_for(request.brief, roles, settings, wanted, ls.session.store, way=way)
    if not wanted and way is None and not is_short(request.brief):
        offered = sorted(_OFFERED, key=lambda title: _OFFERED[title] is not plan.way)
        said = await choose(ls, f"{plan.why} {plan.costs}", [*offered, "Nobody"])
        if said not in _OFFERED:
            return {"runId": "", "plan": plan.as_json()}
        if _OFFERED[said] is not plan.way:
            plan = plan_for(request.brief, roles, settings, (), ls.session.store, way=_OFFERED[said])
    elif plan.is_lean:
        ls.tell(plan.why)
    return {"runId": await start_run(ls, folder, request, plan), "plan": plan.as_json()}


def _way(named: str) -> RunWay | None:
    """Return the way of that name; ``None`` where none is named.

    Raises:
        NotFound: there is no such way.
    """
    if not named:
        return None
    if named not in set(RunWay):
        raise NotFound(f"There is no way {named}.", f"There are {', '.join(RunWay)}.")
    return RunWay(named)


async def _place(ls: RolecallServer, arguments: Mapping[str, Any]) -> tuple[Folder, str, str]:
    """Return the folder, the file and the symbol that a command was given on; where it names no file, the only open
    folder.

    Raises:
        FileRefused: it names none, and there is not one folder.
    """
    uri = read_text_argument(arguments, "uri")
    if not uri:
        folders = list(ls.session.folders.values())
        if len(folders) != 1:
            raise FileRefused("No file was named, and not one folder is open.", "Run the command from an open file.")
        return folders[0], "", ""
    folder, path = ls.session.place(uri)
    symbol = read_text_argument(arguments, "symbol")
    return folder, path, symbol or await symbol_at(ls.session, folder, path, uri, read_range(arguments))


def _names(value: object) -> tuple[str, ...]:
    """Return the roles or tasks in an argument: a list of names, or one text with commas."""
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(",") if name.strip())
    return tuple(str(name) for name in cast("list[object]", value)) if isinstance(value, list) else ()


def _latest(ls: RolecallServer) -> str:
    """Return the last run in the opened folders that stopped; if none did, the last of the team that finished.

    Raises:
        NotFound: there is none.
    """
    runs = [run for folder in ls.session.folders.values() for run in ls.session.store.runs(folder.root)]
    resting = [run for run in runs if run.state != "running" and may_be_meant(ls.session, run)]
    if not resting:
        raise NotFound("There is no run to go on with.", "Give the team a brief first.")
    return max(resting, key=lambda run: (run.state != "finished", int(run.id[1:]))).id
