"""Variables of the environment and flags of the module: a test sets those that the code asks for."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from rolecall_server.craft.characterization import HouseStyle, Stage, Study, Subject, study, write_test_file

StageOf = Callable[..., Awaitable[Stage]]

MODULE = """
import os
from os import environ


def timeout():
    raw = os.getenv("APP_TIMEOUT", "30")
    if not raw.isdigit():
        raise ValueError(f"no number: {raw}")
    return int(raw)


def is_debug():
    return environ.get("APP_DEBUG", "").lower() == "yes"


def address():
    if "APP_HOST" in os.environ:
        return os.environ["APP_HOST"] + ":" + os.environ.get("APP_PORT", "80")
    return None


def path():
    return os.environ["PATH"]
"""


async def studied(stage_of: StageOf) -> Study:
    found = await study(await stage_of(MODULE), Subject(MODULE), lambda *_: None)
    assert isinstance(found, Study)
    return found


async def test_a_variable_that_the_code_asks_for_gets_values_that_make_a_difference(stage_of: StageOf) -> None:
    found = await studied(stage_of)
    given = {(call.target, call.operands[-1]) for call in found.cases if call.patched}
    assert {target for target, _ in given} == {"timeout", "is_debug", "address", "path"}
    assert ("is_debug", "{'APP_DEBUG': 'yes'}") in given
    # Only asked for where another one is set.
    assert any(
        target == "address" and "APP_HOST" in variables and "APP_PORT" in variables for target, variables in given
    )
    text = write_test_file(found, "thing", HouseStyle())
    assert text is not None
    assert re.search(r'patch\.dict\("os\.environ", .*, clear=True\)', text), text
    assert 'match="no number' in text


async def test_what_a_variable_of_this_machine_holds_is_not_asserted(stage_of: StageOf) -> None:
    found = await studied(stage_of)
    assert all(call.patched for call in found.cases if call.target == "path")


FLAG = """
import sys

WINDOWS = sys.platform == "win32"


def parted(path):
    if not path.startswith("/"):
        raise ValueError("no path")
    return path.lower().split("\\\\") if WINDOWS else path.split("/")
"""


async def test_a_flag_of_the_module_is_set_and_not_set(stage_of: StageOf) -> None:
    found = await study(await stage_of(FLAG), Subject(FLAG), lambda *_: None)
    assert isinstance(found, Study)
    text = write_test_file(found, "thing", HouseStyle())
    assert text is not None
    assert 'with patch("thing.WINDOWS", True):' in text
    assert {mutant.line for mutant in found.survivors} <= {4}  # which platform this is


READER = """
def size(text: str) -> str:
    number = int(text)
    if number > 10 * 1000:
        return "large"
    return "small"
"""


async def test_a_text_of_which_a_number_is_made_lies_at_the_borders_of_that_number(stage_of: StageOf) -> None:
    found = await study(await stage_of(READER), Subject(READER), lambda *_: None)
    assert isinstance(found, Study)
    assert {"size('10000')", "size('10001')"} <= {call.source for call in found.cases}
