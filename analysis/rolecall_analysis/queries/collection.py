"""The files that are tests: by their names, and by what the repository's settings of pytest collect."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from configparser import Error as ConfigParserError
from configparser import RawConfigParser
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any, cast

from rolecall_analysis.modules import split_location
from rolecall_analysis.queries.definitions import definitions_in
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import Definition


def is_test_path(path: str) -> bool:
    """Return whether pytest, unittest or Django would collect the file by its name."""
    name = split_location(path)[1]
    if not name.endswith(".py"):
        return False
    stem = name.removesuffix(".py")
    return stem.startswith("test_") or stem.endswith("_test") or stem in {"test", "tests"}


def is_test(snapshot: Snapshot, path: str) -> bool:
    """Return whether the repository's own collection takes *path* for tests.

    That is, by the names and folders in its settings of pytest. ``tests.py``, which Django collects and pytest does
    not, counts where it holds a test case, imports pytest, or the settings name it: it may as well be a module of the
    product.
    """
    if not path.endswith(".py") or is_conftest(path):
        return False
    collection = snapshot.derived("collection", _collection)
    if collection.folders and not any(f"{path}/".startswith(f"{folder}/") for folder in collection.folders):
        return False
    name = split_location(path)[1]
    if any(fnmatch(name, pattern) for pattern in collection.names):
        return True
    return is_test_path(path) and path in snapshot.files and _holds_test_case(snapshot, path)


def name_for_tests(snapshot: Snapshot, stem: str) -> str:
    """Return the name of a file of tests for the module *stem* that the repository's own collection takes.

    Of several, the one that is shaped as most of the tests are.
    """
    names = snapshot.derived("collection", _collection).names
    usual = [shape for shape in _NAMES if any(fnmatch(shape.replace("*", stem), pattern) for pattern in names)]
    shapes = usual or [name for name in names if name.count("*") == 1] or [*_NAMES]
    tests = [split_location(path)[1] for path in snapshot.files if is_test(snapshot, path)]
    return max(shapes, key=lambda shape: sum(fnmatch(test, shape) for test in tests)).replace("*", stem)


def is_conftest(path: str) -> bool:
    """Return whether pytest imports *path* for the tests below its folder."""
    return split_location(path)[1] == "conftest.py"


def is_test_function(definition: Definition) -> bool:
    """Return whether pytest would collect *definition* in a test file: ``def test_total``."""
    return definition.kind in ("function", "method") and definition.name.startswith("test")


_NAMES = ("test_*.py", "*_test.py")
"""The names that pytest collects where the settings do not say."""


@dataclass(frozen=True, slots=True)
class _Collection:
    """The settings of a repository that say where its tests are."""

    names: tuple[str, ...]
    folders: tuple[str, ...]
    """Empty: all of them."""


def _collection(snapshot: Snapshot) -> _Collection:
    sections = (_section(snapshot, path, section) for path, section in _SETTINGS)
    settings = next(filter(None, sections), _NO_SETTINGS)
    names, folders = settings.get("python_files", ()), settings.get("testpaths", ())
    known = tuple(folder.strip("./") for folder in folders if not set(folder) & set("*?["))
    # pytest falls back on everything where none of them is there.
    there = tuple(folder for folder in known if any(path.startswith(f"{folder}/") for path in snapshot.files))
    # A folder may be given as a pattern, which is not followed here: then no folder is left out.
    return _Collection(names or _NAMES, there if len(known) == len(folders) else ())


_SETTINGS = (
    ("pytest.toml", "pytest"),
    (".pytest.toml", "pytest"),
    ("pytest.ini", "pytest"),
    (".pytest.ini", "pytest"),
    ("pyproject.toml", "tool.pytest"),
    ("tox.ini", "pytest"),
    ("setup.cfg", "tool:pytest"),
)
"""Where pytest looks for its settings, in its order, and the section they stand in."""


_NO_SETTINGS: Mapping[str, tuple[str, ...]] = {}


def _section(snapshot: Snapshot, path: str, section: str) -> Mapping[str, tuple[str, ...]]:
    """Return the settings of pytest in one file, each a list of words; none where it holds none."""
    text = snapshot.text(path)
    if text is None or section not in text:
        return {}
    try:
        return _toml_section(text, section) if path.endswith(".toml") else _ini_section(text, section)
    except (ValueError, RecursionError, ConfigParserError):
        return {}


def _toml_section(text: str, section: str) -> Mapping[str, tuple[str, ...]]:
    found: Any = tomllib.loads(text)
    for key in section.split("."):
        found = _table(found, key)
    # `[tool.pytest.ini_options]` is the older form of `[tool.pytest]`.
    found = _table(found, "ini_options") or found
    return {key: _words(found[key]) for key in ("python_files", "testpaths") if key in found}


def _table(found: Any, key: str) -> Any:
    inner: Any = found.get(key, {})
    return cast("Any", inner) if isinstance(inner, dict) else {}


def _ini_section(text: str, section: str) -> Mapping[str, tuple[str, ...]]:
    # Raw, because pytest takes a `%` in a value for what it is.
    parser = RawConfigParser(strict=False, allow_no_value=True)
    parser.read_string(text)
    found = dict(parser.items(section)) if parser.has_section(section) else {}
    return {key: _words(found[key]) for key in ("python_files", "testpaths") if found.get(key)}


def _words(value: object) -> tuple[str, ...]:
    return tuple(map(str, cast("list[object]", value))) if isinstance(value, list) else tuple(str(value).split())


def _holds_test_case(snapshot: Snapshot, path: str) -> bool:
    if any(one.module == "pytest" for one in snapshot.files[path].imports):
        return True
    return any(
        definition.kind == "class" and any(base.endswith("TestCase") for base in definition.bases)
        for definition in definitions_in(snapshot, path)
    )
