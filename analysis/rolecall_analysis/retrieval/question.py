"""The question that is asked, as terms."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from rolecall_analysis.retrieval.bm25 import said
from rolecall_analysis.retrieval.corpus import Corpus
from rolecall_analysis.retrieval.words import code_names, identifiers, neighbours_joined, terms, terms_of
from rolecall_analysis.values import Position

Level = Literal["file", "function"]


@dataclass(frozen=True)
class Query:
    """The subject of a search: a message, a brief or an issue, and where the developer is."""

    text: str
    """Its first line counts twice, as a subject does. May be empty where there is a seed."""
    seed: str | None = None
    """The path of a file that is known to be concerned, such as the open one."""
    position: Position | None = None
    """The cursor in it."""
    level: Level = "file"
    candidates: Collection[str] | None = None
    """The possible answers: paths, or ``path::qualified.name``. None: everything but tests."""
    limit: int = 50


@dataclass(frozen=True)
class QueryTerms:
    """A query's text as terms that *corpus* knows."""

    corpus: Corpus
    text: str

    @cached_property
    def terms(self) -> dict[str, float]:
        """Return each term and how often it is said."""
        found = said(terms(self.text))
        joined = (word for word in neighbours_joined(self.text) if self.corpus.knows(word))
        return dict.fromkeys(joined, 1.0) | found

    @cached_property
    def subject(self) -> dict[str, float]:
        """Return the terms of the first line."""
        return said(terms(self.text.strip().partition("\n")[0]))

    @cached_property
    def code(self) -> dict[str, float]:
        """Return the terms of names that are code."""
        return dict.fromkeys((term for name in code_names(self.text) for term in terms_of(name)), 1.0)

    @cached_property
    def words(self) -> set[str]:
        """The identifiers and words as they are written."""
        return set(identifiers(self.text))
