"""From text to facts, whatever the language: the one place that chooses who reads it."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall_analysis.languages import language_of
from rolecall_analysis.languages import read_facts as read_foreign
from rolecall_analysis.python import Memory, read_facts
from rolecall_analysis.syntax import SyntaxTree, parse, reparse
from rolecall_analysis.values import FileFacts, Problem


@dataclass(frozen=True, slots=True)
class Followed:
    """What makes it quicker to read the next version of a document; for one thread at a time."""

    syntax: SyntaxTree
    memory: Memory


def facts_of(path: str, text: str) -> FileFacts:
    """The facts of one file, from nothing."""
    language = language_of(path)
    if language is None:
        return FileFacts(path, problems=(Problem(path, "Its language is not read."),))
    return read_facts(path, parse(text)) if language == "python" else read_foreign(path, text, language)


def follow(path: str, text: str, before: Followed | None) -> tuple[FileFacts, Followed | None]:
    """The facts of an open document, and what helps with its next version; *before* is that of the last."""
    if language_of(path) != "python":
        return facts_of(path, text), None
    syntax, memory = (parse(text), Memory()) if before is None else (reparse(before.syntax, text), before.memory)
    return read_facts(path, syntax, memory), Followed(syntax, memory)
