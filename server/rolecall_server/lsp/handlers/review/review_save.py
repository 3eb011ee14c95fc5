"""`rolecall/review/save`: the right side of a file of a proposal, as somebody edited it."""

from __future__ import annotations

from typing import Any

from pygls.exceptions import JsonRpcInvalidParams

from rolecall_server.errors import RolecallError
from rolecall_server.lsp.handlers.review.review_text import find_in_folders, read_names
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.untyped import fields_of


def review_save(ls: RolecallServer, params: Any) -> dict[str, Any]:
    """Make of `text`, in place of the right side that was known by `version`, edits of the hunks it changes."""
    from rolecall_server.lsp.decisions.saving import save_right_side

    proposal_id, path = read_names(params)
    fields = fields_of(params)
    version, text = fields.get("version"), fields.get("text")
    if not isinstance(version, str) or not isinstance(text, str):
        raise JsonRpcInvalidParams("`version` is that of the side that was edited, `text` what it became.")
    try:
        folder, _ = find_in_folders(ls.session, proposal_id)
        return {
            "hunkIds": list(save_right_side(ls, folder, proposal_id, path, version=version, text=text)),
            "problem": "",
        }
    except RolecallError as error:
        return {"hunkIds": [], "problem": str(error)}
