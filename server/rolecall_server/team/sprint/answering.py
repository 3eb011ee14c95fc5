"""The answer to a review: each finding fixed in the change, or declined with a reason."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable

from rolecall_server.craft.attempts import EDIT_FORMAT, FILE_OPERATIONS
from rolecall_server.craft.edits.edit_blocks import parse_edit_blocks
from rolecall_server.errors import NothingToChange
from rolecall_server.model import ChatMessage, Reply
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.store.messages import NewMessage
from rolecall_server.team.documents import (
    Finding,
    Kind,
    Response,
    Review,
)
from rolecall_server.team.messages.board import Pool, as_draft, content_of
from rolecall_server.team.messages.edits import Edits
from rolecall_server.team.messages.rendering import change_of, tell
from rolecall_server.team.plan.steps import Step
from rolecall_server.team.request import Desk
from rolecall_server.team.room import Room
from rolecall_server.team.sprint.edit_scope import read_wishes
from rolecall_server.team.sprint.whole_change import (
    Repair,
    evidence_of,
    measures_in,
    reach_of,
    repair_conversation,
    repair_opening,
    try_whole,
    work_out_repair,
)
from rolecall_server.team.test_quality.trials import red_and_green
from rolecall_server.text_work import beside_the_loop
from rolecall_server.workspace import Workspace

_PROMPTS = prompts_beside(__file__)
_ANSWERED = re.compile(
    r"^[ \t>*_`-]*+ANSWER\s++(F\d++)[\s*_`]*+:[\s*_`]*+(fixed|declined)\b[\s:,.*_`-]*+(.*)$",
    re.MULTILINE | re.IGNORECASE,
)


async def answer_review(step: Step, room: Room, pool: Pool) -> tuple[NewMessage, ...]:
    """Answer the review of a change in one round, and return the change: each finding is fixed, or declined with a
    reason.

    Edits that make more tests fail are taken back, and the finding says so.
    """
    change = step.message("change")
    assert change is not None
    edits = content_of(change, Edits)
    findings = _numbered(content_of(message, Review) for message in step.messages(Kind.REVIEW))
    if not findings:
        return (as_draft("answered", edits.model_dump(mode="json"), step.subject),)
    desk = room.desk(step, pool)
    assert desk.client is not None
    desk.report("answering the review", None)
    opening = await asyncio.to_thread(_review_opening, step, desk, edits, findings)
    first = await desk.client.complete(opening)
    answered, spoken, taken_back = edits, first.text, ""
    if await beside_the_loop("Reading the reply", _wants_edits, first.text):
        answered, spoken, taken_back = await _mended(desk, step, edits, opening, first)
    # The last word on a finding counts: a reply after failing tests may answer it otherwise.
    said = {number: (word.lower(), why.strip(" *_`")) for number, word, why in _ANSWERED.findall(spoken)}
    replies = tuple(_answered(finding, said.get(finding.id), taken_back) for finding in findings)
    review = Review(title=f"What became of the review of {step.subject}", findings=replies)
    answered = answered.model_copy(update={"answers": tuple(map(_sentence, replies))})
    return (
        as_draft("answered", answered.model_dump(mode="json"), step.subject),
        as_draft(Kind.REVIEW, review, f"{step.subject}/answered"),
    )


def _wants_edits(said: str) -> bool:
    return bool(parse_edit_blocks(said) or read_wishes(said))


async def _mended(
    desk: Desk, step: Step, edits: Edits, opening: tuple[ChatMessage, ...], first: Reply
) -> tuple[Edits, str, str]:
    """Return *edits* after the answer to a review that begins with *first*, all that was said in it, and why its fix
    was taken back.
    """
    before = await try_whole(desk, edits)
    reach = reach_of(step, before, ())
    # The first reply is there already, as it had to be read to know that edits are wanted: it is not paid for again.
    overheard = repair_conversation(desk, before, reach, begun=[first])
    try:
        fixed = await work_out_repair(desk, before, Repair(opening, reach, _PROMPTS["unfixed"]), overheard)
    except NothingToChange:
        return edits, overheard.said, ""
    # `work_out_repair` returns the very same change where the fix made it worse.
    if fixed is before:
        return edits, overheard.said, "The fix made tests fail and was taken back."
    shown = await red_and_green(desk, evidence_of(desk, fixed, 0), fixed.edits.files)
    return fixed.edits.model_copy(update={"evidence": shown}), overheard.said, ""


def _review_opening(step: Step, desk: Desk, edits: Edits, findings: tuple[Finding, ...]) -> tuple[ChatMessage, ...]:
    listed = "\n".join(
        f"- {one.id} ({one.severity}, {one.rests_on}) {one.file}, lines {one.first_line}-{one.last_line}: {one.title} "
        f"{one.text}".rstrip()
        for one in findings
    )
    told = (
        f"{tell(measures_in(step), desk.workspace)}\n"
        f"# Your change; the files are as it leaves them\n\n{_change_concerned(edits, desk.workspace, findings)}\n"
        f"# The review\n\n{listed}\n\n# What to do now\n\n{_PROMPTS['answer']}"
    )
    return repair_opening("engineer.md", told, EDIT_FORMAT + FILE_OPERATIONS)


def _change_concerned(edits: Edits, workspace: Workspace, findings: tuple[Finding, ...]) -> str:
    """Return the changes of the files that *findings* are about, and the names of the other files that changed; all
    changes where a finding is about none of them.
    """
    named = {one.file for one in findings}
    others = sorted(edits.files.keys() - named)
    if not others or not named <= edits.files.keys():
        return change_of(edits, workspace)
    concerned = {path: text for path, text in edits.files.items() if path in named}
    shown = change_of(edits.model_copy(update={"files": concerned}), workspace)
    return f"{shown}\n{_PROMPTS['others'].format(others=', '.join(others))}\n"


def _numbered(reviews: Iterable[Review]) -> tuple[Finding, ...]:
    """Return the findings of all reviews, numbered through."""
    findings = [finding for review in reviews for finding in review.findings]
    return tuple(one.model_copy(update={"id": f"F{number}"}) for number, one in enumerate(findings, start=1))


def _answered(finding: Finding, said: tuple[str, str] | None, taken_back: str) -> Finding:
    if said is None:
        return finding
    word, why = said
    if word == "fixed" and taken_back:
        return finding.model_copy(update={"response": Response.DECLINED, "reason": taken_back})
    response = Response.FIXED if word == "fixed" else Response.DECLINED
    return finding.model_copy(update={"response": response, "reason": why or "no reason given"})


def _sentence(finding: Finding) -> str:
    response = f"{finding.response}: {finding.reason}" if finding.response else "not answered"
    return f"{finding.id} ({finding.severity}) {finding.title} {response}"
