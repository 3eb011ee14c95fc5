"""Give the whole team a brief, pause its work, have it go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from rolecall_server.errors import BriefMissing, FileRefused, NotFound
from rolecall_server.lsp.arguments import read_range, read_text_argument, symbol_at
from rolecall_server.lsp.asking import choose
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder
from rolecall_server.lsp.team_runs import folder_of_run, pause_team_run, resume_team_run, roles_for, start_team_run
from rolecall_server.lsp.writing import ask_in_box, ask_in_document
from rolecall_server.team.change_plan import drop_tasks
from rolecall_server.team.planning import EVERYBODY, LEAN, Brief, change_plan, is_short, plan_for
from rolecall_server.team.pool import load_pool
from rolecall_server.team.reworking import rerun

_WHOLE_TEAM, _ENGINEER_ALONE = "The whole team", "The Engineer alone"


async def start(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Have the team, or the *roles* named, work on a brief: on the folder, a file, a symbol."""
    folder, path, symbol = await _place(ls, arguments)
    wanted = _names(arguments.get("roles"))
    brief = read_text_argument(arguments, "brief")

    async def begin(text: str) -> dict[str, Any]:
        return await _begin(ls, folder, Brief(text, path, symbol), wanted)

    if brief:
        return await begin(brief)
    typed = await ask_in_box(ls, "What shall the team do?")
    if typed is None:

        async def submit(text: str) -> None:
            await begin(text.strip())

        guidance = ("Say above what the team shall do, then save: that starts the work.", "Left empty, nothing is.")
        return {"document": ask_in_document(ls, "brief.md", guidance, submit)}
    if not typed:
        raise BriefMissing("No brief was given.", "Nothing was started.")
    return await begin(typed)


async def resume(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Have a run go on; with *again*, a message's step is taken anew first; with *roles*, others go on with it.

    With *drop*, some tasks are left out.
    """
    run_id = read_text_argument(arguments, "runId") or _latest(ls)
    folder = folder_of_run(ls.session, run_id)
    store, pool = ls.session.store, load_pool(ls.session.store, run_id)
    if names := _names(arguments.get("roles")):
        change_plan(store, pool, names, "You chose them when the run was taken up again.")
    if dropped := _names(arguments.get("drop")):
        drop_tasks(store, pool, dropped)
    if again := read_text_argument(arguments, "again"):
        rerun(store, run_id, await roles_for(ls, folder), again)
    await resume_team_run(ls, folder, run_id)
    return {"runId": run_id}


def pause(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Have a run, or all of them where none is named, begin nothing more."""
    run_id = read_text_argument(arguments, "runId")
    wanted = [run_id] if run_id else list(ls.session.controls)
    for each in wanted:
        pause_team_run(ls.session, each)
    return {"runIds": wanted}


async def _begin(ls: RolecallServer, folder: Folder, brief: Brief, wanted: Sequence[str]) -> dict[str, Any]:
    """What is replied to the command: the run and its plan; the developer may have chosen another.

    A command that names no roles and a brief of more than a sentence or two lead to a question; what the plan has
    comes first.
    """
    roles, settings = await roles_for(ls, folder), ls.session.settings
    plan = plan_for(brief.text, roles, settings, wanted, ls.session.store)
    if not wanted and not is_short(brief.text):
        question = f"{plan.why} {plan.estimate}."
        offered = [_ENGINEER_ALONE, _WHOLE_TEAM] if plan.is_lean else [_WHOLE_TEAM, _ENGINEER_ALONE]
        said = await choose(ls, question, [*offered, "Nobody"])
        if said not in (_WHOLE_TEAM, _ENGINEER_ALONE):
            return {"runId": "", "plan": {"roles": list(plan.roles), "why": plan.why, "estimate": str(plan.estimate)}}
        plan = plan_for(brief.text, roles, settings, LEAN if said == _ENGINEER_ALONE else EVERYBODY, ls.session.store)
    elif plan.is_lean:
        ls.tell(plan.why)
    run_id = await start_team_run(ls, folder, brief, plan)
    shown = {"roles": list(plan.roles), "why": plan.why, "estimate": str(plan.estimate)}
    return {"runId": run_id, "plan": shown}


async def _place(ls: RolecallServer, arguments: Mapping[str, Any]) -> tuple[Folder, str, str]:
    """The folder, the file and the symbol that a command was given on; the only open folder where it names no file.

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
    """The roles or tasks in an argument: a list of names, or one text with commas."""
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(",") if name.strip())
    return tuple(str(name) for name in cast("list[object]", value)) if isinstance(value, list) else ()


def _latest(ls: RolecallServer) -> str:
    """The last run of the team in the opened folders that does not go on.

    Raises:
        NotFound: there is none.
    """
    runs = [run for folder in ls.session.folders.values() for run in ls.session.store.runs(folder.root)]
    waiting = [run for run in runs if run.role == "team" and run.state not in ("running", "finished")]
    if not waiting:
        raise NotFound("There is no run of the team to go on with.", "Give the team a brief first.")
    return max(waiting, key=lambda run: int(run.id[1:])).id
