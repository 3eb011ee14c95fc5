"""Findings in tested code: warnings on the symbols they are about, while their proposal is undecided."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from lsprotocol import types

from rolecall_server.lsp.session import Folder, Session, uri_of
from rolecall_server.lsp.to_lsp import SOURCE, to_range
from rolecall_server.review.proposals.anchor import Anchor
from rolecall_server.review.proposals.evidence import Defect
from rolecall_server.review.proposals.finding_anchors import line_of_defect
from rolecall_server.review.proposals.finding_text import render_defect
from rolecall_server.review.proposals.proposal import Proposal
from rolecall_server.review.proposals.rendering import visible
from rolecall_server.workspace import split_lines


def place_findings(session: Session, folder: Folder, paths: Collection[str] | None = None) -> None:
    """See where the findings of the undecided proposals lie now; *paths* are the files that changed, None: any."""
    for gone in folder.marks.findings.keys() - folder.proposals.keys():
        del folder.marks.findings[gone]
    for proposal_id, reviewed in folder.proposals.items():
        defects = reviewed.proposal.evidence.defects
        is_known = proposal_id in folder.marks.findings
        if is_known and paths is not None and not any(defect.path in paths for defect in defects):
            continue
        placed = (_diagnostic(session, folder, reviewed.proposal, defect) for defect in defects)
        folder.marks.findings[proposal_id] = [one for one in placed if one is not None]


def shown_findings(folder: Folder) -> Iterator[tuple[str, types.Diagnostic]]:
    """Yield the findings with the documents they lie in."""
    for proposal_id, placed in folder.marks.findings.items():
        if proposal_id in folder.proposals:
            yield from placed


def _diagnostic(
    session: Session, folder: Folder, proposal: Proposal, defect: Defect
) -> tuple[str, types.Diagnostic] | None:
    text = session.read_text(folder, defect.path)
    line = line_of_defect(defect, text)
    if line is None or text is None:
        return None
    document = session.document_at(folder, defect.path)
    return document.uri if document else uri_of(folder.root, defect.path), types.Diagnostic(
        range=to_range(split_lines(text), Anchor(line, line + 1), session.client),
        severity=types.DiagnosticSeverity.Warning,
        source=SOURCE,
        code=proposal.id,
        message=visible("\n".join(render_defect(defect))),
    )
