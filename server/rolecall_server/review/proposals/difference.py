"""The lines that two texts have in common.

Lines that occur once in each text are matched first, the longest rising sequence of them; what lies between two of
them is compared by itself. That reads better than the longest common stretches, and costs a fraction: a proposal
leaves nearly every line alone.

Source: Bram Cohen's patience diff.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

Run = tuple[int, int, int]
"""Where a stretch begins in the old lines and in the new ones, and how many lines it has."""

Range = tuple[int, int, int, int]
"""Start and end in the old lines, start and end in the new ones."""


def matching_runs(old: Sequence[str], new: Sequence[str]) -> list[Run]:
    """Return the stretches that *old* and *new* have in common, in order and as long as they can be; none is empty."""
    runs: list[Run] = []
    waiting: list[Range] = [(0, len(old), 0, len(new))]
    while waiting:
        old_start, old_end, new_start, new_end = waiting.pop()
        head = _n_equal(old, new, old_start, new_start, min(old_end - old_start, new_end - new_start))
        _add(runs, (old_start, new_start, head))
        old_start, new_start = old_start + head, new_start + head
        tail = _n_equal_before(old, new, old_end, new_end, min(old_end - old_start, new_end - new_start))
        middle = old_start, old_end - tail, new_start, new_end - tail
        if tail:
            # The list is taken from its end: the tail goes on it first, for runs are found in the order of the text.
            waiting.append((old_end - tail, old_end, new_end - tail, new_end))
        if old_start < old_end - tail and new_start < new_end - tail:
            waiting.extend(_between_anchors(old, new, middle))
    return runs


def changed_ranges(old: Sequence[str], new: Sequence[str]) -> Iterator[Range]:
    """Yield each range of *old* with the range of *new* that replaces it, between the runs that both have in common."""
    done_old = done_new = 0
    for start_old, start_new, size in (*matching_runs(old, new), (len(old), len(new), 0)):
        if (done_old, done_new) != (start_old, start_new):
            yield done_old, start_old, done_new, start_new
        done_old, done_new = start_old + size, start_new + size


def _add(runs: list[Run], run: Run) -> None:
    start_old, start_new, size = run
    if not size:
        return
    if runs and (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]) == (start_old, start_new):
        runs[-1] = (*runs[-1][:2], runs[-1][2] + size)
    else:
        runs.append(run)


def _n_equal(old: Sequence[str], new: Sequence[str], i: int, j: int, most: int) -> int:
    """Return the number of lines from *i* and *j* on that are equal, *most* at most."""
    n = 0
    while n < most and old[i + n] == new[j + n]:
        n += 1
    return n


def _n_equal_before(old: Sequence[str], new: Sequence[str], i: int, j: int, most: int) -> int:
    """Return the number of lines just before *i* and *j* that are equal, *most* at most."""
    n = 0
    while n < most and old[i - n - 1] == new[j - n - 1]:
        n += 1
    return n


def _between_anchors(old: Sequence[str], new: Sequence[str], within: Range) -> list[Range]:
    """Return the parts of *within* that are compared separately, the last one first; each but the first begins with a
    match.
    """
    old_start, old_end, new_start, new_end = within
    anchors = _rising(_unique_pairs(old, new, within))
    if not anchors:
        matcher = SequenceMatcher(None, old[old_start:old_end], new[new_start:new_end], autojunk=False)
        blocks = matcher.get_matching_blocks()
        # Each part is then one stretch in common, which the search for equal heads takes whole.
        return [(old_start + i, old_start + i + n, new_start + j, new_start + j + n) for i, j, n in reversed(blocks)]
    parts: list[Range] = []
    i, j, matched = old_start, new_start, old_start
    for k, m in anchors:
        if k >= matched:  # else the match before goes through it
            parts.append((i, k, j, m))
            i, j, matched = k, m, k + _n_equal(old, new, k, m, min(old_end - k, new_end - m))
    parts.append((i, old_end, j, new_end))
    return parts[::-1]


def _unique_pairs(old: Sequence[str], new: Sequence[str], within: Range) -> list[tuple[int, int]]:
    """Return the places of the lines that occur once in each range, in the order of *old*."""
    old_start, old_end, new_start, new_end = within
    places: dict[str, int] = {}
    for i in range(old_start, old_end):
        # -1 stands for a line that occurs more than once, which is no anchor.
        places[old[i]] = -1 if old[i] in places else i
    counterparts: dict[str, int] = {}
    for j in range(new_start, new_end):
        line = new[j]
        if places.get(line, -1) >= 0:
            counterparts[line] = -1 if line in counterparts else j
    return sorted((places[line], j) for line, j in counterparts.items() if j >= 0)


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of *pairs* whose second numbers rise as well."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for n, (_, j) in enumerate(pairs):
        at = bisect_left(tails, j)
        before.append(ends[at - 1] if at else -1)
        # Slices, because *at* may lie one past the end: then they append.
        tails[at : at + 1] = [j]
        ends[at : at + 1] = [n]
    chain: list[tuple[int, int]] = []
    n = ends[-1] if ends else -1
    while n >= 0:
        chain.append(pairs[n])
        n = before[n]
    return chain[::-1]
