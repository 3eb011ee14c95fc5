"""A prompt that a module says stands in the file beside it, and no other one does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rolecall_server
from rolecall_server.model.prompts import prompts_beside

_NAMED = re.compile(r"""_PROMPTS\[["']([^"']+)["']""")
_FROM_TWO = re.compile(r"""_PROMPTS\["([^"]+)" if [\w.]+ else "([^"]+)"\]""")
SERVER = Path(rolecall_server.__file__).parent
MODULES = [path for path in SERVER.rglob("*.py") if "prompts_beside(__file__)" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_each_prompt_of_a_file_is_said_by_the_module_beside_it(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    said = {*_NAMED.findall(text), *(name for pair in _FROM_TWO.findall(text) for name in pair)}
    prompts = prompts_beside(str(module))
    assert {*prompts} == said
    assert all(prompts.values())


def test_the_prompts_are_those_of_twenty_one_modules() -> None:
    assert {path.stem for path in MODULES} == {
        "answering",
        "building",
        "engineer_plans",
        "feedback",
        "feedback_forms",
        "follow_up",
        "integration",
        "judging",
        "layout",
        "model_stack",
        "notes",
        "opening",
        "past_changes",
        "promises",
        "question",
        "redesign",
        "replaying",
        "revising",
        "telling",
        "structured",
        "whole_change",
    }
