"""From text to facts, whatever the language: the one place that chooses who reads it."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall_analysis.languages import language_of
from rolecall_analysis.languages import read_facts as read_foreign
from rolecall_analysis.python import FunctionCache, read_facts
from rolecall_analysis.syntax import SyntaxTree, parse, reparse
from rolecall_analysis.values import FileFacts, Problem


@dataclass(frozen=True, slots=True)
class Followed:
    """The state that makes it quicker to read the next version of a document; for one thread at a time."""

    syntax: SyntaxTree
    memory: FunctionCache


def facts_of(path: str, text: str) -> FileFacts:
    """Return the facts of one file, read without earlier facts."""
    language = language_of(path)
    if language is None:
        return FileFacts(path, problems=(Problem(path, "Its language is not read."),))
    return read_facts(path, parse(text)) if language == "python" else read_foreign(path, text, language)


def follow(path: str, text: str, before: Followed | None) -> tuple[FileFacts, Followed | None]:
    """Return the facts of an open document, and what helps to read its next version; *before* is the help from the last
    version.
    """
    if language_of(path) != "python":
        return facts_of(path, text), None
    syntax, memory = (parse(text), FunctionCache()) if before is None else (reparse(before.syntax, text), before.memory)
    return read_facts(path, syntax, memory), Followed(syntax, memory)
