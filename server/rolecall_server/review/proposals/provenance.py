"""The origin of accepted lines: who wrote them, when, for what, and how they were checked.

Nothing is written into the text. The store knows what was accepted, and `anchor.lines_from` finds it again in the
text as it is now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from rolecall_server.errors import NotFound
from rolecall_server.review.proposals.anchor import lines_from, path_now
from rolecall_server.review.proposals.evidence import summarise
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkState, Proposal
from rolecall_server.review.proposals.proposal_store import Reviewed, load_accepted
from rolecall_server.review.proposals.rendering import describe_hunk, render_checks
from rolecall_server.store import DecisionRow, Store


@dataclass(frozen=True)
class Trace:
    """The origin of one accepted hunk."""

    proposal: Proposal
    """With the role, the model and the evidence."""
    change: FileChange
    hunk: Hunk
    """With the requirements and tasks it serves."""
    accepted: frozenset[str]
    """All accepted hunks of the proposal: what places this one."""
    brief: str
    """The request to the run, in the developer's words; empty where nothing was said."""
    accepted_at_s: float
    """Seconds since the epoch."""
    edited: bool
    """The text is the developer's."""

    @property
    def path(self) -> str:
        """Return the path at which its file lies now."""
        return path_now(self.change, self.accepted)

    @property
    def code(self) -> str:
        """``p7/h2``"""
        return f"{self.proposal.id}/{self.hunk.id}"


def traces_of(store: Store, reviewed: Reviewed) -> tuple[Trace, ...]:
    """Return a trace for each accepted hunk of a proposal, in its order."""
    if not reviewed.accepted:
        return ()
    proposal = reviewed.proposal
    times_s = _accepted_at(store.decisions(proposal.id))
    brief = _brief(store, proposal.run_id)
    return tuple(
        Trace(proposal, change, hunk, reviewed.accepted, brief, times_s[hunk.id], hunk.id in reviewed.edited)
        for change, hunk in proposal.hunks()
        if hunk.id in reviewed.accepted
    )


def trace_lines(traces: Iterable[Trace], current: str) -> dict[int, Trace]:
    """Return the trace that each line of *current*, counted from 0, has among *traces*, which are those of its file.

    A line that nobody brought in, or that was changed since, has none. Where two claim a line, the later one wins.
    """
    found: dict[int, Trace] = {}
    by_change: dict[tuple[str, str], list[Trace]] = {}
    for trace in sorted(traces, key=lambda trace: trace.accepted_at_s):
        by_change.setdefault((trace.proposal.id, trace.change.path), []).append(trace)
    for of_change in by_change.values():
        by_hunk = {trace.hunk.id: trace for trace in of_change}
        lines = lines_from(of_change[0].change, of_change[0].accepted, current)
        found |= {line: by_hunk[hunk_id] for line, hunk_id in lines.items() if hunk_id in by_hunk}
    return found


def summarise_trace(trace: Trace) -> str:
    """``Rolecall p7: QA Engineer, 12 passed, 0 failed``"""
    return f"Rolecall {trace.proposal.id}: {trace.proposal.role}, {summarise(trace.proposal.evidence)}"


def describe_trace(trace: Trace) -> tuple[str, ...]:
    """Return the trace as lines of text: what was done and for what, by whom, how it was checked, when it was
    accepted.
    """
    proposal, hunk = trace.proposal, trace.hunk
    when = datetime.fromtimestamp(trace.accepted_at_s).astimezone()
    model = f" ({proposal.evidence.model})" if proposal.evidence.model else ""
    unrun, checked = render_checks(proposal.evidence)
    return (
        f"{proposal.title}: {describe_hunk(trace.change, hunk)}",
        *([f"Serves {', '.join(hunk.serves)}."] if hunk.serves else []),
        *([f"Asked for: {trace.brief}"] if trace.brief and trace.brief != proposal.title else []),
        f"Written by the {proposal.role}{model}" + (", then edited by the developer." if trace.edited else "."),
        *unrun,
        *checked,
        *(["Results as the tests report."] if checked and proposal.evidence.confinement else []),
        f"Accepted {when:%Y-%m-%d %H:%M} as {trace.code} of run {proposal.run_id}.",
    )


@dataclass
class Traces:
    """Every accepted hunk of one workspace, by the file it is in: read from the store when a file is asked for.

    What was read is kept in step proposal by proposal.
    """

    store: Store
    root: Path
    _by_path: dict[str, dict[str, tuple[Trace, ...]]] = field(default_factory=dict[str, dict[str, tuple[Trace, ...]]])
    """The traces that were read, by the path now, then by proposal."""
    _placed: dict[str, tuple[str, Mapping[int, Trace]]] = field(
        default_factory=dict[str, tuple[str, Mapping[int, Trace]]]
    )
    """By path: a text, and what was found in it."""

    def take(self, reviewed: Reviewed) -> None:
        """Know of the accepted hunks of *reviewed*, as it stands now."""
        proposal = reviewed.proposal
        paths = {path for change in proposal.files for path in (change.path, change.renamed_to)}
        # A file that nobody has asked for is not begun here: it would look complete with this one proposal.
        for path in paths & self._by_path.keys():
            self._by_path[path].pop(proposal.id, None)
            self._placed.pop(path, None)
            if traces := tuple(trace for trace in traces_of(self.store, reviewed) if trace.path == path):
                self._by_path[path][proposal.id] = traces

    def lines(self, path: str, current: str) -> Mapping[int, Trace]:
        """Return the trace of each line of *current*, the text of *path*, and remember it for that text."""
        known = self._of(path)
        if not known:
            return {}
        placed = self._placed.get(path)
        if placed is None or placed[0] != current:
            lines = trace_lines((trace for traces in known.values() for trace in traces), current)
            placed = self._placed[path] = current, lines
        return placed[1]

    def _of(self, path: str) -> Mapping[str, tuple[Trace, ...]]:
        """Return the accepted hunks of the file that lies at *path* now, by proposal."""
        if path not in self._by_path:
            # Before the loop, because `take` passes over files that nobody has asked for.
            self._by_path[path] = {}
            for reviewed in load_accepted(self.store, self.root, path):
                self.take(reviewed)
        return self._by_path[path]


def _accepted_at(rows: Iterable[DecisionRow]) -> dict[str, float]:
    """Return the time when each hunk was accepted last, by its id."""
    return {row.hunk_id: row.at_s for row in rows if row.state == HunkState.ACCEPTED}


def _brief(store: Store, run_id: str) -> str:
    try:
        return store.run(run_id).brief.strip()
    except NotFound:
        return ""
