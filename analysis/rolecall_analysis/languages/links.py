"""What a name means in languages other than Python: by nesting and imports where these are followed, else by name.

The only types known are those that parameters and fields are declared with. A member of any other value may be
every member of that name: those whose type the file mentions, and only without such the others.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from rolecall_analysis.languages.declared import declared_type
from rolecall_analysis.languages.imports import ImportedFiles, Project, imported_files
from rolecall_analysis.languages.table import family_of
from rolecall_analysis.values import Definition, FileFacts, Import

LinkRule = Literal["name in scope", "import", "attribute", "attribute of self", "inherited", "super", "same name"]
"""As the rules of `rolecall_analysis.resolve`. Only the last is never certain."""

MAX_FOLLOWED = 200
"""Files, bases or re-exports that are followed for one name."""
MAX_SAME_NAME = 200
"""Definitions that only have the right name; more tell nothing."""

_TYPE_KINDS = frozenset({"class", "interface", "type"})
_CODE_KINDS = frozenset({"function", "method", "module"})
_HOLDER_KINDS = _TYPE_KINDS | {"module"}
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
_SUPER = frozenset({"super", "base", "parent"})
_RECEIVER = re.compile(r"func \((\w+)\s")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name stands for."""

    definitions: tuple[Definition, ...]
    certain: bool
    """With definitions: the binding was followed. Without: the name is bound outside of the repository, or nowhere;
    when false its value is not known."""
    rule: LinkRule


_ELSEWHERE = Meaning((), True, "import")
_UNKNOWN = Meaning((), False, "same name")


@dataclass(frozen=True, slots=True)
class _Found:
    """What a name is bound to: definitions, or whole files."""

    definitions: tuple[Definition, ...] = ()
    files: tuple[str, ...] = ()
    certain: bool = True
    rule: LinkRule = "name in scope"


@dataclass(frozen=True)
class Code:
    """The files of a repository in other languages than Python, and how their names are looked up."""

    files: Mapping[str, FileFacts]
    """May hold Python files and notebooks; they are not looked at."""
    project: Project
    mentioning: Callable[[str], Iterable[str]]
    included: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """What each file asked about so far imports, directly or not; kept, because it is asked for each of its names."""
    _named: dict[str, tuple[Definition, ...]] = field(default_factory=dict[str, tuple[Definition, ...]])

    def named(self, name: str) -> tuple[Definition, ...]:
        """Every definition of that name, by path."""
        if name not in self._named:
            paths = sorted(path for path in self.mentioning(name) if family_of(path))
            self._named[name] = tuple(one for path in paths for one in self.files[path].definitions if one.name == name)
        return self._named[name]

    def called(self, qualified_name: str) -> tuple[Definition, ...]:
        """Every definition of that qualified name, by path."""
        found = self.named(qualified_name.rpartition(".")[2])
        return tuple(one for one in found if one.qualified_name == qualified_name)


def code_of(
    files: Mapping[str, FileFacts],
    text: Callable[[str], str | None],
    mentioning: Callable[[str], Iterable[str]] | None = None,
) -> Code:
    """The code in *files*; *text* gives the content of any file of the repository, or None.

    *mentioning* gives the paths of the files in which an identifier occurs; without it all are searched.
    """

    def search(name: str) -> Iterable[str]:
        return (path for path, facts in files.items() if name in facts.names)

    return Code(files, Project(frozenset(files), text), mentioning or search)


