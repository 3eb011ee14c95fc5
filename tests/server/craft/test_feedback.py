"""What a model is told about its edits and its tests: exact, and no longer than it must be."""

from __future__ import annotations

from inline_snapshot import external_file

from rolecall_server.craft.edits.edit_blocks import EditProblem
from rolecall_server.craft.feedback import (
    MAX_DETAIL_LINES,
    MAX_FAILURES,
    describe_failures,
    describe_findings,
    describe_problems,
    describe_syntax,
)
from rolecall_server.review.proposals.evidence import GraphFinding
from rolecall_server.sandbox import NotRun, TestResult, TestRun


def failing(n: int, detail: str = "") -> tuple[TestResult, ...]:
    return tuple(TestResult(f"test_a.py::test_{i}", "failed", message=f"assert {i}", detail=detail) for i in range(n))


def test_each_failing_test_is_named_with_its_message_and_traceback() -> None:
    failures = failing(1, "    assert f() == 0\nE   assert 1 == 0")
    run = TestRun("ran", outcomes=(*failures, TestResult("test_a.py::test_x", "passed")))
    told = describe_failures(run, failures, "Mend it.")
    assert told.startswith("1 of 2 tests fail:\n\n### test_a.py::test_0\nassert 0\n````\n    assert f() == 0\n")
    assert "\nMend it.\n" in told


def test_of_many_failures_the_first_are_shown_and_the_rest_counted() -> None:
    failures = failing(MAX_FAILURES + 3)
    told = describe_failures(TestRun("ran", outcomes=failures), failures, "Mend it.")
    assert told.count("###") == MAX_FAILURES
    assert "(and 3 more)" in told


def test_of_a_long_traceback_the_beginning_and_the_end_are_shown() -> None:
    lines = [f"line {i}" for i in range(MAX_DETAIL_LINES * 3)]
    failures = failing(1, "\n".join(lines))
    told = describe_failures(TestRun("ran", outcomes=failures), failures, "").splitlines()
    shown = told[told.index("````") + 1 : told.index("````", told.index("````") + 1)]
    assert (shown[0], shown[-1]) == (lines[0], lines[-1])
    assert len(shown) == MAX_DETAIL_LINES + 1
    assert f"[{MAX_DETAIL_LINES * 2} lines left out]" in shown


def test_a_run_that_did_not_end_is_told_with_the_end_of_its_output() -> None:
    output = "".join(f"said {i}\n" for i in range(500))
    told = describe_failures(TestRun("timed out", "It took too long.", output=output), (), "Mend it.")
    assert told.startswith("The tests did not run to their end: It took too long.\n")
    assert "said 499\n````" in told
    assert "said 100\n" not in told


def test_a_run_that_never_began_is_told_with_its_reason() -> None:
    assert "There is no pytest." in describe_failures(NotRun("There is no pytest."), (), "Mend it.")


def test_only_the_blocks_that_do_not_fit_are_asked_for() -> None:
    told = describe_problems([EditProblem("a.py", "SEARCH matches nothing."), EditProblem("", "No FILE line.")])
    assert told.endswith("\n- a.py: SEARCH matches nothing.\n- No FILE line.")


def test_a_reply_without_a_block_is_answered_with_the_form_of_one() -> None:
    assert "<<<<<<< SEARCH" in describe_problems([])


def test_syntax_errors_are_listed() -> None:
    assert "\n- a.py, line 3: invalid\n- b.py: odd\n" in describe_syntax(["a.py, line 3: invalid", "b.py: odd"])


def test_a_problem_names_its_block_where_there_are_several() -> None:
    misfit = EditProblem("a.py", "SEARCH matches nothing in a.py.", (3,))
    assert "\nAbout block 3 of 5:\n- a.py: SEARCH matches nothing in a.py." in describe_problems([misfit], 5, (1, 2))
    assert "block 3" not in describe_problems([misfit], 1)


def test_what_is_applied_is_told_by_its_numbers() -> None:
    misfit = EditProblem("a.py", "SEARCH matches nothing in a.py.", (2,))
    told = describe_problems([misfit], 5, (1, 3, 5))
    assert told.endswith("\nApplied already, and not to be sent again: blocks 1, 3 and 5 of 5.")


def test_what_may_not_be_made_is_not_asked_for_again() -> None:
    told = describe_problems([EditProblem("a.py", "a.py belongs to T2.", (1,), is_refusal=True)], 2, (2,))
    assert "Send these again" not in told
    assert "About block 1 of 2:\n- a.py belongs to T2." in told


def test_all_that_a_model_is_told_about_its_edits_and_tests() -> None:
    unplaced = EditProblem("a.py", "no lines of it are like these.", (1,))
    refused = EditProblem("b.py", "it is not yours.", (2,), is_refusal=True)
    failures = failing(1, "E   assert 1 == 0")
    said = (
        describe_problems([]),
        describe_problems([unplaced], 4, (3, 4)),
        describe_problems([refused], 4),
        describe_problems([refused, unplaced], 4, (3,)),
        describe_syntax(["a.py, line 3: invalid syntax"]),
        describe_findings([GraphFinding("call that does not fit", "a.py", 2, "total() takes one argument.")]),
        describe_failures(NotRun("Nothing can be run here."), (), "Mend it."),
        describe_failures(TestRun("ran", outcomes=failures), failures, "Mend it."),
    )
    assert "\n\n=====\n\n".join(said) + "\n" == external_file("prompts/feedback.txt")
