"""The words of every file of a snapshot, kept so that a query touches only what has its words.

A file is kept as the sequence of its identifiers, each a number, with the places where definitions begin and end:
four bytes an identifier, enough to search any definition by its words without reading the file.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from threading import Lock

from msgspec import Struct

from rolecall_analysis.facts.records import Record
from rolecall_analysis.modules import ModuleTree
from rolecall_analysis.resolution.names import Module, import_targets
from rolecall_analysis.retrieval.history.commits import HistoryReader
from rolecall_analysis.retrieval.history.past_changes import NO_PAST, Past, past_of
from rolecall_analysis.retrieval.words import identifiers, terms, terms_of
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition, FileFacts

_NAME_REPEATS = 2
_PATH_REPEATS = 3
_MAX_REMOVED = 1000
"""More documents than this, and than there are, are not kept when they are gone."""


_ONE = struct.Struct("I")
_TWO = struct.Struct("II")
"""Postings are such numbers in bytearrays. There are hundreds of thousands, and Python's collector of garbage, which
looks at every array, passes bytearrays by."""


class Passage(Struct, frozen=True, gc=False):
    """The words of one class or function within its file."""

    name: str
    """Qualified."""
    is_class: bool
    first: int
    """The index of its first identifier in the file's."""
    last: int
    """One past its last."""


class IndexedFile(Struct, frozen=True, gc=False):
    """One file as words."""

    number: int
    record: Record | None
    """Another one when the file has changed."""
    identifiers: array[int]
    passages: tuple[Passage, ...]


class Corpus:
    """The words and the past of one folder, brought up to a snapshot by `follow`. One thread at a time may use it.

    It takes seconds to read a large repository the first time, and is quick after that.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.in_use = Lock()
        """Held by `rank` while it works; whoever else uses a corpus that threads share holds it, too."""
        self._snapshot = Snapshot()
        self.past: Past = NO_PAST
        self.imported_files = ImportedFiles()
        self._reader = HistoryReader(root)
        self._forget()

    def follow(self, snapshot: Snapshot) -> None:
        """Index what has changed since the last time; the first time, everything."""
        if snapshot is not self._snapshot:
            self._follow_files(snapshot)
            self._snapshot = snapshot
        history = self._reader.read()
        if history is not self.past.history:
            self.past = past_of(history)

    def occurrences(self, term: str) -> dict[str, int]:
        """Return the number of times that *term* occurs in each file that has it."""
        counts: dict[str, int] = {}
        for number in self.numbers_of(term):
            for path, count in self._found(self._places[number]):
                counts[path] = counts.get(path, 0) + count
        return counts

    def symbol_occurrences(self, term: str) -> dict[str, int]:
        """Return how often *term* occurs in the names, signatures, docstrings and path of each file."""
        return dict(self._found(self._symbols.get(term, b"")))

    def mentioning(self, name: str) -> list[str]:
        """Return the files with the identifier *name*."""
        number = self._numbers.get(name)
        return [] if number is None else [path for path, _ in self._found(self._places[number])]

    def defining(self, name: str) -> list[str]:
        """Return the files that define *name*, at any level."""
        return [path for path, _ in self._found(self._definers.get(name, b""))]

    def numbers_of(self, term: str) -> Iterable[int]:
        """Return the numbers of all identifiers that have *term*."""
        return memoryview(self._by_term.get(term, b"")).cast("I")

    def knows(self, term: str) -> bool:
        """Return whether any file has *term*."""
        return term in self._by_term

    def names_in(self, path: str, first: int = 0, last: int | None = None) -> set[str]:
        """Return the identifiers of a file, or of a part of it."""
        document = self.documents.get(path)
        found = document.identifiers[first:last] if document else ()
        return {self._vocabulary[number] for number in set(found)}

    def names_within(self, path: str, name: str) -> set[str]:
        """Return the identifiers of the class or function called *name* in a file."""
        document = self.documents.get(path)
        passage = next((p for p in document.passages if p.name == name), None) if document else None
        return self.names_in(path, passage.first, passage.last) if passage else set()

    def _follow_files(self, snapshot: Snapshot) -> None:
        if self._n_removed > len(self.documents) + _MAX_REMOVED:
            self._forget()
        for path in self.documents.keys() - snapshot.files.keys():
            self._remove(path)
        for path in snapshot.files:
            record = snapshot.files.record(path)
            known = self.documents.get(path)
            if known is None or known.record is not record:
                self._remove(path)
                self._add(path, record, snapshot.files[path], snapshot.text(path) or "")

    def _forget(self) -> None:
        self.documents: dict[str, IndexedFile] = {}
        self._vocabulary: list[str] = []
        self._numbers = _Numbers(self._vocabulary)
        self._places: list[bytearray] = []
        """For each identifier: document, count, document, count ..."""
        self._by_term: dict[str, bytearray] = {}
        self._symbols: dict[str, bytearray] = {}
        self._definers: dict[str, bytearray] = {}
        self._paths: list[str | None] = []
        self.lengths: dict[str, int] = {}
        self.symbol_lengths: dict[str, int] = {}
        self._n_removed = 0

    def _add(self, path: str, record: Record | None, facts: FileFacts, text: str) -> None:
        document = len(self._paths)
        self._paths.append(path)
        words, passages = _in_passages(text, facts, self._numbers)
        self._learn_words()
        self.documents[path] = IndexedFile(document, record, words, passages)
        self.lengths[path] = len(words)
        for number, count in Counter(words).items():
            self._places[number] += _TWO.pack(document, count)
        symbols = Counter(_symbol_terms(path, facts))
        self.symbol_lengths[path] = symbols.total()
        _post(self._symbols, document, symbols)
        _post(self._definers, document, Counter(definition.name for definition in facts.definitions))

    def _learn_words(self) -> None:
        """Make room for the identifiers that have just been seen for the first time."""
        for number in range(len(self._places), len(self._vocabulary)):
            self._places.append(bytearray())
            for term in terms_of(self._vocabulary[number]):
                self._by_term.setdefault(term, bytearray()).extend(_ONE.pack(number))

    def _remove(self, path: str) -> None:
        known = self.documents.pop(path, None)
        if known is None:
            return
        # What was noted of it stays where it is: `_found` passes over a number without a path.
        self._paths[known.number] = None
        del self.lengths[path], self.symbol_lengths[path]
        self._n_removed += 1

    def _found(self, pairs: bytes | bytearray) -> list[tuple[str, int]]:
        # The same iterator twice below takes two numbers at a time.
        flat = iter(memoryview(pairs).cast("I"))
        paths = self._paths
        return [(path, count) for document, count in zip(flat, flat, strict=True) if (path := paths[document])]


class _Numbers(dict[str, int]):
    """Gives each new identifier the next number."""

    def __init__(self, vocabulary: list[str]) -> None:
        super().__init__()
        self._vocabulary = vocabulary

    def __missing__(self, identifier: str) -> int:
        number = self[identifier] = len(self._vocabulary)
        self._vocabulary.append(identifier)
        return number


def _post(postings: dict[str, bytearray], document: int, counts: Counter[str]) -> None:
    for term, count in counts.items():
        found = postings.get(term)
        if found is None:
            found = postings[term] = bytearray()
        found += _TWO.pack(document, count)


def _in_passages(text: str, facts: FileFacts, numbers: _Numbers) -> tuple[array[int], tuple[Passage, ...]]:
    """Return the identifiers of *text* as numbers, and the places of the file's classes and functions among them."""
    found = [definition for definition in facts.definitions if definition.kind != "variable"]
    # `splitlines` also ends lines at form feeds and the like, where the parser does not.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    cuts = sorted({0, *(cut for definition in found for cut in _lines_of(definition)), len(lines)})
    words: array[int] = array("I")
    starts = [0]
    for start, end in pairwise(cuts):
        # For a word that is known this stays in C; only a new one gets to `__missing__`.
        words.extend(map(numbers.__getitem__, identifiers("\n".join(lines[start:end]))))
        starts.append(len(words))

    def place(line: int) -> int:
        return starts[min(bisect_left(cuts, line), len(starts) - 1)]

    passages = (Passage(d.qualified_name, d.kind == "class", *map(place, _lines_of(d))) for d in found)
    return words, tuple(passages)


