"""How a model is told of the values of a failing test: in the form that fits how it failed, and never too much."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import external_file

from rolecall_analysis import Snapshot
from rolecall_server.craft.repair.feedback_forms import ask_explanation, kind_of, tell_values
from rolecall_server.craft.repair.values import MOST_CHARACTERS, MOST_LINES, values_of
from rolecall_server.sandbox import TestResult, TestTrace, TraceStep
from support.fixture import parse_fixture

SHOP = Snapshot().with_changes(
    parse_fixture("""
    #- shop.py
    def total(prices):
        result = 0
        for price in prices:
            result += half(price)
        return result
    def half(price):
        return price / 2
    #- test_shop.py
    from shop import total
    def test_total():
        assert total([4, 6, 8, 10, 12, 14]) == 0
""").files
)
TEST = "test_shop.py::test_total"
WRONG = TestResult(TEST, "failed", message="AssertionError: assert 27 == 0")
RAISED = TestResult(TEST, "failed", message="ZeroDivisionError: division by zero")
ENDLESS = TestResult(TEST, "error", message=f"The tests did not end within 24 s; {TEST} was running.")


def summed(prices: Sequence[int]) -> list[TraceStep]:
    """The steps of `total`, as the tracer tells them."""
    steps = [
        TraceStep(1, 0, "test_shop.py", "test_total", 2, "call", {}),
        TraceStep(2, 1, "shop.py", "total", 1, "call", {"prices": str([*prices])}),
        TraceStep(2, 1, "shop.py", "total", 2, "line", {"result": "0"}),
    ]
    for number, price in enumerate(prices):
        steps += [
            TraceStep(2, 1, "shop.py", "total", 3, "line", {"price": str(price)}),
            TraceStep(3 + number, 2, "shop.py", "half", 6, "call", {"price": str(price)}),
            TraceStep(3 + number, 2, "shop.py", "half", 7, "return", {}, str(price // 2)),
            TraceStep(2, 1, "shop.py", "total", 4, "line", {"result": str(sum(prices[: number + 1]) // 2)}),
        ]
    return steps


def failing(steps: Sequence[TraceStep]) -> TestTrace:
    end = TraceStep(1, 0, "test_shop.py", "test_total", 3, "raise", {}, "AssertionError('assert 27 == 0')")
    return TestTrace(TEST, (*steps, end), ended="error")


def raising() -> TestTrace:
    error = "ZeroDivisionError('division by zero')"
    caught = TraceStep(9, 4, "shop.py", "half", 7, "raise", {"price": "caught before"}, "ValueError()")
    inner = TraceStep(3, 2, "shop.py", "half", 7, "raise", {"price": "0"}, error)
    outer = TraceStep(2, 1, "shop.py", "total", 4, "raise", {"prices": "[0]", "result": "0", "price": "0"}, error)
    test = TraceStep(1, 0, "test_shop.py", "test_total", 3, "raise", {}, error)
    return TestTrace(TEST, (caught, inner, outer, test), ended="error")


def test_the_kind_of_a_failure_is_read_from_its_message_and_its_trace() -> None:
    assert [kind_of(one) for one in (WRONG, RAISED, ENDLESS)] == ["assertion", "exception", "endless"]
    assert kind_of(WRONG, TestTrace(TEST, (), ended="time")) == "endless"
    assert kind_of(TestResult(TEST, "failed", message="assert 1 == 2")) == "assertion"
    assert kind_of(TestResult(TEST, "failed", message="Failed: DID NOT RAISE <class 'KeyError'>")) == "assertion"


def test_of_many_passes_and_calls_the_first_and_the_last_are_shown() -> None:
    told = values_of(failing(summed(range(0, 40, 2))), SHOP)
    assert "result = 0" in told
    assert "price = 38" in told
    assert "price = 20" not in told
    assert "steps like these" in told


def test_what_was_not_kept_is_said_where_it_is_missing() -> None:
    steps = summed([4])
    told = values_of(TestTrace(TEST, tuple(steps), n_first=2, left_out=1_200), SHOP).splitlines()
    assert told[2] == "[1,200 steps were not kept]"


def test_a_test_that_was_not_seen_tells_nothing() -> None:
    assert tell_values(WRONG, TestTrace(TEST, ()), SHOP) == ""


def test_lines_that_are_gone_are_told_without_their_text() -> None:
    gone = TraceStep(1, 0, "gone.py", "f", 700, "line", {"a": "1"})
    assert values_of(TestTrace(TEST, (gone,)), SHOP) == "  700|     # a = 1"


STEPS = st.builds(
    TraceStep,
    st.integers(1, 5),
    st.integers(0, 12),
    st.sampled_from(["shop.py", "gone.py"]),
    st.sampled_from(["total", "half"]),
    st.integers(-1, 9),
    st.sampled_from(["call", "line", "return", "raise"]),
    st.dictionaries(st.text(max_size=5), st.text(max_size=160), max_size=20),
    st.text(max_size=160),
)


@given(st.lists(STEPS, max_size=80), st.integers(0, 3), st.sampled_from(["", "error", "time", "events"]))
def test_any_trace_is_told_within_bounds(steps: list[TraceStep], n_first: int, ended: str) -> None:
    trace = TestTrace(TEST, tuple(steps), n_first, left_out=n_first, ended=ended)
    for failure in (WRONG, RAISED, ENDLESS):
        assert len(tell_values(failure, trace, SHOP)) <= MOST_CHARACTERS + 500
    assert values_of(trace, SHOP).count("\n") <= MOST_LINES * 22


def test_all_that_a_model_is_told_of_values() -> None:
    endless = TestTrace(TEST, tuple(summed([4, 6])), ended="time")
    said = (
        tell_values(WRONG, failing(summed([4, 6, 8, 10, 12, 14])), SHOP),
        tell_values(RAISED, raising(), SHOP),
        tell_values(ENDLESS, endless, SHOP),
        ask_explanation(),
    )
    assert "\n\n=====\n\n".join(said) + "\n" == external_file("prompts/feedback_forms.txt")
