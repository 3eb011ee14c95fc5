"""The parts of the workspace that code that runs for a model does not see: private files are gone, secrets have masks.

A mask has the length and the kinds of characters of the secret it stands for, so that a file with one is read and
imported as before. A model never sees masks either: in what it is shown they are covered as the secret itself is.
"""

from __future__ import annotations

import os
import random
import re
import stat
import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from rolecall_analysis import is_test_path
from rolecall_analysis.ignored import ENVIRONMENT_MARKERS, IGNORED_FOLDERS, VERSION_CONTROL
from rolecall_server.context.encoded import MIN_CHARACTERS
from rolecall_server.context.redaction import Covers
from rolecall_server.context.secret_forms import find_secrets, may_hold_secrets
from rolecall_server.errors import FileRefused
from rolecall_server.workspace import MAX_FILE_BYTES, Workspace, decode, privacy_of, privacy_rules_of

_TEST_FOLDERS = frozenset({"test", "tests", "testing", "fixtures"})
_KEPT_IN_A_MASK = re.compile(
    r"-----[A-Z ]{1,60}-----|\\.|[^A-Za-z0-9]|^(?:A[KS]IA|AIza|eyJ|[srp]k[-_](?:(?:live|test|ant|proj)[-_])?|gh[pousr]_"
    r"|github_pat_|glpat-|xox[a-z]-|npm_|hf_|SG\.)"
)
"""The marks by which programs know a secret's kind, and characters that are no letter and no digit."""
_MOST_WATCHED = 500
_MOST_NAMED = 3


@dataclass(frozen=True)
class KeptBack:
    """The files and secrets of one workspace that are kept from code that runs for a model."""

    gone: tuple[str, ...] = ()
    """Files and folders that are not there for it."""
    texts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """The files that hold secrets, with masks."""
    masks: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """By secret."""
    watched: tuple[str, ...] = field(default=(), repr=False)
    """The values that must not reach a model, however they are encoded."""
    fixtures: tuple[str, ...] = field(default=(), repr=False)
    """Secrets that stand among tests: there for code that runs, and covered in what it tells."""

    def mask(self, text: str) -> str:
        """Return *text* with masks for the secrets."""
        for secret, mask in self.masks.items():
            text = text.replace(secret, mask)
        return text

    def covers(self) -> Covers:
        """Return covers for a conversation about what such code prints."""
        unmasked = {mask: secret for secret, mask in self.masks.items()}
        return Covers(unmasked=unmasked, watched=self.watched, fixtures=self.fixtures)

    @property
    def private(self) -> list[str]:
        """Return what is gone and is the developer's own: all but the history."""
        return [path for path in self.gone if PurePosixPath(path).name not in VERSION_CONTROL]

    @property
    def notes(self) -> tuple[str, ...]:
        """Return a note for the evidence of tests that ran without files or with masks; empty if they lacked nothing
        but the history.
        """
        without = [f"without {_named(self.private)}"] if self.private else []
        masked = [f"with masks for the secrets in {_named([*self.texts])}"] if self.texts else []
        if not without and not masked:
            return ()
        return (f"Tests ran {' and '.join([*without, *masked])}, because a model may see what they print.",)


def find_kept_back(workspace: Workspace) -> KeptBack:
    """Return what of *workspace* code that runs for a model may not see.

    What stands among tests is for tests: no secret there is masked, and no ``.env`` is gone, but what
    ``.aiignore`` names. Tools' folders and environments are not looked at.
    """
    gone, kept = _sort(workspace)
    all_found = {path: secrets for path in kept if (secrets := _secrets_in(workspace, path))}
    found = {path: secrets for path, secrets in all_found.items() if not _is_among_tests(path)}
    for_tests = {secret for path, (_, each) in all_found.items() if path not in found for secret in each}
    # The longest first, for one may be a part of another.
    secrets = sorted({secret for _, each in found.values() for secret in each}, key=lambda one: (-len(one), one))
    masks = {secret: mask_of(secret, number) for number, secret in enumerate(secrets)}
    known = KeptBack(masks=masks)
    texts = {path: known.mask(text) for path, (text, _) in found.items()}
    hidden = dict.fromkeys(piece for path in gone for piece in _pieces_in(workspace, path))
    fixtures = sorted(one for one in for_tests - {*secrets} if len(one) >= MIN_CHARACTERS)[:_MOST_WATCHED]
    return KeptBack(tuple(sorted(gone)), texts, masks, tuple([*secrets, *hidden][:_MOST_WATCHED]), tuple(fixtures))


