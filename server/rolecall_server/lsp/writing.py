"""Free text from any editor: a document that the developer writes in, and whose save submits it.

The protocol has no input box. So a document of our own is opened, as git does for the message of a commit: what stands
above a line of scissors counts, what is below says what to do. Editors save by themselves too, in the midst of a
sentence, so the line below the scissors holds everything back until the developer deletes it. The document lies beside
the store, never in the workspace. An editor need not tell a server about a file of another folder, so the file itself
is looked at too.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from rolecall_server.errors import BriefMissing
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import RequestedText
from rolecall_server.lsp.untyped import fields_of
from rolecall_server.workspace import split_lines

INPUT_REQUEST = "rolecall/input"
SCISSORS = "# ---- 8< ---- Rolecall takes what is above this line ----"
HOLD = "# Delete this line when it is ready: while it stands, a save hands nothing over."
_LOOK_S = 0.3
_KEPT_S = 7 * 24 * 3600.0
_SUFFIX = re.compile(r"\.\w{1,12}")
_NUMBERS = itertools.count(1)


async def ask_in_box(ls: RolecallServer, prompt: str) -> str | None:
    """Ask the developer for a line in the editor's own input box, and return it.

    ``None`` where the editor has none, or failed to show it; empty where the developer typed nothing.
    """
    if not ls.session.client.input:
        return None
    try:
        answer = await ls.protocol.send_request_async(INPUT_REQUEST, {"prompt": prompt})
    except JsonRpcException:
        return None
    text = fields_of(answer).get("text")
    return text.strip() if isinstance(text, str) else ""


async def ask_brief(
    ls: RolecallServer, question: str, guidance: Sequence[str], start: Callable[[str], Awaitable[dict[str, Any]]]
) -> dict[str, Any]:
    """Ask the developer for a brief; return the reply of *start* to it, or the document in which it is to be written.

    Raises:
        BriefMissing: the developer was asked and said nothing.
    """
    typed = await ask_in_box(ls, question)
    if typed is None:

        async def submit(text: str) -> None:
            await start(text.strip())

        return {"document": ask_in_document(ls, "brief.md", guidance, submit)}
    if not typed:
        raise BriefMissing("No brief was given.", "Nothing was started.")
    return await start(typed)


def ask_in_document(
    ls: RolecallServer,
    name: str,
    guidance: Sequence[str],
    submit: Callable[[str], Awaitable[None]],
    *,
    offered: str = "",
    once: bool = True,
) -> str:
    """Open a document with *offered* in it, and have *submit* take what the developer saves there; its URI.

    A text that is held back, an empty one, and one that is as it was submits nothing. *once*: nothing is taken after
    the first answer.
    """
    offered = "".join(f"{line.rstrip(chr(10) + chr(13))}\n" for line in split_lines(offered))
    path = _scratch_file(ls, name, offered, guidance)
    ls.session.asked[path] = RequestedText(offered, submit, once, _stamp(path))
    _begin_watch(ls)
    if ls.session.client.show_document:
        ls.window_show_document(types.ShowDocumentParams(path.as_uri(), take_focus=True))
    else:
        ls.tell(f"write in {path}, delete the line below the scissors and save it.")
    return path.as_uri()


def look_at(ls: RolecallServer, path: Path) -> None:
    """Take what the developer saved in the document at *path*, if we asked for it."""
    asked = ls.session.asked.get(path)
    if asked is None:
        if path.parent == ls.session.scratch and path.suffix != ".diff":
            ls.tell(f"{path.name} was taken before, or belongs to an earlier session: run its command again.")
        return
    # The editor tells of a save, and the file is looked at too: one save counts once.
    asked.saved = _stamp(path)
    text = _handed_over(path)
    if text is None or not text.strip() or text == asked.offered:
        return
    asked.offered = text
    if asked.once:
        del ls.session.asked[path]
    ls.later(_submit(ls, path, asked, text))


async def _submit(ls: RolecallServer, path: Path, asked: RequestedText, text: str) -> None:
    """Hand over what was written; where that fails, saving it again tries again."""
    try:
        await asked.submit(text)
    except Exception:
        asked.offered = ""
        ls.session.asked[path] = asked
        _begin_watch(ls)
        raise


def suffix_of(path: str) -> str:
    """Return the ending of *path* where it is an ordinary one, so that an editor knows the language; else ``.txt``."""
    suffix = PurePosixPath(path).suffix
    return suffix if _SUFFIX.fullmatch(suffix) else ".txt"


def scratch_folder(ls: RolecallServer) -> Path:
    """Return the folder for documents of our own, after removing what was left in it long ago."""
    folder = ls.session.scratch
    folder.mkdir(mode=0o700, exist_ok=True)
    oldest_s = time.time() - _KEPT_S
    for path in folder.iterdir():
        if path not in ls.session.asked and path.is_file() and path.stat().st_mtime < oldest_s:
            path.unlink(missing_ok=True)
    return folder


def _scratch_file(ls: RolecallServer, name: str, offered: str, guidance: Sequence[str]) -> Path:
    stem, suffix = PurePosixPath(name).stem, PurePosixPath(name).suffix
    path = scratch_folder(ls) / f"{stem}-{time.time_ns() // 1_000_000}-{next(_NUMBERS)}{suffix}"
    below = "\n".join([SCISSORS, HOLD, *(f"# {line}".rstrip() for line in guidance)])
    path.write_text(f"{offered or chr(10)}{below}\n", encoding="utf-8", newline="")
    return path


def _begin_watch(ls: RolecallServer) -> None:
    if not ls.session.watching_asked:
        ls.session.watching_asked = True
        ls.later(_watch(ls))


async def _watch(ls: RolecallServer) -> None:
    """Look at the documents that were asked for, as long as there are any; one that is being written waits."""
    seen: dict[Path, tuple[int, int] | None] = {}
    while ls.session.asked:
        await asyncio.sleep(_LOOK_S)
        for path, asked in list(ls.session.asked.items()):
            stamp = _stamp(path)
            # Gone at two looks: at a single one an editor may just be replacing the file.
            if stamp is None and path in seen and seen[path] is None:
                del ls.session.asked[path]
            elif stamp is not None and stamp != asked.saved and stamp == seen.get(path):
                look_at(ls, path)
            seen[path] = stamp
    ls.session.watching_asked = False


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return the time when the file was written, and its size; ``None`` if there is no file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _handed_over(path: Path) -> str | None:
    """Return the developer's text, with line feeds; ``None`` while it is held back, and if it cannot be read.

    A document whose scissors are gone is held back too: it may be half a text, typed over all that was there.
    """
    try:
        # Some editors put a byte order mark before a text.
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    lines = [line.rstrip("\r\n") for line in split_lines(text)]
    cut = next((i for i, line in enumerate(lines) if line.startswith(SCISSORS[:12])), None)
    if cut is None or any(line.startswith(HOLD[:12]) for line in lines[cut:]):
        return None
    return "".join(f"{line}\n" for line in lines[:cut])
