"""Some hunks of a proposal without the rest: the texts that will then stand there, and what would be missing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rolecall_analysis import Snapshot
from rolecall_server.errors import HunkStale
from rolecall_server.review.acceptance import plan_edit
from rolecall_server.review.checks.bindings import FIXTURE, MEMBER, Side, defines, is_defined_anywhere
from rolecall_server.review.checks.graph_checks import check_changes
from rolecall_server.review.checks.hunk_needs import Need, Why, needs_of
from rolecall_server.review.proposals.anchor import Anchor, locate, path_now, text_with
from rolecall_server.review.proposals.edit_journal import fingerprint
from rolecall_server.review.proposals.evidence import Evidence, GraphFinding
from rolecall_server.review.proposals.proposal import FileChange, Hunk
from rolecall_server.review.proposals.proposal_store import ReadText, Reviewed, evidence_adapter
from rolecall_server.store import Store
from rolecall_server.store.landings import save_trial
from rolecall_server.workspace import sha256

MAX_TRIES = 8
"""So many hunks that are left out are tried one by one for the one that mends what the code graph finds broken."""


@dataclass(frozen=True)
class Lack:
    """A thing that would be missing with a selection of hunks."""

    sentence: str
    """``main reads args.dialect, which h4 adds``"""
    hunks: tuple[str, ...]
    """Those left out that bring it; none where no single hunk does."""


def texts_with(reviewed: Reviewed, wanted: Collection[str], read_text: ReadText) -> dict[str, str | None]:
    """Return the texts that will stand in the files that accepting *wanted* changes, ``None`` for one that goes.

    Raises:
        HunkStale: one of them can no longer be placed.
    """
    texts: dict[str, str | None] = {}
    for change in reviewed.proposal.files:
        coming = [hunk.id for hunk in change.hunks if hunk.id in wanted]
        if coming:
            current = read_text(path_now(change, reviewed.accepted))
            edit = plan_edit(change, reviewed.accepted, current, bring_in=coming)
            # The old path first: a file that keeps its name gets its text in place of the None.
            texts |= {edit.path: None} | {edit.path_after: edit.result}
    return texts


def remember_trial(store: Store, reviewed: Reviewed, wanted: Collection[str], texts: str, shown: Evidence) -> None:
    """Store what the tests showed with *wanted* accepted, on the texts of that fingerprint, and on no others."""
    hunk_ids = reviewed.accepted | frozenset(wanted)
    save_trial(store, reviewed.proposal.id, texts, hunk_ids, evidence_adapter().dump_json(shown).decode())


def trial_of(reviewed: Reviewed, wanted: Collection[str], read_text: ReadText) -> Evidence | None:
    """Return what the tests showed of exactly the texts that will stand there with *wanted*; none where none ran."""
    texts = selection_print(reviewed, wanted, read_text) if reviewed.tried else ""
    return next((tried.evidence for tried in reviewed.tried if tried.texts == texts), None)


def selection_print(reviewed: Reviewed, wanted: Collection[str], read_text: ReadText) -> str:
    """Return by what the texts are known that will stand in the proposal's files with *wanted*.

    Raises:
        HunkStale: one of them can no longer be placed.
    """
    texts = {path: read_text(path) for one in reviewed.proposal.files for path in (one.path, one.renamed_to) if path}
    texts |= texts_with(reviewed, wanted, read_text)
    # No path can hold a null character, so that no two sets of files read alike.
    return sha256("".join(f"{path}\0{fingerprint(text)}\0" for path, text in sorted(texts.items())))


def failing(reviewed: Reviewed, shown: Evidence | None, most: int = 3) -> tuple[Lack, ...]:
    """Return what fails with a selection and neither without it nor with the whole proposal, as one thing to tell."""
    failed = failed_by(reviewed, shown) if shown is not None else ()
    if not failed:
        return ()
    more = f" and {len(failed) - most} more" if len(failed) > most else ""
    verb = "test fails" if len(failed) == 1 else "tests fail"
    return (Lack(f"{len(failed)} {verb} with this choice: {', '.join(failed[:most])}{more}", ()),)


def failed_by(reviewed: Reviewed, shown: Evidence) -> tuple[str, ...]:
    """Return the tests that fail with a selection and neither without it nor with the whole proposal."""
    known = {failure.test_id for failure in reviewed.proposal.evidence.failures}
    return tuple(one.test_id for one in shown.new_failures if one.test_id not in known)


def lacks_of(reviewed: Reviewed, wanted: Collection[str], snapshot: Snapshot, read_text: ReadText) -> tuple[Lack, ...]:
    """Return what would be missing with *wanted* accepted as well and the other hunks left out.

    *snapshot* is the repository as it is now. What the whole proposal breaks is told with its evidence, not here.

    Raises:
        HunkStale: one of them can no longer be placed.
    """
    selection = _Selection(reviewed, frozenset(wanted) - reviewed.accepted, snapshot, read_text)
    if not selection.left or not selection.wanted:
        return ()
    needs = _telling([need for need in selection.needs if selection.lacks(need)])
    told = [Lack(_sentence(selection, need), (need.needed,)) for need in needs]
    names = {need.key[2] for need in needs if need.key[2]}
    for finding in _found(selection):
        # What is told as missing already is not told once more as broken.
        if names.isdisjoint(re.findall(r"\w+", finding.sentence)):
            mending = _mending(selection, finding)
            which = f"; {mending[0]} would mend that" if mending else ""
            told.append(Lack(f"{finding.path}:{finding.line + 1}: {finding.sentence.rstrip('.')}{which}", mending))
    return tuple({lack.sentence: lack for lack in told}.values())


def _telling(needs: Sequence[Need]) -> list[Need]:
    """Return *needs* with each missing name once, and nothing else of two hunks of which one uses the other's."""
    using = {(need.hunk, need.needed) for need in needs if need.why is Why.USES}
    told = [need for need in needs if need.why is Why.USES or (need.hunk, need.needed) not in using]
    # From the end, as a dictionary keeps the last of equal keys and the first is wanted.
    return list({(need.needed, need.why, need.key[2]): need for need in reversed(told)}.values())[::-1]


