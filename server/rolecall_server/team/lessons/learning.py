"""The lessons of a run for its roles: why the developer turned something down or had it made anew, in the developer's
words.

Once all that a run proposed is decided, each role with something to learn hands it over, as a document; the rules in it
are proposed as lines of that role's house rules. Code writes them: the reasons are the developer's own, and no model
could say them better. They are told to a role once the developer has accepted them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from rolecall_analysis.retrieval.history.committed import committed_text
from rolecall_server.context.house_rules import RULES_OF_ROLES, rules_path
from rolecall_server.review.proposals.anchor import text_with
from rolecall_server.review.proposals.changes import changes_of
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.proposal import FileChange, HunkState, Proposal
from rolecall_server.review.proposals.proposal_store import (
    Reviewed,
    load_accepted,
    load_proposal,
    load_run,
    put_aside,
    save_proposal,
    successor_of,
)
from rolecall_server.review.proposals.rendering import describe_hunk
from rolecall_server.store import Store
from rolecall_server.team.documents import Handover, Kind, RuleProposal
from rolecall_server.team.documents.values import one_line
from rolecall_server.team.lessons.rejections import decided_by_developer
from rolecall_server.team.messages.board import TEAM, Pool, as_draft, content_of, load_pool, publish
from rolecall_server.team.messages.edits import Edits
from rolecall_server.team.request import title_of
from rolecall_server.workspace import Workspace, file_exists, read_text_or_none

MAX_RULES = 8
"""So many rules of a role come out of one run, the latest."""
MAX_RULE_CHARACTERS = 1000
"""A longer reason makes no rule: cut, it might say the opposite."""
_TEAM_TITLE = "The team"
_BEGINNING = (
    "# Rules for the {title}\n\nWhat was said when its work was turned down or changed; it reads this first.\n\n"
)


@dataclass(frozen=True)
class Lesson:
    """One thing that a role shall know from now on."""

    role: str
    rule: str
    """On one line."""
    because: str
    """The evidence that a reader can look up: ``p1/h2 changes total in shop/price.py (-1 +1)``."""

    @property
    def line(self) -> str:
        """As it stands in the rules."""
        return f"- {self.rule} ({self.because})\n"


def hand_over(store: Store, workspace: Workspace, run_id: str) -> tuple[str, ...]:
    """Propose what a run of the team taught, once all it proposed is decided; the proposals made or put aside.

    It may be asked again after every decision: what was offered before is not offered again, and an offer that rests on
    a decision taken back is put aside.
    """
    if store.run(run_id).role != TEAM:
        return ()
    pool = load_pool(store, run_id)
    proposals = load_run(store, run_id)
    work = [reviewed for reviewed in proposals if not is_handover(reviewed.proposal)]
    offers = [reviewed for reviewed in proposals if is_handover(reviewed.proposal)]
    is_decided = bool(work) and not any(reviewed.undecided for reviewed in work)
    settled = {line for offer in offers for line in _settled_lines(store, offer)}
    lessons = _new(lessons_of(store, pool, work), workspace, settled)
    texts = dict(_texts_after(lessons, workspace))
    waiting = [offer for offer in offers if offer.undecided]
    if any(_brings(offer.proposal, texts) for offer in waiting):
        return ()
    if not is_decided:  # more was proposed since: an offer stays while the decisions that it rests on stand
        lines = {lesson.line for lesson in lessons}
        waiting = [offer for offer in waiting if not lines.issuperset(_offered_lines(offer))]
    for offer in waiting:
        put_aside(store, offer, offer.undecided, "What it rests on was decided otherwise.")
    made = (_offer(store, workspace, work[-1].proposal, lessons, texts),) if texts and is_decided else ()
    return (*(offer.proposal.id for offer in waiting), *made)


def waiting_handover(store: Store, run_id: str) -> str:
    """Return the id of the undecided proposal of what a run taught; empty where there is none."""
    offers = (reviewed for reviewed in load_run(store, run_id) if is_handover(reviewed.proposal))
    return next((offer.proposal.id for offer in offers if offer.undecided), "")


def is_handover(proposal: Proposal) -> bool:
    """Return whether a proposal changes rules of roles, and nothing else."""
    return all(change.path.startswith(f"{RULES_OF_ROLES}/") for change in proposal.files)


def lessons_of(store: Store, pool: Pool, proposals: Iterable[Reviewed]) -> list[Lesson]:
    """Return what the developer said of the hunks that a run proposed, in order.

    Only reasons teach, each of them whole. What was edited without a word may mean anything.
    """
    return [lesson for reviewed in proposals for lesson in _of_hunks(store, pool, reviewed)]


def accepted_rules(store: Store, workspace: Workspace, role: str) -> str:
    """Return the rules of *role* as they stand in the workspace, if it is the developer who accepted all of them; else
    empty.

    A text counts that a proposal led to, where what the proposal was made on was committed or counted before.
    """
    path = rules_path(role)
    now = read_text_or_none(workspace, path)
    if now is None:
        return ""
    counted: set[str | None] = {None, committed_text(workspace.root, path)}
    for reviewed in load_accepted(store, workspace.root, path):
        change = reviewed.proposal.change_of(path)
        if change is not None and change.base in counted:
            counted.add(text_with(change, reviewed.accepted))
    return now if now in counted else ""


def _of_hunks(store: Store, pool: Pool, reviewed: Reviewed) -> Iterator[Lesson]:
    proposal = reviewed.proposal
    by_developer = decided_by_developer(store, proposal.id)
    for change, hunk in proposal.hunks():
        if reviewed.states[hunk.id] is not HunkState.REJECTED:
            continue
        said = reviewed.reasons.get(hunk.id, "") if hunk.id in by_developer else _asked_anew(store, reviewed, hunk.id)
        rule = one_line(said)
        if rule and len(rule) <= MAX_RULE_CHARACTERS:
            yield Lesson(_author(pool, change), rule, f"{proposal.id}/{hunk.id} {describe_hunk(change, hunk)}")


def _offered_lines(offer: Reviewed) -> Iterator[str]:
    """Yield the rules that an offer brings, each a line."""
    for _, hunk in offer.proposal.hunks():
        yield from (line for line in hunk.new_lines if line.startswith("- "))


def _settled_lines(store: Store, offer: Reviewed) -> Iterator[str]:
    """Yield the lines of an offer that the developer accepted or turned down."""
    settled = decided_by_developer(store, offer.proposal.id) - offer.undecided
    for _, hunk in offer.proposal.hunks():
        yield from hunk.new_lines if hunk.id in settled else ()


def _asked_anew(store: Store, reviewed: Reviewed, hunk_id: str) -> str:
    """Return the developer's request when a hunk was made anew, from the proposal that took its place; empty if there
    is none.
    """
    successor = successor_of(reviewed, hunk_id)
    return store.run(load_proposal(store, successor).proposal.run_id).brief if successor else ""


def _author(pool: Pool, change: FileChange) -> str:
    """Return the role that wrote *change*: whoever published the last edits or tests of its file."""
    paths = {change.path, change.renamed_to}
    writers = [
        message.sender
        for kind in ("edits", "tests")
        for message in pool.of_kind(kind)
        if paths & content_of(message, Edits).files.keys()
    ]
    return writers[-1] if writers else "engineer"


def _new(lessons: Sequence[Lesson], workspace: Workspace, settled: Collection[str]) -> list[Lesson]:
    """Return the lessons that are not among the rules and that were not *settled*, only the latest ones of
    each role.
    """
    kept: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        path = rules_path(lesson.role)
        there = read_text_or_none(workspace, path)
        if there is None and file_exists(workspace, path):
            continue  # nobody can add to a file that cannot be read
        if lesson.line not in settled and lesson.line.rstrip() not in (there or ""):
            kept.setdefault(lesson.role, []).append(lesson)
    return [lesson for of_role in kept.values() for lesson in of_role[-MAX_RULES:]]


def _texts_after(lessons: Iterable[Lesson], workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Yield the path and the rules of each role, with what the role learned added at the end."""
    for role, lines in _by_role(lessons):
        before = read_text_or_none(workspace, rules_path(role))
        beginning = _BEGINNING.format(title=title_of(role)) if not before else before.rstrip("\n") + "\n"
        yield rules_path(role), beginning + "".join(lesson.line for lesson in lines)


