"""Calls with stand-ins: mocks in the place of objects that nothing in the repository makes, or that would reach out.

A client that sends is the usual case: with a mock as its transport a test can say what it sends. A mock is given to the
call or to the class of the object it needs, or is set as an attribute of that object, or takes the place of a name that
the module imports. A constant of the module may be another one in the same way.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random

from rolecall_server.craft.characterization.inputs.call_forms import build, build_with_receiver, snake_case
from rolecall_server.craft.characterization.inputs.domains import ValueSources, instances_of, rows_of
from rolecall_server.craft.characterization.inputs.related import related_nodes
from rolecall_server.craft.characterization.inputs.survey import AnyFunction, CallableParameter, CallTarget
from rolecall_server.craft.characterization.inputs.usage.likely_types import (
    ANYTHING,
    PLAIN_TYPES,
    likely_types,
    treated_as,
    types_named,
)
from rolecall_server.craft.characterization.inputs.usage.parameter_values import values_for
from rolecall_server.craft.characterization.inputs.usage.shaped_values import shaped_values
from rolecall_server.craft.characterization.inputs.usage.shapes import methods_of, shapes_of
from rolecall_server.craft.characterization.inputs.variation import vary_expression
from rolecall_server.craft.characterization.observation import STOOD_IN, CandidateCall, Observation
from rolecall_server.python_trees import parse_expression

_STAND_IN = "MagicMock()"
_TO_AWAIT = ("AsyncMock()", "MagicMock(return_value=AsyncMock())")
_MAX_CALLS = 60
"""In each of the ways to put a mock."""
_MAX_MAKERS = 4
_MAX_RECEIVERS = 2
_MAX_PATCHED = 8
_VARIATIONS = 16
_VARIATIONS_OF_ITEM = 6
_MAX_PARTS_OF_CONSTANT = 24
_NEAR = 2
"""So many names away from the target a name of the module is still replaced."""
_VALUES = 5
_VALUES_OF_OTHERS = 3
"""Of each parameter that need not be given."""
_REACHING = frozenset(
    {
        *("asyncio", "ftplib", "getpass", "http", "imaplib", "multiprocessing", "poplib", "select", "shutil"),
        *("smtplib", "socket", "ssl", "subprocess", "telnetlib", "threading", "time", "urllib", "webbrowser"),
    }
)
"""Modules of the standard library that reach beyond the process, or wait."""
_ERRORS = ("Error", "Exception", "Warning")


def is_stand_in(source: str) -> bool:
    """Return whether an expression makes a mock."""
    return source.startswith(("MagicMock(", "AsyncMock("))


def holds_stand_in(source: str) -> bool:
    """Return whether an expression makes a mock, or something that holds one."""
    return "Mock(" in source


def with_stand_ins(
    target: CallTarget, maker: CallTarget | None, sources: ValueSources, module: str
) -> list[CandidateCall]:
    """Return calls of *target*, of the *module* of that dotted name, in which mocks stand in for objects.

    *maker* builds the objects of its class, where it needs one.
    """
    subject = _Subject(target, maker, sources)
    found = (_given(subject), _set(subject), _patched(subject, module), _with_constants(subject, module))
    calls = (call for ways in found for call in islice(ways, _MAX_CALLS))
    return [replace(call, origin=STOOD_IN) for call in dict.fromkeys(calls)]


def passed_on(seen: Mapping[CandidateCall, Observation]) -> dict[CandidateCall, CandidateCall]:
    """Return for the calls that give what a mock gave the calls that ask whether it is that."""
    return {
        call: replace(call, template=f"{call.template} is {one.source}")
        for call, one in seen.items()
        if one.source and call.origin == STOOD_IN
    }


@dataclass(frozen=True)
class _Subject:
    """A target, and what calls of it are made of."""

    target: CallTarget
    maker: CallTarget | None
    sources: ValueSources

    @property
    def stand_ins(self) -> tuple[str, ...]:
        """The mocks to try."""
        return (_STAND_IN, *_TO_AWAIT) if self.target.is_async else (_STAND_IN,)

    def plain(self) -> list[dict[str, str]]:
        """Return a few arguments without mocks: what must be given, then one more; none where that has no value."""
        plain = [one for one in self.target.parameters if not one.many]
        values = {one.name: values_for(self.target, one, self.sources)[:_VALUES] for one in plain}
        rows = list(rows_of({one.name: values[one.name] for one in plain if not one.optional}))
        further = [(one.name, value) for one in plain if one.optional for value in values[one.name]]
        return [*rows, *(rows[0] | {name: value} for name, value in further if rows)]

    def receivers(self) -> list[str]:
        """Return expressions of the object that a call needs, one with mocks where no other is known."""
        if not self.target.is_of_object:
            return [""]
        known = instances_of(self.target.owner, self.sources)[:_MAX_RECEIVERS]
        if known or self.maker is None:
            return known
        return [build(self.maker, given).source for given in islice(self.arguments(self.maker), 1)]

    def arguments(self, of: CallTarget) -> Iterator[dict[str, str]]:
        """Yield arguments for the parameters *of* a callable, with mocks for what may be an object.

        All objects that must be given are mocks at first, then one more, then one alone, then all; then each of the
        other parameters has a few values.
        """
        plain = [one for one in of.parameters if not one.many]
        objects = [one.name for one in plain if _may_be_object(of, one)]
        required = [one.name for one in plain if not one.optional]
        values = {one.name: values_for(of, one, self.sources)[:_VALUES] for one in plain}
        needed = frozenset(objects) & frozenset(required)
        some = (needed, *(needed | {name} for name in objects), *(frozenset({name}) for name in objects))
        yield from self._with_parts(of, objects, {name: values[name] for name in required})
        for mocked in dict.fromkeys([*some, frozenset(objects)]):
            for given in rows_of({name: values[name] for name in required if name not in mocked}):
                yield from (given | dict.fromkeys(sorted(mocked), one) for one in self.stand_ins)
        further = [(one.name, value) for one in plain if one.optional for value in values[one.name][:_VALUES_OF_OTHERS]]
        for given in islice(rows_of({name: values[name] for name in required if name not in needed}), 1):
            for stand_in in self.stand_ins:
                base = given | dict.fromkeys(sorted(needed), stand_in)
                yield from (base | {name: value} for name, value in further)

    def _with_parts(
        self, of: CallTarget, objects: Sequence[str], required: Mapping[str, Sequence[str]]
    ) -> Iterator[dict[str, str]]:
        """Yield arguments for *of* in which the objects that must be given have the parts that are read of them: mocks,
        where methods are called.
        """
        parts = {
            name: shaped_values(shape, self.sources, mocks=True)
            or (shaped_values(shape, self.sources) if name in objects else [])
            for name, shape in shapes_of(self.sources.survey.tree, of).items()
            if name in required
        }
        plain = {name: [_STAND_IN] if name in objects else given for name, given in required.items()}
        values = {name: parts.get(name) or given for name, given in plain.items()}
        if any(parts.values()) and all(values.values()):
            for row in range(max(map(len, values.values()))):
                # Each at its own pace, as else the same values would always come together.
                yield {name: each[row * (1 + place) % len(each)] for place, (name, each) in enumerate(values.items())}


def _given(subject: _Subject) -> Iterator[CandidateCall]:
    """Yield calls that are given mocks, or whose object is built of some."""
    target, maker = subject.target, subject.maker
    if not target.is_of_object:
        calls = [build(target, given) for given in subject.arguments(target)]
    else:
        arguments = list(subject.arguments(target))
        # An operator's template wants its object as an operand.
        makers = [maker] if maker is not None and not target.operation else []
        made = [(one, each) for one in makers for each in islice(subject.arguments(one), _MAX_MAKERS)]
        calls = [
            *(build_with_receiver(target, given, one, each) for one, each in made for given in arguments),
            *(build(target, given, one) for one in subject.receivers() for given in arguments),
        ]
    yield from (call for call in calls if any(map(holds_stand_in, call.operands)))


def _set(subject: _Subject) -> Iterator[CandidateCall]:
    """Yield calls on objects of which attributes are mocks: those whose methods the target calls."""
    names = _attributes_asked(subject.target, subject.sources.survey.classes)
    for receiver in subject.receivers() if names else ():
        for stand_in in subject.stand_ins:
            made = snake_case(subject.target.owner)
            steps = ", ".join(f"setattr({made}, {name!r}, {stand_in})" for name in names)
            source = f"[({made} := {receiver}), {steps}, {made}][-1]"
            yield from (build(subject.target, given, source) for given in subject.plain())


def _attributes_asked(target: CallTarget, classes: Mapping[str, ast.ClassDef]) -> list[str]:
    """Return the attributes of its object whose methods a method calls, without those that are plain values, and the
    methods it calls that its class has from elsewhere, as ``self.send(request)``, or leaves to others.
    """
    if not target.is_of_object or isinstance(target.node, ast.ClassDef) or not target.node.args.args:
        return []
    own = target.node.args.args[0].arg
    own_methods = methods_of(target.owner, classes)
    asked: dict[str, list[str]] = {}
    for node in ast.walk(target.node):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if name == own:
                if method not in own_methods or _is_left_to_others(own_methods[method]):
                    asked.setdefault(method, []).append("__call__")
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id=name), attr=attribute), attr=method) if (
                name == own
            ):
                asked.setdefault(attribute, []).append(method)
            case _:
                pass
    return [name for name, methods in asked.items() if not any(map(treated_as, methods))]


def _is_left_to_others(method: AnyFunction) -> bool:
    """Return whether a method does nothing but say that another class has to implement it."""
    last = method.body[-1]
    return isinstance(last, ast.Raise) and last.exc is not None and "NotImplementedError" in ast.unparse(last.exc)


def _patched(subject: _Subject, module: str) -> Iterator[CandidateCall]:
    """Yield calls for which mocks take the place of names that the *module* imports: of all, then of each."""
    names = _names_called(subject)
    groups = dict.fromkeys([tuple(names), *((name,) for name in names)])
    receivers, plain = subject.receivers(), subject.plain()
    parts = _parts_of(names, subject)
    for group in groups if names else ():
        in_turn = [{name: parts[name][row % len(parts[name])] for name in group} for row in range(_rows(group, parts))]
        calls = [build(subject.target, given, receiver) for given in plain[:1] for receiver in receivers[:1]]
        yield from (with_patches(call, given, module) for given in in_turn for call in calls)
        for given in plain:
            calls = [build(subject.target, given, receiver) for receiver in receivers]
            others = [dict.fromkeys(group, stand_in) for stand_in in subject.stand_ins]
            yield from (with_patches(call, other, module) for call in calls for other in others)


def _parts_of(names: Sequence[str], subject: _Subject) -> dict[str, list[str]]:
    """Return for each of the *names* of the module mocks that have the parts that the target reads of it."""
    shapes = shapes_of(subject.sources.survey.tree, subject.target, tuple(names))
    return {name: shaped_values(shapes[name], subject.sources, mocks=True) or [_STAND_IN] for name in names}


def _rows(group: Sequence[str], parts: Mapping[str, Sequence[str]]) -> int:
    """Return how many mocks there are of the one of *group* of which there are most; none where all are plain."""
    most = max(len(parts[name]) for name in group)
    return 0 if all(parts[name] == [_STAND_IN] for name in group) else most


def _with_constants(subject: _Subject, module: str) -> Iterator[CandidateCall]:
    """Yield calls for which a constant of the *module* that the target, or what it calls, reads is another one."""
    for name, value in dict(_constants_read(subject)).items():
        others = dict.fromkeys(_varied(value, subject.sources.strings, Random(name)))
        calls = [
            build(subject.target, given, one) for one in subject.receivers() for given in islice(subject.plain(), 1)
        ]
        yield from (with_patches(call, {name: other}, module) for call in calls for other in others)


def _varied(constant: ast.expr, strings: Sequence[str], random: Random) -> Iterator[str]:
    """Yield other values for a *constant*; of a tuple or list those in which one item is another."""
    if not isinstance(constant, ast.Tuple | ast.List):
        yield from _others(constant, _VARIATIONS, strings, random)
        return
    for place, item in enumerate(constant.elts):
        for other in _others(item, _VARIATIONS_OF_ITEM, strings, random):
            items = [*constant.elts[:place], parse_expression(other), *constant.elts[place + 1 :]]
            yield ast.unparse(type(constant)(items))


def _others(value: ast.expr, count: int, strings: Sequence[str], random: Random) -> list[str]:
    source = ast.unparse(value)
    varied = (vary_expression(source, strings, random) for _ in range(count))
    return [one for one in dict.fromkeys(varied) if one != source]


def _constants_read(subject: _Subject) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of the module that are bound to a literal and that the target, or what it calls, reads."""
    survey = subject.sources.survey
    related = related_nodes(survey, subject.target)
    for node in survey.tree.body:  # what a class binds is no name of the module
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if related.get(
                node, _NEAR + 1
            ) <= _NEAR and _is_literal(value):
                yield name, value
            case _:
                pass


