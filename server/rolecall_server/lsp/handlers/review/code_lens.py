"""`textDocument/codeLens`: above each hunk what can be decided, and above accepted lines where they came from."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from lsprotocol import types

from rolecall_analysis import Definition, definitions_in, is_test
from rolecall_server.errors import FileRefused
from rolecall_server.lsp.arguments import describe_needs
from rolecall_server.lsp.folders import current_snapshot
from rolecall_server.lsp.proposals.hunks import ShownHunk, shown_hunks, stale_hunks
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder
from rolecall_server.review.guards.cautions import caution_mark
from rolecall_server.review.proposals.provenance import summarise_trace
from rolecall_server.review.proposals.rendering import describe_hunk, visible
from rolecall_server.team.test_quality.untested import untested_in

_TOLD = "what the model was told"


async def code_lens(ls: RolecallServer, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Return the lenses of one document, as the settings want them."""
    uri = params.text_document.uri
    try:
        folder, path = ls.session.place(uri)
    except FileRefused:
        return []
    review = ls.session.settings.review
    hunks = _of_hunks(ls, folder, path, uri) if review.code_lens and not ls.session.client.review else ()
    traces = _of_traces(ls, folder, path, uri) if review.trace_lens else ()
    wanted = await _untested(ls, folder, path) if review.test_lens else ()
    symbols = await _symbols(ls, folder, path, uri) if review.symbol_lens else ()
    return [*hunks, *traces, *(_generating(definition, uri) for definition in wanted), *symbols]


async def _symbols(ls: RolecallServer, folder: Folder, path: str, uri: str) -> list[types.CodeLens]:
    """Return what a role, or the graph, can be asked about each function and class."""
    snapshot = await current_snapshot(ls.session, folder)
    has_tests = path.endswith(".py") and not is_test(snapshot, path)
    lenses: list[types.CodeLens] = []
    for definition in definitions_in(snapshot, path):
        if definition.kind in ("class", "function", "method"):
            where = _line(definition.span.start.line)
            target = {"uri": uri, "symbol": definition.qualified_name}
            asked = [("tests", "rolecall.tests.generate")] if has_tests else []
            drawn = [("callers", "rolecall.graph.calls")] if ls.session.client.graph else []
            for title, command in (*asked, ("implement…", "rolecall.brief.implement"), *drawn):
                lenses.append(types.CodeLens(where, types.Command(title, command, arguments=[target])))
    return lenses


async def _untested(ls: RolecallServer, folder: Folder, path: str) -> tuple[Definition, ...]:
    """Return the definitions of *path* that no test calls, if tests can be written for it."""
    if not path.endswith(".py"):
        return ()
    snapshot = await current_snapshot(ls.session, folder)
    return () if is_test(snapshot, path) else await asyncio.to_thread(untested_in, snapshot, path)


def _generating(definition: Definition, uri: str) -> types.CodeLens:
    target = {"uri": uri, "symbol": definition.qualified_name}
    command = types.Command("Rolecall: generate tests", "rolecall.tests.generate", arguments=[target])
    return types.CodeLens(_line(definition.span.start.line), command)


def _of_hunks(ls: RolecallServer, folder: Folder, path: str, uri: str) -> Iterator[types.CodeLens]:
    told_of: set[str] = set()
    for shown in shown_hunks(ls.session, folder):
        if shown.uri == uri:
            proposal = shown.reviewed.proposal
            is_here = path in (shown.change.path, shown.change.renamed_to)
            # A hunk of a file that is still to be made is shown in this one, and has to say where it belongs.
            what = "" if is_here else f" what {describe_hunk(shown.change, shown.hunk)}"
            title = f"accept{what}{describe_needs(shown)}{caution_mark(shown.change, shown.hunk)}"
            yield _lens(shown, f"Rolecall {_code(shown)}: {title}", "rolecall.hunk.accept")
            yield _lens(shown, "reject", "rolecall.hunk.reject")
            yield _lens(shown, "diff", "rolecall.proposal.show")
            if proposal.evidence.model and proposal.id not in told_of:
                told_of.add(proposal.id)
                yield _lens(shown, _TOLD, "rolecall.run.context")
    for stale in stale_hunks(ls.session, folder):
        if stale.uri == uri:
            yield _lens(stale, f"Rolecall {_code(stale)} is stale: regenerate", "rolecall.hunk.revise")
            yield _lens(stale, "reject", "rolecall.hunk.reject")
            yield _lens(stale, "diff", "rolecall.proposal.show")


def _of_traces(ls: RolecallServer, folder: Folder, path: str, uri: str) -> Iterator[types.CodeLens]:
    """Yield a lens above each run of lines that came in with one hunk."""
    document = ls.session.documents.get(uri)
    if document is None:
        return
    lines = folder.traces.lines(path, document.text)
    for line in sorted(lines):
        trace, above = lines[line], lines.get(line - 1)
        if above is None or above.code != trace.code:
            target = {"proposalId": trace.proposal.id, "hunkId": trace.hunk.id}
            title = visible(summarise_trace(trace))
            yield types.CodeLens(_line(line), types.Command(title, "rolecall.proposal.show", arguments=[target]))
            if trace.proposal.evidence.model:
                yield types.CodeLens(_line(line), types.Command(_TOLD, "rolecall.run.context", arguments=[target]))


def _lens(shown: ShownHunk, title: str, command: str) -> types.CodeLens:
    target = {"proposalId": shown.reviewed.proposal.id, "hunkId": shown.hunk.id}
    return types.CodeLens(_line(shown.range.start.line), types.Command(visible(title), command, arguments=[target]))


def _line(number: int) -> types.Range:
    return types.Range(types.Position(number, 0), types.Position(number, 0))


def _code(shown: ShownHunk) -> str:
    return f"{shown.reviewed.proposal.id}/{shown.hunk.id}"
