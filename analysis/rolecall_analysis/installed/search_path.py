"""The modules that a Python can import from the folders of its search path, found by the names of files alone.

Source: docs.python.org, "The import system", "5.5 The Path Based Finder"; PEP 420.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ModuleKind = Literal["source", "opaque", "namespace"]
"""``opaque`` is a module of which no text can be read, as one written in C; ``namespace`` a folder without
``__init__``."""

_COMPILED = (".so", ".pyd", ".pyc", ".dylib", ".dll")
# Python runs a line of a `.pth` file that begins so; any other names a folder.
_HOOK_LINES = ("import ", "import\t")
_PLAIN_HOOKS = frozenset({"distutils-precedence.pth", "_virtualenv.pth", "a1_coverage.pth", "pytest-cov.pth"})
"""``.pth`` files that run code which makes no module importable."""


@dataclass(frozen=True, slots=True)
class CodeModule:
    """A module that can be imported, of the repository or installed."""

    name: str
    """Dotted in full. Of the repository its location: the path without the suffix."""
    path: str
    """The key of its facts: absolute where it is installed; empty where there is no text."""
    folders: tuple[str, ...]
    """The folders in which its submodules lie; none unless it is a package."""
    kind: ModuleKind
    is_own: bool = False
    """It is the repository's."""

    @property
    def package(self) -> str:
        """Return the package that relative imports in it start from."""
        return self.name if self.folders else self.name.rpartition(".")[0]


class SearchPath:
    """The folders *places*, in the order in which they are searched, as they are while this lives."""

    def __init__(self, places: Sequence[Path], *, is_whole: bool = True) -> None:
        self.places = tuple(str(place) for place in places if place.is_dir())
        self._listings: dict[str, dict[str, tuple[str, ...]]] = {}
        self._known: dict[str, CodeModule | None] = {}
        archives = any(place.is_file() for place in places)
        self.is_whole = is_whole and not archives and not any(map(_has_hook, self.places))
        """False: a hook, an archive or a folder that may not be read can offer modules that no folder shows."""

    def find(self, name: str) -> CodeModule | None:
        """Return the module *name*, dotted in full, if a folder has it or it is built into Python."""
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def top_level(self) -> Iterator[CodeModule]:
        """Yield each module and package that can be imported by a name without a dot, and can be read."""
        names = dict.fromkeys(name for place in self.places for name in self._listing(place) if name.isidentifier())
        for name in names:
            if (found := self.find(name)) is not None and (found.kind != "namespace"):
                yield found

    def submodules(self, module: CodeModule) -> Iterator[CodeModule]:
        """Yield the modules directly in the package *module*."""
        for name in dict.fromkeys(one for folder in module.folders for one in self._listing(folder)):
            if name.isidentifier() and name != "__init__" and (found := self.find(f"{module.name}.{name}")) is not None:
                yield found

    def _find(self, name: str) -> CodeModule | None:
        parent, _, last = name.rpartition(".")
        if not parent:
            return self._in_folders(name, last, self.places) or _built_in(name)
        holder = self.find(parent)
        return self._in_folders(name, last, holder.folders) if holder is not None else None

    def _in_folders(self, name: str, last: str, folders: Sequence[str]) -> CodeModule | None:
        # As in Python, folders without `__init__` count only where no place has a package or a module of the name.
        portions: list[str] = []
        for folder in folders:
            suffixes = self._listing(folder).get(last, ())
            base = f"{folder}/{last}"
            inside = self._listing(base).get("__init__", ()) if "" in suffixes else ()
            if ".py" in inside and not _leads_away(base, folder):
                return CodeModule(name, f"{base}/__init__.py", (base,), "source")
            # Its `__init__` is compiled, or lies behind a link that leads away: nothing of it can be read.
            if inside:
                return CodeModule(name, "", (base,), "opaque")
            if any(suffix.endswith(_COMPILED) for suffix in suffixes):
                return CodeModule(name, "", (), "opaque")
            if ".py" in suffixes:
                return CodeModule(name, f"{base}.py", (), "source")
            if "" in suffixes:
                portions.append(base)
        return CodeModule(name, "", tuple(portions), "namespace") if portions else None

    def _listing(self, folder: str) -> dict[str, tuple[str, ...]]:
        """Return the suffixes of what lies in *folder*, by the name before the first dot; of a folder it is empty."""
        if folder not in self._listings:
            found: dict[str, list[str]] = {}
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        stem, dot, suffix = entry.name.partition(".")
                        if dot or entry.is_dir():
                            found.setdefault(stem, []).append(dot + suffix)
            except OSError:
                pass
            self._listings[folder] = {name: tuple(suffixes) for name, suffixes in found.items()}
        return self._listings[folder]


def _built_in(name: str) -> CodeModule | None:
    return CodeModule(name, "", (), "opaque") if name in sys.stdlib_module_names else None


def _leads_away(base: str, folder: str) -> bool:
    """Return whether the folder *base* is a link to somewhere outside of *folder*: that may lead to anything."""
    return Path(base).is_symlink() and not Path(os.path.realpath(base)).is_relative_to(os.path.realpath(folder))


def _has_hook(place: str) -> bool:
    """Return whether a ``.pth`` file in *place* runs code, which may make modules importable that no folder has."""
    for file in Path(place).glob("*.pth"):
        try:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
        except OSError:
            return True
        if file.name not in _PLAIN_HOOKS and any(line.startswith(_HOOK_LINES) for line in lines):
            return True
    return False
