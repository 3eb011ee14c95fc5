"""The form of a call: a template, and the operands that fill it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from rolecall_server.craft.characterization.inputs.survey import CallableParameter, CallTarget, operation_of
from rolecall_server.craft.characterization.observation import LIKELY, THROUGH_ANOTHER, CandidateCall

THROUGH = "through_"
"""So begins the name of a test that calls a function of another module."""


def build(target: CallTarget, given: Mapping[str, str], receiver: str = "", more: Sequence[str] = ()) -> CandidateCall:
    """Return a call of *target* with the parameters *given* as expressions, and *more* positional ones after them."""
    form = _Form()
    place = form.operand(snake_case(target.owner), receiver) if target.is_of_object else ""
    return _built(form, target, place, given, more)


def build_with_receiver(
    target: CallTarget, given: Mapping[str, str], maker: CallTarget, made_with: Mapping[str, str]
) -> CandidateCall:
    """Return a call of *target* on an object that *maker*, its class, builds in the call, of operands *made_with*."""
    form = _Form()
    place = f"{maker.qualified_name}({', '.join(_arguments(maker.parameters, made_with, (), form.operand))})"
    return _built(form, target, place, given, ())


def _built(form: _Form, target: CallTarget, place: str, given: Mapping[str, str], more: Sequence[str]) -> CandidateCall:
    """Return the call of *target* in *form*, of the object at *place* where it needs one."""
    callee = target.qualified_name
    if place:
        if target.kind == "property":
            return form.call(target.qualified_name, f"{place}.{target.name}")
        if target.kind == "setter":
            attribute = target.qualified_name.split(".")[-2]
            value = next(_arguments(target.parameters, given, more, form.operand), "None")
            return form.call(target.qualified_name, f"setattr({place}, {attribute!r}, {value})")
        callee = place if target.name == "__call__" else f"{place}.{target.name}"
    arguments = list(_arguments(target.parameters, given, more, form.operand))
    template = target.operation or f"{callee}({', '.join(arguments)})"
    if target.is_async:
        template = f"asyncio.run({template})"
    return form.call(target.qualified_name, template)


def build_way(
    callee: str, parameters: Sequence[CallableParameter], given: Mapping[str, str], receiver: str, more: Sequence[str]
) -> CandidateCall:
    """Return a call of *callee*, a function or class of another module, or a method of its object *receiver*."""
    form = _Form()
    place = form.operand("subject", receiver) if receiver else ""
    arguments = list(_arguments(parameters, given, more, form.operand))
    name = callee.rpartition(".")[2]
    template = f"{place}.{name}({', '.join(arguments)})" if place else f"{callee}({', '.join(arguments)})"
    if place and arguments in (["{1}"], []):
        template = operation_of(name, len(arguments)) or template
    return replace(form.call(f"{THROUGH}{snake_case(name)}", template), origin=THROUGH_ANOTHER)


def call_of_result(call: CandidateCall, given: Mapping[str, str]) -> CandidateCall:
    """Return *call* with the function that it gives called in turn, with what is *given* by name."""
    places = range(len(call.operands), len(call.operands) + len(given))
    return replace(
        call,
        template=f"{call.template}({', '.join(f'{{{place}}}' for place in places)})",
        operands=(*call.operands, *given.values()),
        names=(*call.names, *given),
        origin=max(call.origin, LIKELY),
    )


class _Form:
    """The operands of a call, in their order."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._sources: list[str] = []

    def operand(self, name: str, source: str) -> str:
        """Add an operand and return what stands for it in the template."""
        self._names.append(name)
        self._sources.append(source)
        return f"{{{len(self._sources) - 1}}}"

    def call(self, target: str, template: str) -> CandidateCall:
        return CandidateCall(target, template, tuple(self._sources), tuple(self._names))


def _arguments(
    parameters: Sequence[CallableParameter],
    given: Mapping[str, str],
    more: Sequence[str],
    operand: Callable[[str, str], str],
) -> Iterator[str]:
    by_position = True
    for parameter in parameters:
        if parameter.many == "*":
            stem = parameter.name.removesuffix("s")
            yield from (operand(f"{stem}_{number}", source) for number, source in enumerate(more, 1))
            by_position = False
        elif parameter.many == "**":
            known = {one.name for one in parameters}
            yield from (f"{name}={operand(name, source)}" for name, source in given.items() if name not in known)
        elif parameter.name not in given:
            by_position = by_position and parameter.positional_only
        else:
            word = operand(parameter.name, given[parameter.name])
            plain = by_position and not parameter.keyword_only and (parameter.default is None or bool(more))
            yield word if plain or parameter.positional_only else f"{parameter.name}={word}"


def snake_case(name: str) -> str:
    """``VersionInfo`` as ``version_info``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower().strip("_") or "value"