def mask_of(secret: str, number: int) -> str:
    """Return a text of the same length and kinds of characters as *secret*, which tells nothing else of it."""
    chance = random.Random(number)  # noqa: S311 - by its number, so that a run that is repeated says the same
    pieces: list[str] = []
    done = 0
    for kept in (*_KEPT_IN_A_MASK.finditer(secret), None):
        end = kept.start() if kept else len(secret)
        pieces += [chance.choice(_alphabet_of(character)) for character in secret[done:end]]
        pieces.append(kept[0] if kept else "")
        done = kept.end() if kept else end
    return "".join(pieces)


def _alphabet_of(character: str) -> str:
    """Return the characters of the kind of *character*; of letters those that are digits of hexadecimal numbers."""
    if character.isdigit():
        return string.digits
    letters = "abcdef" if character.lower() in "abcdef" else "ghijklmnopqrstuvwxyz"
    return letters.upper() if character.isupper() else letters


def _sort(workspace: Workspace) -> tuple[list[str], list[str]]:
    """Return what of *workspace* is kept from models, folders as a whole, and the other files."""
    by_name, by_rule = privacy_of(workspace), privacy_rules_of(workspace)

    def why_private(path: str) -> str | None:
        return by_rule(path) if _is_among_tests(path) else by_name(path)

    gone: list[str] = []
    kept: dict[str, None] = {}
    for folder, folders, names in os.walk(workspace.root):
        below = os.path.relpath(folder, workspace.root).replace(os.sep, "/")
        start = "" if below == "." else f"{below}/"
        if start and not {*ENVIRONMENT_MARKERS}.isdisjoint((*folders, *names)):
            folders.clear()
            continue
        gone += [f"{start}{name}" for name in (*folders, *names) if name in VERSION_CONTROL]
        inside = [name for name in folders if name not in VERSION_CONTROL | IGNORED_FOLDERS]
        private = [name for name in inside if why_private(f"{start}{name}/")]
        gone += [f"{start}{name}" for name in private]
        folders[:] = [name for name in inside if name not in private]
        for path in (f"{start}{name}" for name in names if name not in VERSION_CONTROL):
            if why_private(path):
                gone.append(path)
            else:
                kept[path] = None
    unsaved = (path for path in workspace.buffers if path not in kept and not why_private(path))
    return gone, [*kept, *unsaved]


def _is_among_tests(path: str) -> bool:
    return is_test_path(path) or not _TEST_FOLDERS.isdisjoint(path.lower().split("/")[:-1])


_known: dict[str, tuple[tuple[int, int], tuple[str, ...]]] = {}
"""The secrets of each file by its size and time."""


def _secrets_in(workspace: Workspace, path: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the text of *path* and the secrets in it; ``None`` where there are none."""
    if (buffer := workspace.buffers.get(path)) is not None:
        return _with_secrets(buffer, _values(buffer))
    location = os.path.join(workspace.root, path)  # noqa: PTH118 - to make a `Path` takes as long as to read a file
    try:
        status = os.lstat(location)
        stamp = (status.st_size, status.st_mtime_ns)
        known = _known.get(location)
        if not 0 < status.st_size <= MAX_FILE_BYTES or known == (stamp, ()):
            return None
        if not stat.S_ISREG(status.st_mode):  # a link, or a pipe, which keeps a reader for ever
            return None
        with open(location, "rb") as stream:  # noqa: PTH123
            text = decode(path, stream.read()).text
    except (OSError, FileRefused):
        return None
    values = known[1] if known is not None and known[0] == stamp else _values(text)
    _known[location] = stamp, values
    return _with_secrets(text, values)


def _with_secrets(text: str, values: tuple[str, ...]) -> tuple[str, tuple[str, ...]] | None:
    return (text, values) if values else None


def _values(text: str) -> tuple[str, ...]:
    if not may_hold_secrets(text):
        return ()
    return tuple(dict.fromkeys(text[one.start : one.end] for one in find_secrets(text)))


def _pieces_in(workspace: Workspace, path: str) -> Iterator[str]:
    """Yield what to watch for of the hidden file *path*, or of the files in that folder: values, then lines."""
    if PurePosixPath(path).name in VERSION_CONTROL:
        return
    root = workspace.root / path
    files: Iterable[Path] = sorted(root.rglob("*")) if root.is_dir() else (root,)
    for location in files:
        try:
            if location.is_symlink() or not location.is_file() or location.stat().st_size > MAX_FILE_BYTES:
                continue
            text = decode(location.name, location.read_bytes()).text
        except (OSError, FileRefused):
            continue
        yield from _values(text)
        for line in map(str.strip, text.splitlines()[:_MOST_WATCHED]):
            yield from (one for one in (line.partition("=")[2].strip("'\" "), line) if len(one) >= MIN_CHARACTERS)


def _named(paths: list[str]) -> str:
    more = len(paths) - _MOST_NAMED
    shown = ", ".join(paths[:_MOST_NAMED])
    return f"{shown} and {more:,} more" if more > 0 else shown
