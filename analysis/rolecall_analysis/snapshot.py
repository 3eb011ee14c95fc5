"""The code graph at one moment: immutable, so that a reader never waits and never sees half a change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rolecall_analysis.modules import SOURCE_SUFFIXES, ModuleTree, module_tree
from rolecall_analysis.python import read_facts
from rolecall_analysis.syntax import parse
from rolecall_analysis.values import FileFacts


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known of every Python file of a repository."""

    files: Mapping[str, FileFacts] = field(default_factory=lambda: MappingProxyType({}))
    """By path relative to the root, with ``/`` on every system."""
    modules: ModuleTree = field(default_factory=lambda: module_tree(()))

    def with_changes(self, changes: Mapping[str, str | None]) -> Snapshot:
        """This snapshot if the files in *changes* had those texts; None deletes. Other languages are ignored."""
        return self.with_facts(
            {path: None if text is None else facts_of(path, text) for path, text in changes.items() if is_python(path)}
        )

    def with_facts(self, changes: Mapping[str, FileFacts | None]) -> Snapshot:
        """This snapshot with the facts of some files replaced; None removes."""
        files = dict(self.files)
        for path, facts in changes.items():
            if facts is None:
                files.pop(path, None)
            else:
                files[path] = facts
        same_paths = files.keys() == self.files.keys()
        return Snapshot(MappingProxyType(files), self.modules if same_paths else module_tree(files))


def is_python(path: str) -> bool:
    """Whether *path* is named as a Python file."""
    return path.endswith(SOURCE_SUFFIXES)


def facts_of(path: str, text: str) -> FileFacts:
    """The facts of one file, from nothing."""
    return read_facts(path, parse(text))
