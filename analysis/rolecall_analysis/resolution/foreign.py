"""Names and imports of files in other languages than Python, for the queries."""

from __future__ import annotations

from rolecall_analysis.languages.resolution.code import OtherCode, code_of
from rolecall_analysis.languages.resolution.code import OtherMeaning as ForeignMeaning
from rolecall_analysis.languages.resolution.imports import imported_files
from rolecall_analysis.languages.resolution.names import targets
from rolecall_analysis.languages.table import family_of
from rolecall_analysis.modules import SOURCE_SUFFIXES
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Import

_PYTHON_SUFFIXES = (*SOURCE_SUFFIXES, ".ipynb")


def is_foreign(path: str) -> bool:
    """Return whether the file is in a language whose names do not follow Python's rules."""
    return not path.endswith(_PYTHON_SUFFIXES) and bool(family_of(path))


def see_each_other(one: str, other: str) -> bool:
    """Return whether a name in the file *one* can be a definition in the file *other*."""
    if one.endswith(_PYTHON_SUFFIXES):
        return other.endswith(_PYTHON_SUFFIXES)
    return family_of(one) == family_of(other)


def foreign_meaning(snapshot: Snapshot, path: str, scope: str, name: str) -> ForeignMeaning:
    """Return the meaning of the dotted *name* in *scope* of the foreign file *path*."""
    return targets(snapshot.derived(_code, _code), path, scope, name)


def foreign_imports(snapshot: Snapshot, path: str, imported: Import) -> tuple[str, ...]:
    """Return the files that the import *imported* in the foreign file *path* names, or that hold what it names."""
    return imported_files(snapshot.derived(_code, _code).project, path, imported).paths


def _code(snapshot: Snapshot) -> OtherCode:
    return code_of(snapshot.files, snapshot.text, snapshot.mentioning)
