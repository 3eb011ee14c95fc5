"""Where hunks lie when the text has moved on."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolecall_server.errors import HunkStale
from rolecall_server.review.acceptance import apply_edits, inverse_edit, plan_edit
from rolecall_server.review.proposals.anchor import Anchor, Stale, locate, text_with
from rolecall_server.review.proposals.hunks import file_change, number_hunks
from rolecall_server.review.proposals.proposal import FileChange
from rolecall_server.workspace import TextFile

BASE = """\
import math


def total(items):
    # adds them up
    return sum(items)


def discount(price):
    # ten per cent
    return price * 0.9
"""
PROPOSED = BASE.replace("return sum(items)", "return math.fsum(items)").replace("0.9", "0.8") + (
    "\n\ndef tax(price):\n    return price * 0.2\n"
)


def proposal() -> FileChange:
    return number_hunks([file_change("price.py", TextFile("price.py", BASE), PROPOSED)])[0]


def test_a_hunk_moves_with_the_lines_around_it() -> None:
    moved = locate(proposal(), (), "# a new first line\n" + BASE)
    assert moved["h1"] == Anchor(6, 7)


def test_a_hunk_whose_lines_were_edited_is_stale() -> None:
    places = locate(proposal(), (), BASE.replace("return sum(items)", "return sum(items) + 1"))
    assert isinstance(places["h1"], Stale)
    assert isinstance(places["h2"], Anchor)


def test_an_edit_that_is_undone_brings_the_hunk_back() -> None:
    assert isinstance(locate(proposal(), (), BASE)["h1"], Anchor)


def test_accepted_hunks_are_part_of_what_is_expected() -> None:
    change = proposal()
    current = text_with(change, {"h1"})
    places = locate(change, {"h1"}, current)
    assert places["h1"] == Anchor(5, 6)
    assert all(isinstance(place, Anchor) for place in places.values())


def test_an_addition_at_the_end_is_stale_when_somebody_added_there_too() -> None:
    places = locate(proposal(), (), BASE + "\n\ndef mine():\n    return 0\n")
    assert isinstance(places["h3"], Stale)


def test_a_deleted_file_makes_its_hunks_stale_with_that_reason() -> None:
    assert locate(proposal(), (), None)["h1"] == Stale("price.py was deleted.")


def test_a_new_file_that_exists_by_now_is_not_overwritten() -> None:
    change = number_hunks([file_change("new.py", None, "x = 1\n")])[0]
    assert locate(change, (), None)["h1"] == Anchor(0, 0)
    assert locate(change, (), "y = 2\n")["h1"] == Stale("new.py exists by now.")


def test_a_replaced_text_that_shares_blank_lines_only_holds_nothing() -> None:
    other = "\n\n".join(f"value_{i} = {i}" for i in range(12)) + "\n"
    assert all(isinstance(place, Stale) for place in locate(proposal(), (), other).values())


def test_planning_a_stale_hunk_says_why() -> None:
    with pytest.raises(HunkStale, match="changed since it was proposed"):
        plan_edit(proposal(), (), BASE.replace("sum", "min"), bring_in=["h1"])


def test_neighbouring_additions_keep_their_order_whichever_is_accepted_first() -> None:
    added = "\n\ndef one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return 3\n"
    change = number_hunks([file_change("price.py", TextFile("price.py", BASE), BASE + added)])[0]
    hunk_ids = [hunk.id for hunk in change.hunks]
    for seed in range(6):
        order = random.Random(seed).sample(hunk_ids, 3)
        text, accepted = BASE, set[str]()
        for hunk_id in order:
            text = plan_edit(change, accepted, text, bring_in=[hunk_id]).result or ""
            accepted.add(hunk_id)
        assert text == BASE + added


LINE = st.sampled_from(["a = 1", "b = 2", "", "def f():", "    return a", "é = '𝄞'", "    pass", "c = f()"])
TEXT = st.lists(LINE, min_size=1, max_size=12).map(lambda lines: "".join(f"{line}\n" for line in lines))


@settings(max_examples=300)
@given(TEXT, TEXT, st.data())
def test_whatever_is_typed_elsewhere_survives_an_acceptance(base: str, proposed: str, data: st.DataObject) -> None:
    """Typing is modelled as inserting marked lines; no acceptance may lose, move apart or repeat one of them."""
    changes = number_hunks([file_change("x.py", TextFile("x.py", base), proposed)])
    if not changes:
        return
    change = changes[0]
    lines = base.splitlines(keepends=True)
    for n in range(data.draw(st.integers(0, 2))):
        lines.insert(data.draw(st.integers(0, len(lines))), f"typed_{n} = {n}\n")
    current, accepted = "".join(lines), set[str]()
    for hunk in data.draw(st.permutations(change.hunks)):
        try:
            edit = plan_edit(change, accepted, current, bring_in=[hunk.id])
        except HunkStale:
            continue
        assert edit.result is not None
        assert edit.result == apply_edits(current, edit.edits)
        typed = [line for line in current.splitlines() if line.startswith("typed_")]
        assert [line for line in edit.result.splitlines() if line.startswith("typed_")] == typed
        current, accepted = edit.result, accepted | {hunk.id}
    untouched = "".join(line for line in current.splitlines(keepends=True) if not line.startswith("typed_"))
    assert untouched == text_with(change, accepted)


def test_a_stale_hunk_is_near_the_last_line_before_it_that_is_still_known() -> None:
    edited = BASE.replace("    return sum(items)\n", "    n = 0\n    return n\n").replace(
        "import math\n", "import math\n# new\n"
    )
    place = locate(proposal(), (), edited)["h1"]
    assert isinstance(place, Stale)
    assert edited.split("\n")[place.near] == "    n = 0"
    assert locate(proposal(), (), "")["h1"] == Stale("The lines around it have changed since it was proposed.", 0)


@given(TEXT, TEXT)
def test_the_inverse_of_an_edit_gives_every_character_back(base: str, proposed: str) -> None:
    for change in number_hunks([file_change("x.py", TextFile("x.py", base), proposed)]):
        made = plan_edit(change, (), base, bring_in=[hunk.id for hunk in change.hunks])
        back = inverse_edit(made)
        assert (back.current, back.result) == (made.result, base)
        assert apply_edits(back.current or "", back.edits) == base
