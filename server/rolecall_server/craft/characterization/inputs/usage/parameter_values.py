"""Values for one parameter: of its type, of the types it likely has, with the parts and in the form that code reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from keyword import iskeyword

from rolecall_server.craft.characterization.inputs.domains import (
    ValueSources,
    expressions,
    expressions_of,
    instances_of,
    interleaved,
)
from rolecall_server.craft.characterization.inputs.related import related_nodes
from rolecall_server.craft.characterization.inputs.survey import CallableParameter, CallTarget, last_name
from rolecall_server.craft.characterization.inputs.text_forms import FORMS, forms_by_name
from rolecall_server.craft.characterization.inputs.usage.command_line import (
    command_lines,
    parses_command_line,
    takes_command_line,
)
from rolecall_server.craft.characterization.inputs.usage.kinship import kin_of
from rolecall_server.craft.characterization.inputs.usage.likely_types import (
    ANYTHING,
    PLAIN_TYPES,
    likely_types,
    names_file,
    types_named,
)
from rolecall_server.craft.characterization.inputs.usage.shaped_values import leaf_values, shaped_values
from rolecall_server.craft.characterization.inputs.usage.shapes import Shape, shapes_of

_MAX_OF_KIN = 12
_OF_A_KIND = 2
_OF_A_KEYWORD = 6
_OPEN = frozenset({"dict", "Dict", "Mapping", "list", "List", "Sequence", "Iterable", "Any", "object"})
"""Types that say nothing of the parts that a value has."""
_OPEN_TO_ALL = frozenset({"Any", "object", "Hashable"})
_NEAR = 2
"""So many names away from the target its command line may be read."""


def values_for(target: CallTarget, parameter: CallableParameter, sources: ValueSources) -> list[str]:
    """Expressions for one parameter: of its type, else of the types it is likely to have.

    What an operator is given may be an object of the same class, or of none that it knows.
    """
    if target.operation and (alike := instances_of(target.owner, sources)):
        return interleaved(alike, typed_values(target, parameter, sources), ["None"])
    return typed_values(target, parameter, sources)


def likely_values(target: CallTarget, parameter: CallableParameter, sources: ValueSources) -> set[str]:
    """Return the values of the types that a parameter without a type likely has; none where nothing tells of them."""
    kinds = [kind for kind in likely_types(target, parameter) if kind != ANYTHING and kind not in FORMS][:2]
    values = {value for kind in kinds for value in expressions_of(kind, sources)}
    formed = _formed(target, parameter, sources) if values else []
    return {*values, *formed, *_shaped(target, parameter, sources), *_of_kin(target, parameter, sources)}


def typed_values(target: CallTarget, parameter: CallableParameter, sources: ValueSources) -> list[str]:
    """Return expressions for one parameter of a callable that is no operator."""
    shaped = _shaped(target, parameter, sources)
    if parameter.annotation is not None:
        formed = _fitting(_formed(target, parameter, sources), frozenset(types_named(parameter.annotation)))
        found = interleaved(shaped, formed, expressions(parameter.annotation, sources))
        if names_file(parameter) and "str" in ast.unparse(parameter.annotation):
            found = interleaved(expressions_of("filename", sources), found)
        if found and ast.unparse(parameter.annotation) not in ("Any", "object", "typing.Any"):
            return found
        if _class_named(parameter.annotation) in {*sources.classes, *sources.survey.classes}:
            return []  # nothing else will do, and no object of it is known yet
    likely = likely_types(target, parameter)
    kin = _of_kin(target, parameter, sources)
    return interleaved(
        kin or shaped or _formed(target, parameter, sources),
        *(expressions_of(kind, sources)[: 120 // (1 + place)] for place, kind in enumerate(likely[:4])),
    )


def _shaped(target: CallTarget, parameter: CallableParameter, sources: ValueSources) -> list[str]:
    """Return values with the parts that the code reads of a parameter, where its type, if it has one, leaves them
    open.
    """
    if parses_command_line(sources.survey.tree):
        near = [node for node, distance in related_nodes(sources.survey, target).items() if distance <= _NEAR]
        if takes_command_line(parameter, near):
            return command_lines(near)
    if parameter.annotation is not None:
        named = types_named(parameter.annotation)
        if not (named & _OPEN and named <= PLAIN_TYPES):
            return []
    return shaped_values(_shape_of(target, parameter, sources), sources)


def _formed(target: CallTarget, parameter: CallableParameter, sources: ValueSources) -> list[str]:
    """Return the literals that a plain parameter is compared with, and values of the forms that it has by its name or
    its use.
    """
    shape = _shape_of(target, parameter, sources)
    if shape.has_parts:
        return []
    forms = dict.fromkeys([*(kind for kind in shape.types if kind in FORMS), *forms_by_name(parameter.name)])
    return interleaved(dict.fromkeys(shape.compared), (value for form in forms for value in FORMS[form]))


def _shape_of(target: CallTarget, parameter: CallableParameter, sources: ValueSources) -> Shape:
    """Return the shape of what is given for a parameter: of one that takes any number, that of each."""
    shape = shapes_of(sources.survey.tree, target).get(parameter.name, Shape())
    return next(iter(shape.items), Shape()) if parameter.many == "*" else shape


def values_of_each(target: CallTarget, starred: CallableParameter, sources: ValueSources) -> list[str]:
    """Return values for a parameter that takes any number: of each kind that the code tells apart, then others."""
    shape = _shape_of(target, starred, sources)
    kinds = (kind for kind in dict.fromkeys(shape.types) if kind != "bool")
    told = interleaved(*(expressions_of(kind, sources)[:_OF_A_KIND] for kind in kinds))
    return interleaved(values_for(target, starred, sources), told, dict.fromkeys(shape.compared))


def keywords_of(target: CallTarget, sources: ValueSources) -> Iterator[dict[str, str]]:
    """Yield the keywords that a callable which takes any reads: each with a few values, then all together."""
    name = next((one.name for one in target.parameters if one.many == "**"), "")
    shape = shapes_of(sources.survey.tree, target).get(name, Shape())
    values = {
        key: (shaped_values(part, sources) or leaf_values(part, key, sources))[:_OF_A_KEYWORD]
        for key, part in shape.keys.items()
        if key.isidentifier() and not iskeyword(key)
    }
    yield from ({key: value} for key, each in values.items() for value in each)
    for turn in range(_OF_A_KIND if len(values) > 1 else 0):
        yield {key: each[turn % len(each)] for key, each in values.items()}


def _fitting(values: Sequence[str], types: frozenset[str]) -> list[str]:
    """Return those of *values* that have one of the plain *types*; of texts the bytes, where these are asked for."""
    if types & _OPEN_TO_ALL:
        return [*values]
    texts = [value for value in values if value[:1] in "'\""]
    found = [value for value in values if value[:1].isdigit() and types & {"int", "float"}]
    found += [value for value in values if value[:1] == "{" and types & {"dict", "Dict", "Mapping", "MutableMapping"}]
    found += texts if types & {"str", "AnyStr", "Text", "LiteralString"} else []
    return found + [f"b{text}" for text in texts if text.isascii() and "bytes" in types and not found]


def _class_named(annotation: ast.expr) -> str:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value.rpartition(".")[2]
    return last_name(annotation)


def _of_kin(target: CallTarget, parameter: CallableParameter, sources: ValueSources) -> list[str]:
    """Return objects of the classes that the parameter likely takes; lists of them where its name is a plural."""
    kin = [instances_of(name, sources)[:_MAX_OF_KIN] for name in kin_of(target, parameter, sources.attributes)]
    several = kin_of(target, replace(parameter, name=parameter.name.removesuffix("s")), sources.attributes)
    if kin or not parameter.name.endswith("s") or not several:
        return interleaved(*kin)
    members = interleaved(*(instances_of(name, sources)[:_MAX_OF_KIN] for name in several))
    return [f"[{', '.join(members[:2])}]", *(f"[{member}]" for member in members)]
