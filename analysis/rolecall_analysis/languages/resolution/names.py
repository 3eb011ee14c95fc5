"""The meaning of a name in languages other than Python: by nesting and imports where these are followed, else by name.

The only types known are those that parameters and fields are declared with. A member of any other value may be
every member of that name: those whose type the file mentions, and only without such the others.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from rolecall_analysis.languages.resolution.code import (
    ELSEWHERE,
    MAX_FOLLOWED,
    SUPER,
    TYPE_KINDS,
    UNKNOWN,
    Found,
    LinkRule,
    NamePlace,
    OtherCode,
    OtherMeaning,
    meaning_of,
    outwards,
    with_doubt,
)
from rolecall_analysis.languages.resolution.imports import imported_files
from rolecall_analysis.languages.resolution.other_files import (
    by_name,
    exported_as,
    from_outside,
    in_package,
    included,
    is_inline,
    is_seen,
    namespace,
    spaces,
    through_stars,
)
from rolecall_analysis.languages.table import family_of
from rolecall_analysis.values import Definition, Import

_CODE_KINDS = frozenset({"function", "method", "module"})
_SEES_MEMBERS = frozenset({"java", "csharp", "c", "ruby"})
"""Families in which a name alone can be a member of the type around it."""
_GLOBAL_NAMES = frozenset({"csharp", "php", "ruby", "c"})
"""Families in which a qualified name means the same in every file."""
_NO_GLOBALS = frozenset({"go", "rust", "javascript"})
"""Families in which a variable of another file has to be imported."""
_OWN: Mapping[str, frozenset[str]] = {
    "javascript": frozenset({"this"}),
    "java": frozenset({"this"}),
    "csharp": frozenset({"this"}),
    "c": frozenset({"this"}),
    "php": frozenset({"$this", "self", "static"}),
    "ruby": frozenset({"self"}),
    "rust": frozenset({"self", "Self"}),
}
_RECEIVER = re.compile(r"func \((\w+)\s")


def targets(code: OtherCode, path: str, scope: str, name: str) -> OtherMeaning:
    """Return the meaning of the dotted *name* in *scope* of the file *path*, which is not Python."""
    place = NamePlace(code, path, family_of(path))
    head, *rest = name.split(".")
    if not rest and head in SUPER:
        return meaning_of(_super_call(place, scope))
    if place.family in _GLOBAL_NAMES and (found := _qualified(place, scope, [head, *rest])) is not None:
        return meaning_of(found)
    found = _head(place, scope, head, is_member=bool(rest))
    if found is None and _is_foreign(place, scope, head, is_member=bool(rest)):
        return ELSEWHERE
    for member in rest:
        if found is None or not (found.definitions or found.files):
            break
        found = _member(place, found, member)
    if found is not None and found.files and place.family == "javascript":
        # `const total = require("./total")`, then `total()`: a module as a value is what it exports by default.
        found = exported_as(place, found.files, "default")
        if found is None:
            return UNKNOWN
    if found is None:
        return by_name(place, scope, name.rpartition(".")[2], is_member=bool(rest))
    return meaning_of(found)


def _is_foreign(place: NamePlace, scope: str, head: str, *, is_member: bool) -> bool:
    """Return whether a name that nothing here binds can only be of another package, or of the language."""
    if head in {"?", *SUPER} or head in _OWN.get(place.family, ()):
        return False
    if any((outer, head) in place.facts.local_names for outer in outwards(scope)):
        return False
    return place.family == "go" or (is_member and (place.family in _NO_GLOBALS or head[:1].isupper()))


def _head(place: NamePlace, scope: str, head: str, *, is_member: bool) -> Found | None:
    """Return the binding of the first part of a name; None if its value is not known. A parameter is told by its type,
    if that is what the next part, *is_member*, is looked for in.
    """
    if head == "?":
        return None
    if head in _OWN.get(place.family, ()) or _is_receiver(place, scope, head):
        owners = _owner(place, scope)
        return Found(owners, rule="attribute of self") if owners else None
    if head in SUPER:
        bases = tuple(base for owner in _owner(place, scope) for base in _bases(place, owner))
        return Found(bases, rule="super") if bases else None
    for outer in outwards(scope):
        if (outer, head) in place.facts.local_names:
            return _parameter(place, outer, head) if is_member else None
        found = _bound_in(place, outer, head)
        if found is not None:
            return found
    return in_package(place, scope, head) or through_stars(place, head)


def _bound_in(place: NamePlace, outer: str, head: str) -> Found | None:
    """Return the binding of *head* in exactly the scope *outer*; ``None`` if there is none."""
    owners = _types(place, outer) if outer and place.family in _SEES_MEMBERS else ()
    if owners:
        return next((found for owner in owners if (found := _type_member(place, owner, head)) is not None), None)
    return _plain_binding(place, outer, head) if not outer or _is_code(place, outer) else None


def _parameter(place: NamePlace, scope: str, name: str) -> Found | None:
    """Return the declared type of the parameter *name* of the function *scope*; its members are meant then.

    Nothing is found, instead of None, if that type is imported from another package.
    """
    holder, _, function = scope.rpartition(".")
    for one in place.facts.definitions_by_name.get((holder, function), ()):
        types = _declared_types(place, one, name)
        if types:
            return Found(types, rule="attribute")
        outside = _plain_binding(place, "", declared_type(one.signature, name, place.family).partition(".")[0])
        if outside is not None and not outside.definitions and not outside.files:
            return outside
    return None


def _declared_types(place: NamePlace, definition: Definition, name: str) -> tuple[Definition, ...]:
    written = declared_type(definition.signature, name, place.family)
    found = _written(place, definition.scope, written) if written else ()
    return tuple(one for one in found if one.kind in TYPE_KINDS)


def _is_code(place: NamePlace, outer: str) -> bool:
    """Return whether *outer* is a function or a namespace: the names of an object or a type are not seen
    inside of it.
    """
    holder, _, name = outer.rpartition(".")
    found = place.facts.definitions_by_name.get((holder, name), ())
    return any(one.kind in _CODE_KINDS for one in found) or (not found and place.family in _SEES_MEMBERS)


def _is_receiver(place: NamePlace, scope: str, head: str) -> bool:
    if place.family != "go":
        return False
    holder, _, name = scope.rpartition(".")
    methods = place.facts.definitions_by_name.get((holder, name), ())
    return any((found := _RECEIVER.match(one.signature)) and found[1] == head for one in methods)


# Types and their members


def _owner(place: NamePlace, scope: str) -> tuple[Definition, ...]:
    """Return the type in which *scope* lies."""
    return next((owners for outer in outwards(scope) if outer and (owners := _types(place, outer))), ())


def _types(place: NamePlace, qualified_name: str) -> tuple[Definition, ...]:
    """Return the types of that name that *place* sees without an import, its own file's first."""
    holder, _, name = qualified_name.rpartition(".")
    own = [one for one in place.facts.definitions_by_name.get((holder, name), ()) if one.kind in TYPE_KINDS]
    if own:
        return tuple(own)
    found = place.code.called(qualified_name)
    return tuple(one for one in found if one.kind in TYPE_KINDS and _is_near(place, one, qualified_name))


