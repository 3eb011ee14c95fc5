"""The keys that answer a question about a hunk, with the hunks that each of them decides at that question."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby

LETTERS = {
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
_FEW = 2
"""So many hunks in a row are named each; of more, the first and the last."""


@dataclass(frozen=True)
class KeyReach:
    """The hunks that each key would decide at a question, needed ones included."""

    order: Sequence[str]
    """All hunks of the proposal."""
    one: Collection[str]
    """For ``y``."""
    group: Collection[str]
    """For ``g``."""
    rejected: Collection[str]
    """For ``x``."""
    following: Collection[str]
    """For ``a``."""

    def summary(self) -> str:
        """Return which hunks the keys decide that decide more than the hunk that is asked about; empty if none does."""
        accepting = {"g": self.group, "a": self.following}
        told = [f"{key}: accept {self._these(ids)}" for key, ids in accepting.items() if {*ids} != {*self.one}]
        told[1:1] = [f"x: reject {self._these(self.rejected)}"] if len(self.rejected) > 1 else []
        return "; ".join(told)

    def help(self) -> str:
        """Return an explanation of every key."""
        return (
            "  y  accept this hunk\n"
            "  n  reject it; what you write after the letter is the reason\n"
            "  g  accept it and the rest of its file that is for the same task, but no test of a finding"
            f": {self._named(self.group)}\n"
            f"  x  reject these; what you write after the letter is the reason: {self._named(self.rejected)}\n"
            f"  a  accept it and all that follow, but no test of a finding: {self._named(self.following)}\n"
            "  e  edit its text in $EDITOR, then decide\n"
            "  s  show the whole file with the hunk in its place\n"
            "  u  undo the last answer\n"
            "  q  stop asking: write what was accepted, leave the rest undecided\n"
            "  Ctrl+C  stop, and write nothing"
        )

    def _these(self, hunk_ids: Collection[str]) -> str:
        return f"these {len(hunk_ids)}: {self._named(hunk_ids)}" if len(hunk_ids) > 1 else self._named(hunk_ids)

    def _named(self, hunk_ids: Collection[str]) -> str:
        return names_in(self.order, hunk_ids)


def names_in(order: Sequence[str], hunk_ids: Collection[str]) -> str:
    """Return *hunk_ids* in the *order* of their proposal, and many in a row by their ends: ``h1, h6 to h12``."""
    parts: list[str] = []
    for is_in, group in groupby(order, lambda hunk_id: hunk_id in hunk_ids):
        run = [*group] if is_in else []
        parts += run if len(run) <= _FEW else [f"{run[0]} to {run[-1]}"]
    return ", ".join(parts)
