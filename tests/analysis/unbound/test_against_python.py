"""Random functions are run: where Python finds no value, a read must have been told."""

from __future__ import annotations

import random
import textwrap
from types import FunctionType
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rolecall_analysis.unbound import unbound_reads

MAX_STEPS = 7
"""Coin flips in one run. A loop that goes round more often is compiled anew by Python 3.11, two instructions become
one, and an exception may name the line before its own."""
N_RUNS = 60

names = st.sampled_from(["x", "y"])
conditions = st.sampled_from(["flip()", "not flip()", "flip() and flip()", "flip() or (x := flip())", "(y := flip())"])
simple = st.one_of(
    names.map("{} = 1".format),
    names.map("use({})".format),
    names.map("{} = stumble()".format),
    names.map("del {}".format),
    names.map("[({0} := 1) for _ in flips() if flip()]".format),
    st.sampled_from(["stumble()", "return", "raise ValueError", "pass"]),
)


def indented(body: str) -> str:
    return textwrap.indent(body, "    ")


def compound(bodies: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    inner = bodies.map(indented)
    in_loop = st.one_of(bodies, st.tuples(bodies, st.sampled_from(["if flip(): break", "continue"])).map("\n".join))
    loop_body = in_loop.map(indented)
    blocks = st.one_of(
        st.builds("if {}:\n{}\nelse:\n{}".format, conditions, inner, inner),
        st.builds("if {}:\n{}".format, conditions, inner),
        st.builds("while {}:\n{}\nelse:\n{}".format, conditions, loop_body, inner),
        st.builds("while True:\n    tick()\n{}\n    if flip(): break".format, loop_body),
        st.builds("for {} in flips():\n{}".format, names, loop_body),
        st.builds("try:\n{}\nexcept ValueError as {}:\n{}\nelse:\n{}".format, inner, names, inner, inner),
        st.builds("try:\n{}\nfinally:\n{}".format, inner, inner),
        st.builds("try:\n{}\nexcept ValueError:\n{}\nfinally:\n{}".format, inner, inner, inner),
        st.builds("with suppress(ValueError):\n{}".format, inner),
        st.builds("match flip():\n    case {}:\n{}\n    case True: pass".format, names, inner.map(indented)),
        st.builds("match flip():\n    case True if flip():\n{}".format, inner.map(indented)),
    )
    return st.lists(st.one_of(simple, blocks), min_size=1, max_size=4).map("\n".join)


programs = st.recursive(st.lists(simple, min_size=1, max_size=4).map("\n".join), compound, max_leaves=8)


class Ended(BaseException):
    """The run has gone on for long enough."""


def failing_line(program: FunctionType, seed: int) -> int | None:
    """The line where a run with these coin flips finds no value, if there is one."""
    coin = random.Random(seed)
    n_steps = 0

    def tick() -> None:
        nonlocal n_steps
        n_steps += 1
        if n_steps > MAX_STEPS:
            raise Ended

    def flip() -> bool:
        tick()
        return coin.random() < 0.5

    def stumble() -> None:
        if flip():
            raise ValueError

    def flips() -> list[bool]:
        return [flip() for _ in range(coin.randrange(3))]

    # So is a function that has run a few times.
    fresh = FunctionType(program.__code__.replace(), program.__globals__)
    try:
        fresh(flip, flips, stumble, tick, lambda _value: None)
    except UnboundLocalError as error:
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        return at.tb_lineno if at is not None else None
    except (ValueError, Ended):
        return None
    return None


@settings(max_examples=200, deadline=None)
@given(programs)
def test_where_python_finds_no_value_a_read_is_told(body: str) -> None:
    source = f"def program(flip, flips, stumble, tick, use):\n{indented(body)}\n    return x, y\n    x = y = 1\n"
    space: dict[str, Any] = {}
    try:
        exec(compile(f"from contextlib import suppress\n{source}", "m.py", "exec"), space)
    except SyntaxError:  # `case x:` makes what follows unreachable, which Python refuses
        return
    told = {read.span.start.line + 1 for read in unbound_reads("m.py", f"from contextlib import suppress\n{source}")}
    for seed in range(N_RUNS):
        line = failing_line(space["program"], seed)
        assert line is None or line in told, source
