"""The things that everybody must know of a repository: how it is run, what it holds, where changes are told."""

from __future__ import annotations

import configparser
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import PurePosixPath
from typing import Any, cast

from rolecall_analysis import definitions_in, is_test
from rolecall_server.context.items import ContextItem, PackSource, lines_of
from rolecall_server.workspace import Workspace, read_text_or_none, split_lines, why_private

ROOT = "."
"""The path of what is told of the repository as a whole."""
_CHANGELOGS = ("changelog", "changes", "history", "news", "release_notes", "release-notes", "releases", "versions")
_PROSE = (".md", ".rst", ".txt", "")
_MOST_OF_CHANGELOG = 300
_MOST_OF_MAP = 1_500
_SHARE_OF_TESTS = 0.35
"""Of the map, for the names of test files."""
_ASIDE = ("examples", "example", "docs", "doc", "benchmarks", "scripts", "tools")
"""Folders whose files come last."""
_MOST_HELD = 20
"""Names told of a folder without code."""
_LINES_OF_CHANGELOG = 24
_FEWEST_LINES = 4
_VERSION = re.compile(r"\d\.\d|unreleased", re.IGNORECASE)
_UNDERLINE = re.compile(r"[-=~^]{3,200}+\s*")
_NAMES_A_FILE = 6
_DECIDING = ("filterwarnings", "addopts", "testpaths", "pythonpath", "asyncio_mode", "xfail_strict", "norecursedirs")
"""Settings of pytest that decide how a test ends, or which are run."""
_CLASSIFIED = re.compile(r"Programming Language :: Python :: (\d+\.\d+)\b")
_IN_SETUP = re.compile(r"\bpython_requires\s*=\s*[\"']([^\"'\n]+)[\"']")
_LINTERS = ("ruff", "black", "isort", "flake8", "pylint", "mypy", "pyright", "ty")


def changelog(view: PackSource) -> Iterator[ContextItem]:
    """Yield the head of the changelog, where the repository keeps one."""
    for folder in ("", "docs", "doc"):
        names = filter(is_changelog, _names_in(view.workspace, folder))
        for name in sorted(names, key=lambda name: _CHANGELOGS.index(PurePosixPath(name).stem.lower())):
            items = [*head(view, f"{folder}/{name}" if folder else name)]
            if items:
                yield from items
                return


def is_changelog(path: str) -> bool:
    """Return whether *path* is named as changelogs are."""
    name = PurePosixPath(path)
    return name.stem.lower() in _CHANGELOGS and name.suffix in _PROSE


def head(view: PackSource, path: str) -> Iterator[ContextItem]:
    """Yield the first lines of the changelog *path*, and the last entries of its newest version where these are further
    below; nothing where it is empty, or kept from models.
    """
    if why_private(view.workspace, path) is None and (text := read_text_or_none(view.workspace, path)):
        heads = (lines_of(view, path, 0, n - 1, "the head of the changelog") for n in range(_LINES_OF_CHANGELOG, 0, -2))
        shown = next(one for one in heads if one.tokens <= _MOST_OF_CHANGELOG or one.last_line < _FEWEST_LINES)
        yield shown
        end = _end_of_newest(split_lines(text))
        if end > shown.last_line:
            begin = max(shown.last_line, end - _FEWEST_LINES)
            yield lines_of(view, path, begin, end - 1, "the last entries of its newest version")


def _end_of_newest(lines: Sequence[str]) -> int:
    """Return the number of lines down to the end of what a changelog says of its newest version; 0 where no other
    follows.
    """
    titles = [
        number
        for number, (line, below) in enumerate(pairwise([*lines, ""]))
        if _VERSION.search(line) and (line.startswith("#") or _UNDERLINE.fullmatch(below))
    ]
    end = titles[1] if titles[1:] else 0
    while end and not lines[end - 1].strip():
        end -= 1
    return end


def _names_in(workspace: Workspace, folder: str) -> list[str]:
    try:
        return sorted(one.name for one in (workspace.root / folder).iterdir() if one.is_file() or not folder)
    except OSError:
        return []


