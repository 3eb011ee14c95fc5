"""Give a role something to do, and stop it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pygls.exceptions import JsonRpcException

from rolecall_server.errors import BriefMissing, FileRefused
from rolecall_server.lsp.arguments import read_range, read_text_argument, symbol_at
from rolecall_server.lsp.runs import cancel_run, start_run
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.team.request import RoleName, RunRequest
from rolecall_server.workspace import split_lines

INPUT_REQUEST = "rolecall/input"
_BRIEF_COMMENT = re.compile(r"(?:#|//|--|/\*|<!--)\s*ROLECALL:\s*(.+?)\s*(?:\*/|-->)?\s*$")


def generate_tests(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Have the QA Engineer write tests for a file, or for the symbol named."""
    uri = read_text_argument(arguments, "uri")
    if not uri:
        raise FileRefused("No file was named.", "Run the command from an open Python file.")
    folder, path = ls.session.place(uri)
    symbol = read_text_argument(arguments, "symbol")
    brief = read_text_argument(arguments, "brief")
    return {"runId": start_run(ls, folder, RunRequest(RoleName.QA_ENGINEER, path, symbol, brief))}


async def implement_brief(ls: RolecallServer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Have the Engineer implement a brief: the one sent, a ``ROLECALL:`` comment, or what the developer types."""
    uri = read_text_argument(arguments, "uri")
    if not uri:
        raise FileRefused("No file was named.", "Run the command from an open file.")
    folder, path = ls.session.place(uri)
    where = read_range(arguments)
    brief = read_text_argument(arguments, "brief")
    if not brief and where is not None and uri in ls.session.documents:
        brief = brief_comment(ls.session.documents[uri].text, where.start.line, where.end.line)
    brief = brief or await _ask(ls)
    symbol = read_text_argument(arguments, "symbol") or await symbol_at(ls.session, folder, path, uri, where)
    return {"runId": start_run(ls, folder, RunRequest(RoleName.ENGINEER, path, symbol, brief))}


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
            return match[1]
    return ""


async def _ask(ls: RolecallServer) -> str:
    """A brief from the developer.

    Raises:
        BriefMissing: the editor cannot ask for one, or the developer gave none.
    """
    if not ls.session.client.input:
        raise BriefMissing(
            "This editor cannot ask for a brief.",
            "Write it as a comment, `# ROLECALL: what to implement`, and run the command on that line.",
        )
    try:
        answer = await ls.protocol.send_request_async(INPUT_REQUEST, {"prompt": "What shall the Engineer implement?"})
    except JsonRpcException as error:
        raise BriefMissing(
            f"The editor did not ask for a brief ({error}).", "Write it as a `# ROLECALL:` comment."
        ) from error
    text = answer.get("text") if isinstance(answer, dict) else getattr(answer, "text", None)  # pyright: ignore
    if not isinstance(text, str) or not text.strip():
        raise BriefMissing("No brief was given.", "Nothing was started.")
    return text
