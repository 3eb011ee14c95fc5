"""The functions that failing tests ran and passing ones did not."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from rolecall_server.craft.history import SuiteHistory, name_of
from rolecall_server.sandbox import TestRun

Place = tuple[str, str]
"""The path and the dotted name of a function."""


@dataclass(frozen=True)
class Spectrum:
    """The functions that each test ran, of the tests that fail and of those that pass; tests without parameters."""

    failing: Mapping[str, frozenset[Place]] = field(default_factory=dict[str, frozenset[Place]])
    passing: Mapping[str, frozenset[Place]] = field(default_factory=dict[str, frozenset[Place]])


def spectrum_of(run: TestRun, history: SuiteHistory, failing: Collection[str]) -> Spectrum:
    """Return what the tests of *run* ran by *history*; of those that fail only *failing* count, and none for others.

    The tests of which nothing was seen are left out.
    """
    wanted = {name_of(test) for test in failing}
    bad = {name_of(one.test_id) for one in run.failed}
    # Names are without parameters: a test that fails in one case has not passed, though its other cases did.
    good = {name_of(one.test_id) for one in run.passed} - bad - wanted
    ran = {
        test: frozenset((one.path, one.name) for one in map(history.functions.__getitem__, known.ran))
        for test, known in history.tests.items()
        if known.ran and (test in wanted or test in good)
    }
    return Spectrum(
        {test: places for test, places in ran.items() if test in wanted},
        {test: places for test, places in ran.items() if test in good},
    )


def ochiai(n_failing_ran: int, n_failing: int, n_passing_ran: int) -> float:
    """Return how much a function is run by failing tests and not by passing ones, from 0 to 1.

    Source: R. Abreu, P. Zoeteweij, A. van Gemund, "An evaluation of similarity coefficients for software fault
    localization", PRDC 2006: ``a11 / sqrt((a11 + a01) * (a11 + a10))``.
    """
    both = n_failing * (n_failing_ran + n_passing_ran)
    return n_failing_ran / math.sqrt(both) if both else 0.0