def how_it_runs(view: PackSource) -> Iterator[ContextItem]:
    """Yield three lines: Python and packages, how tests are run, how code is written; nothing where nothing is said."""
    project = _toml(view.workspace, "pyproject.toml")
    lines = [
        line
        for line in (_needs(view.workspace, project), _tests(view, project), _style(view.workspace, project))
        if line
    ]
    if lines:
        text = "\n".join(lines) + "\n"
        yield ContextItem(ROOT, "How this repository is run", "notes", text, 1, view.count_tokens(text))


def _needs(workspace: Workspace, project: Mapping[str, Any]) -> str:
    needs = _table(project.get("project")).get("dependencies")
    packages = ", ".join(str(one) for one in cast("Iterable[Any]", needs)) if isinstance(needs, list) else ""
    told = [supported_python(workspace), f"needs {packages}" if packages else ""]
    return "; ".join(part for part in told if part)


def supported_python(workspace: Workspace) -> str:
    """Return the versions of Python that the repository says it supports, such as ``Python >=3.9, declared for 3.9
    to 3.13``; empty where it does not say.
    """
    project = _toml(workspace, "pyproject.toml")
    declared = _table(project.get("project"))
    poetry = _table(_table(project.get("tool")).get("poetry"))
    setup = read_text_or_none(workspace, "setup.py") or ""
    in_setup = _IN_SETUP.search(setup)
    found = [
        declared.get("requires-python"),
        _table(poetry.get("dependencies")).get("python"),
        _section(workspace, "setup.cfg", "options").get("python_requires"),
        in_setup[1] if in_setup else None,
    ]
    least = next((one for one in found if isinstance(one, str) and one.strip()), "")
    classifiers = [
        *(str(one) for one in cast("Iterable[Any]", declared.get("classifiers") or ())),
        str(_section(workspace, "setup.cfg", "metadata").get("classifiers", "")),
        setup,
    ]
    named = {version for text in classifiers for version in _CLASSIFIED.findall(text)}
    # As numbers: as texts, 3.10 would go before 3.9.
    versions = sorted(named, key=lambda version: [int(part) for part in version.split(".")])
    told = [least, f"declared for {_from_to(versions)}" if versions else ""]
    text = ", ".join(part for part in told if part)
    return f"Python {text}" if text else ""


def _from_to(versions: Sequence[str]) -> str:
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def _tests(view: PackSource, project: Mapping[str, Any]) -> str:
    paths = [path for path in view.snapshot.files if is_test(view.snapshot, path)]
    settings = _pytest_settings(view.workspace, project)
    if not paths and not settings:
        return ""
    runner = "pytest" if settings or _uses_pytest(view, paths) else "unittest"
    decided = [f"{name} = {' '.join(str(settings[name]).split())}" for name in _DECIDING if name in settings]
    return "; ".join([f"Tests: python -m {runner}", *decided])


