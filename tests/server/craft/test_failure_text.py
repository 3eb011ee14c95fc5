"""What a pasted traceback or the log of a red build says of a failure in this repository."""

from __future__ import annotations

import textwrap

from hypothesis import given
from hypothesis import strategies as st

from rolecall_analysis import Snapshot
from rolecall_server.craft.repair.failure_text import ReportedFailure, TracebackLine, read_failure
from support.fixture import parse_fixture

SHOP = Snapshot().with_changes(
    parse_fixture("""
    #- src/shop/price.py
    def total(items):
        return sum(items) + 1
    #- src/shop/__init__.py
    from shop.price import total
    #- src/shop/web/__init__.py
    def view(): ...
    #- tests/test_price.py
    from shop import total
    class TestTotal:
        def test_total(self):
            assert total([1]) == 1
    def test_nothing():
        assert total([]) == 0
""").files
)


def read(text: str) -> ReportedFailure:
    return read_failure(textwrap.dedent(text), SHOP)


def test_a_run_of_pytest_tells_its_tests_its_frames_and_its_error() -> None:
    found = read("""
        =================================== FAILURES ===================================
        _____________________________ TestTotal.test_total _____________________________

        self = <tests.test_price.TestTotal object at 0x7f>

            def test_total(self):
        >       assert total([1]) == 1
        E       assert 2 == 1
        E        +  where 2 = total([1])

        tests/test_price.py:4: AssertionError
        =========================== short test summary info ============================
        FAILED tests/test_price.py::TestTotal::test_total - assert 2 == 1
        ERROR tests/test_price.py::test_nothing
        ========================= 1 failed, 2 passed in 0.01s ==========================
    """)
    assert found.tests == ("tests/test_price.py::TestTotal::test_total", "tests/test_price.py::test_nothing")
    assert found.frames == (TracebackLine("tests/test_price.py", 4),)
    assert found.error == ""  # pytest indents what it cuts out of a test


def test_the_error_is_what_pytest_says_first() -> None:
    assert read("E   assert 2 == 1\nE    +  where 2 = total([1])\n").error == "assert 2 == 1"


def test_parameters_may_hold_anything_and_the_message_after_them_is_left_out() -> None:
    found = read("""
        FAILED tests/test_price.py::test_nothing[a - b] - ValueError: [x] - y
        tests/test_price.py::test_nothing[c d] FAILED                       [ 50%]
        tests/test_price.py::test_nothing[e] PASSED                         [ 60%]
    """)
    assert found.tests == ("tests/test_price.py::test_nothing[a - b]", "tests/test_price.py::test_nothing[c d]")


def test_a_traceback_of_another_machine_is_found_in_this_repository() -> None:
    found = read("""
        Traceback (most recent call last):
          File "/usr/lib/python3.12/runpy.py", line 198, in _run_module_as_main
            return _run_code(code, main_globals, None,
          File "/home/runner/work/shop/shop/src/shop/price.py", line 2, in total
            return sum(items) + 1
        TypeError: unsupported operand type(s) for +: 'int' and 'str'
    """)
    assert found.frames == (TracebackLine("src/shop/price.py", 2),)
    assert found.tests == ()
    assert found.error == "TypeError: unsupported operand type(s) for +: 'int' and 'str'"


def test_an_installed_package_is_found_by_the_last_parts_of_its_path_where_there_is_one_such_file() -> None:
    assert read('File "C:\\venv\\shop\\price.py", line 2, in total').frames == ()
    assert read('File "shop/price.py", line 2, in total').frames == (TracebackLine("src/shop/price.py", 2),)
    assert read('File "__init__.py", line 1, in x').frames == ()


def test_a_test_that_the_traceback_goes_through_is_the_one_that_fails() -> None:
    found = read("""
        Traceback (most recent call last):
          File "/repo/tests/test_price.py", line 4, in test_total
        AssertionError
    """)
    assert found.tests == ("tests/test_price.py::TestTotal::test_total",)


def test_stamps_and_colours_of_a_build_are_no_part_of_its_lines() -> None:
    found = read(
        "tests\tRun pytest\t2026-03-01T10:00:00.1234567Z \x1b[31mFAILED\x1b[0m tests/test_price.py::test_nothing - x\n"
        "2026-03-01T10:00:00.1234567Z E   AssertionError: no\n"
        "2026-03-01T10:00:01.0000000Z src/shop/price.py:2: AssertionError\n"
    )
    assert found == ReportedFailure(
        ("tests/test_price.py::test_nothing",), (TracebackLine("src/shop/price.py", 2),), "AssertionError: no"
    )


def test_the_names_that_unittest_gives_become_those_of_pytest() -> None:
    assert read("FAIL: test_total (tests.test_price.TestTotal.test_total)\n").tests == (
        "tests/test_price.py::TestTotal::test_total",
    )
    assert read("ERROR: test_total (test_price.TestTotal)\n").tests == ("tests/test_price.py::TestTotal::test_total",)


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    found = read_failure(text, SHOP)
    assert all(frame.path in SHOP.files for frame in found.frames)
