"""What a role is told of earlier attempts: what is like its task, the most valuable first, in a tenth of its prompt."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from rolecall_server.model import Reply, estimate_tokens
from rolecall_server.review.proposals.proposal_store import load_proposal, put_aside
from rolecall_server.settings import Settings
from rolecall_server.store import RunRow
from rolecall_server.team.experience.experiences import Decided, Experience, Made, load_experiences
from rolecall_server.team.experience.keeping import KeptAttempt, KeptFailure, PassCount
from rolecall_server.team.experience.ranking import HALF_LIFE_S, rank_experiences, value_of
from rolecall_server.team.experience.replaying import experience_head, fitting, recall
from rolecall_server.team.request import RoleName, RunRequest
from support.edits import block
from support.scripted_model import ScriptedModel
from support.team_run import TeamRun, team_run

PATH = "shop/price.py"
BROKEN = "It is doubled.\n\n" + block(PATH, "    return sum(items)\n", "    return (sum(items)\n")
REPAIRED = block(PATH, "    return (sum(items)\n", "    return sum(items) * 2\n")
TRIPLED = block(PATH, "    return sum(items)\n", "    return sum(items) * 3\n")
DOUBLE = RunRequest(RoleName.ENGINEER, PATH, "total", "Double the total.")
TRIPLE = RunRequest(RoleName.ENGINEER, PATH, "total", "Triple the total.")
REPLAY = Settings.model_validate({"experience": {"use": "replay"}})
AT_S = 1_790_000_000.0


def made(passed: int, failed: int, logprob: float | None = None, said: str = "I tried it.") -> Made:
    failures = (KeptFailure("tests/test_price.py::test_total", "assert 3 == 2"),) if failed else ()
    count = PassCount(passed, failed)
    kept = KeptAttempt(1, 0, True, not failed, True, (PATH,), count, PassCount(), failures)
    return Made(1, kept, said, logprob)


def experience(*attempts: Made, brief: str = "Double the total.", path: str = PATH, at_s: float = AT_S) -> Experience:
    run = RunRow("r1", "engineer", path, brief, "finished", "", at_s, None)
    return Experience(run, "work", "engineer", attempts, len(attempts), 100, at_s)


def test_the_worth_is_the_likelihood_and_the_pass_rate_weighed() -> None:
    one = experience(made(3, 1, logprob=math.log(0.5)))
    assert value_of(one, 0.5, AT_S) == pytest.approx(0.5 * 0.5 + 0.5 * 0.75)
    assert value_of(one, 0.0, AT_S) == pytest.approx(0.75)
    assert value_of(one, 1.0, AT_S) == pytest.approx(0.5)


def test_without_a_likelihood_the_pass_rate_is_all() -> None:
    assert value_of(experience(made(3, 1)), 1.0, AT_S) == pytest.approx(0.75)


def test_what_the_developer_turned_down_passed_nothing() -> None:
    against = Decided(0, frozenset({("p1", "h1")}), ("It is too slow.",))
    assert value_of(replace(experience(made(4, 0)), verdict=against), 0.5, AT_S) == 0.0


@given(st.floats(0, 1), st.floats(0, 400 * 86_400), st.floats(0, 400 * 86_400))
def test_the_older_the_less_it_is_worth(alpha: float, age_s: float, more_s: float) -> None:
    one = experience(made(3, 1, logprob=-0.1))
    younger, older = (value_of(one, alpha, AT_S + seconds) for seconds in (age_s, age_s + more_s))
    assert 0 <= older <= younger <= 1
    assert value_of(one, alpha, AT_S + HALF_LIFE_S) == pytest.approx(value_of(one, alpha, AT_S) / 2)


def test_only_what_is_like_the_task_is_recalled() -> None:
    same = experience(made(3, 0), brief="Let total() take a tax rate.")
    other = experience(made(3, 0), brief="Write a page about releases.", path="docs/releases.md")
    found = rank_experiences([other, same], f"Let total() round to cents. {PATH}", 0.5, AT_S)
    assert [one.experience for one in found] == [same]


def test_words_that_every_task_has_make_none_like_another() -> None:
    names = ("price", "cart", "login", "report")
    known = [experience(made(1, 0), brief=f"Make tests/test_{name}.py pass.", path=f"src/{name}.py") for name in names]
    task = "Make tests/test_upload.py pass. src/upload.py"
    assert rank_experiences(known, task, 0.5, AT_S) == ()


def test_a_role_is_told_what_failed_and_with_which_test() -> None:
    failed, worked = made(1, 1, said="I sum up.\nAll of it."), made(2, 0)
    (found,) = recall([experience(failed, worked)], f"Double it in {PATH}: total", 0.5, AT_S)
    assert found.text == snapshot("""\
