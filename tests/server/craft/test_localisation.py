"""Where a fault is likely to be, told without a model: by what ran, by the traceback, by the graph."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_analysis import Snapshot
from rolecall_server.craft.history import NOTHING_KNOWN, learned_from
from rolecall_server.craft.repair.failure_text import SeenFailure, TracebackLine, seen_failure
from rolecall_server.craft.repair.localisation import Suspect, rank_suspects
from rolecall_server.craft.repair.spectrum import Place, Spectrum, ochiai, spectrum_of
from rolecall_server.sandbox import TestResult, TestRun
from support.fixture import parse_fixture

SHOP = Snapshot().with_changes(
    parse_fixture("""
    #- shop/price.py
    def total(items):
        return add(items)
    def add(items):
        return sum(items) + 1
    def tax(items):
        return total(items) * 2
    #- shop/receipt.py
    from shop.price import tax
    class Receipt:
        def text(self, items):
            return str(tax(items))
    #- tests/test_price.py
    from shop.price import tax, total
    def helper(items):
        return total(items)
    def test_total():
        assert helper([1]) == 1
    def test_tax():
        assert tax([]) == 0
    #- tests/test_receipt.py
    from shop.receipt import Receipt
    def test_text():
        assert Receipt().text([]) == "0"
""").files
)
TOTAL = "tests/test_price.py::test_total"
UNKNOWN = "tests/test_gone.py::test_gone"
"""Nobody knows what it says."""
PRICE = "shop/price.py"


def places(found: tuple[Suspect, ...]) -> list[str]:
    return [one.place for one in found]


def ran(*names: str, path: str = PRICE) -> frozenset[Place]:
    return frozenset((path, name) for name in names)


def ranked(
    snapshot: Snapshot,
    failing: Sequence[str],
    spectrum: Spectrum,
    frames: Sequence[TracebackLine] = (),
    messages: Sequence[str] = (),
) -> tuple[Suspect, ...]:
    tracebacks = (tuple(frames),) if frames else ()
    failures = [SeenFailure(test, tracebacks, "\n".join(messages)) for test in failing or [""]]
    return rank_suspects(snapshot, failures, spectrum)


def test_a_function_that_only_the_failing_test_ran_comes_first() -> None:
    spectrum = Spectrum({UNKNOWN: ran("total", "add")}, {"tests/test_price.py::test_tax": ran("total", "tax")})
    found = ranked(SHOP, [UNKNOWN], spectrum)
    assert places(found) == ["shop/price.py::add", "shop/price.py::total"]
    assert [one.score for one in found] == [1.0, 0.7071]
    assert found[1].reasons == ("run by the failing test and by 1 of 1 that pass",)
    assert str(found[0]) == "shop/price.py:3 add (1.00): run by the failing test and by none of 1 that pass"


def test_of_functions_that_the_same_tests_ran_the_one_that_raised_comes_first() -> None:
    (nearest, *_) = ranked(SHOP, [TOTAL], Spectrum({TOTAL: ran("total", "add", "tax")}))
    assert nearest.place == "shop/price.py::total"  # the nearest to the test
    assert nearest.reasons[0] == "run by the failing test"
    frames = [TracebackLine(PRICE, 2), TracebackLine(PRICE, 4)]
    found = ranked(SHOP, [UNKNOWN], Spectrum({UNKNOWN: ran("total", "add", "tax")}), frames)
    assert places(found) == ["shop/price.py::add", "shop/price.py::total", "shop/price.py::tax"]
    assert "it was raised there, in line 4" in found[0].reasons
    assert "on the way to the error, in line 2" in found[1].reasons


def test_where_nothing_was_seen_to_run_the_graph_says_what_the_test_reaches() -> None:
    found = ranked(SHOP, ["tests/test_receipt.py::test_text"], Spectrum())
    assert places(found)[0] == "shop/receipt.py::Receipt.text"
    assert places(found)[1:] == ["shop/price.py::tax", "shop/price.py::total", "shop/price.py::add"]
    assert found[0].reasons[0] == "the test may call it"
    assert found[1].reasons == ("the test may call it through text",)
    assert all(one.score == 0 for one in found)


def test_where_nothing_was_seen_to_run_the_traceback_comes_before_the_graph() -> None:
    found = ranked(SHOP, [TOTAL], Spectrum(), [TracebackLine("tests/test_price.py", 3), TracebackLine(PRICE, 6)])
    assert places(found)[0] == "shop/price.py::tax"


def test_a_test_file_that_could_not_be_read_stands_for_all_its_tests() -> None:
    assert "shop/price.py::tax" in places(ranked(SHOP, ["tests/test_price.py"], Spectrum()))


def test_a_traceback_alone_needs_no_test() -> None:
    assert places(ranked(SHOP, [], Spectrum(), [TracebackLine(PRICE, 2), TracebackLine(PRICE, 4)])) == [
        "shop/price.py::add",
        "shop/price.py::total",
    ]


def test_of_functions_that_the_same_tests_ran_the_one_that_the_message_names_comes_first() -> None:
    spectrum = Spectrum({TOTAL: ran("total", "add", "tax")})
    found = ranked(SHOP, [TOTAL], spectrum, messages=["TypeError: tax() got an unexpected keyword argument"])
    assert places(found)[0] == "shop/price.py::tax"
    assert "the message of the failure names it" in found[0].reasons


def test_of_functions_that_the_same_tests_ran_the_one_that_the_test_names_comes_first() -> None:
    test_tax = "tests/test_price.py::test_tax"
    spectrum = Spectrum({test_tax: ran("total", "add", "tax")})
    assert places(ranked(SHOP, [test_tax], spectrum))[0] == "shop/price.py::tax"


def test_a_name_that_passing_tests_have_as_well_says_less_than_one_that_only_the_failing_test_has() -> None:
    tests = """
    def test_shown():
        assert add([tax([])]) == 0
    def test_free():
        assert tax([]) == 0
    """
    shop = Snapshot().with_changes(
        {PRICE: "def add(a):\n    pass\ndef tax(a):\n    pass\n", "tests/test_rates.py": textwrap.dedent(tests)}
    )
    both = ran("add", "tax")
    failing, passing = "tests/test_rates.py::test_shown", "tests/test_rates.py::test_free"
    assert places(ranked(shop, [failing], Spectrum({failing: both}, {passing: both})))[0] == "shop/price.py::add"


@pytest.mark.parametrize(
    "message",
    [
        "AttributeError: 'Receipt' object has no attribute 'total'",
        "AttributeError: type object 'Receipt' has no attribute 'total'",
        "AttributeError: module 'shop.receipt' has no attribute 'total'",
        "ImportError: cannot import name 'total' from 'shop.receipt' (/home/dev/shop/receipt.py)",
    ],
)
def test_where_a_name_is_missing_what_stands_beside_it_is_suspected(message: str) -> None:
    spectrum = Spectrum({TOTAL: ran("total", "add") | ran("Receipt.text", path="shop/receipt.py")})
    assert places(ranked(SHOP, [TOTAL], spectrum))[0] == "shop/price.py::total"
    first, *_ = ranked(SHOP, ["tests/test_receipt.py"], spectrum, (), [message])
    assert first.place == "shop/receipt.py::Receipt.text"
    assert "the message says that a name is missing in it, or beside it" in first.reasons


def test_of_two_functions_the_one_in_the_module_that_the_test_file_is_named_after_comes_first() -> None:
    shop = Snapshot().with_changes(
        {
            "shop/_area.py": "def one():\n    pass\n",
            "shop/_rates.py": "def two():\n    pass\n",
            "tests/test_rates.py": "",
        }
    )
    failing = "tests/test_rates.py::test_it"
    spectrum = Spectrum({failing: ran("one", path="shop/_area.py") | ran("two", path="shop/_rates.py")})
    with_test = shop.with_changes({"tests/test_rates.py": "def test_it():\n    assert False\n"})
    assert places(ranked(shop, [failing], spectrum))[0] == "shop/_area.py::one"
    assert places(ranked(with_test, [failing], spectrum))[0] == "shop/_rates.py::two"


def test_where_nothing_was_seen_to_run_and_nothing_is_called_names_in_the_test_say_it() -> None:
    test = "def test_it(run):\n    assert run('python -c \"from shop.price import add; add(1)\"')\n"
    shop = SHOP.with_changes({"tests/test_start.py": test})
    assert places(ranked(shop, ["tests/test_start.py::test_it"], Spectrum())) == ["shop/price.py::add"]


def test_a_method_that_only_shows_a_value_of_the_failed_assertion_is_no_suspect() -> None:
    shown = SHOP.with_changes({PRICE: "class Price:\n    def __repr__(self): return str(1)\ndef total(items): ...\n"})
    spectrum = Spectrum({TOTAL: ran("Price.__repr__", "total")})
    assert places(ranked(shown, [TOTAL], spectrum)) == ["shop/price.py::total"]
    found = ranked(shown, [TOTAL], spectrum, [TracebackLine(PRICE, 2)])
    assert "shop/price.py::Price.__repr__" in places(found)


def test_of_functions_that_the_same_tests_ran_the_one_that_has_the_words_of_the_failing_test_comes_first() -> None:
    price = """
    def alpha(items):
        return "the rate of the day"
    def beta(items):
        return "halves are rounded up"
    """
    tests = """
    def test_rounding_of_halves():
        assert run("rate")
    def test_day():
        assert run("rate")
    """
    shop = Snapshot().with_changes({PRICE: textwrap.dedent(price), "tests/test_rates.py": textwrap.dedent(tests)})
    failing, passing, both = (
        "tests/test_rates.py::test_rounding_of_halves",
        "tests/test_rates.py::test_day",
        ran("alpha", "beta"),
    )
    found = ranked(shop, [failing], Spectrum({failing: both}, {passing: both}))
    assert places(found) == ["shop/price.py::beta", "shop/price.py::alpha"]
    assert "it has the words of the failure" in found[0].reasons
    assert "it has the words of the failure" not in found[1].reasons, "passing tests have its word as well"
    found = ranked(shop, [passing], Spectrum({passing: both}, {failing: both}))
    assert places(found) == ["shop/price.py::alpha", "shop/price.py::beta"]


def test_failures_that_were_raised_in_different_places_take_turns() -> None:
    tests = [f"tests/test_price.py::test_{n}" for n in range(9)]
    many = [SeenFailure(test, ((TracebackLine(PRICE, 4),),), "ValueError") for test in tests[:8]]
    one = SeenFailure(tests[8], ((TracebackLine("shop/receipt.py", 4),),), "KeyError")
    spectrum = Spectrum(
        {**{test: ran("total", "add") for test in tests[:8]}, tests[8]: ran("Receipt.text", path="shop/receipt.py")}
    )
    found = rank_suspects(SHOP, [*many, one], spectrum)
    assert places(found) == ["shop/price.py::add", "shop/receipt.py::Receipt.text", "shop/price.py::total"]
    assert found[1].reasons == ("run by 1 of 9 failing tests", "it was raised there, in line 4")


def test_a_class_body_and_a_value_of_the_module_are_suspected_where_they_raised() -> None:
    shop = SHOP.with_changes({PRICE: "RATE = int('x')\nclass Price:\n    rate = int('y')\n"})
    found = ranked(shop, ["tests/test_price.py"], Spectrum(), [TracebackLine(PRICE, 3)])
    assert places(found) == ["shop/price.py::Price"]
    found = ranked(shop, ["tests/test_price.py"], Spectrum(), [TracebackLine(PRICE, 1)])
    assert places(found) == ["shop/price.py::RATE"]


def test_where_one_error_followed_another_both_places_count_as_where_it_was_raised() -> None:
    detail = """
