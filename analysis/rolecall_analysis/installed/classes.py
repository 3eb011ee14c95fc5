"""The members of classes, through all of their bases, and whether a class may have others that no text shows."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass

from rolecall_analysis.installed.world import MISSING, UNCLEAR, Held, World
from rolecall_analysis.queries.arguments.parameters import class_header
from rolecall_analysis.resolution.lineage import linearise
from rolecall_analysis.resolution.names import scope_definition
from rolecall_analysis.values import Definition, FileFacts

ClassPlace = tuple[str, str]
"""The path and the qualified name of a class; an empty path for a class of Python's own, `UNKNOWN_BASE` for others."""

UNKNOWN_BASE = "?"

_SPECIAL_BASES: dict[str, tuple[str, frozenset[str]]] = {
    "NamedTuple": ("tuple", frozenset({"_asdict", "_field_defaults", "_fields", "_make", "_replace"})),
    "TypedDict": ("dict", frozenset[str]()),
}
_PLAIN_METACLASSES = frozenset({"ABCMeta", "type", "EnumMeta", "EnumType"})
# `ABCMeta` gives this to its classes.
_METACLASS_MEMBERS = frozenset({"register"})
_PLAIN_DECORATORS = frozenset(
    {
        *("dataclass", "final", "total_ordering", "runtime_checkable", "unique", "verify"),
        *("define", "frozen", "mutable", "attrs", "s", "attributes", "dataclass_transform", "disjoint_base"),
    }
)
"""Decorators of classes that add no member but special ones, by the last part of their names."""

_ALIAS = re.compile(r"\w++(?:\s*+:[^=]*+)?\s*+=\s*+((?:[^\W\d]\w*+\.)*+[^\W\d]\w*+)")
_OPEN_CLASS = re.compile(
    r"\bsetattr\s*\(\s*(?:self|cls|type\(|klass|new|obj|result|instance|other)\b|\bdef __getattr(?:ibute)?__"
    r"|__dict__\s*(?:\.update|\.setdefault|\[[^\]\n]{0,100}+\]\s*=|\|?=(?!=))"
    r"|\bvars\s*\(\s*(?:self|cls)?\s*\)|\blocals\s*\(|\bexec\s*\(|\b__getattr__\s*="
)
"""Text of a class that may have members which no statement names."""

_RESTORED = frozenset({"__setstate__", "__copy__", "__deepcopy__"})
"""Methods that set what other methods have set before."""

_SET_FROM_OUTSIDE = r"\bsetattr\s*\(\s*{name}\b|\b{name}\.\w++\s*=[^=]"


@dataclass(frozen=True, slots=True)
class Lineage:
    """A class and its bases in the order in which members are looked up."""

    classes: tuple[tuple[FileFacts, Definition], ...]
    builtin: tuple[str, ...]
    """The names of those that are Python's own."""
    is_known: bool
    """All bases are there."""
    is_whole: bool
    """They are, and none may have members that cannot be read off."""


def class_member(world: World, definition: Definition, name: str) -> Held:
    """Return what the class *definition*, or an object of it, has under *name*."""
    key = "member", definition.path, definition.qualified_name, name
    return world.derived(key, lambda: _class_member(world, definition, name))


def _class_member(world: World, definition: Definition, name: str) -> Held:
    found = lineage_of(world, definition)
    for facts, each in found.classes:
        module = world.module_at(each.path)
        held = world.bound(module, facts, each.qualified_name, name)
        if held is not None:
            return held
    if any(_builtin_has(one, name) for one in found.builtin) or hasattr(object, name) or hasattr(type, name):
        return UNCLEAR
    if name in _METACLASS_MEMBERS and any("metaclass" in one.signature for _, one in found.classes):
        return UNCLEAR
    return MISSING if found.is_whole and not _is_slot(world, found, name) else UNCLEAR


def lineage_of(world: World, definition: Definition) -> Lineage:
    """Return the lineage of the class *definition*."""
    key = "lineage", definition.path, definition.qualified_name
    return world.derived(key, lambda: _lineage_of(world, definition))


def _lineage_of(world: World, definition: Definition) -> Lineage:
    start = definition.path, definition.qualified_name
    order = linearise(start, lambda place: _bases(world, place))
    known = [(world.facts(path), one) for path, name in order if path and (one := _class(world, path, name))]
    builtin = tuple(name for path, name in order if not path and name != UNKNOWN_BASE)
    is_known = ("", UNKNOWN_BASE) not in order
    is_whole = is_known and all(_is_closed(world, facts, each) for facts, each in known)
    return Lineage(tuple(known), builtin, is_known, is_whole)


