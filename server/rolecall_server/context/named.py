"""The files that a brief names: whole where they are short, else the passages that it is about; and the commits that it
names, as their diffs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path, PurePosixPath

from rolecall_analysis import definitions_in, is_test
from rolecall_analysis.retrieval.history.commits import MAX_FILES
from rolecall_analysis.retrieval.history.committed import commit_of, diff_of, message_of, paths_changed_in
from rolecall_server.context.found import found_within
from rolecall_server.context.items import NO_ROOM, ContextItem, LeftOut, PackSource, check_shown, lines_of, whole_file
from rolecall_server.errors import FileRefused
from rolecall_server.workspace import Workspace, file_exists, split_lines

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
_COMMIT = re.compile(r"\b[0-9a-f]{7,40}\b")
_MAX_COMMITS = 2
_MAX_FILES_OF_COMMIT = 3
_MAX_TITLE = 100
"""Characters of the first line of a commit's message."""
_REASON = "the brief names it"


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


def named_passages(
    view: PackSource, path: str, brief: str, room_tokens: int, reason: str = _REASON
) -> Iterator[ContextItem | LeftOut]:
    """Yield all of *path* if it takes no more than its share of the room; else of code its top level and what *brief*
    is about, of other text its first lines and those about what *brief* quotes.

    What is mentioned on the fewest lines comes first: a name on every page says little about any of them.
    """
    budget = int(room_tokens * _SHARE)
    try:
        check_shown(view, path)
        whole = whole_file(view, path, reason)
    except FileRefused as error:
        yield LeftOut(path, reason, "file", 1, 0, error.what)
        return
    if whole.tokens <= budget:
        yield whole
        return
    if definitions_in(view.snapshot, path):
        yield found_within(view, path, brief, int(room_tokens * _SHARE_OF_CODE), reason)
        return
    lines = split_lines(whole.text)
    for first, last in _merged(_chosen(view, lines, brief, budget)):
        yield lines_of(view, path, first, last, f"{reason}: lines {first + 1} to {last + 1} of {len(lines)}")


def named_commits(root: Path, brief: str) -> tuple[str, ...]:
    """Return the ids of the first two commits of the repository at *root* that *brief* names by the beginning of their
    ids, at least seven characters.
    """
    # A word that is no commit costs a run of git; a brief with a log in it may have hundreds.
    words = [*dict.fromkeys(_COMMIT.findall(brief))][: 4 * _MAX_COMMITS]
    return tuple(dict.fromkeys(filter(None, (commit_of(root, word) for word in words))))[:_MAX_COMMITS]


def changes_in_commit(
    view: PackSource, commit: str, known: Collection[str], room_tokens: int
) -> Iterator[ContextItem | LeftOut]:
    """Yield what *commit* changed in each of its files, as far as that fits its share of the room; then the code there
    as it is now, of the first files that are not *known* to be shown anyway.
    """
    root = view.workspace.root
    title = message_of(root, commit).partition("\n")[0][:_MAX_TITLE]
    named = f'commit {commit[:10]}, "{title}", which the brief names'
    diffs = {path: diff_of(root, commit, path) for path in paths_changed_in(root, commit)[:MAX_FILES]}
    left = int(room_tokens * _SHARE_OF_CODE)
    for path, diff in diffs.items():
        tokens = view.count_tokens(diff)
        if not diff:  # a mode alone, or bytes
            continue
        reason = f"changed so by {named}"
        if tokens > left:
            yield LeftOut(path, reason, "diff", 1, tokens, NO_ROOM)
            continue
        left -= tokens
        yield ContextItem(path, reason, "diff", diff, 1, tokens)
    code = [one for one in diffs if one in view.snapshot.files and not is_test(view.snapshot, one)]
    shown = [one for one in code if one not in known][:_MAX_FILES_OF_COMMIT]
    for path in shown:
        reason = f"as it is now, where {named}, changed it"
        yield from named_passages(view, path, diffs[path], room_tokens // len(shown), reason)


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
