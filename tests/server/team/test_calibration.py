"""Estimates of tokens become safe ones by what an endpoint counted before."""

from __future__ import annotations

import random
import sysconfig
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.model import estimate_tokens
from rolecall_server.settings import ModelSettings
from rolecall_server.team.model_calls.calibration import Fit, factor_of
from rolecall_server.team.opening import room_tokens

RATIOS = st.lists(st.floats(0.01, 50, allow_nan=False), max_size=80)


@given(RATIOS)
def test_a_factor_is_bounded_and_no_estimate_shrinks_before_enough_is_known(counted: list[float]) -> None:
    factor = factor_of(counted)
    assert 0.5 <= factor <= 4
    assert len(counted) >= 19 or factor >= 1


def words_and_signs(text: str) -> int:
    """As a tokenizer might count: a token for each four letters of a word, for each sign and each run of spaces."""
    n_tokens = n_letters = 0
    previous = ""
    for character in text:
        if character.isalnum() or character == "_":
            n_tokens += n_letters % 4 == 0
            n_letters += 1
        else:
            n_letters = 0
            n_tokens += not (character.isspace() and previous.isspace())
        previous = character
    return n_tokens


def test_after_calibration_fewer_than_one_prompt_in_twenty_is_underestimated() -> None:
    """Prompts of real code, in the order of nobody's choosing: each is judged by those before it."""
    chance = random.Random(7)
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sources()]
    n_low = n_judged = 0
    counted: list[float] = []
    for _ in range(600):
        prompt = "".join(part[(at := chance.randrange(len(part))) : at + 3000] for part in chance.choices(texts, k=4))
        estimated, real = estimate_tokens(prompt), words_and_signs(prompt)
        if len(counted) >= 19:
            n_judged += 1
            n_low += estimated * factor_of(counted) < real
        counted.insert(0, real / estimated)
    assert n_judged > 500
    assert n_low / n_judged < 0.05


def sources() -> list[Path]:
    folder = Path(sysconfig.get_path("stdlib"))
    return [path for path in sorted(folder.glob("*.py")) if path.stat().st_size > 4000][:120]


def test_the_pack_takes_what_the_setting_says_where_the_models_context_is_not_known() -> None:
    assert room_tokens(ModelSettings(context_tokens=9000), Fit(), 5000) == 9000


def test_a_small_model_gets_a_smaller_pack_with_room_for_its_reply() -> None:
    settings = ModelSettings(context_tokens=16_000, reply_tokens=32_000)
    room = room_tokens(settings, Fit(8192, factor=1.25), 1000)
    assert (room + 1000) * 1.25 + 8192 / 3 <= 8192
    assert room > 3000
    assert room_tokens(settings, Fit(200_000, factor=1.25), 1000) == 16_000
