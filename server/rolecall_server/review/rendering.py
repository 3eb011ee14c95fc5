"""Proposals as text a person reads: in a terminal, a scratch document, a message."""

from __future__ import annotations

import re

from rolecall_server.review.evidence import Evidence, summarise
from rolecall_server.review.proposal import FileChange, Hunk, HunkState, Proposal
from rolecall_server.review.shelf import Reviewed
from rolecall_server.workspace import split_lines

_NO_NEWLINE = "\\ No newline at end of file"


_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """*text* with control, zero-width, bidirectional and tag characters spelled out: what is shown is what is there."""
    return _INVISIBLE.sub(lambda match: f"<U+{ord(match[0]):04X}>", text)


def describe_hunk(change: FileChange, hunk: Hunk) -> str:
    """A hunk in a few words: ``adds test_total to tests/test_price.py (7 lines)``."""
    n_old, n_new = hunk.end - hunk.start, len(hunk.new_lines)
    if n_old == 0:
        size = f"({n_new} line{'s' if n_new != 1 else ''})"
        if change.creates and not hunk.symbol and hunk is change.hunks[0]:
            return f"begins {change.path} {size}"
        return f"adds {hunk.symbol or 'lines'} to {change.path} {size}"
    what = hunk.symbol or (f"line {hunk.start + 1}" if n_old == 1 else f"lines {hunk.start + 1}-{hunk.end}")
    verb = "changes" if n_new else "removes"
    return f"{verb} {what} in {change.path} (-{n_old} +{n_new})"


def hunk_diff(change: FileChange, hunk: Hunk, context: int = 3) -> list[str]:
    """The hunk as the body of a unified diff, on its base, without line endings; the header is left out."""
    base = split_lines(change.base or "")
    before = base[max(0, hunk.start - context) : hunk.start]
    after = base[hunk.end : hunk.end + context]
    lines: list[str] = []
    for sign, group in ((" ", before), ("-", base[hunk.start : hunk.end]), ("+", hunk.new_lines), (" ", after)):
        for line in group:
            lines.append(sign + visible(line.rstrip("\r\n")))
            if not line.endswith(("\n", "\r")):
                lines.append(_NO_NEWLINE)
    return lines


def hunk_header(change: FileChange, hunk: Hunk, context: int = 3) -> str:
    """``@@ -3,7 +3,9 @@ h1``: where the hunk stands, counted in its base."""
    first = max(0, hunk.start - context)
    n_around = hunk.start - first + len(split_lines(change.base or "")[hunk.end : hunk.end + context])
    n_old, n_new = hunk.end - hunk.start + n_around, len(hunk.new_lines) + n_around
    return f"@@ -{first + (n_old > 0)},{n_old} +{first + (n_new > 0)},{n_new} @@ {hunk.id} {hunk.symbol}".rstrip()


def file_header(change: FileChange) -> list[str]:
    """The two lines that begin a file in a unified diff."""
    return [f"--- {'/dev/null' if change.creates else 'a/' + change.path}", f"+++ b/{change.path}"]


def render_evidence(evidence: Evidence) -> list[str]:
    """The evidence, a line for each thing a reviewer asks."""
    lines = [f"Checked: {_sentence(summarise(evidence))}"]
    lines += [f"Fails: {failure.test_id}: {failure.message}" for failure in evidence.new_failures]
    known = len(evidence.failures) - len(evidence.new_failures)
    if known:
        lines.append(f"{known} of the failing tests failed before.")
    if evidence.repairs:
        lines.append(f"Repaired {evidence.repairs} time{'s' if evidence.repairs != 1 else ''} after a failing run.")
    where = f" Tests ran in: {evidence.confinement}." if evidence.confinement else ""
    return [*lines, f"Written by {evidence.model}.{where}"]


def render_proposal(reviewed: Reviewed) -> str:
    """The whole proposal as a diff with its evidence above, and the state of each hunk that is no longer pending."""
    proposal = reviewed.proposal
    head = [f"{proposal.title} ({proposal.id}, {proposal.role})", "", *render_evidence(proposal.evidence), ""]
    if proposal.rationale:
        head += [*proposal.rationale.splitlines(), ""]
    body: list[str] = []
    for change in proposal.files:
        body += file_header(change)
        for hunk in change.hunks:
            state = reviewed.states[hunk.id]
            note = "" if state is HunkState.PENDING else f" [{state}]"
            body += [hunk_header(change, hunk) + note, *hunk_diff(change, hunk)]
    return "\n".join(visible(line) for line in (*(f"# {line}".rstrip() for line in head), *body)) + "\n"


def headline(proposal: Proposal) -> str:
    """A proposal in one line, for a message: what, where, how it was checked."""
    n_hunks = len(proposal.hunks())
    files = ", ".join(change.path for change in proposal.files)
    size = f"{n_hunks} hunk{'s' if n_hunks != 1 else ''}"
    return f"{proposal.title}: {size} in {files}. {_sentence(summarise(proposal.evidence))}"


def _sentence(text: str) -> str:
    """*text* with the one full stop it needs."""
    return text.rstrip(".") + "."
