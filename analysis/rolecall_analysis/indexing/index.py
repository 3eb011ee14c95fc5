"""The code graph of one folder, kept current: the disk, and over it what the editor holds open."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from msgspec.structs import replace

from rolecall_analysis.extraction import Followed, follow
from rolecall_analysis.facts.mentions import Mentions
from rolecall_analysis.facts.packed import mentioned_names, pack, unpack
from rolecall_analysis.facts.records import Record
from rolecall_analysis.folder import SourceFile, folders_above, holds_folder, is_source, source_file, source_files
from rolecall_analysis.ignored import Ignored, governed_by
from rolecall_analysis.indexing.file_reading import FileEntry, FileReading, digest_of, is_current, read_files
from rolecall_analysis.indexing.saved_facts import SavedFacts
from rolecall_analysis.indexing.workers import Batch, Workers
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.text import Edit, apply_edits, decode
from rolecall_analysis.values import Problem

BATCH_BYTES = 256_000
"""The bytes that one worker reads at a time: some 40 ms of work."""

FEW_FILES = 100
LITTLE_BYTES = 1_000_000
SMALL_BYTES = 200_000
"""Fewer files than this, of less than this together, each less than this, are read in this process: it is sooner
done than handed over, and the parser holds the interpreter's lock for 12 ms at most."""

SHORT_CHARACTERS = 20_000
"""So long a document is read in this process, and by the thread that says it was edited: it takes some 5 ms."""

SAVED_AT_ONCE = 2_000
"""So many files that were read are not lost when the process is killed."""

Progress = Callable[[int, int], None]
"""Told how many files are read, and how many there are to read."""


@dataclass(slots=True)
class _Document:
    text: str
    edited_at: int
    """The moment its text became this."""
    followed: Followed | None = None
    reading: Lock = field(default_factory=Lock)
    """Held while its text is read: a tree serves one reader at a time."""


