"""The form of a call: a template, and the operands that fill it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from rolecall_server.craft.characterization.inputs.survey import CallTarget
from rolecall_server.craft.characterization.observation import CandidateCall


def build(target: CallTarget, given: Mapping[str, str], receiver: str = "", more: Sequence[str] = ()) -> CandidateCall:
    """Return a call of *target* with the parameters *given* as expressions, and *more* positional ones after them."""
    names: list[str] = []
    operands: list[str] = []

    def operand(name: str, source: str) -> str:
        names.append(name)
        operands.append(source)
        return f"{{{len(operands) - 1}}}"

    callee = target.qualified_name
    if target.kind in ("method", "property"):
        place = operand(snake_case(target.owner), receiver)
        if target.kind == "property":
            return CandidateCall(target.qualified_name, f"{place}.{target.name}", tuple(operands), tuple(names))
        callee = place if target.name == "__call__" else f"{place}.{target.name}"
    arguments = list(_arguments(target, given, more, operand))
    template = target.operation or f"{callee}({', '.join(arguments)})"
    if target.is_async:
        template = f"asyncio.run({template})"
    return CandidateCall(target.qualified_name, template, tuple(operands), tuple(names))


def _arguments(
    target: CallTarget, given: Mapping[str, str], more: Sequence[str], operand: Callable[[str, str], str]
) -> Iterator[str]:
    by_position = True
    for parameter in target.parameters:
        if parameter.many == "*":
            stem = parameter.name.removesuffix("s")
            yield from (operand(f"{stem}_{number}", source) for number, source in enumerate(more, 1))
            by_position = False
        elif parameter.many == "**":
            known = {one.name for one in target.parameters}
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
