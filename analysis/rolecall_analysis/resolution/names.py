"""The meaning of a name: from a scope outwards, through imports, aliases, classes and their bases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from rolecall_analysis.resolution.exports import (
    Module,
    Target,
    import_targets,
    imported_module,
    in_force,
    module_members,
    offers,
    sibling_targets,
    star_sources,
)
from rolecall_analysis.resolution.foreign import foreign_meaning, is_foreign
from rolecall_analysis.resolution.lineage import linearise
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition, FileFacts, Position

MAX_ALIASES = 8
"""The number of ``a = b`` that are followed one after the other."""

Rule = Literal[
    "name in scope",
    "import",
    "attribute",
    "attribute of self",
    "inherited",
    "super",
    "alias",
    "assigned value",
    "constructor",
    "fixture",
    "override",
    "same name",
]
"""Why an edge is there. The last three are never certain: a nearer fixture may have the same name, a method may
run in place of the one it overrides, and an attribute of an unknown value may be the definition of that name."""


ClassKey = tuple[str, str]
"""The path and qualified name of a class; an empty path and the name as written for one of another package."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a name: the targets of its binding, or why there are none."""

    targets: tuple[Target, ...]
    certain: bool
    """With targets: the binding was followed. Without: the name is bound elsewhere (another package, a builtin, or
    nowhere); when false its value is not known (a parameter, the result of a call)."""
    rule: Rule


ELSEWHERE = Meaning((), True, "import")
UNKNOWN = Meaning((), False, "same name")

OWN_NAMES = frozenset({"self", "cls", "super()"})
"""The names by which a method calls its own class, or an instance of it."""

_PLAIN_BASES = frozenset({"object", "ABC", "Generic", "Protocol"})
"""Bases of the standard library that add no member anybody calls."""

# Possessive, so that no signature takes more than linear time.
_ALIAS = re.compile(r"\w++(?:\s*+:[^=]*+)?\s*+=\s*+((?:[^\W\d]\w*+\.)*+[^\W\d]\w*+)")
_CONSTRUCTION = re.compile(r"[\w.]++(?:\s*+:[^=]*+)?\s*+=\s*+((?:[^\W\d]\w*+\.)*+[^\W\d]\w*+)\(.*\)")
_ANNOTATION = re.compile(
    r"[\w.]+\s*:\s*[\"']?(?:Optional\[)?((?:[^\W\d]\w*\.)*[^\W\d]\w*)(?:\s*\|\s*None)?\]?[\"']?\s*(?:=.*)?"
)


def resolve(snapshot: Snapshot, path: str, scope: str, dotted_name: str) -> Meaning:
    """Return the meaning of *dotted_name* in *scope* of the file *path*."""
    *_, last = resolve_steps(snapshot, path, scope, dotted_name)
    return last


def resolve_steps(snapshot: Snapshot, path: str, scope: str, dotted_name: str) -> Iterator[Meaning]:
    """Yield the meaning of the first part of *dotted_name*, then of the first two, and so on while they lead somewhere.

    The last answer is the one for the whole name.
    """
    head, *rest = dotted_name.split(".")
    if is_foreign(path):
        for n_parts in range(1, len(rest) + 2):
            yield _foreign(snapshot, path, scope, ".".join([head, *rest][:n_parts]))
        return
    owner = class_of(snapshot, path, scope, head) if head in OWN_NAMES else None
    found = _head(snapshot, path, scope, head, owner)
    yield found
    for name in rest:
        if owner is not None:
            found = _own_attribute(snapshot, owner, head, name)
            owner = None
        elif found.targets:
            found = _members(snapshot, found, name)
        else:
            return
        yield found


def class_of(snapshot: Snapshot, path: str, scope: str, own_name: str = "super()") -> Definition | None:
    """Return the class whose method *scope* is, or is nested in, if *own_name* means there what it means in
    the method.
    """
    facts = snapshot.files[path]
    method = method_of(facts, scope, own_name)
    return scope_definition(facts, method.scope) if method is not None else None


