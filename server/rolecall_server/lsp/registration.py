"""Which function answers which method and which command: the one place that knows all of them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from lsprotocol import types

from rolecall_server.errors import RolecallError
from rolecall_server.lsp.arguments import read_arguments
from rolecall_server.lsp.commands import decide, document, show, team, work
from rolecall_server.lsp.editor_model import DELTA_NOTIFICATION, take_delta
from rolecall_server.lsp.features import Feature
from rolecall_server.lsp.handlers import code_action as code_actions
from rolecall_server.lsp.handlers.code_action import code_action
from rolecall_server.lsp.handlers.code_action_resolve import code_action_resolve
from rolecall_server.lsp.handlers.code_lens import code_lens
from rolecall_server.lsp.handlers.definition import definition
from rolecall_server.lsp.handlers.did_change import did_change
from rolecall_server.lsp.handlers.did_change_configuration import did_change_configuration
from rolecall_server.lsp.handlers.did_change_watched_files import did_change_watched_files
from rolecall_server.lsp.handlers.did_change_workspace_folders import did_change_workspace_folders
from rolecall_server.lsp.handlers.did_close import did_close
from rolecall_server.lsp.handlers.did_open import did_open
from rolecall_server.lsp.handlers.did_save import did_save
from rolecall_server.lsp.handlers.document_symbol import document_symbol
from rolecall_server.lsp.handlers.hover import hover
from rolecall_server.lsp.handlers.incoming_calls import incoming_calls
from rolecall_server.lsp.handlers.initialize import initialize
from rolecall_server.lsp.handlers.initialized import initialized
from rolecall_server.lsp.handlers.messages import messages
from rolecall_server.lsp.handlers.outgoing_calls import outgoing_calls
from rolecall_server.lsp.handlers.prepare_call_hierarchy import prepare_call_hierarchy
from rolecall_server.lsp.handlers.prepare_rename import prepare_rename
from rolecall_server.lsp.handlers.prepare_type_hierarchy import prepare_type_hierarchy
from rolecall_server.lsp.handlers.progress_cancel import progress_cancel
from rolecall_server.lsp.handlers.references import references
from rolecall_server.lsp.handlers.rename import rename
from rolecall_server.lsp.handlers.shutdown import shutdown
from rolecall_server.lsp.handlers.status import STATUS_REQUEST, status
from rolecall_server.lsp.handlers.subtypes import subtypes
from rolecall_server.lsp.handlers.supertypes import supertypes
from rolecall_server.lsp.handlers.text_document_content import text_document_content
from rolecall_server.lsp.handlers.usage import rolecall_usage
from rolecall_server.lsp.handlers.workspace_symbol import workspace_symbol
from rolecall_server.lsp.page_problems import check_soon
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.team_runs import MESSAGES_REQUEST

Command = Callable[[RolecallServer, Mapping[str, Any]], dict[str, Any] | Awaitable[dict[str, Any]]]

COMMANDS: Mapping[str, Command] = {
    "rolecall.tests.generate": work.generate_tests,
    "rolecall.brief.implement": work.implement_brief,
    "rolecall.run.start": team.start,
    "rolecall.run.pause": team.pause,
    "rolecall.run.resume": team.resume,
    "rolecall.run.cancel": work.cancel,
    "rolecall.run.context": show.show_sent,
    "rolecall.proposal.show": show.show_proposal,
    "rolecall.document.show": document.show_document,
    "rolecall.hunk.accept": decide.accept_hunk,
    "rolecall.hunk.reject": decide.reject_hunk,
    "rolecall.file.accept": decide.accept_file,
    "rolecall.file.reject": decide.reject_file,
    "rolecall.proposal.accept": decide.accept_proposal,
    "rolecall.proposal.reject": decide.reject_proposal,
    "rolecall.all.accept": decide.accept_all,
    "rolecall.all.reject": decide.reject_all,
    "rolecall.hunk.edit": decide.edit_hunk,
    "rolecall.hunk.revise": work.revise_hunk,
    "rolecall.decision.undo": decide.undo_decision,
}

OPTIONAL_FEATURES = (
    Feature("navigation.definition", "text_document.definition", {types.TEXT_DOCUMENT_DEFINITION: definition}),
    Feature("navigation.references", "text_document.references", {types.TEXT_DOCUMENT_REFERENCES: references}),
    Feature(
        "navigation.document_symbol",
        "text_document.document_symbol",
        {types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: document_symbol},
        lambda selector: types.DocumentSymbolRegistrationOptions(selector, label="Rolecall"),
    ),
    Feature(
        "navigation.workspace_symbol",
        "workspace.symbol",
        {types.WORKSPACE_SYMBOL: workspace_symbol},
        lambda _: types.WorkspaceSymbolRegistrationOptions(),
    ),
    Feature(
        "navigation.call_hierarchy",
        "text_document.call_hierarchy",
        {
            types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: prepare_call_hierarchy,
            types.CALL_HIERARCHY_INCOMING_CALLS: incoming_calls,
            types.CALL_HIERARCHY_OUTGOING_CALLS: outgoing_calls,
        },
    ),
    Feature(
        "navigation.type_hierarchy",
        "text_document.type_hierarchy",
        {
            types.TEXT_DOCUMENT_PREPARE_TYPE_HIERARCHY: prepare_type_hierarchy,
            types.TYPE_HIERARCHY_SUPERTYPES: supertypes,
            types.TYPE_HIERARCHY_SUBTYPES: subtypes,
        },
    ),
    Feature(
        "review.hover",
        "text_document.hover",
        {types.TEXT_DOCUMENT_HOVER: hover},
        types.HoverRegistrationOptions,
        by_language=False,
        unasked=True,
    ),
    Feature(
        "review.lenses",
        "text_document.code_lens",
        {types.TEXT_DOCUMENT_CODE_LENS: code_lens},
        types.CodeLensRegistrationOptions,
        by_language=False,
        unasked=True,
    ),
)

_ABOUT_PAGES = (
    types.TEXT_DOCUMENT_DEFINITION,
    types.TEXT_DOCUMENT_REFERENCES,
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL,
    types.TEXT_DOCUMENT_HOVER,
)
PAGE_FEATURES = (
    *(feature for feature in OPTIONAL_FEATURES if feature.method in _ABOUT_PAGES),
    Feature(
        "",
        "text_document.rename",
        {types.TEXT_DOCUMENT_RENAME: rename, types.TEXT_DOCUMENT_PREPARE_RENAME: prepare_rename},
        lambda selector: types.RenameRegistrationOptions(selector, prepare_provider=True),
    ),
)


def register(server: RolecallServer) -> None:
    """Give *server* all its handlers and commands."""
    server.optional_features = OPTIONAL_FEATURES
    server.page_features = PAGE_FEATURES
    server.feature(types.INITIALIZE)(initialize)
    server.feature(types.INITIALIZED)(initialized)
    server.feature(types.SHUTDOWN)(shutdown)
    server.feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)(progress_cancel)
    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(did_open)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(did_change)
    server.feature(types.TEXT_DOCUMENT_DID_SAVE)(did_save)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(did_close)
    server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)(did_change_configuration)
    server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)(did_change_watched_files)
    server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)(did_change_workspace_folders)
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_actions.KINDS, resolve_provider=True))(
        code_action
    )
    server.feature(types.CODE_ACTION_RESOLVE)(code_action_resolve)
    server.feature(types.WORKSPACE_TEXT_DOCUMENT_CONTENT)(text_document_content)
    server.feature("rolecall/usage")(rolecall_usage)
    server.feature(DELTA_NOTIFICATION)(take_delta)
    server.feature(MESSAGES_REQUEST)(messages)
    server.feature(STATUS_REQUEST)(status)
    for name, command in COMMANDS.items():
        server.command(name)(_told(command))


def _told(command: Command) -> Callable[..., Awaitable[dict[str, Any]]]:
    """*command* with its errors shown to the developer, once, and named in the reply."""

    async def run(ls: RolecallServer, *arguments: Any) -> dict[str, Any]:
        try:
            result = command(ls, read_arguments(arguments))
            return await result if inspect.isawaitable(result) else result
        except RolecallError as error:
            ls.tell_error(error)
            return {"error": error.code, "message": str(error)}
        finally:
            check_soon(ls)

    return run
