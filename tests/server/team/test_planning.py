"""Who works on a brief, and what that may cost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.errors import BriefMissing, DocumentUnusable, RequestRefused
from rolecall_server.model import Reply
from rolecall_server.model.recordings.recording import read_recording
from rolecall_server.settings import Settings
from rolecall_server.store import Asking, Caps
from rolecall_server.team.messages.board import load_pool
from rolecall_server.team.plan.briefs import count_wishes, title_of_brief
from rolecall_server.team.plan.planning import begin_run, plan_for, planned_roster, restore_brief
from rolecall_server.team.request import RunRequest
from rolecall_server.team.roles.declarations import RunWay, our_roles
from support.stores import open_store

ROLES = our_roles()


@pytest.mark.parametrize(
    ("brief", "wishes"),
    [
        ("Let total take a tax.", 1),
        ("Let total take a tax. Print it, too!", 2),
        ("Version 1.2 of shop.price takes a tax", 1),
        ("Do this:\n- a tax\n- a receipt\n* a discount", 3),
        ("1. a tax\n2) a receipt", 2),
        ("料金に税を加える。 領収書を出す。", 2),
        ("", 1),
    ],
)
def test_wishes_are_items_of_a_list_or_sentences(brief: str, wishes: int) -> None:
    assert count_wishes(brief) == wishes


@pytest.mark.parametrize(
    ("brief", "title"),
    [
        ("Let total take a tax rate.", "Let total take a tax rate."),
        ("Let total take a tax rate. Print it, too!", "Let total take a tax rate."),
        (
            "# Introduction\n\nLet total() take a tax\nrate of shop.price 1.2. More.",
            "Let total() take a tax rate of shop.price 1.2.",
        ),
        ("---\ntitle: Taxes\n---\n\n# Taxes\n\n## Why\nTaxes are due!\n", "Taxes are due!"),
        ("Introduction\n============\n\nTaxes are due", "Taxes are due"),
        ("<!-- a draft\nof it -->\n- a tax\n- a receipt", "a tax"),
        ("Do this:\n- a tax\n- a receipt", "Do this:"),
        ("# Taxes\n", "Taxes"),
        ("word " * 99, f"{('word ' * 99)[:79]}…"),
        ("料金に税を加える。 領収書を出す。", "料金に税を加える。"),
        ("---", "The brief"),
    ],
)
def test_the_title_of_a_run_is_the_first_sentence_of_its_brief(brief: str, title: str) -> None:
    assert title_of_brief(brief) == title


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(("# ", "---\n", "a b. ", "\n", "- ", "=", "<!--", "-->"))).map("".join)
)
def test_every_brief_has_a_title_of_one_line(brief: str) -> None:
    assert 0 < len(title_of_brief(brief)) <= 80
    assert "\n" not in title_of_brief(brief)


def test_a_small_brief_is_the_engineers_alone() -> None:
    plan = plan_for("Let total take a tax.", ROLES, Settings())
    assert (plan.roles, plan.is_lean) == (("engineer",), True)
    assert plan.why == "The brief is small (5 words, 1 wish): straight to the Engineer."
    assert plan.estimate.calls == 1
    assert str(plan.estimate).startswith("about 1 call, ")


@pytest.mark.parametrize("brief", ["word " * 300, "- a\n" * 8])
def test_a_page_is_still_the_engineers_alone(brief: str) -> None:
    assert plan_for(brief, ROLES, Settings()).is_lean


@pytest.mark.parametrize("brief", ["word " * 301, "- a\n" * 9, "word " * 1_500, "- a\n" * 40])
def test_a_brief_beyond_a_page_goes_the_middle_way(brief: str) -> None:
    plan = plan_for(brief, ROLES, Settings())
    assert (plan.way, plan.roles) == (RunWay.MIDDLE, ("product_manager", "engineer", "qa_engineer", "reviewer"))
    assert plan.why.startswith("The brief is beyond a page (")
    assert 4 <= plan.estimate.calls <= 6


@pytest.mark.parametrize("brief", ["word " * 1_501, "- a\n" * 41])
def test_a_brief_of_more_than_a_sprint_is_the_whole_teams(brief: str) -> None:
    plan = plan_for(brief, ROLES, Settings())
    assert (plan.way, plan.roles) == (RunWay.TEAM, tuple(ROLES))
    assert plan.why.startswith("The brief is more than one sprint (")
    assert plan.estimate.calls == 9


def test_the_developers_choice_goes_before_the_size() -> None:
    plan = plan_for("word " * 301, ROLES, Settings(), ["reviewer", "engineer"])
    assert plan.roles == ("engineer", "reviewer"), "in the order of the work"


def test_all_are_had_by_one_word() -> None:
    assert plan_for("A tax.", ROLES, Settings(), ["all"]).roles == tuple(ROLES)


def test_the_cost_is_said_where_prices_are_set() -> None:
    free, dear = Settings(), Settings.model_validate({"model": {"promptPrice": 1.0, "completionPrice": 2.0}})
    assert plan_for("A tax.", ROLES, free).estimate.cost is None
    estimate = plan_for("A tax.", ROLES, dear).estimate
    assert estimate.cost == pytest.approx((estimate.tokens_sent + 2 * estimate.tokens_received) / 1e6, rel=1e-3)


def test_a_role_whose_model_has_a_price_of_its_own_is_reckoned_at_that() -> None:
    prices = {"promptPrice": 1.0, "completionPrice": 2.0}
    dear = {"model": prices, "roles": {"reviewer": {"promptPrice": 0, "completionPrice": 0}}}
    both = plan_for("A tax.", ROLES, Settings.model_validate({"model": prices}), ["engineer", "reviewer"]).estimate
    with_free_reviewer = plan_for("A tax.", ROLES, Settings.model_validate(dear), ["engineer", "reviewer"]).estimate
    assert both.cost is not None
    assert with_free_reviewer.cost is not None
    assert 0 < with_free_reviewer.cost < both.cost
    assert with_free_reviewer.tokens_sent == both.tokens_sent


def recorded(library: str) -> tuple[str, list[Reply]]:
    """The brief and the replies of a recorded run of the team."""
    folder = Path(__file__).parents[2] / "e2e/team_recordings"
    exchanges = read_recording(folder / f"{library}.jsonl")
    return (folder / f"{library}.md").read_text(encoding="utf-8"), [exchange.reply for exchange in exchanges]


@pytest.mark.parametrize("library", ["xmltodict", "cachetools", "isodate"])
def test_the_estimate_lies_within_a_factor_of_two_of_the_recorded_runs(library: str) -> None:
    brief, replies = recorded(library)
    estimate = plan_for(brief, ROLES, Settings(), ["all"]).estimate
    took = (
        (estimate.calls, len(replies)),
        (estimate.tokens_sent, sum(reply.prompt_tokens or 0 for reply in replies)),
        (estimate.tokens_received, sum(reply.completion_tokens or 0 for reply in replies)),
    )
    assert [(told, real) for told, real in took if not 0.5 <= told / real <= 2] == []


@pytest.mark.parametrize(
    ("library", "sent", "received"),
    [("xmltodict", 9_011, 1_740), ("cachetools", 16_146, 3_694), ("isodate", 15_937, 6_306)],
)
def test_so_does_that_of_the_engineer_alone(library: str, sent: int, received: int) -> None:
    estimate = plan_for(recorded(library)[0], ROLES, Settings()).estimate
    assert 0.5 <= estimate.tokens_sent / sent <= 2
    assert 0.5 <= estimate.tokens_received / received <= 2


def test_what_a_role_took_before_is_what_it_is_expected_to_take(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    run_id = store.add_run(tmp_path, "team", "", "")
    for step in ("first", "second"):
        for number in range(5):
            asking = Asking(role="engineer", kind="alone")
            call = store.reserve_call(run_id, f"{number}", 0, Caps(), asking=asking, purpose=step)
            assert call is not None
            store.end_call(call, "{}", tokens=(40_000, 500))
    estimate = plan_for("A tax.", ROLES, Settings(), store=store).estimate
    assert (estimate.calls, estimate.tokens_received) == (5, 2500)
    assert 200_000 <= estimate.tokens_sent <= 200_010


@pytest.mark.parametrize("brief", ["", "  \n\t"])
def test_no_brief_no_plan(brief: str) -> None:
    with pytest.raises(BriefMissing):
        plan_for(brief, ROLES, Settings())


def test_a_hundred_pages_are_refused_with_what_to_do() -> None:
    with pytest.raises(RequestRefused) as refused:
        plan_for("a word and another\n" * 15_000, ROLES, Settings())
    assert "about 81,429 tokens" in refused.value.what
    assert "contextTokens" in refused.value.next_step


def test_a_run_that_died_before_its_brief_was_published_gets_it_back(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    run_id = store.add_run(tmp_path, "team", "shop/price.py", "Add a tax.")
    restore_brief(store, run_id)
    restore_brief(store, run_id)
    pool = load_pool(store, run_id)
    assert [(message.kind, message.version) for message in pool.messages] == [("brief", 1)]
    with pytest.raises(DocumentUnusable):
        planned_roster(pool, ROLES)


def test_a_run_begins_with_its_plan_and_its_brief(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    run_id = begin_run(store, tmp_path, RunRequest(brief="A tax."), plan_for("A tax.", ROLES, Settings()))
    pool = load_pool(store, run_id)
    assert [(message.sender, message.kind) for message in pool.messages] == [("team", "plan"), ("developer", "brief")]
    assert [*planned_roster(pool, ROLES)] == ["team", "engineer"]
