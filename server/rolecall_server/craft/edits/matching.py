"""Find the lines that a model copied in a text, and put others in their place; what stays keeps its own characters.

A model may lose what nobody sees: line endings, space at the end of a line, characters without a form, the difference
between kinds of space. A copy is found all the same, and the lines that it leaves alone are written back as they were.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rolecall_server.review.guards.hidden_characters import is_invisible
from rolecall_server.text_work import look_at_the_clock
from rolecall_server.workspace import split_lines

_TAB_WIDTHS = (4, 8, 2)
_MOST_LINES_SHOWN = 40
_LINES_AROUND = 2
_LEAST_LIKENESS = 0.5
_MOST_PAIRS = 1_000_000
"""Pairs of equal lines that are looked at once, for the longest run of them."""
_MOST_STEPS = 10_000_000
"""Pairs of equal lines, or characters, times the length of the shorter text: so often are they looked at, at worst.

Source: measured; the worst texts known take a third of a second.
"""
# Between so many the clock is looked at: `difflib` cannot be stopped once it compares.
_COMPARED_AT_ONCE = 10
_LONGEST_LIKE = 500
"""Characters of a line that is looked for among lines that are not the same."""
_LIKE_A_LINE_END = re.compile(r"[\v\f\x1c-\x1e\x85\u2028\u2029](?![\r\n])")
"""The characters that `str.splitlines` and many programs take for the end of a line, and editors do not."""
_BREAK = "\uf8ff"
"""No character of any language, and seen by nobody."""


@dataclass(frozen=True)
class Match:
    """The places where a copy of some lines stands in a text."""

    starts: tuple[int, ...]
    """From 0; empty where it stands nowhere."""
    respace: Callable[[str, str], str] = lambda line, found: line
    """Gives a new line the indentation of the lines *found*."""


@dataclass(frozen=True)
class Nearest:
    """The lines of a text that are most like some others."""

    first: int
    """From 1."""
    text: str


def find(lines: Sequence[str], search: Sequence[str]) -> Match:
    """Return where *search* stands in *lines*: as it is, or else as near to it as a copy may be."""
    # The strictest first: an exact copy must not lose to a looser one that stands earlier.
    for key in (_content, str.rstrip, _visible):
        look_at_the_clock()
        if starts := _equal([key(line) for line in lines], [key(line) for line in search]):
            return Match(starts)
    if places := _shifted(lines, search):
        return places
    for width in _TAB_WIDTHS:
        look_at_the_clock()

        def spread(line: str, width: int = width) -> str:
            return _visible(line).expandtabs(width)

        # Only after plain indentation: a tab may stand for any number of columns, and a guess may be wrong.
        if starts := _equal([spread(line) for line in lines], [spread(line) for line in search]):
            return Match(starts, lambda line, found, width=width: _indented_as(line, found, width))
    return Match(())


def put_in_place(text: str, start: int, search: Sequence[str], new: Sequence[str], places: Match) -> str:
    """Return *text* with *new* in place of the lines from *start*, which are a copy of *search*."""
    lines = split_lines(text)
    end = start + len(search)
    found = lines[start:end]
    # A line that is indented shows whether this place has tabs or spaces.
    style = next((line for line in found if line[:1] in (" ", "\t")), found[0])
    respaced = [places.respace(line, style) if line.strip() else line for line in new]
    written = list(_carried(found, search, new, respaced))
    # The file ended without a line end, and is to end so again.
    if written and end == len(lines) and found[-1] == _content(found[-1]):
        written[-1] = _content(written[-1])
    return "".join(_apart([*lines[:start], *written, *lines[end:]]))


def with_breaks(text: str) -> str:
    """Return *text* with a line end after each character that looks like one and that editors read on after.

    A model writes a line end in place of it. The line ends that are put in are known by a sign before them; a text
    that holds such signs is returned as it is.
    """
    return text if _BREAK in text else _LIKE_A_LINE_END.sub(rf"\g<0>{_BREAK}\n", text)


def without_breaks(text: str) -> str:
    """Return *text* without the line ends that `with_breaks` put in."""
    return text.replace(f"{_BREAK}\n", "").replace(_BREAK, "")


def nearest(lines: Sequence[str], search: Sequence[str]) -> Nearest | None:
    """Return the lines that are most like *search*; ``None`` where none is like any of it."""
    there, wanted = [_visible(line).strip() for line in lines], [_visible(line).strip() for line in search]
    at = _where_most_agree(there, wanted)
    if at is None:
        return None
    start = max(0, min(at, len(lines) - 1))
    shown = lines[start : start + min(len(search) + _LINES_AROUND, _MOST_LINES_SHOWN)]
    return Nearest(start + 1, "".join(_content(line) + "\n" for line in shown).rstrip())


def stands_in(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return where *wanted* stands in *lines*, from 1; ``None`` where it does not, or holds nothing to know it by."""
    if not any(len(line.strip()) > 1 for line in wanted):
        return None
    starts = _equal([_visible(line) for line in lines], [_visible(line) for line in wanted])
    return starts[0] + 1 if starts else None


