"""The other side of the protocol: an editor without a window, for `rolecall demo`.

It does what an editor does and nothing more: it starts the server as one would, keeps open documents and their
versions, applies edits to them, and saves only when told to.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from rolecall_server import __version__
from rolecall_server.lsp.runs.running import MESSAGE_NOTIFICATION, RUN_NOTIFICATION
from rolecall_server.lsp.server import ACTIVITY_NOTIFICATION
from rolecall_server.lsp.text.documents import OpenDocument, changed, file_path
from rolecall_server.lsp.text.positions import Encoding
from rolecall_server.lsp.untyped import fields_of

CAPABILITIES = types.ClientCapabilities(
    general=types.GeneralClientCapabilities(position_encodings=[Encoding.Utf16]),
    window=types.WindowClientCapabilities(
        work_done_progress=True, show_document=types.ShowDocumentClientCapabilities(support=True)
    ),
    workspace=types.WorkspaceClientCapabilities(
        apply_edit=True,
        workspace_edit=types.WorkspaceEditClientCapabilities(
            document_changes=True, resource_operations=[types.ResourceOperationKind.Create]
        ),
    ),
    experimental={"rolecall": {"input": False}},
)


class HeadlessEditor:
    """An editor that a program drives."""

    def __init__(self, on_message: Callable[[str], None], on_progress: Callable[[str], None]) -> None:
        self.documents: dict[str, OpenDocument] = {}
        self.diagnostics: dict[str, list[types.Diagnostic]] = {}
        self._runs: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
        self._edited = asyncio.Event()
        self._client = LanguageClient("rolecall-headless", __version__)
        self._listen(on_message, on_progress)

    async def start(self, root: Path, environ: Mapping[str, str], settings: Mapping[str, Any]) -> None:
        """Start the server on the folder *root* and say hello."""
        start = cast("Callable[..., Awaitable[None]]", self._client.start_io)  # pyright: ignore[reportUnknownMemberType]
        await start(sys.executable, "-I", "-m", "rolecall_server", cwd=root, env=dict(environ), start_new_session=True)
        folder = types.WorkspaceFolder(root.as_uri(), root.name)
        await self._client.initialize_async(
            types.InitializeParams(CAPABILITIES, workspace_folders=[folder], initialization_options=settings)
        )
        self._client.initialized(types.InitializedParams())

    async def stop(self) -> None:
        """Say goodbye, and wait until the server is gone."""
        await self._client.shutdown_async(None)
        self._client.exit(None)
        await self._client.stop()

    def open(self, path: Path) -> str:
        """Open a file; its URI."""
        uri = path.as_uri()
        text = path.read_bytes().decode("utf-8")
        self.documents[uri] = OpenDocument(uri, "python", 1, text)
        item = types.TextDocumentItem(uri, "python", 1, text)
        self._client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def save_all(self) -> None:
        """Write every open document to its file."""
        for document in self.documents.values():
            file_path(document.uri).write_bytes(document.text.encode("utf-8"))

    async def run(self, command: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Give a role something to do and wait for the end; the last `rolecall/run` notification of the run."""
        reply = await self.execute(command, arguments)
        run_id = reply.get("runId")
        if run_id is None:
            return reply
        return await self._end_of(run_id)

    async def execute(self, command: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Execute a command; its reply."""
        params = types.ExecuteCommandParams(command, [dict(arguments)])
        reply: Any = await self._client.workspace_execute_command_async(params)
        return reply or {}

    async def accept(self, arguments: Mapping[str, Any]) -> None:
        """Accept a hunk, and wait for the edit it brings."""
        self._edited.clear()
        await self.execute("rolecall.hunk.accept", arguments)
        await asyncio.wait_for(self._edited.wait(), 30)

    def _end_of(self, run_id: str) -> asyncio.Future[Mapping[str, Any]]:
        return self._runs.setdefault(run_id, asyncio.get_running_loop().create_future())

    def _listen(self, on_message: Callable[[str], None], on_progress: Callable[[str], None]) -> None:
        def show(params: types.ShowMessageParams) -> None:
            on_message(params.message)

        def progress(params: types.ProgressParams) -> None:
            if message := fields_of(params.value).get("message"):
                on_progress(str(message))

        handlers: dict[str, Callable[[Any], Any]] = {
            types.WINDOW_SHOW_MESSAGE: show,
            types.PROGRESS: progress,
            types.WINDOW_WORK_DONE_PROGRESS_CREATE: lambda params: None,
            types.WINDOW_SHOW_DOCUMENT: lambda params: types.ShowDocumentResult(success=True),
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: self._show_diagnostics,
            types.WORKSPACE_APPLY_EDIT: self._apply_edit,
            RUN_NOTIFICATION: self._follow_run,
            ACTIVITY_NOTIFICATION: lambda params: None,
            MESSAGE_NOTIFICATION: lambda params: None,
        }
        for method, handler in handlers.items():
            self._client.feature(method)(partial(handler))  # pygls marks what it registers, a method cannot be marked

    def _show_diagnostics(self, params: types.PublishDiagnosticsParams) -> None:
        self.diagnostics[params.uri] = list(params.diagnostics)

    def _follow_run(self, params: Any) -> None:
        told = fields_of(params)
        ended = self._end_of(str(told.get("runId")))
        if told.get("state") != "started" and not ended.done():
            ended.set_result({name: told.get(name) for name in ("runId", "state", "proposalId", "error")})

    def _apply_edit(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        result = self._apply(params.edit)
        self._edited.set()
        return result

    def _apply(self, edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
        for change in edit.document_changes or ():
            if isinstance(change, types.CreateFile):
                file_path(change.uri).parent.mkdir(parents=True, exist_ok=True)
                file_path(change.uri).touch()
            elif isinstance(change, types.TextDocumentEdit):
                document = self.documents.get(change.text_document.uri)
                if document is None:
                    self.open(file_path(change.text_document.uri))
                    document = self.documents[change.text_document.uri]
                elif change.text_document.version not in (None, document.version):
                    return types.ApplyWorkspaceEditResult(applied=False, failure_reason="the document has changed")
                self._edit(document, [each for each in change.edits if isinstance(each, types.TextEdit)])
        return types.ApplyWorkspaceEditResult(applied=True)

    def _edit(self, document: OpenDocument, edits: list[types.TextEdit]) -> None:
        """Apply *edits*, which count in the text as it is, from the last to the first, and tell the server."""
        edits.sort(key=lambda edit: (edit.range.start.line, edit.range.start.character), reverse=True)
        changes = [types.TextDocumentContentChangePartial(edit.range, edit.new_text) for edit in edits]
        edited = changed(document, document.version + 1, changes, Encoding.Utf16)
        self.documents[document.uri] = edited
        identifier = types.VersionedTextDocumentIdentifier(edited.version, document.uri)
        self._client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, changes))
