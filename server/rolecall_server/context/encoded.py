"""Texts in another dress: in hexadecimal digits, in base64, as numbers of characters, backwards, in pieces."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from rolecall_server.text_work import look_at_the_clock

MIN_CHARACTERS = 8
"""Shorter texts stand somewhere in any long output."""

_ZERO_FOR_OTHERS = dict.fromkeys(map(ord, "ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ"), "0")
"""Puts a digit for each letter that is none, so that a whole text can be decoded at once."""
_NUMBERS = re.compile(r"(?<!\d)\d{2,3}(?:[^\d]{1,4}\d{2,3}){7,4000}(?!\d)")
_NUMBER = re.compile(r"\d+")
_TURN = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")
# Of its own length: a value that spreads over so much text stands in pieces.
_SCATTERED = 1.6
_URL_SAFE = str.maketrans("-_", "+/")


@dataclass(frozen=True)
class _Squeezed:
    """The characters of a text that belong to an alphabet, each with its place."""

    text: str
    kept: str
    """The alphabet, as a regular expression whose group is one character."""

    @cached_property
    def _matches(self) -> list[tuple[str, int]]:
        return [(match[1], match.start(1)) for match in re.finditer(self.kept, self.text)]

    @cached_property
    def characters(self) -> str:
        return "".join(character for character, _ in self._matches)

    def place(self, begin: int, end: int) -> tuple[int, int]:
        """Return where the characters from *begin* to *end* stand in the text."""
        end = min(end, len(self._matches))
        return self._matches[begin][1], self._matches[end - 1][1] + 1


@lru_cache(maxsize=256)  # the messages of a conversation are sent again and again
def find_encoded(text: str, watched: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Return the places in *text* where one of *watched* stands encoded; where it stands as it is, is none."""
    wanted = [one for one in watched if len(one) >= MIN_CHARACTERS]
    if not wanted or len(text) < MIN_CHARACTERS:
        return ()
    found = {*_in_pieces(text, wanted), *_in_hex(text, wanted), *_in_base64(text, wanted), *_in_numbers(text, wanted)}
    return tuple(sorted(place for place in found if text[slice(*place)] not in wanted))


def _in_pieces(text: str, wanted: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where one of *wanted* stands backwards, or with other characters in between."""
    squeezed = _Squeezed(text, r"([A-Za-z0-9])")
    for one in wanted:
        look_at_the_clock()
        plain = re.sub(r"[^A-Za-z0-9]", "", one)
        for way in (plain, plain[::-1]) if len(plain) >= MIN_CHARACTERS else ():
            places = (squeezed.place(at, at + len(way)) for at in occurrences(squeezed.characters, way))
            # Words stand with other signs in between where nobody hides them: `DEBUG = true`.
            is_telling = way != plain or (len(_TURN.findall(one)) > 1 and not re.search(r"\s", one))
            yield from (place for place in places if is_telling or place[1] - place[0] >= _SCATTERED * len(one))


def _in_hex(text: str, wanted: Sequence[str]) -> Iterator[tuple[int, int]]:
    squeezed = _Squeezed(text, r"(?:0x|\\x|%)?([0-9A-Za-z])")
    digits = squeezed.characters.translate(_ZERO_FOR_OTHERS)
    # Two digits are one byte, and nothing tells which digit is the first of a pair: both are tried.
    for skipped in (0, 1):
        whole = (len(digits) - skipped) // 2 * 2
        # Latin-1 gives one character for each byte, so that a place in it leads back to a place in the text.
        decoded = bytes.fromhex(digits[skipped : skipped + whole]).decode("latin-1")
        for at, end in _both_ways(decoded, wanted):
            yield squeezed.place(skipped + 2 * at, skipped + 2 * end)


def _in_base64(text: str, wanted: Sequence[str]) -> Iterator[tuple[int, int]]:
    squeezed = _Squeezed(text, r"([A-Za-z0-9+/_-])")
    characters = squeezed.characters.translate(_URL_SAFE) + "AAA"  # ends the last group of four, padded or not
    for skipped in range(4):
        whole = (len(characters) - skipped) // 4 * 4
        decoded = base64.b64decode(characters[skipped : skipped + whole]).decode("latin-1")
        for at, end in _both_ways(decoded, wanted):
            # Three bytes are four characters, and a value need not begin with the first of three.
            yield squeezed.place(skipped + at // 3 * 4, skipped + -(-end // 3) * 4)


def _in_numbers(text: str, wanted: Sequence[str]) -> Iterator[tuple[int, int]]:
    for run in _NUMBERS.finditer(text):
        numbers = [int(number) for number in _NUMBER.findall(run[0])]
        decoded = "".join(chr(number) for number in numbers)
        if any(True for _ in _both_ways(decoded, wanted)):
            yield run.span()


def _both_ways(decoded: str, wanted: Sequence[str]) -> Iterator[tuple[int, int]]:
    for one in wanted:
        look_at_the_clock()
        raw = one.encode("utf-8", "replace").decode("latin-1")
        for way in (raw, raw[::-1]):
            yield from ((at, at + len(way)) for at in occurrences(decoded, way))


def occurrences(text: str, wanted: str) -> Iterator[int]:
    """Yield where *wanted* begins in *text*, without overlaps."""
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + len(wanted))
