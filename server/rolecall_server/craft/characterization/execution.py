"""Making calls in the workspace's interpreter, inside the shadow, and reading what they did."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rolecall_server import sandbox
from rolecall_server.craft.characterization.inputs.domains import IMPORTS
from rolecall_server.craft.characterization.observation import CandidateCall, Observation
from rolecall_server.sandbox import Interpreter, Mutant, NotRun, Shadow
from rolecall_server.sandbox.event_lines import GARBLED, read_record
from rolecall_server.sandbox.python.interpreter import Capabilities, probe
from rolecall_server.sandbox.python.pytest_command import python_environment, steering_flags
from rolecall_server.sandbox.run_folder import RunFolder, run_folder, run_in_shadow
from rolecall_server.sandbox.walls.confinement import Command

CALL_TIMEOUT_S = 0.4
MUTANT_TIMEOUT_S = 1.5
_CHILD = Path(__file__).with_name("child")
_IN_PLACE = Path(sandbox.__file__).with_name("child") / "rolecall_in_place.py"
_PROGRAM, _RECORDER = "rolecall_probe.py", "rolecall_record.py"
_TIME_TO_END_S = 15.0
"""The time for a recorder to begin, and to end after its own."""
_REQUEST = "calls.json"
_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Stage:
    """The place where the calls of one module are made."""

    shadow: Shadow
    interpreter: Interpreter
    module: str
    """The dotted name by which it is imported."""
    path: str
    """Its file, relative to the workspace."""
    imports: Mapping[str, tuple[str, str]]
    """Names beside the module's own that operands may use: a module, and what of it, empty for all."""
    timeout_s: float


@dataclass(frozen=True)
class RunConditions:
    """Conditions of a process that must make no difference to a result that is asserted."""

    hash_seed: int = 0
    time_zone: str = "UTC"
    clock_shift_days: int = 0
    more_path: str = ""
    """A folder that is added where programs are looked for: each machine has others."""
    columns: int = 80
    """The width of the terminal: what is wrapped comes out otherwise in another."""
    alone: bool = False
    """Each call has a process of its own, so that none finds what another left in the module."""


@dataclass(frozen=True)
class Observed:
    """The report of one process."""

    observations: Mapping[CandidateCall, Observation]
    classes: Mapping[str, Mapping[str, Any]]
    """The module's classes: their parameters, whether they are abstract or exceptions, an enumeration's members."""
    import_lines: frozenset[int] = frozenset()
    """The lines that run when the module is imported; told where calls are traced."""


@dataclass(frozen=True)
class Verdicts:
    """The results for mutants: killed, invalid or survived."""

    killed: Mapping[Mutant, CandidateCall | None]
    survived: frozenset[Mutant] = frozenset()


async def observe(
    stage: Stage,
    calls: Sequence[CandidateCall],
    *,
    trace: bool,
    harvest: bool = False,
    circumstances: RunConditions | None = None,
) -> Observed | NotRun:
    """Make *calls* in their order, and return an observation of each; `NotRun` if the module cannot be imported.

    A call of which nothing was heard before the time was over is absent. *harvest* asks for the objects that results
    hold, instead of what a test can check of them.
    """
    circumstances = circumstances or RunConditions()
    request = {
        **_common(stage, [_asked(number, call) for number, call in enumerate(calls)], calls),
        "trace": trace,
        "harvest": harvest,
        "clock_shift_days": circumstances.clock_shift_days,
        "alone": circumstances.alone,
    }
    answers = await _ask(stage, request, circumstances)
    if isinstance(answers, NotRun):
        return answers
    head, *rest = answers
    seen: dict[CandidateCall, Observation] = {}
    for answer in rest:
        # The code that is called can write to the report as well: a line that is no answer is passed over.
        with suppress(*GARBLED):
            seen[calls[answer["id"]]] = _observation(answer)
    return Observed(seen, head["classes"], frozenset(head["lines"]))


async def kill(
    stage: Stage, known: Mapping[CandidateCall, Observation], trials: Sequence[tuple[Mutant, Sequence[CandidateCall]]]
) -> Verdicts | NotRun:
    """Return the mutants that differ from the module, each with the first call that tells; None: its import fails.

    *known* says how the calls end without a fault. Of a mutant that is nowhere in the answer nothing was heard before
    the time was over.
    """
    calls = list(dict.fromkeys(call for _, tried in trials for call in tried))
    numbers = {call: number for number, call in enumerate(calls)}
    asked = [
        {**_asked(number, call), "outcome": known[call].outcome, "said": known[call].said}
        for number, call in enumerate(calls)
    ]
    mutants = [
        {
            "id": number,
            "span": [mutant.start, mutant.end],
            "became": mutant.became,
            "calls": [numbers[call] for call in tried],
        }
        for number, (mutant, tried) in enumerate(trials)
    ]
    request = {**_common(stage, asked, calls), "trace": False, "clock_shift_days": 0, "mutants": mutants}
    answers = await _ask(stage, request, RunConditions())
    if isinstance(answers, NotRun):
        return answers
    killed: dict[Mutant, CandidateCall | None] = {}
    survived: set[Mutant] = set()
    for answer in answers[1:]:
        number: int = answer["id"]
        mutant, tried = trials[number]
        if answer.get("kind") == "crashed":
            killed[mutant] = tried[0] if tried else None
        elif answer["killed"]:
            killed[mutant] = None if answer["call"] is None else calls[answer["call"]]
        else:
            survived.add(mutant)
    return Verdicts(killed, frozenset(survived))


