"""What roles of the team may look up while they work, and how each of their models is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rolecall_server.craft.lookups import TOOL_NAMES
from rolecall_server.errors import FileRefused
from rolecall_server.model import NO_WISHES, ChatMessage, Reply, ToolCall, Wishes
from rolecall_server.settings import Settings
from rolecall_server.team.model_stack import IN_A_TEAM
from rolecall_server.team.roles.declarations import find_roles, our_roles
from rolecall_server.workspace import Workspace
from support.shop_team import BRIEF, shop_speeches
from support.team_model import TeamModel, who_is_asked
from support.team_run import TeamRun, team_run
from support.workspaces import FILES, write_workspace

RUN_CODE = ("run_test", "run_python")


@dataclass
class Curious(TeamModel):
    """A model that has the *curious* role look something up before it answers, *times* times."""

    curious: str = "Architect"
    times: int = 1
    offered: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    asked_how: dict[str, Any] = field(default_factory=dict[str, Any])
    n_rounds: int = 0

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        who = who_is_asked(messages)
        self.offered.setdefault(who, tuple(tool.name for tool in wishes.tools))
        self.asked_how.setdefault(who, wishes.parameters)
        if who == self.curious and wishes.tools and self.n_rounds < self.times:
            self.n_rounds += 1
            name = "total" if self.n_rounds == 1 else f"total{self.n_rounds}"
            call = ToolCall(f"c{self.n_rounds}", "callers", f'{{"name": "{name}"}}')
            return Reply("I look it up.", "script-1", 100, 50, (call,))
        return await super().complete(messages, wishes)


def curious_run(folder: Path, curious: Curious, **settings: Any) -> TeamRun:
    given = Settings.model_validate(settings)
    return team_run(folder, curious, settings=given, takes_tools=True).begin(BRIEF)


async def test_each_role_is_offered_what_it_declares_and_can_be_answered(tmp_path: Path) -> None:
    model = Curious(shop_speeches(), times=0)
    assert (await curious_run(tmp_path, model).go_on()).errors == ()
    titles = {role.title: role.tools for role in our_roles().values()}
    nothing_runs = {who: tuple(name for name in tools if name not in RUN_CODE) for who, tools in titles.items()}
    offered = {who.removesuffix(" T1").removesuffix(" T2"): names for who, names in model.offered.items()}
    assert offered == nothing_runs
    assert {*titles["Engineer"]} == {*TOOL_NAMES}
    assert titles["Project Manager"] == ()


async def test_what_a_role_looks_up_stands_in_its_conversation(tmp_path: Path) -> None:
    model = Curious(shop_speeches())
    assert (await curious_run(tmp_path, model).go_on()).errors == ()
    talk = model.conversations[model.asked.index("Architect")]
    assert [message.role for message in talk] == ["system", "user", "assistant", "tool"]
    assert "shop/cart.py" in talk[-1].text


@pytest.mark.parametrize("who", ["Architect", "Engineer T1", "QA Engineer"])
async def test_each_opening_says_how_often_its_role_may_look_things_up(tmp_path: Path, who: str) -> None:
    model = Curious(shop_speeches(), times=0)
    assert (await curious_run(tmp_path, model).go_on()).errors == ()
    opening = model.conversations[model.asked.index(who)][0]
    assert f"in at most {IN_A_TEAM.rounds} rounds and {IN_A_TEAM.calls} calls" in opening.text


async def test_the_reviewer_looks_things_up_as_they_are_with_the_change(tmp_path: Path) -> None:
    model = Curious(shop_speeches(), curious="Reviewer")
    assert (await curious_run(tmp_path, model).go_on()).errors == ()
    found = model.conversations[model.asked.index("Reviewer")][-1].text
    assert "shop/receipt.py" in found, "the change brings it"


@pytest.mark.parametrize("who", ["Architect", "Engineer T1"])
async def test_looking_things_up_has_an_end(tmp_path: Path, who: str) -> None:
    model = Curious(shop_speeches(), curious=who, times=100)
    assert (await curious_run(tmp_path, model).go_on()).errors == ()
    assert model.n_rounds == IN_A_TEAM.rounds


async def test_nothing_is_offered_where_the_settings_say_so_or_nobody_knows_the_model(tmp_path: Path) -> None:
    model = Curious(shop_speeches())
    (tmp_path / "off").mkdir()
    (tmp_path / "unknown").mkdir()
    await curious_run(tmp_path / "off", model, model={"tools": False}).go_on()
    assert not any(model.offered.values())
    unknown = Curious(shop_speeches())
    await team_run(tmp_path / "unknown", unknown).begin(BRIEF).go_on()
    assert not any(unknown.offered.values())


async def test_each_role_is_asked_as_the_developer_set_it_for_that_role(tmp_path: Path) -> None:
    model = Curious(shop_speeches(), times=0)
    await curious_run(tmp_path, model, roles={"engineer": {"model": "large", "temperature": 0.2}}).go_on()
    engineer, architect = model.asked_how["Engineer T1"], model.asked_how["Architect"]
    assert (engineer.model, engineer.temperature) == ("large", 0.2)
    assert (architect.model, architect.temperature) == ("", None)


def test_a_role_that_declares_a_tool_nobody_has_is_refused(tmp_path: Path) -> None:
    role = 'title = "X"\ngoal = "Y"\ntools = ["shell"]\n\n[[duty]]\ndoes = "write"\nwatches = ["change"]\n'
    files = {**FILES, ".rolecall/roles/x.toml": f'{role}publishes = ["review"]\n', ".rolecall/roles/x.md": "You are X."}
    with pytest.raises(FileRefused, match="there is no tool shell"):
        find_roles(Workspace(write_workspace(tmp_path / "work", files)))