def _is_near(place: NamePlace, definition: Definition, holder: str) -> bool:
    """Return whether a definition in, or of, the type or namespace *holder* belongs to the one of that name
    seen here.
    """
    if family_of(definition.path) != place.family:
        return False
    if definition.path == place.path or place.family in _GLOBAL_NAMES:
        return True
    # An `impl` may stand in any file of the crate: it is for this type, if no other has the name.
    if place.family == "rust":
        same = place.code.called(holder)
        return sum(one.kind in TYPE_KINDS and family_of(one.path) == "rust" for one in same) <= 1
    return place.family == "go" and posixpath.dirname(definition.path) == posixpath.dirname(place.path)


def _type_member(place: NamePlace, owner: Definition, name: str) -> Found | None:
    """Return a member of a type or of its bases; None if it may have one that is not seen."""
    seen: dict[Definition, None] = {}
    waiting = [owner]
    while waiting and len(seen) < MAX_FOLLOWED:
        current = waiting.pop(0)
        if current in seen:
            continue
        seen[current] = None
        home = place.at(current.path)
        own = home.facts.definitions_by_name.get((current.qualified_name, name), ())
        # Members may stand in other files: of a partial class, an `impl`, a method with a receiver.
        other = place.code.called(f"{current.qualified_name}.{name}")
        found = dict.fromkeys((*own, *(one for one in other if _is_near(home, one, current.qualified_name))))
        if found:
            return Found(tuple(found), rule="attribute of self" if current is owner else "inherited")
        waiting.extend(_bases(home, current))
    return None


