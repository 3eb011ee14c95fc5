"""All that one editor's session knows: its settings, folders, open documents and runs."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from lsprotocol import types

from rolecall_analysis import Index, Problem, Snapshot, Workers
from rolecall_analysis.index import SHORT_CHARACTERS
from rolecall_analysis.saved import saved_path
from rolecall_server.errors import FileRefused
from rolecall_server.lsp.documents import Document, file_path
from rolecall_server.lsp.positions import Encoding
from rolecall_server.lsp.untyped import fields_of
from rolecall_server.review.acceptance import FileEdit
from rolecall_server.review.shelf import Reviewed, load_undecided, take_over
from rolecall_server.review.trace import Traces
from rolecall_server.settings import Settings
from rolecall_server.store import LandingRow, Store
from rolecall_server.team.control import Control
from rolecall_server.workspace import Workspace, find_root, read_text_or_none

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Placed:
    """Where the hunks of one file of a proposal are shown."""

    uri: str
    ranges: Mapping[str, types.Range]
    """By hunk id; what cannot be placed is left out."""
    lost: Mapping[str, types.Range] = field(default_factory=lambda: MappingProxyType({}))
    """The nearest known line of what cannot be placed, by hunk id."""


@dataclass
class Asked:
    """A document that the developer was asked to write in."""

    offered: str
    """What it held, or what was taken from it last."""
    submit: Callable[[str], Awaitable[None]]
    """Takes what the developer wrote."""
    once: bool
    """Whether it is done with after one answer."""
    saved: tuple[int, int] | None = None
    """When the file was written (ns) and its size, as last seen."""


@dataclass
class Folder:
    """One root folder of the session."""

    root: Path
    index: Index
    proposals: dict[str, Reviewed]
    """What is still to be decided, by proposal id."""
    traces: Traces
    """Where accepted lines came from."""
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
    placed: dict[tuple[str, str], Placed] = field(default_factory=dict[tuple[str, str], Placed])
    """Where hunks are shown, by proposal id and path in the proposal."""
    shown: dict[str, list[types.Diagnostic]] = field(default_factory=dict[str, list[types.Diagnostic]])
    """What was published last, by URI."""
    chains: dict[str, list[LandingRow]] = field(default_factory=dict[str, list[LandingRow]])
    """What decisions did to files in this session, by path, oldest first."""
    made: dict[str, FileEdit] = field(default_factory=dict[str, FileEdit])
    """The edit of the last step of each chain that was begun in this session."""
    standing: dict[str, int] = field(default_factory=dict[str, int])
    """How many steps of each chain stood in the text when it was last looked at."""
    deciding: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the editor is asked to make an edit."""
    in_flight: frozenset[tuple[str, str]] = frozenset()
    """The hunks it is asked for, with their proposals."""
    in_memory: set[str] = field(default_factory=set[str])
    """Files that the editor says it changed, while the disk shows the old text and no open document the new one."""
    findings: dict[str, list[tuple[str, types.Diagnostic]]] = field(
        default_factory=dict[str, list[tuple[str, types.Diagnostic]]]
    )
    """What looks wrong in tested code, by proposal, with the URI it is shown in."""
    decided_last: tuple[tuple[int, int], tuple[Reviewed, tuple[str, ...]] | None] | None = None
    """A moment of the store, and what was decided last then: the proposal and the hunks (`hunks.decided_last`)."""
    told_texts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """What the editor told of open documents since it was last asked to make an edit, by path, the latest last."""
    moved: set[str] = field(default_factory=set[str])
    """Files that changed meanwhile, to be looked at afterwards."""


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
    delete_files: bool = False
    rename_files: bool = False
    show_document: bool = False
    shows_content: bool = False
    """It reads documents that the server gives it, by their URI."""
    refreshes_lenses: bool = False
    annotations: bool = False
    """It takes a word about each edit."""
    resolves: frozenset[str] = frozenset()
    """What of a code action it asks for only when it is needed."""
    code_actions: bool = False
    """It takes code actions; otherwise it takes the bare commands of which it then shows the titles."""
    watched_files: bool = False
    """It can be asked to watch files."""
    ends_empty_files: bool = False
    """It holds an empty line in a file that is empty or new, and ends it when it saves: Neovim."""
    extends_last_line: bool = False
    """It adds an empty line to what is inserted on the line after the last: Neovim 0.11."""
    hides_crlf: bool = False
    """It holds LF where all lines of a file end in CRLF, and saves them as they were: Emacs."""
    tells_when_idle: bool = False
    """Of an edit that it made for the server it tells only after somebody next pressed a key: Emacs."""
    pause_after_reply_s: float = 0.0
    """Where a message comes together with a reply, it is read only when the next one comes: Emacs 28."""
    rolecall: bool = False
    """It is a Rolecall client and wants the notifications of `docs/protocol.md`."""
    input: bool = False
    """It can ask the developer for a line of text."""
    models: bool = False
    """It can ask its own language models."""
    trusted: bool = False
    """It has asked the developer whether the workspace's code may run, and starts in no other."""


