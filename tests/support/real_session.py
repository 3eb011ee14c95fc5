"""A server process and the traced editor in front of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.hunks import file_change, number_hunks
from rolecall_server.review.proposals.proposal import Proposal
from rolecall_server.review.proposals.proposal_store import save_proposal
from rolecall_server.store import Store
from rolecall_server.workspace import TextFile
from support.frames import FrameClient, connected
from support.patience import PATIENCE_S
from support.traced_editor import Habits, Message, TracedEditor


def impatient_server(answer_s: float, sync_s: float) -> Sequence[str]:
    """The command of a server that waits for the editor no longer than that."""
    patience = f"Patience(answer_s={answer_s}, sync_s={sync_s})"
    imports = "from rolecall_server.lsp.session import Patience; from rolecall_server.lsp.stdio import serve"
    return (sys.executable, "-I", "-c", f"{imports}; raise SystemExit(serve({patience}))")


class RealSession:
    """The process, and one editor at a time whose folder is open; those before it still get what is meant for them."""

    def __init__(self, client: FrameClient) -> None:
        self.client = client
        self.editor: TracedEditor | None = None
        self._earlier: list[TracedEditor] = []
        self._n_read = 0
        # Far from the ids that `FrameClient` counts from 1.
        self._ids = iter(range(1_000_000, 2_000_000))

    def send(self, message: Message) -> None:
        """Send *message*; a process that has ended hears nothing."""
        assert self.client.process.stdin is not None
        body = json.dumps(message).encode()
        with contextlib.suppress(OSError):
            self.client.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def ask(self, command: str, **arguments: object) -> int:
        """Give a command without waiting for the reply; the number the reply will have."""
        number = next(self._ids)
        params = {"command": command, "arguments": [arguments]}
        self.send({"jsonrpc": "2.0", "id": number, "method": "workspace/executeCommand", "params": params})
        return number

    def replied(self, number: int) -> bool:
        """Whether the reply of that number has come, and is no error."""
        reply = next((m for m in self.client.received if m.get("id") == number and "method" not in m), None)
        return reply is not None and "error" not in reply and "error" not in (reply["result"] or {})

    def hear(self) -> None:
        """Hand the editor what has come."""
        messages, self._n_read = self.client.received[self._n_read :], len(self.client.received)
        for message in messages:
            if "method" in message and (editor := self._meant(message)) is not None:
                editor.receive(message)

    def _meant(self, message: Message) -> TracedEditor | None:
        """The editor whose folder *message* is about; today's, where it is about none."""
        body = json.dumps(message)
        earlier = (editor for editor in self._earlier if f"{editor.root.as_uri()}/" in body)
        return next(earlier, self.editor)

    async def until(self, condition: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
        """Go on as an editor until *condition* holds."""
        end = asyncio.get_running_loop().time() + timeout_s
        self.hear()
        while not condition():
            assert asyncio.get_running_loop().time() < end, f"it did not happen in time; told: {self.told}"
            await asyncio.sleep(0.003)
            self.hear()

    async def rest(self, seconds: float) -> None:
        """Go on as an editor for a while."""
        end = asyncio.get_running_loop().time() + seconds
        await self.until(lambda: asyncio.get_running_loop().time() > end)

    @property
    def told(self) -> list[str]:
        """What the developer was told in this folder."""
        return self.editor.told if self.editor is not None else []

    def open_folder(self, editor: TracedEditor) -> None:
        """Have *editor*'s folder opened, in place of the one before."""
        removed = [_folder(self.editor.root)] if self.editor is not None else []
        self._earlier += [self.editor] if self.editor is not None else []
        self.editor = editor
        event = {"added": [_folder(editor.root)], "removed": removed}
        method = "workspace/didChangeWorkspaceFolders"
        self.send({"jsonrpc": "2.0", "method": method, "params": {"event": event}})

    def n_shown(self) -> int:
        """How many hunks the editor shows."""
        return sum(len(each) for each in self.editor.shown.values()) if self.editor is not None else 0


@contextlib.asynccontextmanager
async def real_session(
    root: Path, environ: Mapping[str, str], command: Sequence[str], habits: Habits
) -> AsyncIterator[RealSession]:
    """A session that has begun, without a folder."""
    async with connected(root, environ, command=command) as client:
        await client.initialize(capabilities=habits.capabilities())
        session = RealSession(client)
        try:
            yield session
        finally:
            session.editor = None


def propose(store: Store, root: Path, texts: Mapping[str, tuple[str | None, str]]) -> Proposal:
    """A stored proposal for the folder at *root*: by path, the text before and the text proposed."""
    changes = [
        file_change(path, TextFile(path, before) if before is not None else None, after)
        for path, (before, after) in texts.items()
    ]
    proposal_id = store.reserve_proposal(store.add_run(root, "engineer", "", ""))
    # What a proposal creates is shown on the file the command was given on.
    proposal = Proposal(
        proposal_id, "r1", "Engineer", "t", "", next(iter(texts)), number_hunks(changes), Evidence(ran=False)
    )
    save_proposal(store, proposal)
    return proposal


def _folder(root: Path) -> dict[str, Any]:
    return {"uri": root.as_uri(), "name": root.name}
