"""Chosen calls are written in the simplest form that shows the same."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from random import Random

import pytest

from rolecall_server.craft.characterization import CandidateCall, Stage, Subject
from rolecall_server.craft.characterization.call_trials import TrialState, observe_new
from rolecall_server.craft.characterization.distinguishing import kill_mutants
from rolecall_server.craft.characterization.inputs.neighbours import Neighbourhood
from rolecall_server.craft.characterization.inputs.survey import survey
from rolecall_server.craft.characterization.observation import MADE_UP, STOOD_IN
from rolecall_server.craft.characterization.simplification import simplified
from rolecall_server.sandbox import mutants_of

StageOf = Callable[..., Awaitable[Stage]]

MODULE = """\
import shutil


class Basket:
    def __init__(self):
        self.items = []

    def add(self, name):
        self.items.append(name)
        return len(self.items)

    def size(self):
        return len(self.items)

    def label(self, text):
        return "basket" if "%" in text else text.upper()

    def width(self):
        return 80 if shutil else 0
"""
USED = "[(basket := Basket()), basket.add('pear'), basket][-1]"


def call(method: str, *operands: str, origin: int = MADE_UP) -> CandidateCall:
    places = ", ".join(f"{{{place}}}" for place in range(1, len(operands)))
    return CandidateCall(f"Basket.{method}", f"{{0}}.{method}({places})", operands, ("basket", "text"), origin)


async def forms_of(stage: Stage, chosen: Sequence[CandidateCall]) -> list[str]:
    """Return the sources of *chosen* as they are written."""
    known = survey(MODULE)
    work = TrialState(
        stage, Subject(MODULE), known, Neighbourhood(), list(known.targets), {}, time.monotonic() + 20, Random(0)
    )
    assert await observe_new(work, chosen) is None
    pool = dict(work.seen)
    killed = await kill_mutants(work, mutants_of(MODULE), pool, 10)
    found = await simplified(work, chosen, pool, killed)
    return [found.forms.get(one, one).source for one in chosen]


async def test_a_step_that_changes_nothing_is_left_out(stage_of: StageOf) -> None:
    stage = await stage_of(MODULE)
    beside = call("add", "Basket()", "'fig'")
    assert await forms_of(stage, [call("label", USED, "'abcd'"), beside]) == [
        "Basket().label('abcd')",
        beside.source,
    ]
    needed = call("size", USED)
    assert await forms_of(stage, [needed, beside]) == [needed.source, beside.source]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("'a message of many words'", "Basket().label('abc')"),
        ("'a {} of words'", "Basket().label('abc')"),
        ("'two words'", "Basket().label('two words')"),
        # Only this way does the method say what it is.
        ("'%d apples'", "Basket().label('%d apples')"),
    ],
)
async def test_a_text_that_looks_like_a_message_gives_way_to_a_plain_one(
    stage_of: StageOf, text: str, written: str
) -> None:
    assert await forms_of(await stage_of(MODULE), [call("label", "Basket()", text)]) == [written]


async def test_a_mock_that_nothing_asks_is_left_out(stage_of: StageOf) -> None:
    mocked = CandidateCall(
        "Basket.width", "{0}.width()", ("Basket()", "MagicMock()"), ("basket", "shutil"), STOOD_IN,
        ((1, "thing.shutil"),),
    )  # fmt: skip
    assert await forms_of(await stage_of(MODULE), [mocked]) == ["Basket().width()"]
