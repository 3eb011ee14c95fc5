"""An editor for tests: pytest-lsp's client, which also applies edits, as an editor does, and never saves by itself."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from lsprotocol import types
from pytest_lsp import make_test_lsp_client

from support.patience import PATIENCE_S

Encoding = types.PositionEncodingKind

_ON_OFFER = types.DiagnosticSeverity.Information
_STALE = types.DiagnosticSeverity.Hint
_SERVER = (sys.executable, "-I", "-m", "rolecall_server")


def capabilities(
    *, encodings: Sequence[Encoding] = (Encoding.Utf16,), document_changes: bool = True, rolecall: bool = True
) -> types.ClientCapabilities:
    """What a capable editor announces."""
    operations = [types.ResourceOperationKind.Create, types.ResourceOperationKind.Rename] if document_changes else None
    return types.ClientCapabilities(
        general=types.GeneralClientCapabilities(position_encodings=list(encodings)),
        window=types.WindowClientCapabilities(work_done_progress=True),
        text_document=types.TextDocumentClientCapabilities(
            code_action=types.CodeActionClientCapabilities(
                code_action_literal_support=types.ClientCodeActionLiteralOptions(
                    code_action_kind=types.ClientCodeActionKindOptions(
                        [types.CodeActionKind.QuickFix, types.CodeActionKind.Refactor]
                    )
                )
            ),
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(data_support=True),
            hover=types.HoverClientCapabilities(),
            code_lens=types.CodeLensClientCapabilities(),
        ),
        workspace=types.WorkspaceClientCapabilities(
            apply_edit=True,
            execute_command=types.ExecuteCommandClientCapabilities(),
            workspace_edit=types.WorkspaceEditClientCapabilities(
                document_changes=document_changes, resource_operations=operations
            ),
        ),
        experimental={"rolecall": {"input": True}} if rolecall else None,
    )


def rich_capabilities() -> types.ClientCapabilities:
    """What an editor announces that shows documents, reads them from the server, draws lenses and resolves actions."""
    rich = capabilities(rolecall=False)
    assert rich.window
    assert rich.workspace
    assert rich.workspace.workspace_edit
    assert rich.text_document
    assert rich.text_document.code_action
    rich.experimental = {"rolecall": {"input": False}}
    rich.window.show_document = types.ShowDocumentClientCapabilities(support=True)
    rich.workspace.code_lens = types.CodeLensWorkspaceClientCapabilities(refresh_support=True)
    rich.workspace.text_document_content = types.TextDocumentContentClientCapabilities()
    rich.workspace.workspace_edit.change_annotation_support = types.ChangeAnnotationsSupportOptions()
    rich.text_document.code_action.data_support = True
    rich.text_document.code_action.resolve_support = types.ClientCodeActionResolveOptions(["command", "diagnostics"])
    return rich


@dataclass
class Buffer:
    """An open document as the editor holds it."""

    uri: str
    version: int
    text: str


class Editor:
    """A client with open buffers. `edits` holds every edit the server asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.client = make_test_lsp_client()
        self.buffers: dict[str, Buffer] = {}
        self.edits: list[types.WorkspaceEdit] = []
        self.ended_runs: dict[str, dict[str, Any]] = {}
        self.team_messages: list[dict[str, Any]] = []
        self.answer_to_edit: Callable[[types.WorkspaceEdit], types.ApplyWorkspaceEditResult] = self.apply
        self.answer_to_question: Callable[[str], str | None] = lambda question: None
        self.questions: list[str] = []
        self.registered: set[str] = set()
        self.lens_refreshes = 0
        self.content_refreshes: list[str] = []
        self.changed: list[str] = []
        """What the server said has changed: ``status``, ``activity``."""
        self.kept_questions: list[dict[str, Any]] = []
        self.answered: asyncio.Future[str] | None = None
        """The developer's answer to a kept question, whenever it comes."""
        self.brief: str | None = None
        self.initialized: types.InitializeResult | None = None
        self.encoding = Encoding.Utf16
        self.killed = False
        self._listen()

    async def start(
        self,
        environ: Mapping[str, str],
        settings: Mapping[str, Any] | None = None,
        client_capabilities: types.ClientCapabilities | None = None,
        *,
        command: Sequence[str] = _SERVER,
    ) -> None:
        """Start a server and initialize the session."""
        await self.client.start_io(*command, cwd=self.root, env=dict(environ))
        self.initialized = await self.client.initialize_session(
            types.InitializeParams(
                client_capabilities or capabilities(),
                workspace_folders=[types.WorkspaceFolder(self.root.as_uri(), self.root.name)],
                initialization_options=dict(settings or {}),
            )
        )
        self.encoding = Encoding(self.initialized.capabilities.position_encoding or Encoding.Utf16)

    @property
    def process(self) -> psutil.Process:
        """The server's process."""
        assert self.client._server is not None
        return psutil.Process(self.client._server.pid)

    @property
    def progress_token(self) -> types.ProgressToken:
        """The token of the latest progress the server began."""
        return list(self.client.progress_reports)[-1]

    @property
    def messages(self) -> list[str]:
        """What the server told the developer."""
        return [message.message for message in self.client.messages]

    def open(self, path: str, text: str | None = None) -> str:
        """Open a file; its URI."""
        uri = (self.root / path).as_uri()
        content = (self.root / path).read_bytes().decode("utf-8-sig") if text is None else text
        self.buffers[uri] = Buffer(uri, 1, content)
        item = types.TextDocumentItem(uri, "python", 1, content)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def close(self, path: str) -> None:
        """Close a file; what was not saved is gone."""
        uri = (self.root / path).as_uri()
        del self.buffers[uri]
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def save(self, path: str) -> None:
        """Write a buffer to its file."""
        (self.root / path).write_bytes(self.text(path).encode())

    def text(self, path: str) -> str:
        """The text of an open file."""
        return self.buffers[(self.root / path).as_uri()].text

    def type_at(self, path: str, before: str, typed: str) -> None:
        """Type some text before the first occurrence of *before*, as an incremental change."""
        buffer = self.buffers[(self.root / path).as_uri()]
        offset = buffer.text.index(before)
        place = self.position(buffer.text, offset)
        self._change(
            buffer,
            [(offset, offset, typed)],
            [types.TextDocumentContentChangePartial(types.Range(place, place), typed)],
        )

    def replace_text(self, path: str, text: str) -> None:
        """Replace a whole document, as clients with full sync do."""
        buffer = self.buffers[(self.root / path).as_uri()]
        self._change(buffer, [(0, len(buffer.text), text)], [types.TextDocumentContentChangeWholeDocument(text)])

    async def execute(self, command: str, **arguments: Any) -> Any:
        """Execute a command; its reply as plain values."""
        params = types.ExecuteCommandParams(command, [arguments])
        return await asyncio.wait_for(self.client.workspace_execute_command_async(params), PATIENCE_S)

    async def run(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Give a role something to do and wait for its end."""
        reply = await self.execute(command, **arguments)
        run_id = value_of(reply, "runId")
        assert run_id, reply
        await until(lambda: run_id in self.ended_runs)
        return self.ended_runs[run_id]

    async def actions(
        self, path: str, line: int = 0, where: types.Range | None = None, said: Sequence[types.Diagnostic] = ()
    ) -> dict[str, types.CodeAction]:
        """The code actions on a line, or on *where*, by title; *said* is what other tools say there."""
        place = types.Position(line, 0)
        params = types.CodeActionParams(
            types.TextDocumentIdentifier((self.root / path).as_uri()),
            where or types.Range(place, place),
            types.CodeActionContext(diagnostics=said),
        )
        found: Any = await self.client.text_document_code_action_async(params)
        return {action.title: _as_code_action(action) for action in found or ()}

    async def lenses(self, path: str) -> list[types.CodeLens]:
        """The code lenses of a file."""
        params = types.CodeLensParams(types.TextDocumentIdentifier((self.root / path).as_uri()))
        return list(await self.client.text_document_code_lens_async(params) or ())

    async def hover(self, path: str, line: int) -> str:
        """What the server says of a line; empty where it says nothing."""
        identifier = types.TextDocumentIdentifier((self.root / path).as_uri())
        found = await self.client.text_document_hover_async(types.HoverParams(identifier, types.Position(line, 0)))
        if found is None:
            return ""
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value

    async def choose(self, action: types.CodeAction) -> Any:
        """Carry out a code action."""
        assert action.command is not None
        assert action.command.arguments
        given: Any = action.command.arguments[0]
        return await self.execute(action.command.command, **given)

    def hunks(self, path: str) -> dict[str, types.Diagnostic]:
        """The hunks on offer on a file, by their code such as ``p1/h2``."""
        return {code: each for code, each in self._told_of(path).items() if each.severity == _ON_OFFER}

    def stale(self, path: str) -> dict[str, types.Diagnostic]:
        """The hunks of a file that can no longer be placed, by their code."""
        found = {code: each for code, each in self._told_of(path).items() if each.severity == _STALE}
        return {code.removesuffix(" stale"): each for code, each in found.items()}

    def findings(self, path: str) -> list[types.Diagnostic]:
        """What looks wrong in a file."""
        shown = self.client.diagnostics.get((self.root / path).as_uri(), ())
        return [each for each in shown if each.severity is types.DiagnosticSeverity.Warning]

    def _told_of(self, path: str) -> dict[str, types.Diagnostic]:
        shown = self.client.diagnostics.get((self.root / path).as_uri(), ())
        return {str(diagnostic.code): diagnostic for diagnostic in shown if diagnostic.source == "rolecall"}

    def position(self, text: str, offset: int) -> types.Position:
        """A position counted here, independently of the server's own arithmetic."""
        before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
        line = before.rpartition("\n")[2]
        size = {Encoding.Utf8: ("utf-8", 1), Encoding.Utf16: ("utf-16-le", 2), Encoding.Utf32: ("utf-32-le", 4)}[
            self.encoding
        ]
        return types.Position(before.count("\n"), len(line.encode(size[0])) // size[1])

    def offset(self, text: str, position: types.Position) -> int:
        """The inverse of `position`, by trying every place of the line."""
        for offset in range(len(text) + 1):
            # Between CR and LF is no place, though it counts as the beginning of the next line.
            if self.position(text, offset) == position and text[offset - 1 : offset + 1] != "\r\n":
                return offset
        raise AssertionError(f"{position} is no place in the text")

    async def stop(self) -> None:
        """End the session as an editor does."""
        if not self.killed:
            await self.client.shutdown_session()
        await self.client.stop()

    def kill(self) -> None:
        """End the server as a crash does."""
        self.killed = True
        self.process.kill()

    def _change(
        self,
        buffer: Buffer,
        edits: Sequence[tuple[int, int, str]],
        changes: Sequence[types.TextDocumentContentChangeEvent],
    ) -> None:
        for start, end, new_text in sorted(edits, reverse=True):
            buffer.text = buffer.text[:start] + new_text + buffer.text[end:]
        buffer.version += 1
        identifier = types.VersionedTextDocumentIdentifier(buffer.version, buffer.uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, list(changes)))

    def apply(self, edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
        """Make an edit the server asks for, as an editor does."""
        by_uri: dict[str, tuple[int | None, list[types.TextEdit]]] = {
            uri: (None, list(edits)) for uri, edits in (edit.changes or {}).items()
        }
        renames: list[types.RenameFile] = []
        for change in edit.document_changes or ():
            if isinstance(change, types.CreateFile):
                path = self._path(change.uri)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            elif isinstance(change, types.TextDocumentEdit):
                plain = (types.TextEdit, types.AnnotatedTextEdit)
                edits = [types.TextEdit(each.range, each.new_text) for each in change.edits if isinstance(each, plain)]
                by_uri[change.text_document.uri] = (change.text_document.version, edits)
            elif isinstance(change, types.RenameFile):
                renames.append(change)
        # All versions are compared before anything changes: an edit is made whole or not at all.
        for uri, (version, _) in by_uri.items():
            if version is not None and uri in self.buffers and version != self.buffers[uri].version:
                return types.ApplyWorkspaceEditResult(applied=False, failure_reason="the version is another")
        for uri, (_, edits) in by_uri.items():
            if uri not in self.buffers:
                path = self._path(uri)
                path.touch()
                self.open(path.relative_to(self.root).as_posix())
            buffer = self.buffers[uri]
            places = [
                (self.offset(buffer.text, each.range.start), self.offset(buffer.text, each.range.end), each.new_text)
                for each in edits
            ]
            ordered = sorted(edits, key=lambda each: (each.range.start.line, each.range.start.character), reverse=True)
            self._change(
                buffer, places, [types.TextDocumentContentChangePartial(each.range, each.new_text) for each in ordered]
            )
        for rename in renames:
            self.rename(rename.old_uri, rename.new_uri)
        return types.ApplyWorkspaceEditResult(applied=True)

    def rename(self, old_uri: str, new_uri: str) -> None:
        """Give a file another name, on the disk at once; what its buffer holds is as unsaved as before."""
        old, new = (self._path(uri).relative_to(self.root).as_posix() for uri in (old_uri, new_uri))
        text = self.text(old) if old_uri in self.buffers else None
        (self.root / old).rename(self.root / new)
        if text is not None:
            self.close(old)
            self.open(new, text)

    def _path(self, uri: str) -> Path:
        return Path(types_uri_to_path(uri))

    def _listen(self) -> None:
        client = self.client

        @client.feature(types.WORKSPACE_APPLY_EDIT)
        def apply_edit(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.edits.append(params.edit)
            return self.answer_to_edit(params.edit)

        @client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
        def choose(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
            self.questions.append(params.message)
            answer = self.answer_to_question(params.message)
            return next((action for action in params.actions or () if action.title == answer), None)

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def take_registrations(params: types.RegistrationParams) -> None:
            self.registered.update(each.method for each in params.registrations)

        @client.feature(types.WORKSPACE_CODE_LENS_REFRESH)
        def refresh_lenses(params: None) -> None:
            self.lens_refreshes += 1

        @client.feature(types.WORKSPACE_TEXT_DOCUMENT_CONTENT_REFRESH)
        def refresh_content(params: types.TextDocumentContentRefreshParams) -> None:
            self.content_refreshes.append(params.uri)

        self._listen_to_ours()

    def _listen_to_ours(self) -> None:
        client = self.client

        @client.feature("rolecall/run")
        def run(params: Any) -> None:
            if params.state != "started":
                self.ended_runs[params.runId] = params._asdict()

        @client.feature("rolecall/message")
        def note(params: Any) -> None:
            self.team_messages.append(params._asdict())

        @client.feature("rolecall/status/changed")
        def status_changed(params: Any) -> None:
            self.changed.append("status")

        @client.feature("rolecall/activity/changed")
        def activity_changed(params: Any) -> None:
            self.changed.append("activity")

        @client.feature("rolecall/question")
        async def keep(params: Any) -> dict[str, Any]:
            self.kept_questions.append(params._asdict())
            self.answered = asyncio.get_running_loop().create_future()
            return {"answer": await self.answered}

        @client.feature("rolecall/confirm")
        def confirm(params: Any) -> dict[str, Any]:
            self.questions.append(params.question)
            return {"answer": self.answer_to_question(params.question)}

        @client.feature("rolecall/input")
        def ask(params: Any) -> dict[str, Any]:
            return {"text": self.brief}


def _as_code_action(action: types.CodeAction | types.Command) -> types.CodeAction:
    """lsprotocol takes every code action with a command for a bare command, whose name is then the real one."""
    if isinstance(action, types.CodeAction):
        return action
    command = ast.literal_eval(action.command)
    return types.CodeAction(action.title, command=types.Command(**command))


def types_uri_to_path(uri: str) -> str:
    """The path of a ``file:`` URI."""
    from pygls.uris import to_fs_path

    path = to_fs_path(uri)
    assert path is not None
    return path


def value_of(reply: Any, name: str) -> Any:
    """A field of a reply, whichever way pygls presents an object it has no type for."""
    return reply.get(name) if isinstance(reply, dict) else getattr(reply, name, None)


async def until(condition: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    """Wait until *condition* holds."""
    end = asyncio.get_running_loop().time() + timeout_s
    while not condition():
        assert asyncio.get_running_loop().time() < end, "it did not happen in time"
        await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def editing(
    root: Path,
    environ: Mapping[str, str],
    settings: Mapping[str, Any] | None = None,
    client_capabilities: types.ClientCapabilities | None = None,
    *,
    command: Sequence[str] = _SERVER,
) -> AsyncIterator[Editor]:
    """An editor with its server, for as long as the context lasts."""
    editor = Editor(root)
    await editor.start(environ, settings, client_capabilities, command=command)
    try:
        yield editor
    finally:
        await editor.stop()
