"""`rolecall/review`: what waits to be decided, for an editor that draws it itself."""

from __future__ import annotations

from typing import Any

from rolecall_server.lsp.server import RolecallServer


def review(ls: RolecallServer, params: Any) -> dict[str, Any]:
    """Return the proposals with something undecided, the newest first, and what an undo would take back."""
    from rolecall_server.lsp.decisions.overview import review_of

    return review_of(ls.session)