def targets(code: Code, path: str, scope: str, name: str) -> Meaning:
    """What the dotted *name* means in *scope* of the file *path*, which is not Python."""
    place = _Place(code, path, family_of(path))
    head, *rest = name.split(".")
    if not rest and head in _SUPER:
        return _meaning(_super_call(place, scope))
    if place.family in _GLOBAL_NAMES and (found := _qualified(place, scope, [head, *rest])) is not None:
        return _meaning(found)
    found = _head(place, scope, head, is_member=bool(rest))
    if found is None and _is_foreign(place, scope, head, is_member=bool(rest)):
        return _ELSEWHERE
    for member in rest:
        if found is None or not (found.definitions or found.files):
            break
        found = _member(place, found, member)
    if found is not None and found.files and place.family == "javascript":
        found = _exported(place, found.files, "default")
        if found is None:
            return _UNKNOWN
    if found is None:
        return _by_name(place, scope, name.rpartition(".")[2], is_member=bool(rest))
    return _meaning(found)


def _is_foreign(place: _Place, scope: str, head: str, *, is_member: bool) -> bool:
    """Whether a name that nothing here binds can only be of another package, or of the language."""
    if head in {"?", *_SUPER} or head in _OWN.get(place.family, ()):
        return False
    if any((outer, head) in place.facts.local_names for outer in _outwards(scope)):
        return False
    return place.family == "go" or (is_member and (place.family in _NO_GLOBALS or head[:1].isupper()))


def import_meaning(code: Code, path: str, imported: Import) -> tuple[ImportedFiles, Meaning]:
    """The files that an import leads to, and the definitions it names there; none if it names whole files."""
    place = _Place(code, path, family_of(path))
    found = _imported(place, imported)
    return imported_files(code.project, path, imported), _meaning(found)


def _meaning(found: _Found | None) -> Meaning:
    if found is None:
        return _UNKNOWN
    if not found.definitions:
        return _ELSEWHERE
    return Meaning(tuple(dict.fromkeys(found.definitions)), found.certain, found.rule)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a name stands."""

    code: Code
    path: str
    family: str

    @property
    def facts(self) -> FileFacts:
        return self.code.files[self.path]

    def at(self, path: str) -> _Place:
        return _Place(self.code, path, self.family)


def _head(place: _Place, scope: str, head: str, *, is_member: bool) -> _Found | None:
    """What the first part of a name is; None if its value is not known. A parameter is told by its type, if that
    is what the next part, *is_member*, is looked for in."""
    if head == "?":
        return None
    if head in _OWN.get(place.family, ()) or _is_receiver(place, scope, head):
        owners = _owner(place, scope)
        return _Found(owners, rule="attribute of self") if owners else None
    if head in _SUPER:
        bases = tuple(base for owner in _owner(place, scope) for base in _bases(place, owner))
        return _Found(bases, rule="super") if bases else None
    for outer in _outwards(scope):
        if (outer, head) in place.facts.local_names:
            return _parameter(place, outer, head) if is_member else None
        found = _bound_in(place, outer, head)
        if found is not None:
            return found
    return _in_package(place, scope, head) or _through_stars(place, head)


def _outwards(scope: str) -> Iterator[str]:
    while scope:
        yield scope
        scope = scope.rpartition(".")[0]
    yield ""


def _bound_in(place: _Place, outer: str, head: str) -> _Found | None:
    """What *head* is bound to in exactly the scope *outer*."""
    owners = _types(place, outer) if outer and place.family in _SEES_MEMBERS else ()
    if owners:
        return next((found for owner in owners if (found := _type_member(place, owner, head)) is not None), None)
    return _plain_binding(place, outer, head) if not outer or _is_code(place, outer) else None


def _parameter(place: _Place, scope: str, name: str) -> _Found | None:
    """The type that the function *scope* declares its parameter *name* to have, whose members are meant then.

    Nothing is found, instead of None, if that type is imported from another package.
    """
    holder, _, function = scope.rpartition(".")
    for one in place.facts.definitions_by_name.get((holder, function), ()):
        types = _declared_types(place, one, name)
        if types:
            return _Found(types, rule="attribute")
        outside = _plain_binding(place, "", declared_type(one.signature, name, place.family).partition(".")[0])
        if outside is not None and not outside.definitions and not outside.files:
            return outside
    return None


def _declared_types(place: _Place, definition: Definition, name: str) -> tuple[Definition, ...]:
    written = declared_type(definition.signature, name, place.family)
    found = _written(place, definition.scope, written) if written else ()
    return tuple(one for one in found if one.kind in _TYPE_KINDS)


def _is_code(place: _Place, outer: str) -> bool:
    """Whether *outer* is a function or a namespace: the names of an object or a type are not seen inside of it."""
    holder, _, name = outer.rpartition(".")
    found = place.facts.definitions_by_name.get((holder, name), ())
    return any(one.kind in _CODE_KINDS for one in found) or (not found and place.family in _SEES_MEMBERS)


def _is_receiver(place: _Place, scope: str, head: str) -> bool:
    if place.family != "go":
        return False
    holder, _, name = scope.rpartition(".")
    methods = place.facts.definitions_by_name.get((holder, name), ())
    return any((found := _RECEIVER.match(one.signature)) and found[1] == head for one in methods)


# Types and their members


def _owner(place: _Place, scope: str) -> tuple[Definition, ...]:
    """The type in which *scope* lies."""
    return next((owners for outer in _outwards(scope) if outer and (owners := _types(place, outer))), ())


def _types(place: _Place, qualified_name: str) -> tuple[Definition, ...]:
    """The types of that name that *place* sees without an import, its own file's first."""
    holder, _, name = qualified_name.rpartition(".")
    own = [one for one in place.facts.definitions_by_name.get((holder, name), ()) if one.kind in _TYPE_KINDS]
    if own:
        return tuple(own)
    found = place.code.called(qualified_name)
    return tuple(one for one in found if one.kind in _TYPE_KINDS and _is_near(place, one, qualified_name))