@dataclass(frozen=True)
class _Selection:
    """Some hunks of a proposal that are about to be accepted, on the repository as it is."""

    reviewed: Reviewed
    wanted: frozenset[str]
    now: Snapshot
    read_text: ReadText

    @cached_property
    def hunks(self) -> Mapping[str, tuple[FileChange, Hunk]]:
        return {hunk.id: (change, hunk) for change, hunk in self.reviewed.proposal.hunks()}

    @cached_property
    def chosen(self) -> frozenset[str]:
        """Return the hunks that are in the text afterwards."""
        return self.wanted | self.reviewed.accepted

    @cached_property
    def left(self) -> tuple[str, ...]:
        return tuple(hunk_id for hunk_id in self.hunks if hunk_id not in self.chosen)

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        return needs_of(self.reviewed.proposal.files, self.now)

    @cached_property
    def texts(self) -> Mapping[str, str | None]:
        return texts_with(self.reviewed, self.wanted, self.read_text)

    @cached_property
    def after(self) -> Snapshot:
        return self.now.with_changes(dict(self.texts))

    def lacks(self, need: Need) -> bool:
        """Return whether a hunk that is coming would miss what *need* is about."""
        # Without the hunk that it moves away from, the definition stands there twice, but nothing is missing.
        if need.hunk not in self.wanted or need.needed in self.chosen or need.why is Why.MOVES:
            return False
        if need.why is Why.USES:
            binders = {other.needed for other in self.needs if (other.hunk, other.key) == (need.hunk, need.key)}
            return binders.isdisjoint(self.chosen) and not self._has(self.now, need)
        return need.why is not Why.REMOVES or not self._has(self.after, need)

    def _has(self, snapshot: Snapshot, need: Need) -> bool:
        path, scope, name = need.key
        if path in (MEMBER, FIXTURE):
            return is_defined_anywhere(Side(snapshot, {one: [] for one in self.texts}), name)
        if not name:
            return path in snapshot.files
        return defines(snapshot.files.get(path), scope, name)