class Index:
    """An index of what is known of the source files below *root*.

    Any thread may call any method. `snapshot` never waits; the others wait for each other only while facts are
    put in place, not while files are read. Paths are relative to the root, with ``/``. Documents of languages the
    graph does not read are accepted and ignored.

    With a store, *saved_in*, a later index of the same folder reads only what changed since. With *workers*,
    many or large files are read by other processes.
    """

    def __init__(self, root: Path, *, saved_in: Path | None = None, workers: Workers | None = None) -> None:
        self.root = root.resolve()
        self._saved_in = saved_in
        self._saved: SavedFacts | None = None
        self._workers = workers
        self._lock = Lock()
        self._scanning = Lock()
        self._mentions = Mentions()
        self._snapshot = Snapshot(self.root, self._mentions)
        self._documents: dict[str, _Document] = {}
        self._known: dict[str, tuple[FileEntry, Record]] = {}
        """The texts that were last read from disk, of open documents as well."""
        self._unsaved: set[str] = set()
        self._ignored = Ignored(self.root)
        self._clock = 0
        self._looked_at: dict[str, int] = {}
        """The moment each file was last looked at on disk."""

    def snapshot(self) -> Snapshot:
        """Return the graph as it is now; it never changes."""
        return self._snapshot

    def scan(
        self,
        progress: Progress = lambda n_done, n_files: None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> tuple[Problem, ...]:
        """Make the graph that of every source file below the root; what is open in the editor stays as it is there.

        The snapshot grows meanwhile. Returns what could not be read, or only in part. Cancelled, it keeps what has
        been read, and forgets nothing.

        Raises:
            WorkersClosed: the workers were.
        """
        with self._scanning:
            self._load()
            # Before anything is looked at, so that what an editor or a refresh tells meanwhile is newer.
            started_at = self._now()
            found, problems = self._walk(is_cancelled)
            self._update(found, started_at, progress, is_cancelled)
            if not is_cancelled():
                self._put([FileReading(path, None) for path in self._known.keys() - found.keys()], started_at)
            self._link()
            self._save()
            if self._workers is not None:
                self._workers.rest()
        return (*problems, *self._problems(found))

    def refresh(self, paths: Iterable[str]) -> tuple[Problem, ...]:
        """Look again at what was created, changed or deleted on disk: files, or folders with all that is in them.

        Returns what could not be read, or only in part.

        Raises:
            WorkersClosed: the workers were.
        """
        started_at = self._now()
        told = set(paths)
        governed = set(map(governed_by, told))
        if not governed <= told or not all(map(is_source, told)):
            self._ignored = Ignored(self.root)  # its rules may be others now
        ignored = self._ignored
        found, gone = self._files_among(told | governed, ignored)
        self._update(found, started_at)
        self._put([FileReading(path, None) for path in gone], started_at)
        self._link()
        self._save()
        return (*ignored.problems, *self._problems(found))

    def open_document(self, path: str, text: str) -> None:
        """The editor holds *path* open with this *text*, which wins over the disk from now on."""
        if is_source(path):
            with self._lock:
                document = self._documents.setdefault(path, _Document("", 0))
                document.text, document.edited_at = text, self._next_moment()
            self._read_document(path, document, document.edited_at)

    def edit_document(self, path: str, change: str | Sequence[Edit]) -> None:
        """The editor's text of *path* changed: by edits, each on the result of the one before, or to a new text.

        Raises:
            KeyError: the document is not open.
        """
        if is_source(path):
            with self._lock:
                document = self._documents[path]
                text = change if isinstance(change, str) else apply_edits(document.text, change)
                document.text, document.edited_at = text, self._next_moment()
            self._read_document(path, document, document.edited_at)

    def close_document(self, path: str) -> None:
        """The editor let go of *path*: the disk's text counts again."""
        with self._lock:
            if self._documents.pop(path, None) is None:
                return
            # A look at the disk from before this moment no longer counts: it may have missed what the editor saved.
            self._looked_at[path] = self._next_moment()
        self.refresh([path])

    def close(self) -> None:
        """Let go of the store. The index can still be asked."""
        if self._saved is not None:
            self._saved.close()

    def _next_moment(self) -> int:
        self._clock += 1
        return self._clock

    def _now(self) -> int:
        with self._lock:
            return self._next_moment()

    def _read_document(self, path: str, document: _Document, edited_at: int) -> None:
        """Show the text of *document* in the snapshot, unless it is another by now: then somebody else does."""
        with document.reading:
            text = document.text
            if document.edited_at != edited_at:
                return
            packed = None
            if self._workers is not None and len(text) > SHORT_CHARACTERS:
                packed = self._workers.read_text(self.root, path, text)
            if packed is None:
                facts, document.followed = follow(path, text, document.followed)
                record = Record(facts=facts, text=text)
            else:
                record = Record(packed, text=text)
                document.followed = None
            with self._lock:
                # While it was read, it may have been closed, or closed and opened again.
                if self._documents.get(path) is document:
                    self._snapshot = self._snapshot.with_records({path: record})

    def _load(self) -> None:
        """Take over what an earlier index saved, the first time."""
        if self._saved_in is not None and self._saved is None:
            self._saved = SavedFacts(self._saved_in)
            for path, entry in self._saved.load().items():
                self._known.setdefault(path, (entry, Record(entry.packed)))

    def _walk(self, is_cancelled: Callable[[], bool]) -> tuple[dict[str, SourceFile], list[Problem]]:
        """Walk the repository; return its source files by path, and the problems with its folders."""
        ignored = self._ignored = Ignored(self.root)
        found: dict[str, SourceFile] = {}
        problems: list[Problem] = []
        for one in source_files(self.root, "", ignored):
            if isinstance(one, Problem):
                problems.append(one)
            else:
                found[one.path] = one
            if is_cancelled():
                break
        return found, [*problems, *ignored.problems]

    def _update(
        self,
        found: Mapping[str, SourceFile],
        looked_at: int,
        progress: Progress = lambda n_done, n_files: None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Put in place what the files are now, reading those that may have changed."""
        current: list[FileReading] = []
        changed: list[tuple[SourceFile, bytes]] = []
        for path, file in found.items():
            entry = self._known[path][0] if path in self._known else None
            if path in self._documents and (entry is None or entry.stamp != file.stamp):
                entry = self._as_in_the_editor(path) or entry
            if entry is not None and is_current(entry, file.stamp):
                current.append(FileReading(path, entry))
            else:
                changed.append((file, entry.digest if entry is not None else b""))
        # In portions, since whoever edits waits for the lock.
        for start in range(0, len(current), FEW_FILES):
            self._put(current[start : start + FEW_FILES], looked_at)
        n_done = len(current)
        # Closed here, not by the collector some day: that calls off the batches that nobody will ask for.
        with contextlib.closing(self._read(changed)) as batches:
            for readings in batches:
                self._put(readings, looked_at)
                n_done += len(readings)
                progress(n_done, len(found))
                if len(self._unsaved) > SAVED_AT_ONCE:
                    self._save()
                if is_cancelled():
                    break

    def _as_in_the_editor(self, path: str) -> FileEntry | None:
        """Return the entry of an open document, to be kept if its text is what has been saved: it is read already; else
        ``None``.
        """
        with self._lock:
            document, record = self._documents.get(path), self._snapshot.files.record(path)
            if document is None or record is None or record.text is not document.text:
                return None
            content = document.text.encode("utf-8", "surrogatepass")
            # A text whose bytes would be read as another one, as by an encoding cookie, says nothing about the file.
            if decode(content) != (document.text, None):
                return None
            facts = self._snapshot.files[path]
            # Without a stamp the file is read all the same; where it has this digest, it is not parsed.
            entry = FileEntry(None, digest_of(content), record.packed or pack(facts), bool(facts.problems), 0)
            self._known[path] = entry, Record(entry.packed)
            return entry

    def _read(self, files: Sequence[tuple[SourceFile, bytes]]) -> Generator[list[FileReading]]:
        """Yield the readings of the files, each of which is given with the digest that is known of it."""
        sizes = [file.stamp.size for file, _ in files]
        few = len(files) < FEW_FILES and sum(sizes) < LITTLE_BYTES and max(sizes, default=0) < SMALL_BYTES
        batches = _batches(files)
        if few or self._workers is None:
            yield from (read_files(self.root, batch) for batch in batches)
        else:
            yield from self._workers.read_files(self.root, list(batches))

    def _put(self, readings: Sequence[FileReading], looked_at: int) -> None:
        """Put in place what was found on disk since *looked_at*, unless something newer is known."""
        names = {reading.path: self._names_in(reading) for reading in readings}
        with self._lock:
            shown = self._snapshot.files
            changes: dict[str, Record | None] = {}
            for reading in readings:
                path = reading.path
                if self._looked_at.get(path, 0) <= looked_at:
                    self._looked_at[path] = looked_at
                    record = self._remember(reading, names[path])
                    if path not in self._documents and shown.record(path) is not record:
                        changes[path] = record
            if changes:
                self._snapshot = self._snapshot.with_records(changes)

    def _names_in(self, reading: FileReading) -> frozenset[str]:
        """Return the identifiers of a file that still has to be entered in the index of mentions: the part that takes
        time.
        """
        entry, record = self._merged(reading)
        return mentioned_names(entry.packed) if entry is not None and record is None else frozenset()

    def _merged(self, reading: FileReading) -> tuple[FileEntry | None, Record | None]:
        """Return the entry of the reading, completed by what is known, and its earlier record if that can be kept."""
        entry, known = reading.entry, self._known.get(reading.path)
        if entry is None or known is None:
            return entry, None
        if reading.is_same:
            entry = replace(entry, packed=known[0].packed, has_problems=known[0].has_problems)
        # What came from the store has no number yet: its names are not in the index of mentions.
        return entry, known[1] if known[1].packed is entry.packed and known[1].is_numbered else None

    def _remember(self, reading: FileReading, names: frozenset[str]) -> Record | None:
        """Keep what a file is now; its record."""
        path = reading.path
        entry, record = self._merged(reading)
        if entry is None:
            if self._known.pop(path, None) is not None:
                self._unsaved.add(path)
            return None
        if path not in self._known or self._known[path][0] is not entry:
            self._unsaved.add(path)
        if record is None:
            record = Record(entry.packed, self._mentions.add(path, names))
        self._known[path] = entry, record
        return record

    def _link(self) -> None:
        """Bring what belongs to the graph as a whole up to date, so that nobody who asks has to wait for it."""
        # The index only grows. To make it anew at twice its size costs little for each of the changes until then.
        if len(self._mentions) > 2 * len(self._known) + FEW_FILES:
            self._renumber()
        _ = self._snapshot.modules

    def _renumber(self) -> None:
        """Make the index of mentions anew, without the versions that are gone."""
        # The names are read without the lock, which takes long; with it, only what has changed meanwhile.
        before = dict(self._known)
        mentions = Mentions()
        numbered = {
            path: Record(record.packed, mentions.add(path, mentioned_names(record.packed)))
            for path, (_, record) in before.items()
        }
        with self._lock:
            for path, (entry, record) in self._known.items():
                if path not in before or before[path][1] is not record:
                    numbered[path] = Record(record.packed, mentions.add(path, mentioned_names(record.packed)))
                self._known[path] = entry, numbered[path]
            changes = {path: numbered[path] for path in self._known if path not in self._documents}
            self._mentions = mentions
            self._snapshot = self._snapshot.with_records(changes, mentions)

    def _save(self) -> None:
        """Write down what is new; all of it, if the store had to be made anew."""
        if self._saved is None:
            return
        with self._lock:
            paths, self._unsaved = self._unsaved, set()
            entries = {path: self._known[path][0] if path in self._known else None for path in paths}
        kept = {
            path: entry if entry is not None and entry.stamp is not None else None for path, entry in entries.items()
        }
        if kept and not self._saved.save(kept):
            with self._lock:
                self._unsaved.update(self._known)

    def _problems(self, paths: Iterable[str]) -> list[Problem]:
        """Return the problems of files, and of the means to read and keep them."""
        found: list[Problem] = []
        if self._saved is not None:
            found.extend(Problem("", what) for what in self._saved.take_problems())
        if self._workers is not None and self._workers.problem:
            found.append(Problem("", self._workers.problem))
        for path in paths:
            entry = self._known[path][0] if path in self._known else None
            if entry is not None and entry.has_problems:
                found.extend(unpack(path, entry.packed).problems)
        return found

    def _files_among(self, paths: set[str], ignored: Ignored) -> tuple[dict[str, SourceFile], set[str]]:
        """Return the source files that *paths* are, or that lie in them, as they are now; and those that are gone."""
        found: dict[str, SourceFile] = {}
        maybe_gone: set[str] = set()
        folders: set[str] = set()
        for path in paths:
            file = source_file(path, ignored) if is_source(path) else None
            if file is not None:
                found[path] = file
            else:
                maybe_gone.add(path)
            if path not in self._known:  # then it may be a folder, or have been one, whatever its name
                folders.add(path)
        if folders:
            maybe_gone.update(path for path in self._known if any(above in folders for above in folders_above(path)))
        for folder in folders:
            if not any(above in folders for above in folders_above(folder)) and holds_folder(folder, ignored):
                below = source_files(self.root, folder, ignored)
                found.update((file.path, file) for file in below if isinstance(file, SourceFile))
        return found, maybe_gone - found.keys()


def _batches(files: Iterable[tuple[SourceFile, bytes]]) -> Iterator[Batch]:
    """Yield the files in batches of about the same size; files that fill a batch alone come first."""
    batch: list[tuple[str, bytes]] = []
    n_bytes = 0
    # The longest work first, so that no worker begins it when the others are done.
    for file, digest in sorted(files, key=lambda one: one[0].stamp.size < BATCH_BYTES):
        batch.append((file.path, digest))
        n_bytes += file.stamp.size
        if n_bytes >= BATCH_BYTES or len(batch) >= FEW_FILES:
            yield batch
            batch, n_bytes = [], 0
    if batch:
        yield batch