def _is_near(place: _Place, definition: Definition, holder: str) -> bool:
    """Whether a definition in, or of, the type or namespace *holder* belongs to the one of that name seen here."""
    if family_of(definition.path) != place.family:
        return False
    if definition.path == place.path or place.family in _GLOBAL_NAMES:
        return True
    if place.family == "rust":
        same = place.code.called(holder)
        return sum(one.kind in _TYPE_KINDS and family_of(one.path) == "rust" for one in same) <= 1
    return place.family == "go" and posixpath.dirname(definition.path) == posixpath.dirname(place.path)


def _type_member(place: _Place, owner: Definition, name: str) -> _Found | None:
    """A member of a type or of its bases; None if it may have one that is not seen."""
    seen: dict[Definition, None] = {}
    waiting = [owner]
    while waiting and len(seen) < MAX_FOLLOWED:
        current = waiting.pop(0)
        if current in seen:
            continue
        seen[current] = None
        home = place.at(current.path)
        own = home.facts.definitions_by_name.get((current.qualified_name, name), ())
        other = place.code.called(f"{current.qualified_name}.{name}")
        found = dict.fromkeys((*own, *(one for one in other if _is_near(home, one, current.qualified_name))))
        if found:
            return _Found(tuple(found), rule="attribute of self" if current is owner else "inherited")
        waiting.extend(_bases(home, current))
    return None


def _bases(place: _Place, definition: Definition) -> tuple[Definition, ...]:
    home = place.at(definition.path)
    found: list[Definition] = []
    for base in definition.bases:
        meaning = _written(home, definition.scope, base)
        found.extend(one for one in meaning if one.kind in _TYPE_KINDS | {"module"} and one != definition)
    return tuple(dict.fromkeys(found))


def _written(place: _Place, scope: str, name: str) -> tuple[Definition, ...]:
    """The definitions that a dotted name of a type leads to, without a look at inherited members."""
    parts = name.split(".")
    if place.family in _GLOBAL_NAMES:
        found = _qualified(place, scope, parts)
        if found is not None:
            return found.definitions
    head = next(
        (one for outer in _outwards(scope) if (one := _plain_binding(place, outer, parts[0])) is not None), None
    )
    found = head or _in_package(place, scope, parts[0]) or _through_stars(place, parts[0])
    for part in parts[1:]:
        found = _member(place, found, part) if found is not None else None
    return found.definitions if found is not None else ()


