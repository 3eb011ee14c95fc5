"""What can be typed."""

from __future__ import annotations

import pytest

from rolecall_server.cli.arguments import parser
from rolecall_server.cli.arguments.machine import STRATEGIES
from rolecall_server.team.plan.strategies import NAMES


def test_settings_are_collected_as_an_editor_would_send_them() -> None:
    typed = ["tests", "a.py", "--set", "tests.run=false", "--set", "rolecall.tests.timeoutSeconds=5"]
    typed += ["--set", "model.baseUrl=http://host/v1?a=b"]
    assert parser().parse_args(typed).settings == {
        "tests": {"run": "false", "timeoutSeconds": "5"},
        "model": {"baseUrl": "http://host/v1?a=b"},
    }


def test_what_is_special_to_a_role_is_collected_too() -> None:
    typed = ["doctor", "--set", "roles.engineer.model=m", "--set", "roles.engineer.temperature=0.2"]
    assert parser().parse_args(typed).settings == {"roles": {"engineer": {"model": "m", "temperature": "0.2"}}}


def test_a_strategy_is_a_setting_with_a_word_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["fix", "t.py::test_a", "--strategy", "thorough", "--set", "team.doubt=false"]
    assert parser().parse_args(typed).settings == {"team": {"strategy": "thorough", "doubt": "false"}}
    with pytest.raises(SystemExit):
        parser().parse_args(["fix", "t.py::test_a", "--strategy", "brisk"])
    assert "argument --strategy: rolecall.team.strategy: Input should be 'auto', 'quick'" in capsys.readouterr().err


def test_the_strategies_that_can_be_typed_are_those_there_are() -> None:
    assert STRATEGIES == NAMES


def test_one_command_line_leaves_nothing_for_the_next() -> None:
    top = parser()
    top.parse_args(["tests", "a.py", "--set", "tests.run=false"])
    assert top.parse_args(["tests", "a.py"]).settings == {}


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("tests.run", "is no NAME=VALUE"),
        ("tests.walk=1", "is no NAME=VALUE of a setting"),
        ("roles.engineer=m", "is no NAME=VALUE of a setting"),
        ("tests.run.fast=1", "is no NAME=VALUE of a setting"),
        ("roles.engineer.temperature=9", "rolecall.roles.engineer: Input should be less than or equal to 2"),
        ("tests.run=perhaps", "rolecall.tests.run: Input should be a valid boolean"),
        ("tests.timeoutSeconds=-1", "rolecall.tests.timeoutSeconds: Input should be greater than 0"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_reason(setting: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(["tests", "a.py", "--set", setting])
    assert ended.value.code == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize("typed", [["tests"], ["implement"], ["demo"], ["dance"]])
def test_what_is_missing_is_a_usage_error(typed: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(typed)
    assert ended.value.code == 2