def method_of(facts: FileFacts, scope: str, own_name: str = "super()") -> Definition | None:
    """Return the method that *scope* is, or is nested in, unless a scope between the two binds *own_name* itself."""
    for outer in outwards(scope):
        definition = scope_definition(facts, outer)
        if definition is not None and definition.kind == "method":
            return definition
        if (outer, own_name) in facts.local_names:
            return None
    return None


def scope_definition(facts: FileFacts, scope: str) -> Definition | None:
    """Return the class or function whose body is *scope*."""
    outer, _, name = scope.rpartition(".")
    for definition in facts.definitions_by_name.get((outer, name), ()):
        if definition.kind != "variable":
            return definition
    return None


def holder_of(snapshot: Snapshot, definition: Definition) -> Definition | None:
    """Return the class or function that *definition* stands in; None in the module itself."""
    facts = snapshot.files.get(definition.path)
    return scope_definition(facts, definition.scope) if facts and definition.scope else None


def bases_of(snapshot: Snapshot, definition: Definition) -> tuple[Definition, ...]:
    """Return the classes of the repository that *definition* inherits from, in the order in which members are looked
    up.
    """
    return tuple(known for key in lineage(snapshot, _key(definition))[1:] if (known := _class(snapshot, key)))


def lineage(snapshot: Snapshot, start: ClassKey) -> tuple[ClassKey, ...]:
    """Return the method resolution order of a class, as keys, with the classes of other packages at their places."""
    # A dictionary that lives as long as the snapshot: it begins empty, and is filled here.
    known = snapshot.derived(_lineages, _lineages)
    if start not in known:
        known[start] = linearise(start, lambda key: direct_bases(snapshot, key))
    return known[start]


def direct_bases(snapshot: Snapshot, key: ClassKey) -> tuple[ClassKey, ...]:
    """Return the keys of a class's bases in the order of the source."""
    known = snapshot.derived(_direct_bases, _direct_bases)
    if key not in known:
        definition = _class(snapshot, key)
        known[key] = tuple(_base_keys(snapshot, definition)) if definition is not None else ()
    return known[key]


def resolve_own(
    snapshot: Snapshot, path: str, scope: str, dotted_name: str, *, n_aliases: int = 0, before: Position | None = None
) -> Meaning:
    """As `resolve`, but a class has only the members of its own body: what the search for bases can rely on.

    With *before*, as it is in the code of the module itself just before that place.
    """
    if is_foreign(path):
        return _foreign(snapshot, path, scope, dotted_name)
    head, *rest = dotted_name.split(".")
    found = _name(snapshot, snapshot.files[path], scope, head, before)
    for name in rest:
        if not found.targets:
            return found
        values = values_of(snapshot, found, n_aliases)
        found = _doubted(values, _united(_own_members(snapshot, target, name) for target in values.targets))
    return found


def values_of(snapshot: Snapshot, meaning: Meaning, n_aliases: int = 0) -> Meaning:
    """Return *meaning* with each variable that only renames something (``Base = other.Base``) replaced by
    that thing.
    """
    if not any(isinstance(target, Definition) and target.kind == "variable" for target in meaning.targets):
        return meaning
    followed = [_followed(snapshot, target, n_aliases) for target in meaning.targets]
    if all(len(found) == 1 and found[0] is target for found, target in zip(followed, meaning.targets, strict=True)):
        return meaning
    # What a class body assigns, an object or a subclass may assign anew.
    is_fixed = not any(isinstance(t, Definition) and t.kind == "variable" and t.scope for t in meaning.targets)
    return Meaning(tuple(target for found in followed for target in found), meaning.certain and is_fixed, "alias")


def _followed(snapshot: Snapshot, target: Target, n_aliases: int) -> tuple[Target, ...]:
    if not isinstance(target, Definition) or target.kind != "variable" or n_aliases >= MAX_ALIASES:
        return (target,)
    alias = _ALIAS.fullmatch(target.signature)
    if alias is None or alias[1] == target.name:
        return (target,)
    found = resolve_own(snapshot, target.path, target.scope, alias[1], n_aliases=n_aliases + 1)
    return values_of(snapshot, found, n_aliases + 1).targets or (target,)


