"""The call graph as frozen values, for a whole workspace or for one place in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from rolecall_analysis.flow.code import Block, ModuleCode, Scope
from rolecall_analysis.flow.engine import follow_everything, follow_scopes, new_flow
from rolecall_analysis.flow.graph import SURE
from rolecall_analysis.flow.guesses import guess_calls
from rolecall_analysis.flow.overrides import add_overrides
from rolecall_analysis.flow.places import Places, places_in
from rolecall_analysis.flow.reading import read_module
from rolecall_analysis.flow.state import EdgeKey, Flow
from rolecall_analysis.modules import SOURCE_SUFFIXES, location_of
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Position, Span

ReadText = Callable[[str], str | None]

MAX_CALLING_FILES = 60
"""Files in which callers are looked for, the nearest first."""
MAX_CALLING_SCOPES = 400
"""Functions in which they are looked for."""
MAX_PASSING_SCOPES = 40
"""The same, where they only matter for what they pass."""


@dataclass(frozen=True, slots=True)
class CallEdge:
    """A call that may run a function of the repository."""

    caller_path: str
    caller_name: str
    """Qualified within its module; empty for code of the module itself."""
    callee_path: str
    callee_name: str
    certain: bool
    """Whether what the code does was followed all the way from the definition to this call."""
    rule: str
    """Why it is thought so: ``name in scope``, ``import``, ``attribute of self``, ``inherited``, ``super``,
    ``value flow``, ``type annotation``, ``same name``, ``property``, ``decorator``, ``with statement``, ``iteration``,
    ``operator``, ``raise``, ``passed function``, ``container``, ``override``."""
    span: Span
    """The whole call, or what stands for it."""


def call_graph(snapshot: Snapshot, read_text: ReadText, below: str = "") -> tuple[CallEdge, ...]:
    """Every call of the Python files below the folder *below* to functions of the repository, in source order.

    *read_text* gives the text of a path, None if there is none. Calls of a class are calls of its ``__init__``.
    """
    flow = new_flow(snapshot.modules, _reader(read_text, read_module), is_whole=True)
    prefix = f"{below.strip('/')}/" if below.strip("/") else ""
    wanted = sorted(path for path in snapshot.modules.files.values() if path.startswith(prefix))
    follow_everything(flow, [location_of(path) for path in wanted])
    return _edges(flow, [key for key in flow.edges if key[0].startswith(prefix)])


def edges_as_dotted(
    edges: Iterable[CallEdge], below: str = "", *, has_operators: bool = False
) -> dict[str, list[dict[str, str | bool]]]:
    """*edges* as ``{caller: [{"callee": name, "certain": whether}]}``, modules named by their path below a folder.

    Operators that run a method, such as ``a + b``, are left out unless *has_operators*.
    """
    found: dict[str, dict[str, bool]] = {}
    for edge in edges:
        if edge.rule == "operator" and not has_operators:
            continue
        caller = dotted_name(edge.caller_path, edge.caller_name, below)
        callee = dotted_name(edge.callee_path, edge.callee_name, below)
        callees = found.setdefault(caller, {})
        callees[callee] = callees.get(callee, False) or edge.certain
    return {
        caller: [{"callee": callee, "certain": is_certain} for callee, is_certain in sorted(callees.items())]
        for caller, callees in sorted(found.items())
    }


def dotted_name(path: str, name: str, below: str = "") -> str:
    """The dotted name of a definition: its module's path below a folder, then its qualified name."""
    location = location_of(path).removeprefix(f"{below.strip('/')}/" if below.strip("/") else "")
    return ".".join(part for part in (location.replace("/", "."), name) if part)


def callees_at(snapshot: Snapshot, read_text: ReadText, path: str, position: Position) -> tuple[CallEdge, ...]:
    """The functions that the innermost call around *position* may run, the certain ones first."""
    code = _reader(read_text, _cached_code)(path)
    if code is None:
        return ()
    offset = places_in(code.source).offset(position)
    scope = _innermost(code, offset)
    flow = new_flow(snapshot.modules, _reader(read_text, _cached_code), is_whole=False)
    follow_scopes(flow, [(code, scope)])
    if not _edges_around(flow, path, offset):
        follow_scopes(flow, _calling(snapshot, read_text, path, scope, MAX_PASSING_SCOPES))
        guess_calls(flow, _definers(snapshot, read_text))
    found = _edges_around(flow, path, offset)
    edges = _edges(flow, found)
    return tuple(sorted(edges, key=lambda edge: not edge.certain))


