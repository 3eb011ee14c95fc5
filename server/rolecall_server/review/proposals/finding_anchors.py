"""The place of a finding in a text as it is now: on its symbol, as long as that is what it was when it was found."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256

from rolecall_analysis import Definition, facts_of
from rolecall_server.review.proposals.evidence import Defect
from rolecall_server.workspace import split_lines


def print_of_symbol(path: str, text: str, symbol: str) -> str:
    """Return the fingerprint of the lines of *symbol* in *text*; of all of it where it has no such symbol."""
    definition = _definition(path, text, symbol)
    lines = split_lines(text)
    shown = lines[definition.span.start.line : definition.span.end.line + 1] if definition else lines
    # Neither indentation nor line endings make it another symbol; an editor may change both in the whole file.
    return sha256("".join(line.strip() + "\n" for line in shown).encode("utf-8", "surrogatepass")).hexdigest()


def line_of_defect(defect: Defect, text: str | None) -> int | None:
    """Return the line, from 0, on which *defect* lies in *text*; ``None`` where the symbol has changed or is gone."""
    if text is None or print_of_symbol(defect.path, text, defect.symbol) != defect.symbol_print:
        return None
    definition = _definition(defect.path, text, defect.symbol)
    return definition.span.start.line if definition else 0


@lru_cache(64)
def _definition(path: str, text: str, symbol: str) -> Definition | None:
    scope, _, name = symbol.rpartition(".")
    return next(iter(facts_of(path, text).definitions_by_name.get((scope, name), ())), None)
