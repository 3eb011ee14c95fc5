"""`rolecall/graph`: what lies around a symbol or a module, for a client that draws it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lsprotocol import types
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pygls.exceptions import JsonRpcInvalidParams

from rolecall_analysis import Definition, Position, Span, enclosing_definition, find_definition
from rolecall_analysis.languages import language_of
from rolecall_analysis.queries.surroundings import (
    Connection,
    GraphPlace,
    SurroundingKind,
    Surroundings,
    is_for_tests,
    surroundings,
)
from rolecall_server.errors import FileRefused
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.untyped import plain
from rolecall_server.lsp.view import View, ask_when_read
from rolecall_server.workspace import Workspace, why_private

_TOP = Span(Position(0, 0), Position(0, 0))


class _Spot(BaseModel):
    line: int = Field(ge=0)
    character: int = Field(ge=0)


class _Question(BaseModel):
    """The parameters of the request."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    uri: str
    position: _Spot | None = None
    symbol: str | None = None
    kind: SurroundingKind = "calls"
    steps: int = Field(default=1, ge=1, le=8)
    limit: int = Field(default=200, ge=1, le=2_000)
    possible: bool = False
    tests: bool = True
    for_model: bool = False
    """Without the files that are kept from models."""


async def graph(ls: RolecallServer, params: Any) -> dict[str, Any]:
    """Return the callers and callees of a symbol, what a change of it touches, or the modules around its own.

    Raises:
        JsonRpcInvalidParams: the parameters are none.
    """
    try:
        question = _Question.model_validate(plain(params))
    except ValidationError as error:
        first = error.errors()[0]
        raise JsonRpcInvalidParams(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    try:
        folder, path = ls.session.place(question.uri)
    except FileRefused as error:
        return _nothing(str(error))
    if language_of(path) is None:
        return _nothing(f"The code graph does not read {path}. Open a source file.")
    return await ask_when_read(ls, folder, lambda view: _answer(view, path, question))


def _nothing(problem: str) -> dict[str, Any]:
    return {"problem": problem, "center": None, "nodes": [], "edges": [], "leftOut": {}, "isComplete": True}


def _answer(view: View, path: str, question: _Question) -> dict[str, Any]:
    if path not in view.snapshot.files:
        return _nothing(f"{path} is not in the code graph: it is ignored, too large, or not read yet. Try again later.")
    centre = _centre(view, path, question)
    workspace = Workspace(view.root)
    if question.for_model and (private := why_private(workspace, path) or why_private(workspace, centre[0])):
        return _nothing(private)
    found = surroundings(
        view.snapshot,
        centre,
        question.kind,
        steps=question.steps,
        limit=question.limit,
        with_possible=question.possible,
        with_tests=question.tests,
    )
    paths = {path for path, _ in found.distances}
    kept = {path for path in paths if question.for_model and why_private(workspace, path)}
    shown = (place for place in found.distances if place[0] not in kept)
    places = sorted(shown, key=lambda place: (abs(found.distances[place]), place))
    numbers = {place: number for number, place in enumerate(places)}
    return {
        "problem": "",
        "center": numbers[centre],
        "nodes": [_node(view, place, found.distances[place]) for place in places],
        "edges": [_edge(numbers, each) for each in found.connections if numbers.keys() >= _ends(each)],
        "leftOut": _left_out(found),
        "isComplete": found.is_complete,
    }


def _centre(view: View, path: str, question: _Question) -> GraphPlace:
    """Return the place that is meant: the symbol named, the one under the cursor, the one around it, or the module."""
    if question.symbol is not None:
        named = find_definition(view.snapshot, path, question.symbol)
        centre = (path, named.qualified_name if named is not None else "")
    elif question.position is not None:
        centre = _place_at(view, path, types.Position(question.position.line, question.position.character))
    else:
        centre = (path, "")
    return (centre[0], "") if question.kind == "modules" else centre


def _place_at(view: View, path: str, position: types.Position) -> GraphPlace:
    for destination in view.destinations(path, position):
        definition = destination.definition
        if definition is None:
            return destination.path, ""
        if definition.kind != "variable":
            return definition.path, definition.qualified_name
    around = enclosing_definition(view.snapshot, path, view.place(path, position))
    return path, around.qualified_name if around is not None else ""


def _node(view: View, place: GraphPlace, distance: int) -> dict[str, Any]:
    path, name = place
    definition = find_definition(view.snapshot, path, name) if name else None
    return {
        "name": name or path.rpartition("/")[2],
        "kind": definition.kind if definition is not None else "module",
        "symbol": name,
        "path": path,
        "uri": view.uri(path),
        "range": _range(view, path, definition),
        "distance": distance,
        "test": is_for_tests(view.snapshot, path),
    }


def _range(view: View, path: str, definition: Definition | None) -> types.Range:
    return view.range(path, definition.name_span if definition is not None else _TOP)


def _ends(connection: Connection) -> set[GraphPlace]:
    return {connection.dependent, connection.dependency}


def _edge(numbers: Mapping[GraphPlace, int], connection: Connection) -> dict[str, Any]:
    return {
        "from": numbers[connection.dependent],
        "to": numbers[connection.dependency],
        "certain": connection.certain,
        "rule": connection.rule,
    }


def _left_out(found: Surroundings) -> dict[str, int]:
    return {
        "dependents": found.n_dependents_left_out,
        "dependencies": found.n_dependencies_left_out,
        "possible": found.n_possible_left_out,
        "tests": found.n_tests_left_out,
    }
