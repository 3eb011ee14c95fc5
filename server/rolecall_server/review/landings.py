"""What decisions did to files, as a chain of texts by which they are known again.

An editor may apply an edit and die, answer late or never, undo it, or close the buffer unsaved. So nobody's word is
taken for what is in a file: each step is stored, with the fingerprints of the text before and after it, before the
editor is asked, and the text itself then says which steps stand in it. A text that is none of these was typed in,
or is an older one: its lines say what stands in it (`shelf.read_off`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from rolecall_server.store import LandingRow
from rolecall_server.workspace import BOM, sha256

Key = tuple[str, str]
"""A proposal and one of its hunks, by their ids."""

UNKNOWN = "?"
"""The fingerprint of a text that nobody saw."""


def fingerprint(text: str | None) -> str:
    """By what a text is known, its byte order mark apart, which some editors show; empty where there is no file."""
    return "" if text is None else sha256(text.removeprefix(BOM))


def n_standing(chain: Sequence[LandingRow], print_now: str) -> int | None:
    """How many steps of *chain*, from the first, stand in the text of that fingerprint; ``None``: it does not say."""
    if not chain or print_now == chain[-1].after:
        return len(chain)
    befores = (i for i, landing in enumerate(chain) if landing.before == print_now)
    afters = (i + 1 for i, landing in enumerate(chain) if landing.after == print_now)  # a text nobody saw came next
    return next(itertools.chain(befores, afters), None)


def hunks_in_text(chain: Sequence[LandingRow], n: int) -> dict[Key, bool]:
    """For each hunk that *chain* speaks of: whether it is in the text after the first *n* steps."""
    found: dict[Key, bool] = {}
    for landing in chain[n:]:  # what did not happen yet is as it was before the first step that speaks of it
        found = {key: not is_in for key, is_in in _effect(landing)} | found
    for landing in chain[:n]:
        found |= dict(_effect(landing))
    return found


def _effect(landing: LandingRow) -> Iterator[tuple[Key, bool]]:
    yield from (((landing.proposal_id, hunk_id), True) for hunk_id in landing.brought_in)
    yield from (((landing.proposal_id, hunk_id), False) for hunk_id in landing.taken_out)
