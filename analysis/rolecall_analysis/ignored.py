"""Paths that a repository leaves out: folders that tools made, and what git ignores by its own files and the user's."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from rolecall_analysis.programs import run_git
from rolecall_analysis.values import Problem

IGNORED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages", "__pypackages__"})
"""Folders that hold what tools made. Those that begin with a dot are ignored as well, unless asked for as git does."""

VERSION_CONTROL = frozenset({".git", ".hg", ".jj", ".svn"})
"""Folders in which the history lies."""

BUILD_FOLDERS = frozenset({"build", "dist", "htmlcov"})
"""Ignored unless they are packages."""

ENVIRONMENT_MARKERS = ("pyvenv.cfg", "conda-meta")
"""A folder with one of these is an environment, not source."""

GITIGNORE = ".gitignore"

MAX_GITIGNORE_BYTES = 100_000
"""Bytes after these are not read: some 10,000 patterns."""

MAX_PATTERN_CHARACTERS = 1_000

MAX_STARS = 4
"""A pattern is matched by trying all ways to divide a name among its stars; with many, one name takes hours."""

_STAR = re.compile(r"(?<!\*)\*(?!\*)")


@dataclass(frozen=True, slots=True)
class Rules:
    """The patterns of one ``.gitignore``."""

    folder: str
    """Where it lies: its patterns see paths from there. Empty for the root."""
    groups: tuple[tuple[bool, re.Pattern[str]], ...] = ()
    """Neighbouring patterns that say the same (ignore, or do not) as one expression each, the last first."""
    problems: tuple[str, ...] = ()
    way: str = ""
    """The folders between it and the root, where it lies above the root: ``packages/app/``."""

    def verdict(self, path: str) -> bool | None:
        """Return whether *path*, with ``/`` at its end if it is a folder, is ignored; None if no pattern says so."""
        below = path[len(self.folder) + 1 :] if self.folder else self.way + path
        return next((ignores for ignores, pattern in self.groups if pattern.fullmatch(below)), None)


def read_rules(text: str, folder: str = "") -> Rules:
    """Return the rules that *text* states, as the ``.gitignore`` of *folder*.

    Lines that are no pattern are passed over.
    """
    groups: list[tuple[bool, list[str]]] = []
    problems: list[str] = []
    for line in text.splitlines():
        if len(_STAR.findall(line)) > MAX_STARS or len(line) > MAX_PATTERN_CHARACTERS:
            problems.append(f"The pattern {line[:60]!r} takes too long to match; it was left out.")
            continue
        ignores, expression = _pattern(line)
        if not expression:
            continue
        if not groups or groups[-1][0] != ignores:
            groups.append((ignores, []))
        groups[-1][1].append(expression)
    # In git the last pattern that matches decides, so the last group is tried first.
    compiled = [(ignores, re.compile("|".join(found), re.DOTALL)) for ignores, found in reversed(groups)]
    return Rules(folder, tuple(compiled), tuple(problems))


def _pattern(line: str) -> tuple[bool, str]:
    """Return whether *line* ignores what it matches, and the expression that matches it; an empty one if the line is no
    pattern.
    """
    try:
        expression, ignores = GitIgnoreSpecPattern.pattern_to_regex(line)
        if not isinstance(expression, str):
            return False, ""
        re.compile(whole := _whole(expression))
    except (ValueError, re.error):
        return False, ""
    return bool(ignores), whole


def _whole(regex: str) -> str:
    """Return *regex*, an expression of pathspec's that also matches what is below the named thing, for the named thing
    alone.
    """
    # What pathspec makes of `*` and `**`, then of `*/` and `**/`, then of `a/**`, which is all that is below `a`.
    # In the others the group `ps_d` stands where a path goes on below the named thing.
    if regex == ".":
        return ".+"
    if regex == "(?P<ps_d>/)":
        return ".*/"
    if "?P<ps_d>" not in regex:
        return f"{regex}.+"
    return regex.replace("?P<ps_d>", "?:")


@dataclass(slots=True)
class Ignored:
    """The rules on what is left out below *root*, as they are when they are first asked for; they are read once.

    Folders are asked for before what is in them, as a walk does: of an ignored folder nothing can be brought back.
    """

    root: Path
    problems: list[Problem] = field(default_factory=list[Problem])
    """The problems of the rules that were read."""
    as_git_does: bool = False
    """Folders that begin with a dot, and those that builds are made in, count unless a rule names them."""
    _rules: dict[str, tuple[Rules, ...] | None] = field(default_factory=dict[str, "tuple[Rules, ...] | None"])
    """Those that hold in each folder, the outermost first; None for a folder that is left out."""

    def rules_in(self, folder: str, has: Callable[[str], bool] | None = None) -> tuple[Rules, ...] | None:
        """Return the rules for what is in *folder*, None if it is left out; *has* says which names a walk has seen
        there.
        """
        waiting = [folder]
        while waiting:
            current = waiting[-1]
            above = current.rpartition("/")[0]
            if current in self._rules:
                waiting.pop()
            elif current and above not in self._rules:
                waiting.append(above)
            else:
                self._rules[current] = self._enter(current, has if current == folder else None)
        return self._rules[folder]

    def _enter(self, folder: str, has: Callable[[str], bool] | None) -> tuple[Rules, ...] | None:
        above = self._rules[folder.rpartition("/")[0]] if folder else rules_above(self.root)
        # A walk passes links by; who asks for a single path has to be told the same.
        if has is None:
            if folder and is_there(self.root / folder, Path.is_symlink):
                return None
            has = _finder_in(self.root / folder)
        if folder and (above is None or self.leaves_out(folder, above) or self._holds_what_tools_made(folder, has)):
            return None
        assert above is not None
        if not has(GITIGNORE):
            return above
        own = read_rules(_text(self.root / folder / GITIGNORE), folder)
        self.problems.extend(Problem(f"{folder}/{GITIGNORE}".lstrip("/"), what) for what in own.problems)
        return (*above, own)

    def leaves_out(self, folder: str, rules: Iterable[Rules]) -> bool:
        """Return whether *folder* is left out by its name, or by the *rules* of the folder it lies in."""
        name = folder.rpartition("/")[2]
        by_name = name in VERSION_CONTROL if self.as_git_does else name.startswith(".")
        return by_name or name in IGNORED_FOLDERS or is_ignored(f"{folder}/", tuple(rules))

    def _holds_what_tools_made(self, folder: str, has: Callable[[str], bool]) -> bool:
        if not self.as_git_does and folder.rpartition("/")[2] in BUILD_FOLDERS and not has("__init__.py"):
            return True
        return any(has(marker) for marker in ENVIRONMENT_MARKERS)


def _finder_in(location: Path) -> Callable[[str], bool]:
    return lambda name: is_there(location / name)


def is_there(location: Path, kind: Callable[[Path], bool] = Path.exists) -> bool:
    """Return whether there is something of that *kind* at *location*; false where access is denied."""
    try:
        return kind(location)
    except (OSError, ValueError):
        return False


def is_ignored(path: str, rules: tuple[Rules, ...]) -> bool:
    """Return whether *rules*, the outermost first, leave out *path*; a folder's path ends with ``/``."""
    verdicts = (one.verdict(path) for one in reversed(rules))
    return next((verdict for verdict in verdicts if verdict is not None), False)


