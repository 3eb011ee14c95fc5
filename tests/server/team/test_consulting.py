"""A role that lacks a fact asks the role that owns it: once a step, in the pool, within the budget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rolecall_server.errors import ConnectionFailed
from rolecall_server.model import NO_WISHES, ChatMessage, Reply, Wishes
from rolecall_server.settings import BudgetSettings, Settings
from rolecall_server.team.consulting import question_in
from rolecall_server.team.messages.board import body_of
from rolecall_server.team.plan.planning import plan_for
from rolecall_server.team.roles.declarations import our_roles
from support.shop_team import BRIEF, DESIGN, REQUIREMENTS, TAX, shop_speeches
from support.team_model import Says, TeamModel, fenced, who_is_asked
from support.team_run import TeamRun, team_run

QUESTION = "Is the tax a rate or an amount?"
ASK = f"I cannot tell.\n\nASK Product Manager: {QUESTION}"
ANSWER = "A rate: R1 has 0.5 of 100."


def asked_or(document: str) -> Says:
    """The answer to a question where one is asked, else *document*."""

    def say(messages: Sequence[ChatMessage]) -> str:
        return ANSWER if "# A question" in messages[-1].text else document

    return say


def consulting_team(**others: Says | list[Says]) -> TeamModel:
    said: dict[str, Says | list[Says]] = {
        "Product_Manager": asked_or(fenced(REQUIREMENTS)),
        "Architect": asked_or(fenced(DESIGN)),
    }
    return TeamModel(shop_speeches(**(said | others)))


def conversation(model: TeamModel, who: str, number: int) -> str:
    """All that *who* was told the time of that number, from 0."""
    times = [place for place, each in enumerate(model.asked) if each == who]
    return "\n".join(message.text for message in model.conversations[times[number]])


def questions(run: TeamRun) -> list[tuple[str, str, str, str]]:
    """Sender, kind, subject, and what was asked or answered."""
    return [
        (message.sender, message.kind, message.subject, body_of(message)[message.kind])
        for message in run.pool.messages
        if message.kind in ("question", "answer")
    ]


async def test_the_owner_answers_from_the_documents_and_the_role_goes_on(tmp_path: Path) -> None:
    model = consulting_team(Architect=[ASK, fenced(DESIGN)])
    run = team_run(tmp_path, model).begin(BRIEF)
    assert (await run.go_on()).errors == ()
    assert questions(run) == [
        ("architect", "question", "architect", QUESTION),
        ("product_manager", "answer", "architect", ANSWER),
    ]
    consulted = conversation(model, "Product Manager", 1)
    assert BRIEF in consulted
    assert REQUIREMENTS["requirements"][0]["consequence"] in consulted
    assert QUESTION in consulted
    assert f"The Product Manager answers:\n\n{ANSWER}" in conversation(model, "Architect", 1)
    assert "architect design v1" in run.story


async def test_a_task_is_done_after_its_question(tmp_path: Path) -> None:
    ask = "ASK architect: which module takes the tax?"
    model = consulting_team(Engineer_T1=[ask, TAX])
    run = team_run(tmp_path, model).begin(BRIEF)
    assert (await run.go_on()).errors == ()
    assert [one[:3] for one in questions(run)] == [
        ("engineer", "question", "engineer/S1/T1"),
        ("architect", "answer", "engineer/S1/T1"),
    ]
    assert DESIGN["approach"] in conversation(model, "Architect", 1)


async def test_the_answer_comes_because_of_the_question_and_that_because_of_what_was_read(tmp_path: Path) -> None:
    run = team_run(tmp_path, consulting_team(Architect=[ASK, fenced(DESIGN)])).begin(BRIEF)
    await run.go_on()
    pool = run.pool
    asked, answered = pool.latest("question", "architect"), pool.latest("answer", "architect")
    assert asked is not None
    assert answered is not None
    assert answered.because == (asked.id,)
    assert {pool.message(number).kind for number in asked.because} == {"brief", "requirements", "answers"}


async def test_a_step_asks_once_and_what_it_asks_then_is_no_answer(tmp_path: Path) -> None:
    model = consulting_team(Engineer_T1=[ASK, ASK, TAX])
    run = team_run(tmp_path, model).begin(BRIEF)
    assert (await run.go_on()).errors == ()
    assert len(questions(run)) == 2
    assert model.asked.count("Engineer T1") == 3


async def test_who_asks_somebody_who_is_not_there_is_told_so_and_goes_on(tmp_path: Path) -> None:
    model = consulting_team(Engineer_T1=["ASK Reviewer: is it good?", TAX])
    run = team_run(tmp_path, model).begin(BRIEF)
    assert (await run.go_on()).errors == ()
    assert questions(run) == []
    assert "Only the Product Manager or the Architect can be asked." in conversation(model, "Engineer T1", 1)


async def test_where_nobody_owns_a_document_nobody_is_asked(tmp_path: Path) -> None:
    model = TeamModel({"Engineer": TAX})
    run = team_run(tmp_path, model).begin("Let total take a tax.", ["engineer"])
    await run.go_on()
    assert "you may ask" not in model.told("Engineer")


async def test_questions_count_in_the_budget(tmp_path: Path) -> None:
    settings = Settings().model_copy(update={"budget": BudgetSettings(calls_per_run=2)})
    run = team_run(tmp_path, consulting_team(Architect=[ASK, fenced(DESIGN)]), settings=settings).begin(BRIEF)
    assert (await run.go_on()).state == "paused"
    assert [kind for _, kind, _, _ in questions(run)] == ["question"]
    run.settings = Settings()
    assert (await run.go_on()).state == "finished"
    assert [kind for _, kind, _, _ in questions(run)] == ["question", "answer"]


async def test_neither_question_nor_answer_is_paid_for_twice(tmp_path: Path) -> None:
    model = consulting_team(Architect=[ASK, ConnectionFailed("The model is gone."), fenced(DESIGN)])
    run = team_run(tmp_path, model).begin(BRIEF)
    assert (await run.go_on()).state == "failed"
    before = questions(run)
    assert (await run.go_on()).state == "finished"
    assert questions(run) == before
    assert (model.asked.count("Architect"), model.asked.count("Product Manager")) == (3, 2)


async def test_the_owner_answers_as_it_is_set_to(tmp_path: Path) -> None:
    asked_how: dict[str, float | None] = {}

    class Noting(TeamModel):
        async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
            is_question = "# A question" in messages[-1].text
            asked_how["answer" if is_question else who_is_asked(messages)] = wishes.parameters.temperature
            return await super().complete(messages, wishes)

    settings = Settings.model_validate({"roles": {"productManager": {"temperature": 0.7}}})
    model = Noting(consulting_team(Architect=[ASK, fenced(DESIGN)]).speeches)
    run = team_run(tmp_path, model, settings=settings).begin(BRIEF)
    assert (await run.go_on()).errors == ()
    assert (asked_how["answer"], asked_how["Architect"]) == (0.7, None)
    calls = [call.role for call in run.store.calls(run.run_id)]
    assert calls[:4] == ["product_manager", "architect", "product_manager", "architect"]


def test_the_plan_says_how_many_questions_there_may_be() -> None:
    roles = our_roles()
    whole = plan_for(BRIEF, roles, Settings(), roles).estimate
    assert whole.questions == 5
    assert "the roles may ask each other up to 5 questions" in str(whole)
    assert plan_for(BRIEF, roles, Settings(), ["engineer", "reviewer"]).estimate.questions == 0


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("ASK Architect: where?", ("Architect", "where?")),
        ("Hm.\n\n> **ASK Product Manager: one: or two?**\n", ("Product Manager", "one: or two?")),
        ("`ASK architect: where?`", ("architect", "where?")),
        ("ASK Architect: where?\n\nFILE: shop/price.py", None),
        ("I would ask Architect: where?", None),
        ("ASK Architect:", None),
        ("", None),
    ],
)
def test_a_question_is_the_last_line_of_a_reply(said: str, question: tuple[str, str] | None) -> None:
    assert question_in(said) == question
