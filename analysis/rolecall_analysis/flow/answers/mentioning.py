"""The places to look for the calls of a function: the scopes in which its name stands, or a name that holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from rolecall_analysis.flow.code import Block, FlowScope, ModuleCode
from rolecall_analysis.flow.reading import read_module
from rolecall_analysis.flow.state import Flow
from rolecall_analysis.flow.values import BoundValue, ContainerValue, FunctionValue, PartialValue, Value, WrappedValue
from rolecall_analysis.modules import SOURCE_SUFFIXES
from rolecall_analysis.snapshot import Snapshot

ReadText = Callable[[str], str | None]
"""The text of a path, None if there is none."""

MAX_DEFINERS = 8
"""A method that more files define is not guessed at."""
MAX_HOLDERS = 8
"""Names that hold a function and are looked for as well."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The reach of a search, the nearest files first."""

    n_files: int
    n_scopes: int
    n_characters: int
    """Of the files together, but for the first."""


EVERYWHERE = Reach(60, 400, 4_000_000)
NEARBY = Reach(8, 100, 200_000)
"""Some tenth of a second, where none of the files has been read before."""
PASSING = Reach(40, 40, 2_000_000)
"""Where calls only matter for what they pass."""

ReadCode = Callable[[str], ModuleCode | None]


def code_reader(read_text: ReadText, read: Callable[[str, str], ModuleCode] | None = None) -> ReadCode:
    """Return a function that gives the code of a path, read with *read*; by default with one that remembers what it
    read.

    A file that is written meanwhile stays what it was: the scopes of one text mean nothing in another.
    """
    reading = read or _cached_code

    @cache
    def read_code(path: str) -> ModuleCode | None:
        text = read_text(path) if path.endswith(SOURCE_SUFFIXES) else None
        return None if text is None else reading(path, text)

    return read_code


_cached_code = lru_cache(maxsize=512)(read_module)


def called_as(scope: FlowScope) -> frozenset[str]:
    """Return the names by which *scope* is called."""
    is_method = scope.parent is not None and scope.parent.kind == "class"
    # `Cart()` calls `__init__` and names the class alone.
    if is_method and scope.name.startswith("__") and scope.parent is not None:
        return frozenset({scope.name, scope.parent.name})
    if scope.kind == "lambda" and scope.parent is not None:
        return frozenset({scope.parent.name})
    return frozenset({scope.name})


def scopes_using(
    snapshot: Snapshot, read_code: ReadCode, names: frozenset[str], near: str, reach: Reach
) -> Iterator[tuple[ModuleCode, FlowScope]]:
    """Yield the scopes that use one of *names*, those of the file *near* first."""
    n_left, n_characters = reach.n_scopes, 0
    for path in _mentioning(snapshot, names, near)[: reach.n_files]:
        code = read_code(path)
        if code is None:
            continue
        n_characters += len(code.source) if path != near else 0
        for scope in code.scopes:
            if n_left and any(_uses(block, names) for block in scope.blocks):
                n_left -= 1
                yield code, scope
        if not n_left or n_characters > reach.n_characters:
            return


def _mentioning(snapshot: Snapshot, names: frozenset[str], near: str) -> list[str]:
    """Return the files in which one of *names* occurs: *near* itself, then its folder's, then the others."""
    folder = near.rpartition("/")[0]
    found = {near, *(path for name in names for path in snapshot.mentioning(name))}
    return sorted(found, key=lambda path: (path != near, path.rpartition("/")[0] != folder, path))


def _uses(block: Block, names: frozenset[str]) -> bool:
    return (
        not names.isdisjoint(block.uses)
        or any(load[2] in names for load in block.loads)
        or any(step.name in names for step in block.calls)
    )


def names_holding(flow: Flow, targets: Iterable[FlowScope]) -> frozenset[str]:
    """Return the names, of modules and of attributes, that hold one of *targets* or a container of them.

    Calls through these do not name the function. Nothing, where there are more than a reader could follow.
    """
    wanted, held = set(targets), flow.graph.held
    carriers = {value.number for value in flow.values if isinstance(value, FunctionValue) and value.scope in wanted}

    def carries(value: Value) -> bool:
        if isinstance(value, BoundValue):
            return value.function.number in carriers
        if isinstance(value, WrappedValue):
            return value.function in carriers
        nodes = value.arguments.positional[:1] if isinstance(value, PartialValue) else ()
        nodes = (value.every,) if isinstance(value, ContainerValue) else nodes
        return any(token >> 2 in carriers for node in nodes for token in held[node])

    for _ in range(2):  # a partial of a bound method in a list of lists
        carriers |= {value.number for value in flow.values if carries(value)}
    variables = [
        (name, frame.first_node + n) for frame in flow.modules.values() for name, n in frame.scope.names.items()
    ]
    variables += [one for of in flow.classes for one in (*of.fields.items(), *of.own_names.items())]
    found = {name for name, node in variables if any(token >> 2 in carriers for token in held[node])}
    found -= {name for scope in wanted for name in called_as(scope)}
    return frozenset(found) if len(found) <= MAX_HOLDERS else frozenset()


def method_definers(snapshot: Snapshot, read_code: ReadCode) -> Callable[[str], Iterable[tuple[ModuleCode, FlowScope]]]:
    """Return a function that finds the methods of a given name, where few files define one."""

    @cache
    def find(name: str) -> Sequence[tuple[ModuleCode, FlowScope]]:
        paths = [
            path
            for path in snapshot.mentioning(name)
            if any(known.name == name and known.kind == "method" for known in snapshot.files[path].definitions)
        ]
        codes = [read_code(path) for path in sorted(paths)] if len(paths) <= MAX_DEFINERS else []
        return [(code, scope) for code in codes if code is not None for scope in code.scopes if scope.name == name]

    return find
