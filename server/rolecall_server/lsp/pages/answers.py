"""Answers for an editor about a document of the team: what a name stands for, where it is explained, what serves it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from rolecall_analysis.queries import references as find_references
from rolecall_server.lsp.pages.files import OpenRun
from rolecall_server.lsp.pages.names import page_path
from rolecall_server.lsp.proposals.hunks import shown_hunks
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Session, uri_of
from rolecall_server.lsp.text.positions import Encoding, n_units, place_at
from rolecall_server.lsp.view import View, ask_when_read
from rolecall_server.review.proposals.provenance import Trace
from rolecall_server.review.proposals.rendering import visible
from rolecall_server.store import Store
from rolecall_server.team.documents.checking import TestPlan
from rolecall_server.team.documents.document_store import documents_of
from rolecall_server.team.documents.links.code_links import Dangling, declared_new, definition_of, is_there, unresolved
from rolecall_server.team.documents.links.linking import Linked, unmade
from rolecall_server.team.documents.links.pages import Mention, Page, entry_of, explain, is_shared, mentions_of
from rolecall_server.workspace import Workspace, file_exists

_TOP = types.Range(types.Position(0, 0), types.Position(0, 0))
_SYMBOLS = (types.SymbolKind.File, types.SymbolKind.Namespace, types.SymbolKind.Key)


async def hover_in_page(ls: RolecallServer, run: OpenRun, position: types.Position) -> types.Hover | None:
    """Return a hover that says what the id or the code at *position* stands for, and what serves it."""
    mention = mention_at(ls, run, position)
    if mention is None:
        return None
    if not mention.is_code:
        lines = _explain_id(run, mention)
    elif run.folder is None:
        lines = ()
    else:
        lines = await ask_when_read(ls, run.folder, lambda view: _explain_code(view, run, mention.name))
    if not lines:
        return None
    text = "\n\n".join(visible(line) for line in lines)
    where = range_of(run.page, mention, ls.session.client.encoding)
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), where)


async def definition_in_page(ls: RolecallServer, run: OpenRun, position: types.Position) -> list[types.Location]:
    """Return the place where the name at *position* is explained or defined."""
    mention = mention_at(ls, run, position)
    if mention is None:
        return []
    if mention.is_code and run.folder is not None:
        return await ask_when_read(ls, run.folder, lambda view: [*_code_at(view, mention.name)])
    found = entry_of(run.pages, mention.name, run.page)
    return [_location(ls.session, *found)] if found else []


async def references_in_page(
    ls: RolecallServer, run: OpenRun, position: types.Position, *, include_entry: bool
) -> list[types.Location]:
    """Return the places where the name at *position* is named in documents, served by hunks and tested, or used in
    code.
    """
    mention = mention_at(ls, run, position)
    if mention is None:
        return []
    named = [
        _location(ls.session, page, each)
        for page, each in mentions_of(run.pages, mention.name, run.page)
        if include_entry or not each.is_entry
    ]
    if run.folder is None:
        return named
    serving = [*_hunks_serving(ls.session, run, mention.name)] if is_shared(mention.name) else []
    in_code = await ask_when_read(ls, run.folder, lambda view: [*_used_in_code(view, run, mention)])
    return [*named, *serving, *in_code]


def rename_in_page(ls: RolecallServer, run: OpenRun, position: types.Position, new_name: str) -> types.WorkspaceEdit:
    """Return the edit that gives the id at *position* another name in all documents of the run.

    Raises:
        JsonRpcInvalidParams: there is no id, it cannot have that name, or a hunk is stored under the one it has.
    """
    mention = id_at(ls, run, position)
    if mention is None:
        raise JsonRpcInvalidParams("There is no id here that a document explains.")
    old = mention.name
    if not re.fullmatch(rf"{old[0]}[1-9][0-9]{{0,5}}", new_name):
        raise JsonRpcInvalidParams(f"An id like {old} is {old[0]} and a number.")
    if any(mentions_of(run.pages, new_name, run.page)):
        raise JsonRpcInvalidParams(f"{new_name} is taken.")
    serving = [hunk.code for hunk in run.linked.hunks if old in hunk.serves]
    if serving and is_shared(old):
        raise JsonRpcInvalidParams(f"{', '.join(serving)} serves {old}; what is stored of a proposal keeps its ids.")
    changes: dict[str, list[types.TextEdit]] = {}
    for page, each in mentions_of(run.pages, old, run.page):
        where = range_of(page, each, ls.session.client.encoding)
        changes.setdefault(_uri(ls.session, page), []).append(types.TextEdit(where, new_name))
    return types.WorkspaceEdit(changes=changes)


def headings_of(page: Page, encoding: Encoding) -> list[types.DocumentSymbol]:
    """Return the sections and entries of *page* as a tree."""
    roots: list[types.DocumentSymbol] = []
    above: list[tuple[int, types.DocumentSymbol, list[types.DocumentSymbol]]] = []
    ends = [*(number for number, *_ in page.headings[1:]), len(page.lines)]
    for (number, level, title), end in zip(page.headings, ends, strict=True):
        line = types.Range(types.Position(number, 0), types.Position(number, n_units(page.lines[number], encoding)))
        inside: list[types.DocumentSymbol] = []
        symbol = types.DocumentSymbol(title, _SYMBOLS[level - 1], line, line, children=inside)
        while above and above[-1][0] >= level:
            above.pop()
        (above[-1][2] if above else roots).append(symbol)
        above.append((level, symbol, inside))
        for _, outer, _ in above:
            outer.range = types.Range(outer.range.start, types.Position(end, 0))
    return roots


def mention_at(ls: RolecallServer, run: OpenRun, position: types.Position) -> Mention | None:
    """Return the name at the editor's *position*."""
    return run.page.at(*place_at(run.page.lines, position, ls.session.client.encoding))


