"""`rolecall/activity`: what is at work and what waits, for a line in an editor's status bar."""

from __future__ import annotations

import asyncio
from typing import Any

from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Session
from rolecall_server.store import RunRow
from rolecall_server.store.usage import tokens_by_run

_STOPPED = ("paused", "interrupted")
_MAX_BRIEF = 80


async def activity(ls: RolecallServer, params: Any) -> dict[str, Any]:
    """Return how far the code graph is, the runs at work with their latest words, what waits, and runs that stopped
    before their end.
    """
    session = ls.session
    waiting = [reviewed for folder in session.folders.values() for reviewed in folder.proposals.values()]
    indexing = list(session.indexing.values())
    rows = [row for root in session.folders for row in session.store.runs(root)]
    used = await asyncio.to_thread(tokens_by_run, session.store) if session.runs else {}
    return {
        "index": {"read": sum(n for n, _ in indexing), "files": sum(n for _, n in indexing)} if indexing else None,
        "runs": [_run(session, row, used.get(row.id, 0)) for row in rows if row.id in session.runs],
        "waiting": {
            "proposals": len(waiting),
            "hunks": sum(len(reviewed.undecided) for reviewed in waiting),
        },
        "stopped": [
            {"runId": row.id, "state": row.state, "brief": _short(row.brief or row.path)}
            for row in _stopped(session, rows)
        ],
    }


def _run(session: Session, row: RunRow, tokens: int) -> dict[str, Any]:
    return {
        "runId": row.id,
        "role": row.role,
        "step": session.steps.get(row.id, ""),
        "startedAt": round(row.started_at_s),
        "tokens": tokens,
    }


def _stopped(session: Session, rows: list[RunRow]) -> list[RunRow]:
    """Return the last run where it stopped before its end, for that one is gone on with."""
    from rolecall_server.lsp.runs.running import may_be_meant

    last = next((row for row in reversed(rows) if may_be_meant(session, row)), None)
    return [last] if last is not None and last.state in _STOPPED else []


def _short(brief: str) -> str:
    line = " ".join(brief.split())
    return line if len(line) <= _MAX_BRIEF else f"{line[: _MAX_BRIEF - 1]}…"
