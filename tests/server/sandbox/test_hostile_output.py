"""What tests print and report is foreign text: a bad line costs that line alone, never the run."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.sandbox import TestRun, Unconfined
from rolecall_server.sandbox.event_lines import read_record
from rolecall_server.sandbox.python.pytest_report import read_report
from rolecall_server.sandbox.runners.cargo import CargoTests
from rolecall_server.sandbox.runners.go import GoTests
from rolecall_server.sandbox.runners.node import NodeTests
from rolecall_server.sandbox.runners.port import Runner, RunnerPackage
from rolecall_server.sandbox.runners.run import told_by
from rolecall_server.sandbox.shadow.copied import CopiedShadow
from rolecall_server.workspace import Workspace

WorkspaceOf = Callable[..., Workspace]
RunInShadow = Callable[..., Awaitable[TestRun]]


def told(**facts: object) -> bytes:
    return json.dumps(facts).encode()


def failing(test: str, **facts: object) -> bytes:
    usual = {"when": "call", "outcome": "failed", "duration_s": 0.5, "message": "no", "detail": ""}
    return told(kind="report", test=test, **{**usual, **facts})


def measured(**facts: object) -> bytes:
    usual: dict[str, object] = {"path": "a.py", "executed": [1], "missing": [2], "branches_total": 2}
    return told(kind="coverage", **{**usual, "branches_covered": 1, **facts})


HOSTILE = {
    "nested without end": b"[" * 200_000,
    "an object nested without end": b'{"kind": ' * 200_000,
    "an exit code without end": b'{"kind": "end", "exit_code": Infinity}',
    "a number too large": b'{"kind": "end", "exit_code": 1e999}',
    "a number of too many digits": b'{"kind": "end", "exit_code": ' + b"9" * 10_000 + b"}",
    "a time that is none": failing("bad", duration_s="long"),
    "a time without end": b'{"kind":"report","test":"bad","when":"call","outcome":"failed","duration_s":1e999,'
    b'"message":"","detail":""}',
    "a message that is no text": failing("bad", message=["no"]),
    "lines that are none": measured(path="bad.py", executed=["a", None, 1.5]),
    "lines in lists": measured(path="bad.py", missing=[[1]]),
    "lines below zero": measured(path="bad.py", executed=[-1]),
    "branches that are none": measured(path="bad.py", branches_total="x"),
    "branches of one end": measured(path="bad.py", branches=[[1]]),
    "steps that are none": measured(path="bad.py", steps_by_test=[[]]),
    "tests that are none": measured(path="bad.py", tests_by_line={"1": 7}),
    "a list": b"[7]",
    "no text": b"\xff\x00",
}


@pytest.mark.parametrize("line", [*HOSTILE.values(), b""], ids=[*HOSTILE, "control: an empty one"])
def test_a_line_that_is_not_as_it_should_be_costs_that_line_alone(line: bytes) -> None:
    read = read_report([failing("one"), measured(), line, failing("two"), told(kind="end", exit_code=1)], str)
    assert [(one.test_id, one.outcome) for one in read.outcomes] == [("one", "failed"), ("two", "failed")]
    assert {path: found.ratio for path, found in read.coverage.items()} == {"a.py": 0.5}
    assert read.exit_code == 1


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = (
    "kind", "test", "when", "outcome", "expected", "duration_s", "message", "detail", "path", "executed", "missing",
    "branches_total", "branches_covered", "branches", "tests_by_line", "steps_by_test", "modules", "tests", "left_out",
    "exit_code", "reason",
)  # fmt: skip
KINDS = st.sampled_from(["start", "report", "coverage", "unmeasured", "foreign", "collected"])


@given(st.dictionaries(st.sampled_from(FIELDS), ANY_JSON), KINDS | ANY_JSON)
def test_no_record_whatever_it_holds_keeps_others_from_being_read(record: dict[str, Any], kind: object) -> None:
    hostile = told(**{**record, "kind": kind})
    read = read_report([hostile, failing("tests/test_a.py::test_one"), told(kind="end", exit_code=1)], str)
    assert read.outcomes[-1].test_id == "tests/test_a.py::test_one"
    assert read.exit_code == 1
    assert all(0 <= found.ratio <= 1 for found in read.coverage.values())
    assert all(one.duration_s < float("inf") for one in read.outcomes)


def test_what_no_program_and_no_file_can_take_is_replaced_in_texts() -> None:
    assert read_record(b'{"test": "\\ud800 and \\u0000", "more": [{"\\udfff": 1}]}') == {
        "test": "? and \ufffd",
        "more": [{"?": 1}],
    }
    assert read_record('{"test": "plain \\u00e9\\n"}') == {"test": "plain é\n"}


GO = '{"Action":"run","Package":"m","Test":"TestA"}\n%s\n{"Action":"fail","Package":"m","Test":"TestA","Elapsed":0}\n'
CARGO = '{"kind":"program","path":"/t/shop-0123456789abcdef"}\n%s\n{"type":"test","event":"failed","name":"a"}\n'
NODE_FAILURE = {
    "kind": "fail", "names": ["a"], "file": "", "suite": False, "skipped": False, "todo": False, "failure": "",
    "name": "", "message": "", "printed": "", "detail": "", "duration_s": 0,
}  # fmt: skip
NODE = "%s\n" + json.dumps(NODE_FAILURE)
LANGUAGES = [(GoTests(), GO), (CargoTests(), CARGO), (NodeTests(), NODE)]
LINES = [
    "",
    "[" * 200_000,
    '{"Action":"output","Package":7,"Test":["x"],"Output":null}',
    '{"Action":"pass","Test":"TestB"}',
    '{"Action":"pass","Package":"m","Test":"TestB","Elapsed":[]}',
    '{"reason":"compiler-message","message":{"spans":7}}',
    '{"type":"test","event":[],"name":{}}',
    '{"kind":"fail","names":7}',
    '{"kind":[]}',
]


@pytest.mark.parametrize(("runner", "report"), LANGUAGES, ids=[runner.name for runner, _ in LANGUAGES])
@pytest.mark.parametrize("line", LINES, ids=[line[:40] or "control: an empty one" for line in LINES])
def test_a_bad_line_in_the_report_of_another_language_costs_that_line_alone(
    runner: Runner, report: str, line: str, tmp_path: Path
) -> None:
    shadow = CopiedShadow(tmp_path, Path("/shop"), tmp_path, Unconfined())
    read = told_by(runner, RunnerPackage(shadow, ""), report % line, "")
    assert [one.outcome for one in read.outcomes] in (["failed"], ["error"])


@pytest.mark.parametrize(
    "body",
    [
        "print('../../../' + 'a' * 5000); assert False, 'so'",
        "assert False, 'so ../../../' + 'a' * 600",
        "assert False, 'so \\ud800 \\x00'",
        "assert False, 'so'",
    ],
    ids=["a path longer than any that is printed", "and raised", "half a character", "control: nothing hostile"],
)
async def test_what_a_test_prints_or_raises_never_costs_the_run(
    body: str, workspace_of: WorkspaceOf, run_in_shadow: RunInShadow
) -> None:
    text = f"#- test_a.py\ndef test_bad(): {body}\ndef test_good(): pass\n"
    run = await run_in_shadow(workspace_of(text))
    assert run.status == "ran"
    assert [(one.test_id, one.outcome) for one in run.outcomes] == [
        ("test_a.py::test_bad", "failed"),
        ("test_a.py::test_good", "passed"),
    ]
    assert "so" in run.outcomes[0].message
    run.outcomes[0].message.encode()