## 2026-09-21 in shop/price.py: Double the total.

Tried, and it failed:
- I sum up. All of it.
  - tests/test_price.py::test_total: assert 3 == 2\
""")


def test_nothing_is_told_of_files_that_are_kept_from_models_by_now() -> None:
    one = experience(made(1, 1))
    assert recall([one], "Double the total.", 0.5, AT_S)
    assert recall([one], "Double the total.", 0.5, AT_S, why_private={PATH: "It is private."}.get) == ()


TEXT = st.text(min_size=1, max_size=900)


@given(st.lists(st.tuples(TEXT, TEXT), max_size=12), st.integers(0, 20_000))
def test_experience_is_at_most_a_tenth_of_a_prompt(recalled: list[tuple[str, str]], n_others: int) -> None:
    told = fitting(experience_head(), recalled, n_others)
    assert estimate_tokens(told) <= (n_others + estimate_tokens(told)) / 10


def test_where_the_text_has_no_room_a_line_of_it_is_told() -> None:
    recalled = [("a long text " * 40, "in short")]
    assert recalled[0][0] in fitting(experience_head(), recalled, 10_000)
    assert "in short" in fitting(experience_head(), recalled, 600)
    assert fitting(experience_head(), recalled, 100) == ""


def engineer(folder: Path, *replies: str | Reply, settings: Settings = REPLAY) -> TeamRun:
    return team_run(folder, ScriptedModel(replies), settings=settings).begin_alone(DOUBLE)


async def test_the_next_task_like_it_is_told_what_the_developer_said_of_the_first(tmp_path: Path) -> None:
    run = engineer(tmp_path, BROKEN, REPAIRED, TRIPLED)
    ended = await run.go_on()
    reviewed = load_proposal(run.store, ended.proposal_id)
    act = run.store.add_act(run.root, "reject")
    put_aside(run.store, reviewed, ["h1"], "The tax is missing.", act)
    assert isinstance(run.model, ScriptedModel)
    await run.begin_alone(TRIPLE).go_on()
    first, third = run.model.last_words[0], run.model.last_words[2]
    assert "What earlier work here showed" not in first
    told = third.partition("# What earlier work here showed")[2].partition("\n# ")[0]
    assert "The tax is missing." in told
    assert estimate_tokens(told) <= estimate_tokens("".join(one.text for one in run.model.asked[2])) / 10


async def test_a_run_that_is_taken_up_again_is_told_the_same_and_no_call_is_paid_twice(tmp_path: Path) -> None:
    run = engineer(tmp_path, BROKEN, REPAIRED, BROKEN, REPAIRED)
    await run.go_on()
    run.settings = Settings.model_validate({"experience": {"use": "replay"}, "budget": {"callsPerRun": 1}})
    await run.begin_alone(TRIPLE).go_on()
    act = run.store.add_act(run.root, "reject")
    put_aside(run.store, load_proposal(run.store, "p1"), ["h1"], "", act)
    run.settings = REPLAY
    assert (await run.go_on()).state == "finished"
    assert isinstance(run.model, ScriptedModel)
    assert len(run.model.asked) == 4


@pytest.mark.parametrize("use", ["off", "keep"])
async def test_nothing_is_replayed_unless_the_developer_wants_it(tmp_path: Path, use: str) -> None:
    run = engineer(tmp_path, BROKEN, REPAIRED, TRIPLED)
    await run.go_on()
    assert len(load_experiences(run.store, run.root)) == 1
    run.settings = Settings.model_validate({"experience": {"use": use}})
    await run.begin_alone(TRIPLE).go_on()
    assert isinstance(run.model, ScriptedModel)
    assert "What earlier work here showed" not in run.model.last_words[2]
