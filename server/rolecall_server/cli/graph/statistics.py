"""The size of a folder's code graph, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from rolecall_analysis.languages import language_of
from rolecall_analysis.syntax import MAX_SOURCE_BYTES
from rolecall_server.cli.reading import IndexedFolder
from rolecall_server.workspace import read_beginning


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over all files of a folder."""

    files: Mapping[str, int]
    """By language, the most frequent first."""
    lines: Mapping[str, int]
    """By language, in the same order."""
    definitions: Mapping[str, int]
    """By kind, the most frequent first."""
    imports: int
    calls: int
    references: int
    problems: tuple[str, ...]
    """The files that were read in part or not at all, as ``path: why``."""


def read_statistics(code: IndexedFolder) -> Statistics:
    """Return the numbers of *code*."""
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    problems: list[str] = []
    n_imports = n_calls = n_references = 0
    for path, facts in code.snapshot.files.items():
        language = language_of(path) or "other"
        files[language] += 1
        lines[language] += count_lines(code, path)
        kinds.update(definition.kind for definition in facts.definitions)
        n_imports += len(facts.imports)
        n_calls += len(facts.calls)
        n_references += len(facts.references)
        problems += [f"{code.shown(path)}: {problem.message}" for problem in facts.problems]
    ordered = dict(files.most_common())
    in_order = {language: lines[language] for language in ordered}
    return Statistics(ordered, in_order, dict(kinds.most_common()), n_imports, n_calls, n_references, tuple(problems))


def count_lines(code: IndexedFolder, path: str) -> int:
    """Return the number of lines of a file on disk; 0 if it is gone."""
    content = read_beginning(code.root / path, MAX_SOURCE_BYTES)
    return content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
