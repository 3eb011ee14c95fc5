"""A run of the team in a terminal while it goes on: a line for each step under way, and questions in between."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import RenderableType
from rich.live import Live
from rich.table import Table

from rolecall_server.cli.screen import Screen, say_prose, say_question, shown
from rolecall_server.sandbox.python.trust import Unconfirmed
from rolecall_server.store import Store
from rolecall_server.store.usage import used_by
from rolecall_server.team.documents import Question
from rolecall_server.team.plan.steps import Step

_HOW_MUCH = "y: as much again; a number such as 0.5 or 3: so many times your limit more; n: stop here."


@dataclass
class _Begun:
    """A step under way."""

    step: Step
    doing: str = ""
    since_s: float = field(default_factory=time.monotonic)


@dataclass
class UnderWay:
    """The display of what goes on in a run; once entered, it stands below whatever else is printed, if the screen is a
    terminal.
    """

    screen: Screen
    store: Store
    run_id: str
    question_s: float
    """The time for which a question waits for its answer."""
    _steps: dict[str, _Begun] = field(default_factory=dict[str, _Begun])
    _doing: str = "at work"
    """The text that is said of no step."""
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _live: Live | None = None

    def __enter__(self) -> UnderWay:
        self._show()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._hide()

    def report(self, message: str, fraction: float | None) -> None:
        """Note what is being done; ``Engineer T2: thinking`` where a step does it."""
        label, _, doing = message.partition(": ")
        share = "" if fraction is None else f" ({fraction:.0%})"
        begun = next((each for each in self._steps.values() if each.step.label == label), None)
        if begun is None:
            self._doing = f"{message}{share}"
        else:
            begun.doing = f"{doing}{share}"

    def note_steps(self, steps: Sequence[Step]) -> None:
        """Show the steps that are under way now, and print a line for each that has ended."""
        keys = {step.key for step in steps}
        for key in [key for key in self._steps if key not in keys]:
            self._tell_end(self._steps.pop(key))
        for step in steps:
            self._steps.setdefault(step.key, _Begun(step))

    async def ask(self, questions: Sequence[Question]) -> Mapping[str, str]:
        """Return the answers by the id of the question; who presses Enter takes what is recommended.

        Once a question was not answered in time the others are not asked: nobody is there.
        """
        given: dict[str, str] = {}
        async with self._asking:
            self._hide()
            try:
                for question in questions:
                    said = await self._answer(question)
                    if said is None:
                        held = f"Nobody answered, so what was recommended holds: {question.recommended}."
                        say_prose(self.screen, f"\n{held}", "yellow")
                        break
                    given[question.id] = said
            finally:
                self._show()
        return given

    async def ask_for_more(self, what: str) -> float:
        """Return how many budgets more the developer allows; 0 stops the run."""
        async with self._asking:
            self._hide()
            try:
                return await how_much_more(self.screen, what)
            finally:
                self._show()

    async def ask_trust(self, unconfirmed: Unconfirmed) -> bool:
        """Return whether the developer says that a Python of the workspace may be used."""
        async with self._asking:
            self._hide()
            try:
                return await may_be_used(self.screen, unconfirmed)
            finally:
                self._show()

    async def _answer(self, question: Question) -> str | None:
        say_prose(self.screen, f"\n{question.title}", "bold")
        for number, option in enumerate(question.options, start=1):
            mark = "  (recommended)" if option == question.recommended else ""
            say_prose(self.screen, f"  {number}. {option}{mark}")
        self.screen.print(shown("A number, words of your own, or Enter: "), end="")
        typed = await typed_line(self.question_s)
        if typed is None:
            return None
        said = typed.strip()
        if said.isdecimal() and 1 <= int(said) <= len(question.options):
            return question.options[int(said) - 1]
        return said or question.recommended

    def _tell_end(self, begun: _Begun) -> None:
        n_calls, tokens, _ = used_by(self.store, self.run_id, begun.step.key)
        if n_calls:
            what = " and ".join(begun.step.duty.publishes)
            took = f"{_time(begun)}, {_count(n_calls, 'call')}, {tokens:,} tokens"
            say_prose(self.screen, f"  {begun.step.label}: {what} ({took})", "dim")

    def _show(self) -> None:
        if self.screen.is_terminal:
            self._live = Live(console=self.screen, get_renderable=self.lines, refresh_per_second=2, transient=True)
            self._live.start()

    def _hide(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def lines(self) -> RenderableType:
        """Return a line for each step: who, doing what, for how long, with how many calls and tokens."""
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        for _ in range(3):
            table.add_column(no_wrap=True, justify="right")
        begun = list(self._steps.values())
        for each in begun:
            n_calls, tokens, sent = used_by(self.store, self.run_id, each.step.key)
            figures = (_time(each), _count(n_calls, "call"), f"{'~' if sent else ''}{tokens + sent:,} tokens")
            table.add_row(shown((each.step.label, "bold")), each.doing, *figures)
        return table if begun else shown(self._doing)


async def how_much_more(screen: Screen, what: str) -> float:
    """Return how many budgets more the developer at the terminal allows; 0 stops the run."""
    say_prose(screen, what, "yellow")
    say_prose(screen, _HOW_MUCH, "dim")
    while True:
        say_question(screen, "Go on?", {"y": "yes", "n": "no"})
        typed = await typed_line()
        said = (typed or "n").strip().lower()
        if said in ("y", "yes", "n", "no"):
            return 1.0 if said[0] == "y" else 0.0
        with suppress(ValueError):
            # This refuses `nan` and `inf` too, which are numbers to `float`.
            if 0 < (more := float(said)) < 1000:
                return more
        say_prose(screen, _HOW_MUCH, "magenta")


async def may_be_used(screen: Screen, unconfirmed: Unconfirmed) -> bool:
    """Return whether the developer at the terminal says that a Python of the workspace may be used."""
    say_prose(screen, unconfirmed.question, "yellow")
    say_question(screen, "Use it, and remember that?", {"y": "yes", "n": "no"})
    return (await typed_line() or "").strip().lower() in ("y", "yes")


async def typed_line(within_s: float | None = None) -> str | None:
    """Return the next line that is typed; ``None`` where the input ends, or nobody finishes one within that time.

    What was begun and not finished is thrown away, so that it answers no later question.
    """
    loop, typed = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_reader(sys.stdin.fileno(), typed.set)
    except NotImplementedError:  # Windows' loops watch no terminal: there a line is waited for without an end
        return await asyncio.to_thread(sys.stdin.readline) or None
    try:
        async with asyncio.timeout(within_s):
            await typed.wait()
    except TimeoutError:
        _forget_typed()
        return None
    finally:
        loop.remove_reader(sys.stdin.fileno())
    # This does not wait: a terminal hands over whole lines.
    return sys.stdin.readline() or None


def _forget_typed() -> None:
    with suppress(ImportError, OSError):
        import termios  # there is none on Windows

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _time(begun: _Begun) -> str:
    minutes, seconds = divmod(int(time.monotonic() - begun.since_s), 60)
    return f"{minutes}:{seconds:02}"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
