"""Possible faults of reviewed code: diagnostics on their lines, with the way to them, as long as the line is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lsprotocol import types

from rolecall_server.craft.code_review.candidates import ReviewCandidate
from rolecall_server.craft.code_review.judging import Judgement
from rolecall_server.lsp.session import FaultMark, Folder, Session, uri_of
from rolecall_server.lsp.to_lsp import SOURCE, to_range
from rolecall_server.review.proposals.anchor import Anchor
from rolecall_server.review.proposals.rendering import visible
from rolecall_server.team.code_review.verdicts import JudgedCode
from rolecall_server.workspace import split_lines

_FAR = 200
"""Lines; what moved further is not looked for."""


def mark_faults(
    session: Session, folder: Folder, paths: Sequence[str], candidates: Sequence[ReviewCandidate], run_id: str = ""
) -> None:
    """Keep *candidates* to be shown, in the place of all that was found in *paths* before."""
    kept = [mark for mark in folder.marks.faults if mark.candidate.fault.path not in paths]
    texts = {path: split_lines(session.read_text(folder, path) or "") for path in paths}
    for candidate in candidates:
        lines, at = texts[candidate.fault.path], candidate.fault.span.start.line
        if at < len(lines):
            kept.append(FaultMark(candidate, lines[at].strip(), run_id))
    folder.marks.faults = kept


def mark_verdicts(session: Session, folder: Folder, run_id: str, judged: JudgedCode) -> None:
    """Show of what a run judged only what may be real, and what it found by reading."""
    found = judged.found_by_reading
    texts = {path: split_lines(session.read_text(folder, path) or "") for path in {one.fault.path for one in found}}
    marks: list[FaultMark] = []
    for one in found:
        lines, at = texts[one.fault.path], one.fault.span.start.line
        if at < len(lines):
            marks.append(FaultMark(one, lines[at].strip(), run_id, judged.verdicts[one.id]))
    for mark in folder.marks.faults:
        if mark.run_id == run_id and mark.candidate.id in judged.refuted:
            continue
        verdict = judged.verdicts.get(mark.candidate.id) if mark.run_id == run_id else None
        if verdict is None:
            marks.append(mark)
        elif verdict.judgement is not Judgement.NOT_REAL:
            marks.append(FaultMark(mark.candidate, mark.line, run_id, verdict))
    folder.marks.faults = marks


@dataclass(frozen=True)
class ShownFault:
    """A possible fault whose line is still there."""

    mark: FaultMark
    uri: str
    """Of the document it lies in."""
    moved: int
    """By so many lines since it was found."""
    diagnostic: types.Diagnostic


def shown_faults(session: Session, folder: Folder) -> Iterator[ShownFault]:
    """Yield the marks whose line is still there."""
    texts: dict[str, Sequence[str]] = {}
    for mark in folder.marks.faults:
        path = mark.candidate.fault.path
        if path not in texts:
            texts[path] = split_lines(session.read_text(folder, path) or "")
        at = _line_of(mark, texts[path])
        if at is not None:
            moved = at - mark.candidate.fault.span.start.line
            diagnostic = _diagnostic(session, folder, mark, texts[path], at)
            yield ShownFault(mark, _uri(session, folder, path), moved, diagnostic)


def _line_of(mark: FaultMark, lines: Sequence[str]) -> int | None:
    """Return the line with the text that the mark was made on, nearest to where it was."""
    was = mark.candidate.fault.span.start.line
    near = range(max(0, was - _FAR), min(len(lines), was + _FAR + 1))
    found = [at for at in near if lines[at].strip() == mark.line]
    return min(found, key=lambda at: abs(at - was)) if found else None


def _uri(session: Session, folder: Folder, path: str) -> str:
    document = session.document_at(folder, path)
    return document.uri if document else uri_of(folder.root, path)


def _diagnostic(session: Session, folder: Folder, mark: FaultMark, lines: Sequence[str], at: int) -> types.Diagnostic:
    candidate, verdict = mark.candidate, mark.verdict
    moved = at - candidate.fault.span.start.line
    is_real = verdict is not None and verdict.judgement is Judgement.REAL
    said = f"{verdict.judgement}: {verdict.reason}" if verdict is not None else "Not judged by a model."
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(
                _uri(session, folder, step.path), to_range(lines, _anchor(step.span.start.line + moved), session.client)
            ),
            visible(step.text),
        )
        for step in candidate.fault.way
        # By how far lines have moved is known of this file alone.
        if step.path == candidate.fault.path
    ]
    return types.Diagnostic(
        range=to_range(lines, _anchor(at), session.client),
        severity=types.DiagnosticSeverity.Warning if is_real else types.DiagnosticSeverity.Information,
        source=SOURCE,
        code=candidate.rule.name,
        message=visible(f"{candidate.fault.message}\n{said}\nSafe if: {candidate.rule.post_condition}"),
        related_information=related,
    )


def _anchor(line: int) -> Anchor:
    return Anchor(max(0, line), max(0, line) + 1)
