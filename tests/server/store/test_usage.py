"""The ledger adds up: whatever it is grouped by, the groups are all that was used, to the token and the billionth."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolecall_server.store import Asking, Caps, Store
from rolecall_server.store.usage import GROUPINGS, ratios, today_s, usage, used_by
from support.stores import open_store

ROOTS = (Path("/one"), Path("/other"))
CALLS = st.lists(
    st.tuples(
        st.integers(0, 2),  # the run
        st.sampled_from(["", "engineer", "architect"]),
        st.sampled_from(["small", "large"]),
        st.none() | st.tuples(st.integers(0, 10_000), st.integers(0, 10_000)),  # as counted; None: nobody did
        st.integers(0, 90_000),  # the price of a token, in billionths
    ),
    max_size=25,
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "rolecall.db")


def call(store: Store, run_id: str, asking: Asking, model: str, tokens: tuple[int, int] | None) -> None:
    number = store.reserve_call(run_id, "[]", 20_000, Caps(), asking=asking)
    assert number is not None
    store.end_call(number, "{}", model=model, tokens=tokens)


@given(calls=CALLS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
def test_every_grouping_adds_up_to_the_whole(tmp_path: Path, calls: list[tuple[int, str, str, object, int]]) -> None:
    store = open_store(Path(tempfile.mkdtemp(dir=tmp_path)) / "rolecall.db")
    runs = [store.add_run(ROOTS[n % 2], "engineer", "", "") for n in range(3)]
    expected_tokens = expected_nanos = 0
    for run, role, model, tokens, price in calls:
        most = 20_000 * price
        asking = Asking(role=role, prompt_nanos=price, completion_nanos=2 * price, most_nanos=most)
        call(store, runs[run], asking, model, tokens)  # pyright: ignore[reportArgumentType]
        prompt, completion = tokens if isinstance(tokens, tuple) else (0, 0)
        expected_tokens += prompt + completion if tokens is not None else 20_000
        expected_nanos += price * (prompt + 2 * completion) if tokens is not None else most
    (whole,) = usage(store)
    assert (whole.n_calls, whole.tokens, whole.nanos) == (len(calls), expected_tokens, expected_nanos)
    for grouping in GROUPINGS:
        rows = usage(store, [grouping])
        assert sum(row.n_calls for row in rows) == whole.n_calls
        assert sum(row.tokens for row in rows) == whole.tokens
        assert sum(row.nanos for row in rows) == whole.nanos
    assert sum(store.spent(run).tokens for run in runs) == whole.tokens
    assert sum(store.spent(run).nanos for run in runs) == whole.nanos
    assert sum(usage(store, root=root)[0].tokens for root in ROOTS) == whole.tokens


def test_a_call_is_its_roles_or_else_that_of_its_run(store: Store) -> None:
    run = store.add_run(ROOTS[0], "qa_engineer", "", "")
    call(store, run, Asking(), "m", (1, 1))
    call(store, run, Asking(role="architect"), "m", (2, 2))
    assert {row.group[0]: row.tokens for row in usage(store, ["role"])} == {"architect": 4, "qa_engineer": 2}


def test_what_no_model_answered_is_the_endpoints(store: Store) -> None:
    run = store.add_run(ROOTS[0], "engineer", "", "")
    number = store.reserve_call(run, "[]", 50, Caps(), asking=Asking(endpoint="gpt-x at https://host/v1"))
    assert number is not None
    (row,) = usage(store, ["model"])
    assert (row.group, row.set_aside, row.prompt_tokens) == (("gpt-x at https://host/v1",), 50, 0)


def test_only_what_was_used_since_then_is_told(store: Store) -> None:
    call(store, store.add_run(ROOTS[0], "engineer", "", ""), Asking(), "m", (1, 1))
    store.connection.execute("UPDATE call SET at = at - 2 * 86400")
    assert usage(store, since_s=today_s())[0].n_calls == 0
    assert usage(store)[0].n_calls == 1


def test_ratios_are_those_of_an_endpoints_latest_long_prompts(store: Store) -> None:
    run = store.add_run(ROOTS[0], "engineer", "", "")
    for estimated, counted in ((1000, 900), (1000, 1200), (20, 400), (1000, 1500)):
        call(store, run, Asking(endpoint="here", estimated=estimated), "m", (counted, 1))
    call(store, run, Asking(endpoint="there", estimated=1000), "m", (5000, 1))
    call(store, run, Asking(endpoint="here", estimated=1000), "m", None)
    assert ratios(store, "here", 2) == (1.5, 1.2)
    assert ratios(store, "here", 9) == (1.5, 1.2, 0.9)


def test_what_a_step_used_is_told_apart_from_what_its_calls_under_way_have_sent(store: Store) -> None:
    run = store.add_run(ROOTS[0], "team", "", "")
    asking = Asking(role="engineer", estimated=1_200)
    ended, under_way = (store.reserve_call(run, "[]", 20_000, Caps(), asking=asking, purpose="k#0") for _ in range(2))
    assert ended is not None
    assert used_by(store, run, "k") == (2, 0, 2_400)
    store.end_call(ended, "{}", tokens=(1_000, 50))
    assert used_by(store, run, "k") == (2, 1_050, 1_200)
    assert under_way is not None
    store.end_call(under_way, None, "stopped", charged=(1_200, 7))
    assert used_by(store, run, "k") == (2, 2_257, 0)
    assert used_by(store, run, "other") == (0, 0, 0)