shop/price.py:4: in add
E   KeyError: 'rate'

The above exception was the direct cause of the following exception:
tests/test_price.py:6: in test_total
shop/price.py:2: in total
E   ValueError: no rate
E    +  where 3 = tax([1])
"""
    failure = seen_failure(TestResult(TOTAL, "failed", message="ValueError: no rate", detail=detail), SHOP)
    assert [[one.line for one in frames] for frames in failure.tracebacks] == [[4], [6, 2]]
    found = rank_suspects(SHOP, [failure], Spectrum({TOTAL: ran("total", "add", "tax")}))
    raised = {one.name for one in found if any("it was raised there" in why for why in one.reasons)}
    assert raised == {"total", "add"}
    named = {one.name for one in found if "the message of the failure names it" in one.reasons}
    assert named == {"tax"}, "the value in the assertion came from it"


def test_what_is_gone_by_now_and_what_only_tests_hold_is_no_suspect() -> None:
    spectrum = Spectrum({TOTAL: ran("gone", "add") | ran("helper", "test_total", path="tests/test_price.py")})
    found = places(ranked(SHOP, [TOTAL], spectrum))
    assert found == ["shop/price.py::add", "shop/price.py::total"]  # total by the graph


def test_parameters_of_a_failing_test_are_one_test_and_other_failing_tests_count_for_nothing() -> None:
    test_tax, test_text = "tests/test_price.py::test_tax", "tests/test_receipt.py::test_text"
    run = TestRun(
        "ran",
        outcomes=(
            TestResult(f"{TOTAL}[1]", "failed"),
            TestResult(f"{TOTAL}[2]", "passed"),
            TestResult(test_tax, "passed"),
            TestResult(test_text, "failed"),
        ),
        collected=4,
        functions={
            TOTAL: frozenset({(PRICE, 1), (PRICE, 3)}),
            test_tax: frozenset({(PRICE, 5)}),
            test_text: frozenset({("shop/receipt.py", 3)}),
        },
    )
    spectrum = spectrum_of(run, learned_from(NOTHING_KNOWN, run, SHOP), [f"{TOTAL}[1]"])
    assert spectrum == Spectrum({TOTAL: ran("total", "add")}, {test_tax: ran("tax")})


@pytest.mark.parametrize(
    ("counts", "score"), [((1, 1, 0), 1.0), ((1, 1, 3), 0.5), ((0, 1, 3), 0.0), ((1, 4, 0), 0.5), ((0, 0, 0), 0.0)]
)
def test_ochiai_is_what_its_formula_gives(counts: tuple[int, int, int], score: float) -> None:
    assert ochiai(*counts) == score


NAMES = st.frozensets(st.sampled_from(["total", "add", "tax"]).map(lambda name: (PRICE, name)))
TESTS = st.dictionaries(st.integers(0, 20).map(lambda n: f"tests/test_price.py::test_{n}"), NAMES, max_size=8)


@given(
    failing=TESTS.filter(bool),
    passing=TESTS,
    frames=st.lists(st.builds(TracebackLine, st.just(PRICE), st.integers(1, 6))),
)
def test_only_what_more_than_the_run_speaks_against_comes_before_what_all_failing_and_no_passing_tests_run(
    failing: Mapping[str, frozenset[Place]], passing: Mapping[str, frozenset[Place]], frames: list[TracebackLine]
) -> None:
    guilty = (PRICE, "add")
    failing = {test: places | {guilty} for test, places in failing.items()}
    passing = {test: places - {guilty} for test, places in passing.items()}
    found = ranked(SHOP, [*failing], Spectrum(failing, passing), frames)
    score = {(one.path, one.name): one.score for one in found}
    assert score[guilty] == 1.0
    before = found[: places(found).index("shop/price.py::add")]
    assert all(one.score == 1.0 or len(one.reasons) > 1 for one in before)