def members_of(world: World, definition: Definition) -> dict[str, Definition]:
    """Return the public members that can be read off the class *definition* and its bases, nearest first."""
    found: dict[str, Definition] = {}
    for facts, each in lineage_of(world, definition).classes:
        for one in facts.definitions:
            if one.scope == each.qualified_name and not one.name.startswith("_"):
                found.setdefault(one.name, one)
    return found


def followed(world: World, held: Held, n_aliases: int = 0) -> Held:
    """Return *held* with each variable that only renames something replaced by that thing."""
    things = [
        followed(world, world.resolve(world.module_at(one.path), one.scope, alias[1]), n_aliases + 1)
        if isinstance(one, Definition)
        and one.kind == "variable"
        and n_aliases < 8
        and (alias := _ALIAS.fullmatch(one.signature)) is not None
        and alias[1] != one.name
        else Held((one,))
        for one in held.things
    ]
    return Held(tuple(each for one in things for each in one.things), held.is_all and all(o.is_all for o in things))


def _class(world: World, path: str, name: str) -> Definition | None:
    found = scope_definition(world.facts(path), name)
    return found if found is not None and found.kind == "class" else None


def _bases(world: World, place: ClassPlace) -> tuple[ClassPlace, ...]:
    path, name = place
    definition = _class(world, path, name) if path else None
    if definition is None:
        return ()
    module = world.module_at(path)
    return tuple(dict.fromkeys(key for base in definition.bases for key in _base(world, module, definition, base)))


def _base(world: World, module: object, definition: Definition, base: str) -> Iterator[ClassPlace]:
    held = followed(world, world.resolve(world.module_at(definition.path), definition.scope, base))
    classes = [one for one in held.things if isinstance(one, Definition) and one.kind == "class"]
    last = base.rpartition(".")[2]
    if last in _SPECIAL_BASES:
        yield "", last
    elif classes and len(classes) == len(held.things) and held.is_all:
        yield from ((one.path, one.qualified_name) for one in classes)
    elif "." not in base and not held.things and isinstance(vars(builtins).get(base), type):
        yield "", base
    else:
        yield "", UNKNOWN_BASE


def _builtin_has(base: str, name: str) -> bool:
    special, names = _SPECIAL_BASES.get(base, (base, frozenset[str]()))
    return name in names or hasattr(vars(builtins)[special], name)


def _is_closed(world: World, facts: FileFacts, definition: Definition) -> bool:
    """Return whether all members of the class show in its body and its methods."""
    key = "closed", definition.path, definition.qualified_name
    return world.derived(key, lambda: _shows_all(world, facts, definition))


def _shows_all(world: World, facts: FileFacts, definition: Definition) -> bool:
    # A class that is defined twice, as under `if` and `else`, may be either of the two.
    if not world.is_judged(definition.path) or len(_classes_named(facts, definition)) > 1:
        return False
    header = class_header(definition.signature)
    if header is None or header.n_bases != len(definition.bases):
        return False
    if any(key != "metaclass" or value.rpartition(".")[2] not in _PLAIN_METACLASSES for key, value in header.keywords):
        return False
    if any(one.partition("(")[0].rpartition(".")[2] not in _PLAIN_DECORATORS for one in definition.decorators):
        return False
    outside = re.compile(_SET_FROM_OUTSIDE.format(name=re.escape(definition.name)))
    body = _without_restoring(world, facts, definition)
    return _OPEN_CLASS.search(body) is None and outside.search(world.text(definition.path)) is None


def _without_restoring(world: World, facts: FileFacts, definition: Definition) -> str:
    body = world.text_of(definition)
    for name in _RESTORED:
        for one in facts.definitions_by_name.get((definition.qualified_name, name), ()):
            body = body.replace(world.text_of(one), "")
    return body


def _classes_named(facts: FileFacts, definition: Definition) -> tuple[Definition, ...]:
    return facts.definitions_by_name.get((definition.scope, definition.name), ())


def _is_slot(world: World, lineage: Lineage, name: str) -> bool:
    """Return whether a string in the body of one of the classes says *name*, as slots do and lists of fields."""
    quoted = re.compile(rf"[\"'\s]{re.escape(name)}[\"'\s]")
    return any(
        "__slots__" in (text := world.text_of(one)) and quoted.search(text) is not None for _, one in lineage.classes
    )
