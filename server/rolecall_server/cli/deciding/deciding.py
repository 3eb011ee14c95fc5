"""Deciding hunk by hunk in a terminal: each is shown, asked about, and only at the end anything is written."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from rolecall_server.cli.deciding.editing import edit_in_editor
from rolecall_server.cli.deciding.whole_file import show_file
from rolecall_server.cli.files.disk import reject, write_accepted
from rolecall_server.cli.repository import read_repository
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
from rolecall_server.cli.trying import try_texts
from rolecall_server.errors import FileRefused, SelectionBreaks
from rolecall_server.review.acceptance import with_needs
from rolecall_server.review.checks.hunk_needs import import_users
from rolecall_server.review.guards.guarded_paths import guarded_paths, paths_of
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkState
from rolecall_server.review.proposals.proposal_store import Reviewed, edit_hunk
from rolecall_server.review.proposals.rendering import describe_hunk
from rolecall_server.review.selection import (
    Lack,
    describe_lacks,
    failing,
    lacks_of,
    remember_trial,
    selection_print,
    texts_with,
    trial_of,
)
from rolecall_server.store import Store
from rolecall_server.team.lessons.learning import hand_over
from rolecall_server.workspace import Workspace, read_text_or_none

_LETTERS = {
    "y": "yes",
    "n": "no",
    "g": "group",
    "x": "reject",
    "a": "all",
    "e": "edit",
    "s": "show",
    "u": "undo",
    "q": "quit",
}
_HELP = (
    "  y  accept this hunk\n"
    "  n  reject it; what you write after the letter is the reason\n"
    "  g  accept it and the rest of its file that is for the same task, but no test of a finding\n"
    "  x  reject these; what you write after the letter is the reason\n"
    "  a  accept it and all that follow, but no test of a finding\n"
    "  e  edit its text in $EDITOR, then decide\n"
    "  s  show the whole file with the hunk in its place\n"
    "  u  undo the last answer\n"
    "  q  stop asking: write what was accepted, leave the rest undecided\n"
    "  Ctrl+C  stop, and write nothing"
)
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
    number, shown_file = 0, ""
    while number < len(hunks):
        # Asked for anew: an edit puts another proposal in the place of this one.
        change, hunk = deciding.reviewed.proposal.hunks()[number]
        if not _is_open(deciding, hunk) or _open_users(deciding, hunk):
            number += 1
            continue
        for file, shown in (*_imports_for(deciding, hunk), (change, hunk)):
            if file.path == shown_file:
                deciding.screen.print()
            else:
                print_file_header(deciding.screen, file)
                shown_file = file.path
            print_hunk(deciding.screen, deciding.reviewed, file, shown)
        following = _ask_about(deciding, number, change, hunk)
        if following is None:
            break
        number = following


def settle_what_is_missing(deciding: Deciding) -> bool:
    """Ask about what the accepted hunks would lack, until nothing is missing; return whether to write them.

    Raises:
        HunkStale: a file changed meanwhile.
    """
    while lacks := find_lacks(deciding.store, deciding.workspace, deciding.as_answered, deciding.accepted):
        say_prose(deciding.screen, f"What you accepted would break: {describe_lacks(lacks)}.", "bold red")
        missing = _can_be_added(deciding, lacks)
        question = f"Accept {', '.join(missing)} too, accept anyway, or nothing?" if missing else "Accept anyway?"
        letters = {"y": "yes", "a": "anyway", "n": "no"} if missing else {"a": "anyway", "n": "no"}
        letter, _ = ask_with_words(deciding.screen, question, letters, _LACKING_HELP, "n")
        if letter != "y":
            return letter == "a"
        _accept_these(deciding, len(deciding.reviewed.proposal.hunks()), missing)
    return True


def _can_be_added(deciding: Deciding, lacks: Collection[Lack]) -> tuple[str, ...]:
    """Return the hunks that bring what is missing and can still be placed."""
    states = deciding.reviewed.states
    missing = dict.fromkeys(hunk_id for lack in lacks for hunk_id in lack.hunks)
    return tuple(hunk_id for hunk_id in missing if states[hunk_id] is not HunkState.STALE)


def find_lacks(store: Store, workspace: Workspace, reviewed: Reviewed, wanted: Collection[str]) -> tuple[Lack, ...]:
    """Return what would be missing, or fail, with *wanted* and what they need in the files and the rest left out.

    Tests run where some ran for the whole proposal, and these hunks were not tried yet.

    Raises:
        HunkStale: a file changed meanwhile.
    """
    chosen = with_needs(reviewed.proposal, reviewed.states, wanted)
    # Where nothing is left out, what is broken is the whole proposal's, and was told with its evidence.
    if not chosen or {*chosen} >= reviewed.states.keys() - reviewed.accepted:
        return ()
    read_text = partial(read_text_or_none, workspace)
    snapshot = read_repository(workspace.root)
    if lacks := lacks_of(reviewed, chosen, snapshot, read_text):
        return lacks
    shown = trial_of(reviewed, chosen, read_text)
    if shown is None and reviewed.proposal.evidence.ran:
        texts, known_by = texts_with(reviewed, chosen, read_text), selection_print(reviewed, chosen, read_text)
        shown = try_texts(store, workspace, snapshot, texts, "running the tests with what you accepted")
        if shown is not None:
            remember_trial(store, reviewed, chosen, known_by, shown)
    return failing(reviewed, shown)


def refuse_what_breaks(store: Store, workspace: Workspace, reviewed: Reviewed, wanted: Collection[str]) -> None:
    """Pass where nothing would be missing with *wanted*.

    Raises:
        SelectionBreaks: something would.
        HunkStale: a file changed meanwhile.
    """
    if lacks := find_lacks(store, workspace, reviewed, wanted):
        missing = ",".join(dict.fromkeys(hunk_id for lack in lacks for hunk_id in lack.hunks))
        either = f"Accept {missing} too, or add" if missing else "Add"
        waits = f"nothing was written, and {reviewed.proposal.id} waits for `rolecall review`."
        raise SelectionBreaks(f"{describe_lacks(lacks)}.", f"{either} --anyway; {waits}")


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
    n_hunks = len(deciding.reviewed.proposal.hunks())
    needs = _needs(deciding.as_answered, hunk, deciding.accepted)
    question = f"({number + 1}/{n_hunks}) {hunk.id} {describe_hunk(change, hunk)}{needs}. Accept it?"
    letter, words = ask_with_words(deciding.screen, question, _LETTERS, _HELP, "q")
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
            rest = [one.id for _, one in _rest_of_group(deciding, number) if _is_open(deciding, one)]
            _reject(deciding, number, [hunk.id, *rest], words)
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


def _accept(deciding: Deciding, number: int, others: Sequence[tuple[FileChange, Hunk]] = ()) -> None:
    """Note that a hunk is accepted, maybe with *others*, and what they need; guarded files are asked about."""
    _, hunk = deciding.reviewed.proposal.hunks()[number]
    along = [hunk, *(other for _, other in others if not other.off)]
    _accept_these(deciding, number, [one.id for one in along if _is_open(deciding, one)])


def _reject(deciding: Deciding, number: int, rejected: Sequence[str], reason: str) -> None:
    """Note that hunks are rejected, with the imports that no other hunk needs then."""
    kept = {hunk_id for hunk_id in deciding.as_answered.states if hunk_id not in {*rejected, *deciding.rejected}}
    useless = [
        each for each, needing in deciding.import_users.items() if not kept & {*needing} and {*needing} & {*rejected}
    ]
    along = [each for each in useless if each in deciding.as_answered.offered and each not in rejected]
    if along:
        say_prose(
            deciding.screen, f"Rejected with it: {', '.join(along)}, an import that nothing else needs.", "yellow"
        )
    deciding.answers.append(ReviewAnswer(number, rejected=(*rejected, *along), reason=reason))


def _open_users(deciding: Deciding, hunk: Hunk) -> tuple[str, ...]:
    """Return the undecided hunks with which *hunk*, which holds nothing but imports, is decided."""
    users = deciding.import_users.get(hunk.id, ())
    return tuple(user for user in users if user in deciding.as_answered.offered and user not in deciding.accepted)


def _imports_for(deciding: Deciding, hunk: Hunk) -> list[tuple[FileChange, Hunk]]:
    """Return the hunks that are decided with *hunk*: undecided imports that it needs."""
    imports = deciding.import_users.keys() & {*hunk.needs}
    hunks = deciding.reviewed.proposal.hunks()
    return [(file, one) for file, one in hunks if one.id in imports and _is_open(deciding, one)]


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
    along = with_needs(reviewed.proposal, reviewed.states, wanted)
    known = {path for answer in deciding.answers for path in answer.confirmed}
    guarded = guarded_paths(deciding.workspace, reviewed.proposal, along)
    asked = {path: why for path, why in guarded.items() if path not in known}
    confirmed = tuple(path for path, why in asked.items() if _may_change(deciding.screen, path, why))
    allowed = leaving(reviewed, wanted, guarded.keys() - {*known, *confirmed})
    accepted = with_needs(reviewed.proposal, reviewed.states, allowed)
    if left := [hunk_id for hunk_id in wanted if hunk_id not in allowed]:
        say_prose(deciding.screen, f"Left undecided: {', '.join(left)}.", "yellow")
    deciding.answers.append(ReviewAnswer(number, accepted, confirmed=confirmed))


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


def _needs(reviewed: Reviewed, hunk: Hunk, accepted: Collection[str]) -> str:
    """Describe the hunks that come along with *hunk*, and the rejected ones that it needs in vain."""
    wanted = with_needs(reviewed.proposal, reviewed.states, [hunk.id])
    others = [other for other in wanted if other != hunk.id and other not in accepted]
    refused = [need for need in hunk.needs if reviewed.states[need] is HunkState.REJECTED]
    along = f", with {', '.join(others)}, which it needs" if others else ""
    return along + (f"; it needs {', '.join(refused)}, which you rejected" if refused else "")
