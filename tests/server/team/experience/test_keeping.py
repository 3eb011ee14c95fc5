"""Attempts are kept as they ended, beside the calls that are stored anyway, and only where the developer wants it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall_server.craft.attempt import Attempt, Attempted
from rolecall_server.model import ChatMessage, Reply
from rolecall_server.sandbox import NotRun, TestResult, TestRun
from rolecall_server.settings import Settings
from rolecall_server.store import Store
from rolecall_server.store.attempts import attempts
from rolecall_server.team.experience.experiences import Experience, find_experience, forget, load_experiences
from rolecall_server.team.experience.keeping import PassCount, kept
from rolecall_server.team.request import RoleName, RunRequest
from support.edits import block
from support.scripted_model import ScriptedModel
from support.team_run import TeamRun, team_run

PATH = "shop/price.py"
BROKEN = "It is doubled.\n\n" + block(PATH, "    return sum(items)\n", "    return (sum(items)\n")
REPAIRED = block(PATH, "    return (sum(items)\n", "    return sum(items) * 2\n")
REQUEST = RunRequest(RoleName.ENGINEER, PATH, "total", "Double it.")
KEEP = Settings.model_validate({"experience": {"use": "keep"}})


def engineer(folder: Path, *replies: str | Reply, settings: Settings = KEEP) -> TeamRun:
    return team_run(folder, ScriptedModel(replies), settings=settings).begin_alone(REQUEST)


def experience_of(store: Store, root: Path) -> Experience:
    (found,) = load_experiences(store, root)
    return found


def attempted(run: TestRun | NotRun, conversation: str = "", **named: object) -> Attempted:
    attempt = Attempt(files={"shop/price.py": "x = 1\n", "tests/test_new.py": ""}, run=run, **named)  # pyright: ignore[reportArgumentType]
    return Attempted(
        1, 0, attempt, True, frozenset({"tests/test_told.py::test_a"}), (ChatMessage("user", conversation),)
    )


async def test_each_attempt_is_kept_with_what_it_built_on_and_the_call_it_came_from(tmp_path: Path) -> None:
    run = engineer(tmp_path, Reply(BROKEN, "m", 10, 5, logprob=-0.25), REPAIRED)
    await run.go_on()
    found = experience_of(run.store, run.root)
    first, second = found.attempts
    assert [call.id for call in run.store.calls("r1")] == [first.call_id, second.call_id]
    assert (first.kept.number, first.kept.built_on, first.kept.works, first.said) == (1, 0, False, "It is doubled.")
    assert (second.kept.number, second.kept.built_on, second.kept.works) == (2, 1, True)
    assert (first.logprob, second.logprob) == (-0.25, None)
    assert "line 1: Syntax error" in first.kept.trouble
    assert (found.id, found.run.id, found.role, found.n_calls) == ("e1", "r1", "engineer", 2)
    assert found.tokens >= 15
    assert found.outcome == "not run", "nothing could be run there"


async def test_nothing_is_kept_and_no_log_probability_asked_for_unless_the_developer_wants_it(tmp_path: Path) -> None:
    run = engineer(tmp_path, BROKEN, REPAIRED, settings=Settings())
    await run.go_on()
    assert load_experiences(run.store, run.root) == ()


async def test_a_run_that_is_taken_up_again_keeps_each_attempt_once(tmp_path: Path) -> None:
    limited = Settings.model_validate({"budget": {"callsPerRun": 1}, "experience": {"use": "keep"}})
    run = engineer(tmp_path, BROKEN, REPAIRED, settings=limited)
    await run.go_on()
    run.settings = KEEP
    await run.go_on()
    assert [made.kept.number for made in experience_of(run.store, run.root).attempts] == [1, 2]


async def test_what_is_forgotten_is_gone_from_the_store_and_the_log_stays(tmp_path: Path) -> None:
    run = engineer(tmp_path, BROKEN, REPAIRED)
    await run.go_on()
    known = load_experiences(run.store, run.root)
    assert forget(run.store, find_experience(known, "r1")) == 2
    assert attempts(run.store, run.root) == ()
    assert len(run.store.calls("r1")) == 2


async def test_what_another_repository_taught_is_not_seen(tmp_path: Path) -> None:
    run = engineer(tmp_path, BROKEN, REPAIRED)
    await run.go_on()
    assert load_experiences(run.store, tmp_path / "elsewhere") == ()


def test_tests_that_the_model_knew_are_counted_apart_from_those_it_could_not_know() -> None:
    passed = [
        TestResult(name, "passed")
        for name in ("tests/test_told.py::test_a", "tests/test_new.py::test_b", "tests/test_shown.py::test_c")
    ]
    hidden = [
        TestResult("tests/test_hidden.py::test_d", "passed"),
        TestResult("tests/test_hidden.py::test_e", "failed"),
    ]
    old = TestResult("tests/test_old.py::test_f", "failed")
    run = TestRun("ran", outcomes=(*passed, *hidden, old))
    found = kept(attempted(run, "## tests/test_shown.py\n", failures=(hidden[1],)), str)
    assert (found.public, found.private) == (PassCount(3, 0), PassCount(1, 1)), "test_f failed before as well"
    assert found.pass_rate == 0.75


@pytest.mark.parametrize(
    ("attempt", "rate"),
    [
        (attempted(NotRun("There is nothing to run.")), None),
        (attempted(NotRun("It does not parse."), syntax_errors=("line 1",)), 0.0),
        (attempted(TestRun("timed out"), breaks_the_run=True), 0.0),
        (attempted(TestRun("ran", outcomes=(TestResult("t.py::test", "passed"),))), 1.0),
    ],
    ids=["not run", "not parsed", "broken", "only tests it did not know"],
)
def test_the_pass_rate_says_nothing_where_nothing_was_run(attempt: Attempted, rate: float | None) -> None:
    assert kept(attempt, str).pass_rate == rate


def test_what_tests_say_is_covered_before_it_is_kept() -> None:
    failure = TestResult("tests/test_told.py::test_a", "failed", message="token=ghp_secret")
    found = kept(
        attempted(TestRun("ran", outcomes=(failure,)), failures=(failure,)),
        lambda text: text.replace("ghp_secret", "X"),
    )
    assert [one.message for one in found.failures] == ["token=X"]
