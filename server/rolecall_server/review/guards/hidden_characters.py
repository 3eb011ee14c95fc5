"""Characters in added lines that a reader does not see, or takes for others.

Source: Boucher and Anderson, "Trojan Source" (2021), for order and look-alikes; Unicode Technical Report 36.
"""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

_BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BLANK = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2028\u2029\u2800\u3164\uffa0")
"""Drawn as nothing, or as a space, though their category says letter, mark or symbol."""

_JOINERS = frozenset("\u200c\u200d")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_EMOJI_SELECTORS = frozenset("\ufe0e\ufe0f")
_ORDINARY_CONTROLS = frozenset("\t\n\r\f")

_WORD = re.compile(r"\w+")
_ASCII_WORD = re.compile(r"[A-Za-z_]\w{2,}", re.ASCII)

_LOOKALIKES = {
    **dict(
        zip("\u0410\u0412\u0415\u0405\u0406\u0408\u041a\u041c\u041d\u041e\u0420\u0421", "ABESIJKMHOPC", strict=True)
    ),
    **dict(zip("\u0422\u0423\u0425\u04ae\u050c\u051a\u051c", "TYXYGQW", strict=True)),
    **dict(
        zip("\u0430\u0435\u0455\u0456\u0458\u043e\u0440\u0441\u0443\u0445\u04bb\u0501", "aesijopcyxhd", strict=True)
    ),
    **dict(zip("\u051b\u051d\u04cf\u0475", "qwlv", strict=True)),
    **dict(
        zip("\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4", "ABEZHIKMNOPT", strict=True)
    ),
    **dict(zip("\u03a5\u03a7\u03f9\u03f3\u03bf\u03bd\u03b9", "YXCjovi", strict=True)),
    **dict(zip("\u0555\u054f\u053c\u0570\u0578\u057d\u0581\u0585", "OSLhnugo", strict=True)),
    **dict(
        zip("\u13aa\u13f4\u13df\u13ac\u13bb\u13ab\u13e6\u13de\u13b7\u13e2\u13da\u13a2", "ABCEHJKLMPST", strict=True)
    ),
    **dict(zip("\u13d9\u13b3\u13c3", "VWZ", strict=True)),
    **dict(zip("\u0237\u0251\u0261\u0269\u1d04\u1d0f\u1d1c\u1d20\u1d21\u1d22\ua731", "jagicouvwzs", strict=True)),
    "\u0131": "i",
}
"""Letters of Cyrillic, Greek, Armenian, Cherokee and of phonetics that most fonts draw as they draw an ASCII one."""
_IN_WORDS_TOO = frozenset("\u0131")
"""Look-alikes that ordinary words hold beside ASCII letters: these are of Turkish."""
_BEGINS_WORDS = re.compile(r"[#'\"`]|//|/\*|--|<!--")
"""The characters that come before a comment or a string."""
_FAR = re.compile(r"(?<![ \t])[ \t]{80,}+(?=\S)")
"""More space than any line needs: what stands behind it lies outside most windows."""
_PROSE = frozenset({".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".asciidoc", ".org", ".tex", ".po", ".csv"})
_IN_EVERY_MODULE = frozenset({*dir(builtins), *keyword.kwlist})


@dataclass(frozen=True)
class HiddenCharacter:
    """One place in added lines that does not read as it looks."""

    line: int
    """Among the lines that were looked at, from 0."""
    column: int
    """From 0, in code points."""
    what: str
    """As ``an invisible character (U+200B ZERO WIDTH SPACE)``."""

    @property
    def sentence(self) -> str:
        """Return the sentence that a reviewer is told; counted from 1."""
        return f"Line {self.line + 1}, column {self.column + 1} holds {self.what}."


def hidden_characters(
    added: Sequence[str], removed: Collection[str] = (), *, is_code: bool = True, known: str = ""
) -> tuple[HiddenCharacter, ...]:
    """Return the characters hidden in the lines *added*, in order; a line that is among those *removed* was there
    before.

    In code, a word that mixes ASCII letters with others that look like them is told as well, and one that looks like
    a name of Python's, or another word of *added* or of *known*, the text around.
    """
    fresh = [(number, line) for number, line in enumerate(added) if line not in removed]
    if all(line.isascii() and line.isprintable() and not _FAR.search(line) for _, line in fresh):
        return ()
    words = (
        frozenset(_ASCII_WORD.findall("\n".join([known, *added]))) | _IN_EVERY_MODULE if is_code else frozenset[str]()
    )
    found = [
        HiddenCharacter(number, column, what)
        for number, line in fresh
        for column, what in (*_unseen(line), *(_disguised(line, words) if is_code else ()))
    ]
    return tuple(sorted(found, key=lambda one: (one.line, one.column)))


def is_code(path: str) -> bool:
    """Return whether the letters of the file at *path* are read by a program, as those of prose are not."""
    return PurePosixPath(path).suffix.lower() not in _PROSE


def _unseen(line: str) -> Iterator[tuple[int, str]]:
    for far in _FAR.finditer(line):
        yield far.start(), f"a run of {len(far[0])} spaces, behind which the line goes on"
    for column, character in enumerate(line):
        if character in _BIDIRECTIONAL:
            yield column, f"a character that turns the direction of writing ({_name(character)})"
        elif is_invisible(character) and not _is_shaping(line, column):
            yield column, f"an invisible character ({_name(character)})"


def is_invisible(character: str) -> bool:
    if character in _ORDINARY_CONTROLS:
        return False
    # Of unassigned and private characters nobody can say what a font draws.
    is_format = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Cn", "Co")
    return is_format or character in _BLANK or _SELECTORS.match(character) is not None


def _is_shaping(line: str, column: int) -> bool:
    """Return whether the character gives its neighbour its proper form: in an emoji, or in a script that joins its
    letters.
    """
    before = line[column - 1] if column else ""
    if not before or before.isascii():
        return False
    category = unicodedata.category(before)
    if line[column] in _EMOJI_SELECTORS:
        return category in ("So", "Sm", "Po")
    return line[column] in _JOINERS and (category in ("So", "Sk", "Lo", "Mn", "Mc") or before in _EMOJI_SELECTORS)


def _disguised(line: str, words: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield the words of *line* that are not spelled with the letters they seem to have."""
    for match in _WORD.finditer(line):
        word = match[0]
        if word.isascii():
            continue
        seen = "".join(_LOOKALIKES.get(letter, letter) for letter in word)
        # Turkish words in comments and strings need their dotless i, but none to look like a word in use.
        allowed = (
            _IN_WORDS_TOO if seen not in words and _BEGINS_WORDS.search(line, 0, match.start()) else frozenset[str]()
        )
        if (odd := _odd_letter(word, allowed)) is not None:
            yield match.start() + odd, f"{word!r}, which mixes Latin letters with {_name(word[odd])}"
        elif (plain := unicodedata.normalize("NFKC", word)).isascii() and _has_odd_form(word):
            yield match.start(), f"{word!r}, which Python reads as {plain!r}"
        elif seen in words:
            yield match.start(), f"{word!r}, which looks like {seen!r} but begins with {_name(word[0])}"


def _odd_letter(word: str, allowed: Collection[str]) -> int | None:
    """Return the index of the first letter of *word* that looks like a Latin one, if Latin ones stand beside it; else
    ``None``.
    """
    for part in re.finditer(r"[^\W\d_]+", word):
        if any(letter.isascii() for letter in part[0]):
            odd = next(
                (at for at, letter in enumerate(part[0]) if letter in _LOOKALIKES and letter not in allowed), None
            )
            if odd is not None:
                return part.start() + odd
    return None


def _has_odd_form(word: str) -> bool:
    return any(not letter.isascii() and unicodedata.category(letter) in ("Lu", "Ll") for letter in word)


def _name(character: str) -> str:
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X} {name}".rstrip()
