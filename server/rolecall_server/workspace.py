"""The developer's files as Rolecall sees them: open buffers first, then the disk, and never outside the root.

Nothing here writes. Paths between modules are relative to the root, with ``/`` on every system.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from rolecall_analysis import is_python
from rolecall_analysis.ignored import MAX_GITIGNORE_BYTES, read_rules
from rolecall_server.errors import FileRefused

MAX_FILE_BYTES = 2_000_000
"""Larger files are refused: no model reads one, and a diff of one helps nobody."""

BOM = "\ufeff"
UTF_8 = "utf-8"

_MARKED = {codecs.BOM_UTF8: UTF_8, codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
"""The encodings that a byte order mark at the beginning of a file announces."""

_COOKIE = re.compile(rb"(?:[ \t\f]*(?:#[^\r\n]*)?(?:\r\n?|\n))?[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)")
"""A comment on the first line, or on the second below a blank line or a comment, that names a Python file's encoding.

Source: PEP 263.
"""

PRIVACY_FILES = (".aiignore", ".rolecallignore")
"""At the root of a repository, in the form of a ``.gitignore``: what no model is shown."""


_HOLDS_SECRETS = re.compile(
    r"\.env(?:rc)?(?:\.(?!(?:example|sample|template|dist|defaults|schema)$)[\w.-]{1,80})?"
    r"|(?!\.?(?:example|sample|template|dist|defaults|schema)\.env$)[\w.-]{1,80}\.env"
    r"|[._]netrc|\.pgpass|\.htpasswd|\.git-credentials|\.pypirc|id_(?:rsa|dsa|ecdsa|ed25519)"
    r"|(?:secrets|credentials)\.(?:json|toml|ya?ml|ini|env)|[\w.-]{1,80}\.tfvars",
    re.IGNORECASE,
)
"""Names of files in which tools keep secrets: ``.env``, ``prod.env``, ``.env.local``, but not ``.env.example``."""

_ASCII_SEPARATORS = "\v\f\x1c\x1d\x1e"
"""Where ``str.splitlines`` ends lines, and editors do not."""

_ROOT_MARKERS = (".git", "pyproject.toml", "setup.py", "setup.cfg")


@dataclass(frozen=True)
class Workspace:
    """One root folder and what the editor holds unsaved."""

    root: Path
    """Absolute, with symbolic links resolved."""
    buffers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The text of each open document, by its path relative to the root."""


@dataclass(frozen=True)
class TextFile:
    """A file's text, decoded; line endings as they are."""

    path: str
    text: str
    """Without the byte order mark."""
    has_bom: bool = False
    encoding: str = UTF_8
    """The encoding of its bytes, by its byte order mark or its first lines."""


def split_lines(text: str) -> list[str]:
    """Return the lines of *text* with their endings, split where editors do: ``\\n``, ``\\r\\n`` and ``\\r`` only.

    ``str.splitlines`` is the faster one, but also splits at form feeds and Unicode separators, which would shift every
    line after one.
    """
    # Most files; this way is several times as fast.
    if text.isascii() and not any(separator in text for separator in _ASCII_SEPARATORS):
        return text.splitlines(keepends=True)
    return list(io.StringIO(text, newline=""))


