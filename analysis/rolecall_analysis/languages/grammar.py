"""A grammar and what we read in its trees: kinds of nodes as numbers, and what each of them means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tree_sitter import Language

Handler = Callable[..., Any]
"""A `rolecall_analysis.languages.walk.Handler`: the walk knows grammars, a grammar does not know the walk."""


@dataclass(frozen=True, slots=True)
class Link:
    """A node that adds a name to the name of another node: ``price.total``, ``price::total``."""

    before: str
    """The field of what stands before the separator; empty for the first child."""
    name: str
    """The field of the name after it; empty for the last child."""
    unless: tuple[str, ...] = ()
    """Fields that make it more than a name: the arguments of a Ruby call."""


@dataclass(frozen=True, slots=True)
class GrammarReading:
    """The rules by which the trees of one grammar are read. Everything is by the grammar's names of nodes and
    fields.
    """

    handlers: Mapping[str, Handler]
    names: frozenset[str]
    """Nodes that are a name and nothing more. A keyword such as ``this`` counts, named by the grammar or not."""
    links: Mapping[str, Link] = field(default_factory=dict[str, Link])
    compounds: frozenset[str] = frozenset()
    """Nodes whose name is that of the names inside them, in their order."""
    wrappers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Nodes that have the name of what is in the field, or of the first child if that is empty: ``List<Item>``."""
    patterns: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Nodes of a pattern, and their fields that are read; what is in the others is bound."""
    bound: frozenset[str] = frozenset({"identifier"})
    """The nodes of a pattern that are bound names."""
    capitals_are_read: bool = False
    """A name in a pattern that begins with a capital is a constant, which is read."""
    comments: frozenset[str] = frozenset({"comment"})
    attributes: frozenset[str] = frozenset()
    """Annotations, attributes or decorators."""
    attribute_lists: frozenset[str] = frozenset()
    """Nodes of a definition in which attributes stand."""
    arguments: frozenset[str] = frozenset()
    """Lists of arguments of a call or of a type, among the bases of a class."""
    blanked: re.Pattern[bytes] | None = None
    """The source that is taken for blanks when a file is parsed, because the grammar cannot know it."""
    skipped: frozenset[str] = frozenset()
    """Nodes in which nothing is looked for: literals, names of fields."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """A `GrammarReading`, by the numbers that the nodes of its language carry."""

    language: Language
    reading: GrammarReading
    handlers: Mapping[int, Handler | None]
    """None: nothing is looked for in the node."""
    names: frozenset[int]
    links: Mapping[int, Link]
    compounds: frozenset[int]
    wrappers: Mapping[int, str]
    patterns: Mapping[int, tuple[str, ...]]
    bound: frozenset[int]
    attributes: frozenset[int]
    attribute_lists: frozenset[int]


def grammar_of(language: Language, reading: GrammarReading, visit_comment: Handler) -> Grammar:
    """Return *reading* with the kinds of nodes given by their numbers in *language*.

    Kinds that the language does not have are left out: related grammars share a reading.
    """

    def numbers(kinds: Iterable[str]) -> dict[str, list[int]]:
        return {
            kind: [number for named in (True, False) if (number := language.id_for_node_kind(kind, named))]
            for kind in kinds
        }

    def number_set(kinds: Iterable[str]) -> frozenset[int]:
        return frozenset(number for ids in numbers(kinds).values() for number in ids)

    handlers: dict[str, Handler | None] = {
        **dict.fromkeys(reading.skipped),
        **dict.fromkeys(reading.comments, visit_comment),
        **reading.handlers,
    }
    return Grammar(
        language,
        reading,
        # What is a node and a keyword alike, as `class` in JavaScript, is handled as a node alone.
        {number: handlers[kind] for kind, ids in numbers(handlers).items() for number in ids[:1]},
        number_set(reading.names),
        {number: reading.links[kind] for kind, ids in numbers(reading.links).items() for number in ids},
        number_set(reading.compounds),
        {number: reading.wrappers[kind] for kind, ids in numbers(reading.wrappers).items() for number in ids},
        {number: reading.patterns[kind] for kind, ids in numbers(reading.patterns).items() for number in ids},
        number_set(reading.bound),
        number_set(reading.attributes),
        number_set(reading.attribute_lists),
    )