def _found(selection: _Selection) -> Iterator[GraphFinding]:
    """Yield what the code graph is sure to be broken with the selection and not with the whole proposal."""
    found = [one for one in check_changes(selection.now, dict(selection.texts)) if one.certain]
    if not found:
        return
    files = selection.reviewed.proposal.files
    # By now some of the proposal may be accepted; as a whole it is judged on the texts it was made for.
    bases = selection.now.with_changes({one.path: one.base for one in files})
    gone: dict[str, str | None] = {one.path: None for one in files}
    whole = {one.renamed_to or one.path: text_with(one, {hunk.id for hunk in one.hunks}) for one in files}
    known = {(one.kind, one.path, one.sentence) for one in check_changes(bases, gone | whole)}
    yield from (one for one in found if (one.kind, one.path, one.sentence) not in known)


def _mending(selection: _Selection, finding: GraphFinding) -> tuple[str, ...]:
    """Return the first hunk left out with which *finding* is gone."""
    for hunk_id in selection.left[:MAX_TRIES]:
        try:
            texts = texts_with(selection.reviewed, {*selection.wanted, hunk_id}, selection.read_text)
        except HunkStale:
            continue
        found = check_changes(selection.now, texts)
        if all((one.path, one.sentence) != (finding.path, finding.sentence) for one in found):
            return (hunk_id,)
    return ()


def _sentence(selection: _Selection, need: Need) -> str:
    name = need.key[2] or need.key[0]
    match need.why:
        case Why.REMOVES:
            return f"{need.hunk} takes {name} away, which is used until {need.needed} is accepted as well"
        case Why.PART:
            return f"{need.hunk} holds only a part of {name}, and {need.needed} the other"
        case Why.CALLS:
            return f"{need.hunk} and {need.needed} fit each other only: what {name} takes, and a call of it"
        case _:
            return f"{_use(selection, need.hunk, name)}, which {need.needed} adds"


def _use(selection: _Selection, hunk_id: str, name: str) -> str:
    """Return who uses *name* in a hunk that is coming, and how: ``main reads args.dialect``."""
    change, hunk = selection.hunks[hunk_id]
    path = path_now(change, selection.chosen)
    place = locate(change, selection.chosen, selection.texts.get(path)).get(hunk_id)
    at = [n for n, line in enumerate(hunk.new_lines) if re.search(rf"\b{re.escape(name)}\b", line)]
    if not at or not isinstance(place, Anchor):
        return f"{hunk_id} needs {name}"
    # A line that uses the name says more than the one that imports it.
    n_line = min(at, key=lambda n: _is_import(hunk.new_lines[n]))
    line = hunk.new_lines[n_line]
    who = _symbol(selection.after, path, place.start + n_line) or path
    return f"{who} imports {name}" if _is_import(line) else f"{who} {_reading(line, name)}"


def _is_import(line: str) -> bool:
    return line.lstrip().startswith(("import ", "from "))


def _reading(line: str, name: str) -> str:
    shapes = (rf"[\w.()]*\[[\"']{re.escape(name)}[\"']\]", rf"(?:\w+\.)*\b{re.escape(name)}\b")
    # The second shape always matches: the caller has found the name in this line.
    found = next(match for shape in shapes if (match := re.search(shape, line)))
    rest = line[found.end() :]
    verb = "calls" if rest.startswith("(") else "passes" if re.match(r"=(?!=)", rest) else "reads"
    return f"{verb} {found[0]}"


def _symbol(snapshot: Snapshot, path: str, line: int) -> str:
    """Return the innermost class or function around a line."""
    facts = snapshot.files.get(path)
    around = [
        one
        for one in (facts.definitions if facts is not None else ())
        if one.kind != "variable" and one.span.start.line <= line <= one.span.end.line
    ]
    return max(around, key=lambda one: one.span.start).qualified_name if around else ""


def describe_lacks(lacks: Sequence[Lack], most: int = 5) -> str:
    """Return what would be missing, in one sentence with the first *most* of it."""
    more = f"; and {len(lacks) - most} more" if len(lacks) > most else ""
    return "; ".join(lack.sentence for lack in lacks[:most]) + more