async def run_recorder(stage: Stage, request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what the workspace's tests and examples do with the module: a call or an object each; none where they
    cannot be run.
    """
    capabilities = await probe(stage.shadow, stage.interpreter)
    flags = [] if isinstance(capabilities, NotRun) else steering_flags(capabilities)
    places = {"module": stage.module, "path": str(stage.shadow.root / stage.path), "root": str(stage.shadow.root)}
    timed = replace(stage, timeout_s=request["time_s"] + _TIME_TO_END_S)
    told = await _ask(timed, {**places, **request, "flags": flags}, RunConditions(), _RECORDER)
    return [] if isinstance(told, NotRun) else told


def _common(stage: Stage, asked: Sequence[Mapping[str, Any]], calls: Sequence[CandidateCall]) -> dict[str, Any]:
    named = {name for text in {call.source for call in calls} for name in _NAME.findall(text)}
    return {
        "module": stage.module,
        "path": str(stage.shadow.root / stage.path),
        "root": str(stage.shadow.root),
        "imports": {name: where for name, where in stage.imports.items() if name in IMPORTS or name in named},
        "calls": asked,
        "mutants": [],
        "call_timeout_s": CALL_TIMEOUT_S,
        "mutant_timeout_s": MUTANT_TIMEOUT_S,
    }


def _asked(number: int, call: CandidateCall) -> dict[str, Any]:
    expression = call.template.format(*(f"_{place}" for place in range(len(call.operands))))
    return {"id": number, "expression": expression, "operands": call.operands, "patched": call.patched}


async def _ask(
    stage: Stage, request: Mapping[str, Any], circumstances: RunConditions, program: str = _PROGRAM
) -> list[dict[str, Any]] | NotRun:
    """Ask the child and return its answers, the first about the module itself."""
    capabilities = await probe(stage.shadow, stage.interpreter)
    if isinstance(capabilities, NotRun):
        return capabilities
    try:
        async with run_folder(stage.shadow) as folder:
            asked = folder.plugin / _REQUEST
            await asyncio.to_thread(_furnish, folder.plugin, asked, request)
            command = _command(stage, capabilities, circumstances, folder, program)
            readable = capabilities.places.shown
            end = await run_in_shadow(stage.shadow, folder, command, readable, timeout_s=stage.timeout_s)
            answers = await asyncio.to_thread(_read, folder.report)
    except OSError as error:
        return NotRun(f"The calls cannot be made in the shadow: {error.strerror}.")
    if not answers or "failed" in answers[0]:
        said = answers[0]["failed"] if answers else (end.output.strip().splitlines() or ["nothing was said"])[-1]
        return NotRun(f"{stage.path} cannot be imported: {said}.", "Install what it needs in the workspace's Python.")
    return answers


def _furnish(folder: Path, asked: Path, request: Mapping[str, Any]) -> None:
    """Puts the child and its request into *folder*."""
    # Copied, as the folder of this package is not shown behind the walls.
    for program in (*_CHILD.glob("*.py"), _IN_PLACE):
        shutil.copyfile(program, folder / program.name)
    asked.write_text(json.dumps(request), "utf-8")


def _command(
    stage: Stage, capabilities: Capabilities, circumstances: RunConditions, folder: RunFolder, program: str
) -> Command:
    """Return the command that runs *program* on its request in the environment that a test of the workspace would
    have, changed by *circumstances*.
    """
    started = (str(capabilities.program), "-B", "-W", "ignore", str(folder.plugin / program))
    around = python_environment(stage.shadow, capabilities, folder)
    changed = {
        "PYTHONHASHSEED": str(circumstances.hash_seed),
        "TZ": circumstances.time_zone,
        "COLUMNS": str(circumstances.columns),
    }
    if circumstances.more_path:
        changed["PATH"] = os.pathsep.join([around["PATH"], circumstances.more_path])
    given = (str(folder.plugin / _REQUEST), str(folder.report))
    return Command((*started, *given), {**around, **changed})


def _read(report: Path) -> list[dict[str, Any]]:
    if not report.exists():
        return []
    answers: list[dict[str, Any]] = []
    for line in report.read_text("utf-8", "replace").splitlines():
        if (answer := read_record(line)) is None:  # cut off where the process was ended
            break
        answers.append(answer)
    return answers


def _observation(answer: Mapping[str, Any]) -> Observation:
    return Observation(
        kind=answer["kind"],
        type_name=answer.get("type", ""),
        views=_views(answer.get("views", ())),
        effects=tuple((number, _views(views)) for number, views in answer.get("effects", ())),
        printed=answer.get("printed", ""),
        imports=tuple(answer.get("imports", {}).items()),
        exception_module=answer.get("module", ""),
        message=answer.get("message", ""),
        deliberate=answer.get("deliberate", False),
        inside=answer.get("inside", False),
        line=answer.get("line", 0),
        lazily=answer.get("lazily", False),
        by_chance=answer.get("by_chance", False),
        arcs=frozenset((start, end) for start, end in answer.get("arcs", ())),
        parts=tuple((template, kind, look) for template, kind, look in answer.get("parts", ())),
        warns=tuple((name, module) for name, module in answer.get("warns", ())),
        pollutes=answer.get("pollutes", False),
        source=answer.get("source", ""),
        takes=None if answer.get("takes") is None else tuple(answer["takes"]),
        variables=tuple(answer.get("variables", ())),
        duration_s=answer.get("duration_s", 0.0),
    )


def _views(views: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((template, literal) for template, literal in views)