def sha256(text: str) -> str:
    """Return the fingerprint by which a proposal knows its base."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_project(folder: Path) -> bool:
    """Return whether *folder* looks like the root of a project."""
    return any((folder / marker).exists() for marker in _ROOT_MARKERS)


def find_root(path: Path) -> Path:
    """Return the nearest folder above *path* that looks like a project; else the folder it lies in.

    Raises:
        FileRefused: there can be no such path.
    """
    resolved = resolve(path)
    for parent in resolved.parents:
        if is_project(parent):
            return parent
    return resolved.parent


def check_can_be_read(folder: Path) -> None:
    """Refuse what is no repository to read as a whole, were it only for its size.

    Raises:
        FileRefused: *folder* is a file, or all files of a user lie in it.
    """
    if folder.is_file():
        raise FileRefused(f"{folder} is a file.", "Open the folder that it lies in.")
    # A home directory may be a project itself, as of who keeps settings in git: then it was opened on purpose.
    home = Path(os.path.realpath(Path.home()))
    if folder in home.parents or (folder == home and not is_project(home)):
        raise FileRefused(f"{folder} holds your home directory, which is not read.", "Open the folder of a project.")


def resolve(path: Path) -> Path:
    """Return *path* with links followed; it need not exist.

    Raises:
        FileRefused: there can be no such path, its links go in a circle, or it may not be looked at.
    """
    try:
        resolved = os.path.realpath(path)
        with suppress(FileNotFoundError, NotADirectoryError):
            os.stat(resolved)  # noqa: PTH116 - says what `realpath` passes over: links in a circle, a closed folder
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no path"
        raise FileRefused(f"{str(path)!r} cannot be looked at: {why}.", "Name another file.") from None
    return Path(resolved)


def relative_path(workspace: Workspace, path: Path) -> str:
    """Return *path* below the root, following links.

    Raises:
        FileRefused: it lies outside the workspace, or there can be no such path.
    """
    return _resolve_inside(workspace, path).relative_to(workspace.root).as_posix()


def _resolve_inside(workspace: Workspace, path: Path) -> Path:
    """Return *path* with links followed; one that is not absolute counts from the root.

    Raises:
        FileRefused: it lies outside the workspace, or there can be no such path.
    """
    resolved = resolve(workspace.root / path)
    if not resolved.is_relative_to(workspace.root):
        raise FileRefused(
            f"{path} lies outside the workspace {workspace.root.name}.",
            "Open its folder first, or choose a file inside.",
        )
    return resolved


def absolute_path(workspace: Workspace, path: str) -> Path:
    """Return the location of *path* on disk.

    Raises:
        FileRefused: it is absolute, climbs out of the workspace, or a link leads out of it.
    """
    if PurePosixPath(path).is_absolute() or "\0" in path:
        raise FileRefused(f"{path!r} is no path inside the workspace.", "Name a file below the opened folder.")
    return _resolve_inside(workspace, Path(path))


def why_private(workspace: Workspace, path: str) -> str | None:
    """Return what keeps *path* from any model, as a sentence, or ``None``: its name, or a file of the repository's.

    A link is judged by what it leads to as well.
    """
    why = privacy_of(workspace)
    real = os.path.relpath(os.path.realpath(workspace.root / path), workspace.root) if "\0" not in path else path
    return why(path) or why(real.replace(os.sep, "/"))


def privacy_of(workspace: Workspace) -> Callable[[str], str | None]:
    """Return what says of a path why it is kept from any model, as `why_private` does; its rules are read once."""
    rules = privacy_rules_of(workspace)
    return lambda path: _why_by_name(path) or rules(path)


def _why_by_name(path: str) -> str | None:
    holds_secrets = _HOLDS_SECRETS.fullmatch(path.rpartition("/")[2])
    return f"{path} is kept from any model: files of that name hold secrets." if holds_secrets else None


def privacy_rules_of(workspace: Workspace) -> Callable[[str], str | None]:
    """Return what says of a path which file of the repository's keeps it from any model."""
    texts = {name: read_beginning(workspace.root / name, MAX_GITIGNORE_BYTES) for name in PRIVACY_FILES}
    rules = [(name, read_rules(text.decode("utf-8", "replace"))) for name, text in texts.items() if text]

    if not rules:
        return lambda path: None

    def why(path: str) -> str | None:
        parts = path.split("/")
        # A rule that names a folder holds for all that lies below it.
        holders = [*("/".join(parts[:n]) + "/" for n in range(1, len(parts))), path]
        names = (name for name, rule in rules if any(map(rule.verdict, holders)))
        return next((f"{name} keeps {path} from any model." for name in names), None)

    return why


def read_for_model(workspace: Workspace, path: str) -> str | None:
    """Return the text of *path*, or ``None`` where there is none that can be read, or that a model may be shown."""
    return None if why_private(workspace, path) else read_text_or_none(workspace, path)


def file_exists(workspace: Workspace, path: str) -> bool:
    """Return whether *path* is an open buffer or a file on disk."""
    return path in workspace.buffers or absolute_path(workspace, path).is_file()


def read_text_file(workspace: Workspace, path: str) -> TextFile:
    """Return the text of *path*: the editor's if it is open there, else the disk's.

    Raises:
        FileRefused: missing, not a regular file, outside the workspace, larger than `MAX_FILE_BYTES`,
            binary, or in an encoding that is not known.
    """
    if (buffer := workspace.buffers.get(path)) is not None:
        if len(buffer) > MAX_FILE_BYTES:
            raise _too_large(path)
        return TextFile(path, buffer.removeprefix(BOM), buffer.startswith(BOM))
    return decode(path, read_bytes(absolute_path(workspace, path), path))


def read_text_or_none(workspace: Workspace, path: str) -> str | None:
    """Return the text of *path*, or ``None`` where there is none that can be read."""
    try:
        return read_text_file(workspace, path).text
    except FileRefused:
        return None


