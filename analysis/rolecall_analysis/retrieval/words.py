"""Text as terms to search by: identifiers cut into their words, and words brought to one form."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

_STOP_WORDS = """
    a about above added adds after again all allow allows also always an and any are as at be because been before
    being below but by can cannot change changed changes could did do does doing done don during each even ever
    every few first fix fixed fixes fixing for from further get gets had has have having he here how however i if in
    instead into is issue it its just like longer make makes making may me might more most much must my need needed
    needs never new no nor not now of off on once one only or other our out over own per previously rather same see
    should since so some still such than that the their them then there these they this those though through to too
    two under until up upon us use used uses using very via was way we were what when where whether which while who
    why will with within without would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words of commit messages and issues that say nothing about which code is meant."""

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_BOUNDARY = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST_WORD = 60
"""Longer runs of letters are data, not names."""


def identifiers(text: str) -> list[str]:
    """Return the identifiers and words of *text* as they are written, in order."""
    return _IDENTIFIER.findall(text)


@lru_cache(maxsize=1 << 14)
def terms_of(identifier: str) -> tuple[str, ...]:
    """Return the terms of one identifier: its words, and all of them joined if there are several.

    ``set_cookie`` and ``SetCookie`` are ``set``, ``cooki`` and ``setcookie``.
    """
    if len(identifier) > _LONGEST_WORD:
        return ()
    parts = [part.lower() for part in _BOUNDARY.split(identifier) if part]
    joined = ("".join(parts),) if len(parts) > 1 else ()
    return (*(stem(part) for part in parts if len(part) > 1 and part not in STOP_WORDS), *joined)


def terms(text: str) -> list[str]:
    """Return the terms of every identifier of *text*, in order."""
    return [term for identifier in identifiers(text) for term in terms_of(identifier)]


def neighbours_joined(text: str) -> list[str]:
    """Words that stand side by side as one: what a message calls "web socket" code may call ``WebSocket``."""
    return [f"{left}{right}".lower() for left, right in pairwise(identifiers(text)) if len(left) + len(right) > 5]


def code_names(text: str) -> set[str]:
    """Return the identifiers of *text* that are code rather than prose.

    They have an underscore or an inner capital, stand between backticks, before a parenthesis or beside a dot.
    """
    shaped = (name for name in identifiers(text) if len(_BOUNDARY.split(name.strip("_"))) > 1 or "_" in name)
    marked = (name for part in _MARKED.findall(text) for name in identifiers(part))
    return {name for name in (*shaped, *marked) if len(name) > 2}


_MARKED = re.compile(r"`[^`\n]+`|\b\w+(?:\.\w+)+|\b\w+(?=\()")


@lru_cache(maxsize=1 << 14)
def stem(word: str) -> str:
    """Return *word*, which is in lower case, without the endings that English gives the same verb or noun.

    ``parse``, ``parses``, ``parsed``, ``parser`` and ``parsing`` are ``pars``. It need not be a word.
    """
    word = _singular(word)
    for ending in ("ation", "ing", "ion", "ed", "er", "or"):
        root = word.removesuffix(ending)
        if root != word and len(root) > 2 and not _VOWELS.isdisjoint(root):
            # `running` is `run`, but `calling`, `passing` and `buzzing` come from words that end in two letters.
            word = root[:-1] if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "lsz" else root
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


_VOWELS = frozenset("aeiouy")


def _singular(word: str) -> str:
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):  # `class`, `status`, `axis`
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes")) else word[:-1]
