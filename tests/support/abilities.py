"""What a message of the server's asks of a client, beyond what every client can do, and whether the client said it can.

Source: the client capabilities named in the specification of each method and structure (LSP 3.18).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

REQUESTS = {
    "workspace/applyEdit": "workspace.applyEdit",
    "workspace/configuration": "workspace.configuration",
    "workspace/workspaceFolders": "workspace.workspaceFolders",
    "workspace/codeLens/refresh": "workspace.codeLens.refreshSupport",
    "workspace/diagnostic/refresh": "workspace.diagnostics.refreshSupport",
    "workspace/inlayHint/refresh": "workspace.inlayHint.refreshSupport",
    "workspace/semanticTokens/refresh": "workspace.semanticTokens.refreshSupport",
    "workspace/foldingRange/refresh": "workspace.foldingRange.refreshSupport",
    "workspace/textDocumentContent/refresh": "workspace.textDocumentContent",
    "window/workDoneProgress/create": "window.workDoneProgress",
    "window/showDocument": "window.showDocument.support",
    "rolecall/run": "experimental.rolecall",
    "rolecall/message": "experimental.rolecall",
    "rolecall/input": "experimental.rolecall.input",
}
"""The capability that each method needs; any other method of the server's is open to every client."""

REGISTERED_UNDER = {
    "textDocument/prepareCallHierarchy": "textDocument.callHierarchy",
    "textDocument/prepareTypeHierarchy": "textDocument.typeHierarchy",
}
"""Whose `dynamicRegistration` says that a method may be registered, where it is not named as the method is."""


def ability(capabilities: Mapping[str, Any], path: str) -> Any:
    """The capability at a dotted *path*; ``None`` where the client says nothing of it."""
    value: Any = capabilities
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def beyond(message: Mapping[str, Any], capabilities: Mapping[str, Any]) -> list[str]:
    """What *message* asks for that a client with *capabilities* did not say it can do."""
    method, params = message.get("method", ""), message.get("params") or {}
    asked = [REQUESTS[method]] if method in REQUESTS else []
    if method == "client/registerCapability":
        methods = [registration["method"] for registration in params["registrations"]]
        named = [REGISTERED_UNDER.get(each, each.replace("/", ".")) for each in methods]
        asked += [f"{each}.dynamicRegistration" for each in named]
    found = [path for path in asked if not ability(capabilities, path)]
    if method == "workspace/applyEdit":
        found += edit_beyond(params["edit"], capabilities)
    if method == "textDocument/publishDiagnostics":
        found += _diagnostics_beyond(params, ability(capabilities, "textDocument.publishDiagnostics") or {})
    return found


def edit_beyond(edit: Mapping[str, Any], capabilities: Mapping[str, Any]) -> list[str]:
    """What a `WorkspaceEdit` asks for that the client did not say it can do."""
    can = ability(capabilities, "workspace.workspaceEdit") or {}
    operations = can.get("resourceOperations") or []
    changes = edit.get("documentChanges") or []
    found: list[str] = []
    # The specification counts resource operations among document changes: who can do the one can do the other.
    if changes and not (can.get("documentChanges") or operations):
        found.append("documentChanges")
    kinds = [each["kind"] for each in changes if "kind" in each]
    found += [f"resourceOperations {kind}" for kind in kinds if kind not in operations]
    if edit.get("changeAnnotations") and not can.get("changeAnnotationSupport"):
        found.append("changeAnnotationSupport")
    if edit.get("changes") and changes:
        found.append("one form of edit at a time")
    return found


def actions_beyond(actions: Sequence[Mapping[str, Any]], capabilities: Mapping[str, Any]) -> Iterator[str]:
    """What code actions ask for that the client did not say it can do."""
    can = ability(capabilities, "textDocument.codeAction") or {}
    resolves = ability(can, "resolveSupport.properties") or []
    for action in actions:
        literal = not isinstance(action.get("command"), str)
        if literal and not can.get("codeActionLiteralSupport"):
            yield "codeActionLiteralSupport"
        if literal and "command" not in action and "edit" not in action and not {"command", "edit"} & {*resolves}:
            yield "resolveSupport"
        if action.get("data") is not None and not can.get("dataSupport"):
            yield "dataSupport"
        if action.get("disabled") and not can.get("disabledSupport"):
            yield "disabledSupport"


def _diagnostics_beyond(params: Mapping[str, Any], can: Mapping[str, Any]) -> Iterator[str]:
    if params.get("version") is not None and not can.get("versionSupport"):
        yield "versionSupport"
    for diagnostic in params["diagnostics"]:
        for field, needs in (
            ("relatedInformation", "relatedInformation"),
            ("codeDescription", "codeDescriptionSupport"),
            ("tags", "tagSupport"),
        ):
            if diagnostic.get(field) and not can.get(needs):
                yield needs
