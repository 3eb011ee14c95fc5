"""The code graph at one moment: immutable, so that a reader never waits and never sees half a change."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TypeVar, cast

from rolecall_analysis.extraction import facts_of
from rolecall_analysis.facts.latest import Latest
from rolecall_analysis.facts.mentions import Mentions
from rolecall_analysis.facts.records import Decoded, Files, Record
from rolecall_analysis.folder import is_source, read_start
from rolecall_analysis.modules import SOURCE_SUFFIXES, ModuleTree, module_tree
from rolecall_analysis.syntax import MAX_SOURCE_BYTES
from rolecall_analysis.text import decode
from rolecall_analysis.values import FileFacts

_Value = TypeVar("_Value")


_MOST_ANSWERS = 500
"""So many answers to questions about a snapshot are kept, and so many snapshots with changes made to it:"""
_MOST_SUPPOSED = 4


class Snapshot:
    """The knowledge of every source file of a repository. It never changes; what it derives, it remembers."""

    __slots__ = ("_answers", "_derived", "_files", "_from_files", "_from_paths", "_mentions", "_root", "_supposed")

    def __init__(self, root: Path | None = None, mentions: Mentions | None = None) -> None:
        self._root = root
        self._files = Files(Decoded())
        self._mentions = Mentions() if mentions is None else mentions
        self._answers = Latest(_MOST_ANSWERS)
        self._supposed = Latest(_MOST_SUPPOSED)
        self._derived: dict[Hashable, object] = {}
        self._from_files: dict[tuple[Hashable, str], tuple[Record | None, object]] = {}
        self._from_paths: dict[Hashable, object] = {}

    @property
    def files(self) -> Files:
        """The facts of each file by its path relative to the root, with ``/`` on every system. Read when asked for."""
        return self._files

    @property
    def modules(self) -> ModuleTree:
        """Python's modules."""
        return self.derived_from_paths("modules", lambda now: module_tree(filter(is_python, now.files)))

    def mentioning(self, name: str) -> Iterator[str]:
        """Yield the paths of the files in which the identifier *name* occurs, in no order."""
        for path, version in self._mentions.of(name):
            record = self._files.record(path)
            # The index of mentions keeps versions that files no longer have.
            if record is not None and record.version == version:
                yield path
        yield from (path for path in self._files.unnumbered() if name in self._files[path].names)

    def text(self, path: str) -> str | None:
        """Return the text of a file: the editor's or the proposed one, else the disk's as it is now; None without one.

        A file that is no source, as ``go.mod``, is read from disk as well.
        """
        record = self._files.record(path)
        if record is not None and record.text is not None:
            return record.text
        # A source without a record was deleted by a change, or is left out: the disk must not bring it back.
        if self._root is None or (record is None and is_source(path)):
            return None
        try:
            found = read_start(self._root, path, MAX_SOURCE_BYTES + 1)
        except OSError:
            return None
        return decode(found[0])[0] if found is not None else None

    def derived(self, key: Hashable, compute: Callable[[Snapshot], _Value]) -> _Value:
        """Return the result of *compute* for this snapshot, which is computed once for each *key*."""
        return self._remembered(self._derived, key, compute)

    def answered(self, question: Hashable, answer: Callable[[Snapshot], _Value]) -> _Value:
        """As `derived`, for questions of which there are many: only the answers given lately are remembered."""
        return self._answers.value(question, lambda: answer(self))

    def derived_from_paths(self, key: Hashable, compute: Callable[[Snapshot], _Value]) -> _Value:
        """As `derived`, for what depends on the paths of the files alone: it outlives a change of their contents."""
        return self._remembered(self._from_paths, key, compute)

    def derived_from_file(self, key: Hashable, path: str, compute: Callable[[FileFacts], _Value]) -> _Value:
        """As `derived`, for what depends on the facts of *path* alone: it outlives a change of other files.

        Raises:
            KeyError: the file is not known.
        """
        record = self._files.record(path)
        known = self._from_files.get((key, path))
        if known is None or known[0] is not record:
            known = self._from_files[key, path] = record, compute(self._files[path])
        return cast("_Value", known[1])

    def with_changes(self, changes: Mapping[str, str | None]) -> Snapshot:
        """This snapshot if the files in *changes* had those texts; None deletes. What is no source is ignored.

        The same changes give the same snapshot, with all that it derived, as long as few others were asked for since.
        """
        sources = {path: text for path, text in changes.items() if is_source(path)}
        return self._supposed.value(frozenset(sources.items()), lambda: self._with_texts(sources))

    def _with_texts(self, texts: Mapping[str, str | None]) -> Snapshot:
        return self.with_records(
            {path: None if text is None else _supposed(path, text) for path, text in texts.items()}
        )

    def with_records(self, changes: Mapping[str, Record | None], mentions: Mentions | None = None) -> Snapshot:
        """This snapshot with some records replaced; None removes.

        *mentions* is where the numbers of all records come from, if it is no longer that of this snapshot.
        """
        after = Snapshot.__new__(Snapshot)
        after._root = self._root
        after._files = self._files.with_records(changes)
        after._mentions = self._mentions if mentions is None else mentions
        after._answers, after._supposed, after._derived = Latest(_MOST_ANSWERS), Latest(_MOST_SUPPOSED), {}
        # All snapshots share this: an entry counts only for the very record that it was computed from.
        after._from_files = self._from_files
        same_paths = all((path in self._files) == (record is not None) for path, record in changes.items())
        after._from_paths = self._from_paths if same_paths else {}
        return after

    def _remembered(
        self, memory: dict[Hashable, object], key: Hashable, compute: Callable[[Snapshot], _Value]
    ) -> _Value:
        if key not in memory:
            # Two threads may compute it at once: both return the value that was put in first.
            memory.setdefault(key, compute(self))
        return cast("_Value", memory[key])


@lru_cache(maxsize=256)
def _supposed(path: str, text: str) -> Record:
    """Return the record of a text that is only supposed; a proposal is supposed again for each decision on it."""
    return Record(facts=facts_of(path, text), text=text)


def is_python(path: str) -> bool:
    """Return whether *path* is named as a Python file."""
    return path.endswith(SOURCE_SUFFIXES)
