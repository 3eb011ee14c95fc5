"""Training data from runs that really happened: verified, in the documented formats, without secrets."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from rolecall_analysis import Index
from rolecall_server.craft.edits.edit_blocks import apply_edit_blocks, parse_edit_blocks
from rolecall_server.model import Chosen, Reply
from rolecall_server.model.client import ToolCall
from rolecall_server.settings import Settings
from rolecall_server.team.experience.experiences import load_experiences
from rolecall_server.team.experience.exporting import Exported, Format, export
from rolecall_server.team.experience.training_formats import (
    ChatRow,
    PreferenceRow,
    RepairRow,
    RewardedTests,
    TrainingMessage,
    TrajectoryRow,
)
from rolecall_server.team.request import FailureToMend, Repository, RoleName, RunRequest
from rolecall_server.workspace import Workspace
from support.edits import block
from support.role_run import ask_role
from support.scripted_model import ScriptedModel
from support.secrets import FORMS
from support.stores import open_store
from support.workspaces import environment, write_workspace

PRICE = "shop/price.py"
FILES = {
    "shop/__init__.py": "",
    PRICE: "def total(items):\n    return sum(items) + 1\n\n\ndef label(items):\n    return f'{total(items)} EUR'\n",
    "tests/test_price.py": "from shop.price import total\n\n\ndef test_total():\n    assert total([1]) == 1\n",
    "tests/test_label.py": "from shop.price import label\n\n\ndef test_label():\n    assert label([]) == '0 EUR'\n",
}
TEST = "tests/test_price.py::test_total"
FIX = "Hypothesis: total adds one.\n\n" + block(PRICE, "    return sum(items) + 1\n", "    return sum(items)\n")
WRONG = "Hypothesis: too little.\n\n" + block(PRICE, "    return sum(items) + 1\n", "    return sum(items) + 2\n")
MEND = RunRequest(RoleName.ENGINEER, "tests/test_price.py", brief=f"Make {TEST} pass.", mends=FailureToMend((TEST,)))
HALVE = RunRequest(RoleName.ENGINEER, PRICE, brief="Let label() say EURO, and update its test.")
EURO = block(PRICE, "    return f'{total(items)} EUR'\n", "    return f'{total(items)} EURO'\n")
EURO_TEST = block("tests/test_label.py", "    assert label([]) == '0 EUR'\n", "    assert label([]) == '0 EURO'\n")
SOUND = {**FILES, PRICE: FILES[PRICE].replace(" + 1", "")}

Play = Callable[..., Repository]


async def play(
    folder: Path, replies: Sequence[str | Reply], request: RunRequest = MEND, files: Mapping[str, str] = FILES
) -> Repository:
    """Have a run happen, and return the repository with what it kept."""
    root = write_workspace(folder / "work", dict(files))
    index = Index(root)
    index.scan()
    settings = Settings.model_validate({"experience": {"use": "keep"}})
    store = open_store(folder / "rolecall.db")
    repository = Repository(Workspace(root.resolve()), index.snapshot(), store, settings, environment(folder))
    index.close()
    await ask_role(request, repository, Chosen(ScriptedModel(replies), "the test names it", takes_tools=True))
    return repository


def exported(repository: Repository, form: Format, allowed: Sequence[str] = ("none",)) -> Exported:
    known = load_experiences(repository.store, repository.workspace.root)
    return export(repository.store, repository.workspace, known, form, allowed)


def applied(answer: str, files: Mapping[str, str]) -> Mapping[str, str | None]:
    edited = apply_edit_blocks(parse_edit_blocks(answer), files.get)
    assert not edited.problems
    return edited.files


async def test_a_chat_ends_with_the_answer_that_worked_on_the_text_of_the_repository(tmp_path: Path) -> None:
    (row,) = exported(await play(tmp_path, [WRONG, FIX]), "chat").rows
    assert isinstance(row, ChatRow)
    assert [turn.role for turn in row.messages] == ["system", "user", "assistant"]
    assert row.messages[-1].content.startswith("Hypothesis: total adds one.")
    assert applied(row.messages[-1].content, FILES) == {PRICE: SOUND[PRICE]}


async def test_the_models_own_words_are_kept_where_they_worked_at_once_with_what_it_looked_up(tmp_path: Path) -> None:
    calls = (ToolCall("c1", "callers", '{"name": "total"}'), ToolCall("c2", "documentation", '{"name": "json.dumps"}'))
    looked = Reply("", "m", None, None, calls)
    asked = RunRequest(RoleName.ENGINEER, PRICE, brief="Let label() say EURO, and update its test.")
    (row,) = exported(await play(tmp_path, [looked, f"Said.\n\n{EURO}{EURO_TEST}"], asked, SOUND), "chat").rows
    assert isinstance(row, ChatRow)
    assert [turn.role for turn in row.messages] == ["system", "user", "assistant", "tool", "tool", "assistant"]
    assert [call.function.name for call in row.messages[2].tool_calls or ()] == ["callers", "documentation"]
    assert "total(items)" in row.messages[3].content
    assert row.messages[4].content == "[left out: it is of an installed package]"
    assert row.messages[-1].content == f"Said.\n\n{EURO}{EURO_TEST}"


async def test_a_pair_has_both_answers_to_the_very_same_prompt(tmp_path: Path) -> None:
    (row,) = exported(await play(tmp_path, [WRONG, FIX]), "preference").rows
    assert isinstance(row, PreferenceRow)
    assert row.rejected[0].content == WRONG
    assert applied(row.chosen[0].content, FILES) == {PRICE: SOUND[PRICE]}
    assert "return sum(items) + 1" in row.prompt[-1].content


async def test_a_trajectory_has_the_tests_the_model_knew_apart_from_those_it_did_not(tmp_path: Path) -> None:
    (row,) = exported(await play(tmp_path, [f"I say EURO.\n\n{EURO}", EURO_TEST], HALVE, SOUND), "trajectories").rows
    assert isinstance(row, TrajectoryRow)
    assert [turn.role for turn in row.completion] == ["assistant", "user", "assistant"]
    first, last = row.rewards
    assert (first.turn, first.reward, last.turn, last.reward) == (0, 0.0, 2, 1.0)
    assert first.public.failed + first.private.failed == 1
    assert (last.public, last.private.failed) == (RewardedTests(passed=last.public.passed, failed=0), 0)
    assert (row.label, row.reward) == (True, 1.0)


async def test_a_trajectory_that_ends_badly_is_told_as_such(tmp_path: Path) -> None:
    broken = block(PRICE, "    return sum(items)\n", "    return (sum(items)\n")
    replies = [f"One.\n\n{broken}", *[block(PRICE, "    return (sum(items)\n", "    return sum(items) + 5\n")] * 4]
    try:
        repository = await play(tmp_path, replies, replace(HALVE, brief="Change total()."), SOUND)
    except AssertionError:
        pytest.fail("the script is too short")
    (row,) = exported(repository, "trajectories").rows
    assert isinstance(row, TrajectoryRow)
    assert (row.label, row.rewards[0].reward, row.rewards[-1].reward) == (False, -0.2, -1.0)


async def test_a_repair_has_the_fault_that_was_there_why_and_what_mended_it(tmp_path: Path) -> None:
    (row,) = exported(await play(tmp_path, [WRONG, FIX]), "repairs").rows
    assert isinstance(row, RepairRow)
    assert "return sum(items) + 1" in row.bug
    assert "return sum(items)\n" in row.fix
    assert row.failure.startswith(TEST)
    assert row.explanation == "Hypothesis: total adds one."
    assert row.tests.failed == 0
    assert row.tests.passed >= 2


async def test_a_fault_that_the_model_made_and_mended_itself_is_a_repair_too(tmp_path: Path) -> None:
    worse = block(PRICE, "    return f'{total(items)} EUR'\n", "    return f'{total(items)} EURO!'\n")
    better = "The test wants no sign.\n\n" + block(
        PRICE, "    return f'{total(items)} EURO!'\n", "    return f'{total(items)} EURO'\n"
    )
    replies = [f"EURO.\n\n{worse}{EURO_TEST}", better]
    (row,) = exported(await play(tmp_path, replies, HALVE, SOUND), "repairs").rows
    assert isinstance(row, RepairRow)
    assert "EURO!" in row.bug
    assert "EURO!" not in row.fix
    assert row.explanation == "The test wants no sign."


async def test_nothing_goes_out_that_failed_was_turned_down_or_did_not_run(tmp_path: Path) -> None:
    repository = await play(tmp_path, [WRONG, FIX])
    for form in ("chat", "preference", "repairs"):
        assert exported(repository, form).rows
    (known,) = load_experiences(repository.store, repository.workspace.root)
    act = repository.store.add_act(repository.workspace.root, "reject")
    repository.store.decide("p1", {"h1": "rejected"}, "Not so.", act)
    for form in ("chat", "preference", "repairs"):
        assert not exported(repository, form).rows, known.id


async def test_what_is_kept_from_models_by_now_is_left_out(tmp_path: Path) -> None:
    repository = await play(tmp_path, [FIX])
    (repository.workspace.root / ".aiignore").write_text("shop/\n")
    found = exported(repository, "chat")
    assert (found.rows, found.left_out) == ((), {"a file of it is kept from models by now": 1})


async def test_a_text_that_is_marked_with_another_licence_is_left_out(tmp_path: Path) -> None:
    marked = {**FILES, PRICE: "# SPDX-License-Identifier: GPL-2.0-only\n" + FILES[PRICE]}
    repository = await play(tmp_path, [WRONG, FIX], files=marked)
    assert exported(repository, "repairs").left_out == {"a text of it is marked with GPL-2.0-only": 1}
    assert exported(repository, "repairs", ("none", "GPL-2.0-only")).rows


def planted() -> dict[str, str]:
    """Return fifty secrets, each under the name of its form and a number."""
    chance = random.Random(18)
    kinds = [*sorted(FORMS), *sorted(FORMS)][:50]
    parts = {f"{kind} {n}": FORMS[kind] for n, kind in enumerate(kinds)}
    return {name: "".join(one if isinstance(one, str) else one(chance) for one in form) for name, form in parts.items()}


async def test_of_fifty_planted_secrets_none_is_inside(tmp_path: Path) -> None:
    secrets = planted()
    assert len(set(secrets.values())) == 50
    lines = [f"KEY_{n} = {secret!r}  # {kind}\n" for n, (kind, secret) in enumerate(secrets.items())]
    files = {**FILES, PRICE: FILES[PRICE] + "\n\n" + "".join(lines)}
    some = [*secrets.values()]
    said = f"Hypothesis: too little; the keys are {' and '.join(some[:25])}.\n\n"
    wrong = said + block(PRICE, "    return sum(items) + 1\n", f"    return {some[30]!r}\n")
    fixed = f"Hypothesis: total adds one, not {some[49]}.\n\n" + FIX.partition("\n\n")[2]
    brief = f"Make {TEST} pass; my token is {some[0]} and password = '{some[1]}'."
    repository = await play(tmp_path, [wrong, fixed], replace(MEND, brief=brief), files)
    for form in get_args(Format):
        found = exported(repository, form)
        text = "".join(row.model_dump_json() for row in found.rows)
        assert found.rows or found.left_out, form
        written = {kind: (secret, repr(secret)[1:-1], json.dumps(secret)[1:-1]) for kind, secret in secrets.items()}
        assert [kind for kind, forms in written.items() if any(form in text for form in forms)] == []


@pytest.mark.parametrize("row", [ChatRow, PreferenceRow, TrajectoryRow, RepairRow])
def test_a_row_of_another_shape_is_none_of_the_format(row: type[ChatRow]) -> None:
    with pytest.raises(ValueError, match=r"messages|prompt"):
        row.model_validate({"id": "e1", "text": "no"})
    assert TrainingMessage(role="user", content="x").model_dump(exclude_none=True) == {"role": "user", "content": "x"}
