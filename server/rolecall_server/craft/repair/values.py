"""The values of a traced test as text: the lines of each call with what they changed, passes of loops left out."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rolecall_analysis import Snapshot
from rolecall_server.sandbox import TestTrace, TraceStep
from rolecall_server.workspace import split_lines

MOST_LINES, MOST_CHARACTERS = 60, 3_000
_PASSES = 2
"""Times that a line of a call is shown from the beginning, and as often from the end."""
_LAST_LINES = 24
"""Of a test that does not end."""
_FRAMES = 3
_NAMES = 8


def values_of(trace: TestTrace, snapshot: Snapshot) -> str:
    """Return what each line computed, the calls in each other; empty where nothing was seen."""
    return _bounded([*_lines(trace, _without_passes(trace.steps), snapshot)], MOST_LINES)


def last_values_of(trace: TestTrace, snapshot: Snapshot) -> str:
    """Return the last passes over the last lines before the time of *trace* was up, and the names of the call that
    they are of.
    """
    passes = [*_last_passes(trace.steps[-_LAST_LINES:])][::-1]
    told = [*_lines(trace, [(step, 0) for step in passes], snapshot), *_last_seen(trace.steps)]
    return _bounded(textwrap.dedent("\n".join(told)).splitlines(), _LAST_LINES)


def _last_passes(steps: Sequence[TraceStep]) -> Iterator[TraceStep]:
    """Yield the steps from the end, of each line of a call the last ones."""
    seen: Counter[tuple[int, int, str]] = Counter()
    for step in reversed(steps):
        seen[step.call, step.line, step.kind] += 1
        if seen[step.call, step.line, step.kind] <= _PASSES:
            yield step


def _last_seen(steps: Sequence[TraceStep]) -> Iterator[str]:
    """Yield a line with the names of the last call: those that stay as they are may be what keeps it from ending."""
    names = {name: value for step in steps if step.call == steps[-1].call for name, value in step.names.items()}
    if names:
        worth = ", ".join(f"{name} = {value}" for name, value in [*names.items()][:_NAMES])
        yield f"Names of {steps[-1].function}, as each was last seen to change: {worth}"


def last_frames_of(trace: TestTrace, snapshot: Snapshot) -> str:
    """Return the calls that the last error went through, the innermost first, with the values of their names."""
    raised = [step for step in trace.steps if step.kind == "raise"]
    if not raised:
        return ""
    last = [step for step in _up(raised) if step.names][:_FRAMES]
    told: list[str] = []
    for step in last:
        told.append(f"{step.path}:{step.line} {step.function}: {_code(step, snapshot)}    raises {step.value}")
        told += [f"    {name} = {value}" for name, value in step.names.items()]
    return _bounded(told, MOST_LINES)


def _up(raised: Sequence[TraceStep]) -> Sequence[TraceStep]:
    """Return the steps of *raised* that the last error left on its way up, from the inside."""
    way: list[TraceStep] = []
    for step in reversed(raised):
        # Seen from its end, one error comes from ever deeper calls; anything else is an earlier one.
        if way and (step.depth <= way[-1].depth or step.value != way[-1].value):
            break
        way.append(step)
    return way[::-1]


def _without_passes(steps: Sequence[TraceStep]) -> Iterator[tuple[TraceStep, int]]:
    """Yield the steps, of a line that runs often the first and the last ones; each with how many are left out here."""
    calls = _calls_shown(steps)
    times = Counter((step.call, step.line, step.kind) for step in steps)
    seen: Counter[tuple[int, int, str]] = Counter()
    left_out = 0
    for step in steps:
        place = step.call, step.line, step.kind
        seen[place] += 1
        if step.call not in calls or _PASSES < seen[place] <= times[place] - _PASSES:
            left_out += 1
            continue
        yield step, left_out
        left_out = 0


def _calls_shown(steps: Sequence[TraceStep]) -> set[int]:
    """Return the numbers of the first and the last calls of each function, at each depth."""
    calls: dict[tuple[str, str, int], dict[int, None]] = {}
    for step in steps:
        calls.setdefault((step.path, step.function, step.depth), {})[step.call] = None
    return {number for known in calls.values() for number in ([*known][:_PASSES] + [*known][-_PASSES:])}


def _lines(trace: TestTrace, steps: Iterable[tuple[TraceStep, int]], snapshot: Snapshot) -> Iterator[str]:
    after_gap = trace.steps[trace.n_first] if trace.left_out and trace.n_first < len(trace.steps) else None
    for step, left_out in steps:
        indent = "  " * step.depth
        if left_out:
            yield f"{indent}[... {left_out} steps like these ...]"
        if step is after_gap:
            yield f"[{trace.left_out:,} steps were not kept]"
        yield indent + _told(step, snapshot)


def _told(step: TraceStep, snapshot: Snapshot) -> str:
    worth = ", ".join(f"{name} = {value}" for name, value in [*step.names.items()][:_NAMES])
    if step.kind == "call":
        return f"{step.path}:{step.line} {step.function}({worth})"
    ended = {"return": f"returns {step.value}", "raise": f"raises {step.value}"}.get(step.kind, "")
    said = ended if step.kind == "raise" else "; ".join(part for part in (worth, ended) if part)
    return f"{step.line:>5}| {_code(step, snapshot)}    # {said}"


def _code(step: TraceStep, snapshot: Snapshot) -> str:
    lines = split_lines(snapshot.text(step.path) or "")
    return lines[step.line - 1].strip() if 0 < step.line <= len(lines) else ""


def _bounded(lines: Sequence[str], most: int) -> str:
    """Return the beginning and the end of *lines*: the end, where it failed, is longer."""
    head = most // 4
    kept = (
        [*lines]
        if len(lines) <= most
        else [*lines[:head], f"[{len(lines) - most} lines left out]", *lines[head - most :]]
    )
    text = "\n".join(kept)
    cut = MOST_CHARACTERS // 4
    return text if len(text) <= MOST_CHARACTERS else f"{text[:cut]}\n[...]\n{text[cut - MOST_CHARACTERS :]}"
