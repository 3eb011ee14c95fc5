"""All that one editor's session knows: its settings, folders, open documents and runs."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lsprotocol import types
from pygls import uris

from rolecall_analysis import Index, Problem, Snapshot, Workers
from rolecall_analysis.index import SHORT_CHARACTERS
from rolecall_analysis.saved import saved_path
from rolecall_server.errors import FileRefused, RolecallError
from rolecall_server.lsp.documents import Document
from rolecall_server.lsp.positions import Encoding
from rolecall_server.review.shelf import Reviewed, load_undecided
from rolecall_server.settings import Settings
from rolecall_server.store import Store
from rolecall_server.workspace import Workspace, find_root, read_text_file, resolve

logger = logging.getLogger(__name__)


@dataclass
class Folder:
    """One root folder of the session."""

    root: Path
    index: Index
    proposals: dict[str, Reviewed]
    """What is still to be decided, by proposal id."""
    ready: asyncio.Future[None]
    """Done when the first scan is."""
    guessed: bool = False
    """Whether a file brought it, and not the editor."""
    opened_at_s: float = field(default_factory=time.monotonic)
    unseen: set[str] = field(default_factory=set[str])
    """Documents of which the code graph has not seen that they were opened, edited or closed."""
    in_hand: set[str] = field(default_factory=set[str])
    """Those a thread is having the graph see."""
    reading: asyncio.Task[None] | None = None
    """Has the graph see documents that take longer than somebody who asks should wait in the event loop."""
    changed: set[str] = field(default_factory=set[str])
    """What changed on disk and has not been looked at."""
    refreshing: asyncio.Task[None] | None = None
    """Looks at it."""
    told: set[Problem] = field(default_factory=set[Problem])
    """What is in the log already."""
    closed: threading.Event = field(default_factory=threading.Event)
    """Set when nobody wants the graph any more."""
    scan_begun: bool = False
    shown: set[str] = field(default_factory=set[str])
    """The URIs that hunks are shown on."""
    deciding: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held from planning an acceptance until the editor has answered."""


ReportScan = Callable[[Folder, int | None, int], None]


