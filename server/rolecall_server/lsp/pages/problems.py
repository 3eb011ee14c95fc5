"""The problems of the team's open documents, published as diagnostics; and what the developer saves in them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lsprotocol import types

from rolecall_server.lsp.pages.answers import dangling_in, unmade_in
from rolecall_server.lsp.pages.files import OpenRun, open_run, read_page
from rolecall_server.lsp.pages.names import is_page
from rolecall_server.lsp.pages.navigation import follow_pages
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Session
from rolecall_server.lsp.text.positions import Encoding, n_units
from rolecall_server.lsp.view import ask_when_read
from rolecall_server.review.proposals.rendering import visible
from rolecall_server.team.documents import Kind, parse
from rolecall_server.team.documents.document_store import DEVELOPER, load_document, revise, versions_of
from rolecall_server.team.documents.links.linking import changed_since, check_links, orphans

_SOON_S = 0.2
"""The time for which changes are gathered: links are followed through the code graph."""
_ERROR, _WARNING, _INFORMATION = (
    types.DiagnosticSeverity.Error,
    types.DiagnosticSeverity.Warning,
    types.DiagnosticSeverity.Information,
)


def page_changed(ls: RolecallServer, uri: str) -> None:
    """See soon what is wrong with the open documents, now that the text at *uri* is another."""
    if is_page(ls.session, uri):
        ls.later(follow_pages(ls))
        if uri not in ls.session.documents:
            ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
    check_soon(ls)


def check_soon(ls: RolecallServer) -> None:
    """See soon what is wrong with the documents of the team that are open, if any is."""
    session = ls.session
    if session.checking is None and any(is_page(session, uri) for uri in session.documents):
        session.checking = asyncio.get_running_loop().call_later(_SOON_S, lambda: ls.later(_check(ls)))


def take_page(ls: RolecallServer, path: Path) -> None:
    """Store what the developer saved in a document as its next version; what cannot be read is shown, not taken.

    Where a role wrote a newer version meanwhile, the developer is told and decides.
    """
    run = open_run(ls.session, path.as_uri())
    text = read_page(ls.session, path)
    if run is None or text is None:
        return
    stored = load_document(ls.session.store, run.page.document.id)
    written, problems = parse(stored.kind, text, stored)
    if written is None:
        ls.tell(
            f"{path.name} is not taken, see line {problems[0].line + 1}: {problems[0].what}.", types.MessageType.Warning
        )
    elif written.content != stored.content:
        newer = [
            version
            for version in versions_of(ls.session.store, stored.id)
            if version.version > written.version and version.author != DEVELOPER
        ]
        if newer:
            ls.tell(
                f"the {newer[-1].author} wrote version {newer[-1].version} of {path.name} meanwhile. What you saved is "
                f"not taken; to put it in its place, write `version: {newer[-1].version}` at its head and save again.",
                types.MessageType.Warning,
            )
        else:
            from rolecall_server.lsp.runs.running import heed_edit

            revise(ls.session.store, stored.id, DEVELOPER, written.content)
            heed_edit(ls, run.id)
    check_soon(ls)


@dataclass(frozen=True)
class _Problem:
    """Something to show on a line of a page."""

    line: int
    what: str
    severity: types.DiagnosticSeverity
    code: str


async def _check(ls: RolecallServer) -> None:
    ls.session.checking = None
    for uri in [uri for uri in ls.session.documents if is_page(ls.session, uri)]:
        run = open_run(ls.session, uri)
        if run is None:
            continue
        found = [*_misread(run), *_flaws(run)]
        missing: dict[str, str] = {}
        if run.folder is not None:
            dangling = await ask_when_read(ls, run.folder, lambda view, run=run: dangling_in(view, run))
            found += [_Problem(run.page.line_of(each.reference), str(each), _WARNING, "missing") for each in dangling]
            missing = dict(await ask_when_read(ls, run.folder, lambda view, run=run: unmade_in(view, run)))
        found += _on_entries(run, missing, _WARNING, "missing")
        found += _on_entries(run, _drift(ls.session, run, missing), _INFORMATION, "drift")
        # It may have been closed while links were followed through the code.
        if uri in ls.session.documents:
            told = [_diagnostic(run, each, ls.session.client.encoding) for each in found]
            ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, told))


def _misread(run: OpenRun) -> Iterator[_Problem]:
    document, problems = parse(run.page.document.kind, run.page.text, run.page.document)
    severity = _ERROR if document is None else _WARNING
    return (_Problem(problem.line, problem.what, severity, "misread") for problem in problems)


def _flaws(run: OpenRun) -> Iterator[_Problem]:
    others = [page.document for page in run.pages if page is not run.page]
    for flaw in check_links(run.page.document, others):
        yield _Problem(run.page.line_of(flaw.about), flaw.what, _WARNING, "link")


def _drift(session: Session, run: OpenRun, missing: Collection[str]) -> dict[str, str]:
    """Return what requirements and tasks lack beside what is *missing*, and what no longer stands as accepted."""
    lacking = {name: what for name, what in orphans(run.linked).items() if name not in missing}
    return lacking | dict(_changed_since(session, run))


def _on_entries(
    run: OpenRun, told: Mapping[str, str], severity: types.DiagnosticSeverity, code: str
) -> Iterator[_Problem]:
    """Yield what is *told* of what the page itself describes, where it does: a design describes code too."""
    is_design = run.page.document.kind is Kind.DESIGN
    entries = {each.name for each in run.page.mentions if each.is_entry or (is_design and each.is_code)}
    return (_Problem(run.page.line_of(name), what, severity, code) for name, what in told.items() if name in entries)


def _changed_since(session: Session, run: OpenRun) -> Iterator[tuple[str, str]]:
    """Return each requirement and task whose accepted code is no longer as it was accepted, with a remark about the
    change.
    """
    folder = run.folder
    return changed_since(run.reviewed, partial(session.read_text, folder)) if folder is not None else iter(())


def _diagnostic(run: OpenRun, problem: _Problem, encoding: Encoding) -> types.Diagnostic:
    text = run.page.lines[problem.line] if problem.line < len(run.page.lines) else ""
    where = types.Range(types.Position(problem.line, 0), types.Position(problem.line, n_units(text, encoding)))
    return types.Diagnostic(where, visible(problem.what), problem.severity, problem.code, source="rolecall")
