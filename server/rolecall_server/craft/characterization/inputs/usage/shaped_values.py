"""Expressions for values of a shape: dictionaries with the keys that are read, objects with the attributes, lists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rolecall_server.craft.characterization.inputs.domains import ValueSources, expressions, expressions_of, interleaved
from rolecall_server.craft.characterization.inputs.text_forms import FORMS
from rolecall_server.craft.characterization.inputs.usage.likely_types import PLAIN_TYPES, types_by_name, types_named
from rolecall_server.craft.characterization.inputs.usage.shapes import Shape

_MAX_VALUES = 24
_MAX_PARTS = 12
"""A value of which more parts are read is not made."""
_MAX_DEPTH = 6
_LONGEST = 240
_OF_A_TYPE = 3
_ANY = ("'a'", "1")
_OF_MOCKS = frozenset({"name", "spec", "side_effect", "return_value", "wraps", "mock_calls", "method_calls"})
"""Attributes that mean something else to a mock."""

_TELLING = PLAIN_TYPES - {"Any", "object", "None"}

_Path = tuple[str, ...]


@dataclass(frozen=True)
class _PartChoice:
    """One choice among the values of all parts."""

    turn: int = 0
    """The number of the value that each part has."""
    but: Mapping[_Path, int] = field(default_factory=dict[_Path, int])
    """Parts that have another one."""
    without: _Path | None = None
    """A key that is missing, or all items of a list."""


def shaped_values(shape: Shape, sources: ValueSources, *, mocks: bool = False) -> list[str]:
    """Return expressions of values that have the parts of *shape*, the plainest first: with *mocks* those for which one
    is needed, as methods are called, else those without any.
    """
    writer = _Writer(sources)
    if not shape.has_parts or not _is_small(shape) or mocks != _has_methods(shape):
        return []
    writer.write(shape, (), _PartChoice())
    leaves = dict(writer.values)
    choices = [_PartChoice(turn) for turn in range(2)]
    choices += [_PartChoice(but={path: number}) for path, values in leaves.items() for number in range(1, len(values))]
    choices += [_PartChoice(without=path) for path in writer.may_miss]
    found = (writer.write(shape, (), choice) for choice in choices[: 2 * _MAX_VALUES])
    return list(dict.fromkeys(text for text in found if len(text) <= _LONGEST))[:_MAX_VALUES]


def _has_methods(shape: Shape) -> bool:
    """Return whether a value of *shape* or of one of its parts has methods that are called."""
    return _is_object_with_methods(shape) or any(map(_has_methods, _parts(shape)))


def _is_object_with_methods(shape: Shape) -> bool:
    return bool(shape.answers or (shape.attributes and shape.plain_methods))


def _is_small(shape: Shape, depth: int = 0) -> bool:
    n_parts = len(shape.keys) + len(shape.attributes) + len(shape.answers)
    return n_parts <= _MAX_PARTS and depth <= _MAX_DEPTH and all(_is_small(one, depth + 1) for one in _parts(shape))


def _parts(shape: Shape) -> Iterator[Shape]:
    yield from (*shape.keys.values(), *shape.attributes.values(), *shape.answers.values(), *shape.items)


class _Writer:
    """Writes values, and remembers the parts among which there is a choice."""

    def __init__(self, sources: ValueSources) -> None:
        self._sources = sources
        self.values: dict[_Path, Sequence[str]] = {}
        self.may_miss: dict[_Path, None] = {}

    def write(self, shape: Shape, path: _Path, choice: _PartChoice) -> str:
        """Return the value of *shape* at *path* that *choice* chooses."""
        if shape.attributes or shape.answers:
            return self._object(shape, path, choice)
        if shape.keys:
            return self._dictionary(shape, path, choice)
        if shape.items:
            return self._list(shape, path, choice)
        values = self.values.get(path)
        if values is None:
            values = self.values[path] = leaf_values(shape, path[-1] if path else "", self._sources)
        return values[choice.but.get(path, choice.turn) % len(values)]

    def _dictionary(self, shape: Shape, path: _Path, choice: _PartChoice) -> str:
        pairs: list[str] = []
        for key, part in shape.keys.items():
            below = (*path, key)
            if key in shape.optional:
                self.may_miss[below] = None
            if choice.without != below:
                pairs.append(f"{key!r}: {self.write(part, below, choice)}")
        return f"{{{', '.join(pairs)}}}"

    def _list(self, shape: Shape, path: _Path, choice: _PartChoice) -> str:
        all_items = (*path, "[]")
        self.may_miss[all_items] = None
        if choice.without == all_items:
            return "[]"
        items = [self.write(one, (*path, ""), choice) for one in shape.items]
        # In all choices but the first a second one, which differs: what is done for each is then done twice.
        items += [self.write(one, (*path, ""), _PartChoice(choice.turn + 1)) for one in shape.items if choice.turn]
        return f"[{', '.join(items)}]"

    def _object(self, shape: Shape, path: _Path, choice: _PartChoice) -> str:
        written = {name: self.write(part, (*path, name), choice) for name, part in shape.attributes.items()}
        if not _is_object_with_methods(shape):
            return f"SimpleNamespace({', '.join(f'{name}={value}' for name, value in written.items())})"
        words = [f"{name}={value}" for name, value in written.items() if name not in _OF_MOCKS]
        told = {
            name: part
            for name, part in shape.answers.items()
            if part.has_parts or part.compared or part.types or _returned(name, self._sources)
        }
        given = {name: self.write(part, (*path, name), choice) for name, part in told.items()}
        words += [f"return_value={given.pop('')}"] if "" in given else []
        awaited = {
            name: f"return_value={given[name]}" if name in given else "" for name in sorted(shape.awaited - {""})
        }
        words += [f"{name}=AsyncMock({answer})" for name, answer in awaited.items()]
        answers = [f"'{name}.return_value': {value}" for name, value in given.items() if name not in awaited]
        words += [f"**{{{', '.join(answers)}}}"] if answers else []
        kind = "AsyncMock" if "" in shape.awaited else "MagicMock"
        return f"{kind}({', '.join(words)})"


def leaf_values(shape: Shape, name: str, sources: ValueSources) -> list[str]:
    """Return values for a part of which no parts are read, and one beside those it is compared with."""
    compared = [value for value in dict.fromkeys(shape.compared) if value != "None"]
    kinds = [kind for kind in dict.fromkeys(shape.types) if kind != "bool"] or types_by_name(name)
    types = sorted(kinds, key=lambda kind: kind not in FORMS)
    typed = _returned(name, sources) or interleaved(*(expressions_of(kind, sources)[:_OF_A_TYPE] for kind in types[:2]))
    if compared:
        alike = [value for value in typed if value not in compared and _is_text(value) == _is_text(compared[-1])]
        typed = alike or [_beside(compared[-1])]
        return [*compared[:6], *typed[:2], *(["None"] if "None" in shape.compared else [])]
    if not typed and "bool" in shape.types:
        typed = ["True", "False"]
    return [*(typed or _ANY), *(["None"] if "None" in shape.compared else [])]


def _returned(method: str, sources: ValueSources) -> list[str]:
    """Return a few values of the plain type that the repository says a method of that name returns."""
    classes = (*sources.survey.classes.values(), *sources.classes.values())
    methods = (one for node in classes for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    annotations = (one.returns for one in methods if one.name == method and one.returns is not None)
    said = next((one for one in annotations if types_named(one) <= _TELLING), None)
    return [] if said is None else [value for value in expressions(said, sources)[:_OF_A_TYPE] if value != "None"]


def _is_text(source: str) -> bool:
    return source[:1] in "'\""


def _beside(literal: str) -> str:
    """Return another literal of the kind."""
    if literal in ("True", "False"):
        return str(literal == "False")
    return str(int(literal) + 1) if re.fullmatch(r"\d+", literal) else "'other'"