def _bases(place: NamePlace, definition: Definition) -> tuple[Definition, ...]:
    home = place.at(definition.path)
    found: list[Definition] = []
    for base in definition.bases:
        meaning = _written(home, definition.scope, base)
        found.extend(one for one in meaning if one.kind in TYPE_KINDS | {"module"} and one != definition)
    return tuple(dict.fromkeys(found))


def _written(place: NamePlace, scope: str, name: str) -> tuple[Definition, ...]:
    """Return the definitions that a dotted name of a type leads to, without a look at inherited members."""
    parts = name.split(".")
    if place.family in _GLOBAL_NAMES:
        found = _qualified(place, scope, parts)
        if found is not None:
            return found.definitions
    head = next((one for outer in outwards(scope) if (one := _plain_binding(place, outer, parts[0])) is not None), None)
    found = head or in_package(place, scope, parts[0]) or through_stars(place, parts[0])
    for part in parts[1:]:
        found = _member(place, found, part) if found is not None else None
    return found.definitions if found is not None else ()


def _plain_binding(place: NamePlace, outer: str, head: str) -> Found | None:
    definitions = place.facts.definitions_by_name.get((outer, head), ())
    if definitions:
        return Found(definitions)
    imports = place.facts.imports_by_name.get((outer, head), ())
    return next((found for one in imports if (found := _imported(place, one)) is not None), None)


def _member(place: NamePlace, found: Found, name: str) -> Found | None:
    """Return a member of what a name is bound to; None if that is a value of unknown type."""
    if found.files:
        exported = exported_as(place, found.files, name)
        return with_doubt(exported, found) if exported is not None else Found(certain=found.certain, rule="import")
    for definition in found.definitions:
        home = place.at(definition.path)
        if definition.kind == "module":
            inside = place.code.called(f"{definition.qualified_name}.{name}")
            member = Found(tuple(one for one in inside if _is_near(home, one, definition.qualified_name)))
        elif definition.kind in TYPE_KINDS:
            member = _type_member(place, definition, name)
        else:
            member = _value_member(home, definition, name)
        if member is not None and member.definitions:
            return Found(
                member.definitions, (), found.certain and member.certain, _member_rule(found, definition, member)
            )
    return None


def _member_rule(found: Found, definition: Definition, member: Found) -> LinkRule:
    if found.rule == "super":
        return "super"
    is_of_self = found.rule == "attribute of self" and definition.kind in TYPE_KINDS
    return member.rule if is_of_self or member.rule == "inherited" else "attribute"


def _value_member(place: NamePlace, definition: Definition, name: str) -> Found | None:
    """Return a function in the object that a variable holds, or a member of the type it is declared with."""
    found = place.facts.definitions_by_name.get((definition.qualified_name, name), ())
    if found or definition.kind != "variable":
        return Found(found) if found else None
    types = _declared_types(place, definition, definition.name)
    members = (_type_member(place, one, name) for one in types if one != definition)
    return next((one for one in members if one is not None), None)


def _super_call(place: NamePlace, scope: str) -> Found | None:
    """``super(...)``: the constructor of the base, or in Ruby the method that is overridden."""
    owners = _owner(place, scope)
    bases = [base for owner in owners for base in _bases(place, owner)]
    method = scope.rpartition(".")[2]
    for base in bases:
        for name in (method,) if place.family == "ruby" else ("constructor", base.name):
            found = _type_member(place, base, name)
            if found is not None:
                return Found(found.definitions, rule="super")
    return Found(tuple(bases), rule="super") if bases and place.family != "ruby" else None


# Imports


