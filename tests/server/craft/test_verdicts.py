"""What a model says of failing tests, in lines of a fixed form, and what a report says by itself."""

from __future__ import annotations

import pytest

from rolecall_server.craft.verdicts import (
    Suspicion,
    read_missing,
    read_suspicions,
    unexplained,
    why_environment,
    without_suspicions,
)
from rolecall_server.sandbox import TestResult

NO_NETWORK = "socket.gaierror: [Errno -3] Temporary failure in name resolution"
TEST = "tests/test_a.py::TestB::test_c[1]"


@pytest.mark.parametrize(
    ("line", "suspicion"),
    [
        (
            "Finding: a/b.py::C.d: It gives 1, not 2. Shown by test_c.",
            Suspicion("a/b.py", "C.d", "It gives 1, not 2.", ("test_c",)),
        ),
        (
            "- **Finding:** `a/b.py::d`: `d(1)` is 2. Shown by `test_c` and `tests/test_a.py::test_e`.",
            Suspicion("a/b.py", "d", "`d(1)` is 2.", ("test_c", "test_e")),
        ),
        ("Finding: a/b.py::d: No input reaches line 3.", Suspicion("a/b.py", "d", "No input reaches line 3.", ())),
    ],
)
def test_a_finding_has_a_place_a_sentence_and_the_tests_that_show_it(line: str, suspicion: Suspicion) -> None:
    assert read_suspicions(f"Before.\n{line}\nAfter.") == (suspicion,)
    assert without_suspicions(f"Before.\n{line}\nAfter.") == "Before.\nAfter."


@pytest.mark.parametrize(
    "line",
    ["Finding: d gives 1.", "Finding: a/b.py: It is wrong.", "A finding: a/b.py::d: no.", "Finding: a/b.py::d:"],
)
def test_what_has_another_form_is_prose(line: str) -> None:
    assert read_suspicions(line) == ()
    assert without_suspicions(line) == line


def test_what_the_environment_lacks_is_said_by_test() -> None:
    said = "Environment: test_c: no database.\n- `Environment: tests/test_a.py::test_e[1]: no printer`\n"
    assert read_missing(said) == {"test_c": "no database.", "test_e": "no printer"}


@pytest.mark.parametrize(
    ("message", "detail", "lacks"),
    [
        (
            "ModuleNotFoundError: No module named 'yaml'",
            "shop/a.py:1: in <module>",
            "The package yaml is not installed.",
        ),
        ("ModuleNotFoundError: No module named 'yaml'", "tests/test_a.py:3: in <module>", ""),
        ("ModuleNotFoundError: No module named 'shop.b'", "shop/a.py:1: in <module>", ""),
        (
            NO_NETWORK,
            "",
            f"It needs the network, which tests do not have: {NO_NETWORK}",
        ),
        ("AssertionError: assert 1 == 2", "", ""),
    ],
)
def test_the_report_itself_says_what_the_environment_lacks(message: str, detail: str, lacks: str) -> None:
    outcome = TestResult(TEST, "failed", message=message, detail=detail)
    assert why_environment(outcome, "", lambda name: name == "shop") == lacks


def test_only_what_nothing_explains_is_to_be_mended() -> None:
    failures = tuple(TestResult(f"tests/test_a.py::test_{name}", "failed", message="no") for name in "abc")
    said = "Finding: a.py::f: It is wrong. Shown by test_a.\nEnvironment: test_b: no printer."
    assert unexplained(failures, said, lambda name: False) == failures[2:]
    assert unexplained(failures, "", lambda name: False) == failures
