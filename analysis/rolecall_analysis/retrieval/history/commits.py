"""The history that git remembers: which files and functions each past commit changed, and what it said about it.

Only plumbing that reads commits and trees is used, with no diff driver.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rolecall_analysis.programs import run_git
from rolecall_analysis.retrieval.words import terms

MAX_COMMITS = 6000
"""Older commits are not read: their files have mostly moved, and reading has to end."""
MAX_COMMITS_IN_DEPTH = 1500
"""Of the newest commits, the changed functions are read as well. It costs four times as much a commit."""
MAX_FILES = 30
"""A larger commit says nothing about which files belong together."""
MAX_MESSAGE_CHARACTERS = 1000

_DRIVERS = Path(__file__).with_name("gitattributes")
"""Tells git how functions begin in each language, so that a hunk names the one it is in."""
_DIFF = ("diff-tree", "--stdin", "-r", "--root", "--relative", "--no-renames", "--no-ext-diff", "--no-textconv")
_RECORD, _FIELD = "\x01", "\x02"
_HUNK = re.compile(r"^@@ -\S+ \+\S+ @@ (.*)$")
_NAME = re.compile(r"\b([^\W\d]\w*+)\s*+(?:\(|$|[:{<\[])")


@dataclass(frozen=True, slots=True)
class Commit:
    """A past change."""

    terms: tuple[str, ...]
    """Of its message."""
    files: tuple[str, ...]
    """Relative to the folder; only those below it."""
    functions: tuple[tuple[str, str], ...] = ()
    """The path and the plain name of the functions and classes in which it changed lines, where that was read."""
    id: str = ""


@dataclass(frozen=True)
class CommitHistory:
    """The commits before a moment, newest first."""

    head: str = ""
    """Empty: the folder has no readable repository."""
    commits: tuple[Commit, ...] = ()


class HistoryReader:
    """Reads the history of one folder, each commit once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._messages: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._functions: dict[str, tuple[tuple[str, str], ...]] = {}
        self._last = CommitHistory()

    def read(self) -> CommitHistory:
        """Return the history up to the commit that is checked out; an empty one where there is none or git fails."""
        head = run_git(self.root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").strip()
        if not head:
            return CommitHistory()
        if head != self._last.head:
            listing = run_git(self.root, "rev-list", "--no-merges", "--topo-order", f"--max-count={MAX_COMMITS}", head)
            ids = listing.split()
            self._read_messages([commit for commit in ids if commit not in self._messages])
            in_depth = ids[:MAX_COMMITS_IN_DEPTH]
            self._read_functions([commit for commit in in_depth if commit not in self._functions])
            commits = (Commit(*self._messages[commit], self._functions.get(commit, ()), commit) for commit in ids)
            self._last = CommitHistory(head, tuple(c for c in commits if 0 < len(c.files) <= MAX_FILES))
        return self._last

    def _read_messages(self, ids: Sequence[str]) -> None:
        # Git prints nothing of a commit without changes: it is known as empty, and not asked for again.
        self._messages.update(dict.fromkeys(ids, ((), ())))
        for commit, rest in _records(self.root, ids, "--name-only", f"--format={_RECORD}%H{_FIELD}%B{_FIELD}"):
            message, _, listing = rest.partition(_FIELD)
            # Git quotes a path with a quote, a backslash or a control character; such a file is passed over.
            files = tuple(path for path in listing.split("\n") if path and not path.startswith('"'))
            self._messages[commit] = tuple(terms(message[:MAX_MESSAGE_CHARACTERS])), files

    def _read_functions(self, ids: Sequence[str]) -> None:
        self._functions.update(dict.fromkeys(ids, ()))
        for commit, diff in _records(self.root, ids, "-p", "-U0", "--src-prefix=a/", f"--format={_RECORD}%H{_FIELD}"):
            self._functions[commit] = tuple(dict.fromkeys(_changed_functions(diff)))


def _changed_functions(diff: str) -> Iterator[tuple[str, str]]:
    path = ""
    for line in diff.split("\n"):
        if line.startswith("--- "):
            # Git ends this line with a tab where the path has a space.
            path = line.removeprefix("--- a/").rstrip("\t") if line.startswith("--- a/") else ""
        elif path and (hunk := _HUNK.match(line)) and (name := _NAME.search(hunk[1])):
            yield path, name[1]


def _records(root: Path, ids: Sequence[str], *options: str) -> Iterator[tuple[str, str]]:
    """Yield each commit that was asked for, and what git prints of it after its identity."""
    wanted = set(ids)
    # The last `-c` counts, not the one by which `run_git` sets this to nothing.
    drivers = ("-c", f"core.attributesFile={_DRIVERS}")
    output = run_git(root, *drivers, *_DIFF, *options, stdin="".join(f"{commit}\n" for commit in ids)) if ids else ""
    for record in output.split(_RECORD)[1:]:
        commit, _, rest = record.partition(_FIELD)
        # A message may hold the separator too: a record begins only with an id that was asked for.
        if commit in wanted:
            wanted.discard(commit)
            yield commit, rest
