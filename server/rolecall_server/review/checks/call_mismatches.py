"""Calls that fitted what they reach, and no longer do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rolecall_analysis import (
    Call,
    Definition,
    Mismatch,
    Snapshot,
    all_subtypes,
    callers,
    definitions_in,
    find_definition,
    is_python,
    signature_mismatches,
    text_in,
)
from rolecall_analysis.queries.arguments.parameters import arguments_in
from rolecall_analysis.queries.arguments.signatures import verdict

_MAKERS = frozenset({"__init__", "__new__", "__init_subclass__"})


@dataclass(frozen=True)
class Misfit:
    """Calls that something cannot take."""

    definition: Definition
    """The definition that is called, as it is with the change."""
    is_changed: bool
    """The change altered it; if not there is one call, and the change wrote it."""
    calls: tuple[tuple[str, int, str], ...]
    """Path, line from 0, and why as a sentence without a subject; of every call, in order."""


def misfits(before: Snapshot, after: Snapshot, paths: Iterable[str]) -> tuple[Misfit, ...]:
    """Return the calls, in any file, that stop fitting when the files *paths* change. Only certain ones."""
    changed_paths = [path for path in paths if is_python(path) and path in after.files]
    changed = {
        _key(definition): definition for path in changed_paths for definition in _changed_in(before, after, path)
    }
    found = [one for path in changed_paths for one in _in_changed_file(before, after, path)]
    found += _in_other_files(before, after, changed.values(), changed_paths)
    grouped: dict[tuple[str, str], list[Mismatch]] = {}
    for one in found:
        key = _key(one.definition)
        grouped.setdefault(key if key in changed else (one.path, str(one.call.span)), []).append(one)
    return tuple(
        Misfit(
            group[0].definition,
            key in changed,
            tuple(sorted({(one.path, one.call.span.start.line, one.message) for one in group})),
        )
        for key, group in grouped.items()
    )


def _key(definition: Definition) -> tuple[str, str]:
    return definition.path, definition.qualified_name


def _in_changed_file(before: Snapshot, after: Snapshot, path: str) -> Iterator[Mismatch]:
    found = signature_mismatches(after, path, after.text(path) or "")
    if not found:
        return
    # Lines move with a change, so misfits are told apart by how many of each kind there were.
    known = Counter(map(_same, signature_mismatches(before, path, before.text(path) or "")))
    for one in found:
        known[_same(one)] -= 1
        if known[_same(one)] < 0:
            yield one


def _same(mismatch: Mismatch) -> tuple[str, str, tuple[str, str]]:
    return mismatch.call.callee, mismatch.message, _key(mismatch.definition)


def _changed_in(before: Snapshot, after: Snapshot, path: str) -> Iterator[Definition]:
    """Yield the definitions that a call may no longer fit: functions whose signature is another, classes that are made
    otherwise.
    """
    old = before.files.get(path)
    if old is None:
        return
    new = after.files[path].definitions_by_name
    # A field or constructor that is gone changes what the class takes as much as one that is new.
    remade = {one.scope for one in old.definitions if (one.scope, one.name) not in new and _has_a_say(one)}
    for definition in definitions_in(after, path):
        was = old.definitions_by_name.get((definition.scope, definition.name), ())
        # Also true where there was none: a new definition counts as changed.
        if all((definition.signature, definition.decorators) != (one.signature, one.decorators) for one in was):
            if definition.kind == "class":
                remade.add(definition.qualified_name)
            elif _has_a_say(definition):
                remade.add(definition.scope)
            if definition.kind in ("function", "method"):
                yield definition
    for qualified_name in sorted(remade):
        owner = find_definition(after, path, qualified_name)
        if owner is not None and owner.kind == "class":
            yield owner
            yield from all_subtypes(after, owner)


def _has_a_say(definition: Definition) -> bool:
    """Return whether *definition* may change the arguments with which the class that holds it is constructed."""
    is_field = definition.kind == "variable" and ":" in definition.signature.partition("=")[0]
    return is_field or definition.name in _MAKERS


def _in_other_files(
    before: Snapshot, after: Snapshot, changed: Iterable[Definition], changed_paths: Iterable[str]
) -> list[Mismatch]:
    passed = set(changed_paths)
    calls: dict[str, dict[Call, None]] = {}
    for definition in changed:
        for site in callers(after, definition, certain_only=True):
            if site.path not in passed and is_python(site.path):
                calls.setdefault(site.path, {})[site.call] = None
    suspects = {path: _suspects(before, after, path, tuple(found)) for path, found in calls.items()}
    return [
        mismatch
        for path, spans in suspects.items()
        if spans
        # The whole file says whether the call is one that is meant to fail.
        for mismatch in signature_mismatches(after, path, after.text(path) or "")
        if mismatch.call in spans
    ]


def _suspects(before: Snapshot, after: Snapshot, path: str, calls: tuple[Call, ...]) -> set[Call]:
    """Return those of *calls* that do not fit *after*, each read by itself, and that fitted before."""
    text = after.text(path) or ""
    found: set[Call] = set()
    for call in calls:
        given = arguments_in(f"({text_in(text, call.span)})")
        if not given:
            continue
        arguments = given[max(given, key=lambda span: (span.end, -span.start.line, -span.start.column))]
        now = verdict(after, after.files[path], call, arguments)
        if now is not None and now[1]:
            was = verdict(before, before.files[path], call, arguments) if path in before.files else None
            if was is None or not was[1]:
                found.add(call)
    return found
