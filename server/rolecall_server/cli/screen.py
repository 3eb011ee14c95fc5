"""The output in a terminal: proposals, coloured, hunk by hunk; errors; questions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from types import TracebackType
from typing import Any, Self

from rich.console import Console, JustifyMethod, OverflowMethod
from rich.status import Status
from rich.style import Style
from rich.text import Text

from rolecall_analysis import is_test_path
from rolecall_server.cli.interrupts import typed_with
from rolecall_server.errors import NoModelConfigured, RolecallError
from rolecall_server.review.checks.untested import untested_open
from rolecall_server.review.guards.guarded_paths import guarded_paths
from rolecall_server.review.guards.hidden_characters import hidden_characters, is_code
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkKind, HunkState
from rolecall_server.review.proposals.proposal_store import Reviewed, evidence_adapter, proposal_adapter
from rolecall_server.review.proposals.rendering import (
    describe_place,
    failures_at,
    file_header,
    hunk_diff,
    hunk_header,
    render_evidence,
    render_tried,
    visible,
)
from rolecall_server.workspace import Workspace

PIPE_COLUMNS = 200
_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_NAME_A_MODEL = (
    "Name one: (1) a hosted model: set OPENAI_API_KEY and ROLECALL_MODEL; "
    "(2) a local server (Ollama, LM Studio, llama.cpp, vLLM): set ROLECALL_BASE_URL, for example "
    "http://localhost:11434/v1, and ROLECALL_MODEL; "
    "(3) for this once: --set model.name=NAME --set model.baseUrl=URL --set model.apiKeyVariable=VARIABLE."
)


class Screen(Console):
    """A terminal on which every text is what it says: no markup, and nothing that the terminal would obey.

    That holds for what stands in tables, trees and rules as well. Only this module makes a piece of text for a
    terminal in any other way (`tests/server/cli/test_foreign_text.py`).
    """

    def __init__(self, **options: Any) -> None:
        """Write to standard output where rich's *options* do not say otherwise."""
        plainly: dict[str, Any] = {**options, "highlight": False, "markup": False, "emoji": False}
        super().__init__(**plainly)

    def render_str(
        self,
        text: str,
        *,
        style: str | Style = "",
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        **_: object,
    ) -> Text:
        """Return *text* as it is; rich asks this of every string it is given."""
        made = shown((text, style))
        made.justify, made.overflow = justify, overflow
        return made


