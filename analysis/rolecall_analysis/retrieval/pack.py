"""The best of a ranking within a token budget, each item as near as the budget lets it come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from io import StringIO
from typing import Literal

from rolecall_analysis.queries import definitions_in, find_definition
from rolecall_analysis.retrieval.ranking import Ranked
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition

Zoom = Literal["signature", "docstring", "body"]
"""From afar to near: the signature; with the docstring; the whole text. A file's are those of all it defines."""


SHARE_OF_SIGNATURES = 0.3
"""Of the budget, at most this much goes to knowing that more items exist, before any is shown from nearer."""
LARGEST_SHARE = 0.5
"""Of what is left, one body takes at most this much: a long function must not crowd out the next three."""


@dataclass(frozen=True, slots=True)
class PackedItem:
    """A piece of the repository, as near as it was worth."""

    path: str
    name: str
    """The qualified name; empty for a whole file."""
    zoom: Zoom
    text: str
    first_line: int
    """0-based; where the piece starts in the file."""
    tokens: int
    reasons: tuple[str, ...]
    """Why it is here, the strongest first."""


def pack(
    snapshot: Snapshot,
    ranked: Sequence[Ranked],
    budget_tokens: int,
    count_tokens: Callable[[str], int],
) -> tuple[PackedItem, ...]:
    """Return the items of *ranked* that fit into *budget_tokens*, in the order of the ranking.

    First come signatures, so that the tail is at least named; what is left brings the best items nearer, in order:
    to their whole text where that is affordable, else to their docstring. An item inside another one whose whole
    text is shown is left out.
    """
    items = _named(snapshot, ranked, int(budget_tokens * SHARE_OF_SIGNATURES), count_tokens)
    left = budget_tokens - sum(item.tokens for item in items)

    @cache
    def read_lines(path: str) -> list[str]:
        # With their ends, and not by `splitlines`, which also ends lines where the parser does not.
        return list(StringIO(snapshot.text(path) or "", newline=""))

    packed: list[PackedItem] = []
    for item in items:
        if any(_holds(other, item) for other in packed):
            # The other one shows its signature too: what that was to cost is free again.
            left += item.tokens
            continue
        nearest = next(_nearer(snapshot, read_lines, item, left, count_tokens), item)
        left -= nearest.tokens - item.tokens
        packed.append(nearest)
    # Once more: what holds an item may come after it in the ranking.
    return tuple(item for item in packed if not any(_holds(other, item) for other in packed))


def _named(
    snapshot: Snapshot, ranked: Sequence[Ranked], budget_tokens: int, count_tokens: Callable[[str], int]
) -> list[PackedItem]:
    """Return the signatures of as many items as fit, best first; one that does not fit is passed over."""
    items: list[PackedItem] = []
    for one in ranked:
        item = _at(snapshot, PackedItem(one.path, one.name, "signature", "", 0, 0, one.reasons), "signature", ())
        if item is None:
            continue
        tokens = count_tokens(item.text)
        if tokens <= budget_tokens:
            budget_tokens -= tokens
            items.append(replace(item, tokens=tokens))
    return items


def _nearer(
    snapshot: Snapshot,
    read_lines: Callable[[str], list[str]],
    item: PackedItem,
    left: int,
    count_tokens: Callable[[str], int],
) -> Iterator[PackedItem]:
    """Yield the same item in more detail, the most detailed first, as far as each costs no more than its share of what
    is *left*.
    """
    shares: tuple[tuple[Zoom, float], ...] = (("body", LARGEST_SHARE), ("docstring", 1.0))
    for zoom, share in shares:
        nearer = _at(snapshot, item, zoom, read_lines(item.path) if zoom == "body" else ())
        if nearer is None or nearer.text == item.text:
            continue
        tokens = count_tokens(nearer.text)
        if tokens - item.tokens <= left * share:
            yield replace(nearer, tokens=tokens)


def _at(snapshot: Snapshot, item: PackedItem, zoom: Zoom, lines: Sequence[str]) -> PackedItem | None:
    """Return *item* at another zoom; None where there is nothing to show."""
    definition = find_definition(snapshot, item.path, item.name) if item.name else None
    if item.name and definition is None:
        return None
    first_line = definition.span.start.line if definition else 0
    if zoom == "body":
        shown = _whole(lines, definition)
    elif definition is not None:
        shown = _introduced(definition, zoom)
    else:
        found = (d for d in definitions_in(snapshot, item.path) if d.kind != "variable")
        shown = "\n".join(_introduced(each, zoom) for each in found)
    return replace(item, zoom=zoom, text=shown, first_line=first_line) if shown else None


def _whole(lines: Sequence[str], definition: Definition | None) -> str:
    if definition is None:
        return "".join(lines)
    start, end = definition.span.start.line, definition.span.end
    last = "".join(lines[end.line : end.line + 1])[: end.column]
    return "".join((*lines[start : end.line], last))


def _introduced(definition: Definition, zoom: Zoom) -> str:
    """Return the signature, with the docstring where *zoom* asks for it, indented as deep as the definition stands."""
    indent = "    " * definition.qualified_name.count(".")
    lines = definition.signature.splitlines()
    if zoom == "docstring" and definition.docstring:
        lines += [f"    {line}" if line else "" for line in f'"""{definition.docstring}"""'.splitlines()]
    return "\n".join(indent + line if line else "" for line in lines)


def _holds(outer: PackedItem, inner: PackedItem) -> bool:
    """Return whether *outer* shows all that *inner* does."""
    if outer is inner or outer.zoom != "body" or outer.path != inner.path:
        return False
    return not outer.name or inner.name.startswith(f"{outer.name}.")
