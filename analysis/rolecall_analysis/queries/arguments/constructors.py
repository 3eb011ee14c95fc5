"""The parameters that constructing a class takes: of its ``__init__``, or the one that ``@dataclass`` writes."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rolecall_analysis.queries.arguments.parameters import Parameter, class_header, parameters_of
from rolecall_analysis.resolution.names import lineage, scope_definition
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition, FileFacts

_PLAIN_METACLASSES = frozenset({"ABCMeta", "type"})
_PLAIN_CLASS_DECORATORS = {
    "final": ("typing", "typing_extensions"),
    "runtime_checkable": ("typing", "typing_extensions"),
    "total_ordering": ("functools",),
}
_PLAIN_DECORATORS = {
    "abstractmethod": ("abc",),
    "asynccontextmanager": ("contextlib",),
    "cache": ("functools",),
    "contextmanager": ("contextlib",),
    "final": ("typing", "typing_extensions"),
    "lru_cache": ("functools",),
    "override": ("typing", "typing_extensions"),
    "overload": ("typing", "typing_extensions"),
}
"""Decorators that leave alone what a function takes, and the modules they come from."""

_FIELD = re.compile(r"(?P<name>\w++)\s*+:\s*+(?P<type>[^=]*+)(?:=\s*+(?P<value>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Constructor:
    """The parameters that constructing a class takes."""

    parameters: tuple[Parameter, ...]
    definition: Definition
    """The ``__init__``, or the class whose fields make one, or that has none."""
    n_bound: int
    """1 if the first parameter is ``self``."""


def constructor_of(snapshot: Snapshot, definition: Definition) -> Constructor | None:
    """Return the constructor of the class *definition*; None where something else might have a say in it.

    That is a metaclass, a ``__new__``, a decorator or a base that is not known.
    """
    classes = _known_classes(snapshot, definition)
    if classes is None:
        return None
    is_whole = len(classes) == len(lineage(snapshot, (definition.path, definition.qualified_name)))
    return constructor_in(classes, definition, is_whole=is_whole)


def constructor_among(
    classes: Sequence[tuple[FileFacts, Definition]], definition: Definition, *, is_whole: bool
) -> Constructor | None:
    """Return the constructor of the class *definition*, given it and its bases in lookup order; None as above.

    *is_whole* says that there is no further base.
    """
    if not all(_is_plain_class(facts, one) for facts, one in classes):
        return None
    return constructor_in(classes, definition, is_whole=is_whole)


def constructor_in(
    classes: Sequence[tuple[FileFacts, Definition]], definition: Definition, *, is_whole: bool
) -> Constructor | None:
    """Return the constructor that the first of *classes* brings, all of which are plain."""
    for facts, current in classes:
        if any(not _is_plain_class_decorator(facts, decorator) for decorator in current.decorators):
            return None
        if (facts_member := _member(facts, current, "__init__")) is not None:
            parameters = _own_parameters(facts, facts_member)
            return None if parameters is None else Constructor(parameters, facts_member[0], 1)
        if _writes_initialiser(facts, current):
            fields = _fields(classes, current)
            return None if fields is None else Constructor(fields, current, 0)
    plain = all(_member(facts, current, "__init_subclass__") is None for facts, current in classes)
    return Constructor((), definition, 0) if plain and is_whole else None


def is_plain_decorator(facts: FileFacts, decorator: str) -> bool:
    """Return whether *decorator* leaves the function's parameters unchanged."""
    return decorator in {"staticmethod", "classmethod"} or _is_from(facts, decorator, _PLAIN_DECORATORS)


def _known_classes(snapshot: Snapshot, definition: Definition) -> list[tuple[FileFacts, Definition]] | None:
    """Return the class and its bases in lookup order; None if one may change how it is constructed."""
    classes: list[tuple[FileFacts, Definition]] = []
    for path, qualified_name in lineage(snapshot, (definition.path, definition.qualified_name)):
        facts = snapshot.files.get(path)
        found = scope_definition(facts, qualified_name) if facts is not None else None
        if facts is None:
            if not _is_builtin_class(qualified_name):
                return None
        elif found is None or not _is_plain_class(facts, found):
            return None
        else:
            classes.append((facts, found))
    return classes


def _is_builtin_class(name: str) -> bool:
    return isinstance(vars(builtins).get(name), type)


def _is_plain_class(facts: FileFacts, definition: Definition) -> bool:
    header = class_header(definition.signature)
    # A base that is no name, as a call, is missing from the definition's, and may bring anything.
    if header is None or header.n_bases != len(definition.bases) or _member(facts, definition, "__new__") is not None:
        return False
    # Defined twice, as under `if` and `else`, it may be either of the two.
    if len(facts.definitions_by_name[definition.scope, definition.name]) > 1:
        return False
    return all(name != "metaclass" or value.rpartition(".")[2] in _PLAIN_METACLASSES for name, value in header.keywords)