@dataclass(frozen=True)
class Waiting:
    """A line that moves while something takes long."""

    screen: Screen
    status: Status

    def __enter__(self) -> Self:
        """Show it."""
        self.status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Take it away."""
        self.status.stop()

    def tell(self, text: str) -> None:
        """Show *text* from now on."""
        self.status.update(shown(text))


def waiting(screen: Screen, text: str) -> Waiting:
    """Return a line with *text* that moves, for as long as the context lasts."""
    return Waiting(screen, Status(shown(text), console=screen))


def shown(*parts: str | tuple[str, str | Style]) -> Text:
    """Return *parts*, some with a style, as one text for a terminal: what is written in them, and nothing obeyed."""
    pairs = (part if isinstance(part, tuple) else (part, "") for part in parts)
    return Text.assemble(*(("\n".join(map(visible, text.split("\n"))), style) for text, style in pairs))


def say(screen: Screen, text: str, style: str = "") -> None:
    """Print *text* as it is: no markup, no line broken, nothing in it that a terminal would obey."""
    screen.print(shown((text, style)), soft_wrap=True)


def say_prose(screen: Screen, text: str, style: str = "") -> None:
    """Print sentences as `say` does, but broken between words where they meet the edge of a terminal."""
    screen.print(shown((text, style)), soft_wrap=not screen.is_terminal)


def show_markdown(screen: Screen, text: str) -> None:
    """Print a document laid out; where a link in it leads to is printed, and is no link."""
    from rich.markdown import Markdown  # brings a parser and a highlighter along, which few commands need

    screen.print(Markdown(shown(text).plain, hyperlinks=False))


def say_error(messages: Screen, error: RolecallError) -> None:
    """Print what went wrong, and what to do next on the command line."""
    say_prose(messages, f"{error.code}: {error.what}", "bold red")
    say_prose(messages, next_step(error))


def next_step(error: RolecallError) -> str:
    """Return the next step after *error*, in words for somebody who has no editor open."""
    return _NAME_A_MODEL if isinstance(error, NoModelConfigured) else error.next_step


def print_json(value: object) -> None:
    """Print *value* for programs."""
    print(json.dumps(value, indent=2))


def print_json_error(error: RolecallError) -> None:
    """Print what went wrong for programs."""
    print_json({"error": {"code": error.code, "what": error.what, "nextStep": next_step(error)}})


def proposal_json(workspace: Workspace, reviewed: Reviewed) -> dict[str, Any]:
    """Return a proposal as it stands now, for programs."""
    states = reviewed.states
    return {
        "proposal": json.loads(proposal_adapter().dump_json(reviewed.proposal)),
        "states": dict(states),
        "reasons": {hunk_id: reason for hunk_id, reason in reviewed.reasons.items() if reason},
        "counts": {state.value: sum(one is state for one in states.values()) for state in HunkState},
        "tried": [
            {"hunks": sorted(one.hunks), "evidence": json.loads(evidence_adapter().dump_json(one.evidence))}
            for one in reviewed.tried
        ],
        "guarded": guarded_paths(workspace, reviewed.proposal, reviewed.undecided),
        "untested": untested_open(reviewed),
        "evidence": render_evidence(reviewed.proposal.evidence),
    }


def wide_screen() -> Screen:
    """Standard output for tables: as wide as the terminal, and where there is none wide enough for long names."""
    screen = Screen()
    return screen if screen.is_terminal else Screen(width=PIPE_COLUMNS)


def print_title(screen: Screen, reviewed: Reviewed) -> None:
    """Print what a proposal is called."""
    say(screen, f"\n{reviewed.proposal.title} ({reviewed.proposal.id})", "bold")


def print_overview(screen: Screen, reviewed: Reviewed) -> None:
    """Print the hunks of each file by the tasks they serve, and each test in one line."""
    for change in reviewed.proposal.files:
        path = change.renamed_to or change.path
        for tasks, group in groupby(change.hunks, tasks_of):
            hunks = [*group]
            about = f"  for {', '.join(tasks)}" if tasks else ""
            say_prose(screen, f"  {path}: {', '.join(hunk.id for hunk in hunks)}{about}")
            for hunk in hunks if is_test_path(path) else ():
                serves = f", {', '.join(hunk.serves)}" if hunk.serves and not tasks else ""
                say_prose(screen, f"    {hunk.id} {hunk.symbol or 'lines'} (+{len(hunk.new_lines)}{serves})", "dim")
    screen.print()


def tasks_of(hunk: Hunk) -> tuple[str, ...]:
    """Return the tasks that *hunk* serves."""
    return tuple(served for served in hunk.serves if served.startswith("T"))


def print_summary(screen: Screen, reviewed: Reviewed) -> None:
    """Print what was found, what was checked and what was not, the model's words, and where the proposal lies."""
    proposal = reviewed.proposal
    for line in render_evidence(proposal.evidence):
        say_prose(screen, line, _evidence_style(proposal.evidence, line))
    for line in render_tried(reviewed):
        say_prose(screen, line, "yellow")
    if proposal.rationale:
        say_prose(screen, f"\n{proposal.rationale}", "italic")
    lies = f"{proposal.id} of {proposal.run_id}: `rolecall review {proposal.id}` shows it again."
    say_prose(screen, f"\n{lies}", "dim")


def print_diff(screen: Screen, reviewed: Reviewed) -> None:
    """Print every hunk as one coloured diff, with the state of those that are not simply on offer."""
    for change in reviewed.proposal.files:
        print_file_header(screen, change)
        for hunk in change.hunks:
            print_hunk(screen, reviewed, change, hunk)
    screen.print()