def _plain_binding(place: _Place, outer: str, head: str) -> _Found | None:
    definitions = place.facts.definitions_by_name.get((outer, head), ())
    if definitions:
        return _Found(definitions)
    imports = place.facts.imports_by_name.get((outer, head), ())
    return next((found for one in imports if (found := _imported(place, one)) is not None), None)


def _member(place: _Place, found: _Found, name: str) -> _Found | None:
    """A member of what a name is bound to; None if that is a value of unknown type."""
    if found.files:
        exported = _exported(place, found.files, name)
        return _with(exported, found) if exported is not None else _Found(certain=found.certain, rule="import")
    for definition in found.definitions:
        home = place.at(definition.path)
        if definition.kind == "module":
            inside = place.code.called(f"{definition.qualified_name}.{name}")
            member = _Found(tuple(one for one in inside if _is_near(home, one, definition.qualified_name)))
        elif definition.kind in _TYPE_KINDS:
            member = _type_member(place, definition, name)
        else:
            member = _value_member(home, definition, name)
        if member is not None and member.definitions:
            return _Found(
                member.definitions, (), found.certain and member.certain, _member_rule(found, definition, member)
            )
    return None


def _member_rule(found: _Found, definition: Definition, member: _Found) -> LinkRule:
    if found.rule == "super":
        return "super"
    is_of_self = found.rule == "attribute of self" and definition.kind in _TYPE_KINDS
    return member.rule if is_of_self or member.rule == "inherited" else "attribute"


def _value_member(place: _Place, definition: Definition, name: str) -> _Found | None:
    """A function in the object that a variable holds, or a member of the type it is declared with."""
    found = place.facts.definitions_by_name.get((definition.qualified_name, name), ())
    if found or definition.kind != "variable":
        return _Found(found) if found else None
    types = _declared_types(place, definition, definition.name)
    members = (_type_member(place, one, name) for one in types if one != definition)
    return next((one for one in members if one is not None), None)


def _with(found: _Found, outer: _Found) -> _Found:
    return _Found(found.definitions, found.files, found.certain and outer.certain, found.rule)


def _super_call(place: _Place, scope: str) -> _Found | None:
    """``super(...)``: the constructor of the base, or in Ruby the method that is overridden."""
    owners = _owner(place, scope)
    bases = [base for owner in owners for base in _bases(place, owner)]
    method = scope.rpartition(".")[2]
    for base in bases:
        for name in (method,) if place.family == "ruby" else ("constructor", base.name):
            found = _type_member(place, base, name)
            if found is not None:
                return _Found(found.definitions, rule="super")
    return _Found(tuple(bases), rule="super") if bases and place.family != "ruby" else None


# Imports


def _imported(place: _Place, imported: Import) -> _Found | None:
    """What an import binds."""
    if place.family == "rust" and imported.module.split("::")[0] == "super" and _is_inline(place, imported.scope):
        imported = _from_outside(imported)
    if place.family in {"php", "csharp"} and imported.name not in {None, "*"}:
        whole = f"{imported.module}.{imported.name}".replace("\\", ".").strip(".")
        found = [one for one in place.code.called(whole) if family_of(one.path) == place.family]
        return _Found(tuple(found), rule="import")
    files = imported_files(place.code.project, place.path, imported)
    if imported.name is None or imported.name == "*":
        return _Found((), files.paths, files.certain, "import")
    if place.family == "rust" and any(_is_module_file(path, imported.name) for path in files.paths):
        return _Found((), files.paths, files.certain, "import")
    exported = _exported(place, files.paths, imported.name)
    if exported is None and place.family == "java":
        exported = _static_member(place, files.paths, imported)
    if exported is None:
        return _Found(rule="import") if not files.paths else None
    return _Found(exported.definitions, exported.files, exported.certain and files.certain, "import")


