"""The questions a model can ask about the repository, each a function from its arguments to the text of the answer."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, Field

from rolecall_analysis import Definition, callers, definitions_in, is_test, references, tests_of
from rolecall_server.context.items import outline as outline_of
from rolecall_server.craft.lookups.sources import (
    MAX_ANSWER_TOKENS,
    LookupSources,
    bounded,
    find_named,
    may_be_shown,
    numbered,
    place_of,
    shown_lines,
)
from rolecall_server.errors import NotFound

_MAX_DEFINITIONS = 4
_MAX_PLACES = 60


class Named(BaseModel):
    """A function, class or variable of the repository."""

    name: str = Field(description="plain or dotted: total, Cart.total", min_length=1, max_length=200)
    path: str = Field("", description="the file that defines it; empty: wherever it is defined")


class InFile(BaseModel):
    """A file of the repository."""

    path: str = Field(description="relative to the root: shop/price.py", min_length=1)


class Lines(BaseModel):
    """Some lines of a file."""

    path: str = Field(description="relative to the root", min_length=1)
    first: int = Field(1, ge=1, description="counted from 1")
    last: int = Field(200, ge=1, description="about 150 lines fit into one answer, which says where to go on")


def definition(sources: LookupSources, named: Named) -> str:
    """Return the text of the definition that *named* names, with its place.

    Raises:
        NotFound: the repository defines nothing of that name.
    """
    return bounded(sources, _texts(sources, find_named(sources, named.name, named.path)), "It is empty.")


def _texts(sources: LookupSources, found: list[Definition]) -> Iterator[str]:
    for one in found[:_MAX_DEFINITIONS]:
        yield f"{one.path}:"
        yield from numbered(shown_lines(sources, one.path), one.span.start.line + 1, one.span.end.line + 1)
    for one in found[_MAX_DEFINITIONS:]:
        yield f"and {place_of(one)}"


def uses_of(sources: LookupSources, named: Named) -> str:
    """Return every place that names the definition, certain ones first.

    Raises:
        NotFound: the repository defines nothing of that name.
    """
    target = find_named(sources, named.name, named.path)[0]
    occurrences = references(sources.view.snapshot, target, include_definition=False)
    places = dict.fromkeys((one.path, one.span.start.line + 1, one.certain) for one in occurrences)
    return bounded(sources, _at(sources, list(places)), f"Nothing names {target.qualified_name}.")


def callers_of(sources: LookupSources, named: Named) -> str:
    """Return every call that may reach the definition, certain ones first.

    Raises:
        NotFound: the repository defines nothing of that name.
    """
    target = find_named(sources, named.name, named.path)[0]
    sites = callers(sources.view.snapshot, target)
    places = dict.fromkeys((site.path, site.call.span.start.line + 1, site.certain) for site in sites)
    return bounded(sources, _at(sources, list(places)), f"Nothing calls {target.qualified_name}.")


def _at(sources: LookupSources, places: list[tuple[str, int, bool]]) -> Iterator[str]:
    """``shop/cart.py:5: return total(cart)``, or ``… (possibly)`` where it could not be followed."""
    visible = [place for place in places if may_be_shown(sources, place[0])]
    for path, line, certain in visible[:_MAX_PLACES]:
        lines = shown_lines(sources, path)
        text = lines[line - 1].strip() if line <= len(lines) else ""
        yield f"{path}:{line}: {text}{'' if certain else ' (possibly)'}"
    if len(visible) > _MAX_PLACES:
        yield f"and {len(visible) - _MAX_PLACES} more places"


def outline(sources: LookupSources, file: InFile) -> str:
    """Return the definitions of a file, by signature.

    Raises:
        FileRefused: it cannot be read, or is kept from models.
    """
    # For its refusals alone: of a file that may not be shown, no outline may be either.
    shown_lines(sources, file.path)
    lines = [line for item in outline_of(sources.view, file.path, "") for line in item.text.splitlines()]
    return bounded(sources, lines, f"{file.path} defines nothing.")


def read_lines(sources: LookupSources, lines: Lines) -> str:
    """Return some lines of a file with their numbers, as many as an answer holds, and where to go on.

    Raises:
        FileRefused: it cannot be read, or is kept from models.
        NotFound: it has no such lines.
    """
    text = shown_lines(sources, lines.path)
    if lines.first > min(lines.last, max(len(text), 1)):
        raise NotFound(f"{lines.path} has {len(text):,} lines.", "Ask for `first` to `last` among them.")
    told: list[str] = []
    left = MAX_ANSWER_TOKENS
    for line in numbered(text, lines.first, lines.last):
        left -= sources.view.count_tokens(line) + 1
        if left < 0:
            break
        told.append(line)
    return "\n".join([*told, _rest(lines, len(told), len(text))])


def _rest(lines: Lines, n_told: int, n_lines: int) -> str:
    """Return which lines of how many those are, and where to go on."""
    last = lines.first + n_told - 1
    if not n_lines:
        return f"{lines.path} is empty."
    shown = f"(lines {lines.first} to {last} of {n_lines:,}"
    if last >= n_lines:
        return f"{shown})"
    limit = "; no more fit into one answer" if last < min(lines.last, n_lines) else ""
    return f"{shown}{limit}; go on with first={last + 1})"


def list_tests(sources: LookupSources, file: InFile) -> str:
    """Return the tests that reach a file, or those in a test file."""
    snapshot = sources.view.snapshot
    paths = (file.path,) if is_test(snapshot, file.path) else tests_of(snapshot, file.path)
    names = [
        f"{path}: {one.qualified_name.replace('.', '::')}"
        for path in paths
        if may_be_shown(sources, path)
        for one in definitions_in(snapshot, path)
        if one.kind in ("function", "method") and one.name.startswith("test")
    ]
    return bounded(sources, names, f"No test reaches {file.path}.")