def id_at(ls: RolecallServer, run: OpenRun, position: types.Position) -> Mention | None:
    """Return the id at the editor's *position*, if a document explains it."""
    mention = mention_at(ls, run, position)
    is_known = mention is not None and not mention.is_code and entry_of(run.pages, mention.name, run.page)
    return mention if is_known else None


def range_of(page: Page, mention: Mention, encoding: Encoding) -> types.Range:
    """Return the range of *mention*, as an editor counts."""
    line = page.lines[mention.line]
    start, end = (n_units(line[:column], encoding) for column in (mention.start, mention.end))
    return types.Range(types.Position(mention.line, start), types.Position(mention.line, end))


def served(store: Store, trace: Trace) -> Iterator[str]:
    """Yield a line about each requirement and task that an accepted hunk serves."""
    if not trace.hunk.serves:
        return
    run = Linked(documents_of(store, trace.proposal.run_id))
    for name in trace.hunk.serves:
        lines = explain(name, run)
        if lines:
            yield lines[0].replace("**", "")


def _explain_id(run: OpenRun, mention: Mention) -> Sequence[str]:
    known = tuple(map(_without_links, explain(mention.name, run.linked)))
    found = entry_of(run.pages, mention.name, run.page)
    if known or found is None:
        return known
    page, entry = found
    return (_without_links(page.lines[entry.line].lstrip("# ")),)


def _without_links(text: str) -> str:
    """Return Markdown that others wrote so that nothing in it is a link, an image or HTML: an editor fetches images."""
    # The backslashes that are there are doubled first: one before ours would take its effect away.
    return re.sub(r"\](?=[(\[:])|<(?=[A-Za-z/!?])", r"\\\g<0>", text.replace("\\", "\\\\"))