def governed_by(path: str) -> str:
    """Return *path*, or the folder in which *path* decides, by its existence or its content, which files are
    left out.
    """
    folder, _, name = path.rpartition("/")
    if path == ".git/info/exclude":
        return ""
    makes_a_package = name == "__init__.py" and folder.rpartition("/")[2] in BUILD_FOLDERS
    return folder if name == GITIGNORE or name in ENVIRONMENT_MARKERS or makes_a_package else path


def rules_above(root: Path) -> tuple[Rules, ...]:
    """Return git's rules for *root* from above: ``core.excludesFile``, ``info/exclude``, ``.gitignore`` files.

    None of it counts where *root* itself is left out: who opens such a folder means to see what is in it.
    """
    top = next((folder for folder in (root, *root.parents) if is_there(folder / ".git")), None)
    if top is None:
        return ()
    inside = root.relative_to(top).parts
    # In git's order of precedence, the weakest first: whoever looks for a verdict begins at the end.
    found = [(0, read_rules(_text(excludes))) for excludes in (_users_excludes(top), _git_folder(top) / "info/exclude")]
    found += [(depth, read_rules(_text(top.joinpath(*inside[:depth], GITIGNORE)))) for depth in range(len(inside))]
    for end in range(1, len(inside) + 1):
        verdicts = (rules.verdict(_way(inside[depth:end])) for depth, rules in reversed(found) if depth < end)
        if next((verdict for verdict in verdicts if verdict is not None), False):
            return ()
    return tuple(replace(rules, way=_way(inside[depth:])) for depth, rules in found if rules.groups)


def _way(folders: Iterable[str]) -> str:
    return "".join(f"{folder}/" for folder in folders)


@cache
def _users_excludes(top: Path) -> Path:
    """Return the file of what the user leaves out of every repository, as git names it; it is asked once."""
    named = run_git(top, "config", "--type=path", "--get", "core.excludesFile")
    # `Path.expanduser` raises where a user has no home directory.
    usual = Path(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "git/ignore")  # noqa: PTH111
    return top / named.removesuffix("\n") if named else usual


def _git_folder(top: Path) -> Path:
    """Return the folder where git keeps what it knows of the work tree *top*; a linked work tree shares that of the
    main one.
    """
    marker = top / ".git"
    if not is_there(marker, Path.is_file):
        return marker
    git_folder = top / _text(marker).removeprefix("gitdir:").strip()
    return git_folder / (_text(git_folder / "commondir").strip() or ".")


def _text(path: Path) -> str:
    """Return the text of a small file; empty if it cannot be read."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as stream:
            return stream.read(MAX_GITIGNORE_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
