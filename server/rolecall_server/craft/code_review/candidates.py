"""The candidates of a review: what the rules find in files, or in what a change touches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from rolecall_analysis import Definition, Snapshot, callers, definitions_in, is_python
from rolecall_analysis.faults import PossibleFault, find_faults
from rolecall_analysis.modules import SOURCE_SUFFIXES
from rolecall_analysis.programs import git_refusal, run_git
from rolecall_analysis.retrieval.history.committed import commit_of, texts_before
from rolecall_server.craft.code_review.rules import FaultKind, review_rules
from rolecall_server.errors import NotFound
from rolecall_server.workspace import split_lines


@dataclass(frozen=True)
class ReviewCandidate:
    """One place that a rule, or a model that read the code, holds for a fault."""

    id: str
    """Its number in this review: ``c1`` of a rule, ``p1`` of a promise that is not kept."""
    rule: FaultKind
    fault: PossibleFault
    test: str = ""
    """Python that shows it, where somebody wrote that."""


@dataclass(frozen=True)
class ReviewScope:
    """The part of a repository that is reviewed."""

    paths: tuple[str, ...] = ()
    """Python files."""
    since: str = ""
    """The id of a commit: what changed since then instead, and who calls that."""
    reads: bool = True
    """A model also reads the code for promises that it does not keep."""


def candidates_in_scope(
    root: Path, snapshot: Snapshot, scope: ReviewScope
) -> tuple[tuple[ReviewCandidate, ...], tuple[str, ...]]:
    """Return what the rules find in *scope* of the repository at *root*, and the files that were looked at."""
    if not scope.since:
        return candidates_in(snapshot, scope.paths), scope.paths
    return candidates_of_change(snapshot, changed_since(root, snapshot, scope.since))


def commit_named(root: Path, revision: str) -> str:
    """Return the id of the commit that *revision* names in the repository around *root*.

    Raises:
        NotFound: it names none, or there is no repository that git reads.
    """
    if commit := commit_of(root, revision):
        return commit
    if refusal := git_refusal(root):
        why, *_, cure = (line.strip() for line in refusal.splitlines())
        raise NotFound(f"{why}.", f"If you trust it: `{cure}`.")
    if not run_git(root, "rev-parse", "--git-dir"):
        raise NotFound(f"{root} is in no git repository, so no commit can be named.", "Name files or folders instead.")
    raise NotFound(f"git knows no commit {revision} in {root}.", "Name a commit, a branch or a tag, such as HEAD~1.")


def changed_since(root: Path, snapshot: Snapshot, commit: str) -> Mapping[str, str | None]:
    """Return the Python files that are not as they were in *commit*, each with its text then."""
    now = {path: snapshot.text(path) or "" for path in snapshot.files if is_python(path)}
    return texts_before(root, commit, now, SOURCE_SUFFIXES)


def candidates_in(snapshot: Snapshot, paths: Iterable[str]) -> tuple[ReviewCandidate, ...]:
    """Return what the rules find in the Python files *paths*, in the order of files and places."""
    return _numbered(find_faults(snapshot, paths))


def candidates_of_change(
    snapshot: Snapshot, texts_then: Mapping[str, str | None]
) -> tuple[tuple[ReviewCandidate, ...], tuple[str, ...]]:
    """Return what the rules find that a change may have brought, and the files that were looked at.

    *texts_then* has the texts that files of *snapshot* had before. Looked at are these files, and those with calls
    of a function that changed; told is what was not found before, and what has a line of the change on its way.
    """
    before = snapshot.with_changes(texts_then)
    lines = {path: changed_lines(text, snapshot.text(path)) for path, text in texts_then.items() if is_python(path)}
    changed = [one for path, numbers in lines.items() for one in _functions_at(snapshot, path, numbers)]
    changed += [one for path in lines for one in _functions_gone(before, snapshot, path)]
    paths = {path for path in lines if path in snapshot.files}
    paths |= {site.path for one in changed for site in callers(snapshot, one, certain_only=True)}
    looked_at = tuple(sorted(path for path in paths if is_python(path)))
    known = Counter(_same(before, fault) for fault in find_faults(before, looked_at))
    found: list[PossibleFault] = []
    for fault in find_faults(snapshot, looked_at):
        key = _same(snapshot, fault)
        # Counted, not looked up: the same line may hold the same fault several times, of which one is new.
        known[key] -= 1
        if known[key] < 0 or _is_touched(fault, lines):
            found.append(fault)
    return _numbered(found), looked_at


def _numbered(faults: Iterable[PossibleFault]) -> tuple[ReviewCandidate, ...]:
    rules = {rule.query: rule for rule in review_rules().values()}
    return tuple(ReviewCandidate(f"c{number}", rules[fault.query], fault) for number, fault in enumerate(faults, 1))


def changed_lines(before: str | None, after: str | None) -> frozenset[int]:
    """Return the lines of *after*, from 0, that are not as they were, or beside which something was taken out."""
    old, new = split_lines(before or ""), split_lines(after or "")
    found: set[int] = set()
    for tag, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            found |= set(range(start, max(end, start + 1)))
    return frozenset(found)


def _functions_at(snapshot: Snapshot, path: str, lines: frozenset[int]) -> Iterator[Definition]:
    """Yield the functions that have a changed line."""
    for one in definitions_in(snapshot, path) if path in snapshot.files else ():
        if one.kind in ("function", "method") and any(
            one.span.start.line <= line <= one.span.end.line for line in lines
        ):
            yield one


def _functions_gone(before: Snapshot, after: Snapshot, path: str) -> Iterator[Definition]:
    there = {one.qualified_name for one in definitions_in(after, path)} if path in after.files else set[str]()
    for one in definitions_in(before, path) if path in before.files else ():
        if one.kind in ("function", "method") and one.qualified_name not in there:
            yield one


def _same(snapshot: Snapshot, fault: PossibleFault) -> tuple[str, str, str, str]:
    """Return what stays of a possible fault when lines above it come and go."""
    lines = split_lines(snapshot.text(fault.path) or "")
    at = fault.span.start.line
    return fault.path, fault.query, fault.scope, lines[at].strip() if at < len(lines) else ""


def _is_touched(fault: PossibleFault, lines: Mapping[str, frozenset[int]]) -> bool:
    places = [(fault.path, fault.span.start.line), *((step.path, step.span.start.line) for step in fault.way)]
    return any(line in lines.get(path, ()) for path, line in places)