def _fenced(code: str) -> str:
    """Return *code* in a fence that nothing within it ends."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", code))])
    return f"{fence}python\n{code}\n{fence}"


def _explain_code(view: View, run: OpenRun, name: str) -> Sequence[str]:
    definition = definition_of(view.snapshot, name)
    if definition is not None:
        summary = definition.docstring.partition("\n\n")[0]
        return (_fenced(definition.signature), *([_without_links(summary)] if summary else []))
    if any(name in declared_new(page.document.content) for page in run.pages):
        return (f"`{name}` is to be added.",)
    return tuple(_without_links(str(each)) for each in dangling_in(view, run) if each.reference == name)


def dangling_in(view: View, run: OpenRun) -> tuple[Dangling, ...]:
    """Return the references of the page that do not hold in the code as it is."""
    workspace = Workspace(view.root)
    others = [page.document for page in run.pages if page is not run.page]
    accepted = run.linked.accepted_files
    return unresolved(run.page.document, view.snapshot, others, lambda path: file_exists(workspace, path), accepted)


def unmade_in(view: View, run: OpenRun) -> tuple[tuple[str, str], ...]:
    """Return what keeps decided tasks of the run from being done, and what nobody made; with what it is about."""
    workspace = Workspace(view.root)
    return tuple(unmade(run.linked, partial(is_there, view.snapshot, partial(file_exists, workspace))))


async def missing_tasks_in(ls: RolecallServer, run: OpenRun) -> tuple[str, ...]:
    """Return the tasks of the run that were decided and are not done."""
    if run.folder is None:
        return ()
    told = await ask_when_read(ls, run.folder, lambda view: unmade_in(view, run))
    return tuple(name for name, _ in told if name in run.linked.tasks)


def _code_at(view: View, name: str) -> Iterator[types.Location]:
    definition = definition_of(view.snapshot, name)
    path = name.partition("::")[0]
    if definition is not None:
        yield types.Location(view.uri(path), view.ranges_of(definition)[1])
    elif path == name and (path in view.snapshot.files or file_exists(Workspace(view.root), path)):
        yield types.Location(view.uri(path), _TOP)


def _used_in_code(view: View, run: OpenRun, mention: Mention) -> Iterator[types.Location]:
    """Yield the places where a piece of code is used, or the tests of a requirement."""
    definition = definition_of(view.snapshot, mention.name) if mention.is_code else None
    if definition is not None:
        for each in find_references(view.snapshot, definition, include_definition=True, certain_only=True):
            yield types.Location(view.uri(each.path), view.range(each.path, each.span))
    for plan in run.linked.held(TestPlan):
        for case in plan.cases:
            if case.test and mention.name in (case.id, *case.verifies):
                yield from _code_at(view, case.test)


def _hunks_serving(session: Session, run: OpenRun, name: str) -> Iterator[types.Location]:
    """Yield the places where hunks that serve *name* are offered, or stand in the text."""
    folder = run.folder
    assert folder is not None
    for shown in shown_hunks(session, folder):
        if shown.reviewed.proposal.run_id == run.id and name in shown.hunk.serves:
            yield types.Location(shown.uri, shown.range)
    for path in sorted({hunk.path for hunk in run.linked.hunks if name in hunk.serves}):
        text = session.read_text(folder, path)
        document = session.document_at(folder, path)
        uri = document.uri if document else uri_of(folder.root, path)
        for line, trace in _first_lines(folder.traces.lines(path, text or "")):
            if trace.proposal.run_id == run.id and name in trace.hunk.serves:
                yield types.Location(uri, types.Range(types.Position(line, 0), types.Position(line, 0)))


def _first_lines(lines: Mapping[int, Trace]) -> Iterator[tuple[int, Trace]]:
    """Yield the first of each run of lines that came in with one hunk."""
    for line in sorted(lines):
        above = lines.get(line - 1)
        if above is None or above.code != lines[line].code:
            yield line, lines[line]


def _location(session: Session, page: Page, mention: Mention) -> types.Location:
    return types.Location(_uri(session, page), range_of(page, mention, session.client.encoding))


def _uri(session: Session, page: Page) -> str:
    return page_path(session, page.document).as_uri()