def decode(path: str, content: bytes) -> TextFile:
    """Return *content* as text: by its byte order mark, by the encoding that a Python file declares, else as UTF-8.

    Raises:
        FileRefused: binary, not in its encoding, or not to be written back byte for byte.
    """
    mark = next((mark for mark in _MARKED if content.startswith(mark)), b"")
    encoding = _MARKED[mark] if mark else _declared_encoding(path, content)
    body = content.removeprefix(mark)
    # In UTF-16, every other byte of a plain text is zero.
    if b"\0" in body and encoding == UTF_8:
        raise FileRefused(f"{path} is a binary file.", "Choose a text file.")
    try:
        text = body.decode(encoding)
        is_faithful = encoding == UTF_8 or text.encode(encoding) == body
    except UnicodeError as error:
        where = f" (byte {len(mark) + error.start})" if isinstance(error, UnicodeDecodeError) else ""
        name = "UTF-8" if encoding == UTF_8 else encoding
        raise FileRefused(f"{path} is not {name}{where}.", "Convert it to UTF-8, or have it say what it is.") from None
    if "\0" in text:
        raise FileRefused(f"{path} is a binary file.", "Choose a text file.")
    if not is_faithful:
        raise FileRefused(f"{path} cannot be written back as it is: {encoding} is ambiguous.", "Convert it to UTF-8.")
    return TextFile(path, text, bool(mark), encoding)


def new_file(path: str, text: str) -> TextFile:
    """Return a file that is to be made, in the encoding that its text declares.

    Raises:
        FileRefused: it declares one that nobody knows.
    """
    body = text.removeprefix(BOM)
    encoding = UTF_8 if body != text else _declared_encoding(path, body.encode(UTF_8, "surrogatepass"))
    return TextFile(path, body, body != text, encoding)


def encode(file: TextFile) -> bytes:
    """Return the bytes of *file*, from which `decode` reads the same text.

    Raises:
        FileRefused: its encoding lacks a character, or the text says that it is in another encoding.
    """
    mark = BOM.encode(file.encoding) if file.has_bom else b""
    try:
        content = mark + file.text.encode(file.encoding)
    except UnicodeEncodeError as error:
        line = file.text.count("\n", 0, error.start) + 1
        character = file.text[error.start]
        name = f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()
        raise FileRefused(
            f"{file.path} is {file.encoding}, which has no {name} (line {line}).",
            "Convert the file to UTF-8 first, or edit the hunk.",
        ) from None
    if _reads_otherwise(file, content):
        raise FileRefused(
            f"{file.path} is {file.encoding}, and would say that it is something else.",
            "Convert the file yourself, then reject the hunk.",
        )
    return content


def _reads_otherwise(file: TextFile, content: bytes) -> bool:
    try:
        return decode(file.path, content).text != file.text
    except FileRefused:
        return True


def _declared_encoding(path: str, content: bytes) -> str:
    """Return the encoding that *content* says it is in; UTF-8 where it says nothing.

    Raises:
        FileRefused: nobody knows it, or what says so could not stand in it.
    """
    cookie = _COOKIE.match(content) if is_python(path) else None
    if cookie is None:
        return UTF_8
    name = cookie[1].decode("ascii", "replace")
    try:
        codec = codecs.lookup(name)
        if cookie[0].decode(codec.name) == cookie[0].decode("latin-1"):
            return UTF_8 if codec.name == "utf-8-sig" else codec.name
    except (LookupError, UnicodeError):
        pass
    raise FileRefused(f"{path} declares the encoding {name!r}, which cannot be.", "Correct its first lines.")


def read_beginning(location: Path, most_bytes: int) -> bytes:
    """Return the beginning of a regular file; nothing where there is none that can be read.

    What a repository has under a known name may be a pipe, which keeps a reader for ever, or have no end.
    """
    try:
        if not location.is_file():
            return b""
        with location.open("rb") as stream:
            return stream.read(most_bytes)
    except (OSError, ValueError):
        return b""


def read_bytes(location: Path, path: str) -> bytes:
    """Return the content of the file at *location*, which the workspace knows as *path*.

    Raises:
        FileRefused: missing, not a regular file, larger than `MAX_FILE_BYTES`, or not to be read.
    """
    try:
        # Looked at before it is opened: to open a pipe waits for whoever writes to it.
        status = location.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FileRefused(f"{path} is not a regular file.", "Choose a text file.")
        if status.st_size > MAX_FILE_BYTES:
            raise _too_large(path)
        return location.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise FileRefused(f"{path} does not exist (any more).", "Save or restore it, then try again.") from None
    except OSError as error:
        raise FileRefused(f"{path} cannot be read: {error.strerror}.", "Check its permissions.") from error


def _too_large(path: str) -> FileRefused:
    return FileRefused(f"{path} is larger than {MAX_FILE_BYTES:,} bytes.", "Choose a smaller file.")
