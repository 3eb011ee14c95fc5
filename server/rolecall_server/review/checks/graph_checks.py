"""The faults of a change that the code graph shows: errors it adds, names it leaves without meaning, uses it forgot.

Everything is compared with the text as it was: what was wrong before is not the change's doing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rolecall_analysis import (
    BrokenReference,
    Definition,
    Snapshot,
    Unresolved,
    dangling_uses,
    missing_attributes,
    possibly_dangling_uses,
    unresolved_names,
)
from rolecall_analysis.installed.packages import InstalledCode
from rolecall_server.review.checks.call_mismatches import misfits
from rolecall_server.review.checks.syntax import syntax_errors
from rolecall_server.review.names.findings import wrong_name_findings
from rolecall_server.review.proposals.evidence import GraphFinding, SourceLine
from rolecall_server.workspace import split_lines

MAX_PLACES = 20
"""So many places of one finding are told; the sentence counts them all."""


def check_changes(
    snapshot: Snapshot, files: Mapping[str, str | None], installed: InstalledCode | None = None
) -> tuple[GraphFinding, ...]:
    """Return findings of what breaks if *files* have those texts; ``None`` deletes one. Certain findings first, then by
    path and line.

    Names of packages are held to those that are *installed*; where that is not known, they are not looked at.
    """
    after = snapshot.with_changes(files)
    errors = {path: _errors_in(after, path) for path in files}
    # Whoever broke a file may go on working in it.
    added = [error for path, found in errors.items() if found and not _errors_in(snapshot, path) for error in found]
    # What a file says of the rest counts only where both its versions can be read.
    change = Change(
        snapshot, after, tuple(path for path in files if not errors[path] and not _is_broken(snapshot, path))
    )
    missing = tuple(_missing(change))
    told = {(place.path, place.line) for finding in missing for place in finding.places}
    unresolved = (one for one in _unresolved(change) if (one.path, one.line) not in told)
    found = [*added, *missing, *unresolved, *_misfits(change)]
    if installed is not None:
        told |= {(finding.path, finding.line) for finding in found}
        wrong = wrong_name_findings(snapshot, after, change.paths, installed)
        found += [finding for finding in wrong if (finding.path, finding.line) not in told]
    return tuple(sorted(found, key=lambda finding: (not finding.certain, finding.path, finding.line)))


@dataclass(frozen=True)
class Change:
    """The repository without a change and with it."""

    before: Snapshot
    after: Snapshot
    paths: tuple[str, ...]
    """The files that change and are judged."""


def _errors_in(snapshot: Snapshot, path: str) -> tuple[GraphFinding, ...]:
    facts, text = snapshot.files.get(path), snapshot.text(path)
    return syntax_errors(facts, text) if facts is not None and text is not None else ()


def _is_broken(snapshot: Snapshot, path: str) -> bool:
    return path in snapshot.files and bool(snapshot.files[path].problems)


def _unresolved(change: Change) -> Iterator[GraphFinding]:
    for path in change.paths:
        found = _without_meaning(change.after, path)
        known = Counter(one.name for one in _without_meaning(change.before, path)) if found else Counter[str]()
        told: set[tuple[str, int]] = set()
        for one in found:
            # Counted by name and not by line, because the change moves lines.
            known[one.name] -= 1
            line = one.span.start.line
            if known[one.name] < 0 and (one.name, line) not in told:
                told.add((one.name, line))
                sentence = _what_is_unresolved(change.after, one)
                yield GraphFinding("name without meaning", path, line, sentence, certain=one.certain)


def _without_meaning(snapshot: Snapshot, path: str) -> tuple[Unresolved, ...]:
    text = snapshot.text(path)
    return (*unresolved_names(snapshot, path), *missing_attributes(snapshot, path, text)) if text is not None else ()


def _what_is_unresolved(after: Snapshot, one: Unresolved) -> str:
    imported = next((each for each in after.files[one.path].imports if each.name_span == one.span), None)
    if imported is not None:
        return f"{'.' * imported.level}{imported.module} has no {one.name!r} to import."
    holder, _, name = one.name.rpartition(".")
    if holder:
        return f"{holder} has no {name!r}." if one.certain else f"Nothing gives {holder} an attribute {name!r}."
    return f"Nothing binds {one.name!r}."


def _missing(change: Change) -> Iterator[GraphFinding]:
    uses: dict[tuple[Definition | str, bool], list[BrokenReference]] = {}
    for use in _dangling(change):
        removed = use.removed
        if isinstance(removed, Definition) and removed.path not in change.after.files and use.certain:
            removed = removed.path
        uses.setdefault((removed, use.certain), []).append(use)
    for (removed, certain), found in uses.items():
        places = places_of(change.after, ((use.path, use.span.start.line) for use in found))
        path, line = (removed, 0) if isinstance(removed, str) else (removed.path, removed.name_span.start.line)
        sentence = _what_is_missing(change, removed, len(places), certain)
        yield GraphFinding("missing symbol", path, line, sentence, places[:MAX_PLACES], certain)


def _dangling(change: Change) -> Iterator[BrokenReference]:
    yield from dangling_uses(change.before, change.after, change.paths)
    yield from possibly_dangling_uses(change.before, change.after, change.paths)


def _what_is_missing(change: Change, removed: Definition | str, n_places: int, certain: bool) -> str:
    used = "still used" if certain else "perhaps still used"
    used += " in one place" if n_places == 1 else f" in {n_places} places"
    if isinstance(removed, str):
        return f"The module is gone, and {used}."
    renamed = _new_name(change, removed)
    return f"{removed.qualified_name!r} {f'is now {renamed!r}' if renamed else 'is gone'}, and {used}."


def _new_name(change: Change, removed: Definition) -> str | None:
    """Return the present name of *removed*, if something new in the same scope is the same but for its name."""
    facts = change.after.files.get(removed.path)
    if facts is None or removed.kind == "variable":
        return None
    known = change.before.files[removed.path].definitions_by_name
    wanted = removed.signature.replace(removed.name, "", 1)
    alike = [
        one.name
        for one in facts.definitions
        if one.scope == removed.scope
        and one.kind == removed.kind
        and (one.scope, one.name) not in known
        and one.signature.replace(one.name, "", 1) == wanted
    ]
    # Of several that are alike nobody could say which is the old one.
    return alike[0] if len(alike) == 1 else None


def _misfits(change: Change) -> Iterator[GraphFinding]:
    for misfit in misfits(change.before, change.after, change.paths):
        definition = misfit.definition
        header = " ".join(definition.signature.split())
        if not misfit.is_changed:
            ((path, line, message),) = misfit.calls
            sentence = f"{definition.path} has {header!r}: it {message}."
            yield GraphFinding("call that does not fit", path, line, sentence)
            continue
        places = places_of(change.after, ((path, line) for path, line, _ in misfit.calls))
        calls = "A call does not fit" if len(places) == 1 else f"{len(places)} calls do not fit"
        sentence = f"{calls} {header!r} any more: it {misfit.calls[0][2]}."
        line = definition.name_span.start.line
        yield GraphFinding("call that does not fit", definition.path, line, sentence, places[:MAX_PLACES])


def places_of(snapshot: Snapshot, lines: Iterable[tuple[str, int]]) -> tuple[SourceLine, ...]:
    """Return the lines of those paths and numbers, each once, in order."""
    texts: dict[str, list[str]] = {}
    places: list[SourceLine] = []
    for path, line in sorted(set(lines)):
        if path not in texts:
            texts[path] = split_lines(snapshot.text(path) or "")
        text = texts[path][line].strip() if line < len(texts[path]) else ""
        places.append(SourceLine(path, line, text))
    return tuple(places)
