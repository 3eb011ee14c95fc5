"""The team's values in an editor's words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lsprotocol import types

from rolecall_server.lsp.client import Client
from rolecall_server.lsp.session import Folder, OpenDocument, Session, uri_of
from rolecall_server.lsp.text.positions import n_units, positions_at
from rolecall_server.review.acceptance import FileEdit, TextEdit
from rolecall_server.review.guards.cautions import cautions
from rolecall_server.review.proposals.anchor import Anchor
from rolecall_server.review.proposals.evidence import summarise
from rolecall_server.review.proposals.proposal import FileChange, Hunk, Proposal
from rolecall_server.review.proposals.rendering import describe_hunk, describe_place, hunk_diff, worth_at

SOURCE = "rolecall"
_MAX_DIFF_LINES = 40
_ANNOTATION = "rolecall"


def to_workspace_edit(
    session: Session, folder: Folder, edits: Sequence[FileEdit], label: str = ""
) -> types.WorkspaceEdit:
    """Return *edits* in the richest form the editor announced: versioned where the document is open.

    Where it takes a word about each edit, that is *label*. None of them asks for a confirmation: some editors would
    not ask, and the developer has decided already.
    """
    client = session.client
    if not client.document_changes:
        placed = [(edit, *_uri_and_document(session, folder, edit.path)) for edit in edits]
        return types.WorkspaceEdit(changes={uri: _text_edits(edit, document, client) for edit, uri, document in placed})
    annotates = bool(label) and client.annotations
    changes: list[types.CreateFile | types.RenameFile | types.DeleteFile | types.TextDocumentEdit] = []
    for edit in edits:
        uri, document = _uri_and_document(session, folder, edit.path)
        if edit.deletes:
            changes.append(types.DeleteFile(uri))
            continue
        if edit.creates and document is None and client.create_files:
            changes.append(types.CreateFile(uri, options=types.CreateFileOptions(ignore_if_exists=True)))
        if edit.edits:
            identifier = types.OptionalVersionedTextDocumentIdentifier(uri, document.version if document else None)
            text_edits = _text_edits(edit, document, client)
            annotated = [types.AnnotatedTextEdit(_ANNOTATION, each.range, each.new_text) for each in text_edits]
            changes.append(types.TextDocumentEdit(identifier, [*(annotated if annotates else text_edits)]))
        # After its lines, which are told under the name that the editor knows it by.
        if edit.moved_to:
            changes.append(types.RenameFile(uri, uri_of(folder.root, edit.moved_to)))
    annotations = {_ANNOTATION: types.ChangeAnnotation(label, needs_confirmation=False)} if annotates else None
    return types.WorkspaceEdit(document_changes=changes, change_annotations=annotations)


def _uri_and_document(session: Session, folder: Folder, path: str) -> tuple[str, OpenDocument | None]:
    """Return the editor's own spelling of the URI where the file is open."""
    document = session.document_at(folder, path)
    return (document.uri if document else uri_of(folder.root, path)), document


def _text_edits(edit: FileEdit, document: OpenDocument | None, client: Client) -> list[types.TextEdit]:
    current = edit.current or ""
    edits = [_within_lines(current, each) if client.extends_last_line else each for each in edit.edits]
    if document is None:
        edits = [_as_opened(current, each, client) for each in edits]
    positions = positions_at(current, [at for each in edits for at in (each.start, each.end)], client.encoding)
    return [
        types.TextEdit(types.Range(start, end), change.new_text)
        for change, start, end in zip(edits, positions[::2], positions[1::2], strict=True)
    ]


def _within_lines(text: str, change: TextEdit) -> TextEdit:
    """Return *change*; where it adds lines at the end of *text*, write it as lines that follow the last one."""
    ending = "\r\n" if text.endswith("\r\n") else "\n"
    if change.start < len(text) or not (text.endswith(ending) and change.new_text.endswith(ending)):
        return change
    end = len(text) - len(ending)
    return TextEdit(end, end, ending + change.new_text.removesuffix(ending))


def _as_opened(text: str, change: TextEdit, client: Client) -> TextEdit:
    """Return *change* as it must be for a file that the editor opens to create it, in which *text* may then look
    different.
    """
    new_text = change.new_text
    if client.ends_empty_files and not text:
        new_text = new_text.removesuffix("\n")
    if client.hides_crlf and "\n" in text and "\n" not in text.replace("\r\n", ""):
        new_text = new_text.replace("\r\n", "\n")
    return replace(change, new_text=new_text)


def to_range(lines: Sequence[str], place: Anchor, client: Client) -> types.Range:
    """Return the range of the lines of *place* among *lines*; where it only adds, the line that it adds before, or the
    last line at the end.
    """
    if not lines:
        return types.Range(types.Position(0, 0), types.Position(0, 0))
    first = min(place.start, len(lines) - 1)
    last = max(first, min(place.end, len(lines)) - 1)
    width = n_units(lines[last].rstrip("\r\n"), client.encoding)
    return types.Range(types.Position(first, 0), types.Position(last, width))


def to_diagnostic(proposal: Proposal, change: FileChange, hunk: Hunk, where: types.Range) -> types.Diagnostic:
    """Return a hunk as a diagnostic: what it changes, what was checked, the lines themselves."""
    diff = hunk_diff(change, hunk, context=0)
    shown = [
        *diff[:_MAX_DIFF_LINES],
        *([f"({len(diff) - _MAX_DIFF_LINES} more lines)"] if len(diff) > _MAX_DIFF_LINES else []),
    ]
    headline = f"{describe_hunk(change, hunk)} ({summarise(proposal.evidence)}). {proposal.title}"
    return types.Diagnostic(
        range=where,
        severity=types.DiagnosticSeverity.Information,
        source=SOURCE,
        code=f"{proposal.id}/{hunk.id}",
        message="\n".join(
            [
                headline,
                *([place] if (place := describe_place(hunk)) else []),
                *cautions(change, hunk),
                *worth_at(proposal, change, hunk),
                *shown,
            ]
        ),
        data={"proposalId": proposal.id, "hunkId": hunk.id},
    )


def to_stale_diagnostic(
    proposal: Proposal, change: FileChange, hunk: Hunk, where: types.Range, reason: str
) -> types.Diagnostic:
    """Return a hunk that can no longer be placed as a hint near the place where it was."""
    return types.Diagnostic(
        range=where,
        severity=types.DiagnosticSeverity.Hint,
        source=SOURCE,
        code=f"{proposal.id}/{hunk.id} stale",
        message=f"{proposal.title}: {describe_hunk(change, hunk)} can no longer be placed. {reason}",
        data={"proposalId": proposal.id, "hunkId": hunk.id},
    )
