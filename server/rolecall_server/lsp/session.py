"""The state of one editor's session: its settings, folders, open documents and runs."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from rolecall_analysis import Index, Problem, Snapshot, Workers
from rolecall_analysis.indexing.index import SHORT_CHARACTERS
from rolecall_analysis.indexing.saved_facts import saved_path
from rolecall_server.errors import FileRefused
from rolecall_server.lsp.client import Client
from rolecall_server.lsp.text.documents import OpenDocument, file_path
from rolecall_server.lsp.text.saved import SavedText, read_saved
from rolecall_server.review.acceptance import FileEdit
from rolecall_server.review.proposals.anchor import Anchor, Places, Stale
from rolecall_server.review.proposals.edit_journal import take_over
from rolecall_server.review.proposals.proposal import Proposal
from rolecall_server.review.proposals.proposal_store import Reviewed, load_undecided
from rolecall_server.review.proposals.provenance import Traces
from rolecall_server.settings import Settings
from rolecall_server.store import LandingRow, Store
from rolecall_server.team.control import Control
from rolecall_server.workspace import Workspace, find_root, read_text_or_none

if TYPE_CHECKING:
    from rolecall_server.craft.code_review.candidates import ReviewCandidate
    from rolecall_server.craft.code_review.judging import Verdict
    from rolecall_server.team.plan.steps import Step

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Placed:
    """The places where the hunks of one file of a proposal are shown."""

    uri: str
    """Empty where they are shown nowhere."""
    ranges: Mapping[str, types.Range]
    """By hunk id; what cannot be placed is left out."""
    lost: Mapping[str, types.Range] = field(default_factory=lambda: MappingProxyType({}))
    """The nearest known line of what cannot be placed, by hunk id."""
    places: Places = field(default_factory=dict[str, "Anchor | Stale"], compare=False, repr=False)
    made_of: tuple[object, ...] = field(default=(), compare=False, repr=False)
    """The change, what of it is accepted, and the text: the same ones give the same places."""


@dataclass
class RequestedText:
    """A document that the developer was asked to write in."""

    offered: str
    """The text that it held, or that was taken from it last."""
    submit: Callable[[str], Awaitable[None]]
    """Takes what the developer wrote."""
    once: bool
    """It is done with after one answer."""
    saved: tuple[int, int] | None = None
    """When the file was written (ns) and its size, as last seen."""


@dataclass
class FolderGraph:
    """The code graph of a folder, and what it has still to be told of."""

    index: Index
    ready: asyncio.Future[None]
    """Done when the first scan is."""
    scan_begun: bool = False
    unseen: set[str] = field(default_factory=set[str])
    """Documents of which the code graph has not seen that they were opened, edited or closed."""
    in_hand: set[str] = field(default_factory=set[str])
    """Those a thread is having the graph see."""
    reading: asyncio.Task[None] | None = None
    """Has the graph see documents that take longer than somebody who asks should wait in the event loop."""
    changed: set[str] = field(default_factory=set[str])
    """The files that changed on disk and have not been looked at."""
    refreshing: asyncio.Task[None] | None = None
    """Looks at it."""
    told: set[Problem] = field(default_factory=set[Problem])
    """The problems that are in the log already."""
    closed: threading.Event = field(default_factory=threading.Event)
    """Set when nobody wants the graph any more."""


@dataclass(frozen=True)
class FaultMark:
    """A possible fault of reviewed code, as it is shown."""

    candidate: ReviewCandidate
    line: str
    """The text of its first line, by which it is found again."""
    run_id: str = ""
    """The run that judges it; empty where none does."""
    verdict: Verdict | None = None


@dataclass
class FolderMarks:
    """The marks that the editor shows for the proposals of a folder."""

    placed: dict[tuple[str, str], Placed] = field(default_factory=dict[tuple[str, str], Placed])
    """Where hunks are shown, by proposal id and path in the proposal."""
    published: dict[str, list[types.Diagnostic]] = field(default_factory=dict[str, list[types.Diagnostic]])
    """The diagnostics that were published last, by URI."""
    drawn: object = None
    """By what an editor that draws hunks was told last that they are others (`hunks._drawn`)."""
    findings: dict[str, list[tuple[str, types.Diagnostic]]] = field(
        default_factory=dict[str, list[tuple[str, types.Diagnostic]]]
    )
    """The diagnostics of defects in tested code, by proposal, with the URI it is shown in."""
    faults: list[FaultMark] = field(default_factory=list[FaultMark])
    """Possible faults of reviewed code, as `rolecall.review` found them."""
    guarded: dict[str, tuple[Proposal, Mapping[str, str]]] = field(
        default_factory=dict[str, "tuple[Proposal, Mapping[str, str]]"]
    )
    """The guarded files of proposals, as an editor that draws hunks was told of them (`overview.review_of`)."""
    hunks: dict[tuple[str, str], tuple[object, list[dict[str, Any]]]] = field(
        default_factory=dict[tuple[str, str], "tuple[object, list[dict[str, Any]]]"]
    )
    """The hunks of files of proposals as plain values, with what those are made of (`overview.review_of`)."""
    decided_last: tuple[tuple[int, int], tuple[tuple[Reviewed, tuple[str, ...]], ...]] | None = None
    """A moment of the store, and what was decided last then: proposals with their hunks (`hunks.decided_last`)."""


@dataclass
class FolderEdits:
    """The edits by which decisions change the files of a folder, and what the editor tells of them."""

    chains: dict[str, list[LandingRow]] = field(default_factory=dict[str, list[LandingRow]])
    """The steps by which decisions changed files in this session, by path, oldest first."""
    to_tell: tuple[str, ...] = ()
    """Sentences about decisions here that a process left unfinished when it ended, until the developer was told."""
    made: dict[str, FileEdit] = field(default_factory=dict[str, FileEdit])
    """The edit of the last step of each chain that was begun in this session."""
    standing: dict[str, int] = field(default_factory=dict[str, int])
    """The number of steps of each chain that stood in the text when it was last looked at."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the editor is asked to make an edit."""
    in_flight: frozenset[tuple[str, str]] = frozenset()
    """The hunks it is asked for, with their proposals."""
    in_memory: set[str] = field(default_factory=set[str])
    """Files that the editor says it changed, while the disk shows the old text and no open document the new one."""
    told_texts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The texts of open documents told since the editor was last asked to make an edit, by path, the latest last."""
    moved: set[str] = field(default_factory=set[str])
    """Files that changed meanwhile, to be looked at afterwards."""


@dataclass
class Folder:
    """One root folder of the session."""

    root: Path
    graph: FolderGraph
    proposals: dict[str, Reviewed]
    """The proposals with something left to decide, by id."""
    traces: Traces
    """Where accepted lines came from."""
    edits: FolderEdits
    guessed: bool = False
    """A file brought it, and not the editor."""
    opened_at_s: float = field(default_factory=time.monotonic)
    marks: FolderMarks = field(default_factory=FolderMarks)


ReportScan = Callable[[Folder, int | None, int], None]


@dataclass(frozen=True)
class Patience:
    """The times for which the server waits for an editor."""

    answer_s: float = 120.0
    """For the answer to an edit, while other decisions wait; it may be asking the developer."""
    sync_s: float = 2.0
    """For the editor to tell what an edit changed, once it said that it was made."""
    quiet_s: float = 0.1
    """Without a word from an editor that refused, before what it did is taken to be all."""


@dataclass
class Session:
    """The state of the server. Only the event loop's thread touches it."""

    store: Store
    workers: Workers | None = None
    """The processes that read for the code graph; None: this one does."""
    cache: Path | None = None
    """The folder that keeps facts from one session to the next; None: they are not kept."""
    report_scan: ReportScan = field(default=lambda folder, n_done, n_files: None)
    """Told how far a first scan is: the files read (None when it has ended) and to read."""
    settings: Settings = field(default_factory=Settings)
    settings_problems: tuple[str, ...] = ()
    """The problems of the options they were read from."""
    store_damage: str = ""
    """A sentence about the store before, where that could not be read; empty where nothing did."""
    told_first: tuple[str, ...] = ()
    """Sentences about changes of files that a command began and that was then ended, and about folders not opened."""
    client: Client = field(default_factory=Client)
    patience: Patience = field(default_factory=Patience)
    documents: dict[str, OpenDocument] = field(default_factory=dict[str, OpenDocument])
    """The open ones, by URI."""
    saved: dict[Path, SavedText] = field(default_factory=dict[Path, SavedText])
    """The texts of files as they lay on the disk when they were read last."""
    told_kinds: set[str] = field(default_factory=set[str])
    """The kinds of files of which the editor told that they were opened."""
    folders: dict[Path, Folder] = field(default_factory=dict[Path, Folder])
    runs: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, asyncio.Task[None]])
    """The running ones, by run id."""
    controls: dict[str, Control] = field(default_factory=dict[str, Control])
    """The controls of the running ones."""
    decided_together: frozenset[int] = frozenset()
    """The acts, one for each folder, that the last decision on all folders was."""
    n_deciding: int = 0
    """The decisions that are being carried out, or wait for the editor."""
    distrusted: set[str] = field(default_factory=set[str])
    """The fingerprints of those Pythons of workspaces that the developer does not want to be used."""
    asked: dict[Path, RequestedText] = field(default_factory=dict[Path, RequestedText])
    """The documents that the developer was asked to write in."""
    watching_asked: bool = False
    """Their files are being looked at."""
    keys: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """The keys that the editor keeps, by the address that each is for; they are never stored here."""
    indexing: dict[Path, tuple[int, int]] = field(default_factory=dict[Path, tuple[int, int]])
    """The files read and to read of first scans, by folder."""
    steps: dict[str, str] = field(default_factory=dict[str, str])
    """The latest words on each running run, by its id."""
    under_way: dict[str, Sequence[Step]] = field(default_factory=dict[str, "Sequence[Step]"])
    """The steps that running runs are taking, by the id of the run."""
    given: dict[str, str] = field(default_factory=dict[str, str])
    """The documents that the editor reads from us, by URI, as they were last given."""
    review_told: asyncio.TimerHandle | None = None
    """Pending while the editor was told a moment ago that the review has changed."""
    review_moved: bool = False
    """Set when it has changed again since."""
    refreshing: asyncio.TimerHandle | None = None
    """Tells the editor soon that what it reads from us has changed."""
    checking: asyncio.TimerHandle | None = None
    """Looks soon at what is wrong with the open documents of the team."""
    follows_pages: bool = False
    """The editor was told that we answer questions about documents of the team."""
    progress: dict[str, str] = field(default_factory=dict[str, str])
    """The run that each progress token shows."""
    model_calls: dict[str, Callable[[str], None]] = field(default_factory=dict[str, Callable[[str], None]])
    """The functions that take the pieces of a reply of the editor's own model, by the id of the call."""
    background: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    """Tasks that would be lost without a reference."""

    @property
    def environ(self) -> Mapping[str, str]:
        """The variables of this process, with the key that the editor keeps for the address that is set."""
        key = self.keys.get(self.settings.model.base_url.rstrip("/"))
        return {**os.environ, self.settings.model.api_key_variable: key} if key else os.environ

    @cached_property
    def scratch(self) -> Path:
        """The folder for documents of our own; no workspace holds it."""
        return self.store.path.parent.resolve() / "scratch"

    @cached_property
    def pages(self) -> Path:
        """The folder for documents of the team, as the developer reads and edits them; no workspace holds it."""
        return self.store.path.parent.resolve() / "documents"

    def open_folder(self, root: Path, *, guessed: bool = False) -> Folder:
        """Return the folder at *root* with the documents that are open in it; open it first if necessary."""
        folder = self.folders.get(root)
        if folder is None:
            # First: what ended processes left in the files says which hunks are still undecided.
            left = take_over(self.store, root, partial(read_text_or_none, Workspace(root)))
            proposals = {reviewed.proposal.id: reviewed for reviewed in load_undecided(self.store, root)}
            ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            saved_in = saved_path(self.cache, root) if self.cache is not None else None
            graph = FolderGraph(Index(root, saved_in=saved_in, workers=self.workers), ready)
            edits = FolderEdits(chains={**left.chains}, to_tell=left.told)
            folder = self.folders[root] = Folder(root, graph, proposals, Traces(self.store, root), edits, guessed)
            folder.graph.unseen.update(self.workspace(folder).buffers)
        # Once the editor opens it as a folder, it is no guess any more, whatever file comes later.
        folder.guessed = folder.guessed and guessed
        return folder

    def close_folder(self, root: Path) -> Folder | None:
        """Forget the folder at *root*, if it is open; its store keeps everything."""
        folder = self.folders.pop(root, None)
        if folder is not None:
            folder.graph.closed.set()
        return folder

    async def stop_runs(self) -> None:
        """Cancel all runs and wait until they have cleaned up after themselves."""
        tasks = list(self.runs.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def close(self) -> None:
        """End the processes and let go of the files that the code graph holds; it may take a moment."""
        for folder in self.folders.values():
            folder.graph.closed.set()
        if self.workers is not None:
            self.workers.close()
        for folder in self.folders.values():
            folder.graph.index.close()

    def place(self, uri: str) -> tuple[Folder, str]:
        """Return the folder that holds *uri*, and the path within it.

        A file outside all folders brings the nearest folder above it that looks like a project, but only
        where the editor opened no folder: with one open, it is outside the workspace.

        Raises:
            FileRefused: *uri* is no file, or outside.
        """
        document = self.documents.get(uri)
        path = (document and document.location) or file_path(uri)
        if path.is_relative_to(self.scratch) or path.is_relative_to(self.pages):
            raise FileRefused(f"{path.name} is a document of Rolecall's own.", "Name a file of the workspace.")
        holders = [folder for root, folder in self.folders.items() if path.is_relative_to(root)]
        # An editor that opened a folder meant that one: a file elsewhere brings no second.
        if not holders and all(folder.guessed for folder in self.folders.values()):
            holders = [self.open_folder(find_root(path), guessed=True)]
        if not holders:
            raise FileRefused(f"{path} lies outside the opened folders.", "Open its folder first.")
        # Folders may lie in one another: the inner one is the nearer project.
        folder = max(holders, key=lambda holder: len(holder.root.parts))
        return folder, path.relative_to(folder.root).as_posix()

    def snapshot(self, folder: Folder) -> Snapshot:
        """Return the code graph of *folder* as far as it is known, with its short open documents as they are now.

        `latest_snapshot` waits for the long ones as well.
        """
        # A thread may hold an older text of one in hand, and would put it in after this one.
        for path in folder.graph.unseen - folder.graph.in_hand:
            document = self.document_at(folder, path)
            if document is not None and is_short(document):
                folder.graph.index.open_document(path, document.text)
                folder.graph.unseen.discard(path)
        return folder.graph.index.snapshot()

    def workspace(self, folder: Folder) -> Workspace:
        """Return *folder* with the text of its open documents, as of now."""
        buffers: dict[str, str] = {}
        for document in self.documents.values():
            path = self.path_in(folder, document.uri)
            if path is not None:
                buffers[path] = document.text
        return Workspace(folder.root, MappingProxyType(buffers))

    def path_in(self, folder: Folder, uri: str) -> str | None:
        """Return the path of *uri* within *folder*, or ``None`` where it lies elsewhere."""
        try:
            holder, path = self.place(uri)
        except FileRefused:
            return None
        return path if holder is folder else None

    def document_at(self, folder: Folder, path: str) -> OpenDocument | None:
        """Return the open document of *path*, if it is open."""
        location = folder.root / path
        return next((document for document in self.documents.values() if document.location == location), None)

    def read_text(self, folder: Folder, path: str) -> str | None:
        """Return the text of *path* as the developer sees it, or ``None`` where there is none that can be read."""
        if (document := self.document_at(folder, path)) is not None:
            return document.text
        return read_saved(self.saved, Workspace(folder.root), path)


def kind_of_file(path: str) -> str:
    """Return the suffix or the name by which an editor may choose of which files it tells a server."""
    name = PurePosixPath(path)
    return (name.suffix or name.name).casefold()


def is_short(document: OpenDocument) -> bool:
    """Return whether reading the text here takes less time than handing it to another process."""
    return len(document.text) < SHORT_CHARACTERS


def uri_of(root: Path, path: str) -> str:
    """Return the URI of *path* below *root*."""
    return (root / path).as_uri()