@dataclass(frozen=True)
class Patience:
    """How long the server waits for an editor."""

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
    """What is wrong with the options they were read from."""
    store_damage: str = ""
    """What became of the store before, where that could not be read; empty where nothing did."""
    told_first: tuple[str, ...] = ()
    """What became of changes of files that were begun by a command that was ended."""
    client: Client = field(default_factory=Client)
    patience: Patience = field(default_factory=Patience)
    documents: dict[str, Document] = field(default_factory=dict[str, Document])
    """The open ones, by URI."""
    told_kinds: set[str] = field(default_factory=set[str])
    """The kinds of files of which the editor told that they were opened."""
    folders: dict[Path, Folder] = field(default_factory=dict[Path, Folder])
    runs: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, asyncio.Task[None]])
    """The running ones, by run id."""
    controls: dict[str, Control] = field(default_factory=dict[str, Control])
    """What steers those of the whole team."""
    distrusted: set[str] = field(default_factory=set[str])
    """The fingerprints of those Pythons of workspaces that the developer does not want to be used."""
    asked: dict[Path, Asked] = field(default_factory=dict[Path, Asked])
    """The documents that the developer was asked to write in."""
    watching_asked: bool = False
    """Whether their files are being looked at."""
    given: dict[str, str] = field(default_factory=dict[str, str])
    """The documents that the editor reads from us, by URI, as they were last given."""
    refreshing: asyncio.TimerHandle | None = None
    """Tells the editor soon that what it reads from us has changed."""
    checking: asyncio.TimerHandle | None = None
    """Looks soon at what is wrong with the open documents of the team."""
    follows_pages: bool = False
    """Whether the editor was told that we answer questions about documents of the team."""
    progress: dict[str, str] = field(default_factory=dict[str, str])
    """The run that each progress token shows."""
    model_calls: dict[str, Callable[[str], None]] = field(default_factory=dict[str, Callable[[str], None]])
    """What takes the pieces of a reply of the editor's own model, by the id of the call."""
    background: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    """Tasks that would be lost without a reference."""

    @cached_property
    def scratch(self) -> Path:
        """The folder for documents of our own; no workspace holds it."""
        return self.store.path.parent.resolve() / "scratch"

    @cached_property
    def pages(self) -> Path:
        """The folder for documents of the team, as the developer reads and edits them; no workspace holds it."""
        return self.store.path.parent.resolve() / "documents"

    def open_folder(self, root: Path, *, guessed: bool = False) -> Folder:
        """The folder at *root*, opened now if it was not, with the documents that are open in it."""
        folder = self.folders.get(root)
        if folder is None:
            chains = take_over(self.store, root, partial(read_text_or_none, Workspace(root)))
            proposals = {reviewed.proposal.id: reviewed for reviewed in load_undecided(self.store, root)}
            ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            saved_in = saved_path(self.cache, root) if self.cache is not None else None
            index = Index(root, saved_in=saved_in, workers=self.workers)
            folder = self.folders[root] = Folder(
                root, index, proposals, Traces(self.store, root), ready, guessed, chains=chains
            )
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
        document = self.documents.get(uri)
        path = (document and document.location) or file_path(uri)
        if path.is_relative_to(self.scratch) or path.is_relative_to(self.pages):
            raise FileRefused(f"{path.name} is a document of Rolecall's own.", "Name a file of the workspace.")
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
        location = folder.root / path
        return next((document for document in self.documents.values() if document.location == location), None)

    def read_text(self, folder: Folder, path: str) -> str | None:
        """The text of *path* as the developer sees it, or ``None`` where there is none that can be read."""
        if (document := self.document_at(folder, path)) is not None:
            return document.text
        return read_text_or_none(Workspace(folder.root), path)


