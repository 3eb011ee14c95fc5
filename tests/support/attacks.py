"""How much of each kind of attack a run tries: `make test` a short form, `make attack` all of it.

    ROLECALL_ATTACKS=long pytest tests/attack --randomly-seed=1234

repeats what a run of `make attack` tried; it prints its seed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

import pytest

_Way = TypeVar("_Way")

LONG = os.environ.get("ROLECALL_ATTACKS") == "long"


def size(short: int, long: int) -> int:
    """Return how many attacks of a kind a run tries."""
    return long if LONG else short


def seed_of(config: pytest.Config) -> int:
    """Return the seed of chance: that of the run in the long form; the same in each short one, which must not waver."""
    return int(str(config.getoption("randomly_seed"))) if LONG else 1


def pairs(attacks: Sequence[str], ways: Sequence[_Way]) -> list[tuple[str, _Way]]:
    """Return each of *attacks* with each of *ways*; in the short form with one of them, in turn."""
    if LONG:
        return [(attack, way) for attack in attacks for way in ways]
    return [(attack, ways[number % len(ways)]) for number, attack in enumerate(attacks)]
