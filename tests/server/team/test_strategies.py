"""How much work a run puts into getting a change right: what a strategy sets, and how one is chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rolecall_analysis import Index
from rolecall_server.settings import BudgetSettings, Settings, StrategyName, read_editor_settings, read_settings
from rolecall_server.store import Asking, Caps, Store
from rolecall_server.team.messages.board import body_of, load_pool
from rolecall_server.team.messages.rendering import describe_message
from rolecall_server.team.plan.estimates import Estimate
from rolecall_server.team.plan.planning import begin_run, plan_for, settle_strategy
from rolecall_server.team.plan.strategies import (
    NAMES,
    STANDARD,
    Strategy,
    choose_strategy,
    parts,
    share_of_budget,
    values_of,
    why_hard,
    with_strategy,
)
from rolecall_server.team.request import FailureToMend, Repository, RoleName, RunRequest, request_for_failure
from rolecall_server.team.roles.declarations import RunWay, our_roles
from rolecall_server.workspace import Workspace
from support.stores import open_store
from support.workspaces import FILES, write_workspace

PATH = "shop/price.py"


def settings_of(**team: object) -> Settings:
    settings, problems = read_settings({"team": team}, {})
    assert not problems
    return settings


def nested(key: str, value: object) -> dict[str, dict[str, object]]:
    group, option = key.split(".")
    return {group: {option: value}}


@pytest.mark.parametrize("part", parts(), ids=lambda part: part.name)
def test_every_part_is_a_setting_that_takes_what_is_declared(part: Any) -> None:
    declared = [part.off, *(values_of(name)[part.name] for name in NAMES)]
    for value in declared:
        settings, problems = read_settings(nested(part.setting, value), {})
        assert problems == ()
        group = getattr(settings, part.setting.split(".")[0])
        assert value in group.model_dump(include=group.model_fields_set).values()


@pytest.mark.parametrize("name", NAMES)
def test_a_strategy_has_a_value_for_each_part_and_for_nothing_else(name: StrategyName) -> None:
    assert [*values_of(name)] == [part.name for part in parts()]


def test_standard_is_what_happens_where_nobody_set_anything() -> None:
    assert with_strategy(Settings(), "standard") == Settings()


def test_a_strategy_sets_what_it_declares_and_nothing_else() -> None:
    quick = with_strategy(Settings(), "quick")
    assert (quick.team.repairs, quick.model.tools, quick.team.feedback) == (1, False, "plain")
    assert quick.tests.worth_seconds == 10
    assert (quick.tests.run, quick.tests.confinement, quick.budget) == (True, "required", BudgetSettings())


def test_what_the_developer_set_stays_even_if_that_is_the_default() -> None:
    given, _ = read_settings({"team": {"doubt": False, "repairs": "2"}}, {"ROLECALL_WORTH_SECONDS": "7"})
    thorough = with_strategy(given, "thorough")
    assert (thorough.team.doubt, thorough.team.repairs, thorough.tests.worth_seconds) == (False, 2, 7)
    assert thorough.team.feedback == "fitting"


def test_of_an_editor_that_sends_every_setting_those_count_as_given_that_are_not_the_default() -> None:
    everything = Settings().model_dump(by_alias=True)
    everything["team"]["repairs"] = 2
    given, problems = read_editor_settings(everything, {})
    thorough = with_strategy(given, "thorough")
    assert problems == ()
    assert (thorough.team.repairs, thorough.team.doubt) == (2, True)


@pytest.mark.parametrize(
    ("wanted", "share", "hard", "name", "why"),
    [
        ("auto", 0.1, "", "standard", "nothing speaks for more or less"),
        ("auto", 0.1, "40 places call total", "thorough", "40 places call total"),
        ("auto", 0.3, "40 places call total", "standard", "40 places call total, but your budget has too little left"),
        ("auto", 0.6, "", "quick", "the work may take 60% of what your budget has left"),
        ("auto", 7.0, "40 places call total", "quick", "the work may take 100% of what your budget has left"),
        ("quick", 0.0, "40 places call total", "quick", "you chose it"),
        ("thorough", 0.9, "", "thorough", "you chose it"),
    ],
)
def test_the_strategy_follows_from_difficulty_and_budget(
    wanted: str, share: float, hard: str, name: StrategyName, why: str
) -> None:
    chosen = choose_strategy(settings_of(strategy=wanted), share, hard)
    assert chosen.name == name
    assert chosen.why.startswith(why)


@pytest.mark.parametrize(
    ("budget", "share"),
    [
        ({}, 0.05),  # 2 of 40 calls
        ({"callsPerRun": 0}, 0.025),  # 10,000 of 400,000 tokens
        ({"callsPerRun": 0, "tokensPerRun": 0}, 0.0),
        ({"tokensPerDay": 30_000}, 0.5),  # 10,000 of the 20,000 that are left today
        ({"tokensPerDay": 9_000}, 1.0),
        ({"moneyPerRun": 4.0}, 0.25),
        ({"moneyPerDay": 1.25}, 0.8),
    ],
)
def test_the_share_is_that_of_the_limit_that_is_nearest(tmp_path: Path, budget: dict[str, Any], share: float) -> None:
    store = open_store(tmp_path / "rolecall.db")
    use_tokens(store, tmp_path, 10_000)
    estimate = Estimate(calls=2, tokens_sent=9_000, tokens_received=1_000, cost=1.0)
    assert share_of_budget(estimate, BudgetSettings.model_validate(budget), store) == pytest.approx(share)


def use_tokens(store: Store, root: Path, n_tokens: int) -> None:
    run_id = store.add_run(root, "engineer", "", "")
    call = store.reserve_call(run_id, "1", 0, Caps(), asking=Asking(role="engineer", kind="alone"))
    assert call is not None
    store.end_call(call, "{}", tokens=(n_tokens, 0))


def repository(folder: Path, settings: Settings | None = None, *, n_calls: int = 0) -> Repository:
    called = "from shop.price import total\n\n\ndef bill():\n" + "    total([])\n" * n_calls
    root = write_workspace(folder / "work", {**FILES, "shop/bill.py": called})
    index = Index(root)
    index.scan()
    snapshot = index.snapshot()
    index.close()
    return Repository(Workspace(root), snapshot, open_store(folder / "rolecall.db"), settings or Settings(), {})


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (RunRequest(RoleName.ENGINEER, PATH, "total", "Round it."), "31 places call total"),
        (RunRequest(RoleName.ENGINEER, PATH, "", "Let total() round."), "31 places call total"),
        (RunRequest(RoleName.ENGINEER, PATH, "", "Let totals round."), ""),
        (RunRequest(RoleName.ENGINEER, PATH, "discount", "Round it."), ""),
        (RunRequest(RoleName.ENGINEER, "", "", "Let total() round."), ""),
        (RunRequest(RoleName.QA_ENGINEER, PATH, "total"), ""),
        (request_for_failure(FailureToMend(("a.py::test_a", "b.py::test_b", "c.py"))), "tests of 3 files fail"),
        (request_for_failure(FailureToMend(("a.py::test_a", "a.py::test_b", "a.py::test_c"))), ""),
    ],
)
def test_work_is_hard_where_much_rests_on_it_or_much_fails(tmp_path: Path, request_: RunRequest, why: str) -> None:
    assert why_hard(request_, repository(tmp_path, n_calls=30).snapshot) == why


async def settled(at: Repository, run_id: str) -> tuple[Settings, list[str]]:
    told: list[str] = []
    return await settle_strategy(at, load_pool(at.store, run_id), told.append), told


async def test_the_strategy_of_one_role_and_its_reason_stand_in_the_plan_and_stay(tmp_path: Path) -> None:
    at = repository(tmp_path, n_calls=30)
    run_id = begin_run(at.store, at.workspace.root, RunRequest(RoleName.ENGINEER, PATH, "total", "Round it."))
    settings, told = await settled(at, run_id)
    assert (settings.team.repairs, settings.team.doubt) == (5, True)
    assert told == ["Strategy thorough: 31 places call total."]
    pool = load_pool(at.store, run_id)
    plan = pool.latest("plan")
    assert plan is not None
    assert body_of(plan)["strategy"] == {"name": "thorough", "why": "31 places call total"}
    assert describe_message(plan).endswith(": strategy thorough, because 31 places call total")
    again, told = await settled(at, run_id)
    assert (again, told) == (settings, [])
    assert load_pool(at.store, run_id).latest("plan") == plan, "it is not chosen twice"


async def test_usual_work_is_standard_without_a_word(tmp_path: Path) -> None:
    at = repository(tmp_path)
    run_id = begin_run(at.store, at.workspace.root, RunRequest(RoleName.ENGINEER, PATH, "total", "Round it."))
    settings, told = await settled(at, run_id)
    assert (settings, told) == (Settings(), [])


async def test_another_strategy_can_be_wanted_when_a_run_is_taken_up_again(tmp_path: Path) -> None:
    at = repository(tmp_path)
    plan = plan_for("Let total round.", our_roles(), at.settings)
    run_id = begin_run(at.store, at.workspace.root, RunRequest(brief="Let total round."), plan)
    assert (await settled(at, run_id))[0] == Settings()
    quick = repository(tmp_path, settings_of(strategy="quick"))
    settings, told = await settled(quick, run_id)
    assert (settings.team.repairs, told) == (1, ["Strategy quick: you chose it."])


async def test_a_run_of_an_earlier_rolecall_goes_on_as_it_began(tmp_path: Path) -> None:
    at = repository(tmp_path, settings_of(strategy="quick"))
    plan = plan_for("Let total round.", our_roles(), Settings())
    run_id = begin_run(at.store, at.workspace.root, RunRequest(brief="Let total round."), plan)
    at.store.select("UPDATE message SET body = json_remove(body, '$.strategy') WHERE kind = 'plan'")
    settings, told = await settled(at, run_id)
    assert (settings, told) == (at.settings, [])


@pytest.mark.parametrize("way", [None, *RunWay])
def test_a_plan_says_which_strategy_only_where_it_is_not_the_usual_one(way: RunWay | None) -> None:
    usual = plan_for("Let total round.", our_roles(), Settings(), way=way)
    poor, _ = read_settings({"budget": {"tokensPerRun": 20_000}}, {})
    short = plan_for("Let total round.", our_roles(), poor, way=way)
    assert usual.strategy == STANDARD
    assert "trategy" not in usual.why
    assert short.strategy.name == "quick"
    assert short.why.endswith(f" {short.strategy}")
    assert short.as_json()["strategy"] == str(short.strategy)


def test_a_brief_of_more_than_a_sprint_is_worked_on_thoroughly_where_the_budget_is_large() -> None:
    rich, _ = read_settings({"budget": {"tokensPerRun": 0, "callsPerRun": 0}}, {})
    plan = plan_for("word " * 1_501, our_roles(), rich)
    assert plan.strategy == Strategy("thorough", "the brief is more than one sprint")
