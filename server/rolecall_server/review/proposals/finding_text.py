"""Findings in tested code, and the worth of new tests, as text a person reads."""

from __future__ import annotations

from collections.abc import Iterator

from rolecall_server.review.proposals.evidence import Defect, Evidence, MutantTally, TestWorth

_MAX_TESTS = 30
_MAX_LEFT_OUT = 12
_MAX_SURVIVORS = 10


def render_defect(defect: Defect) -> list[str]:
    """Return a finding: what is wrong and where, the call that shows it, what was got and expected."""
    lines = [f"Finding: {defect.path}, line {defect.line + 1}, {defect.symbol}: {defect.sentence}"]
    if defect.call:
        lines.append(f"  {defect.call}")
    lines += _gave(defect) or [f"  {line}" for line in defect.seen.splitlines()]
    if defect.offered:
        return [*lines, f"  Shown by {defect.offered}, which fails as it is marked to: off until accepted by itself."]
    shown = f"Shown by {defect.test}, which fails and is not proposed." if defect.test else "No test shows it."
    return [*lines, f"  {shown}"]


def _gave(defect: Defect) -> list[str]:
    promised = [f"  promised: {defect.promised}"] if defect.promised else []
    return [f"  gave: {defect.gave}", *promised] if defect.gave else []


def describe_worth(worth: TestWorth) -> str:
    """``test_total: 3 lines, 1 branch, 4 faults noticed; 2 cases, 12 ms``"""
    gains = [_count(worth.lines, "line"), _count(worth.branches, "branch", "branches")]
    gained = ", ".join([*gains, f"{_count(worth.mutants, 'fault')} noticed"])
    name, took_ms = worth.test.partition("::")[2], worth.duration_s * 1000
    return f"{name}: {gained}; {_count(worth.cases, 'case')}, {took_ms:.0f} ms"


def render_worth(evidence: Evidence) -> Iterator[str]:
    """Yield lines about the worth of new tests, the faults that pass unnoticed, and the tests that were left out."""
    if evidence.orders:
        yield f"The new tests passed in {evidence.orders} random orders besides."
    if evidence.worth:
        yield "Each test adds to those that were there before:"
        yield from (f"  {describe_worth(worth)}" for worth in evidence.worth[:_MAX_TESTS])
        if len(evidence.worth) > _MAX_TESTS:
            yield f"  and {len(evidence.worth) - _MAX_TESTS} more"
    if evidence.mutants is not None:
        yield from _render_mutants(evidence.mutants)
    yield from (f"Left out: {one.test}: {one.reason}" for one in evidence.left_out[:_MAX_LEFT_OUT])
    if len(evidence.left_out) > _MAX_LEFT_OUT:
        yield f"Left out: {len(evidence.left_out) - _MAX_LEFT_OUT} more."


def _render_mutants(mutants: MutantTally) -> Iterator[str]:
    untried = f", {mutants.untried} more were not tried in that time" if mutants.untried else ""
    yield (
        f"Of {_count(mutants.total, 'fault')} put into the code the tests notice {mutants.killed} "
        f"({mutants.duration_s:.1f} s{untried})."
    )
    n_left = mutants.total - mutants.killed
    yield from (f"  Not noticed: {fault}" for fault in mutants.survivors[:_MAX_SURVIVORS])
    if n_left > _MAX_SURVIVORS:
        yield f"  and {n_left - _MAX_SURVIVORS} more"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
