"""Give a role something to do, and stop it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from rolecall_server.errors import BriefMissing, FileRefused
from rolecall_server.lsp.arguments import find_hunk, read_hand, read_range, read_text_argument, symbol_at
from rolecall_server.lsp.runs import cancel_run, start_run
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.writing import ask_in_box, ask_in_document
from rolecall_server.team.request import RoleName, RunRequest
from rolecall_server.team.revising import revision_of
from rolecall_server.workspace import split_lines

_BRIEF_COMMENT = re.compile(r"(?:#|//|--|/\*|<!--)\s*+ROLECALL:(.*)")


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
    return await _ask_brief(ls, "What shall the tests be like?", guidance, start)


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
    return await (start(brief) if brief else _ask_brief(ls, "What shall the Engineer implement?", guidance, start))


async def revise_hunk(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Have a hunk made anew, alone, for the text as it is now; with `ask`, once the developer has said how."""
    folder, reviewed, hunk_id = find_hunk(ls.session, arguments)
    brief = read_text_argument(arguments, "brief")

    async def start(text: str) -> dict[str, Any]:
        return {"runId": await start_run(ls, folder, revision_of(reviewed, hunk_id, text))}

    if brief or not arguments.get("ask"):
        return await start(brief)
    guidance = (
        f"Say above what shall be different in {hunk_id} of {reviewed.proposal.id}, then save: that starts the work.",
        "Left empty, nothing is started.",
    )
    return await _ask_brief(ls, f"What shall be different in {hunk_id}?", guidance, start)


def cancel(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Stop a run, or all of them where none is named."""
    run_id = read_text_argument(arguments, "runId")
    wanted = [run_id] if run_id else list(ls.session.runs)
    for each in wanted:
        cancel_run(ls.session, each)
    return {"runIds": wanted}


def brief_comment(text: str, first: int, last: int) -> str:
    """The brief in a ``ROLECALL:`` comment on the lines from *first* to *last*; empty where there is none."""
    for line in split_lines(text)[first : last + 1]:
        if match := _BRIEF_COMMENT.search(line):
            return match[1].strip().removesuffix("*/").removesuffix("-->").strip()
    return ""


async def _ask_brief(
    ls: RolecallServer, question: str, guidance: Sequence[str], start: Callable[[str], Awaitable[dict[str, Any]]]
) -> dict[str, Any]:
    """What *start* replies to a brief from the developer, or the document in which it is to be written.

    Raises:
        BriefMissing: the developer was asked and said nothing.
    """
    typed = await ask_in_box(ls, question)
    if typed is None:

        async def submit(text: str) -> None:
            await start(text.strip())

        return {"document": ask_in_document(ls, "brief.md", guidance, submit)}
    if not typed:
        raise BriefMissing("No brief was given.", "Nothing was started.")
    return await start(typed)
