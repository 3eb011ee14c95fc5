"""The function that answers each method and each command: this is the one place that knows all of them.

They are named, and imported when they are first called or once the editor has the answer to `initialize`: together
they need most of this program, `initialize` little.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pkgutil import resolve_name
from typing import Any

from lsprotocol import types

from rolecall_server.errors import RolecallError, UserMustAct
from rolecall_server.lsp.client import Feature, Handler
from rolecall_server.lsp.server import RolecallServer

Command = Callable[[RolecallServer, Mapping[str, Any]], dict[str, Any] | Awaitable[dict[str, Any]]]


@cache
def named_function(name: str) -> Callable[..., Any]:
    """Return the function that *name* means below `rolecall_server.lsp`."""
    return resolve_name(f"rolecall_server.lsp.{name}")


def _prompt(function: str) -> Callable[[RolecallServer, Any], Any]:
    """Return what calls the *function* of that name, in the turn of the event loop in which it is called."""

    def answer(ls: RolecallServer, params: Any) -> Any:
        return named_function(function)(ls, params)

    return answer


def _waiting(function: str) -> Handler:
    """Return what awaits the *function* of that name."""

    async def answer(ls: RolecallServer, params: Any) -> Any:
        return await named_function(function)(ls, params)

    return answer


IN_TURN: Mapping[str, str] = {
    types.INITIALIZE: "handlers.lifecycle:initialize",
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL: "handlers.lifecycle:progress_cancel",
    types.TEXT_DOCUMENT_DID_OPEN: "handlers.text:did_open",
    types.TEXT_DOCUMENT_DID_CHANGE: "handlers.text:did_change",
    types.TEXT_DOCUMENT_DID_SAVE: "handlers.text:did_save",
    types.TEXT_DOCUMENT_DID_CLOSE: "handlers.text:did_close",
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: "handlers.workspace:did_change_configuration",
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: "handlers.workspace:did_change_watched_files",
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: "handlers.workspace:did_change_workspace_folders",
    types.WORKSPACE_TEXT_DOCUMENT_CONTENT: "handlers.review.text_document_content:text_document_content",
    "rolecall/messages": "handlers.team.messages:messages",
    "rolecall/model/delta": "runs.editor_model:take_delta",
    "rolecall/review": "handlers.review.review:review",
    "rolecall/review/save": "handlers.review.review_save:review_save",
    "rolecall/review/text": "handlers.review.review_text:review_text",
    "rolecall/tests": "handlers.review.tests:tests",
}
"""The functions that are done before the next message is looked at."""

AT_LEISURE: Mapping[str, str] = {
    types.INITIALIZED: "handlers.lifecycle:initialized",
    types.SHUTDOWN: "handlers.lifecycle:shutdown",
    types.TEXT_DOCUMENT_CODE_ACTION: "handlers.review.code_action:code_action",
    types.CODE_ACTION_RESOLVE: "handlers.review.code_action_resolve:code_action_resolve",
    "rolecall/activity": "handlers.team.activity:activity",
    "rolecall/graph": "handlers.graph:graph",
    "rolecall/model/choices": "handlers.team.model_choice:model_choices",
    "rolecall/model/key": "handlers.team.model_choice:model_key",
    "rolecall/model/test": "handlers.team.model_choice:model_test",
    "rolecall/propose": "handlers.review.propose:propose",
    "rolecall/run/list": "handlers.team.runs:run_list",
    "rolecall/run/tree": "handlers.team.runs:tree",
    "rolecall/status": "handlers.team.status:status",
    "rolecall/tests/run": "handlers.review.tests_run:tests_run",
    "rolecall/usage": "handlers.team.usage:rolecall_usage",
}
"""The functions that wait for something, while other messages are looked at."""

_OPTIONS: Mapping[str, object] = {
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(
        [types.CodeActionKind.QuickFix, types.CodeActionKind.Refactor], resolve_provider=True
    ),
}

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
    "rolecall.proposal.revise": "work:revise_proposal",
    "rolecall.decision.undo": "decide:undo_decision",
}
"""The function below `commands` for each command."""

BEGINNING_RUNS = (
    "rolecall.tests.generate",
    "rolecall.brief.implement",
    "rolecall.review",
    "rolecall.fix",
    "rolecall.run.start",
    "rolecall.run.resume",
    "rolecall.hunk.revise",
    "rolecall.proposal.revise",
)
"""The commands that run code of the workspace, or have it read by a model."""

OPTIONAL_FEATURES = (
    Feature(
        "navigation.definition",
        "text_document.definition",
        {types.TEXT_DOCUMENT_DEFINITION: _waiting("handlers.navigation:definition")},
    ),
    Feature(
        "navigation.references",
        "text_document.references",
        {types.TEXT_DOCUMENT_REFERENCES: _waiting("handlers.navigation:references")},
    ),
    Feature(
        "navigation.document_symbol",
        "text_document.document_symbol",
        {types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: _waiting("handlers.symbols:document_symbol")},
        lambda selector: types.DocumentSymbolRegistrationOptions(selector, label="Rolecall"),
    ),
    Feature(
        "navigation.workspace_symbol",
        "workspace.symbol",
        {types.WORKSPACE_SYMBOL: _waiting("handlers.symbols:workspace_symbol")},
        lambda _: types.WorkspaceSymbolRegistrationOptions(),
    ),
    Feature(
        "navigation.call_hierarchy",
        "text_document.call_hierarchy",
        {
            types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: _waiting("handlers.hierarchies:prepare_call_hierarchy"),
            types.CALL_HIERARCHY_INCOMING_CALLS: _waiting("handlers.hierarchies:incoming_calls"),
            types.CALL_HIERARCHY_OUTGOING_CALLS: _waiting("handlers.hierarchies:outgoing_calls"),
        },
    ),
    Feature(
        "navigation.type_hierarchy",
        "text_document.type_hierarchy",
        {
            types.TEXT_DOCUMENT_PREPARE_TYPE_HIERARCHY: _waiting("handlers.hierarchies:prepare_type_hierarchy"),
            types.TYPE_HIERARCHY_SUPERTYPES: _waiting("handlers.hierarchies:supertypes"),
            types.TYPE_HIERARCHY_SUBTYPES: _waiting("handlers.hierarchies:subtypes"),
        },
    ),
    Feature(
        "review.hover",
        "text_document.hover",
        {types.TEXT_DOCUMENT_HOVER: _waiting("handlers.review.hover:hover")},
        types.HoverRegistrationOptions,
        by_language=False,
        unasked=True,
    ),
    Feature(
        "review.lenses",
        "text_document.code_lens",
        {types.TEXT_DOCUMENT_CODE_LENS: _waiting("handlers.review.code_lens:code_lens")},
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
        {
            types.TEXT_DOCUMENT_RENAME: _waiting("handlers.team.rename:rename"),
            types.TEXT_DOCUMENT_PREPARE_RENAME: _waiting("handlers.team.prepare_rename:prepare_rename"),
        },
        lambda selector: types.RenameRegistrationOptions(selector, prepare_provider=True),
    ),
)


async def import_handlers() -> None:
    """Import what no session does without, a piece in each turn of the event loop, before a keystroke waits for it."""
    for function in IN_TURN.values():
        named_function(function)
        await asyncio.sleep(0)


def register(server: RolecallServer) -> None:
    """Give *server* all its handlers and commands."""
    server.optional_features = OPTIONAL_FEATURES
    server.page_features = PAGE_FEATURES
    for method, function in IN_TURN.items():
        server.feature(method, _OPTIONS.get(method))(_prompt(function))
    for method, function in AT_LEISURE.items():
        server.feature(method, _OPTIONS.get(method))(_waiting(function))
    for name, function in COMMANDS.items():
        server.command(name)(_told(function, needs_trust=name in BEGINNING_RUNS))


def _told(function: str, *, needs_trust: bool) -> Callable[..., Awaitable[dict[str, Any]]]:
    """Return the *function* of a command, with its errors shown to the developer, once, and named in the reply."""

    async def run(ls: RolecallServer, *arguments: Any) -> dict[str, Any]:
        try:
            if needs_trust and ls.session.client.restricted:
                raise UserMustAct("This workspace is not trusted.", "Trust it in your editor, then try again.")
            command: Command = named_function(f"commands.{function}")
            result = command(ls, named_function("arguments:read_arguments")(arguments))
            return await result if inspect.isawaitable(result) else result
        except RolecallError as error:
            ls.tell_error(error)
            return {"error": error.code, "message": str(error)}
        finally:
            named_function("pages.problems:check_soon")(ls)

    return run