def _imported(place: NamePlace, imported: Import) -> Found | None:
    """Return the binding that an import makes."""
    if place.family == "rust" and imported.module.split("::")[0] == "super" and is_inline(place, imported.scope):
        imported = from_outside(imported)
    if place.family in {"php", "csharp"} and imported.name not in {None, "*"}:
        whole = f"{imported.module}.{imported.name}".replace("\\", ".").strip(".")
        found = [one for one in place.code.called(whole) if family_of(one.path) == place.family]
        return Found(tuple(found), rule="import")
    files = imported_files(place.code.project, place.path, imported)
    if imported.name is None or imported.name == "*":
        return Found((), files.paths, files.certain, "import")
    if place.family == "rust" and any(_is_module_file(path, imported.name) for path in files.paths):
        return Found((), files.paths, files.certain, "import")
    exported = exported_as(place, files.paths, imported.name)
    if exported is None and place.family == "java":
        exported = _static_member(place, files.paths, imported)
    if exported is None:
        return Found(rule="import") if not files.paths else None
    return Found(exported.definitions, exported.files, exported.certain and files.certain, "import")


def _is_module_file(path: str, name: str) -> bool:
    return path.endswith((f"/{name}.rs", f"/{name}/mod.rs")) or path in {f"{name}.rs", f"{name}/mod.rs"}


def _static_member(place: NamePlace, paths: Iterable[str], imported: Import) -> Found | None:
    # `import static shop.Price.total`: the last part of what looks like a package is a type.
    name = imported.module.rpartition(".")[2]
    for path in paths:
        for one in place.code.files[path].definitions if path in place.code.files else ():
            if one.name == name and one.kind in TYPE_KINDS:
                return _type_member(place.at(path), one, imported.name or "")
    return None


def _qualified(place: NamePlace, scope: str, parts: list[str]) -> Found | None:
    """Return what a name means that is qualified by namespaces, in languages where these are the same in every file."""
    facts = place.facts
    head = parts[0]
    if any((outer, head) in facts.local_names for outer in outwards(scope)) or head in {"?", *SUPER}:
        return None
    if place.family == "php" and (head.startswith("$") or facts.imports_by_name.get((namespace(place, scope), head))):
        return None
    for n in range(len(parts), 0, -1):
        name = ".".join(parts[:n])
        for outer in (*spaces(place, scope), ""):
            known = place.code.called(f"{outer}.{name}" if outer else name)
            found = tuple(one for one in known if family_of(one.path) == place.family and is_seen(place, one))
            if not found or (place.family == "c" and not any(one.path in included(place) for one in found)):
                continue
            bound: Found | None = Found(found)
            for part in parts[n:]:
                bound = _member(place, bound, part) if bound is not None else None
            if bound is not None and bound.definitions:
                return bound
    return None


_AFTER_THE_NAME = r"\b{name}\??\s*:\s*&?\s*(?:'\w+\s+)?(?:mut\s+)?([A-Za-z_][\w.:]*)(?![\w.:]|\s*[\[|&])"
_AFTER_A_BLANK = r"\b{name}(?:,\s*\w+)*\s+\*?([A-Za-z_][\w.]*)(?![\w.])"
_BEFORE_THE_NAME = r"([A-Za-z_\\][\w.:\\]*)(?:<[^()]*>)?(?:\s*[*&]\s*|\s)(?:const\s+)?\$?{name}(?![\w(<\[.:])"
_PATTERNS = {
    "javascript": _AFTER_THE_NAME,
    "rust": _AFTER_THE_NAME,
    "go": _AFTER_A_BLANK,
    "java": _BEFORE_THE_NAME,
    "csharp": _BEFORE_THE_NAME,
    "c": _BEFORE_THE_NAME,
    "php": _BEFORE_THE_NAME,
}


def declared_type(signature: str, name: str, family: str) -> str:
    """Return the dotted name of the type that *signature* gives *name*; empty without one, or for a list of
    some type.
    """
    pattern = _PATTERNS.get(family)
    found = _compiled(pattern, name.lstrip("$")).search(signature) if pattern is not None else None
    return re.sub(r"::|\\", ".", found[1]).strip(".") if found is not None else ""


@lru_cache(maxsize=4096)
def _compiled(pattern: str, name: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("{name}", re.escape(name)))
