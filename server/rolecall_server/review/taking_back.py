"""Taking accepted hunks out of their files again: those for which that can be done, and what would be missing then."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rolecall_analysis import Snapshot
from rolecall_server.errors import HunkStale
from rolecall_server.review.acceptance import needed_by, plan_edit
from rolecall_server.review.checks.graph_checks import check_changes
from rolecall_server.review.proposals.anchor import Stale, locate, path_now, standing
from rolecall_server.review.proposals.evidence import Evidence, SourceLine
from rolecall_server.review.proposals.proposal import FileChange
from rolecall_server.review.proposals.proposal_store import Reviewed
from rolecall_server.review.proposals.provenance import Traces
from rolecall_server.review.selection import Lack
from rolecall_server.workspace import Workspace, read_text_or_none

_MOST_NAMED = 3


@dataclass(frozen=True)
class Left:
    """Hunks of one file that cannot be taken back, and why."""

    path: str
    hunk_ids: tuple[str, ...]
    reason: str
    is_gone: bool = False
    """They do not stand in the file any more: git or an editor has taken them out."""


@dataclass(frozen=True)
class Undoing:
    """The hunks of one proposal that can be taken back, and those that cannot."""

    reviewed: Reviewed
    fitting: tuple[str, ...]
    along: tuple[str, ...]
    """Those of them that nobody named, which need one that was named."""
    left: tuple[Left, ...]
    texts: Mapping[str, str | None]
    """The texts of the files then, ``None`` for one that goes."""


@dataclass(frozen=True)
class Remainder:
    """The repository as it is now, and the texts that stand in it once some hunks are taken back."""

    now: Snapshot
    texts: Mapping[str, str | None]
    traces: Traces
    taken: frozenset[str]
    """``p7/h2`` for each hunk that is taken back."""

    def holders(self, path: str, lines: Collection[int]) -> tuple[str, ...]:
        """Return the accepted hunks, as ``p7/h2``, that brought in one of these lines and stay."""
        text = self.texts[path] if path in self.texts else self.now.text(path)
        traces = self.traces.lines(path, text or "")
        codes = dict.fromkeys(traces[line].code for line in sorted(lines) if line in traces)
        return tuple(code for code in codes if code not in self.taken)


def plan_undo(workspace: Workspace, accepted: Sequence[tuple[Reviewed, Collection[str]]]) -> list[Undoing]:
    """Return the hunks that can be taken back, for each proposal on the texts as the proposals before it leave them."""
    texts: dict[str, str | None] = {}

    def read(path: str) -> str | None:
        return texts[path] if path in texts else read_text_or_none(workspace, path)

    plans: list[Undoing] = []
    for reviewed, hunk_ids in accepted:
        plans.append(_plan(reviewed, hunk_ids, read))
        texts |= plans[-1].texts
    return plans


def _plan(reviewed: Reviewed, hunk_ids: Collection[str], read: Callable[[str], str | None]) -> Undoing:
    proposal, states = reviewed.proposal, reviewed.states
    wanted = {*hunk_ids, *needed_by(proposal, states, hunk_ids)}
    left: list[Left] = []
    for change in proposal.files:
        left += _left_in(change, reviewed.accepted, wanted, read(path_now(change, reviewed.accepted)))
    gone = {hunk_id for one in left if one.is_gone for hunk_id in one.hunk_ids}
    staying = {hunk_id for one in left for hunk_id in one.hunk_ids} - gone
    fitting = {h for h in wanted - staying - gone if not staying & {*needed_by(proposal, states, [h])}}
    if held := sorted(wanted - staying - gone - fitting):
        left.append(Left("", tuple(held), "What stays needs it."))
    texts: dict[str, str | None] = {}
    for change in proposal.files:
        path = path_now(change, reviewed.accepted)
        here = [hunk.id for hunk in change.hunks if hunk.id in fitting]
        if here:
            edit = plan_edit(change, reviewed.accepted, read(path), take_out=here)
            texts |= {path: None, edit.path_after: edit.result}
    in_order = tuple(hunk.id for _, hunk in proposal.hunks() if hunk.id in fitting)
    return Undoing(reviewed, in_order, tuple(h for h in in_order if h not in hunk_ids), tuple(left), texts)


def _left_in(
    change: FileChange, accepted: Collection[str], wanted: Collection[str], current: str | None
) -> Iterator[Left]:
    """Yield the hunks of one file among *wanted* that *current* has no place for any more."""
    path = path_now(change, accepted)
    here = [hunk.id for hunk in change.hunks if hunk.id in wanted]
    places = locate(change, accepted, current)
    reasons = {hunk_id: place.reason for hunk_id in here if isinstance(place := places[hunk_id], Stale)}
    there = standing(change, accepted, reasons, current)
    if gone := tuple(hunk_id for hunk_id in reasons if hunk_id not in there):
        what = "It is" if len(gone) == 1 else "They are"
        yield Left(path, gone, f"{path}: {what} not there any more.", is_gone=True)
    for reason in dict.fromkeys(reasons[hunk_id] for hunk_id in reasons if hunk_id in there):
        yield Left(path, tuple(h for h in reasons if h in there and reasons[h] == reason), f"{path}: {reason}")
    fitting = [hunk_id for hunk_id in here if hunk_id not in reasons]
    try:
        if fitting:
            plan_edit(change, accepted, current, take_out=fitting)
    except HunkStale as error:
        yield Left(path, tuple(fitting), error.what)


def broken_names(remainder: Remainder) -> tuple[Lack, ...]:
    """Return what the code graph is sure to be broken without the hunks that are taken back, with who loses it."""
    found = [one for one in check_changes(remainder.now, dict(remainder.texts)) if one.certain]
    lacks: list[Lack] = []
    for finding in found:
        places = finding.places or (SourceLine(finding.path, finding.line, ""),)
        held = [remainder.holders(place.path, [place.line]) for place in places]
        named = [f"{at.path}:{at.line + 1}{_in_brackets(by)}" for at, by in zip(places, held, strict=True)]
        told = f"{', '.join(named[:_MOST_NAMED])}: {finding.sentence.rstrip('.')}"
        lacks.append(Lack(told, tuple(dict.fromkeys(code for by in held for code in by))))
    return tuple(lacks)


def failing_tests(remainder: Remainder, shown: Evidence) -> tuple[Lack, ...]:
    """Return the tests that pass now and fail without the hunks that are taken back, as one thing to tell."""
    failed = [failure.test_id for failure in shown.new_failures]
    if not failed:
        return ()
    held = [remainder.holders(*_lines_of_test(remainder, test_id)) for test_id in failed]
    named = [f"{test_id}{_in_brackets(by)}" for test_id, by in zip(failed, held, strict=True)]
    more = f" and {len(failed) - _MOST_NAMED} more" if len(failed) > _MOST_NAMED else ""
    what = f"{len(failed)} test{'' if len(failed) == 1 else 's'} would fail: {', '.join(named[:_MOST_NAMED])}{more}"
    return (Lack(what, tuple(dict.fromkeys(code for by in held for code in by))),)


def _lines_of_test(remainder: Remainder, test_id: str) -> tuple[str, range]:
    """Return the file of a test and the lines of its function there; none where it has no such function."""
    path, *names = test_id.partition("[")[0].split("::")
    facts = remainder.now.with_changes(dict(remainder.texts)).files.get(path)
    for one in facts.definitions if facts is not None else ():
        if one.qualified_name == ".".join(names):
            return path, range(one.span.start.line, one.span.end.line + 1)
    return path, range(0)


def _in_brackets(codes: Sequence[str]) -> str:
    return f" ({', '.join(codes)})" if codes else ""
