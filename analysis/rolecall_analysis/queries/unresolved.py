"""Names that nothing binds, and attributes that nothing has."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from rolecall_analysis.modules import exists, find_module, is_package, join_location, location_of
from rolecall_analysis.queries.references import part_spans
from rolecall_analysis.resolution.exports import Module, Target, star_sources
from rolecall_analysis.resolution.names import lineage, outwards, resolve_steps, scope_definition, values_of
from rolecall_analysis.snapshot import Snapshot, is_python
from rolecall_analysis.values import Definition, FileFacts, Import, Reference, Span

_LATER_BUILTINS = frozenset(
    {
        "BaseExceptionGroup",
        "EncodingWarning",
        "ExceptionGroup",
        "PythonFinalizationError",
        "aiter",
        "anext",
        "frozendict",
    }
)
_PLATFORM_BUILTINS = frozenset({"WindowsError"})
_SITE_BUILTINS = frozenset({"copyright", "credits", "exit", "help", "license", "quit"})
_TOOL_BUILTINS = frozenset({"_", "__IPYTHON__", "get_ipython", "reveal_locals", "reveal_type"})
"""The names that gettext, notebooks and type checkers add."""

_MODULE_NAMES = frozenset(
    {
        *("__annotations__", "__builtins__", "__cached__", "__debug__", "__dict__", "__doc__", "__file__"),
        *("__loader__", "__name__", "__package__", "__path__", "__spec__"),
    }
)
_SCOPE_NAMES = frozenset({"__class__", "__classcell__", "__module__", "__qualname__", "__firstlineno__"})

KNOWN_EVERYWHERE = (
    frozenset(dir(builtins)) | _LATER_BUILTINS | _PLATFORM_BUILTINS | _SITE_BUILTINS | _TOOL_BUILTINS | _MODULE_NAMES
)
"""Names that every module sees, in whichever version of Python."""

_BINDERS = frozenset({"_convert", "_convert_", "exec", "execfile", "globals"})
"""Functions that may bind names of the module that nobody can read off; those of enumerations among them."""

_BINDING_DECORATOR = "global_enum"

_BODY_BINDERS = frozenset({"locals", "vars"})
"""The same, when called in the body of a module or class."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A name that nothing binds in any scope it sees, or an attribute that nothing gives to what it is read from."""

    path: str
    name: str
    """For an attribute, dotted: ``price.total``."""
    span: Span
    certain: bool = True


def unresolved_names(snapshot: Snapshot, path: str) -> tuple[Unresolved, ...]:
    """Return the names read in the Python file *path* that nothing binds, at each place, in the order of the source.

    So is a name that is imported from a module of the repository which does not have it. Only the first part of a
    dotted name is judged. Nothing is said of a file with syntax errors, or one that may bind names as it runs
    (``exec``, ``globals()``, a star import from outside the repository).
    """
    facts = snapshot.files.get(path)
    if facts is None or not is_python(path) or facts.problems or _binds_at_run_time(facts):
        return ()
    found: dict[Unresolved, None] = {}
    unbound: dict[tuple[str, str, str], bool] = {}
    for reference in facts.references:
        name = reference.name.partition(".")[0]
        if name in KNOWN_EVERYWHERE or not name.isidentifier():
            continue
        key = reference.scope, reference.owner, name
        if key not in unbound:
            unbound[key] = not (
                _is_bound(facts, *key)
                or _is_submodule(snapshot, path, name)
                or _may_come_by_star(snapshot, facts, name)
            )
        if unbound[key]:
            found.update((Unresolved(path, name, span), None) for span in part_spans(reference, 0))
    for imported in facts.imports:
        if imported.name is not None and not imported.is_star and _is_missing(snapshot, path, imported):
            found[Unresolved(path, imported.name, imported.name_span)] = None
    return tuple(sorted(found, key=lambda one: one.span))


def missing_attributes(snapshot: Snapshot, path: str, text: str) -> tuple[Unresolved, ...]:
    """Return the attributes that the Python file *path*, whose text is *text*, reads from things that do not have them.

    Of a module of the repository it is certain; its packages are not judged. Of a class all of whose bases are in
    the repository, and of ``self`` in it, it is possible, and told only of a name that occurs in no other place.
    """
    facts = snapshot.files.get(path)
    if facts is None or not path.endswith(".py") or facts.problems:
        return ()
    found: list[Unresolved] = []
    for reference in facts.references:
        for n_part, holder, certain in _dead_end(snapshot, facts, reference):
            name = reference.name.split(".")[n_part]
            # Python itself gives special attributes, which no code defines.
            if name.startswith("__") or not name.isidentifier():
                continue
            is_lacking = _module_lacks if certain else _class_lacks
            if is_lacking(snapshot, facts, holder, name) and not _is_given(text, name):
                dotted = ".".join(reference.name.split(".")[: n_part + 1])
                found.extend(Unresolved(path, dotted, span, certain) for span in part_spans(reference, n_part))
    return tuple(sorted(found, key=lambda one: one.span))


def _dead_end(snapshot: Snapshot, facts: FileFacts, reference: Reference) -> Iterator[tuple[int, Target, bool]]:
    """Yield the number of the first part that leads nowhere, what it is read from, and whether that is a module."""
    if "." not in reference.name:
        return
    steps = list(resolve_steps(snapshot, facts.path, reference.scope, reference.name))
    n_part = next((n for n, meaning in enumerate(steps) if not meaning.targets), 0)
    holder = values_of(snapshot, steps[n_part - 1]) if n_part else None
    if holder is not None and holder.certain and len(holder.targets) == 1:
        (target,) = holder.targets
        if isinstance(target, Module) or target.kind == "class":
            yield n_part, target, isinstance(target, Module)


