"""What a role is asked about a candidate of a review: a test that shows it, a change that mends it."""

from __future__ import annotations

from inline_snapshot import external_file

from rolecall_analysis import Snapshot
from rolecall_server.craft.code_review.candidates import candidates_in
from rolecall_server.craft.code_review.follow_up import follow_up
from rolecall_server.craft.code_review.judging import Judgement, Verdict
from support.workspaces import TWO_FAULTS

NOTHING, DEFAULT = candidates_in(Snapshot().with_changes({"shop.py": TWO_FAULTS}), ["shop.py"])
REAL = Verdict(Judgement.REAL, "with an empty text nothing matches")


def test_all_that_is_asked_of_a_test_and_of_a_fix() -> None:
    told = [follow_up("test", NOTHING, REAL), follow_up("fix", NOTHING, REAL, moved=2), follow_up("test", DEFAULT)]
    assert "\n\n=====\n\n".join(told) + "\n" == external_file("../prompts/follow_up.txt")


def test_what_was_not_judged_is_told_without_a_reason() -> None:
    assert "judged" not in follow_up("fix", DEFAULT)
