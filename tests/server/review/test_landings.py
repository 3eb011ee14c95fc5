"""What stands in a file is read off its text, whatever an editor said or did."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rolecall_server.processes import ProcessId
from rolecall_server.review.proposals.edit_journal import UNKNOWN, fingerprint
from rolecall_server.store import LandingRow
from support.proposals import hunks_standing


def step(before: str | None, after: str | None, *brought_in: str, out: tuple[str, ...] = ()) -> LandingRow:
    return LandingRow(0, "a.py", "p1", brought_in, out, fingerprint(before), fingerprint(after), ProcessId(1))


CHAIN = [step("zero", "one", "h1"), step("one", "two", "h2"), step("two", "three", out=("h1",))]


def test_the_text_after_the_last_step_holds_what_all_steps_made_of_it() -> None:
    assert hunks_standing(CHAIN, "three") == {"h2"}


def test_an_undo_in_the_editor_takes_the_last_steps_back_one_by_one() -> None:
    assert hunks_standing(CHAIN, "two") == {"h1", "h2"}
    assert hunks_standing(CHAIN, "one") == {"h1"}
    assert hunks_standing(CHAIN, "zero") == set()


def test_a_text_that_is_none_of_the_chain_says_nothing() -> None:
    assert hunks_standing(CHAIN, "somebody typed") is None


def test_a_file_that_was_to_be_made_and_is_not_there_holds_nothing() -> None:
    chain = [step(None, "made", "h1", "h2")]
    assert hunks_standing(chain, None) == set()
    assert hunks_standing(chain, "made") == {"h1", "h2"}
    assert hunks_standing(chain, "") is None, "an editor opened it; nobody knows what will be in it"


def test_an_edit_that_is_undone_by_a_decision_leaves_the_hunk_out_whichever_step_the_text_is_taken_for() -> None:
    assert hunks_standing([step("zero", "one", "h1"), step("one", "zero", out=("h1",))], "zero") == set()


def test_a_text_is_known_again_though_nobody_saw_what_came_next() -> None:
    chain = [step("zero", "one", "h1"), replace(step("", "typed in", out=("h1",)), before=UNKNOWN)]
    assert hunks_standing(chain, "one") == {"h1"}
    assert hunks_standing(chain, "typed in") == set()


@given(st.lists(st.sampled_from(["h1", "h2", "h3"]), min_size=1, max_size=8), st.data())
def test_walking_to_any_step_gives_what_was_in_the_text_then(toggled: list[str], data: st.DataObject) -> None:
    chain, moments = list[LandingRow](), [frozenset[str]()]
    for n, hunk in enumerate(toggled):
        was = moments[-1]
        chain.append(step(f"{n}", f"{n + 1}", out=(hunk,)) if hunk in was else step(f"{n}", f"{n + 1}", hunk))
        moments.append(was ^ {hunk})
    n = data.draw(st.integers(0, len(toggled)))
    assert hunks_standing(chain, f"{n}") == moments[n]