def outwards(scope: str) -> Iterator[str]:
    """Yield *scope* and the scopes around it, down to the module, which is empty."""
    while scope:
        yield scope
        scope = scope.rpartition(".")[0]
    yield ""


def _foreign(snapshot: Snapshot, path: str, scope: str, dotted_name: str) -> Meaning:
    found = foreign_meaning(snapshot, path, scope, dotted_name)
    return Meaning(found.definitions, found.certain, found.rule)


def _lineages(_snapshot: Snapshot) -> dict[ClassKey, tuple[ClassKey, ...]]:
    return {}


def _direct_bases(_snapshot: Snapshot) -> dict[ClassKey, tuple[ClassKey, ...]]:
    return {}


def _key(definition: Definition) -> ClassKey:
    return definition.path, definition.qualified_name


def _class(snapshot: Snapshot, key: ClassKey) -> Definition | None:
    facts = snapshot.files.get(key[0])
    found = scope_definition(facts, key[1]) if facts is not None else None
    return found if found is not None and found.kind == "class" else None


def _base_keys(snapshot: Snapshot, definition: Definition) -> Iterable[ClassKey]:
    keys: dict[ClassKey, None] = {}
    for base in definition.bases:
        place = definition.span.start
        # In `class Cart(Cart)` the base is what the name meant before the class.
        meaning = values_of(snapshot, resolve_own(snapshot, definition.path, definition.scope, base, before=place))
        classes = [_key(t) for t in meaning.targets if isinstance(t, Definition) and t.kind == "class"]
        if not classes and base.rpartition(".")[2] not in _PLAIN_BASES:
            classes.append(("", base))
        keys.update(dict.fromkeys(classes))
    # In `class Cart(Cart)` both have the same key: the class would be its own base.
    keys.pop(_key(definition), None)
    return keys


def _head(snapshot: Snapshot, path: str, scope: str, head: str, owner: Definition | None) -> Meaning:
    if owner is not None:
        if head != "super()":
            return Meaning((owner,), True, "attribute of self")
        bases = tuple(base for key in direct_bases(snapshot, _key(owner)) if (base := _class(snapshot, key)))
        return Meaning(bases, bool(bases), "super")
    return UNKNOWN if head in {"?", "super()"} else _name(snapshot, snapshot.files[path], scope, head)


def _own_attribute(snapshot: Snapshot, owner: Definition, own_name: str, name: str) -> Meaning:
    """Return the meaning of ``self.name``, or ``super().name``, in a method of *owner*."""
    if own_name == "super()":
        found = _inherited(snapshot, owner, name)
        return replace(found, rule="super") if found.targets else found
    found = _own_members(snapshot, owner, name)
    return replace(found, rule="attribute of self") if found.targets else _inherited(snapshot, owner, name)


def _name(snapshot: Snapshot, facts: FileFacts, scope: str, name: str, before: Position | None = None) -> Meaning:
    for outer in outwards(scope):
        if outer != scope and outer:
            definition = scope_definition(facts, outer)
            if definition is not None and definition.kind == "class":
                continue  # a method does not see the names of its class
        if (outer, name) in facts.local_names:
            return UNKNOWN
        if (found := _bound(snapshot, facts, outer, name, before)) is not None:
            return found
    return _through_stars(snapshot, facts, name)


def _bound(
    snapshot: Snapshot, facts: FileFacts, scope: str, name: str, before: Position | None = None
) -> Meaning | None:
    """Return the meaning of *name* by its definitions and imports in *scope*; None if there are none."""
    definitions = facts.definitions_by_name.get((scope, name), ())
    imports = facts.imports_by_name.get((scope, name), ())
    if not imports:
        return Meaning(definitions, True, "name in scope") if definitions else None
    if before is not None and not scope:
        definitions, imports = in_force(definitions, imports, before)
    found: list[Target] = list(definitions)
    for imported in imports:
        if imported.name is None:
            found.extend(imported_module(snapshot, facts, imported))
        else:
            found.extend(import_targets(snapshot, facts.path, imported))
    if not found:
        siblings = [target for imported in imports for target in sibling_targets(snapshot, facts.path, imported)]
        # An import without any target here is certainly bound outside the repository; a neighbour is only a guess.
        return Meaning(tuple(siblings), not siblings, "import")
    return Meaning(tuple(dict.fromkeys(found)), True, "name in scope" if definitions else "import")


