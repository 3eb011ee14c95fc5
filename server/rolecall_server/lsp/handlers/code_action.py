"""`textDocument/codeAction`: what can be decided at this place, and what a role can be asked here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lsprotocol import types

from rolecall_analysis import is_test_path
from rolecall_server.errors import FileRefused
from rolecall_server.lsp.arguments import describe_needs, overlaps, symbol_at
from rolecall_server.lsp.commands.work import brief_comment
from rolecall_server.lsp.hunks import ShownHunk, shown_hunks
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.to_lsp import to_diagnostic
from rolecall_server.review.acceptance import with_needs
from rolecall_server.review.rendering import describe_hunk

KINDS = [types.CodeActionKind.QuickFix, types.CodeActionKind.Refactor]


async def code_action(ls: RolecallServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The actions on *params.range*, of the kinds the editor asks for."""
    try:
        folder, path = ls.session.place(params.text_document.uri)
    except FileRefused:
        return []
    symbol = await symbol_at(ls.session, folder, path, params.text_document.uri, params.range)
    here = [
        shown
        for shown in shown_hunks(ls.session, folder)
        if shown.uri == params.text_document.uri and overlaps(shown.range, params.range)
    ]
    actions = [*_decisions(here), *_requests(ls, path, params, symbol)]
    only = params.context.only
    return [action for action in actions if _asked_for(action, only)]


def _decisions(here: Sequence[ShownHunk]) -> Iterator[types.CodeAction]:
    for shown in here:
        reviewed, hunk = shown.reviewed, shown.hunk
        target = {"proposalId": reviewed.proposal.id, "hunkId": hunk.id}
        diagnostic = to_diagnostic(reviewed.proposal, shown.change, hunk, shown.range)
        what = f"{hunk.id}: {describe_hunk(shown.change, hunk)}"
        needs = describe_needs(shown, with_needs(reviewed.proposal, reviewed.states, [hunk.id]))
        yield _quick_fix(f"Rolecall: accept {what}{needs}", "rolecall.hunk.accept", target, diagnostic)
        yield _quick_fix(f"Rolecall: reject {what}", "rolecall.hunk.reject", target, diagnostic)
    for change in {shown.change.path: shown for shown in here}.values():
        proposal = change.reviewed.proposal
        target = {"proposalId": proposal.id, "path": change.change.path}
        yield _quick_fix(
            f"Rolecall: accept all of {proposal.id} in {change.change.path}", "rolecall.file.accept", target
        )
        yield _quick_fix(
            f"Rolecall: reject all of {proposal.id} in {change.change.path}", "rolecall.file.reject", target
        )
    for shown in {shown.reviewed.proposal.id: shown for shown in here}.values():
        proposal = shown.reviewed.proposal
        target = {"proposalId": proposal.id}
        yield _quick_fix(f"Rolecall: show {proposal.id} as a diff", "rolecall.proposal.show", target)
        if len(proposal.files) > 1:
            yield _quick_fix(f"Rolecall: accept all of {proposal.id}", "rolecall.proposal.accept", target)
            yield _quick_fix(f"Rolecall: reject all of {proposal.id}", "rolecall.proposal.reject", target)


def _requests(ls: RolecallServer, path: str, params: types.CodeActionParams, symbol: str) -> Iterator[types.CodeAction]:
    uri = params.text_document.uri
    if path.endswith(".py") and not is_test_path(path):
        if symbol:
            yield _refactor(
                f"Rolecall: generate tests for {symbol}", "rolecall.tests.generate", {"uri": uri, "symbol": symbol}
            )
        yield _refactor("Rolecall: generate tests for this file", "rolecall.tests.generate", {"uri": uri})
    document = ls.session.documents.get(uri)
    brief = brief_comment(document.text, params.range.start.line, params.range.end.line) if document else ""
    if brief:
        yield _refactor(
            f"Rolecall: implement “{brief}”", "rolecall.brief.implement", {"uri": uri, "brief": brief, "symbol": symbol}
        )
    elif ls.session.client.input:
        yield _refactor("Rolecall: implement…", "rolecall.brief.implement", {"uri": uri, "symbol": symbol})


def _quick_fix(
    title: str, command: str, arguments: dict[str, str], diagnostic: types.Diagnostic | None = None
) -> types.CodeAction:
    return types.CodeAction(
        title=title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic] if diagnostic else None,
        command=types.Command(title, command, arguments=[arguments]),
    )


def _refactor(title: str, command: str, arguments: dict[str, str]) -> types.CodeAction:
    return types.CodeAction(
        title=title, kind=types.CodeActionKind.Refactor, command=types.Command(title, command, arguments=[arguments])
    )


def _asked_for(action: types.CodeAction, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Whether an editor that asks for *only* these kinds, or for all, wants *action*."""
    if not only:
        return True
    kind = str(action.kind.value if isinstance(action.kind, types.CodeActionKind) else action.kind)
    wanted = [str(each.value if isinstance(each, types.CodeActionKind) else each) for each in only]
    return any(each in ("", kind) or kind.startswith(f"{each}.") for each in wanted)
