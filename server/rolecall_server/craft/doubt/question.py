"""The question about a difference that can be seen, and what the Engineer is told of its answer."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rolecall_server.craft.characterization import CandidateCall, Observation
from rolecall_server.craft.characterization.observation import View
from rolecall_server.craft.doubt.disagreement import Behaviour
from rolecall_server.craft.doubt.solutions import ShortSolution
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.python_trees import parse_expression

_PROMPTS = prompts_beside(__file__)
_MOST_OF_VALUE = 300
"""Characters of a value in a question."""
_MOST_VIEWS = 4
"""So much is told of an object that cannot be written down whole."""


@dataclass(frozen=True)
class DoubtOption:
    """An answer that can be chosen."""

    text: str
    """The end of each call, and the reading that leads to it."""
    example: str
    """The same as lines that must hold."""
    ends: Mapping[CandidateCall, Observation] = field(compare=False)
    """The same as values."""


@dataclass(frozen=True)
class DoubtQuestion:
    """A point that a brief leaves open: inputs and the answers to choose from, the likeliest first."""

    title: str
    calls: str
    options: tuple[DoubtOption, ...]

    def option(self, answer: str) -> DoubtOption | None:
        """Return the option that *answer* is, the likeliest where it is empty; ``None`` for words of somebody's own."""
        return next((one for one in self.options if one.text == answer or not answer), None)

    def told(self, answer: str) -> str:
        """Return what the Engineer is told where the developer chose, or wrote, *answer*; empty: was silent."""
        chosen = self.option(answer)
        if chosen is None:
            return _PROMPTS["own words"].format(calls=self.calls, answer=answer)
        return _PROMPTS["chosen" if answer else "silence"].format(calls=self.calls, example=chosen.example)


def question_about(behaviours: Sequence[Behaviour], solutions: Sequence[ShortSolution]) -> DoubtQuestion:
    """Return the question which of *behaviours* is wanted, of which there are two or more."""
    calls = _listed(code_of(call) for call in behaviours[0].told)
    changes = any(seen.effects for each in behaviours for seen in each.told.values())
    # Behaviours that read alike become one option: nobody could choose between them.
    options = dict.fromkeys(_option(each, solutions, changes=changes) for each in behaviours)
    return DoubtQuestion(_PROMPTS["question"].format(calls=calls), calls, tuple(options))


def _option(behaviour: Behaviour, solutions: Sequence[ShortSolution], *, changes: bool) -> DoubtOption:
    ends = {code_of(call): describe(call, seen, changes=changes) for call, seen in behaviour.told.items()}
    lines = [f"{code}: {end}" for code, end in ends.items()]
    shown = "; ".join(lines if len(lines) > 1 else ends.values())
    example = "\n".join(f"- {line}" for line in lines)
    reading = next((solutions[one].reading for one in behaviour.solutions if solutions[one].reading), "")
    if not reading:
        return DoubtOption(shown, example, behaviour.told)
    return DoubtOption(f"{shown} ({reading})", f"{example}\n  ({reading})", behaviour.told)


def code_of(call: CandidateCall) -> str:
    """Return a call as somebody would write it."""
    return f"`{ast.unparse(parse_expression(call.source))}`"


def describe(call: CandidateCall, seen: Observation, *, changes: bool = False) -> str:
    """Return how a call ended, in words and code; where others *change* something, also that it did not."""
    if seen.kind == "raises":
        said = f", {_cut(' '.join(seen.message.split()))}" if seen.message else ""
        return f"raises {seen.type_name}{said}"
    plain = [_cut(literal) for template, literal in seen.views if template == "{}"]
    told = plain or ([_views("it", seen.views)] if seen.views else [])
    if told == ["`None`"] and (seen.effects or seen.printed or changes):
        told = []
    told += ["changes nothing"] if changes and not seen.effects else []
    for number, views in seen.effects:
        told.append(f"afterwards {_views(call.names[number], views)}")
    told += [f"prints {_cut(repr(seen.printed))}"] if seen.printed else []
    return "; ".join(told)


def _views(name: str, views: Sequence[View]) -> str:
    """Return what can be read off the value that is called *name*."""
    shown = [f"`{template.replace('{}', name)}` is {_cut(literal)}" for template, literal in views[:_MOST_VIEWS]]
    return f"{_listed(shown)}{', and more' if len(views) > _MOST_VIEWS else ''}"


def _listed(parts: Iterable[str]) -> str:
    return " and ".join(parts)


def _cut(text: str) -> str:
    return f"`{text}`" if len(text) <= _MOST_OF_VALUE else f"`{text[:_MOST_OF_VALUE]}…`"