def _is_given(text: str, name: str) -> bool:
    """Return whether something of that name is assigned, or told by a string, somewhere in *text*."""
    target = rf"^[^=\n(]*\.{name}\b[^=\n(]*=(?!=)|^\s*[\w.]+\.{name}\s*:|\b(?:as|for)\s[^=\n(]*\.{name}\b"
    return re.search(rf"{target}|[\"']{name}[\"']", text, re.MULTILINE) is not None


def _module_lacks(snapshot: Snapshot, facts: FileFacts, holder: Target, name: str) -> bool:
    return isinstance(holder, Module) and _has_not(snapshot, facts.path, holder.location, name)


def _class_lacks(snapshot: Snapshot, facts: FileFacts, holder: Target, name: str) -> bool:
    if not isinstance(holder, Definition) or any(other != facts.path for other in snapshot.mentioning(name)):
        return False
    known = ((one.scope, one.name) for one in facts.definitions)
    if any(each == name for _, each in chain(known, facts.imports_by_name, facts.local_names)):
        return False
    # A class has what `type` gives it, as `mro`, although no base of it does.
    if hasattr(type, name) or hasattr(object, name):
        return False
    return all(_shows_its_members(snapshot, *key) for key in lineage(snapshot, (holder.path, holder.qualified_name)))


def _shows_its_members(snapshot: Snapshot, path: str, qualified_name: str) -> bool:
    """Return whether all attributes of the class are visible in its body and its methods."""
    facts = snapshot.files.get(path)
    found = scope_definition(facts, qualified_name) if facts is not None else None
    if facts is None or found is None or facts.problems or "metaclass" in found.signature:
        return False
    hooks = ("__getattr__", "__getattribute__", "__setattr__", "__slots__")
    return not found.decorators and not any((qualified_name, hook) in facts.definitions_by_name for hook in hooks)


def _is_bound(facts: FileFacts, scope: str, owner: str, name: str) -> bool:
    if scope and name in _SCOPE_NAMES:
        return True
    # A header sees its own type parameters, which are names of the scope inside.
    if (owner, name) in facts.local_names:
        return True
    for outer in outwards(scope):
        if (outer, name) in facts.local_names:
            return True  # in a class these are its type parameters, which methods see
        definition = scope_definition(facts, outer) if outer and outer != scope else None
        if (definition is None or definition.kind != "class") and _binds(facts, outer, name):
            return True
    return False


def _is_missing(snapshot: Snapshot, path: str, imported: Import) -> bool:
    """Return whether the name is imported from a module of the repository that does not have it.

    Of a package it is never said: its submodule may be compiled, or made by a build.
    """
    location = find_module(snapshot.modules, path, imported.module, imported.level) or ""
    return _has_not(snapshot, path, location, imported.name or "")


def _has_not(snapshot: Snapshot, path: str, location: str, name: str) -> bool:
    """Return whether the module at *location* certainly lacks *name*, which the file *path* wants of it."""
    source = snapshot.files.get(snapshot.modules.files.get(location, ""))
    if source is None or source.path == path or is_package(snapshot.modules, location):
        return False
    return not (_binds(source, "", name) or may_offer(snapshot, source, name))


def may_offer(snapshot: Snapshot, source: FileFacts, name: str) -> bool:
    """Return whether the module *source* may have a *name* that no statement in it binds."""
    is_made_up = name in _MODULE_NAMES or ("", "__getattr__") in source.definitions_by_name
    return is_made_up or not _is_judged(source) or _may_come_by_star(snapshot, source, name)


def _is_judged(facts: FileFacts) -> bool:
    """Return whether the file shows all names that it has: it is Python, has no syntax errors, and binds no names at
    run time.
    """
    return facts.path.endswith(".py") and not facts.problems and not _binds_at_run_time(facts)


def _binds(facts: FileFacts, scope: str, name: str) -> bool:
    key = scope, name
    return key in facts.local_names or key in facts.definitions_by_name or key in facts.imports_by_name


def _is_submodule(snapshot: Snapshot, path: str, name: str) -> bool:
    """Return whether *path* is a package whose submodule *name* becomes a name in it as soon as it is imported."""
    location = location_of(path)
    return is_package(snapshot.modules, location) and exists(snapshot.modules, join_location(location, name))


def _may_come_by_star(snapshot: Snapshot, facts: FileFacts, name: str) -> bool:
    """Return whether a star import, or one in a module it takes everything from, may bind *name*."""
    waiting = [facts]
    seen = {facts.path}
    for current in waiting:
        scopes = dict.fromkeys(imported.scope for imported in current.imports if imported.is_star)
        for location in chain.from_iterable(star_sources(snapshot, current, scope) for scope in scopes):
            source = snapshot.files.get(snapshot.modules.files.get(location or "", ""))
            if location is None or source is None or source.problems or _brings(source, name):
                return True
            if source.path not in seen:
                seen.add(source.path)
                waiting.append(source)
    return False


def _brings(source: FileFacts, name: str) -> bool:
    is_exported = source.exported is not None and name in source.exported
    return is_exported or _binds(source, "", name) or _binds_at_run_time(source)


def _binds_at_run_time(facts: FileFacts) -> bool:
    return any(
        call.name in _BINDERS or (call.callee in _BODY_BINDERS and _is_body(facts, call.scope)) for call in facts.calls
    ) or any(
        decorator.endswith(_BINDING_DECORATOR)
        for definition in facts.definitions
        for decorator in definition.decorators
    )


def _is_body(facts: FileFacts, scope: str) -> bool:
    definition = scope_definition(facts, scope) if scope else None
    return definition is None or definition.kind == "class"
