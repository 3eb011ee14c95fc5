"""A conversation that is too long for the model is begun again with less, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall_server.errors import ContextOverflow
from rolecall_server.model import ChatMessage
from rolecall_server.team.model_calls.repacking import Opening, Repacking
from support.scripted_model import ScriptedModel
from support.shop_team import BRIEF, shop_speeches
from support.team_model import TeamModel
from support.team_run import team_run

LONG = (ChatMessage("system", "be brief"), ChatMessage("user", "x" * 100))
SHORT = (ChatMessage("system", "be brief"), ChatMessage("user", "x" * 50))
TURN = (ChatMessage("assistant", "yes"), ChatMessage("user", "again"))
TOO_LONG = ContextOverflow("the request is too long")


async def shorten() -> Opening:
    return SHORT


async def test_the_model_is_asked_again_with_a_shorter_opening_which_stays() -> None:
    model = ScriptedModel([TOO_LONG, "yes", "and"])
    client = Repacking(model, {LONG: shorten})
    assert (await client.complete(LONG)).text == "yes"
    await client.complete([*LONG, *TURN])
    assert model.asked == [LONG, SHORT, (*SHORT, *TURN)]


async def test_an_opening_is_made_shorter_in_the_middle_of_a_conversation_too() -> None:
    model = ScriptedModel([TOO_LONG, "yes"])
    await Repacking(model, {LONG: shorten}).complete([*LONG, *TURN])
    assert model.asked[1] == (*SHORT, *TURN)


async def test_what_is_too_long_even_so_is_told() -> None:
    model = ScriptedModel([TOO_LONG, TOO_LONG, TOO_LONG])
    client = Repacking(model, {LONG: shorten})
    for n_asked in (2, 3):
        with pytest.raises(ContextOverflow):
            await client.complete(LONG)
        assert len(model.asked) == n_asked


async def test_a_conversation_that_nobody_packed_is_left_as_it_is() -> None:
    model = ScriptedModel([TOO_LONG])
    with pytest.raises(ContextOverflow):
        await Repacking(model, {LONG: shorten}).complete([ChatMessage("user", "y")])
    assert len(model.asked) == 1


async def test_an_engineer_of_the_team_goes_on_with_a_shorter_opening_too(tmp_path: Path) -> None:
    speeches = shop_speeches()
    usual = speeches["Engineer T1"]
    assert isinstance(usual, str)
    model = TeamModel({**speeches, "Engineer T1": [TOO_LONG, usual]})
    ended = await team_run(tmp_path, model).begin(BRIEF).go_on()
    assert ended.errors == ()
    assert model.asked.count("Engineer T1") == 2
