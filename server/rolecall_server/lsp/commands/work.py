"""Give a role something to do, and stop it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rolecall_server.errors import FileRefused
from rolecall_server.lsp.arguments import (
    find_hunk,
    find_proposal,
    read_hand,
    read_range,
    read_tests,
    read_text_argument,
    symbol_at,
)
from rolecall_server.lsp.runs.running import cancel_run, start_run
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.text.documents import brief_comment
from rolecall_server.lsp.writing import ask_brief
from rolecall_server.team.request import FailureToMend, RoleName, RunRequest, node_id_of, request_for_failure
from rolecall_server.team.revising import revision_of


async def generate_tests(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Have the QA Engineer write tests for a file, or for the symbol named; with `ask`, once told how."""
    uri = read_text_argument(arguments, "uri")
    if not uri:
        raise FileRefused("No file was named.", "Run the command from an open Python file.")
    folder, path = ls.session.place(uri)
    symbol = read_text_argument(arguments, "symbol")
    brief = read_text_argument(arguments, "brief")
    hand = read_hand(arguments)

    async def start(text: str) -> dict[str, Any]:
        return {"runId": await start_run(ls, folder, RunRequest(RoleName.QA_ENGINEER, path, symbol, text, hand=hand))}

    if brief or not arguments.get("ask"):
        return await start(brief)
    guidance = (
        f"Say above what the tests of {symbol or path} shall be like, then save: that starts the work.",
        "Left empty, nothing is started.",
    )
    return await ask_brief(ls, "What shall the tests be like?", guidance, start)


async def implement_brief(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Have the Engineer implement a brief: the one sent, a ``ROLECALL:`` comment, or what the developer writes."""
    uri = read_text_argument(arguments, "uri")
    if not uri:
        raise FileRefused("No file was named.", "Run the command from an open file.")
    folder, path = ls.session.place(uri)
    where = read_range(arguments)
    brief = read_text_argument(arguments, "brief")
    if not brief and where is not None and uri in ls.session.documents:
        brief = brief_comment(ls.session.documents[uri].text, where.start.line, where.end.line)
    symbol = read_text_argument(arguments, "symbol") or await symbol_at(ls.session, folder, path, uri, where)
    hand = read_hand(arguments)

    async def start(text: str) -> dict[str, Any]:
        return {"runId": await start_run(ls, folder, RunRequest(RoleName.ENGINEER, path, symbol, text, hand=hand))}

    guidance = (
        f"Say above what to implement in {f'{symbol} of ' if symbol else ''}{path}, then save: that starts the work.",
        "Left empty, nothing is started.",
    )
    return await (start(brief) if brief else ask_brief(ls, "What shall the Engineer implement?", guidance, start))


async def fix_failure(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Have the Engineer mend what makes a test fail: the test at a place, the tests named, or those of a traceback."""
    uri = read_text_argument(arguments, "uri")
    if not uri:
        raise FileRefused("No file was named.", "Run the command from an open test file.")
    folder, path = ls.session.place(uri)
    tests, log = read_tests(arguments), read_text_argument(arguments, "traceback")
    if not tests and not log:
        symbol = read_text_argument(arguments, "symbol")
        symbol = symbol or await symbol_at(ls.session, folder, path, uri, read_range(arguments))
        tests = (node_id_of(path, symbol),)
    told = (bool(arguments.get("unreproduced")), bool(arguments.get("changeTests")))
    request = request_for_failure(FailureToMend(tests, log, *told))
    return {"runId": await start_run(ls, folder, request)}


async def revise_hunk(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Have a hunk made anew, alone, for the text as it is now; with `ask`, once the developer has said how."""
    folder, reviewed, hunk_id = find_hunk(ls.session, arguments)
    brief = read_text_argument(arguments, "brief")

    async def start(text: str) -> dict[str, Any]:
        return {"runId": await start_run(ls, folder, revision_of(ls.session.store, reviewed, hunk_id, text))}

    if brief or not arguments.get("ask"):
        return await start(brief)
    guidance = (
        f"Say above what shall be different in {hunk_id} of {reviewed.proposal.id}, then save: that starts the work.",
        "Left empty, nothing is started.",
    )
    return await ask_brief(ls, f"What shall be different in {hunk_id}?", guidance, start)


async def revise_proposal(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Have all that is undecided of a proposal made anew, as the developer says; who did not say is asked first."""
    folder, reviewed = find_proposal(ls.session, arguments)

    async def start(text: str) -> dict[str, Any]:
        return {"runId": await start_run(ls, folder, revision_of(ls.session.store, reviewed, brief=text))}

    if brief := read_text_argument(arguments, "brief"):
        return await start(brief)
    guidance = (
        f"Say above what shall be different in {reviewed.proposal.id}, then save: that starts the work.",
        "Left empty, nothing is started. What you accepted of it stays.",
    )
    return await ask_brief(ls, f"What shall be different in {reviewed.proposal.id}?", guidance, start)


def cancel(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Stop a run, or all of them where none is named."""
    run_id = read_text_argument(arguments, "runId")
    wanted = [run_id] if run_id else list(ls.session.runs)
    for each in wanted:
        cancel_run(ls.session, each)
    ls.tell(f"{', '.join(wanted)} is cancelled; what was finished is kept." if wanted else "Nothing is at work.")
    return {"runIds": wanted}
