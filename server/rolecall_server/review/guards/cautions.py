"""Cautions to know before accepting a hunk: that the file acts on its own, that a line hides something."""

from __future__ import annotations

from functools import lru_cache

from rolecall_server.review.guards.guarded_paths import PROGRAM, why_protected
from rolecall_server.review.guards.hidden_characters import HiddenCharacter, hidden_characters, is_code
from rolecall_server.review.proposals.proposal import FileChange, Hunk, HunkKind

_MAX_PLACES = 3
_why_protected = lru_cache(4096)(why_protected)


def cautions(change: FileChange, hunk: Hunk) -> tuple[str, ...]:
    """Return a sentence for each thing to know; its lines are counted among those that the hunk adds. Most hunks have
    none.
    """
    guarded = [f"{path} is guarded: {why}." for path, why in _guards(change, hunk)]
    hidden = _hidden_in(change, hunk)
    more = len(hidden) - _MAX_PLACES
    told = [f"What it adds hides something: {one.sentence}" for one in hidden[:_MAX_PLACES]]
    return (*guarded, *told, *([f"So do {more} more places."] if more > 0 else []))


def caution_mark(change: FileChange, hunk: Hunk) -> str:
    """`` [guarded: pytest runs it before any test; hides characters]``, or nothing: what a title has room for."""
    marks = [f"guarded: {why}" for _, why in _guards(change, hunk)]
    marks += ["hides characters"] if _hidden_in(change, hunk) else []
    return f" [{'; '.join(marks)}]" if marks else ""


def _guards(change: FileChange, hunk: Hunk) -> list[tuple[str, str]]:
    paths = (change.path, change.renamed_to) if hunk.kind is HunkKind.RENAME else (change.path,)
    named = [(path, why) for path in paths if (why := _why_protected(path)) is not None]
    is_moved_program = hunk.kind is HunkKind.RENAME and change.executable and change.renamed_to not in dict(named)
    return [*named, (change.renamed_to, PROGRAM)] if is_moved_program else named


def _hidden_in(change: FileChange, hunk: Hunk) -> tuple[HiddenCharacter, ...]:
    removed = change.base_lines[hunk.start : hunk.end]
    return _hidden(hunk.new_lines, removed, change.base or "", is_code(change.renamed_to or change.path))


@lru_cache(1024)
def _hidden(added: tuple[str, ...], removed: tuple[str, ...], known: str, in_code: bool) -> tuple[HiddenCharacter, ...]:
    """`hidden_characters`, once for each hunk: diagnostics are made anew at every keystroke."""
    plain = [line.rstrip("\r\n") for line in added]
    return hidden_characters(plain, [line.rstrip("\r\n") for line in removed], is_code=in_code, known=known)
