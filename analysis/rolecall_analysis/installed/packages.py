"""The facts of installed modules: read when asked for, and kept from one session to the next."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from rolecall_analysis.facts.packed import pack
from rolecall_analysis.facts.records import Decoded
from rolecall_analysis.folder import read_start, stamp_of
from rolecall_analysis.indexing.file_reading import FileEntry, is_current, read_file
from rolecall_analysis.indexing.saved_facts import SavedFacts, saved_path
from rolecall_analysis.installed.distributions import Distribution, distributions_in, reached_from
from rolecall_analysis.installed.search_path import CodeModule, SearchPath
from rolecall_analysis.syntax import MAX_SOURCE_BYTES
from rolecall_analysis.text import decode
from rolecall_analysis.values import FileFacts, Problem

_CODE = (".py", ".pyi", ".pyx", ".so", ".pyd")
_PASSED_OVER = frozenset({"__pycache__", "node_modules", "site-packages", "dist-packages", "idlelib", "lib2to3"})
_MOST_BYTES = 80_000_000
"""Of a package, to look for a name in; the rest of a longer one is not looked at."""


class InstalledCode:
    """The code on a search path, as it is while this lives.

    With *saved_in*, facts are kept there, in a store for each package. Each file's stamp says whether they still hold,
    whatever installed or changed it.
    """

    def __init__(self, places: Sequence[Path], saved_in: Path | None = None, *, is_whole: bool = True) -> None:
        self.search_path = SearchPath(places, is_whole=is_whole)
        self._saved_in = saved_in
        self._stores: dict[str, dict[str, FileEntry]] = {}
        self._fresh: dict[str, dict[str, FileEntry]] = {}
        self._decoded = Decoded()
        self._packed: dict[str, bytes] = {}
        self._bytes: dict[str, bytes] = {}
        self._distributions: tuple[Distribution, ...] | None = None

    def facts(self, path: str) -> FileFacts:
        """Return the facts of the installed file *path*; what cannot be read has a problem."""
        if path not in self._packed:
            self._packed[path] = self._read(path)
        return self._decoded.facts(path, self._packed[path])

    def text(self, path: str) -> str:
        """Return the text of the installed file *path*; empty where it cannot be read."""
        folder, _, name = path.rpartition("/")
        try:
            found = read_start(Path(folder), name, MAX_SOURCE_BYTES)
        except OSError:
            return ""
        return decode(found[0])[0] if found is not None else ""

    def save(self) -> None:
        """Keep the facts that were read since this was last called."""
        fresh, self._fresh = self._fresh, {}
        for package, entries in fresh.items() if self._saved_in is not None else ():
            with closing(SavedFacts(self._location(package))) as saved:
                saved.save(dict(entries))

    def package_of(self, path: str) -> str:
        """Return the folder, or the single file, of the package that *path* belongs to; empty where it is in none."""
        for place in self.search_path.places:
            if path.startswith(f"{place}/"):
                return f"{place}/{path[len(place) + 1 :].partition('/')[0]}"
        return ""

    def mentions(self, package: str, name: str) -> bool:
        """Return whether code in *package*, compiled code too, says *name*; of a huge one it may.

        Comments and docstrings do not count.
        """
        content = self.content(package)
        return len(content) >= _MOST_BYTES or (name.encode() in content and any(self._saying(package, name)))

    def _saying(self, package: str, name: str) -> Iterator[str]:
        """Yield the files of *package* whose code says *name*."""
        quoted = re.compile(rf"[\"']{re.escape(name)}[\"']".encode())
        for file in _code_files(package) if Path(package).is_dir() else [package]:
            found = _content(file, _MOST_BYTES)
            if name.encode() in found:
                is_text = file.endswith((".py", ".pyi"))
                if not is_text or quoted.search(found) or name in self.facts(file).names:
                    yield file

    def library(self) -> tuple[str, ...]:
        """Return the folders of Python's own library."""
        folders = self.search_path.places
        # By this file Python itself finds its library.
        own = [place for place in folders if Path(place, "os.py").is_file()]
        return (*own, *(place for place in folders if place.endswith("lib-dynload")))

    def reached_from(self, packages: Iterable[str]) -> frozenset[str]:
        """Return *packages* with those that their distributions need, and so on."""
        if self._distributions is None:
            self._distributions = distributions_in(self.search_path.places)
        return reached_from(self._distributions, packages)

    def content(self, package: str) -> bytes:
        """Return the bytes of all code in *package*, one file after the other."""
        if package not in self._bytes:
            self._bytes[package] = b"\n".join(_contents(package))
        return self._bytes[package]

    def modules_below(self, module: CodeModule) -> Iterator[CodeModule]:
        """Yield *module* and all modules in it that can be read; without its tests."""
        yield module
        for one in self.search_path.submodules(module):
            if one.name.rpartition(".")[2] not in ("tests", "test", "testing"):
                yield from self.modules_below(one)

    def _read(self, path: str) -> bytes:
        package = self.package_of(path)
        known = self._store(package).get(path)
        try:
            if known is not None and is_current(known, stamp_of(Path(path).stat())):
                return known.packed
        except OSError:
            pass
        folder, _, name = path.rpartition("/")
        entry = read_file(Path(folder), name).entry
        if entry is None:
            entry = FileEntry(None, b"", pack(_unreadable(path)), True, 0)
        self._fresh.setdefault(package, {})[path] = entry
        return entry.packed

    def _store(self, package: str) -> dict[str, FileEntry]:
        if package not in self._stores:
            self._stores[package] = {}
            # Looked for first: to open a store makes one, also for a package of which nothing will be kept.
            if self._saved_in is not None and package and self._location(package).is_file():
                with closing(SavedFacts(self._location(package))) as saved:
                    self._stores[package] = saved.load()
        return self._stores[package]

    def _location(self, package: str) -> Path:
        assert self._saved_in is not None
        return saved_path(self._saved_in, Path(package))


def _unreadable(path: str) -> FileFacts:
    return FileFacts(path, problems=(Problem(path, "The file is a link, or gone."),))


def _contents(package: str) -> Iterator[bytes]:
    """Yield the bytes of the Python files and compiled modules of *package*, as far as it is not too long."""
    left = _MOST_BYTES
    files = _code_files(package) if Path(package).is_dir() else [package]
    for file in files:
        found = _content(file, left + 1)
        left -= len(found)
        yield found
        if left <= 0:
            return


def _content(file: str, limit_bytes: int) -> bytes:
    folder, _, name = file.rpartition("/")
    try:
        found = read_start(Path(folder), name, limit_bytes)
    except OSError:
        return b""
    return found[0] if found is not None else b""


def _code_files(folder: str) -> Iterator[str]:
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _PASSED_OVER]
        yield from (f"{base}/{name}" for name in names if name.endswith(_CODE))
