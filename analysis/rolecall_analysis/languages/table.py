"""The table of languages: how their files are called, which grammar reads them, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import PurePosixPath
from typing import cast

from tree_sitter import Language

from rolecall_analysis.languages.grammar import Grammar, GrammarReading, grammar_of
from rolecall_analysis.languages.handlers import visit_comment


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a language's grammar and reading; neither is loaded before a file needs it."""

    suffixes: tuple[str, ...]
    wheel: str
    """The module of the grammar."""
    reading: str
    """The module of this package with the `GrammarReading`."""
    grammar: str = "language"
    """The function of the wheel that gives the grammar."""
    family: str = ""
    """Languages of one family see each other's names; empty for one that stands alone."""


LANGUAGES: Mapping[str, Source] = {
    "javascript": Source((".js", ".mjs", ".cjs"), "tree_sitter_javascript", "javascript", family="javascript"),
    "javascriptreact": Source((".jsx",), "tree_sitter_javascript", "javascript", family="javascript"),
    "typescript": Source(
        (".ts", ".mts", ".cts"), "tree_sitter_typescript", "javascript", "language_typescript", "javascript"
    ),
    "typescriptreact": Source((".tsx",), "tree_sitter_typescript", "javascript", "language_tsx", "javascript"),
    "go": Source((".go",), "tree_sitter_go", "go"),
    "rust": Source((".rs",), "tree_sitter_rust", "rust"),
    "java": Source((".java",), "tree_sitter_java", "java"),
    "c": Source((".c",), "tree_sitter_c", "c", family="c"),
    "cpp": Source(
        (".cpp", ".cc", ".cxx", ".c++", ".h", ".hpp", ".hh", ".hxx", ".h++", ".ipp", ".inl", ".cu", ".cuh"),
        *("tree_sitter_cpp", "c"),
        family="c",
    ),
    "csharp": Source((".cs",), "tree_sitter_c_sharp", "csharp"),
    "ruby": Source((".rb", ".rake", ".gemspec"), "tree_sitter_ruby", "ruby"),
    "php": Source((".php", ".phtml"), "tree_sitter_php", "php", "language_php"),
}
"""By the editor's identifiers of languages."""

_LANGUAGE_BY_SUFFIX = {
    ".py": "python",
    ".pyi": "python",
    ".ipynb": "jupyter",
    **{suffix: name for name, source in LANGUAGES.items() for suffix in source.suffixes},
}


def language_of(path: str) -> str | None:
    """Return the editor's identifier of the language that *path* is written in, by its suffix; None if the graph has
    none.
    """
    return _LANGUAGE_BY_SUFFIX.get(PurePosixPath(path).suffix.lower())


def family_of(path: str) -> str:
    """Return the name shared by the languages that can use each other's names; empty without a language."""
    language = language_of(path) or ""
    source = LANGUAGES.get(language)
    return (source.family or language) if source is not None else language


@cache
def grammar_for(language: str) -> Grammar:
    """Return the grammar of *language*, loaded when it is first asked for.

    Raises:
        KeyError: there is no such language in the table.
    """
    source = LANGUAGES[language]
    capsule: object = getattr(import_module(source.wheel), source.grammar)()
    reading = cast("GrammarReading", import_module(f"rolecall_analysis.languages.grammars.{source.reading}").READING)
    return grammar_of(Language(capsule), reading, visit_comment)