def print_file_header(screen: Screen, change: FileChange) -> None:
    """Print the lines that begin a file in a diff."""
    say(screen, "\n" + "\n".join(file_header(change)), "bold")


def print_hunk(screen: Screen, reviewed: Reviewed, change: FileChange, hunk: Hunk) -> None:
    """Print one hunk as a coloured unified diff; above it what a reader should know before."""
    for line in (*_warnings(change, hunk), *failures_at(reviewed.proposal, change, hunk)):
        say_prose(screen, line, "bold red")
    if place := describe_place(hunk):
        say_prose(screen, f"{hunk.id}: {place}", "dim")
    state, reason = reviewed.states[hunk.id], reviewed.reasons.get(hunk.id)
    if reason or state is not HunkState.PENDING:
        say_prose(screen, f"{hunk.id} is {state}{f': {reason}' if reason else '.'}", "yellow")
    for line in (hunk_header(change, hunk), *hunk_diff(change, hunk)):
        say(screen, line, _STYLES.get(line[:1], ""))


def _warnings(change: FileChange, hunk: Hunk) -> list[str]:
    """Return a warning for each hidden character in the lines that *hunk* adds."""
    if hunk.kind is not HunkKind.TEXT:
        return []
    removed = change.base_lines[hunk.start : hunk.end]
    in_code = is_code(change.renamed_to or change.path)
    hidden = hidden_characters(hunk.new_lines, removed, is_code=in_code, known=change.base or "")
    return [f"Hidden in {hunk.id}, added line {one.line + 1}, column {one.column + 1}: {one.what}." for one in hidden]


def _evidence_style(evidence: Evidence, line: str) -> str:
    if line.startswith("Fails"):
        return "red"
    if any(line.lower().startswith(sentence.lower()) for sentence in evidence.unrun):
        return "yellow"
    if not line.startswith("Checked"):
        return ""
    if evidence.new_failures or evidence.problems:
        return "red"
    return "green" if evidence.is_tested and evidence.ran else "yellow"


def ask(screen: Screen, question: str, letters: str, explanation: str, at_end: str = "") -> str:
    """Ask *question* and return the letter of the answer, one of *letters*; where the input ends, *at_end* or else the
    last letter.

    Whole words are understood as well; anything else is answered with *explanation*, and asked again.
    """
    return ask_with_words(screen, question, dict.fromkeys(letters, ""), explanation, at_end or letters[-1])[0]


def ask_with_words(
    screen: Screen, question: str, answers: Mapping[str, str], explanation: str, at_end: str
) -> tuple[str, str]:
    """Ask *question* and return the letter of the answer, one of *answers*, and what was written after it.

    *answers* are letters with the words they stand for; *at_end* is the answer where the input ends.
    """
    words = {"yes": "y", "no": "n"} | {word: letter for letter, word in answers.items() if word}
    while True:
        say_question(screen, question, answers)
        try:
            typed = typed_with(screen.input).strip()
        except EOFError:
            screen.print()
            return at_end, ""
        first, _, rest = typed.partition(" ")
        letter = words.get(first.lower(), first.lower())
        if letter in answers:
            return letter, rest.strip()
        say(screen, explanation, "magenta")


def say_question(screen: Screen, question: str, answers: Mapping[str, str]) -> None:
    """Print *question* and the letters that answer it, with room for the answer on the same line."""
    prompt = shown((question, "bold"), " ", (f"[{','.join(answers)},?]", "magenta"))
    screen.print(prompt, end=" ", soft_wrap=not screen.is_terminal)


def ask_line(screen: Screen, question: str) -> str:
    """Return what the developer types in answer to *question*; empty where the input ends."""
    screen.print(shown((question, "bold"), ": "), end="", soft_wrap=not screen.is_terminal)
    try:
        return typed_with(screen.input)
    except EOFError:
        screen.print()
        return ""
