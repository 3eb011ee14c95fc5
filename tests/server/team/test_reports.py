"""What is written down of a run of the tests, whatever they are called and say."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from rolecall_server.sandbox import TestRun
from rolecall_server.sandbox.results import Outcome, TestResult
from rolecall_server.store.messages import MessageRow
from rolecall_server.team.documents import Kind
from rolecall_server.team.messages.rendering import tell
from rolecall_server.team.sprint.integration import report_of
from rolecall_server.workspace import Workspace

TEXTS = st.text(max_size=60) | st.sampled_from(["a[3.0  MB\n-3]", "a[`x`]", " ", ""])


@given(st.lists(st.tuples(TEXTS, st.sampled_from(get_args(Outcome)), TEXTS), max_size=4))
def test_any_run_can_be_reported(outcomes: list[tuple[str, Outcome, str]]) -> None:
    run = TestRun("ran", outcomes=tuple(TestResult(name, end, message=said) for name, end, said in outcomes))
    assert [one.outcome for one in report_of(run, "T1").outcomes] == [end for _, end, _ in outcomes]


def test_a_role_reads_how_many_tests_passed_and_the_names_of_those_that_failed(tmp_path: Path) -> None:
    outcomes = [TestResult("t.py::test_bad", "failed", message="no"), TestResult("t.py::test_odd", "skipped")]
    outcomes += [TestResult(f"t.py::test_{number}", "passed") for number in range(400)]
    run = TestRun("ran", outcomes=tuple(outcomes))
    body = report_of(run, "S1").model_dump_json()
    message = MessageRow(9, Kind.EXECUTION_REPORT, "S1", 1, "engineer", (), body, 0.0)
    assert tell([message], Workspace(tmp_path)) == snapshot("""\
# The execution report (S1)

# The tests of S1: 400 passed, 1 failed, 1 skipped

## Outcomes

| Test | Outcome | Detail |
| --- | --- | --- |
| `t.py::test_bad` | failed | no |
""")
