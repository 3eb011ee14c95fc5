"""Deciding hunk by hunk in a terminal: each is shown, asked about, and only at the end anything is written."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from rolecall_server.cli.deciding.choices import Examined, can_be_added, describe_result, examine, name_hunks
from rolecall_server.cli.deciding.editing import edit_in_editor
from rolecall_server.cli.deciding.keys import LETTERS, KeyReach
from rolecall_server.cli.deciding.whole_file import show_file
from rolecall_server.cli.files.disk import reject, write_accepted
from rolecall_server.cli.screen import (
    Screen,
    ask,
    ask_with_words,
    print_file_header,
    print_hunk,
    say,
    say_prose,
    tasks_of,
)
from rolecall_server.errors import FileRefused
from rolecall_server.review.acceptance import with_needs
from rolecall_server.review.checks.hunk_needs import import_users
from rolecall_server.review.guards.guarded_paths import guarded_paths, paths_of
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkState
from rolecall_server.review.proposals.proposal_store import Reviewed, edit_hunk
from rolecall_server.review.proposals.rendering import describe_hunk
from rolecall_server.review.selection import describe_lacks
from rolecall_server.store import Store
from rolecall_server.team.lessons.learning import hand_over
from rolecall_server.workspace import Workspace

_LACKING_HELP = (
    "  y  accept what is missing too\n"
    "  a  accept what you chose anyway\n"
    "  n  write nothing; what you accepted stays undecided"
)
_GUARDED_HELP = "  y  change this file all the same\n  n  leave it as it is, and the hunk undecided"


@dataclass(frozen=True)
class ReviewAnswer:
    """The decisions that one answer settled."""

    number: int
    """Of the hunk that was asked about, from 0."""
    accepted: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    reason: str = ""
    confirmed: tuple[str, ...] = ()
    """Guarded files that may be changed."""


@dataclass
class Deciding:
    """The answers so far; nothing of them is stored or written before the last question."""

    screen: Screen
    store: Store
    workspace: Workspace
    reviewed: Reviewed
    answers: list[ReviewAnswer] = field(default_factory=list[ReviewAnswer])
    shown: set[str] = field(default_factory=set[str])
    """The hunks that were on the screen."""
    shown_file: str = ""
    """The file of the last of them."""

    @cached_property
    def import_users(self) -> dict[str, tuple[str, ...]]:
        """The hunks that hold nothing but imports, each with those that need it."""
        return import_users(self.reviewed.proposal)

    @property
    def accepted(self) -> tuple[str, ...]:
        """The hunks accepted so far, each once."""
        return tuple(dict.fromkeys(hunk_id for answer in self.answers for hunk_id in answer.accepted))

    @property
    def rejected(self) -> dict[str, str]:
        """The hunks rejected so far and not accepted after all, with the reasons."""
        rejected = {hunk_id: answer.reason for answer in self.answers for hunk_id in answer.rejected}
        return {hunk_id: reason for hunk_id, reason in rejected.items() if hunk_id not in self.accepted}

    @property
    def as_answered(self) -> Reviewed:
        """The proposal as if what was rejected so far were so in the store: nothing brings it along any more."""
        return with_rejected(self.reviewed, self.rejected)


def ask_for_decisions(deciding: Deciding) -> None:
    """Ask about every hunk on offer, until the last or until the developer has had enough."""
    hunks = deciding.reviewed.proposal.hunks()
    number = 0
    while number < len(hunks):
        # Asked for anew: an edit puts another proposal in the place of this one.
        change, hunk = deciding.reviewed.proposal.hunks()[number]
        if not _is_open(deciding, hunk) or _open_users(deciding, hunk):
            number += 1
            continue
        _show_unseen(deciding, {*_accepted_with(deciding, [hunk.id])} - {hunk.id})
        _show(deciding, change, hunk)
        following = _ask_about(deciding, number, change, hunk)
        if following is None:
            break
        number = following


def _show_unseen(deciding: Deciding, hunk_ids: Collection[str]) -> None:
    """Show those of *hunk_ids* that were not shown before: no answer accepts what was never on the screen."""
    for change, hunk in deciding.reviewed.proposal.hunks():
        if hunk.id in hunk_ids and hunk.id not in deciding.shown:
            _show(deciding, change, hunk)


def _show(deciding: Deciding, change: FileChange, hunk: Hunk) -> None:
    if change.path == deciding.shown_file:
        deciding.screen.print()
    else:
        print_file_header(deciding.screen, change)
    print_hunk(deciding.screen, deciding.reviewed, change, hunk)
    deciding.shown.add(hunk.id)
    deciding.shown_file = change.path


def settle_what_is_missing(deciding: Deciding) -> bool:
    """Ask about what the accepted hunks would lack, until nothing is missing; return whether to write them.

    Raises:
        HunkStale: a file changed meanwhile.
    """
    while lacks := (examined := _examine(deciding)).lacks:
        say_prose(deciding.screen, f"What you accepted would break: {describe_lacks(lacks)}.", "bold red")
        missing = can_be_added(deciding.reviewed, lacks)
        _show_unseen(deciding, _accepted_with(deciding, missing))
        question = f"Accept {', '.join(missing)} too, accept anyway, or nothing?" if missing else "Accept anyway?"
        letters = {"y": "yes", "a": "anyway", "n": "no"} if missing else {"a": "anyway", "n": "no"}
        letter, _ = ask_with_words(deciding.screen, question, letters, _LACKING_HELP, "n")
        if letter != "y":
            return letter == "a"
        _accept_these(deciding, len(deciding.reviewed.proposal.hunks()), missing)
    if examined.shown is not None:
        style = "yellow" if examined.shown.new_failures or not examined.shown.is_tested else "green"
        say_prose(deciding.screen, describe_result(examined.shown), style)
    return True


def _examine(deciding: Deciding) -> Examined:
    return examine(deciding.store, deciding.workspace, deciding.as_answered, deciding.accepted)


def with_rejected(reviewed: Reviewed, rejected: Collection[str]) -> Reviewed:
    """Return *reviewed* as if some hunks were rejected."""
    return replace(reviewed, states={**reviewed.states, **dict.fromkeys(rejected, HunkState.REJECTED)})


def carry_out_decisions(
    store: Store, workspace: Workspace, reviewed: Reviewed, accepted: Collection[str], rejected: Mapping[str, str]
) -> tuple[str, ...]:
    """Write the *accepted* hunks, then store the *rejected* ones with their reasons; the paths that were written.

    What a run of the team taught is offered once all of it is decided.

    Raises:
        HunkStale: a file changed meanwhile; nothing was written or stored.
        FileRefused: a file cannot be written, or another command decided meanwhile; the same.
    """
    written = write_accepted(store, workspace, with_rejected(reviewed, rejected), accepted) if accepted else ()
    if rejected:
        reject(store, workspace, reviewed, rejected)
    hand_over(store, workspace, reviewed.proposal.run_id)
    return written


def leaving(reviewed: Reviewed, wanted: Collection[str], paths: Collection[str]) -> tuple[str, ...]:
    """Return those of *wanted* that change none of *paths*, by themselves or through hunks they need."""

    def changed(hunk_id: str) -> tuple[str, ...]:
        return paths_of(reviewed.proposal, with_needs(reviewed.proposal, reviewed.states, [hunk_id]))

    return tuple(hunk_id for hunk_id in wanted if not any(path in paths for path in changed(hunk_id)))


def _ask_about(deciding: Deciding, number: int, change: FileChange, hunk: Hunk) -> int | None:
    """Ask about one hunk and return the number of the hunk to ask about next; ``None`` where the developer has had
    enough.
    """
    asked = _asked_by_themselves(deciding, hunk)
    needs = _needs(deciding, hunk)
    question = f"({asked.index(hunk.id) + 1}/{len(asked)}) {hunk.id} {describe_hunk(change, hunk)}{needs}. Accept it?"
    reach = _reach(deciding, number)
    if summary := reach.summary():
        say_prose(deciding.screen, summary, "dim")
    letter, words = ask_with_words(deciding.screen, question, LETTERS, reach.help(), "q")
    match letter:
        case "y":
            _accept(deciding, number)
        case "a":
            _accept(deciding, number, deciding.reviewed.proposal.hunks()[number + 1 :])
            return None
        case "g":
            _accept(deciding, number, _rest_of_group(deciding, number))
        case "n":
            _reject(deciding, number, [hunk.id], words)
        case "x":
            _reject(deciding, number, _rejected_as_group(deciding, number), words)
        case "e":
            _edit(deciding, change, hunk)
            return number
        case "s":
            show_file(deciding.screen, deciding.workspace, deciding.reviewed, change, hunk)
            return number
        case "u":
            return _undo(deciding, number)
        case _:
            return None
    return number + 1


def _reach(deciding: Deciding, number: int) -> KeyReach:
    """Return the hunks that each key would decide at the question about a hunk."""
    hunks = deciding.reviewed.proposal.hunks()
    rejected = _rejected_as_group(deciding, number)
    one, group, following = (
        _accepted_with(deciding, _wanted(deciding, number, others))
        for others in ((), _rest_of_group(deciding, number), hunks[number + 1 :])
    )
    useless = _useless_imports(deciding, rejected)
    return KeyReach([hunk.id for _, hunk in hunks], one, group, (*rejected, *useless), following)


def _wanted(deciding: Deciding, number: int, others: Sequence[tuple[FileChange, Hunk]]) -> list[str]:
    """Return the undecided ones of a hunk and *others*, of which those that are off until chosen are left out."""
    _, hunk = deciding.reviewed.proposal.hunks()[number]
    along = [hunk, *(other for _, other in others if not other.off)]
    return [one.id for one in along if _is_open(deciding, one)]


def _rejected_as_group(deciding: Deciding, number: int) -> list[str]:
    """Return the undecided ones of a hunk and the rest of its group."""
    here = (deciding.reviewed.proposal.hunks()[number], *_rest_of_group(deciding, number))
    return [hunk.id for _, hunk in here if _is_open(deciding, hunk)]


def _accept(deciding: Deciding, number: int, others: Sequence[tuple[FileChange, Hunk]] = ()) -> None:
    """Note that a hunk is accepted, maybe with *others*, and what they need; guarded files are asked about."""
    _accept_these(deciding, number, _wanted(deciding, number, others))


def _reject(deciding: Deciding, number: int, rejected: Sequence[str], reason: str) -> None:
    """Note that hunks are rejected, with the imports that no other hunk needs then."""
    along = _useless_imports(deciding, rejected)
    if len(rejected) > 1:
        say_prose(deciding.screen, f"Rejected: {name_hunks(deciding.reviewed, rejected)}.", "yellow")
    if along:
        say_prose(
            deciding.screen, f"Rejected with it: {', '.join(along)}, an import that nothing else needs.", "yellow"
        )
    deciding.answers.append(ReviewAnswer(number, rejected=(*rejected, *along), reason=reason))


def _useless_imports(deciding: Deciding, rejected: Collection[str]) -> list[str]:
    """Return the undecided imports that no hunk needs any more once *rejected* are so."""
    kept = {hunk_id for hunk_id in deciding.as_answered.states if hunk_id not in {*rejected, *deciding.rejected}}
    useless = [
        each for each, needing in deciding.import_users.items() if not kept & {*needing} and {*needing} & {*rejected}
    ]
    return [each for each in useless if each in deciding.as_answered.offered and each not in rejected]


def _open_users(deciding: Deciding, hunk: Hunk) -> tuple[str, ...]:
    """Return the undecided hunks with which *hunk*, which holds nothing but imports, is decided."""
    users = deciding.import_users.get(hunk.id, ())
    return tuple(user for user in users if user in deciding.as_answered.offered and user not in deciding.accepted)


def _asked_by_themselves(deciding: Deciding, current: Hunk) -> list[str]:
    """Return the hunks on offer that have a question of their own, the *current* one among them."""
    offered = deciding.reviewed.offered
    alone = (
        hunk.id
        for _, hunk in deciding.reviewed.proposal.hunks()
        if not any(user in offered for user in deciding.import_users.get(hunk.id, ())) or hunk.id == current.id
    )
    return [hunk_id for hunk_id in alone if hunk_id in offered]


def _is_open(deciding: Deciding, hunk: Hunk) -> bool:
    return hunk.id in deciding.as_answered.offered and hunk.id not in deciding.accepted


def _rest_of_group(deciding: Deciding, number: int) -> list[tuple[FileChange, Hunk]]:
    """Return the hunks after *number* that are of the same file and for the same tasks."""
    hunks = deciding.reviewed.proposal.hunks()
    file, first = hunks[number]
    return [
        (change, hunk)
        for change, hunk in hunks[number + 1 :]
        if change.path == file.path and tasks_of(hunk) == tasks_of(first)
    ]


def _accept_these(deciding: Deciding, number: int, wanted: Collection[str]) -> None:
    reviewed = deciding.as_answered
    along = _accepted_with(deciding, wanted)
    known = {path for answer in deciding.answers for path in answer.confirmed}
    guarded = guarded_paths(deciding.workspace, reviewed.proposal, along)
    asked = {path: why for path, why in guarded.items() if path not in known}
    confirmed = tuple(path for path, why in asked.items() if _may_change(deciding.screen, path, why))
    allowed = leaving(reviewed, wanted, guarded.keys() - {*known, *confirmed})
    accepted = _accepted_with(deciding, allowed)
    if len(accepted) > 1:
        say_prose(deciding.screen, f"Accepted: {name_hunks(deciding.reviewed, accepted)}.", "green")
    if left := [hunk_id for hunk_id in wanted if hunk_id not in allowed]:
        say_prose(deciding.screen, f"Left undecided: {', '.join(left)}.", "yellow")
    deciding.answers.append(ReviewAnswer(number, accepted, confirmed=confirmed))


def _accepted_with(deciding: Deciding, wanted: Collection[str]) -> tuple[str, ...]:
    """Return what an acceptance of *wanted* accepts beyond what is accepted already: what they need comes along."""
    reviewed = deciding.as_answered
    found = with_needs(reviewed.proposal, reviewed.states, wanted)
    return tuple(hunk_id for hunk_id in found if hunk_id not in deciding.accepted)


def _may_change(screen: Screen, path: str, why: str) -> bool:
    return ask(screen, f"{path} is guarded: {why}. Change it?", "yn", _GUARDED_HELP) == "y"


def _edit(deciding: Deciding, change: FileChange, hunk: Hunk) -> None:
    """Have the developer put another text in place of the hunk's; it is asked about again."""
    try:
        text = edit_in_editor("".join(hunk.new_lines), change.renamed_to or change.path, deciding.workspace.root)
        if text is None:
            say(deciding.screen, "Nothing was edited.")
            return
        act_id = deciding.store.add_act(deciding.workspace.root, "edit")
        deciding.reviewed = edit_hunk(deciding.store, deciding.reviewed, hunk.id, text, act_id)
    except FileRefused as error:
        say_prose(deciding.screen, str(error), "bold red")


def _undo(deciding: Deciding, number: int) -> int:
    if not deciding.answers:
        say(deciding.screen, "There is no answer to undo; `rolecall undo` takes back what was written before.")
        return number
    return deciding.answers.pop().number


def _needs(deciding: Deciding, hunk: Hunk) -> str:
    """Describe the hunks that come along with *hunk*, and the rejected ones that it needs in vain."""
    others = [other for other in _accepted_with(deciding, [hunk.id]) if other != hunk.id]
    refused = [need for need in hunk.needs if deciding.as_answered.states[need] is HunkState.REJECTED]
    along = f", with {', '.join(others)}, which it needs" if others else ""
    return along + (f"; it needs {', '.join(refused)}, which you rejected" if refused else "")