def _member(facts: FileFacts, owner: Definition, name: str) -> tuple[Definition, ...] | None:
    """Return all that the class body itself binds *name* to; None if nothing."""
    found = facts.definitions_by_name.get((owner.qualified_name, name))
    if (owner.qualified_name, name) in facts.imports_by_name:
        return ()
    return found


def _own_parameters(facts: FileFacts, members: tuple[Definition, ...]) -> tuple[Parameter, ...] | None:
    if len(members) != 1 or members[0].kind != "method":
        return None
    if any(not is_plain_decorator(facts, decorator) for decorator in members[0].decorators):
        return None
    return parameters_of(members[0].signature)


def _is_plain_class_decorator(facts: FileFacts, decorator: str) -> bool:
    return _is_dataclass_decorator(facts, decorator) or _is_from(facts, decorator, _PLAIN_CLASS_DECORATORS)


def _is_dataclass_decorator(facts: FileFacts, decorator: str) -> bool:
    return _is_from(facts, decorator, {"dataclass": ("dataclasses",)})


def _writes_initialiser(facts: FileFacts, definition: Definition) -> bool:
    return any(
        _is_dataclass_decorator(facts, decorator) and not _says(decorator, "init", "False")
        for decorator in definition.decorators
    )


def _is_from(facts: FileFacts, decorator: str, modules: dict[str, tuple[str, ...]]) -> bool:
    """Return whether *decorator*, perhaps with arguments, is one of the names in *modules* and is imported from one of
    its modules.
    """
    name = decorator.partition("(")[0].strip()
    head, _, last = name.rpartition(".")
    wanted = modules.get(last)
    bound = facts.imports_by_name.get(("", head or name), ())
    if wanted is None or len(bound) != 1 or bound[0].level:
        return False
    return bound[0].module in wanted and (bound[0].name is None) == bool(head)


def _fields(classes: Sequence[tuple[FileFacts, Definition]], definition: Definition) -> tuple[Parameter, ...] | None:
    """Return the parameters of the ``__init__`` that ``@dataclass`` writes for *definition*."""
    found: dict[str, Parameter] = {}
    start = next(n for n, (_, each) in enumerate(classes) if each is definition)
    for facts, current in reversed(classes[start:]):
        if any(not _is_plain_class_decorator(facts, decorator) for decorator in current.decorators):
            return None
        decorator = next((each for each in current.decorators if _is_dataclass_decorator(facts, each)), None)
        if decorator is None:
            continue
        fields = _own_fields(facts, current, _says(decorator, "kw_only", "True"))
        if fields is None:
            return None
        for name, parameter in fields:
            if parameter is None:
                found.pop(name, None)
            else:
                found[name] = parameter  # one that is defined anew keeps its place
    ordered = sorted(found.values(), key=lambda parameter: parameter.kind == "keyword only")
    return tuple(ordered)


def _own_fields(
    facts: FileFacts, definition: Definition, is_keyword_only: bool
) -> list[tuple[str, Parameter | None]] | None:
    """Return the fields of the class body with their parameters, None for one without; None if one cannot be read."""
    fields: list[tuple[str, Parameter | None]] = []
    for name, kind, value in _annotated(facts, definition):
        if kind.rpartition(".")[2] == "KW_ONLY":
            is_keyword_only = True
        elif "ClassVar" not in kind:
            # The signature leaves out long values (`MAX_VALUE_LENGTH`): this may be a `field(...)`, which decides.
            if value == "...":
                return None
            made = value is not None and re.match(r"(?:dataclasses\.)?field\(", value) is not None
            text = value if made and value is not None else ""
            is_late = is_keyword_only or _says(text, "kw_only", "True")
            has_default = ("default" in text) if made else value is not None
            parameter = Parameter(name, "keyword only" if is_late else "positional or keyword", not has_default)
            fields.append((name, None if _says(text, "init", "False") else parameter))
    return fields


def _annotated(facts: FileFacts, definition: Definition) -> Iterator[tuple[str, str, str | None]]:
    """Name, annotation and value of each annotated variable of the class body."""
    for variable in facts.definitions:
        if variable.kind == "variable" and variable.scope == definition.qualified_name:
            field = _FIELD.fullmatch(variable.signature)
            if field is not None and field["name"] == variable.name:
                yield field["name"], field["type"].rstrip(), field["value"]


def _says(call: str, keyword: str, value: str) -> bool:
    return re.search(rf"\b{keyword}\s*=\s*{value}\b", call) is not None
