"""Experience shown again: what worked and what failed at similar tasks, in at most a tenth of a prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rolecall_server.craft.feedback import fenced, trimmed
from rolecall_server.model import estimate_tokens
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.review.proposals.rendering import file_header, hunk_diff, hunk_header
from rolecall_server.store import Store
from rolecall_server.team.experience.experiences import Experience, Made, load_experiences
from rolecall_server.team.experience.ranking import Valued, rank_experiences
from rolecall_server.team.request import Desk
from rolecall_server.workspace import privacy_of

_PROMPTS = prompts_beside(__file__)
SHARE = 0.1
"""Of a prompt that experience takes at most."""
_MOST_SAID = 300
_MOST_FAILURES = 2
_MOST_FAILED = 2
_DIFF_LINES = 60
_MOST_OF_A_BRIEF = 300
_MOST_IN_SHORT = 120


@dataclass(frozen=True)
class Recalled:
    """An experience, and how a role would be told of it."""

    ranked: Valued
    text: str
    in_short: str
    """A line, for a prompt that has no room for the text."""


def recall(
    experiences: Sequence[Experience],
    task: str,
    alpha: float,
    at_s: float,
    *,
    why_private: Callable[[str], str | None] = lambda path: None,
) -> tuple[Recalled, ...]:
    """Return what a role would be told of *experiences*, which are its own, for a *task*: the most valuable first.

    Nothing is told of files that are kept from models by now.
    """
    told = [one for one in experiences if one.teaches and not any(map(why_private, one.paths))]
    ranked = rank_experiences(told, task, alpha, at_s)
    return tuple(Recalled(one, "\n".join(_told(one.experience)).rstrip(), _in_short(one.experience)) for one in ranked)


async def recall_at(desk: Desk, store: Store, run_id: str, task: str) -> tuple[tuple[str, str], ...]:
    """Return what who sits at *desk* is told for the *task* of a run, each as a text and as a line; nothing unless the
    developer wants it.

    It is the same when the run is taken up again, so that no call is paid twice.
    """
    settings = desk.settings.experience
    if settings.use != "replay":
        return ()
    run = store.run(run_id)
    known = await asyncio.to_thread(load_experiences, store, desk.workspace.root, before=run)
    own = [one for one in known if one.role == desk.role]
    found = recall(own, task, settings.alpha, run.started_at_s, why_private=privacy_of(desk.workspace))
    return tuple((one.text, one.in_short) for one in found)


def experience_head() -> str:
    """Return the heading above experience."""
    return _PROMPTS["head"]


def fitting(head: str, recalled: Sequence[tuple[str, str]], n_other_tokens: int) -> str:
    """Return those of *recalled*, each a text and a line, that fit beside *n_other_tokens* of a prompt, below *head*;
    empty where none does.
    """
    # The share is one of the whole prompt, in which these tokens are then.
    left = int(n_other_tokens * SHARE / (1 - SHARE)) - estimate_tokens(head) - 2
    chosen: list[str] = []
    for forms in recalled:
        fits = ((text, estimate_tokens(text) + 1) for text in forms if estimate_tokens(text) < left)
        if (found := next(fits, None)) is not None:
            chosen.append(found[0])
            left -= found[1]
    return "\n\n".join([head, *chosen, ""]) if chosen else ""


def _told(experience: Experience) -> Iterator[str]:
    """Yield an experience in lines."""
    day = f"{datetime.fromtimestamp(experience.run.started_at_s, UTC):%Y-%m-%d}"
    brief = " ".join(experience.run.brief.split())[:_MOST_OF_A_BRIEF]
    where = f" in {experience.run.path}" if experience.run.path else ""
    yield f"## {day}{where}: {brief}\n"
    for made in experience.failed[-_MOST_FAILED:]:
        yield from (_PROMPTS["failed"], *_failed(made), "")
    for reason in experience.verdict.reasons[:_MOST_FAILURES]:
        yield _PROMPTS["turned down"].format(reason=" ".join(reason.split())[:_MOST_SAID])
    if experience.worked and (diff := _diff(experience)):
        is_accepted = experience.verdict.accepted
        yield _PROMPTS["accepted" if is_accepted else "worked"]
        yield fenced(trimmed(diff, _DIFF_LINES))


def _in_short(experience: Experience) -> str:
    best = experience.best if experience.worked else (experience.failed or experience.attempts)[-1]
    said = " ".join(experience.verdict.reasons if experience.verdict.is_against else (best.said,))
    failures = "; ".join(f"{one.test}: {one.message}" for one in best.kept.failures[:1])
    return _PROMPTS["in short"].format(
        brief=" ".join(experience.run.brief.split())[:_MOST_IN_SHORT],
        outcome=experience.outcome,
        said=" ".join(f"{said} {failures}".split())[:_MOST_IN_SHORT] or ", ".join(best.kept.paths)[:_MOST_IN_SHORT],
    )


def _failed(made: Made) -> Iterator[str]:
    said = " ".join(made.said.split())[:_MOST_SAID]
    paths = ", ".join(made.kept.paths)
    yield f"- {said or f'an edit of {paths}'}"
    told = [f"{one.test}: {one.message}" for one in made.kept.failures[:_MOST_FAILURES]] or [made.kept.trouble]
    yield from (f"  - {' '.join(line.split())[:_MOST_SAID]}" for line in told if line)


def _diff(experience: Experience) -> str:
    """Return what was proposed for the files of *experience*, without what the developer turned down."""
    against = experience.verdict.against
    lines: list[str] = []
    for reviewed in experience.proposals[-1:]:
        for change in reviewed.proposal.files:
            hunks = [hunk for hunk in change.hunks if (reviewed.proposal.id, hunk.id) not in against and not hunk.off]
            if hunks and {change.path, change.renamed_to} & experience.paths:
                lines += file_header(change)
                lines += [line for hunk in hunks for line in (hunk_header(change, hunk), *hunk_diff(change, hunk))]
    return "\n".join(lines)
