"""Work-done progress, where the client shows any."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from rolecall_server.lsp.server import RolecallServer, as_notice
from rolecall_server.lsp.session import Folder

_CREATE_TIMEOUT_S = 5.0
_LONG_SCAN_S = 1.0
"""A scan that takes less is over before anybody wonders."""


class Progress:
    """Work-done progress of one piece of work, which can be cancelled if it is that of a run."""

    def __init__(self, ls: RolecallServer, title: str, run_id: str = "") -> None:
        self._ls, self._title, self._run_id = ls, as_notice(title), run_id
        self._token = f"rolecall-{run_id or 'scan'}-{uuid.uuid4().hex[:8]}"
        self._shown = False
        self._ended = False

    async def begin(self, message: str | None = None) -> None:
        """Show it, if the client can, and with it how far it is."""
        message = None if message is None else as_notice(message)
        self._note(message or "")
        if not self._ls.session.client.progress:
            return
        creating = self._ls.protocol.send_request_async(
            types.WINDOW_WORK_DONE_PROGRESS_CREATE, types.WorkDoneProgressCreateParams(self._token)
        )
        try:
            await asyncio.wait_for(creating, _CREATE_TIMEOUT_S)
        except (TimeoutError, JsonRpcException):
            return  # a client that cannot after all: the work goes on without
        # The work may have come to its end while the editor was asked.
        if self._ended:
            return
        self._shown = True
        if self._run_id:
            self._ls.session.progress[self._token] = self._run_id
        self._send(types.WorkDoneProgressBegin(self._title, cancellable=bool(self._run_id), message=message))

    def report(self, message: str, fraction: float | None) -> None:
        """Say how far it is; *fraction* from 0 to 1, None if nobody knows."""
        message = as_notice(message)
        self._note(message)
        percentage = None if fraction is None else round(100 * fraction)
        self._send(types.WorkDoneProgressReport(message=message, percentage=percentage, cancellable=bool(self._run_id)))

    def end(self, message: str) -> None:
        """Say how it ended, and show it no longer."""
        self._ls.session.steps.pop(self._run_id, None)
        self._ls.activity_changed()
        self._send(types.WorkDoneProgressEnd(message=as_notice(message)))
        self._ls.session.progress.pop(self._token, None)
        self._shown = False
        self._ended = True

    def _note(self, message: str) -> None:
        """Keep the words for those who ask what is at work."""
        if self._run_id and not self._ended:
            self._ls.session.steps[self._run_id] = message
            self._ls.activity_changed()

    def _send(self, value: object) -> None:
        if self._shown:
            self._ls.progress(types.ProgressParams(self._token, value))


class ScanProgress:
    """Shows how far the first scans of folders are, if they take long."""

    def __init__(self, ls: RolecallServer) -> None:
        self._ls = ls
        self._begun_at_s: dict[Path, float] = {}
        self._shown: dict[Path, Progress] = {}

    def report(self, folder: Folder, n_done: int | None, n_files: int) -> None:
        """The scan of *folder* has read *n_done* of *n_files* files; None: it has ended."""
        self._note(folder.root, n_done, n_files)
        if n_done is None:
            self._begun_at_s.pop(folder.root, None)
            if (progress := self._shown.pop(folder.root, None)) is not None:
                progress.end("done")
            return
        now_s = asyncio.get_running_loop().time()
        begun_at_s = self._begun_at_s.setdefault(folder.root, now_s)
        message = f"{n_done:,} of {n_files:,} files"
        if (progress := self._shown.get(folder.root)) is not None:
            progress.report(message, n_done / n_files if n_files else None)
        elif now_s - begun_at_s > _LONG_SCAN_S:
            progress = self._shown[folder.root] = Progress(self._ls, f"Indexing {folder.root.name}")
            self._ls.later(progress.begin(message))

    def _note(self, root: Path, n_done: int | None, n_files: int) -> None:
        """Keep how far it is for those who ask."""
        if n_done is None:
            self._ls.session.indexing.pop(root, None)
        else:
            self._ls.session.indexing[root] = (n_done, n_files)
        self._ls.activity_changed()
