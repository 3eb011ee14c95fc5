"""The questions to the flow of values: all calls of a workspace, those at a place, those of a function."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import closing, contextmanager

from rolecall_analysis.flow.answers.calls import CallEdge, as_edges
from rolecall_analysis.flow.answers.mentioning import (
    EVERYWHERE,
    PASSING,
    Reach,
    ReadText,
    called_as,
    code_reader,
    method_definers,
    names_holding,
    scopes_using,
)
from rolecall_analysis.flow.answers.places import places_in
from rolecall_analysis.flow.code import FlowScope, ModuleCode
from rolecall_analysis.flow.engine import follow_everything, follow_scopes, new_flow
from rolecall_analysis.flow.reading import read_module
from rolecall_analysis.flow.receivers.certainty import doubt_choices, doubt_parameters
from rolecall_analysis.flow.receivers.guesses import guess_calls
from rolecall_analysis.flow.receivers.overrides import add_overrides
from rolecall_analysis.flow.sites import Site
from rolecall_analysis.flow.state import EdgeKey, Flow
from rolecall_analysis.modules import location_of
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Position


@contextmanager
def _without_collection() -> Generator[None]:
    """Nothing of a flow is garbage before its answer is there, and a collector that looks anyway doubles the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_without_collection()
def call_graph(snapshot: Snapshot, read_text: ReadText, below: str = "") -> tuple[CallEdge, ...]:
    """Return every call of the Python files below the folder *below* to functions of the repository, in source order.

    *read_text* gives the text of a path, None if there is none. Calls of a class are calls of its ``__init__``.
    """
    prefix = f"{below.strip('/')}/" if below.strip("/") else ""
    wanted = sorted(path for path in snapshot.modules.files.values() if path.startswith(prefix))
    # Not the reader that remembers: a whole repository would push out of it what an editor asks about.
    with closing(new_flow(snapshot.modules, code_reader(read_text, read_module), is_whole=True)) as flow:
        follow_everything(flow, [location_of(path) for path in wanted])
        return as_edges(flow, [key for key in flow.edges if key[0].startswith(prefix)])


@_without_collection()
def callees_at(snapshot: Snapshot, read_text: ReadText, path: str, position: Position) -> tuple[CallEdge, ...]:
    """Return the functions that the innermost call around *position* may run, the certain ones first."""
    read_code = code_reader(read_text)
    code = read_code(path)
    if code is None:
        return ()
    offset = places_in(code.source).offset(position)
    scope = _innermost(code, offset)
    with closing(new_flow(snapshot.modules, read_code, is_whole=False)) as flow:
        follow_scopes(flow, [(code, scope)])
        if not _edges_around(flow, path, offset):
            # What the parameters hold is known only from those who call the scope.
            follow_scopes(flow, scopes_using(snapshot, read_code, called_as(scope), path, PASSING))
            guess_calls(flow, method_definers(snapshot, read_code), lambda site: _is_around(site, path, offset))
        doubt_choices(flow)
        doubt_parameters(flow)
        edges = as_edges(flow, _edges_around(flow, path, offset))
    return tuple(sorted(edges, key=lambda edge: not edge.certain))


@_without_collection()
def callers_of(
    snapshot: Snapshot, read_text: ReadText, path: str, name: str, reach: Reach = EVERYWHERE
) -> tuple[CallEdge, ...]:
    """Return the calls that may run the function, method or class *name* (qualified) of the file *path*, in source
    order.

    Searched are files in which its name occurs, or, for ``__init__`` and the like, its class's; then those with the
    names of what was found to hold it: a table of functions, an attribute.
    """
    read_code = code_reader(read_text)
    code = read_code(path)
    targets = [scope for scope in code.scopes if scope.qualified_name in (name, f"{name}.__init__")] if code else []
    if code is None or not targets:
        return ()
    names, indices = {scope.name for scope in targets}, {scope.index for scope in targets}
    with closing(new_flow(snapshot.modules, read_code, is_whole=False)) as flow:
        follow_scopes(flow, [(code, scope) for scope in targets])
        for scope in targets:
            follow_scopes(flow, scopes_using(snapshot, read_code, called_as(scope), path, reach))
        if holders := names_holding(flow, targets):
            follow_scopes(flow, scopes_using(snapshot, read_code, holders, path, reach))
        doubt_choices(flow)
        doubt_parameters(flow)
        add_overrides(flow)
        guess_calls(flow, method_definers(snapshot, read_code), lambda site: site.name in names)
        return as_edges(flow, [key for key in flow.edges if key[2] == path and key[3] in indices])


def _innermost(code: ModuleCode, offset: int) -> FlowScope:
    around = [scope for scope in code.scopes if scope.start <= offset < scope.end]
    return max(around, key=lambda scope: (scope.start, scope.index), default=code.scopes[0])


def _is_around(site: Site, path: str, offset: int) -> bool:
    return site.frame.module.path == path and site.start <= offset < site.end


def _edges_around(flow: Flow, path: str, offset: int) -> list[EdgeKey]:
    around = [key for key in flow.edges if key[0] == path and key[4] <= offset < key[5]]
    shortest = min((key[5] - key[4] for key in around), default=0)
    return [key for key in around if key[5] - key[4] == shortest]
