"""An editor whose buffers are traced texts, with the habits that editors differ in.

It speaks messages as plain values and counts positions by encoding the line, so it shares no arithmetic with the
server. Whoever drives it gives it a way to send, and hands it what the server sent.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from support.traced import Traced, content, fresh, line_spans

Message = dict[str, Any]
BOM = "\ufeff"

UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@dataclass(frozen=True)
class Habits:
    """What editors do each in their own way."""

    encoding: str = "utf-16"
    document_changes: bool = True
    whole_texts: bool = False
    """It tells of every change by sending the whole text."""
    shows_bom: bool = False
    """It hands the byte order mark over as part of the text."""
    opens_files: bool = True
    """What it edits it opens; another writes a file that is not open to the disk at once."""
    answers_first: bool = False
    """It says that an edit was made before it tells what the edit changed."""
    own_endings: bool = False
    """What comes in gets the ending that most lines of the buffer have."""

    def capabilities(self) -> Message:
        """What it announces."""
        operations = ["create", "rename", "delete"] if self.document_changes else []
        edit = {"documentChanges": self.document_changes, "resourceOperations": operations}
        return {
            "general": {"positionEncodings": [self.encoding]},
            "workspace": {"applyEdit": True, "workspaceEdit": edit},
        }


@dataclass
class Buffer:
    """An open document."""

    version: int
    now: Traced
    undone: list[Traced] = field(default_factory=list[Traced])
    """Earlier texts, the latest last."""
    redone: list[Traced] = field(default_factory=list[Traced])


@dataclass(frozen=True)
class Landed:
    """One file of an edit of the server's, as it came out."""

    path: str
    before: Traced | None
    """``None`` where there was no file."""
    after: Traced | None
    removed: tuple[Traced, ...] = ()
    """What each edit took out, in the order of the text."""
    inserted: tuple[Traced, ...] = ()


