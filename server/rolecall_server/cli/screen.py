"""Proposals in a terminal: coloured, hunk by hunk, with a question after each."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from rolecall_server.review.acceptance import with_needs
from rolecall_server.review.evidence import Evidence
from rolecall_server.review.proposal import FileChange, Hunk, HunkState
from rolecall_server.review.rendering import (
    describe_hunk,
    file_header,
    hunk_diff,
    hunk_header,
    render_evidence,
    visible,
)
from rolecall_server.review.shelf import Reviewed, decide
from rolecall_server.store import Store

PIPE_COLUMNS = 200
_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_ANSWERS = {"yes": "y", "no": "n", "all": "a", "quit": "q"}
_HUNK_HELP = (
    "  y  accept this hunk\n"
    "  n  reject it\n"
    "  a  accept it and all that follow\n"
    "  q  stop asking: write what was accepted, leave the rest undecided\n"
    "  Ctrl+C  stop, and write nothing"
)


def say(screen: Console, text: str, style: str = "") -> None:
    """Print *text* as it is: no markup, no line broken, nothing in it that a terminal would obey."""
    screen.print(Text("\n".join(visible(line) for line in text.split("\n")), style), soft_wrap=True)


def wide_screen() -> Console:
    """Standard output for tables: as wide as the terminal, and where there is none wide enough for long names."""
    screen = Console(highlight=False)
    return screen if screen.is_terminal else Console(highlight=False, width=PIPE_COLUMNS)


def print_summary(screen: Console, reviewed: Reviewed) -> None:
    """Print what stands above the diff: title, evidence, the model's words."""
    proposal = reviewed.proposal
    say(screen, f"\n{proposal.title} ({proposal.id})", "bold")
    for line in render_evidence(proposal.evidence):
        say(screen, line, _evidence_style(proposal.evidence, line))
    if proposal.rationale:
        say(screen, f"\n{proposal.rationale}", "italic")


def print_diff(screen: Console, reviewed: Reviewed) -> None:
    """Print every hunk as one coloured diff."""
    for change in reviewed.proposal.files:
        print_file_header(screen, change)
        for hunk in change.hunks:
            print_hunk(screen, change, hunk)
    screen.print()


def print_file_header(screen: Console, change: FileChange) -> None:
    """Print the lines that begin a file in a diff."""
    say(screen, "\n" + "\n".join(file_header(change)), "bold")


def print_hunk(screen: Console, change: FileChange, hunk: Hunk) -> None:
    """Print one hunk as a coloured unified diff."""
    for line in (hunk_header(change, hunk), *hunk_diff(change, hunk)):
        say(screen, line, _STYLES.get(line[:1], ""))


def ask_for_decisions(screen: Console, store: Store, reviewed: Reviewed) -> list[str]:
    """The hunks the developer accepts, each shown before it is asked about.

    Those refused are stored as rejected, the rest stays pending.
    """
    accepted: list[str] = []
    shown_file: FileChange | None = None
    hunks = reviewed.proposal.hunks()
    for number, (change, hunk) in enumerate(hunks, start=1):
        if hunk.id not in reviewed.undecided or hunk.id in accepted:
            continue
        if change is not shown_file:
            print_file_header(screen, change)
            shown_file = change
        else:
            screen.print()
        print_hunk(screen, change, hunk)
        needs = _needs(reviewed, hunk, accepted)
        question = f"({number}/{len(hunks)}) {hunk.id} {describe_hunk(change, hunk)}{needs}. Accept it?"
        answer = ask(screen, question, "ynaq", _HUNK_HELP)
        if answer == "q":
            break
        if answer == "n":
            reviewed = decide(store, reviewed, [hunk.id], HunkState.REJECTED)
            continue
        wanted = [hunk.id, *(other.id for _, other in hunks[number:])] if answer == "a" else [hunk.id]
        accepted += with_needs(reviewed.proposal, reviewed.states, wanted)
        if answer == "a":
            break
    return list(dict.fromkeys(accepted))


def _evidence_style(evidence: Evidence, line: str) -> str:
    if line.startswith("Fails"):
        return "red"
    if not line.startswith("Checked"):
        return ""
    if evidence.new_failures or evidence.problems:
        return "red"
    return "green" if evidence.ran else "yellow"


def ask(screen: Console, question: str, letters: str, explanation: str) -> str:
    """The letter the developer answers with, one of *letters*; the last of them where the input ends.

    Whole words are understood as well; anything else is answered with *explanation*, and asked again.
    """
    while True:
        screen.print(
            Text(visible(question), "bold"), Text(f"[{','.join(letters)},?] ", "magenta"), end="", soft_wrap=True
        )
        try:
            answer = screen.input().strip().lower()
        except EOFError:
            screen.print()
            return letters[-1]
        answer = _ANSWERS.get(answer, answer)
        if len(answer) == 1 and answer in letters:
            return answer
        say(screen, explanation, "magenta")


def _needs(reviewed: Reviewed, hunk: Hunk, accepted: list[str]) -> str:
    """Which hunks come along with *hunk*, and which it needs in vain."""
    wanted = with_needs(reviewed.proposal, reviewed.states, [hunk.id])
    others = [other for other in wanted if other != hunk.id and other not in accepted]
    refused = [need for need in hunk.needs if reviewed.states[need] is HunkState.REJECTED]
    along = f", with {', '.join(others)}, which it needs" if others else ""
    return along + (f"; it needs {', '.join(refused)}, which you rejected" if refused else "")
