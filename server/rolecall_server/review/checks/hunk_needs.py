"""The hunks of a proposal that each hunk needs: without those, accepting it would break what it belongs to.

A hunk needs another that binds what its lines name, and one whose lines name what it takes away. Both are followed
through scopes, imports and classes, in the text as it was and as proposed, so that a rename and its callers need each
other. What the graph does not follow, the attribute of a value that is not known, goes by its name, if that is new.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum

from rolecall_analysis import Definition, FileFacts, Snapshot, is_python
from rolecall_analysis.queries.arguments.parameters import Arguments, Parameter, misfit, parameters_of
from rolecall_analysis.syntax import parse
from rolecall_server.review.checks.bindings import (
    FIXTURE,
    MEMBER,
    Key,
    Side,
    bound_locals,
    bound_names,
    calls_in,
    defines,
    is_defined_anywhere,
    used_names,
)
from rolecall_server.review.proposals.anchor import text_with
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkKind, Proposal
from rolecall_server.workspace import split_lines

_IMPORTS = frozenset(("import_statement", "import_from_statement", "future_import_statement"))


class Why(StrEnum):
    """The reason why a hunk needs another."""

    USES = "uses"
    """The other binds a name that it uses."""
    REMOVES = "removes"
    """It takes away a name that the other stops using."""
    PART = "part"
    """Both have lines of one definition."""
    CALLS = "calls"
    """A call fits a signature, or no longer fits it, by the other."""
    MOVES = "moves"
    """It gives anew what the other takes away."""


@dataclass(frozen=True)
class Need:
    """A hunk, and one that it needs."""

    hunk: str
    needed: str
    why: Why
    key: Key
    """The name it is about, and where that is bound."""


def link_hunks(changes: Sequence[FileChange], snapshot: Snapshot) -> tuple[FileChange, ...]:
    """Return *changes*, whose hunks have ids, with the symbol and the needs of each hunk.

    In *snapshot* their files are taken to have the texts of their bases.
    """
    old, new = _sides(changes, snapshot)
    renamed = {change.path: change.renamed_to or change.path for change in changes}
    needs: defaultdict[str, set[str]] = defaultdict(set)
    for need in _needs(changes, old, new):
        needs[need.hunk].add(need.needed)
    order = [hunk.id for change in changes for hunk in change.hunks]
    return tuple(
        replace(
            change,
            hunks=tuple(
                replace(
                    hunk,
                    # A hunk that only removes has no line in the text as proposed.
                    symbol=_symbol(new, renamed[change.path], hunk.id) or _symbol(old, change.path, hunk.id),
                    needs=tuple(one for one in order if one in needs[hunk.id] and one != hunk.id),
                )
                for hunk in change.hunks
            ),
        )
        for change in changes
    )


def needs_of(changes: Sequence[FileChange], snapshot: Snapshot) -> tuple[Need, ...]:
    """Return which hunks of *changes* need which, and why; each once, for the first reason."""
    found: dict[tuple[str, str, str], Need] = {}
    for need in _needs(changes, *_sides(changes, snapshot)):
        if need.hunk != need.needed:
            found.setdefault((need.hunk, need.needed, need.key[2] or need.key[0]), need)
    return tuple(found.values())


def import_users(proposal: Proposal) -> dict[str, tuple[str, ...]]:
    """Return, by the id of each hunk that changes import statements and nothing else, the other hunks that need it.

    One that none needs is left out. A reader decides such a hunk together with the first of its users.
    """
    imports = {hunk.id for change, hunk in proposal.hunks() if _changes_imports_only(change, hunk)}
    users: dict[str, tuple[str, ...]] = {}
    for _, hunk in proposal.hunks():
        if hunk.id not in imports and not hunk.off:
            users |= {need: (*users.get(need, ()), hunk.id) for need in hunk.needs if need in imports}
    return users


def _changes_imports_only(change: FileChange, hunk: Hunk) -> bool:
    if hunk.kind is not HunkKind.TEXT or not is_python(change.renamed_to or change.path):
        return False
    removed, added = (hunk.start, hunk.end), (hunk.start, hunk.start + len(hunk.new_lines))
    return _are_imports(change.base or "", *removed) and _are_imports(text_with(change, {hunk.id}) or "", *added)


def _are_imports(text: str, start: int, end: int) -> bool:
    """Return whether the lines from *start* to *end* hold import statements of the module, and nothing else."""
    tree = parse(text).tree
    imported, other = set[int](), set[int]()
    for node in tree.root_node.children if tree else ():
        rows = range(node.start_point.row, node.end_point.row + 1)
        (imported if node.type in _IMPORTS else other).update(rows)
    lines = split_lines(text)
    return all(line in imported - other or not lines[line].strip() for line in range(start, end))


def _sides(changes: Sequence[FileChange], snapshot: Snapshot) -> tuple[Side, Side]:
    """Return the repository before *changes* and with them; which lines are whose is noted on both."""
    # The snapshot may be ahead of the bases: hunks were accepted since, or somebody typed.
    moved_on = {one.path: one.base for one in changes if one.base is not None and snapshot.text(one.path) != one.base}
    before = snapshot.with_changes(moved_on) if moved_on else snapshot
    gone: dict[str, str | None] = {one.path: None for one in changes}
    proposed = {one.renamed_to or one.path: text_with(one, {hunk.id for hunk in one.hunks}) for one in changes}
    old, new = Side(before), Side(before.with_changes(gone | proposed))
    for change in changes:
        _place(change, old, new)
    return old, new


def _place(change: FileChange, old: Side, new: Side) -> None:
    """Note which lines of both versions belong to which hunk of *change*."""
    shift = 0
    for hunk in change.hunks:
        if hunk.kind is HunkKind.TEXT:
            for start, end, new_start, new_end in change.parts(hunk):
                old.add(change.path, hunk.start + start, hunk.start + end, hunk.id)
                at = hunk.start + shift
                new.add(change.renamed_to or change.path, at + new_start, at + new_end, hunk.id)
            shift += len(hunk.new_lines) - (hunk.end - hunk.start)
        elif hunk.kind is HunkKind.DELETE:
            old.add(change.path, 0, len(change.base_lines), hunk.id)


def _needs(changes: Sequence[FileChange], old: Side, new: Side) -> Iterator[Need]:
    renamed = {change.path: change.renamed_to or change.path for change in changes}
    origins = {now: was for was, now in renamed.items()}
    named_now, named_before = tuple(used_names(new)), tuple(used_names(old))
    came = _only_here(new, old, origins, {key for _, key in named_now})
    went = _only_here(old, new, renamed, {key for _, key in named_before})
    for change in changes:
        moving = {hunk.id for hunk in change.hunks if hunk.kind is HunkKind.RENAME}
        leaving = {hunk.id for hunk in change.hunks if hunk.kind is HunkKind.DELETE} | moving
        making = {hunk.id for hunk in change.hunks[:1]} if change.creates else moving
        # A file as a whole goes by its path alone, without a name in it: who imports it needs the hunk that makes it.
        came[renamed[change.path], "", ""] = making
        went[change.path, "", ""] = leaving
    yield from (Need(hunk, binder, Why.USES, key) for hunk, key in named_now for binder in came.get(key, ()))
    yield from (Need(taker, hunk, Why.REMOVES, key) for hunk, key in named_before for taker in went.get(key, ()))
    yield from _parts_of_one(new, came)
    yield from _parts_of_one(old, went)
    yield from _replaced(old, new, renamed)
    yield from _fitting(old, new, came, went, renamed)


def _only_here(side: Side, other: Side, paths: Mapping[str, str], named: Set[Key]) -> dict[Key, set[str]]:
    """Return the names that hunks bind on this side and that the *other* does not have at the same place.

    *named* are those that hunks use on this side; what goes by its name alone is looked for only if it is.
    """
    found: dict[Key, set[str]] = {}
    shared: dict[Key, bool] = {}
    for hunk, key in bound_names(side):
        if key not in shared:
            shared[key] = (key[0] in (MEMBER, FIXTURE) and key not in named) or _is_shared(side, other, key, paths)
        if not shared[key]:
            found.setdefault(key, set()).add(hunk)
    for facts in side.facts():
        known = other.snapshot.files.get(paths.get(facts.path, facts.path))
        fresh = {(scope, name) for scope, name in facts.local_names if not defines(known, scope, name)}
        for hunk, key in bound_locals(side, facts, fresh) if fresh else ():
            found.setdefault(key, set()).add(hunk)
    return found


def _is_shared(side: Side, other: Side, key: Key, paths: Mapping[str, str]) -> bool:
    """Return whether the *other* side has the name as well; for an imported name, whether it is imported from the same
    module.
    """
    path, scope, name = key
    if path in (MEMBER, FIXTURE):
        return is_defined_anywhere(other, name)
    known = other.snapshot.files.get(paths.get(path, path))
    here = _sources(side.snapshot.files[path], scope, name)
    there = _sources(known, scope, name) if known is not None else here
    return defines(known, scope, name) and (not here or not there or bool(here & there))


def _sources(facts: FileFacts, scope: str, name: str) -> set[tuple[int, str, str | None]]:
    """Return the level, module and name of each import that the file has under *name*."""
    return {(one.level, one.module, one.name) for one in facts.imports_by_name.get((scope, name), ())}


def _parts_of_one(side: Side, only_here: Mapping[Key, set[str]]) -> Iterator[Need]:
    """Yield the needs between hunks with parts of one function: none of them without the others. The members of a class
    need the class.
    """
    for facts in side.facts():
        for definition in facts.definitions:
            heads = only_here.get((facts.path, definition.scope, definition.name), ())
            if definition.kind not in ("function", "method", "class") or not heads:
                continue
            key = facts.path, definition.scope, definition.name
            for _, _, hunk in side.hunks_within(facts.path, definition.span.start.line, definition.span.end.line):
                yield from (Need(hunk, head, Why.PART, key) for head in heads)
                if definition.kind != "class":
                    yield from (Need(head, hunk, Why.PART, key) for head in heads)


def _replaced(old: Side, new: Side, renamed: Mapping[str, str]) -> Iterator[Need]:
    """Yield the need of a hunk that takes a name away for the one that binds it anew; a definition moves whole, so each
    needs the other.
    """
    given: defaultdict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for hunk, (path, scope, name) in bound_names(new):
        given[path, name].add((scope, hunk))
    for taker, (path, scope, name) in bound_names(old):
        replacements = given.get((renamed.get(path, path), name), set())
        if path in (MEMBER, FIXTURE) or any(hunk == taker for _, hunk in replacements):
            continue
        for other, hunk in replacements:
            if other == scope or not scope:
                yield Need(taker, hunk, Why.REMOVES, (path, scope, name))
            if other == scope and (scope, name) in new.snapshot.files[renamed.get(path, path)].definitions_by_name:
                yield Need(hunk, taker, Why.MOVES, (path, scope, name))


def _fitting(
    old: Side, new: Side, came: Mapping[Key, set[str]], went: Mapping[Key, set[str]], renamed: Mapping[str, str]
) -> Iterator[Need]:
    """Calls that only fit what a hunk makes of a signature, and calls that no longer fit it."""
    changed = _changed_parameters(old, new, renamed)
    for hunk, targets, arguments in calls_in(new):
        for target in targets:
            fields = ((target.path, target.qualified_name, name) for name in arguments)
            yield from (Need(hunk, binder, Why.USES, key) for key in fields for binder in came.get(key, ()))
            called = (*_callable(target), target.name)
            for was, now, headers in changed.get(_callable(target), ()):
                # A call may fit both signatures and yet give its values to other parameters.
                if misfit(was, arguments, _n_bound(target)) or _shifts(was, now, arguments, _n_bound(target)):
                    yield from (Need(hunk, header, Why.CALLS, called) for header in headers)
    for hunk, targets, arguments in calls_in(old):
        for target in targets:
            fields = ((target.path, target.qualified_name, name) for name in arguments)
            yield from (Need(taker, hunk, Why.REMOVES, key) for key in fields for taker in went.get(key, ()))
            path, name = _callable(target)
            for was, now, headers in changed.get((renamed.get(path, path), name), ()):
                if misfit(now, arguments, _n_bound(target)) or _shifts(was, now, arguments, _n_bound(target)):
                    yield from (Need(header, hunk, Why.CALLS, (path, name, target.name)) for header in headers)


def _shifts(was: Sequence[Parameter], now: Sequence[Parameter], arguments: Arguments, n_bound: int) -> bool:
    """Return whether a value that a call gives by its position goes to another parameter than it did."""
    places = {one.name: place for place, one in enumerate(now)}
    n_given = n_bound + next((n for n, one in enumerate(arguments) if one), len(arguments))
    return any(places.get(one.name, place) != place for place, one in enumerate(was[:n_given]))


_Change = tuple[Sequence[Parameter], Sequence[Parameter], set[str]]
"""The parameters of a function before and after, and the hunks that make the difference."""


def _changed_parameters(old: Side, new: Side, renamed: Mapping[str, str]) -> dict[tuple[str, str], list[_Change]]:
    found: dict[tuple[str, str], list[_Change]] = {}
    for facts in old.facts():
        after = new.snapshot.files.get(renamed.get(facts.path, facts.path))
        for was in facts.definitions if after is not None else ():
            now = after.definitions_by_name.get((was.scope, was.name), ()) if after is not None else ()
            if was.kind not in ("function", "method") or len(now) != 1 or now[0].signature == was.signature:
                continue
            before, then = parameters_of(was.signature), parameters_of(now[0].signature)
            if before is not None and then is not None:
                headers = _header_hunks(old, was) | _header_hunks(new, now[0])
                found.setdefault((now[0].path, now[0].qualified_name), []).append((before, then, headers))
    return found


def _header_hunks(side: Side, definition: Definition) -> set[str]:
    """Return the hunks that have lines of the definition's header, which goes from its name to the end of its
    signature.
    """
    first = definition.name_span.start.line
    # Only what is no white space is counted, so it does not matter how the signature is laid out.
    signature = "".join(definition.signature.split())
    lines = side.lines(definition.path)[first : definition.span.end.line + 1]
    n_lines, seen = 0, 0
    while n_lines < len(lines) and seen < len(signature):
        seen += len("".join(lines[n_lines].split()))
        n_lines += 1
    return {hunk for _, _, hunk in side.hunks_within(definition.path, first, first + max(0, n_lines - 1))}


def _callable(target: Definition) -> tuple[str, str]:
    # Who calls a class is concerned by a change of its constructor's signature.
    name = f"{target.qualified_name}.__init__" if target.kind == "class" else target.qualified_name
    return target.path, name


def _n_bound(target: Definition) -> int:
    is_bound = target.kind == "class" or (target.kind == "method" and "staticmethod" not in target.decorators)
    return int(is_bound)


def _symbol(side: Side, path: str, hunk_id: str) -> str:
    """Return the innermost class or function around the first telling line of a hunk, or the first that
    begins in it.
    """
    facts = side.snapshot.files.get(path)
    start, end = next(((start, end) for start, end, one in side.ranges.get(path, ()) if one == hunk_id), (0, 0))
    lines = side.lines(path) if facts is not None and start < end else []
    telling = next((line for line in range(start, end) if line < len(lines) and lines[line].strip()), None)
    return _symbol_at(facts, telling, start, end) if facts is not None and telling is not None else ""


def _symbol_at(facts: FileFacts, telling: int, start: int, end: int) -> str:
    definitions = [definition for definition in facts.definitions if definition.kind != "variable"]
    around = [d for d in definitions if d.span.start.line <= telling <= d.span.end.line]
    if around:
        return max(around, key=lambda d: d.span.start).qualified_name
    return next((d.qualified_name for d in definitions if start <= d.span.start.line < end), "")
