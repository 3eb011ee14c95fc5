"""Proposals in a terminal: coloured, hunk by hunk, with a question after each."""

from __future__ import annotations

from rich.console import Console
from rich.prompt import Prompt
from rich.text import Text

from rolecall_server.review.acceptance import with_needs
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

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def print_proposal(screen: Console, reviewed: Reviewed) -> None:
    """Print the whole proposal: title, evidence, the model's words, the diff."""
    proposal = reviewed.proposal
    screen.print(Text(f"\n{visible(proposal.title)} ({proposal.id})", "bold"))
    for line in render_evidence(proposal.evidence):
        screen.print(Text(visible(line), "yellow" if line.startswith("Fails") else ""))
    if proposal.rationale:
        screen.print(Text("\n" + "\n".join(visible(line) for line in proposal.rationale.splitlines()), "italic"))
    for change in proposal.files:
        screen.print()
        for line in file_header(change):
            screen.print(Text(line, "bold"))
        for hunk in change.hunks:
            print_hunk(screen, change, hunk)
    screen.print()


def print_hunk(screen: Console, change: FileChange, hunk: Hunk) -> None:
    """Print one hunk as a coloured unified diff."""
    for line in (hunk_header(change, hunk), *hunk_diff(change, hunk)):
        screen.print(Text(line, _STYLES.get(line[:1], "")), soft_wrap=True)


def ask_for_decisions(screen: Console, store: Store, reviewed: Reviewed) -> list[str]:
    """The hunks the developer accepts; those refused are stored as rejected, the rest stays pending."""
    accepted: list[str] = []
    everything = False
    for change, hunk in reviewed.proposal.hunks():
        if hunk.id not in reviewed.undecided or hunk.id in accepted:
            continue
        if everything:
            accepted.append(hunk.id)
            continue
        screen.print(Text(f"{hunk.id}: {describe_hunk(change, hunk)}", "bold"))
        answer = Prompt.ask(
            f"Accept it{_needs(reviewed, hunk, accepted)}? yes, no, all of the rest, quit",
            choices=["y", "n", "a", "q"],
            console=screen,
        )
        if answer == "q":
            break
        if answer == "n":
            reviewed = decide(store, reviewed, [hunk.id], HunkState.REJECTED)
            continue
        everything = answer == "a"
        accepted += with_needs(reviewed.proposal, reviewed.states, [hunk.id])
    return list(dict.fromkeys(accepted))


def _needs(reviewed: Reviewed, hunk: Hunk, accepted: list[str]) -> str:
    others = [
        other
        for other in with_needs(reviewed.proposal, reviewed.states, [hunk.id])
        if other != hunk.id and other not in accepted
    ]
    return f" with {', '.join(others)}, which it needs" if others else ""
