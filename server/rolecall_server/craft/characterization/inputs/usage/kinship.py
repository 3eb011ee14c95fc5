"""The classes whose objects a parameter without a type likely takes: by its name, and by what is done with it."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache

from rolecall_server.craft.characterization.inputs.survey import CallableParameter, CallTarget

_MAX_KIN = 3
_BUILTIN_ATTRIBUTES = frozenset(name for kind in (str, bytes, list, dict, set, int, float) for name in dir(kind))


def kin_of(target: CallTarget, parameter: CallableParameter, attributes: Mapping[str, frozenset[str]]) -> list[str]:
    """Return at most three classes of *attributes*, the likeliest first: those that are called as the parameter is, or
    have every attribute that the code uses of it.
    """
    used = attributes_used(target.node, parameter.name)
    # What texts and lists have as well tells no class.
    telling = used - _BUILTIN_ATTRIBUTES
    scores = {
        name: _likeness(parameter.name, name) + (len(telling) if telling and used <= has else 0)
        for name, has in attributes.items()
        if not telling or telling <= has
    }
    likely = [name for name, score in scores.items() if score > 0]
    return sorted(likely, key=lambda name: (-scores[name], len(name), name))[:_MAX_KIN]


@cache
def attributes_used(node: ast.AST, name: str) -> frozenset[str]:
    """Return the attributes of the variable *name* that the code below *node* uses, also where ``self`` keeps it."""
    kept = {name, *(_kept_as(node, name))}
    return frozenset(
        one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute) and _plain_name(one.value) in kept
    )


def _kept_as(node: ast.AST, name: str) -> list[str]:
    return [
        _plain_name(one.targets[0])
        for one in ast.walk(node)
        if isinstance(one, ast.Assign)
        and isinstance(one.targets[0], ast.Attribute)
        and isinstance(one.value, ast.Name)
        and one.value.id == name
    ]


def _plain_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return f"self.{name}"
        case _:
            return ""


def _likeness(parameter: str, class_name: str) -> int:
    """Return 2 for a parameter that is called like a class, 1 for one that has the class's last word, else 0."""
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", class_name)]
    given = [word for word in parameter.lower().strip("_0123456789").split("_") if word]
    if not words or not given:
        return 0
    if "".join(words) == "".join(given):
        return 2
    return int(words[-1] == given[-1] and len(words[-1]) > 2)