def _pytest_settings(workspace: Workspace, project: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings of pytest from the first file that pytest would take them from."""
    tool = _table(_table(project.get("tool")).get("pytest"))
    # Since version 9, pytest also reads its settings from `[tool.pytest]` itself.
    from_toml = _table(tool.get("ini_options")) or {name: value for name, value in tool.items() if name in _DECIDING}
    return (
        _section(workspace, "pytest.ini", "pytest")
        or from_toml
        or _section(workspace, "tox.ini", "pytest")
        or _section(workspace, "setup.cfg", "tool:pytest")
    )


def _section(workspace: Workspace, name: str, section: str) -> Mapping[str, Any]:
    # Raw: a `%` is a mere character here. Not strict: an option that stands there twice is no reason to read none.
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(read_text_or_none(workspace, name) or "")
    except configparser.Error:
        return {}
    return dict(parser[section]) if parser.has_section(section) else {}


def _uses_pytest(view: PackSource, paths: Sequence[str]) -> bool:
    facts = [view.snapshot.files[path] for path in paths]
    if any(one.module.partition(".")[0] == "pytest" for each in facts for one in each.imports):
        return True
    return any(one.kind == "function" and one.name.startswith("test") for each in facts for one in each.definitions)


def _style(workspace: Workspace, project: Mapping[str, Any]) -> str:
    tools = _table(project.get("tool"))
    own = _toml(workspace, "ruff.toml") or _toml(workspace, ".ruff.toml")
    used = [name for name in _LINTERS if name in tools or (name == "ruff" and own)]
    tables = (own, *(_table(tools.get(name)) for name in ("ruff", "black")))
    lengths = [table["line-length"] for table in tables if isinstance(table.get("line-length"), int)]
    told = [f"lines of at most {lengths[0]}" if lengths else "", f"checked by {', '.join(used)}" if used else ""]
    return "; ".join(part for part in told if part).capitalize()


def a_map(view: PackSource, likely: Sequence[str], shown: Collection[str], room_tokens: int) -> Iterator[ContextItem]:
    """Yield the paths of the repository with a line each, those in *likely* first, without those *shown*.

    One without code is said to have none.
    """
    files = [path for path in view.snapshot.files if why_private(view.workspace, path) is None]
    if not view.snapshot.files:
        names = [name for name in _names_in(view.workspace, "") if not name.startswith(".")]
        held = [name for name in names if why_private(view.workspace, name) is None][:_MOST_HELD]
        text = f"There is no code in it yet; it holds {', '.join(held) or 'no file'}.\n"
        yield ContextItem(ROOT, "What the repository holds", "notes", text, 1, view.count_tokens(text))
        return
    text = _paths(view, files, likely, shown, min(_MOST_OF_MAP, room_tokens))
    if text:
        yield ContextItem(ROOT, "The other files of the repository", "notes", text, 1, view.count_tokens(text))


def _paths(
    view: PackSource, files: Sequence[str], likely: Sequence[str], shown: Collection[str], room_tokens: int
) -> str:
    """Return the paths of *files* that are not *shown*, those in *likely* first, the tests by folder at the end."""
    known = [path for path in likely if path in view.snapshot.files and path not in shown]
    others = sorted(set(files) - {*known, *shown}, key=lambda path: (PurePosixPath(path).parts[0] in _ASIDE, path))
    # Where a test belongs is asked for most: what is cut off are other files.
    tests = _by_folder(view, [one for one in others if is_test(view.snapshot, one)], int(room_tokens * _SHARE_OF_TESTS))
    left = room_tokens - view.count_tokens(tests)
    rest = [*known, *(path for path in others if not is_test(view.snapshot, path))]
    lines: list[str] = []
    for path in rest:
        line = _line(view, path)
        left -= view.count_tokens(f"{line}\n")
        if left < 0:
            lines.append(f"… and {len(rest) - len(lines)} other files")
            break
        lines.append(line)
    return "".join(f"{line}\n" for line in lines) + tests


def _by_folder(view: PackSource, paths: Sequence[str], room_tokens: int) -> str:
    """Return a line for each folder with the names of the files in it, as ``tests/: test_a.py, test_b.py``, and how
    many there was no room for.
    """
    totals = accumulate(view.count_tokens(f"{PurePosixPath(path).name}, ") for path in paths)
    fitting = [PurePosixPath(path) for path, total in zip(paths, totals, strict=True) if total <= room_tokens]
    folders: dict[PurePosixPath, list[str]] = {}
    for path in fitting:
        folders.setdefault(path.parent, []).append(path.name)
    lines = [f"{folder}/: {', '.join(names)}" if folder.name else ", ".join(names) for folder, names in folders.items()]
    more = [f"… and {len(paths) - len(fitting)} other files of tests"] if len(fitting) < len(paths) else []
    return "".join(f"{line}\n" for line in [*lines, *more])


def _line(view: PackSource, path: str) -> str:
    """Return *path* and a few of the names that it defines at its top level; of tests the path says enough."""
    if is_test(view.snapshot, path):
        return path
    own = [one for one in definitions_in(view.snapshot, path) if one.kind != "variable" and not one.scope]
    names = [*dict.fromkeys(one.name for one in sorted(own, key=lambda one: one.name.startswith("_")))]
    more = f" and {len(names) - _NAMES_A_FILE} more" if len(names) > _NAMES_A_FILE else ""
    return f"{path}: {', '.join(names[:_NAMES_A_FILE])}{more}" if names else path


def _toml(workspace: Workspace, name: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(read_text_or_none(workspace, name) or "")
    except (ValueError, RecursionError):
        return {}


def _table(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