def _through_stars(snapshot: Snapshot, facts: FileFacts, name: str) -> Meaning:
    locations = star_sources(snapshot, facts)
    if not locations:
        return ELSEWHERE
    inside = [location for location in locations if location is not None and offers(snapshot, location, name)]
    found = module_members(snapshot, [(location, name) for location in inside])
    if found:
        return Meaning(found, True, "import")
    return UNKNOWN if None in locations else ELSEWHERE


def _members(snapshot: Snapshot, meaning: Meaning, name: str) -> Meaning:
    values = values_of(snapshot, meaning)
    return _doubted(values, _united(_member(snapshot, target, name) for target in values.targets))


def _doubted(holders: Meaning, found: Meaning) -> Meaning:
    """Return *found*, made no more certain than *holders*, whose attribute it is."""
    return found if holders.certain or not found.targets else replace(found, certain=False)


def _member(snapshot: Snapshot, target: Target, name: str) -> Meaning:
    if isinstance(target, Definition) and target.kind == "variable":
        return _member_of_value(snapshot, target, name)
    own = _own_members(snapshot, target, name)
    if own.targets or not isinstance(target, Definition) or target.kind != "class":
        return own
    return _inherited(snapshot, target, name)


def _member_of_value(snapshot: Snapshot, variable: Definition, name: str) -> Meaning:
    """Return a member of the class of *variable*, by its annotation or first value: likely, never certain."""
    stated = _ANNOTATION.fullmatch(variable.signature) or _CONSTRUCTION.fullmatch(variable.signature)
    if stated is None:
        return UNKNOWN
    found = values_of(snapshot, resolve_own(snapshot, variable.path, variable.scope, stated[1]))
    classes = [target for target in found.targets if isinstance(target, Definition) and target.kind == "class"]
    members = [
        member
        for each in classes
        if (member := _united([_own_members(snapshot, each, name)])).targets
        or (member := _inherited(snapshot, each, name)).targets
    ]
    targets = tuple(target for member in members for target in member.targets)
    return Meaning(targets, False, "assigned value") if targets else UNKNOWN


def _own_members(snapshot: Snapshot, target: Target, name: str) -> Meaning:
    if isinstance(target, Module):
        found = module_members(snapshot, [(target.location, name)])
        return Meaning(found, True, "import") if found else ELSEWHERE
    if target.kind != "class":
        return UNKNOWN
    found = _bound(snapshot, snapshot.files[target.path], target.qualified_name, name)
    return replace(found, rule="attribute") if found is not None and found.targets else UNKNOWN


def _inherited(snapshot: Snapshot, definition: Definition, name: str) -> Meaning:
    """Return the member of the nearest base that has it; not certain behind a base of another package."""
    certain = True
    for key in lineage(snapshot, _key(definition))[1:]:
        base = _class(snapshot, key)
        if base is None:
            certain = False
        elif (found := _own_members(snapshot, base, name)).targets:
            return Meaning(found.targets, certain, "inherited")
    return UNKNOWN


def _united(answers: Iterable[Meaning]) -> Meaning:
    """Return all targets of several answers; where there are none, unknown if any answer is unknown, else elsewhere."""
    all_answers = list(answers)
    if len(all_answers) == 1:
        return all_answers[0]
    leading = [answer for answer in all_answers if answer.targets]
    if not leading:
        return ELSEWHERE if all_answers and all(answer.certain for answer in all_answers) else UNKNOWN
    targets = dict.fromkeys(target for answer in leading for target in answer.targets)
    return Meaning(tuple(targets), all(answer.certain for answer in leading), leading[0].rule)