def kind_of_file(path: str) -> str:
    """What an editor may go by when it chooses of which files it tells a server."""
    name = PurePosixPath(path)
    return (name.suffix or name.name).casefold()


def is_short(document: Document) -> bool:
    """Whether reading its text is sooner done than handed to somebody else."""
    return len(document.text) < SHORT_CHARACTERS


def uri_of(root: Path, path: str) -> str:
    """The URI of *path* below *root*."""
    return (root / path).as_uri()


def read_client(capabilities: types.ClientCapabilities, encoding: Encoding, name: str = "") -> Client:
    """The abilities of an editor that announced *capabilities*, and the habits of one of that *name*."""
    window, workspace = capabilities.window, capabilities.workspace
    edit = workspace.workspace_edit if workspace else None
    operations = (edit.resource_operations if edit else None) or ()
    show_document = window.show_document if window else None
    code_action = capabilities.text_document.code_action if capabilities.text_document else None
    watched = workspace.did_change_watched_files if workspace else None
    lenses = workspace.code_lens if workspace else None
    is_emacs = name.casefold().startswith(("emacs", "eglot")) or (not name and _is_early_eglot(capabilities))
    ours = fields_of(fields_of(capabilities.experimental).get("rolecall"))
    return Client(
        encoding=encoding,
        progress=bool(window and window.work_done_progress),
        # A client that creates files handles document changes, even where it forgets to say so.
        document_changes=bool(edit and (edit.document_changes or operations)),
        create_files=types.ResourceOperationKind.Create in operations,
        delete_files=types.ResourceOperationKind.Delete in operations,
        rename_files=types.ResourceOperationKind.Rename in operations,
        show_document=bool(show_document and show_document.support),
        shows_content=bool(workspace and workspace.text_document_content),
        refreshes_lenses=bool(lenses and lenses.refresh_support),
        annotations=bool(edit and edit.change_annotation_support),
        # Helix asks for the command of an action and then carries out the one it had before: none.
        resolves=_resolves(capabilities) - ({"command"} if name == "helix" else set()),
        code_actions=bool(code_action and code_action.code_action_literal_support),
        watched_files=bool(watched and watched.dynamic_registration),
        ends_empty_files=name == "Neovim",
        extends_last_line=name == "Neovim",
        hides_crlf=is_emacs,
        tells_when_idle=is_emacs,
        pause_after_reply_s=0.05 if is_emacs else 0.0,
        rolecall=bool(ours),
        input=bool(ours.get("input")),
        models=bool(ours.get("models")),
        trusted=bool(ours.get("trusted")),
    )


def _resolves(capabilities: types.ClientCapabilities) -> frozenset[str]:
    """The properties of a code action that may come later; none where the editor would not keep what they come from."""
    actions = capabilities.text_document.code_action if capabilities.text_document else None
    if actions is None or not actions.data_support or actions.resolve_support is None:
        return frozenset()
    return frozenset(actions.resolve_support.properties)


def _is_early_eglot(capabilities: types.ClientCapabilities) -> bool:
    """Whether a client without a name is Eglot before Emacs 29, which gave none."""
    document = capabilities.text_document
    synchronization = document.synchronization if document else None
    return capabilities.general is None and bool(synchronization and synchronization.will_save_wait_until)