def _is_inline(place: _Place, scope: str) -> bool:
    holder, _, name = scope.rpartition(".")
    return any(one.kind == "module" for one in place.facts.definitions_by_name.get((holder, name), ()))


def _from_outside(imported: Import) -> Import:
    """``super`` in a module that is a block of a file is the file's own module."""
    module = imported.module.replace("super", "self", 1).replace("self::super", "super", 1)
    outer = imported.scope.rpartition(".")[0]
    return Import(module, imported.name, imported.alias, 0, outer, imported.span, imported.name_span)


def _is_module_file(path: str, name: str) -> bool:
    return path.endswith((f"/{name}.rs", f"/{name}/mod.rs")) or path in {f"{name}.rs", f"{name}/mod.rs"}


def _exported(place: _Place, paths: Iterable[str], name: str) -> _Found | None:
    """What files call *name* at their top, through any number of re-exports."""
    seen: set[tuple[str, str]] = set()
    waiting = [(path, name) for path in paths]
    definitions: list[Definition] = []
    while waiting and len(seen) < MAX_FOLLOWED:
        path, wanted = waiting.pop()
        if (path, wanted) in seen:
            continue
        seen.add((path, wanted))
        facts = place.code.files.get(path)
        if facts is None:
            continue
        own = _top_level(facts, wanted)
        definitions.extend(own)
        if own:
            continue
        home = place.at(path)
        for one in (*facts.imports_by_name.get(("", wanted), ()), *facts.imports_by_name.get(("", "*"), ())):
            if one.scope == "" and place.family in {"javascript", "rust"}:
                onwards = imported_files(place.code.project, home.path, one).paths
                if one.name is None and one.bound_name == wanted:
                    return _Found((), onwards, rule="import")
                waiting.extend((onward, wanted if one.name == "*" else one.name or wanted) for onward in onwards)
    return _Found(tuple(dict.fromkeys(definitions)), rule="import") if definitions else None


def _top_level(facts: FileFacts, name: str) -> tuple[Definition, ...]:
    own = facts.definitions_by_name.get(("", name), ())
    if own or name != "default":
        return own
    marked = (one for one in facts.definitions if not one.scope and "export default" in one.signature[:40])
    return tuple(marked) or facts.definitions_by_name.get(("", "exports"), ())


def _static_member(place: _Place, paths: Iterable[str], imported: Import) -> _Found | None:
    name = imported.module.rpartition(".")[2]
    for path in paths:
        for one in place.code.files[path].definitions if path in place.code.files else ():
            if one.name == name and one.kind in _TYPE_KINDS:
                return _type_member(place.at(path), one, imported.name or "")
    return None


def _in_package(place: _Place, scope: str, head: str) -> _Found | None:
    """A name of another file that needs no import: of the same folder in Go and Java, of the same namespace."""
    if place.family in {"go", "java"}:
        folder = posixpath.dirname(place.path)
        paths = place.code.project.by_folder.get(folder, ())
        found = [one for path in paths if family_of(path) == place.family for one in _top(place, path, head)]
        return _Found(tuple(found)) if found else None
    return None


def _top(place: _Place, path: str, name: str) -> tuple[Definition, ...]:
    facts = place.code.files.get(path)
    return facts.definitions_by_name.get(("", name), ()) if facts is not None else ()


def _through_stars(place: _Place, head: str) -> _Found | None:
    """What an include, a star import or a ``require`` brings."""
    if place.family in {"c", "ruby"}:
        found = [one for path in sorted(_included(place)) for one in _top(place, path, head)]
        return _Found(tuple(found), rule="import") if found else None
    for (_, name), stars in place.facts.imports_by_name.items():
        for star in stars if name == "*" else ():
            outside = _from_outside(star) if place.family == "rust" and _is_inline(place, star.scope) else star
            files = imported_files(place.code.project, place.path, outside)
            found = _exported(place, files.paths, head)
            if found is not None:
                return _with(found, _Found(certain=files.certain))
    return None


