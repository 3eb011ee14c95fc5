"""What the lines of a repository's code compute in a test that is traced, whatever its values do to be seen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from rolecall_server.sandbox import Confinement, TestRun, TestTrace, TraceStep, Unconfined
from rolecall_server.workspace import Workspace
from support.patience import PATIENCE_S

WorkspaceOf = Callable[..., Workspace]
RunInShadow = Callable[..., Awaitable[TestRun]]

pytestmark = pytest.mark.parametrize("confinement", [Unconfined()], ids=["no walls"])
"""How values are described does not depend on the walls."""

SHOP = """
    #- shop.py
    def total(prices, rate=2):
        result = 0
        for price in prices:
            result += price * rate
        return result
    def half(price):
        return price / 0
    def outer(price):
        doubled = price * 2
        return half(doubled)
    #- test_shop.py
    import sys
    from shop import outer, total
    def test_total(): assert total([1, 2]) == 7
    def test_outer(): assert outer(4)
    def test_fine(): assert total([]) == 0
    def test_endless():
        n = 0
        while sys.gettrace() is not None:
            n += 1
    def test_deep():
        def down(n): return n and down(n - 1)
        assert down(100)
    def test_json():
        import json
        assert json.loads("[1]") == [2]
"""


def steps(trace: TestTrace, function: str) -> list[TraceStep]:
    return [step for step in trace.steps if step.function == function]


async def traced(workspace: Workspace, run_in_shadow: RunInShadow, test: str, trace_s: float = PATIENCE_S) -> TestTrace:
    run = await run_in_shadow(workspace, [test], trace_s=trace_s)
    assert run.status == "ran", run.reason
    (trace,) = run.traces
    assert trace.test_id == test
    return trace


async def test_each_line_tells_the_names_that_it_changed_and_a_call_what_it_was_given(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, confinement: Confinement
) -> None:
    trace = await traced(workspace_of(SHOP), run_in_shadow, "test_shop.py::test_total")
    assert [(one.line, one.kind, dict(one.names), one.value) for one in steps(trace, "total")] == [
        (1, "call", {"prices": "[1, 2]", "rate": "2"}, ""),
        (2, "line", {"result": "0"}, ""),
        (3, "line", {"price": "1"}, ""),
        (4, "line", {"result": "2"}, ""),
        (3, "line", {"price": "2"}, ""),
        (4, "line", {"result": "6"}, ""),
        (5, "return", {}, "6"),
    ]
    assert {one.path for one in trace.steps} == {"shop.py", "test_shop.py"}
    assert (trace.ended, trace.left_out) == ("error", 0)


async def test_an_error_tells_all_names_of_the_calls_it_left(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, confinement: Confinement
) -> None:
    trace = await traced(workspace_of(SHOP), run_in_shadow, "test_shop.py::test_outer")
    raised = [(one.function, dict(one.names), one.value) for one in trace.steps if one.kind == "raise"]
    assert raised == [
        ("half", {"price": "8"}, "ZeroDivisionError('division by zero')"),
        ("outer", {"price": "4", "doubled": "8"}, "ZeroDivisionError('division by zero')"),
        ("test_outer", {}, "ZeroDivisionError('division by zero')"),
    ]


async def test_a_test_that_passes_comes_to_its_end_and_libraries_are_not_followed(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, confinement: Confinement
) -> None:
    workspace = workspace_of(SHOP)
    assert (await traced(workspace, run_in_shadow, "test_shop.py::test_fine")).ended == ""
    assert {one.path for one in (await traced(workspace, run_in_shadow, "test_shop.py::test_json")).steps} == {
        "test_shop.py"
    }


async def test_a_test_that_does_not_end_tells_its_last_values_when_the_time_is_up(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, confinement: Confinement
) -> None:
    trace = await traced(workspace_of(SHOP), run_in_shadow, "test_shop.py::test_endless", trace_s=0.05)
    assert trace.ended == "time"
    counted = [int(one.names["n"]) for one in trace.steps if "n" in one.names]
    assert counted == sorted(counted)
    assert len(trace.steps) <= 200


async def test_calls_in_calls_are_followed_to_a_depth(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, confinement: Confinement
) -> None:
    trace = await traced(workspace_of(SHOP), run_in_shadow, "test_shop.py::test_deep")
    assert max(one.depth for one in trace.steps) == 11


HOSTILE = """
    #- test_values.py
    import threading
    class Meta(type):
        def __getattribute__(cls, name): raise RuntimeError(name)
    class Strange(metaclass=Meta): pass
    class Raises:
        def __repr__(self): raise SystemExit("repr")
        __str__ = __repr__
    class Hangs:
        def __repr__(self): threading.Event().wait()
        def __getattr__(self, name): threading.Event().wait()
        @property
        def __class__(self): threading.Event().wait()
        def __eq__(self, other): threading.Event().wait()
        __hash__ = None
    class Slotted:
        __slots__ = ("a", "b")
        def __init__(self): self.a = 1
    class Mapping(dict):
        def items(self): raise RuntimeError
        def __len__(self): raise RuntimeError
    def test_all():
        raises, hangs, slotted, strange = Raises(), Hangs(), Slotted(), Strange()
        mapping = Mapping(a=1)
        loop = []
        loop.append(loop)
        long, many, big = "x" * 10**6, list(range(10**6)), 10**5000
        raises.inner = {1: (2,), "e": set(), "f": {3}, "g": (1, [2, {"too": ["deep"]}])}
        error = ValueError("first\\nsecond")
        raise LookupError("no")
"""


async def test_no_value_is_asked_to_show_itself(
    workspace_of: WorkspaceOf, run_in_shadow: RunInShadow, confinement: Confinement
) -> None:
    trace = await traced(workspace_of(HOSTILE), run_in_shadow, "test_values.py::test_all")
    last = [one for one in trace.steps if one.kind == "raise"][-1].names
    assert last["hangs"] == "<Hangs>"
    assert last["slotted"] == "<Slotted a=1>"
    assert last["strange"] == "<Strange>"
    assert last["mapping"] == "{'a': 1}"
    assert last["loop"] == "[[[[...]]]]"
    assert last["long"] == f"{'x' * 60!r}...{'x' * 15!r} (1000000 long)"
    assert last["many"] == "[0, 1, 2, 3, 4, 5, ... 999994 more]"
    assert last["big"] == "<int of 16610 bits>"
    assert last["raises"] == "<Raises inner={1: (2,), 'e': set(), 'f': {3}, 'g': (1, [...])}>"
    assert last["error"] == "ValueError('first')"
    assert all(len(value) <= 160 for value in last.values())
