"""Candidates of a review that the repository's own tests refute: nobody is asked about them, and nobody is told."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rolecall_analysis import Index
from rolecall_analysis.faults import ConstantClaim
from rolecall_analysis.values import Position, Span
from rolecall_server.craft.code_review.candidates import ReviewScope, candidates_in
from rolecall_server.craft.code_review.judging import Judgement
from rolecall_server.model import Chosen
from rolecall_server.settings import read_settings
from rolecall_server.team.code_review.refuting import refuted_by_runs, with_claim
from rolecall_server.team.code_review.verdicts import judged_in, review_request
from rolecall_server.team.engine.scheduler import carry_out_run
from rolecall_server.team.plan.planning import begin_run
from rolecall_server.team.request import Repository
from rolecall_server.team.room import Developer
from rolecall_server.workspace import Workspace
from support.scripted_model import ScriptedModel
from support.stores import open_store
from support.workspaces import environment, write_workspace

GATE = """\
class Gate:
    def __init__(self):
        self.n_asked = 0

    @property
    def is_open(self):
        self.n_asked += 1
        return self.n_asked == 2


def state(gate):
    if gate.is_open:
        return "at once"
    if gate.is_open:
        return "asked again"
    return "shut"


def weekend(day):
    return day == "saturday" and day == "sunday"
"""
ASKED = """\
from gate import Gate, state, weekend


def test_a_gate_opens_when_asked_again():
    assert state(Gate()) == "asked again"


def test_monday():
    assert not weekend("monday")
"""
UNASKED = "from gate import Gate, state\n\n\ndef test_a_state_is_a_word():\n    assert isinstance(state(Gate()), str)\n"


def repository(folder: Path, tests: str, *, runs: bool = True) -> Repository:
    root = write_workspace(folder / "work", {"gate.py": GATE, "tests/test_gate.py": tests, "conftest.py": ""})
    index = Index(root)
    index.scan()
    settings, _ = read_settings({"tests": {"run": runs}}, {})
    snapshot = index.snapshot()
    index.close()
    store, environ = open_store(folder / "rolecall.db"), environment(folder / "home")
    return Repository(Workspace(root), snapshot, store, settings, environ)


async def refuted(at: Repository) -> list[int]:
    """The lines of what is refuted, from 1."""
    candidates = candidates_in(at.snapshot, ["gate.py"])
    assert [one.fault.span.start.line + 1 for one in candidates] == [14, 20]
    ids = await refuted_by_runs(at, candidates, lambda *_: None)
    return [one.fault.span.start.line + 1 for one in candidates if one.id in ids]


async def test_a_check_that_a_test_sees_come_out_otherwise_is_refuted(tmp_path: Path) -> None:
    assert await refuted(repository(tmp_path, ASKED)) == [14]


async def test_what_no_test_notices_is_not_refuted(tmp_path: Path) -> None:
    assert await refuted(repository(tmp_path, UNASKED)) == []


async def test_where_no_test_may_run_nothing_is_refuted(tmp_path: Path) -> None:
    assert await refuted(repository(tmp_path, ASKED, runs=False)) == []


async def test_what_is_refuted_is_not_asked_about_and_is_counted(tmp_path: Path) -> None:
    at = repository(tmp_path, ASKED)
    run_id = begin_run(at.store, at.workspace.root, review_request(ReviewScope(("gate.py",), reads=False)))
    model = ScriptedModel(["c2: real\nbecause: no day is both"] * 2)
    await carry_out_run(run_id, at, Chosen(model, "the test names it"), Developer(lambda *_: None))
    judged = judged_in(at.store, run_id)
    assert (judged.refuted, judged.kept_back) == (("c1",), ())
    assert {name: one.judgement for name, one in judged.verdicts.items()} == {"c2": Judgement.REAL}
    assert judged.in_short == "1 real, 0 not real, 0 unsure, 1 refuted by a run; judged by a script"
    assert "def state" not in model.asked[0][1].text


@given(st.lists(st.text("ab \N{GRINNING FACE}", min_size=1, max_size=6), min_size=1, max_size=4), st.data())
def test_the_constant_stands_where_the_expression_stood(lines: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first, len(lines) - 1))
    start = data.draw(st.integers(0, len(lines[first])))
    end = data.draw(st.integers(start if first == last else 0, len(lines[last])))
    text = "\n".join(lines)
    found = with_claim(text, ConstantClaim(Span(Position(first, start), Position(last, end)), always=True))
    before = "\n".join([*lines[:first], lines[first][:start]])
    after = "\n".join([lines[last][end:], *lines[last + 1 :]])
    assert found == f"{before}(True){after}"
