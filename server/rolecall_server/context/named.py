"""What a brief names: files, whole where they are short, else the passages that it is about; and where its rare names
stand elsewhere.

A model that is not shown these lines begins with a search for them, and each such round sends all once more.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from rolecall_analysis import Problem, definitions_in
from rolecall_analysis.folder import files_below
from rolecall_analysis.ignored import Ignored
from rolecall_server.context.found import found_within
from rolecall_server.context.items import ContextItem, LeftOut, PackSource, check_shown, lines_of, whole_file
from rolecall_server.context.orientation import ROOT, is_changelog
from rolecall_server.errors import FileRefused
from rolecall_server.workspace import Workspace, file_exists, privacy_of, read_text_or_none, split_lines

_SHARE = 0.12
"""Of the room, for each."""
_SHARE_OF_CODE = 0.2
"""Of the room, for the parts of a file that defines things."""
_SHARE_OF_TOP = 0.3
"""Of that, for the first lines: a changelog goes on there."""
_LINES_AROUND = 6
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*")
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_QUOTED = re.compile(r"`([^`\n]+)`")
_PROSE = ("", ".md", ".rst", ".txt")
_REASON = "the brief names it"
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
_WORD = re.compile(r"[A-Za-z_]\w+")
_LOCKED = re.compile(r"(?:^|[./-])lock(?:\.\w+)?$|\.min\.\w+$")
Place = tuple[str, int, str]
"""A file, a line from 1, and its text."""


def named_files(workspace: Workspace, brief: str) -> tuple[str, ...]:
    """Return the files of the repository that *brief* names by their path or, for prose at the root, by their title.

    ``docs/index.rst`` and ``README.md`` are paths; "the changelog" is the title of ``CHANGELOG.rst``.

    Raises:
        FileRefused: the workspace is no folder that can be read.
    """
    # A path at the end of a sentence comes with the full stop.
    words = [word.rstrip(".-") for word in _PATH.findall(brief)]
    titles = {path.name: path.stem.lower() for path in _files_at(workspace.root) if path.suffix in _PROSE}
    spoken = {word.lower() for word in words}
    by_path = [word for word in words if PurePosixPath(word).suffix and _is_there(workspace, word)]
    by_title = [name for name, title in titles.items() if title in spoken and _is_there(workspace, name)]
    return tuple(dict.fromkeys((*by_path, *by_title)))


def _files_at(root: Path) -> list[Path]:
    """Return what lies in the folder *root*, in order.

    Raises:
        FileRefused: it is no folder, or cannot be read.
    """
    try:
        return sorted(root.iterdir())
    except OSError as error:
        raise FileRefused(f"{root} cannot be read: {error.strerror}.", "Open a folder that is there.") from error


def _is_there(workspace: Workspace, path: str) -> bool:
    try:
        return file_exists(workspace, path)
    except FileRefused:  # it leads out of the workspace
        return False


def named_passages(view: PackSource, path: str, brief: str, room_tokens: int) -> Iterator[ContextItem | LeftOut]:
    """Yield all of *path* if it takes no more than its share of the room; else of code its top level and what *brief*
    is about, of other text its first lines and those about what *brief* quotes.

    What is mentioned on the fewest lines comes first: a name on every page says little about any of them.
    """
    budget = int(room_tokens * _SHARE)
    try:
        check_shown(view, path)
        whole = whole_file(view, path, _REASON)
    except FileRefused as error:
        yield LeftOut(path, _REASON, "file", 1, 0, error.what)
        return
    if whole.tokens <= budget:
        yield whole
        return
    if definitions_in(view.snapshot, path):
        yield found_within(view, path, brief, int(room_tokens * _SHARE_OF_CODE), _REASON)
        return
    lines = split_lines(whole.text)
    for first, last in _merged(_chosen(view, lines, brief, budget)):
        yield lines_of(view, path, first, last, f"{_REASON}: lines {first + 1} to {last + 1} of {len(lines)}")


def _chosen(view: PackSource, lines: Sequence[str], brief: str, budget: int) -> set[int]:
    """Return the numbers of the lines to show, from 0."""
    chosen: set[int] = set()
    left = budget
    for number, line in enumerate(lines):
        if left < budget * (1 - _SHARE_OF_TOP):
            break
        chosen.add(number)
        left -= view.count_tokens(line)
    for mentions in _mentions(lines, brief):
        for mention in mentions:
            around = {*range(max(0, mention - _LINES_AROUND), min(len(lines), mention + _LINES_AROUND + 1))} - chosen
            cost = sum(view.count_tokens(lines[number]) for number in around)
            if cost > left:
                return chosen
            chosen |= around
            left -= cost
    return chosen


def _mentions(lines: Sequence[str], brief: str) -> list[list[int]]:
    """Return, for each name that *brief* quotes, the numbers of the lines that have it; those of the rarest
    name first.
    """
    names = dict.fromkeys(name for quoted in _QUOTED.findall(brief) for name in _NAME.findall(quoted))
    places = ([n for n, line in enumerate(lines) if re.search(rf"\b{name}\b", line)] for name in names)
    return sorted(filter(None, places), key=len)


def _merged(numbers: set[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last of each unbroken run of *numbers*."""
    firsts = sorted(number for number in numbers if number - 1 not in numbers)
    lasts = sorted(number for number in numbers if number + 1 not in numbers)
    yield from zip(firsts, lasts, strict=True)


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
