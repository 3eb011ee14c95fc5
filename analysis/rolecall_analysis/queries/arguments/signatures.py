"""Calls that what they reach cannot take."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall_analysis.queries.arguments.constructors import constructor_of, is_plain_decorator
from rolecall_analysis.queries.arguments.parameters import Arguments, arguments_in, misfit, parameters_of
from rolecall_analysis.queries.hierarchy import overrides
from rolecall_analysis.resolution.exports import Module, Target
from rolecall_analysis.resolution.names import Meaning, method_of, resolve, values_of
from rolecall_analysis.snapshot import Snapshot, is_python
from rolecall_analysis.values import Call, Definition, FileFacts

_IMPLICIT_CLASS_METHODS = frozenset({"__init_subclass__", "__class_getitem__"})


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A call that fails with a TypeError whenever it is reached."""

    path: str
    call: Call
    definition: Definition
    """The definition that is called; a class stands for the ``__init__`` it does not have."""
    message: str
    """A sentence without a subject: ``needs 'price'``."""


def signature_mismatches(snapshot: Snapshot, path: str, text: str) -> tuple[Mismatch, ...]:
    """Return the calls in the Python file *path* that certainly reach functions which cannot take those arguments.

    *text* is the file's. A call through anything that may change the signature (a decorator that is not known, a
    metaclass, an override that takes more) is not judged.
    """
    facts = snapshot.files.get(path)
    if facts is None or facts.problems or not is_python(path):
        return ()
    arguments = arguments_in(text)
    # `super(Base, self).f()` is noted as `super().f` too, but looks behind `Base`, not behind the class around.
    named_supers = {c.span.start for c in facts.calls if c.callee == "super" and arguments.get(c.span)}
    found: list[Mismatch] = []
    for call in facts.calls:
        given = arguments.get(call.span)
        if given is None or (call.callee.startswith("super().") and call.span.start in named_supers):
            continue
        reached = verdict(snapshot, facts, call, given)
        if reached is not None and reached[1]:
            found.append(Mismatch(path, call, *reached))
    return tuple(found)


def verdict(snapshot: Snapshot, facts: FileFacts, call: Call, arguments: Arguments) -> tuple[Definition, str] | None:
    """Return the definition that the call reaches, and why that cannot take *arguments*, empty if it can; None if there
    is no telling.
    """
    meaning = values_of(snapshot, resolve(snapshot, facts.path, call.scope, call.callee))
    if not meaning.certain or not meaning.targets or _is_kept_method(meaning):
        return None
    access = _access(snapshot, facts, call)
    if access is None:
        return None
    found = _verdict_on_all(snapshot, meaning.targets, access, arguments)
    if found is None or not found[1] or access == "plain" or call.callee.startswith("super()"):
        return found
    # What the object is may override the method with one that takes these arguments.
    others = tuple(other for target in meaning.targets for other in _other_versions(snapshot, target))
    return _verdict_on_all(snapshot, (*meaning.targets, *others), access, arguments)


def _is_kept_method(meaning: Meaning) -> bool:
    """Return whether a method goes by another name, which does not say what it is bound to."""
    return meaning.rule == "alias" and any(isinstance(t, Definition) and t.kind == "method" for t in meaning.targets)


def _verdict_on_all(
    snapshot: Snapshot, targets: tuple[Target, ...], access: str, arguments: Arguments
) -> tuple[Definition, str] | None:
    """Return the first verdict that is good, else the first bad one; None if one target cannot be judged."""
    verdicts: list[tuple[Definition, str]] = []
    for target in targets:
        settled = _settled(snapshot, target)
        found = _verdict(snapshot, settled, _n_bound(settled, access), arguments) if settled is not None else None
        if found is None:
            return None
        verdicts.append(found)
    return next((each for each in verdicts if not each[1]), verdicts[0])


def _settled(snapshot: Snapshot, target: Target) -> Definition | None:
    """Return *target* if it is a function or class whose name nothing else binds in its place."""
    if isinstance(target, Module) or target.kind not in ("function", "method", "class"):
        return None
    facts = snapshot.files[target.path]
    key = target.scope, target.name
    return None if key in facts.imports_by_name or key in facts.local_names else target


def _other_versions(snapshot: Snapshot, target: Target) -> tuple[Definition, ...]:
    """Return the methods that may run in place of a method that is called on the object itself."""
    return overrides(snapshot, target) if isinstance(target, Definition) else ()


def _access(snapshot: Snapshot, facts: FileFacts, call: Call) -> str | None:
    """Return the access to the callee: ``plain``, on an ``instance`` or on a ``class``; None if that is not known."""
    receiver, _, _ = call.callee.rpartition(".")
    if not receiver:
        return None if call.callee in ("self", "cls") else "plain"
    if receiver in ("self", "cls", "super()"):
        method = method_of(facts, call.scope, receiver)
        return _own_access(method, receiver) if method is not None else None
    return _receiver_access(values_of(snapshot, resolve(snapshot, facts.path, call.scope, receiver)))


def _own_access(method: Definition, receiver: str) -> str | None:
    on_class = "classmethod" in method.decorators or method.name in _IMPLICIT_CLASS_METHODS | {"__new__"}
    if "staticmethod" in method.decorators or (receiver == "self" and on_class):
        return None
    if receiver == "cls":
        return "class" if on_class else None
    return "class" if on_class else "instance"


def _receiver_access(meaning: Meaning) -> str | None:
    if not meaning.targets or not meaning.certain:
        return None
    if all(isinstance(target, Module) for target in meaning.targets):
        return "plain"
    if all(isinstance(target, Definition) and target.kind == "class" for target in meaning.targets):
        return "class"
    return None


def _n_bound(definition: Definition, access: str) -> int:
    if definition.kind != "method" or access == "plain":
        return 0
    if "staticmethod" in definition.decorators or definition.name == "__new__":
        return 0
    if "classmethod" in definition.decorators or definition.name in _IMPLICIT_CLASS_METHODS:
        return 1
    return 1 if access == "instance" else 0


def _verdict(
    snapshot: Snapshot, definition: Definition, n_bound: int, arguments: Arguments
) -> tuple[Definition, str] | None:
    if definition.kind == "class":
        constructor = constructor_of(snapshot, definition)
        if constructor is None:
            return None
        return constructor.definition, misfit(constructor.parameters, arguments, constructor.n_bound) or ""
    facts = snapshot.files[definition.path]
    if any(not is_plain_decorator(facts, decorator) for decorator in definition.decorators):
        return None
    parameters = parameters_of(definition.signature)
    return None if parameters is None else (definition, misfit(parameters, arguments, n_bound) or "")