def _is_literal(node: ast.expr) -> bool:
    """Return whether a value is written out, and has a part that can be another."""
    parts = [*ast.walk(node)]
    plain = ast.Constant | ast.Tuple | ast.List | ast.UnaryOp | ast.expr_context | ast.unaryop
    return all(isinstance(part, plain) for part in parts) and len(parts) <= _MAX_PARTS_OF_CONSTANT


def with_patches(call: CandidateCall, given: Mapping[str, str], module: str) -> CandidateCall:
    """Return *call* with the value *given* for each name in the place of that name of the *module*."""
    names = list(given)
    places = range(len(call.operands), len(call.operands) + len(names))
    return replace(
        call,
        operands=(*call.operands, *given.values()),
        names=(*call.names, *(snake_case(name) for name in names)),
        patched=tuple((place, f"{module}.{name}") for place, name in zip(places, names, strict=True)),
    )


def _names_called(subject: _Subject) -> list[str]:
    """Return the names that the target, or what it calls in its module, has from modules that may reach out, and
    calls.
    """
    imported = {
        name: dotted.partition(".")[0]
        for name, dotted in subject.sources.survey.imported.items()
        if not name.endswith(_ERRORS)
    }
    near = [
        node for node, distance in related_nodes(subject.sources.survey, subject.target).items() if distance <= _NEAR
    ]
    called = (name for node in near for name in _roots_called(node))
    found = (
        name
        for name in called
        if name in imported and (imported[name] in _REACHING or imported[name] not in sys.stdlib_module_names)
    )
    return [*dict.fromkeys(found)][:_MAX_PATCHED]


def _roots_called(node: ast.AST) -> Iterable[str]:
    """Yield the first name of all that is called: ``requests`` of ``requests.get(url)``."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call):
            function = one.func
            while isinstance(function, ast.Attribute):
                function = function.value
            if isinstance(function, ast.Name):
                yield function.id


def _may_be_object(target: CallTarget, parameter: CallableParameter) -> bool:
    """Return whether a parameter may take an object of which no value can be written."""
    if parameter.annotation is not None:
        return not types_named(parameter.annotation) <= PLAIN_TYPES
    default = parameter.default
    if default is not None and not (isinstance(default, ast.Constant) and default.value is None):
        return False
    return likely_types(target, parameter)[0] == ANYTHING
