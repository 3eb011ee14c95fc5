"""What earlier runs showed of the tests: which of them concern a change, in which order, and how long all take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_analysis import Snapshot, find_definition, select_tests
from rolecall_server.craft.history import (
    NOTHING_KNOWN,
    SuiteHistory,
    SuiteHistoryStore,
    learned_from,
    recall,
    with_history,
)
from rolecall_server.craft.trial import apart_from_change, select_for_change
from rolecall_server.sandbox import TestResult, TestRun
from rolecall_server.sandbox.results import Outcome
from rolecall_server.store import Store
from support.fixture import parse_fixture
from support.stores import open_store

SHOP = parse_fixture("""
    #- shop.py
    def total(items): return sum(items)
    def tax(items): return total(items) * 2
    #- plugins.py
    def load(name): return __import__(name)
    #- tests/test_load.py
    from plugins import load
    def test_load(): assert load("sh" + "op").total([]) == 0
    #- tests/test_tax.py
    import shop
    def test_tax(): assert shop.tax([1]) == 2
    def test_nothing(): assert shop
    #- tests/test_other.py
    def test_other(): assert True
""").files
LOAD, TAX = "tests/test_load.py::test_load", "tests/test_tax.py::test_tax"
RAN: Mapping[str, frozenset[tuple[str, int]]] = {
    LOAD: frozenset({("tests/test_load.py", 2), ("plugins.py", 1), ("shop.py", 1)}),
    TAX: frozenset({("tests/test_tax.py", 2), ("shop.py", 1), ("shop.py", 2)}),
    "tests/test_tax.py::test_nothing": frozenset({("tests/test_tax.py", 3)}),
    "tests/test_other.py::test_other": frozenset({("tests/test_other.py", 1)}),
}


def run_of(ran: Mapping[str, frozenset[tuple[str, int]]] = RAN, **ends: Outcome) -> TestRun:
    """A run of the whole suite, a second for each test; *ends* names how those ended that did not pass."""
    outcomes = [TestResult(test, ends.get(test.partition("::")[2], "passed"), 1.0) for test in RAN]
    return TestRun("ran", outcomes=tuple(outcomes), collected=len(outcomes), functions=ran, duration_s=6.0)


def snapshot_of(**changes: str) -> Snapshot:
    """The shop with other texts for some of its files, named without their endings."""
    paths = {Path(path).stem: path for path in SHOP}
    return Snapshot().with_changes({**SHOP, **{paths[name]: text for name, text in changes.items()}})


@pytest.fixture
def learned() -> SuiteHistory:
    return learned_from(NOTHING_KNOWN, run_of(), snapshot_of())


def reasons(snapshot: Snapshot, history: SuiteHistory, name: str = "total") -> dict[str, str]:
    """Why each file is selected for a change of a function of `shop.py`, in their order."""
    changed = find_definition(snapshot, "shop.py", name)
    assert changed is not None
    found = with_history(snapshot, select_tests(snapshot, [changed]), [changed], history)
    return {one.path: one.reason for one in found}


def test_a_test_that_was_seen_to_run_what_changed_is_selected_though_nothing_leads_to_it(learned: SuiteHistory) -> None:
    snapshot = snapshot_of()
    assert "tests/test_load.py" not in reasons(snapshot, NOTHING_KNOWN)
    assert reasons(snapshot, learned) == {
        "tests/test_tax.py": "test_tax ran total when last seen",
        "tests/test_load.py": "test_load ran total when last seen",
    }
    assert reasons(snapshot, learned, "tax") == {"tests/test_tax.py": "test_tax ran tax when last seen"}


def test_what_the_graph_alone_selects_keeps_its_reason_behind_what_was_seen(learned: SuiteHistory) -> None:
    snapshot = snapshot_of(test_other="import shop\ndef test_other(): shop.tax([])\n")
    assert [*reasons(snapshot, learned, "tax").items()] == [
        ("tests/test_tax.py", "test_tax ran tax when last seen"),
        ("tests/test_other.py", "test_other calls tax"),
    ]


def test_what_is_out_of_date_counts_less_and_nothing_where_the_test_is_gone(learned: SuiteHistory) -> None:
    changed = snapshot_of(test_load='from plugins import load\ndef test_load(): assert load("other")\n')
    assert reasons(changed, learned)["tests/test_load.py"] == "test_load, changed since, ran total when last seen"
    gone = snapshot_of(test_load="from plugins import load\ndef test_new(): assert load\n")
    assert "tests/test_load.py" not in reasons(gone, learned)


def test_a_test_whose_functions_all_have_their_texts_is_not_watched_again(learned: SuiteHistory) -> None:
    assert learned.fresh(snapshot_of()) == {*RAN}
    moved = snapshot_of(shop="RATE = 2\n\n" + SHOP["shop.py"])
    assert learned.fresh(moved) == {*RAN}, "a function that only lies elsewhere is the same"
    changed = snapshot_of(shop=SHOP["shop.py"].replace("* 2", "* 3"))
    assert learned.fresh(changed) == {*RAN} - {TAX}


def test_a_run_that_watches_some_tests_keeps_what_is_known_of_the_others(learned: SuiteHistory) -> None:
    again = learned_from(learned, run_of({TAX: RAN[TAX]}), snapshot_of())
    assert again.fresh(snapshot_of()) == {*RAN}
    only = TestRun("ran", outcomes=(TestResult(TAX, "passed", 1.0),), collected=1)
    assert {*learned_from(learned, only, snapshot_of()).tests} == {TAX}, "the repository has no other test any more"


def test_what_failed_lately_comes_first_and_says_so(learned: SuiteHistory) -> None:
    once = learned_from(learned, run_of(test_load="failed"), snapshot_of())
    said = "test_load failed in the last run; test_load ran total when last seen"
    assert next(iter(reasons(snapshot_of(), once).items())) == ("tests/test_load.py", said)
    later = learned_from(once, run_of(test_nothing="error"), snapshot_of())
    assert [reason.partition(";")[0] for reason in reasons(snapshot_of(), later).values()] == [
        "test_nothing failed in the last run",
        "test_load failed 1 run before the last",
    ]
    for _ in range(5):
        later = learned_from(later, run_of(), snapshot_of())
    assert reasons(snapshot_of(), later) == reasons(snapshot_of(), learned), "that is long ago"


def test_the_time_of_the_whole_suite_is_known_from_earlier_runs(learned: SuiteHistory) -> None:
    assert NOTHING_KNOWN.duration_s == 0.0
    assert learned.duration_s == 6.0
    rows = TestRun("ran", outcomes=(TestResult("a.py::a[1]", "passed", 1.0), TestResult("a.py::a[2]", "failed", 2.0)))
    known = learned_from(NOTHING_KNOWN, rows, snapshot_of()).tests["a.py::a"]
    assert (known.duration_s, known.ends) == (3.0, "f"), "all parameters together"


def test_tests_of_a_changed_text_are_selected_by_what_was_seen_too(learned: SuiteHistory) -> None:
    snapshot = snapshot_of()
    change = {"shop.py": SHOP["shop.py"].replace("sum(items)", "sum(items) + 1")}
    assert [one.path for one in select_for_change(snapshot, change, learned)] == [
        "tests/test_tax.py",
        "tests/test_load.py",
    ]
    with_test_gone: dict[str, str | None] = {**change, "tests/test_load.py": None}
    assert [one.path for one in select_for_change(snapshot, with_test_gone, learned)] == ["tests/test_tax.py"]


@pytest.mark.parametrize(
    ("change", "apart"),
    [
        ({"shop.py": SHOP["shop.py"].replace("* 2", "* 3")}, {*RAN} - {TAX}),
        ({"shop.py": SHOP["shop.py"].replace("sum(items)", "0")}, {*RAN} - {TAX, LOAD}),
        ({"shop.py": "RATE = 2\n" + SHOP["shop.py"]}, set[str]()),
        ({"shop.py": SHOP["shop.py"].replace("* 2", "* new()") + "def new(): return 2\n"}, set[str]()),
        ({"rates.toml": "rate = 2\n"}, set[str]()),
    ],
    ids=["one function", "one that another calls", "a constant", "a new function", "data"],
)
def test_tests_are_set_apart_where_all_that_changes_was_seen_to_run_without_them(
    learned: SuiteHistory, change: Mapping[str, str], apart: set[str]
) -> None:
    assert apart_from_change(snapshot_of(), change, learned) == apart


def test_a_test_that_runs_something_changed_meanwhile_is_not_set_apart(learned: SuiteHistory) -> None:
    meanwhile = snapshot_of(plugins="def load(name): return __import__(name + '')\n")
    change = {"shop.py": SHOP["shop.py"].replace("* 2", "* 3")}
    assert apart_from_change(meanwhile, change, learned) == {*RAN} - {TAX, LOAD}


def test_what_was_learned_is_kept_for_its_repository_and_what_cannot_be_read_is_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    memory = SuiteHistoryStore(store, tmp_path, snapshot_of())
    memory.learn(run_of())
    assert memory.recall() == learned_from(NOTHING_KNOWN, run_of(), snapshot_of())
    assert memory.fresh() == {*RAN}
    assert recall(store, tmp_path / "elsewhere") == NOTHING_KNOWN
    damage(store, b"no such thing")
    assert memory.recall() == NOTHING_KNOWN


def damage(store: Store, body: bytes) -> None:
    with store.transaction() as connection:
        connection.execute("UPDATE suite SET body = ?", (body,))


PLACES = st.sampled_from([(path, line) for path in SHOP for line in range(5)] + [("gone.py", 1)])
NAMES = st.sampled_from([*RAN, "tests/test_tax.py::test_gone", "gone.py::test_it", "tests/test_tax.py"])


@given(st.dictionaries(NAMES, st.frozensets(PLACES)), st.sampled_from(["total", "tax"]))
def test_whatever_runs_showed_nothing_that_the_graph_selects_is_left_out(
    ran: dict[str, frozenset[tuple[str, int]]], name: str
) -> None:
    snapshot = snapshot_of()
    history = learned_from(NOTHING_KNOWN, run_of(ran), snapshot)
    assert {*reasons(snapshot, NOTHING_KNOWN, name)} <= {*reasons(snapshot, history, name)}