def _content(line: str) -> str:
    return line.rstrip("\r\n")


def _visible(line: str) -> str:
    """Return *line* as it looks: without invisible characters, with each kind of space as a plain space, and with no
    space at its end.
    """
    if line.isascii() and _content(line).isprintable():
        return line.rstrip()
    seen = "".join(_look(character) for character in unicodedata.normalize("NFC", line))
    return seen.rstrip()


def _look(character: str) -> str:
    if unicodedata.category(character) == "Zs":
        return " "
    return "" if character == "\f" or is_invisible(character) else character


def _equal(lines: Sequence[str], search: Sequence[str]) -> tuple[int, ...]:
    """Return where *search* begins in *lines*; each line is looked at about twice, however alike they are.

    Source: Knuth, Morris and Pratt, "Fast pattern matching in strings" (1977).
    """
    falls = [0] * len(search)
    matched = 0
    for at in range(1, len(search)):
        while matched and search[at] != search[matched]:
            matched = falls[matched - 1]
        matched += search[at] == search[matched]
        falls[at] = matched
    starts: list[int] = []
    matched = 0
    for at, line in enumerate(lines):
        while matched and (matched == len(search) or line != search[matched]):
            matched = falls[matched - 1]
        matched += line == search[matched]
        if matched == len(search):
            starts.append(at - matched + 1)
    return tuple(starts)


def _shifted(lines: Sequence[str], search: Sequence[str]) -> Match | None:
    """Return the places where *search* stands with one and the same indentation more or less, blank lines aside;
    ``None`` if there are none.
    """
    there, wanted = [_visible(line) for line in lines], [_visible(line) for line in search]
    starts: list[int] = []
    shift = 0
    for at in _equal([line.strip() for line in there], [line.strip() for line in wanted]):
        found = there[at : at + len(wanted)]
        shifts = {_indent(a) - _indent(b) for a, b in zip(found, wanted, strict=True) if a.strip()}
        if len(shifts) == 1:
            starts.append(at)
            shift = shifts.pop()
    return Match(tuple(starts), lambda line, found: _moved(line, shift, found)) if starts else None


def _moved(line: str, shift: int, found: str) -> str:
    if shift >= 0:
        return ("\t" if found.startswith("\t") else " ") * shift + line
    return line[min(-shift, _indent(line)) :]


