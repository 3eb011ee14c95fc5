"""The modules around a module: what they offer to build its arguments from."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rolecall_server.craft.characterization.inputs.domains import IMPORTS
from rolecall_server.craft.characterization.inputs.survey import (
    BUILTIN_NAMES,
    CallTarget,
    Survey,
    bound_names,
    constructor_parameters,
    last_name,
    survey,
)

_MAX_REQUIRED = 3
# Functions of these names begin or end a program, and give no object.
_NO_FACTORIES = ("main", "run", "serve", "exit")


@dataclass(frozen=True)
class NearbyModule:
    """A module of the repository that the module under test imports, or that imports it."""

    module: str
    """The dotted name by which it is imported."""
    tree: ast.Module


@dataclass(frozen=True)
class Neighbourhood:
    """The names of all neighbours, and what can be called there to get an object."""

    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """The module that each name is imported from."""
    classes: Mapping[str, ast.ClassDef] = field(default_factory=dict[str, ast.ClassDef])
    builders: tuple[CallTarget, ...] = ()
    """Constructors, class methods and functions, those of the nearest neighbours first."""
    documented: tuple[ast.Module, ...] = ()
    """The examples in their docstrings."""
    trees: tuple[ast.Module, ...] = ()


def neighbourhood(own: Survey, neighbours: Sequence[NearbyModule]) -> Neighbourhood:
    """Return what *neighbours*, the nearest first, offer to tests of the module *own*.

    A name that the module has itself, or that two neighbours have, means the nearest one.
    """
    sources: dict[str, str] = {}
    classes: dict[str, ast.ClassDef] = {}
    builders: list[CallTarget] = []
    documented: list[ast.Module] = []
    for neighbour in neighbours:
        try:
            known = survey(ast.unparse(neighbour.tree))
        except (SyntaxError, ValueError, RecursionError):
            continue
        names = {name for name in bound_names(known) if _is_free(name, own) and name not in sources}
        sources |= dict.fromkeys(sorted(names), neighbour.module)
        classes |= {name: node for name, node in known.classes.items() if name in names}
        documented += known.examples
        builders += [one for one in known.targets if one.qualified_name.partition(".")[0] in names]
    everything = {**classes, **own.classes}
    trees = tuple(neighbour.tree for neighbour in neighbours)
    return Neighbourhood(sources, classes, tuple(_builders(builders, everything)), tuple(documented), trees)


def _is_free(name: str, own: Survey) -> bool:
    return not name.startswith("_") and name not in own.names and name not in IMPORTS and name not in BUILTIN_NAMES


def _builders(targets: Iterable[CallTarget], classes: Mapping[str, ast.ClassDef]) -> Iterator[CallTarget]:
    for target in targets:
        if target.is_of_object or target.is_async or target.name in _NO_FACTORIES:
            continue
        node = target.node
        parameters = constructor_parameters(node, classes) if isinstance(node, ast.ClassDef) else target.parameters
        if sum(not one.optional for one in parameters or ()) <= _MAX_REQUIRED:
            yield replace(target, parameters=parameters or ())


def attributes_of(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> frozenset[str]:
    """Return the names that objects of a class have, as its text and that of its bases tell."""
    found: set[str] = set()
    waiting, seen = [node], set[str]()
    while waiting:
        one = waiting.pop()
        seen.add(one.name)
        found |= set(_own_attributes(one))
        bases = (last_name(base) for base in one.bases)
        waiting += [classes[name] for name in bases if name in classes and name not in seen]
    return frozenset(found)


def _own_attributes(node: ast.ClassDef) -> Iterator[str]:
    for one in ast.walk(node):
        match one:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=[ast.Name(id="__slots__")], value=ast.Tuple(elts=parts) | ast.List(elts=parts)):
                yield from (str(part.value) for part in parts if isinstance(part, ast.Constant))
            case _:
                pass
