"""The function that answers each method and each command: this is the one place that knows all of them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from pkgutil import resolve_name
from typing import Any

from lsprotocol import types

from rolecall_server.errors import RolecallError, UserMustAct
from rolecall_server.lsp.arguments import read_arguments
from rolecall_server.lsp.client import Feature
from rolecall_server.lsp.handlers.graph import GRAPH_REQUEST, graph
from rolecall_server.lsp.handlers.hierarchies import (
    incoming_calls,
    outgoing_calls,
    prepare_call_hierarchy,
    prepare_type_hierarchy,
    subtypes,
    supertypes,
)
from rolecall_server.lsp.handlers.lifecycle import initialize, initialized, progress_cancel, shutdown
from rolecall_server.lsp.handlers.navigation import definition, references
from rolecall_server.lsp.handlers.review import code_action as code_actions
from rolecall_server.lsp.handlers.review.code_action import code_action
from rolecall_server.lsp.handlers.review.code_action_resolve import code_action_resolve
from rolecall_server.lsp.handlers.review.code_lens import code_lens
from rolecall_server.lsp.handlers.review.hover import hover
from rolecall_server.lsp.handlers.review.propose import PROPOSE_REQUEST, propose
from rolecall_server.lsp.handlers.review.review import REVIEW_REQUEST, review
from rolecall_server.lsp.handlers.review.review_save import SAVE_REQUEST, review_save
from rolecall_server.lsp.handlers.review.review_text import TEXT_REQUEST, review_text
from rolecall_server.lsp.handlers.review.tests import TESTS_REQUEST, tests
from rolecall_server.lsp.handlers.review.tests_run import RUN_TESTS_REQUEST, tests_run
from rolecall_server.lsp.handlers.review.text_document_content import text_document_content
from rolecall_server.lsp.handlers.symbols import document_symbol, workspace_symbol
from rolecall_server.lsp.handlers.team.activity import ACTIVITY_REQUEST, activity
from rolecall_server.lsp.handlers.team.messages import MESSAGES_REQUEST, messages
from rolecall_server.lsp.handlers.team.model_choice import (
    CHOICES_REQUEST,
    KEY_REQUEST,
    TEST_REQUEST,
    model_choices,
    model_key,
    model_test,
)
from rolecall_server.lsp.handlers.team.prepare_rename import prepare_rename
from rolecall_server.lsp.handlers.team.rename import rename
from rolecall_server.lsp.handlers.team.runs import RUNS_REQUEST, TREE_REQUEST, run_list, tree
from rolecall_server.lsp.handlers.team.status import STATUS_REQUEST, status
from rolecall_server.lsp.handlers.team.usage import rolecall_usage
from rolecall_server.lsp.handlers.text import did_change, did_close, did_open, did_save
from rolecall_server.lsp.handlers.workspace import (
    did_change_configuration,
    did_change_watched_files,
    did_change_workspace_folders,
)
from rolecall_server.lsp.pages.problems import check_soon
from rolecall_server.lsp.runs.editor_model import DELTA_NOTIFICATION, take_delta
from rolecall_server.lsp.server import RolecallServer

Command = Callable[[RolecallServer, Mapping[str, Any]], dict[str, Any] | Awaitable[dict[str, Any]]]

COMMANDS: Mapping[str, str] = {
    "rolecall.tests.generate": "work:generate_tests",
    "rolecall.brief.implement": "work:implement_brief",
    "rolecall.review": "review_code:review_code",
    "rolecall.fix": "work:fix_failure",
    "rolecall.run.start": "team:start",
    "rolecall.run.pause": "team:pause",
    "rolecall.run.resume": "team:resume",
    "rolecall.run.cancel": "work:cancel",
    "rolecall.run.context": "show:show_sent",
    "rolecall.proposal.show": "show:show_proposal",
    "rolecall.document.show": "document:show_document",
    "rolecall.hunk.accept": "decide:accept_hunk",
    "rolecall.hunk.reject": "decide:reject_hunk",
    "rolecall.file.accept": "decide:accept_file",
    "rolecall.file.reject": "decide:reject_file",
    "rolecall.proposal.accept": "decide:accept_proposal",
    "rolecall.proposal.reject": "decide:reject_proposal",
    "rolecall.all.accept": "decide:accept_all",
    "rolecall.all.reject": "decide:reject_all",
    "rolecall.hunk.edit": "decide:edit_hunk",
    "rolecall.hunk.revise": "work:revise_hunk",
    "rolecall.decision.undo": "decide:undo_decision",
}
"""The function below `commands` for each command. It is imported when first called: a run needs half of all modules."""

BEGINNING_RUNS = (
    "rolecall.tests.generate",
    "rolecall.brief.implement",
    "rolecall.review",
    "rolecall.fix",
    "rolecall.run.start",
    "rolecall.run.resume",
    "rolecall.hunk.revise",
)
"""The commands that run code of the workspace, or have it read by a model."""

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
    server.feature(RUNS_REQUEST)(run_list)
    server.feature(TREE_REQUEST)(tree)
    server.feature(STATUS_REQUEST)(status)
    server.feature(ACTIVITY_REQUEST)(activity)
    server.feature(CHOICES_REQUEST)(model_choices)
    server.feature(KEY_REQUEST)(model_key)
    server.feature(TEST_REQUEST)(model_test)
    server.feature(GRAPH_REQUEST)(graph)
    server.feature(REVIEW_REQUEST)(review)
    server.feature(TEXT_REQUEST)(review_text)
    server.feature(SAVE_REQUEST)(review_save)
    server.feature(PROPOSE_REQUEST)(propose)
    server.feature(TESTS_REQUEST)(tests)
    server.feature(RUN_TESTS_REQUEST)(tests_run)
    for name, function in COMMANDS.items():
        server.command(name)(_told(function, needs_trust=name in BEGINNING_RUNS))


def _told(function: str, *, needs_trust: bool) -> Callable[..., Awaitable[dict[str, Any]]]:
    """Return the *function* of a command, with its errors shown to the developer, once, and named in the reply."""

    async def run(ls: RolecallServer, *arguments: Any) -> dict[str, Any]:
        try:
            if needs_trust and ls.session.client.restricted:
                raise UserMustAct("This workspace is not trusted.", "Trust it in your editor, then try again.")
            command: Command = resolve_name(f"rolecall_server.lsp.commands.{function}")
            result = command(ls, read_arguments(arguments))
            return await result if inspect.isawaitable(result) else result
        except RolecallError as error:
            ls.tell_error(error)
            return {"error": error.code, "message": str(error)}
        finally:
            check_soon(ls)

    return run