@dataclass(frozen=True)
class Client:
    """What the editor can do, as far as Rolecall cares."""

    encoding: Encoding = Encoding.Utf16
    progress: bool = False
    """It shows progress that the server begins."""
    document_changes: bool = False
    create_files: bool = False
    """It creates files as part of an edit."""
    show_document: bool = False
    watched_files: bool = False
    """It can be asked to watch files."""
    rolecall: bool = False
    """It is a Rolecall client and wants the notifications of `docs/protocol.md`."""
    input: bool = False
    """It can ask the developer for a line of text."""


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
    """What is wrong with the options they were read from."""
    client: Client = field(default_factory=Client)
    documents: dict[str, Document] = field(default_factory=dict[str, Document])
    """The open ones, by URI."""
    folders: dict[Path, Folder] = field(default_factory=dict[Path, Folder])
    runs: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, asyncio.Task[None]])
    """The running ones, by run id."""
    progress: dict[str, str] = field(default_factory=dict[str, str])
    """The run that each progress token shows."""
    background: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    """Tasks that would be lost without a reference."""

    def open_folder(self, root: Path, *, guessed: bool = False) -> Folder:
        """The folder at *root*, opened now if it was not, with the documents that are open in it."""
        folder = self.folders.get(root)
        if folder is None:
            proposals = {reviewed.proposal.id: reviewed for reviewed in load_undecided(self.store, root)}
            ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            saved_in = saved_path(self.cache, root) if self.cache is not None else None
            index = Index(root, saved_in=saved_in, workers=self.workers)
            folder = self.folders[root] = Folder(root, index, proposals, ready, guessed)
            folder.unseen.update(self.workspace(folder).buffers)
        folder.guessed = folder.guessed and guessed
        return folder

    def close_folder(self, root: Path) -> Folder | None:
        """Forget the folder at *root*, if it is open; its store keeps everything."""
        folder = self.folders.pop(root, None)
        if folder is not None:
            folder.closed.set()
        return folder

    def close(self) -> None:
        """End the processes and let go of the files that the code graph holds; it may take a moment."""
        for folder in self.folders.values():
            folder.closed.set()
        if self.workers is not None:
            self.workers.close()
        for folder in self.folders.values():
            folder.index.close()

    def place(self, uri: str) -> tuple[Folder, str]:
        """The folder that holds *uri*, and the path within it.

        A file outside all folders brings the nearest folder above it that looks like a project, but only
        where the editor opened no folder: with one open, it is outside the workspace.

        Raises:
            FileRefused: *uri* is no file, or outside.
        """
        path = file_path(uri)
        holders = [folder for root, folder in self.folders.items() if path.is_relative_to(root)]
        if not holders and all(folder.guessed for folder in self.folders.values()):
            holders = [self.open_folder(find_root(path), guessed=True)]
        if not holders:
            raise FileRefused(f"{path} lies outside the opened folders.", "Open its folder first.")
        folder = max(holders, key=lambda holder: len(holder.root.parts))
        return folder, path.relative_to(folder.root).as_posix()

    def snapshot(self, folder: Folder) -> Snapshot:
        """The code graph of *folder* as far as it is known, with its short open documents as they are now.

        `latest_snapshot` waits for the long ones as well.
        """
        for path in folder.unseen - folder.in_hand:
            document = self.document_at(folder, path)
            if document is not None and is_short(document):
                folder.index.open_document(path, document.text)
                folder.unseen.discard(path)
        return folder.index.snapshot()

    def workspace(self, folder: Folder) -> Workspace:
        """*folder* with the text of its open documents, as of now."""
        buffers: dict[str, str] = {}
        for document in self.documents.values():
            path = self.path_in(folder, document.uri)
            if path is not None:
                buffers[path] = document.text
        return Workspace(folder.root, MappingProxyType(buffers))

    def path_in(self, folder: Folder, uri: str) -> str | None:
        """The path of *uri* within *folder*, or ``None`` where it lies elsewhere."""
        try:
            holder, path = self.place(uri)
        except FileRefused:
            return None
        return path if holder is folder else None

    def document_at(self, folder: Folder, path: str) -> Document | None:
        """The open document of *path*, if it is open."""
        for document in self.documents.values():
            if self.path_in(folder, document.uri) == path:
                return document
        return None

    def read_text(self, folder: Folder, path: str) -> str | None:
        """The text of *path* as the developer sees it, or ``None`` where there is none that can be read."""
        if (document := self.document_at(folder, path)) is not None:
            return document.text
        try:
            return read_text_file(Workspace(folder.root), path).text
        except RolecallError:
            return None


def is_short(document: Document) -> bool:
    """Whether reading its text is sooner done than handed to somebody else."""
    return len(document.text) < SHORT_CHARACTERS


def file_path(uri: str) -> Path:
    """The path of a ``file:`` URI, with links resolved.

    Raises:
        FileRefused: it is of another kind, or names nothing that could be a file.
    """
    if not uri.startswith("file:"):
        raise FileRefused(f"{uri.partition(':')[0]!r} is no file on this machine.", "Save it to a file first.")
    try:
        path = Path(uris.to_fs_path(uri) or "")
        if not path.is_absolute():
            raise ValueError
        return resolve(path)
    except ValueError:
        raise FileRefused(f"{uri!r} names no file.", "Check how the editor writes its addresses.") from None


def uri_of(root: Path, path: str) -> str:
    """The URI of *path* below *root*."""
    return (root / path).as_uri()


def read_client(capabilities: types.ClientCapabilities, encoding: Encoding) -> Client:
    """The abilities of an editor that announced *capabilities*."""
    window, workspace = capabilities.window, capabilities.workspace
    edit = workspace.workspace_edit if workspace else None
    operations = (edit.resource_operations if edit else None) or ()
    show_document = window.show_document if window else None
    watched = workspace.did_change_watched_files if workspace else None
    ours = _mapping(_mapping(capabilities.experimental).get("rolecall"))
    return Client(
        encoding=encoding,
        progress=bool(window and window.work_done_progress),
        # A client that creates files handles document changes, even where it forgets to say so.
        document_changes=bool(edit and (edit.document_changes or operations)),
        create_files=types.ResourceOperationKind.Create in operations,
        show_document=bool(show_document and show_document.support),
        watched_files=bool(watched and watched.dynamic_registration),
        rolecall=bool(ours),
        input=bool(ours.get("input")),
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    """*value* if it is a JSON object; an empty one otherwise."""
    return value if isinstance(value, Mapping) else {}  # pyright: ignore[reportUnknownVariableType]