def _lines_of(definition: Definition) -> tuple[int, int]:
    return definition.span.start.line, definition.span.end.line + 1


def _symbol_terms(path: str, facts: FileFacts) -> list[str]:
    """Return the terms of what a file defines: names, signatures, docstrings; and of its path."""
    found = terms(path.rpartition(".")[0].replace("/", " ")) * _PATH_REPEATS + terms(facts.docstring)
    for definition in facts.definitions:
        found += terms(definition.name) * _NAME_REPEATS
        found += terms(definition.signature) + terms(definition.docstring)
    return found


@dataclass
class ImportedFiles:
    """The files that each file imports, worked out once for each of its contents."""

    _known: dict[str, tuple[Record, ModuleTree, frozenset[str]]] = field(
        default_factory=dict[str, tuple[Record, ModuleTree, frozenset[str]]]
    )

    def by(self, snapshot: Snapshot, path: str) -> frozenset[str]:
        """Return the files that *path* imports, or takes a name of, whichever way the name comes."""
        record = snapshot.files.record(path)
        if record is None:
            return frozenset()
        known = self._known.get(path)
        if known is None or known[0] is not record or known[1] is not snapshot.modules:
            known = self._known[path] = (record, snapshot.modules, _imported(snapshot, snapshot.files[path]))
        return known[2]


def _imported(snapshot: Snapshot, facts: FileFacts) -> frozenset[str]:
    found: set[str | None] = set()
    for imported in facts.imports:
        for target in import_targets(snapshot, facts.path, imported):
            found.add(snapshot.modules.files.get(target.location) if isinstance(target, Module) else target.path)
    return frozenset(path for path in found if path is not None and path != facts.path)
