"""The code graph of one folder, kept current: the disk, and over it what the editor holds open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from rolecall_analysis.folder import belongs, python_files, read_file
from rolecall_analysis.python import read_facts
from rolecall_analysis.snapshot import Snapshot, is_python
from rolecall_analysis.syntax import SyntaxTree, parse, reparse
from rolecall_analysis.text import Edit, apply_edits
from rolecall_analysis.values import FileFacts, Problem


@dataclass(frozen=True, slots=True)
class _Document:
    text: str
    syntax: SyntaxTree


class Index:
    """What is known of the Python files below *root*.

    Any thread may call any method. `snapshot` never waits; the others wait for each other only while facts are
    put in place, not while `scan` or `refresh` reads the disk. Paths are relative to the root, with ``/``.
    Documents of other languages are accepted and ignored.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._lock = Lock()
        self._snapshot = Snapshot()
        self._documents: dict[str, _Document] = {}
        self._clock = 0
        self._changed_at: dict[str, int] = {}

    def snapshot(self) -> Snapshot:
        """The graph as it is now; it never changes."""
        return self._snapshot

    def scan(self) -> tuple[Problem, ...]:
        """Read every Python file below the root; what is open in the editor stays as it is there.

        Returns what could not be read, or only in part.
        """
        started_at = self._tick()
        problems: list[Problem] = []
        facts: dict[str, FileFacts | None] = {}
        for found in python_files(self.root):
            if isinstance(found, Problem):
                problems.append(found)
            elif (read := read_file(self.root, found)) is not None:
                facts[found] = read
                problems.extend(read.problems)
        gone = self._snapshot.files.keys() - facts.keys()
        self._put(facts | dict.fromkeys(gone), started_at)
        return tuple(problems)

    def refresh(self, paths: Iterable[str]) -> None:
        """Read again what was created, changed or deleted on disk: files, or folders with all that is in them."""
        started_at = self._tick()
        self._put({path: self._read(path) for path in self._files_among(paths)}, started_at)

    def open_document(self, path: str, text: str) -> None:
        """The editor holds *path* open with this *text*, which wins over the disk from now on."""
        if is_python(path):
            with self._lock:
                self._hold(path, text, parse(text))

    def edit_document(self, path: str, change: str | Sequence[Edit]) -> None:
        """The editor's text of *path* changed: by edits, each on the result of the one before, or to a new text.

        Raises:
            KeyError: the document is not open.
        """
        if is_python(path):
            with self._lock:
                document = self._documents[path]
                text = change if isinstance(change, str) else apply_edits(document.text, change)
                self._hold(path, text, reparse(document.syntax, text))

    def close_document(self, path: str) -> None:
        """The editor let go of *path*: the disk's text counts again."""
        with self._lock:
            self._documents.pop(path, None)
        started_at = self._tick()
        self._put({path: self._read(path)}, started_at)

    def _read(self, path: str) -> FileFacts | None:
        return read_file(self.root, path) if belongs(self.root, path) else None

    def _tick(self) -> int:
        with self._lock:
            self._clock += 1
            return self._clock

    def _hold(self, path: str, text: str, syntax: SyntaxTree) -> None:
        self._clock += 1
        self._changed_at[path] = self._clock
        self._documents[path] = _Document(text, syntax)
        self._snapshot = self._snapshot.with_facts({path: read_facts(path, syntax)})

    def _put(self, facts: dict[str, FileFacts | None], read_at: int) -> None:
        """Put in place what was read from disk since *read_at*, unless something newer is known."""
        with self._lock:
            current = {
                path: found
                for path, found in facts.items()
                if path not in self._documents and self._changed_at.get(path, 0) <= read_at
            }
            self._changed_at.update(dict.fromkeys(current, read_at))
            self._snapshot = self._snapshot.with_facts(current)

    def _files_among(self, paths: Iterable[str]) -> set[str]:
        """The Python files that *paths* are, or that lie or lay in them."""
        found: set[str] = set()
        for path in paths:
            found.update(known for known in self._snapshot.files if known.startswith(f"{path}/"))
            if is_python(path):
                found.add(path)
            elif belongs(self.root, path) and (self.root / path).is_dir():
                found.update(file for file in python_files(self.root, path) if isinstance(file, str))
        return found
