"""Promises that code does not keep: what a reply names, what becomes of it once its test ran, and when it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from rolecall_analysis import Snapshot
from rolecall_server.craft.code_review.judging import Judgement
from rolecall_server.craft.code_review.pieces import pieces_of
from rolecall_server.craft.code_review.promises import (
    BrokenPromise,
    PromiseEnd,
    PromiseReader,
    Reading,
    Shown,
    find_broken_promises,
    read_promises,
)
from support.scripted_model import ScriptedModel

SHOP = """\
RATE = 3
NAMES = ("a", "b")


def total(prices):
    return prices[0] * RATE


def unconcerned(prices):
    return NAMES
"""
(PIECE,) = pieces_of(Snapshot().with_changes({"shop.py": SHOP}), "shop.py", SHOP.splitlines(keepends=True), 1_000)
TEST = "from shop import total\n\n\ndef test_{name}():\n    assert total([]) == 0\n"
KEPT, BROKEN, BY_ITSELF, NOT_RUN = PromiseEnd.KEPT, PromiseEnd.BROKEN, PromiseEnd.BY_ITSELF, PromiseEnd.NOT_RUN


def named(name: str, line: int = 6, promise: str = "the name promises a sum") -> str:
    return f"{name}, line {line}: {promise}\nbecause: `total([])` raises\n```python\n{TEST.format(name=name)}```\n"


async def read(replies: Sequence[str], *ends: Mapping[str, Shown]) -> tuple[Reading, ScriptedModel]:
    """What comes of *replies*, where the tests that are run one after the other end as *ends* say."""
    model, waiting = ScriptedModel(replies), list(ends)

    async def run(claimed: Sequence[BrokenPromise]) -> Mapping[str, Shown]:
        return waiting.pop(0) if claimed else {}

    reading = await find_broken_promises(PIECE, "shop", PromiseReader(lambda: model, run))
    assert (len(model.asked), waiting) == (len(replies), [])
    return reading, model


def told(reading: Reading) -> dict[str, Judgement]:
    return {one.id: verdict.judgement for one, verdict in reading.verdicts.items()}


@pytest.mark.parametrize(
    "reply",
    [
        named("p1"),
        f"I see one.\n\n{named('p1')}",
        named("p1").replace("p1, line 6:", "**p1, line 6:**"),
        named("p1").replace("p1, line 6:", "- p1 line 6:"),
        named("p1").replace("```python", "```py"),
        named("p1") + named("p1", 1, "said again"),
    ],
)
def test_a_place_is_read_in_any_form_that_models_give_it(reply: str) -> None:
    (found,) = read_promises(reply, PIECE)
    assert (found.id, found.path, found.line, found.reason) == ("p1", "shop.py", 5, "`total([])` raises")
    assert found.promise == "the name promises a sum"
    assert found.test == TEST.format(name="p1")


def test_what_a_place_says_is_kept_to_the_letter() -> None:
    said = "p1, line 6: *args are a promise of `total(*`\nbecause: `'a  b'` gives\n  `*a  b*`\n"
    (found,) = read_promises(f"{said}```python\n{TEST.format(name='p1')}```\n", PIECE)
    assert found.promise == "*args are a promise of `total(*`"
    assert found.reason == "`'a  b'` gives `*a  b*`"


def test_what_has_no_test_or_lies_beyond_the_file_is_left_out_or_put_at_its_end() -> None:
    assert read_promises("p1, line 6: it says so\nbecause: it does not\n", PIECE) == ()
    assert read_promises("p1, line 6: it says so\n```python\nx = 1\n```\n", PIECE) == ()
    assert read_promises("none", PIECE) == ()
    (found,) = read_promises(named("p1", 99), PIECE)
    assert found.line == 9


async def test_where_nothing_is_named_one_call_is_made() -> None:
    reading, model = await read(["none"])
    assert (dict(reading.verdicts), reading.n_kept) == ({}, 0)
    assert "tests import it as `shop`" in model.last_words[0]
    assert "    6     return prices[0] * RATE" in model.last_words[0]


async def test_a_promise_is_real_where_its_test_fails_and_the_model_stands_by_it() -> None:
    reading, model = await read(
        [named("p1"), "p1: real\nbecause: a sum of nothing is 0"], {"p1": Shown(BROKEN, "IndexError: list index")}
    )
    ((found, verdict),) = reading.verdicts.items()
    assert (verdict.judgement, verdict.reason) == (Judgement.REAL, "a sum of nothing is 0")
    assert found.shown == "IndexError: list index"
    assert "p1 fails: IndexError: list index" in model.last_words[1]


async def test_the_check_is_shown_the_code_concerned_alone_and_not_how_it_was_found() -> None:
    _, model = await read([named("p1"), "p1: real\nbecause: x"], {"p1": Shown(BROKEN, "IndexError: list index")})
    assert "unconcerned" in model.last_words[0]
    check = model.last_words[1]
    assert [message.role for message in model.asked[1]] == ["system", "user"]
    assert "    6     return prices[0] * RATE" in check
    assert "    1 RATE = 3" in check, "a value that it names is concerned too"
    assert TEST.format(name="p1") in check
    assert "because: `total([])` raises" in check
    assert "unconcerned" not in check
    assert "NAMES" not in check


async def test_a_promise_whose_test_passes_is_refuted_and_nobody_is_asked_about_it() -> None:
    reading, _ = await read([named("p1")], {"p1": Shown(KEPT)})
    assert (dict(reading.verdicts), reading.n_kept) == ({}, 1)
    reading, model = await read(
        [named("p1") + named("p2"), "p1: real\nbecause: x\np2: real\nbecause: y"],
        {"p1": Shown(KEPT), "p2": Shown(BROKEN, "assert 1 == 2")},
    )
    assert "p1 passes" not in model.last_words[1]
    assert told(reading) == {"p1": Judgement.REAL}, "numbered as they are told"


@pytest.mark.parametrize("vote", ["p1: not real\nbecause: it is meant", "p1: unsure\nbecause: who knows", "Well."])
async def test_what_the_model_does_not_stand_by_is_not_told(vote: str) -> None:
    reading, _ = await read([named("p1"), vote], {"p1": Shown(BROKEN, "assert 1 == 2")})
    assert told(reading) == {}


async def test_a_test_that_fails_by_itself_is_asked_for_once_more() -> None:
    reading, model = await read(
        [named("p1"), named("p1", promise="mended"), "p1: real\nbecause: x"],
        {"p1": Shown(BY_ITSELF, "NameError: totl")},
        {"p1": Shown(BROKEN, "assert 1 == 2")},
    )
    assert "p1 fails by itself: NameError: totl" in model.last_words[1]
    ((found, _),) = reading.verdicts.items()
    assert found.promise == "mended"


async def test_a_test_that_is_given_up_shows_nothing() -> None:
    reading, _ = await read([named("p1"), "none"], {"p1": Shown(BY_ITSELF, "NameError: totl")})
    assert told(reading) == {}


async def test_where_nothing_may_run_a_promise_is_told_as_unsure() -> None:
    reading, model = await read(
        [named("p1"), "p1: real\nbecause: x"], {"p1": Shown(NOT_RUN, "rolecall.tests.run is off.")}
    )
    assert told(reading) == {"p1": Judgement.UNSURE}
    assert "p1 was not run: rolecall.tests.run is off." in model.last_words[1]


async def test_no_more_than_eight_are_looked_at() -> None:
    names = [f"p{number}" for number in range(1, 11)]
    reading, _ = await read(["\n".join(map(named, names))], {name: Shown(KEPT) for name in names[:8]})
    assert reading.n_kept == 8
