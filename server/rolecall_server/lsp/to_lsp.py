"""The team's values in an editor's words."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from rolecall_server.lsp.positions import n_units, position_at
from rolecall_server.lsp.session import Client, Document, Folder, Session, uri_of
from rolecall_server.review.acceptance import FileEdit
from rolecall_server.review.anchor import Anchor
from rolecall_server.review.evidence import summarise
from rolecall_server.review.proposal import FileChange, Hunk, Proposal
from rolecall_server.review.rendering import describe_hunk, hunk_diff

SOURCE = "rolecall"
_MAX_DIFF_LINES = 40


def to_workspace_edit(session: Session, folder: Folder, edits: Sequence[FileEdit]) -> types.WorkspaceEdit:
    """*edits* in the richest form the editor announced: versioned where the document is open."""
    client = session.client
    if not client.document_changes:
        return types.WorkspaceEdit(changes={uri_of(folder.root, e.path): _text_edits(e, client) for e in edits})
    changes: list[types.CreateFile | types.RenameFile | types.DeleteFile | types.TextDocumentEdit] = []
    for edit in edits:
        uri, document = _uri_and_document(session, folder, edit.path)
        if edit.creates and document is None and client.create_files:
            changes.append(types.CreateFile(uri, options=types.CreateFileOptions(ignore_if_exists=True)))
        identifier = types.OptionalVersionedTextDocumentIdentifier(uri, document.version if document else None)
        changes.append(types.TextDocumentEdit(identifier, [*_text_edits(edit, client)]))
    return types.WorkspaceEdit(document_changes=changes)


def _uri_and_document(session: Session, folder: Folder, path: str) -> tuple[str, Document | None]:
    """The editor's own spelling of the URI where the file is open."""
    document = session.document_at(folder, path)
    return (document.uri if document else uri_of(folder.root, path)), document


def _text_edits(edit: FileEdit, client: Client) -> list[types.TextEdit]:
    return [
        types.TextEdit(
            types.Range(
                position_at(edit.current, change.start, client.encoding),
                position_at(edit.current, change.end, client.encoding),
            ),
            change.new_text,
        )
        for change in edit.edits
    ]


def to_range(lines: Sequence[str], place: Anchor, client: Client) -> types.Range:
    """The lines of *place* among *lines*; where it only adds, the line it adds before, or the last one at the end."""
    if not lines:
        return types.Range(types.Position(0, 0), types.Position(0, 0))
    first = min(place.start, len(lines) - 1)
    last = max(first, min(place.end, len(lines)) - 1)
    width = n_units(lines[last].rstrip("\r\n"), client.encoding)
    return types.Range(types.Position(first, 0), types.Position(last, width))


def to_diagnostic(proposal: Proposal, change: FileChange, hunk: Hunk, where: types.Range) -> types.Diagnostic:
    """A hunk as something to look at: what it changes, what was checked, the lines themselves."""
    diff = hunk_diff(change, hunk, context=0)
    shown = [
        *diff[:_MAX_DIFF_LINES],
        *([f"({len(diff) - _MAX_DIFF_LINES} more lines)"] if len(diff) > _MAX_DIFF_LINES else []),
    ]
    headline = f"{proposal.title}: {describe_hunk(change, hunk)} ({summarise(proposal.evidence)})"
    return types.Diagnostic(
        range=where,
        severity=types.DiagnosticSeverity.Information,
        source=SOURCE,
        code=f"{proposal.id}/{hunk.id}",
        message="\n".join([headline, *shown]),
        data={"proposalId": proposal.id, "hunkId": hunk.id},
    )
