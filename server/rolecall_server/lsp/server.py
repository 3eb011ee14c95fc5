"""pygls' language server with Rolecall's protocol and session, and how it speaks to the developer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from rolecall_server import __version__
from rolecall_server.errors import RolecallError
from rolecall_server.lsp.client import Feature
from rolecall_server.lsp.protocol import RolecallProtocol, make_converter
from rolecall_server.lsp.session import Session
from rolecall_server.review.proposals.rendering import visible

ACTIVITY_NOTIFICATION = "rolecall/activity/changed"
_SOON_S = 0.25
"""The time for which changes are gathered: a scan tells of every file."""

logger = logging.getLogger(__name__)


def as_notice(text: str) -> str:
    """Return *text* for a notice or progress: no link, which VS Code would carry out where it names a command."""
    return visible(text).replace("](", "] (")


class RolecallServer(LanguageServer):
    """A language server with Rolecall's session."""

    def __init__(self, session: Session) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            "rolecall",
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
            protocol_cls=RolecallProtocol,
            converter_factory=make_converter,
            max_workers=2,  # each thread that computes delays the event loop by a turn of the interpreter
        )
        self.session = session
        self.once_answered: Callable[[], Coroutine[Any, Any, None]] | None = None
        """Work that begins when the editor has the answer to `initialize`."""
        self.optional_features: Sequence[Feature] = ()
        """The features that are asked for only while a setting turns them on."""
        self.page_features: Sequence[Feature] = ()
        """The features for documents of the team."""
        self.registrations: dict[str, types.Registration] = {}
        """The requests that the editor was told to send, by method."""
        self.registering = asyncio.Lock()
        self._activity_told: asyncio.TimerHandle | None = None
        self._activity_moved = False

    @property
    def rolecall_protocol(self) -> RolecallProtocol:
        """The protocol, as what it is."""
        assert isinstance(self.protocol, RolecallProtocol)
        return self.protocol

    def tell(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Show a message to the developer."""
        self.window_show_message(types.ShowMessageParams(kind, as_notice(f"Rolecall: {message}")))

    def tell_error(self, error: BaseException) -> None:
        """Show what went wrong and what to do next; the log keeps the rest of what was not foreseen."""
        if isinstance(error, RolecallError):
            self.tell(str(error), types.MessageType.Error)
            return
        logger.error("An unforeseen error", exc_info=error)
        self.tell(f"{type(error).__name__}: this is a bug. The server's log has the details.", types.MessageType.Error)

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Do *work* after the reply to the command at hand; an error is told, not lost."""
        task = asyncio.get_running_loop().create_task(self._guarded(work))
        self.session.background.add(task)
        task.add_done_callback(self.session.background.discard)
        task.add_done_callback(lambda _: work.close())  # Python complains of what never began

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        await asyncio.sleep(self.session.client.pause_after_reply_s)  # even of 0: the reply goes first
        try:
            await work
        except Exception as error:  # noqa: BLE001 - the boundary of background work: whatever it was, it is told
            self.tell_error(error)

    def notify_client(self, method: str, params: dict[str, object]) -> None:
        """Send one of our own notifications, to a client that announced it knows them."""
        if self.session.client.rolecall:
            self.protocol.notify(method, params)

    def activity_changed(self) -> None:
        """Tell a client of ours, at once and then once in a while, that what is at work or waits is something else."""
        if not self.session.client.rolecall:
            return
        if self._activity_told is not None:
            self._activity_moved = True
            return
        self.notify_client(ACTIVITY_NOTIFICATION, {})
        self._activity_told = asyncio.get_running_loop().call_later(_SOON_S, self._tell_again)

    def _tell_again(self) -> None:
        self._activity_told, moved = None, self._activity_moved
        self._activity_moved = False
        if moved:
            self.activity_changed()

    def report_server_error(self, error: Exception, source: object) -> None:
        """Log what pygls would show: a malformed message is nothing the developer can act on."""
        logger.error("%s", error)
