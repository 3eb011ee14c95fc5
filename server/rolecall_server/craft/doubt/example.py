"""The example that a developer chose, held to what a change does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pydantic import TypeAdapter

from rolecall_server.craft.characterization import CandidateCall, Observation, Stage
from rolecall_server.craft.characterization.execution import observe
from rolecall_server.craft.characterization.inputs.domains import IMPORTS
from rolecall_server.craft.doubt.question import code_of, describe
from rolecall_server.sandbox import Interpreter, NotRun, Shadow, TestResult

_TIME_S = 30.0
"""So long the calls of an example may take; each ends after less than a second."""


@dataclass(frozen=True)
class ChosenExample:
    """Calls of one module, and how they must end."""

    path: str
    module: str
    """The dotted name by which it is imported."""
    ends: tuple[tuple[CandidateCall, Observation], ...]


EXAMPLE_JSON = TypeAdapter(ChosenExample)


def example_of(path: str, module: str, ends: Mapping[CandidateCall, Observation]) -> ChosenExample:
    """Return *ends* as an example, without what no change is held to, such as the lines that ran."""
    kept = ((call, replace(seen, arcs=frozenset(), parts=())) for call, seen in ends.items())
    return ChosenExample(path, module, tuple(kept))


async def failing_ends(example: ChosenExample, shadow: Shadow, interpreter: Interpreter) -> tuple[TestResult, ...]:
    """Return a failed test for each call of *example* that ends otherwise with what is laid over *shadow*; none where
    the module cannot be imported, which its tests tell.
    """
    stage = Stage(shadow, interpreter, example.module, example.path, IMPORTS, _TIME_S)
    run = await observe(stage, [call for call, _ in example.ends], trace=False)
    return () if isinstance(run, NotRun) else tuple(_failures(example, run.observations))


def _failures(example: ChosenExample, seen: Mapping[CandidateCall, Observation]) -> Iterator[TestResult]:
    for call, wanted in example.ends:
        end = seen.get(call, Observation("crashed"))
        # Where the arguments cannot be made, the call says nothing of the change.
        if end.kind != "unbuilt" and end.outcome != wanted.outcome:
            came = describe(call, end, changes=bool(wanted.effects)) or f"is {end.kind}"
            message = f"expected: {describe(call, wanted, changes=bool(end.effects))}; came: {came}"
            yield TestResult(f"the example that was chosen: {code_of(call)}", "failed", message=message)