class TracedEditor:
    """Buffers and files below *root*; `landed` holds what the server's edits did."""

    def __init__(self, root: Path, send: Callable[[Message], None], habits: Habits | None = None) -> None:
        self.root = root
        self.send = send
        self.habits = habits or Habits()
        self.buffers: dict[str, Buffer] = {}
        self.files: dict[str, Traced] = {}
        """The files on disk, without a byte order mark."""
        self.marked: set[str] = set()
        """Those that begin with one on disk."""
        self.landed: list[Landed] = []
        self.told: list[str] = []
        self.asked: list[Message] = []
        self.choice = ""
        """The answer it gives where it is asked for one."""
        self.on_apply: Callable[[Message], None] = self.apply
        self.shown: dict[str, list[Message]] = {}
        self._after: list[Message] = []
        self._answering = False

    # What the developer does.

    def visible(self, path: str) -> Traced | None:
        """The text of *path* as the developer sees it, ``None`` where there is none."""
        return self.buffers[path].now if path in self.buffers else self.files.get(path)

    def open(self, path: str) -> None:
        """Open *path*, which may be new."""
        mark = fresh(BOM) if self.habits.shows_bom and path in self.marked else fresh("")
        text = self.files.get(path, fresh(""))
        now = text.spliced(0, 0, mark)
        self.buffers[path] = Buffer(1, now)
        item = {"uri": self.uri(path), "languageId": "plaintext", "version": 1, "text": now.text}
        self._notify("textDocument/didOpen", {"textDocument": item})

    def close(self, path: str) -> None:
        """Close *path*; what was not saved is gone."""
        del self.buffers[path]
        self._notify("textDocument/didClose", {"textDocument": {"uri": self.uri(path)}})

    def save(self, path: str, tidy: Callable[[Traced], Traced] | None = None) -> None:
        """Save *path*, formatted by *tidy*."""
        buffer = self.buffers[path]
        if tidy is not None and (formatted := tidy(buffer.now)) != buffer.now:
            self.change(path, formatted)
        text = buffer.now
        self.marked -= {path} if self.habits.shows_bom else set()
        self.write(path, text)
        self._notify("textDocument/didSave", {"textDocument": {"uri": self.uri(path)}})

    def edit(self, path: str, start: int, end: int, text: str) -> None:
        """Type *text* over what lies between *start* and *end*."""
        buffer = self.buffers[path]
        old = buffer.now
        buffer.undone.append(old)
        buffer.redone.clear()
        buffer.now = old.spliced(start, end, fresh(text))
        if self.habits.whole_texts:
            self._tell_change(path, [{"text": buffer.now.text}])
        else:
            self._tell_change(path, [{"range": self.range(old.text, start, end), "text": text}])

    def change(self, path: str, now: Traced, *, keeps_history: bool = True) -> None:
        """Replace the text of *path*, told as a whole."""
        buffer = self.buffers[path]
        if keeps_history:
            buffer.undone.append(buffer.now)
            buffer.redone.clear()
        buffer.now = now
        self._tell_change(path, [{"text": now.text}])

    def undo(self, path: str) -> bool:
        """Take the last change of *path* back, the server's too; whether there was one."""
        return self._step(path, self.buffers[path].undone, self.buffers[path].redone)

    def redo(self, path: str) -> bool:
        """Make again what was taken back."""
        return self._step(path, self.buffers[path].redone, self.buffers[path].undone)

    def _step(self, path: str, source: list[Traced], target: list[Traced]) -> bool:
        if not source:
            return False
        target.append(self.buffers[path].now)
        self.change(path, source.pop(), keeps_history=False)
        return True

    # What happens on the disk.

    def write(self, path: str, text: Traced | None, *, watched: bool = True) -> None:
        """Put *text* on the disk, or remove the file."""
        location = self.root / path
        if text is None:
            self.files.pop(path, None)
            self.marked.discard(path)
            location.unlink(missing_ok=True)
        else:
            self.marked |= {path} if text.text.startswith(BOM) else set()
            self.files[path] = text = self.unmarked(text)
            location.parent.mkdir(parents=True, exist_ok=True)
            beside = location.with_name(location.name + "~")
            beside.write_bytes(((BOM if path in self.marked else "") + text.text).encode())
            # In one step, because the server may read the file at any moment.
            beside.replace(location)
        if watched:
            kind = 3 if text is None else 2
            self._notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": self.uri(path), "type": kind}]})

    def write_elsewhere(self, path: str, text: Traced | None) -> None:
        """Another program writes *path*: a buffer without changes of its own follows it, as editors do."""
        buffer = self.buffers.get(path)
        clean = buffer is not None and self.unmarked(buffer.now).text == self.files.get(path, fresh("")).text
        self.write(path, text)
        if clean and text is not None and buffer is not None:
            mark = buffer.now.piece(0, len(buffer.now) - len(self.unmarked(buffer.now)))
            self.change(path, text.spliced(0, 0, mark))

    # What the server sends.

    def receive(self, message: Message) -> None:
        """Take one message of the server's."""
        method, params = message.get("method"), message.get("params") or {}
        if method == "workspace/applyEdit":
            self.asked.append(message)
            self.on_apply(message)
        elif method == "window/showMessageRequest":
            self.told.append(params["message"])
            chosen = next((action for action in params["actions"] if action["title"] == self.choice), None)
            self.reply(message, chosen)
        elif method == "rolecall/confirm":
            self.told.append(params["question"])
            self.reply(message, {"answer": self.choice if self.choice in params["answers"] else None})
        elif method == "window/showMessage":
            self.told.append(params["message"])
        elif method == "textDocument/publishDiagnostics":
            self.shown[self.path(params["uri"])] = params["diagnostics"]
        elif method and "id" in message:
            self.reply(message, None)

    def reply(self, message: Message, result: object) -> None:
        """Answer a request of the server's."""
        self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def apply(self, message: Message) -> None:
        """Make the whole edit and say so; refuse it where it is meant for another version of a text."""
        if any(self._is_outdated(change) for change in _per_file(message["params"]["edit"])):
            self.reply(message, {"applied": False, "failureReason": "the text is another by now"})
            return
        self.apply_some(message, None, {"applied": True})

    def apply_some(self, message: Message, n_files: int | None, answer: object) -> None:
        """Make the edit of the first *n_files* files, or of all, then answer; nothing, where the answer is ``...``."""
        self._answering = self.habits.answers_first
        try:
            for change in _per_file(message["params"]["edit"])[:n_files]:
                self._carry_out(change)
        finally:
            self._answering = False
        if answer is not ...:
            self.reply(message, answer)
        held, self._after = self._after, []
        for each in held:
            self.send(each)

    def _is_outdated(self, change: Message) -> bool:
        document = change.get("textDocument") or {}
        version = document.get("version")
        return version is not None and self.buffers[self.path(document["uri"])].version != version

    def _carry_out(self, change: Message) -> None:
        match change:
            case {"kind": "create", "uri": uri}:
                if self.visible(path := self.path(uri)) is None:
                    self.write(path, fresh(""))
                    self.landed.append(Landed(path, None, fresh("")))
            case {"kind": "delete", "uri": uri}:
                path = self.path(uri)
                before = self.visible(path)
                if path in self.buffers:
                    self.close(path)
                self.write(path, None)
                self.landed.append(Landed(path, before, None))
            case {"kind": "rename", "oldUri": old, "newUri": new}:
                self._rename(self.path(old), self.path(new))
            case {"textDocument": document, "edits": edits}:
                self._edit_file(self.path(document["uri"]), edits)

    def _rename(self, old: str, new: str) -> None:
        text, buffer = self.files.get(old), self.buffers.get(old)
        self.landed.append(Landed(old, self.visible(old), None))
        if old in self.marked:
            self.marked.add(new)
        self.write(new, text)
        if buffer is not None:
            self.close(old)
        self.write(old, None)
        if buffer is not None:
            self.open(new)
            self.change(new, buffer.now)

    def _edit_file(self, path: str, edits: Sequence[Message]) -> None:
        was_open = path in self.buffers
        if not was_open and self.habits.opens_files:
            self.open(path)
        before = self.visible(path)
        text = before or fresh("")
        shown = text.text.startswith(BOM) and not was_open  # nobody can count a mark that was not shown yet
        places = [(*self._span(text.text, each["range"], after_mark=shown), each) for each in edits]
        places.sort(key=lambda place: place[:2])
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(places)), "edits overlap"
        removed = tuple(text.piece(start, end) for start, end, _ in places)
        inserted = tuple(fresh(self._in_own_ending(text.text, each["newText"])) for _, _, each in places)
        result = text
        for (start, end, _), piece in reversed(list(zip(places, inserted, strict=True))):
            result = result.spliced(start, end, piece)
        self.landed.append(Landed(path, before, result, removed, inserted))
        if path in self.buffers:
            told = [
                {"range": self.range(text.text, start, end), "text": each["newText"]}
                for start, end, each in reversed(places)
            ]
            self._take_edit(path, result, told)
        else:
            self.write(path, result)

    def _take_edit(self, path: str, result: Traced, changes: Sequence[Message]) -> None:
        """Put the server's edit into a buffer, told as incremental changes from the last place to the first."""
        buffer = self.buffers[path]
        if self.habits.whole_texts or self.habits.own_endings:
            self.change(path, result)
            return
        buffer.undone.append(buffer.now)
        buffer.redone.clear()
        buffer.now = result
        self._tell_change(path, changes)

    def _in_own_ending(self, text: str, new: str) -> str:
        endings = [text[start:end][len(content(text[start:end])) :] for start, end in line_spans(text)]
        if not self.habits.own_endings or not any(endings):
            return new
        own = max(("\n", "\r\n", "\r"), key=endings.count)
        return new.replace("\r\n", "\n").replace("\r", "\n").replace("\n", own)

    # Addresses and places.

    def uri(self, path: str) -> str:
        """The address of *path*."""
        return "file://" + quote(f"{self.root}/{path}")

    def path(self, uri: str) -> str:
        """The path an address of the server's names."""
        return unquote(uri).removeprefix(f"file://{self.root}/")

    def range(self, text: str, start: int, end: int) -> Message:
        """The places of two offsets, as the protocol counts them."""
        return {"start": self._place(text, start), "end": self._place(text, end)}

    def _place(self, text: str, offset: int) -> Message:
        codec, size = UNITS[self.habits.encoding]
        spans = line_spans(text)
        line = next((i for i, (start, end) in enumerate(spans) if offset < end), len(spans))
        if line == len(spans) and spans and content(text[slice(*spans[-1])]) == text[slice(*spans[-1])]:
            line -= 1
        start = spans[line][0] if line < len(spans) else len(text)
        return {"line": line, "character": len(text[start:offset].encode(codec)) // size}

    def _span(self, text: str, places: Mapping[str, Message], *, after_mark: bool) -> tuple[int, int]:
        start, end = (self._offset(text[after_mark:], places[which]) + after_mark for which in ("start", "end"))
        return start, end

    def _offset(self, text: str, place: Mapping[str, int]) -> int:
        codec, size = UNITS[self.habits.encoding]
        spans = line_spans(text)
        if place["line"] >= len(spans):
            ends = not spans or content(text[slice(*spans[-1])]) != text[slice(*spans[-1])]
            assert place == {"line": len(spans), "character": 0}, f"{place} is no place in the text"
            assert ends, f"{place} is past the last line"
            return len(text)
        start, end = spans[place["line"]]
        line = content(text[start:end])
        before = line.encode(codec)[: place["character"] * size].decode(codec)
        assert len(before.encode(codec)) == place["character"] * size, f"{place} is past the end of its line"
        return start + len(before)

    def unmarked(self, text: Traced) -> Traced:
        """*text* without a byte order mark."""
        return text.spliced(0, 1, fresh("")) if text.text.startswith(BOM) else text

    # What it tells.

    def _tell_change(self, path: str, changes: Sequence[Message]) -> None:
        buffer = self.buffers[path]
        buffer.version += 1
        document = {"uri": self.uri(path), "version": buffer.version}
        self._notify("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})

    def _notify(self, method: str, params: Message) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if self._answering:
            self._after.append(message)
        else:
            self.send(message)


def _per_file(edit: Message) -> list[Message]:
    """What an edit does, one file after the other, whichever form it has."""
    if "documentChanges" in edit and edit["documentChanges"] is not None:
        return list(edit["documentChanges"])
    return [{"textDocument": {"uri": uri}, "edits": edits} for uri, edits in (edit.get("changes") or {}).items()]
