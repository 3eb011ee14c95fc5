"""The lines of the repository that have the rare names of a brief: what else would have to change, where it is told.

A model that is not shown them begins with a search for them, and each such round sends all that was shown once more.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rolecall_analysis import Problem
from rolecall_analysis.folder import files_below
from rolecall_analysis.ignored import Ignored
from rolecall_server.context.items import ContextItem, PackSource
from rolecall_server.context.orientation import ROOT, is_changelog
from rolecall_server.workspace import privacy_of, read_text_or_none, split_lines

_MOST_TOKENS = 400
_MOST_NAMES = 8
_MOST_OF_NAME = 5
"""Lines shown of one name; where there are more, their number is told, and of each file the first."""
_MOST_PLACES = 40
"""A name on more lines says little about any of them."""
_FEWEST_CHARACTERS = 4
_MOST_CHARACTERS = 120
"""Of one line."""
_MOST_FILES = 2_000
_CODE_LIKE = re.compile(r"\b(?:[A-Za-z_]*[a-z][A-Z]\w*|_*[A-Za-z]\w*_\w*|__\w+|\d+(?:\.\d+){1,3}|\w+(?=\(\)))")
_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_WORD = re.compile(r"[A-Za-z_]\w+")
_LOCKED = re.compile(r"(?:^|[./-])lock(?:\.\w+)?$|\.min\.\w+$")
Place = tuple[str, int, str]
"""A file, a line from 1, and its text."""


def mentions(view: PackSource, brief: str, shown: Sequence[ContextItem]) -> Iterator[ContextItem]:
    """Yield the lines that have the names of *brief* and are not among those *shown*, the rarest name first; nothing
    where there are none.
    """
    names = names_in(brief)
    if not names:
        return
    text = ""
    for line in _told(_places(view, names), shown):
        if view.count_tokens(text + line) > _MOST_TOKENS:
            break
        text += line
    if text:
        yield ContextItem(ROOT, "Where else names of the brief stand", "notes", text, 1, view.count_tokens(text))


def names_in(brief: str) -> tuple[str, ...]:
    """Return the words of *brief* that look like code: with an underscore, a capital within, behind them `()`, or in
    backticks; and numbers of versions. Names of Python itself are none.
    """
    quoted = (word for quote in _QUOTED.findall(brief) for word in _WORD.findall(quote))
    found = dict.fromkeys([*quoted, *_CODE_LIKE.findall(brief)])
    kept = (name for name in found if len(name) >= _FEWEST_CHARACTERS and not hasattr(builtins, name))
    return tuple(kept)[:_MOST_NAMES]


def _places(view: PackSource, names: Sequence[str]) -> Mapping[str, list[Place]]:
    """Return the lines that have each of *names*, in the order of files."""
    patterns = {name: re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)") for name in names if name[0].isdigit()}
    patterns |= {name: re.compile(rf"\b{name}\b") for name in names if name not in patterns}
    places: dict[str, list[Place]] = {name: [] for name in names}
    for path in _files(view):
        text = read_text_or_none(view.workspace, path) or ""
        present = [name for name in names if name in text]
        for number, line in enumerate(split_lines(text) if present else (), 1):
            for name in present:
                if patterns[name].search(line):
                    places[name].append((path, number, line))
    return places


def _files(view: PackSource) -> list[str]:
    """Return the files that git would read and a model may see, without changelogs and lock files, the shallowest
    first.
    """
    is_private = privacy_of(view.workspace)
    ignored = Ignored(view.workspace.root, as_git_does=True)
    found = [one.path for one in files_below(ignored, "", lambda path: True) if not isinstance(one, Problem)]
    kept = [path for path in found if not (is_private(path) or is_changelog(path) or _LOCKED.search(path))]
    return sorted(kept, key=lambda path: (path.count("/"), path))[:_MOST_FILES]


def _told(places: Mapping[str, Sequence[Place]], shown: Iterable[ContextItem]) -> Iterator[str]:
    """Yield a line for each place that is not *shown*, and one before those of a name of which not all are told."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    for item in shown:
        ranges.setdefault(item.path, []).extend(item.lines)
    for name, found in sorted(places.items(), key=lambda one: len(one[1])):
        if not found:
            yield f"{name} stands nowhere.\n"
        rest = [one for one in found if not any(first <= one[1] <= last for first, last in ranges.get(one[0], ()))]
        if not rest or len(found) > _MOST_PLACES:
            continue
        if len(rest) > _MOST_OF_NAME:
            yield f"{name}: {len(rest)} lines in {len({path for path, _, _ in rest})} files, of each file the first:\n"
            rest = list({place[0]: place for place in reversed(rest)}.values())[::-1][:_MOST_OF_NAME]
        yield from (f"{path}:{number}: {' '.join(line.split())[:_MOST_CHARACTERS]}\n" for path, number, line in rest)