def callers_of(snapshot: Snapshot, read_text: ReadText, path: str, name: str) -> tuple[CallEdge, ...]:
    """The calls that may run the function, method or class *name* (qualified) of the file *path*, in source order.

    Files in which neither its name nor, for ``__init__`` and the like, its class's name occurs are not searched.
    """
    code = _reader(read_text, _cached_code)(path)
    if code is None:
        return ()
    targets = [scope for scope in code.scopes if scope.qualified_name in (name, f"{name}.__init__")]
    flow = new_flow(snapshot.modules, _reader(read_text, _cached_code), is_whole=False)
    follow_scopes(flow, [(code, scope) for scope in targets])
    for scope in targets:
        follow_scopes(flow, _calling(snapshot, read_text, path, scope, MAX_CALLING_SCOPES))
    add_overrides(flow)
    guess_calls(flow, _definers(snapshot, read_text))
    indices = {scope.index for scope in targets}
    found = [key for key in flow.edges if key[2] == path and key[3] in indices]
    return _edges(flow, found)


_cached_code = lru_cache(maxsize=512)(read_module)


def _reader(read_text: ReadText, read: Callable[[str, str], ModuleCode]) -> Callable[[str], ModuleCode | None]:
    def read_code(path: str) -> ModuleCode | None:
        text = read_text(path) if path.endswith(SOURCE_SUFFIXES) else None
        return None if text is None else read(path, text)

    return read_code


def _calling(
    snapshot: Snapshot, read_text: ReadText, path: str, scope: Scope, max_scopes: int
) -> Iterable[tuple[ModuleCode, Scope]]:
    """The scopes that use the name by which *scope* is called."""
    names = _called_as(scope)
    read_code = _reader(read_text, _cached_code)
    codes = map(read_code, _mentioning(snapshot, names, path)[: min(MAX_CALLING_FILES, max_scopes)])
    found = (
        (code, inner)
        for code in codes
        if code is not None
        for inner in code.scopes
        if any(_uses(block, names) for block in inner.blocks)
    )
    return islice(found, max_scopes)


def _called_as(scope: Scope) -> frozenset[str]:
    is_method = scope.parent is not None and scope.parent.kind == "class"
    if is_method and scope.name.startswith("__") and scope.parent is not None:
        return frozenset({scope.name, scope.parent.name})
    if scope.kind == "lambda" and scope.parent is not None:
        return frozenset({scope.parent.name})
    return frozenset({scope.name})


def _mentioning(snapshot: Snapshot, names: frozenset[str], near: str) -> list[str]:
    """The files in which one of *names* occurs: *near* itself, then its folder's, then the others."""
    folder = near.rpartition("/")[0]
    found = {near, *(path for name in names for path in snapshot.mentioning(name))}
    return sorted(found, key=lambda path: (path != near, path.rpartition("/")[0] != folder, path))


def _uses(block: Block, names: frozenset[str]) -> bool:
    return (
        not names.isdisjoint(block.uses)
        or any(load[2] in names for load in block.loads)
        or any(step.name in names for step in block.calls)
    )


def _definers(snapshot: Snapshot, read_text: ReadText) -> Callable[[str], Iterable[tuple[ModuleCode, Scope]]]:
    read_code = _reader(read_text, _cached_code)

    def find(name: str) -> Iterable[tuple[ModuleCode, Scope]]:
        paths = [
            path
            for path in snapshot.mentioning(name)
            if any(known.name == name and known.kind == "method" for known in snapshot.files[path].definitions)
        ]
        codes = [read_code(path) for path in sorted(paths)] if len(paths) <= 8 else []
        return [(code, scope) for code in codes if code is not None for scope in code.scopes if scope.name == name]

    return find


def _innermost(code: ModuleCode, offset: int) -> Scope:
    around = [scope for scope in code.scopes if scope.start <= offset < scope.end]
    return max(around, key=lambda scope: (scope.start, scope.index), default=code.scopes[0])


def _edges_around(flow: Flow, path: str, offset: int) -> list[EdgeKey]:
    around = [key for key in flow.edges if key[0] == path and key[4] <= offset < key[5]]
    shortest = min((key[5] - key[4] for key in around), default=0)
    return [key for key in around if key[5] - key[4] == shortest]


def _edges(flow: Flow, keys: Iterable[EdgeKey]) -> tuple[CallEdge, ...]:
    found: list[CallEdge] = []
    places: dict[str, Places] = {}
    for key in sorted(keys, key=lambda key: (key[0], key[4], key[5], key[2], key[3])):
        caller_path, caller, callee_path, callee, start, end = key
        reason, rule = flow.edges[key]
        caller_code = flow.codes[caller_path]
        if caller_path not in places:
            places[caller_path] = places_in(caller_code.source)
        found.append(
            CallEdge(
                caller_path,
                caller_code.scopes[caller].qualified_name,
                callee_path,
                flow.codes[callee_path].scopes[callee].qualified_name,
                reason == SURE,
                rule,
                places[caller_path].span(start, end),
            )
        )
    # Two definitions of one name are one function to a reader.
    return tuple(dict.fromkeys(found))