def _indented_as(line: str, found: str, width: int) -> str:
    """Return *line* with tabs before it where *found* has them, and spaces where that has spaces."""
    body = line.lstrip(" \t")
    n_columns = len(line[: len(line) - len(body)].expandtabs(width))
    if found.startswith("\t"):
        return "\t" * (n_columns // width) + " " * (n_columns % width) + body
    return " " * n_columns + body


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _carried(found: Sequence[str], search: Sequence[str], new: Sequence[str], respaced: Sequence[str]) -> Iterator[str]:
    """Yield the lines *new*: those that *search* has too as they stand in *found*, the others with what they share with
    lines of *found*.
    """
    for tag, old_start, old_end, start, end in _shared([*map(_content, search)], [*map(_content, new)]):
        if tag == "equal":
            yield from (line if line != _content(line) else f"{line}\n" for line in found[old_start:old_end])
            continue
        for offset in range(end - start):
            look_at_the_clock()
            line, old = _content(respaced[start + offset]), old_start + offset
            if old < old_end:
                line = _kept(_content(found[old]), search[old], new[start + offset], line)
            yield f"{line}\n"


def _kept(found: str, search: str, new: str, respaced: str) -> str:
    """Return the line *respaced*, which changes *search* to *new*, with the unseen characters of *found* that
    it keeps.
    """
    search, new = _content(search), _content(new)
    if found == search or _visible(found).strip() != _visible(search).strip():
        return respaced
    body, was, wanted = respaced.lstrip(" \t"), found.lstrip(" \t"), search.lstrip(" \t")
    margin = found[: len(found) - len(was)] if _margin(new) == _margin(search) else respaced[: _indent(respaced)]
    at = _alignment(wanted, was)
    if at is None:
        return respaced
    parts = [margin]
    for tag, start, end, to_start, to_end in _shared(wanted, body):
        parts.append(was[at[start] : at[end]] if tag == "equal" else body[to_start:to_end])
    return "".join(parts)


def _shared(old: Sequence[str], new: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """Return what *old* and *new* share as `difflib` has it; of long ones only what both begin and end with."""
    if _n_pairs(old, new) * min(len(old), len(new)) <= _MOST_STEPS:
        # False: else lines that occur often count as nothing, and long files would share less than they do.
        return difflib.SequenceMatcher(None, old, new, False).get_opcodes()
    least = min(len(old), len(new))
    n_before = next((at for at in range(least) if old[at] != new[at]), least)
    n_after = next((at for at in range(least - n_before) if old[-1 - at] != new[-1 - at]), least - n_before)
    old_end, end = len(old) - n_after, len(new) - n_after
    spans = [
        ("equal", 0, n_before, 0, n_before),
        ("replace", n_before, old_end, n_before, end),
        ("equal", old_end, len(old), end, len(new)),
    ]
    return [span for span in spans if span[1] < span[2] or span[3] < span[4]]


def _margin(line: str) -> str:
    return line[: _indent(line)]


def _alignment(search: str, found: str) -> list[int] | None:
    """Return the index in *found* of each character of *search*, and of the end; ``None`` if that cannot be told."""
    at: list[int] = []
    here = 0
    for character in search:
        at.append(here)
        look = _look(character)
        if look:
            while here < len(found) and not _look(found[here]):
                here += 1
            if here == len(found) or _look(found[here]) != look:
                return None if character.strip() else [*at, *[here] * (len(search) - len(at)), len(found)]
            here += 1
    return [*at, len(found)]


def _apart(lines: Sequence[str]) -> Iterator[str]:
    """Yield *lines*; end an empty line with two characters where a line feed alone would join the carriage return
    before it.
    """
    before = ""
    for line in lines:
        yield "\r\n" if line == "\n" and before.endswith("\r") else line
        before = line


def _where_most_agree(there: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return the line of *there* at which *wanted* would begin, judged by their longest common run, or else by one
    similar line.
    """
    telling = [line for line in wanted if 1 < len(line) <= _LONGEST_LIKE]
    if _n_pairs(there, wanted) <= _MOST_PAIRS:
        run = difflib.SequenceMatcher(None, there, wanted, False).find_longest_match()
        # Blank lines and single brackets agree nearly everywhere, and tell no place.
        if any(len(line) > 1 for line in there[run.a : run.a + run.size]):
            return run.a - run.b
    others = list(dict.fromkeys(one for one in there if 0 < len(one) <= _LONGEST_LIKE))
    for line in sorted(telling, key=len, reverse=True)[:3]:
        if close := _closest(line, others):
            return there.index(close[0]) - wanted.index(line)
    return None


def _closest(line: str, others: Sequence[str]) -> list[str]:
    """Return the one of *others* that is most like *line*, or none."""
    best: list[str] = []
    for at in range(0, len(others), _COMPARED_AT_ONCE):
        look_at_the_clock()
        rivals = [*best, *others[at : at + _COMPARED_AT_ONCE]]
        best = difflib.get_close_matches(line, rivals, n=1, cutoff=_LEAST_LIKENESS)
    return best


def _n_pairs(there: Sequence[str], wanted: Sequence[str]) -> int:
    """Return how many pairs of equal lines there are, each of which `difflib` looks at."""
    n_wanted = Counter(wanted)
    return sum(n * n_wanted[line] for line, n in Counter(there).items())
