"""The abilities of an editor, by what it announces, and the questions that it asks where it has one and is told to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lsprotocol import types

from rolecall_server.lsp.text.positions import Encoding
from rolecall_server.lsp.untyped import fields_of


@dataclass(frozen=True)
class Client:
    """The abilities of the editor that matter to Rolecall."""

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
    """The properties of a code action that it asks for only when they are needed."""
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
    review: bool = False
    """It draws hunks itself (`rolecall/review`): it gets no diagnostics, lenses or actions of them."""
    graph: bool = False
    """It draws the graph around a symbol, and has a command for it."""
    questions: bool = False
    """It keeps a question of a role until it is answered."""
    restricted: bool = False
    """The developer has not said that the workspace is to be trusted: nothing of it is run."""
    trusted: bool = False
    """It has asked the developer whether the workspace's code may run, and starts in no other."""


def read_client(capabilities: types.ClientCapabilities, encoding: Encoding, name: str = "") -> Client:
    """Return the abilities of an editor that announced *capabilities*, and the habits of one of that *name*."""
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
        graph=bool(ours.get("graph")),
        questions=bool(ours.get("questions")),
        review=bool(ours.get("review")),
        restricted=bool(ours.get("restricted")),
        trusted=bool(ours.get("trusted")),
    )


def _resolves(capabilities: types.ClientCapabilities) -> frozenset[str]:
    """Return the properties of a code action that may be sent later; none where the editor does not keep the data they
    are made from.
    """
    actions = capabilities.text_document.code_action if capabilities.text_document else None
    if actions is None or not actions.data_support or actions.resolve_support is None:
        return frozenset()
    return frozenset(actions.resolve_support.properties)


def _is_early_eglot(capabilities: types.ClientCapabilities) -> bool:
    """Return whether a client without a name is Eglot before Emacs 29, which gave none."""
    document = capabilities.text_document
    synchronization = document.synchronization if document else None
    return capabilities.general is None and bool(synchronization and synchronization.will_save_wait_until)


Handler = Callable[[Any, Any], Awaitable[Any]]
"""From the server and the parameters to the result."""
Selector = Sequence[types.TextDocumentFilterLanguage | types.TextDocumentFilterScheme | types.TextDocumentFilterPattern]


@dataclass(frozen=True)
class Feature:
    """Something that an editor asks only while it is turned on."""

    setting: str
    """The setting that turns it on, in the form ``navigation.references``; empty where nothing does, for code."""
    capability: str
    """Where a client's capabilities speak of it."""
    handlers: Mapping[str, Handler]
    """The function that answers each method. The editor is told of the first; the others carry it on."""
    options: Callable[[Selector], object] = types.TextDocumentRegistrationOptions
    """The options that are registered for some documents."""
    by_language: bool = True
    """`rolecall.navigation.languages` narrows it to some."""
    unasked: bool = False
    """It is on without anybody having turned it on; then only a client that knows the method is told."""

    @property
    def method(self) -> str:
        """The method that the editor is told of."""
        return next(iter(self.handlers))
