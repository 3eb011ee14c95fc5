"""Strings that a regular expression matches, and near misses: inputs for code that decides by one."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import count, islice
from random import Random
from typing import Any, cast

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    # `re` has no public way to a parsed pattern.
    from re import _parser  # pyright: ignore

_CLASSES = {"CATEGORY_DIGIT": "0123456789", "CATEGORY_WORD": "abcxyz019_", "CATEGORY_SPACE": " \t"}
_NOT_CLASSES = {"CATEGORY_NOT_DIGIT": "a-", "CATEGORY_NOT_WORD": "- ", "CATEGORY_NOT_SPACE": "a1"}
_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCXYZ0123456789-_ ."
_MAX_REPEAT = 3
_OF_ONE = ("IN", "ANY", "NOT_LITERAL")
"""The nodes that stand for one character."""
_SHARE_OF_WORDS = 0.5


def matching(pattern: str, how_many: int, random: Random) -> list[str]:
    """Up to *how_many* different strings that *pattern* likely matches: a short one, then others of every branch.

    Nothing for what is no regular expression. The same *random* state gives the same strings.
    """
    tree = _parsed(pattern)
    return [] if tree is None else _sampled(tree, how_many, (_Sampler(random, shortest=not n) for n in count()))


def matching_with(pattern: str, words: Sequence[str], how_many: int, random: Random) -> list[str]:
    """Return up to *how_many* strings that *pattern* matches, with *words* where it leaves open what stands there."""
    tree = _parsed(pattern)
    if tree is None or not words:
        return []
    samplers = (_Sampler(random, shortest=False, words=words) for _ in count())
    return [text for text in _sampled(tree, how_many, samplers) if any(word in text for word in words)]


def _parsed(pattern: str) -> Any:
    """Return the tree of *pattern*; None for what is no regular expression."""
    # Else the line ends and the indentation of a verbose pattern would become part of what it matches.
    flags = re.VERBOSE if "\n" in pattern or ("(?P<" in pattern and "  " in pattern) else 0
    try:
        return cast(Any, _parser).parse(pattern, flags)
    except (re.error, OverflowError, RecursionError):
        return None


def _sampled(tree: Any, how_many: int, samplers: Iterator[_Sampler]) -> list[str]:
    found: dict[str, None] = {}
    for sampler in islice(samplers, 4 * how_many):
        found[sampler.sample(tree)] = None
        if len(found) == how_many:
            break
    return list(found)


class _Sampler:
    def __init__(self, random: Random, *, shortest: bool, words: Sequence[str] = ()) -> None:
        self.random = random
        self.words = words
        self.shortest = shortest
        self.groups: dict[int, str] = {}

    def sample(self, tree: Any) -> str:
        return "".join(self._node(str(code), argument) for code, argument in tree)

    def _node(self, code: str, argument: Any) -> str:  # noqa: PLR0911 - one case for each node of a pattern
        match code:
            case "LITERAL":
                return chr(argument)
            case "NOT_LITERAL":
                return self._one_of(character for character in _ALPHABET if ord(character) != argument)
            case "ANY":
                return self._one_of(_ALPHABET)
            case "IN":
                return self._one_of(_members(argument))
            case "BRANCH":
                branches = argument[1]
                return self.sample(branches[0] if self.shortest else self.random.choice(branches))
            case "SUBPATTERN":
                text = self.sample(argument[3])
                self.groups[argument[0] or 0] = text
                return text
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return self._repeat(*argument)
            case "GROUPREF":
                return self.groups.get(argument, "")
            case "ATOMIC_GROUP":
                return self.sample(argument)
            case _:  # positions and assertions match no text
                return ""

    def _repeat(self, least: int, most: int, tree: Any) -> str:
        if self.words and len(tree) == 1 and str(tree[0][0]) in _OF_ONE and self.random.random() < _SHARE_OF_WORDS:
            word = self.random.choice(self.words)
            return self.random.choice((word, f"1{word}", f"1{word}2"))
        top = min(int(most), max(least, _MAX_REPEAT))
        times = least if self.shortest else self.random.randint(least, top)
        return "".join(self.sample(tree) for _ in range(times))

    def _one_of(self, characters: Any) -> str:
        # Sorted: a set of texts has another order in each process, and the same seed would choose another character.
        choices = sorted(set(characters))
        return self.random.choice(choices) if choices else ""


def _members(items: Any) -> str:
    """Return the characters of a set that are in a small alphabet, or that it names."""
    found: set[str] = set()
    negated = False
    for code, argument in items:
        match str(code):
            case "NEGATE":
                negated = True
            case "LITERAL":
                found.add(chr(argument))
            case "RANGE":
                low, high = argument
                found |= {chr(number) for number in range(low, min(high, low + 40) + 1)}
            case "CATEGORY":
                found |= set(_CLASSES.get(str(argument)) or _NOT_CLASSES.get(str(argument), ""))
            case _:
                pass
    return "".join(set(_ALPHABET) - found) if negated else "".join(found)