def _by_role(lessons: Iterable[Lesson]) -> Iterator[tuple[str, list[Lesson]]]:
    lessons = [*lessons]
    for role in dict.fromkeys(lesson.role for lesson in lessons):
        yield role, [lesson for lesson in lessons if lesson.role == role]


def _brings(proposal: Proposal, texts: dict[str, str]) -> bool:
    """Return whether *proposal* leads to exactly *texts*."""
    return {change.path: text_with(change, [hunk.id for hunk in change.hunks]) for change in proposal.files} == texts


def _offer(store: Store, workspace: Workspace, last: Proposal, lessons: Sequence[Lesson], texts: dict[str, str]) -> str:
    """Store what each role hands over, and the proposal of its rules; the proposal's id."""
    run_id = last.run_id
    for role, of_role in _by_role(lessons):
        publish(store, run_id, role, as_draft(Kind.HANDOVER, _handover(role, of_role), role))
    proposal = Proposal(
        id=store.reserve_proposal(run_id),
        run_id=run_id,
        role=_TEAM_TITLE,
        title=f"What the team learned in {run_id}",
        rationale="Your reasons in this run, as rules that these roles read before they work.",
        origin=last.origin,
        files=changes_of(workspace, texts, {}),
        evidence=Evidence(ran=False, reason="Rules are no code."),
    )
    save_proposal(store, proposal)
    return proposal.id


def _handover(role: str, lessons: Sequence[Lesson]) -> Handover:
    title = title_of(role)
    rules = tuple(
        RuleProposal(id=f"H{number}", title=lesson.rule, role=title, because=lesson.because)
        for number, lesson in enumerate(lessons, start=1)
    )
    return Handover(title=f"What the {title} learned", rules=rules)
