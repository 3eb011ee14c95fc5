"""Proposals as text a person reads: in a terminal, a scratch document, a message."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from rolecall_analysis import facts_of
from rolecall_server.review.proposals.evidence import Evidence, summarise, summarise_checks, summarise_tests
from rolecall_server.review.proposals.finding_text import describe_worth, render_defect, render_worth
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkKind, HunkState, Proposal
from rolecall_server.review.proposals.proposal_store import Reviewed

OFF_MARK = " [shows a finding and fails as expected: off until chosen by itself]"
_NO_NEWLINE = "\\ No newline at end of file"


_MOST_ALIKE = 3
"""Named of the tests that failed before and say the same."""
_MAX_NAMED = 20
"""So many tests that failed before are named; the rest are counted."""

_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """Return *text* with control, zero-width, bidirectional and tag characters spelled out: what is shown is what is
    there.
    """
    return _INVISIBLE.sub(lambda match: f"<U+{ord(match[0]):04X}>", text)


def describe_hunk(change: FileChange, hunk: Hunk) -> str:
    """Return a hunk in a few words: ``adds test_total to tests/test_price.py (7 lines)``."""
    return f"{_describe(change, hunk)}{OFF_MARK if hunk.off else ''}"


def _describe(change: FileChange, hunk: Hunk) -> str:
    match hunk.kind:
        case HunkKind.CREATE:
            return f"makes {change.path}, an empty file"
        case HunkKind.DELETE:
            return f"deletes {change.path} (-{hunk.end - hunk.start})"
        case HunkKind.RENAME:
            return f"renames {change.path} to {change.renamed_to}"
        case HunkKind.TEXT:
            return _describe_text(change, hunk)


def describe_place(hunk: Hunk) -> str:
    """Describe in one line, such as ``Touches total: 3 callers; 1 test file. Serves R3.``, what a hunk touches and what
    it is there for.

    Empty where neither is known.
    """
    touches = f"Touches {hunk.touches}." if hunk.touches else ""
    serves = f"Serves {', '.join(hunk.serves)}." if hunk.serves else ""
    return " ".join(part for part in (touches, serves) if part)


def _describe_text(change: FileChange, hunk: Hunk) -> str:
    parts = change.parts(hunk)
    n_old, n_new = (sum(part[at + 1] - part[at] for part in parts) for at in (0, 2))
    first, last = (hunk.start + parts[0][0], hunk.start + parts[-1][1]) if parts else (hunk.start, hunk.end)
    if n_old == 0:
        size = f"({n_new} line{'s' if n_new != 1 else ''})"
        if change.creates and not hunk.symbol and hunk is change.hunks[0]:
            return f"begins {change.path} {size}"
        if hunk.symbol and hunk.symbol in _defined(change.path, change.base or ""):
            return f"adds {n_new} line{'s' if n_new != 1 else ''} to {hunk.symbol} in {change.path}"
        return f"adds {hunk.symbol or 'lines'} to {change.path} {size}"
    what = hunk.symbol or (f"line {first + 1}" if last - first == 1 else f"lines {first + 1}-{last}")
    verb = "changes" if n_new else "removes"
    return f"{verb} {what} in {change.path} (-{n_old} +{n_new})"


@lru_cache(maxsize=512)
def _defined(path: str, text: str) -> frozenset[str]:
    """Return the dotted names of what *text* defines."""
    return frozenset(definition.qualified_name for definition in facts_of(path, text).definitions)


def hunk_diff(change: FileChange, hunk: Hunk, context: int = 3) -> list[str]:
    """Return the hunk as the body of a unified diff, on its base, without line endings; the header is left out."""
    if hunk.kind in (HunkKind.CREATE, HunkKind.RENAME):
        return []
    base = change.base_lines
    lines: list[str] = []
    done = max(0, hunk.start - context)
    for start, end, new_start, new_end in change.parts(hunk):
        lines += _signed(" ", base[done : hunk.start + start])
        lines += _signed("-", base[hunk.start + start : hunk.start + end])
        lines += _signed("+", hunk.new_lines[new_start:new_end])
        done = hunk.start + end
    return lines + _signed(" ", base[done : hunk.end + context])


def _signed(sign: str, group: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for line in group:
        lines.append(sign + visible(line.rstrip("\r\n")))
        if not line.endswith(("\n", "\r")):
            lines.append(_NO_NEWLINE)
    return lines


def hunk_header(change: FileChange, hunk: Hunk, context: int = 3) -> str:
    """``@@ -3,7 +3,9 @@ h1``: where the hunk stands, counted in its base."""
    if hunk.kind in (HunkKind.CREATE, HunkKind.RENAME):
        return f"@@ -0,0 +0,0 @@ {hunk.id} {describe_hunk(change, hunk)}"
    first = max(0, hunk.start - context)
    n_around = hunk.start - first + len(change.base_lines[hunk.end : hunk.end + context])
    n_old, n_new = hunk.end - hunk.start + n_around, len(hunk.new_lines) + n_around
    # As in any unified diff, a side without lines is given the number of the line before it.
    return f"@@ -{first + (n_old > 0)},{n_old} +{first + (n_new > 0)},{n_new} @@ {hunk.id} {hunk.symbol}".rstrip()


def file_header(change: FileChange) -> list[str]:
    """Return the lines that begin a file in a unified diff."""
    if change.renamed_to:
        return [
            f"rename from {change.path}",
            f"rename to {change.renamed_to}",
            f"--- a/{change.path}",
            f"+++ b/{change.renamed_to}",
        ]
    if any(hunk.kind is HunkKind.DELETE for hunk in change.hunks):
        return ["deleted file", f"--- a/{change.path}", "+++ /dev/null"]
    return [f"--- {'/dev/null' if change.creates else 'a/' + change.path}", f"+++ b/{change.path}"]


def failures_at(proposal: Proposal, change: FileChange, hunk: Hunk) -> list[str]:
    """``Fails: test_total: AssertionError`` for each test that a hunk brings in and that fails."""
    if not hunk.symbol:
        return []
    found: list[str] = []
    for failure in proposal.evidence.new_failures:
        path, *names = failure.test_id.partition("[")[0].split("::")
        name = ".".join(names)
        # With a dot behind both names, a failure of `test_total_tax` is not told at `test_total`.
        if path in (change.path, change.renamed_to) and f"{name}.".startswith(f"{hunk.symbol}."):
            found.append(f"Fails: {failure.test_id.removeprefix(f'{path}::')}: {failure.message}")
    return found


def worth_at(proposal: Proposal, change: FileChange, hunk: Hunk) -> list[str]:
    """Return a line for each new test of a hunk, on what it adds to the tests that were there before."""
    paths = (change.path, change.renamed_to)
    return [
        describe_worth(one)
        for one in proposal.evidence.worth
        if hunk.symbol
        and one.test.partition("::")[0] in paths
        and f"{one.test.partition('::')[2].replace('::', '.')}.".startswith(f"{hunk.symbol}.")
    ]


def render_checks(evidence: Evidence) -> tuple[list[str], list[str]]:
    """Return what was not run, a line each, and what was checked, a line if anything was."""
    unrun = [_sentence(f"{sentence[:1].upper()}{sentence[1:]}") for sentence in evidence.unrun]
    checked = summarise_checks(evidence)
    return unrun, [f"Checked: {_sentence(checked)}"] if checked else []


def render_evidence(evidence: Evidence) -> list[str]:
    """Return the evidence, a line for each thing a reviewer asks: what was not run first, then what looks wrong."""
    unrun, checked = render_checks(evidence)
    lines = [*unrun, *(line for defect in evidence.defects for line in render_defect(defect)), *checked]
    lines += [f"Fails: {failure.test_id}: {failure.message}" for failure in evidence.new_failures]
    for finding in evidence.findings:
        lines.append(f"{'Breaks' if finding.certain else 'Look at'}: {finding}")
        lines += [f"  {place.path}, line {place.line + 1}: {place.text}" for place in finding.places]
    lines += _first([f"Not collected by the repository's own tests: {one}" for one in evidence.uncollected])
    lines += _known_failures(evidence)
    lines += _red_and_green(evidence)
    if evidence.repairs:
        lines.append(f"Repaired {evidence.repairs} time{'s' if evidence.repairs != 1 else ''} after a failing check.")
    lines += render_worth(evidence)
    lines += evidence.notes
    where = f" Tests ran in: {evidence.confinement}; results as the tests report." if evidence.confinement else ""
    return [*lines, f"Written {f'by {evidence.model}' if evidence.model else 'without a model'}.{where}"]


def _known_failures(evidence: Evidence) -> list[str]:
    """Return the tests that failed without the proposal, by name; those that say the same in one line."""
    alike: dict[str, list[str]] = {}
    for one in evidence.failures:
        if one.failed_before:
            alike.setdefault(one.message, []).append(one.test_id)
    still = [f"Failed before too: {_named(tests)}: {message}" for message, tests in alike.items()]
    mended = [f"Failed before, passes now: {test}" for test in evidence.mended]
    return [*_first(still), *_first(mended)]


def _named(tests: Sequence[str]) -> str:
    """Return the first of *tests*, and how many more there are."""
    more = len(tests) - _MOST_ALIKE
    return f"{', '.join(tests[:_MOST_ALIKE])}{f' and {more} more' if more > 0 else ''}"


def _red_and_green(evidence: Evidence) -> list[str]:
    """Return lines on how new and changed tests end without the change, and on what tests that were there no longer
    assert.
    """
    lines: list[str] = []
    if evidence.without:
        n_red = sum(one.fails for one in evidence.without)
        n_green = len(evidence.without) - n_red
        lines.append(f"Of the new and changed tests, {n_red} fail without the change and {n_green} pass without it.")
        lines += _first([f"Passes without it: {one.test}" for one in evidence.without if not one.fails])
        lines += _first([f"Fails without it: {one.test}" for one in evidence.without if one.fails])
    if evidence.altered:
        n_gone = sum(len(one.assertions) for one in evidence.altered)
        lines.append(f"Alters {n_gone} assertion{'s' if n_gone != 1 else ''} of tests that were there.")
    for one in evidence.altered[:_MAX_NAMED]:
        lines.append(f"  {one.test}{f', as it was, {one.ends}' if one.ends else ''}")
        lines += [f"    was: {text}" for text in one.assertions[:_MAX_NAMED]]
    return lines


def _first(lines: list[str]) -> list[str]:
    more = len(lines) - _MAX_NAMED
    return [*lines[:_MAX_NAMED], *([f"{lines[0].partition(':')[0]}: {more} more"] if more > 0 else [])]


def render_proposal(reviewed: Reviewed, only: Collection[str] | None = None) -> str:
    """Return the proposal as a diff, its evidence above, and the state of each hunk where that says something.

    *only* these hunks; all of them where it is ``None``.
    """
    proposal = reviewed.proposal
    head = [f"{proposal.title} ({proposal.id}, {proposal.role})", "", *render_evidence(proposal.evidence)]
    head += [*render_tried(reviewed), ""]
    if proposal.rationale:
        head += [*proposal.rationale.splitlines(), ""]
    body: list[str] = []
    for change in proposal.files:
        hunks = [hunk for hunk in change.hunks if only is None or hunk.id in only]
        body += file_header(change) if hunks else []
        for hunk in hunks:
            state = reviewed.states[hunk.id]
            reason = reviewed.reasons.get(hunk.id)
            note = f" [{state}{f': {reason}' if reason else ''}]" if reason or state is not HunkState.PENDING else ""
            place = describe_place(hunk)
            body += [f"# {hunk.id}: {place}"] if place else []
            body += [hunk_header(change, hunk) + note, *hunk_diff(change, hunk)]
    return "\n".join(visible(line) for line in (*(f"# {line}".rstrip() for line in head), *body)) + "\n"


def render_tried(reviewed: Reviewed) -> list[str]:
    """Return a line for each choice of hunks that was tried without the rest."""
    return [
        f"Tried {_without(reviewed, tried.hunks)}: {_sentence(summarise_tests(tried.evidence))}"
        for tried in reviewed.tried
    ]


def _without(reviewed: Reviewed, hunk_ids: Collection[str]) -> str:
    left_out = [hunk.id for _, hunk in reviewed.proposal.hunks() if hunk.id not in hunk_ids]
    return f"without {', '.join(left_out)}" if left_out else "as edited"


def headline(proposal: Proposal) -> str:
    """Return a proposal in one line, for a message: what, where, how it was checked."""
    n_hunks = len(proposal.hunks())
    files = ", ".join(change.path for change in proposal.files)
    size = f"{n_hunks} hunk{'s' if n_hunks != 1 else ''}"
    return f"{proposal.title}: {size} in {files}. {_sentence(summarise(proposal.evidence))}"


def _sentence(text: str) -> str:
    """Return *text* with the one full stop it needs."""
    return text.rstrip(".") + "."
