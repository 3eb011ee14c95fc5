"""Briefs about one candidate of a review: a test that shows the fault, a change that mends it."""

from __future__ import annotations

from typing import Literal

from rolecall_server.craft.code_review.candidates import ReviewCandidate
from rolecall_server.craft.code_review.judging import Verdict
from rolecall_server.model.prompts import prompts_beside

FollowUp = Literal["test", "fix"]
_PROMPTS = prompts_beside(__file__)


def follow_up(wanted: FollowUp, candidate: ReviewCandidate, verdict: Verdict | None = None, *, moved: int = 0) -> str:
    """Return the brief for a *test* that shows *candidate*, or for a *fix* of it.

    *moved* is by how many lines the code has moved since it was found.
    """
    fault, is_test = candidate.fault, wanted == "test"
    steps = (step for step in fault.way if step.path == fault.path)
    reason = _PROMPTS["reason"].format(judgement=verdict.judgement, reason=verdict.reason) if verdict else ""
    return _PROMPTS["test" if is_test else "fix"].format(
        path=fault.path,
        line=fault.span.start.line + 1 + moved,
        message=fault.message,
        way="; ".join(f"line {step.span.start.line + 1 + moved}: {step.text}" for step in steps) or "at once",
        reason=f"{reason}\n" if reason else "",
        written=f"\n\n{_PROMPTS['written'].format(test=candidate.test.strip())}" if candidate.test else "",
        post_condition=candidate.rule.post_condition,
    )