def _qualified(place: _Place, scope: str, parts: list[str]) -> _Found | None:
    """A name that is told from the namespaces around it, where these are the same in every file."""
    facts = place.facts
    head = parts[0]
    if any((outer, head) in facts.local_names for outer in _outwards(scope)) or head in {"?", *_SUPER}:
        return None
    if place.family == "php" and (head.startswith("$") or facts.imports_by_name.get((_namespace(place, scope), head))):
        return None
    for n in range(len(parts), 0, -1):
        name = ".".join(parts[:n])
        for outer in (*_spaces(place, scope), ""):
            known = place.code.called(f"{outer}.{name}" if outer else name)
            found = tuple(one for one in known if family_of(one.path) == place.family and _is_seen(place, one))
            if not found or (place.family == "c" and not any(one.path in _included(place) for one in found)):
                continue
            bound: _Found | None = _Found(found)
            for part in parts[n:]:
                bound = _member(place, bound, part) if bound is not None else None
            if bound is not None and bound.definitions:
                return bound
    return None


def _is_seen(place: _Place, definition: Definition) -> bool:
    """Whether a name of another file, told with its namespace, is seen here without more ado."""
    if definition.kind in _HOLDER_KINDS:
        return place.family != "c" or definition.kind == "module" or definition.path in _included(place)
    if definition.kind != "function":
        return False
    if place.family == "c":
        return definition.path in _included(place) or not definition.signature.startswith("static ")
    return place.family != "ruby" or definition.path in _included(place)


def _included(place: _Place) -> frozenset[str]:
    """The file and what it imports; where an import is the text of the other file, what that imports as well."""
    known = place.code.included.get(place.path)
    if known is not None:
        return known
    seen = {place.path: None}
    waiting = [place.path]
    while waiting and len(seen) < MAX_FOLLOWED:
        path = waiting.pop(0)
        for one in place.code.files[path].imports if path in place.code.files else ():
            fresh = [target for target in imported_files(place.code.project, path, one).paths if target not in seen]
            seen.update(dict.fromkeys(fresh))
            waiting.extend(fresh if place.family in {"c", "ruby"} else ())
    place.code.included[place.path] = found = frozenset(seen)
    return found


def _spaces(place: _Place, scope: str) -> Iterator[str]:
    """The namespaces whose names are seen in *scope*: those around it, and those that are used."""
    if place.family == "php":
        yield _namespace(place, scope)
        return
    yield from (outer for outer in _outwards(scope) if outer)
    if place.family == "csharp":
        yield from (one.module for one in place.facts.imports if one.name == "*")


def _namespace(place: _Place, scope: str) -> str:
    modules = {one.qualified_name for one in place.facts.definitions if one.kind == "module"}
    return next((outer for outer in _outwards(scope) if outer in modules), "")


# By name alone


def _by_name(place: _Place, scope: str, name: str, *, is_member: bool) -> Meaning:
    """Every definition of that name that may be meant, in a language of the same family."""
    if not is_member and any((outer, name) in place.facts.local_names for outer in _outwards(scope)):
        return _UNKNOWN
    found = [
        one
        for one in place.code.named(name)
        if family_of(one.path) == place.family and (bool(one.scope) == is_member or one.kind == "function")
    ]
    mentioned = [one for one in found if one.path == place.path or _is_mentioned(place, one)]
    return Meaning(tuple((mentioned or found)[:MAX_SAME_NAME]), False, "same name")


def _is_mentioned(place: _Place, definition: Definition) -> bool:
    holder = definition.scope.rpartition(".")[2]
    return holder in place.facts.names or (not holder and definition.path in _included(place))
