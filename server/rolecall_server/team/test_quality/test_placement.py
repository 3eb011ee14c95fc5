"""The files that are for tests, who of the team writes which, and where new tests of a file belong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from enum import StrEnum
from pathlib import PurePosixPath

from rolecall_analysis import Snapshot, is_python, is_test, is_test_path, name_for_tests, tests_of
from rolecall_server.sandbox import is_test_file
from rolecall_server.workspace import Workspace, file_exists

_SOURCE_FOLDERS = ("src", "lib")
_TEST_FOLDERS = frozenset(("test", "tests"))
_AROUND_TESTS = frozenset(("__init__.py", "conftest.py"))
_TEST_NAME = re.compile(r"test(_|[A-Z])")
_TEST_FILE = re.compile(r"test_.+|.+_test")
_TESTS_ON_A_PAGE = 8


class Whose(StrEnum):
    """The one of the team who writes a file."""

    ENGINEER = "the Engineer"
    TESTER = "the QA Engineer"
    NOBODY = "nobody"
    """Neither a task names it nor is it for tests: whoever needs it gives a reason."""


def whose(path: str, task_files: Collection[str], design_files: Collection[str], snapshot: Snapshot) -> Whose:
    """Return who writes *path*, where one role writes the code and another the tests.

    The tasks decide first: what one of them names is code, whatever it is called. Then what the repository keeps at
    that place. A new file that the design names, and no task, is what tasks leave out: a file of tests.
    """
    if path in task_files:
        return Whose.ENGINEER
    if is_for_tests(snapshot, path) or (path in design_files and is_python(path) and path not in snapshot.files):
        return Whose.TESTER
    return Whose.NOBODY


def is_for_tests(snapshot: Snapshot, path: str) -> bool:
    """Return whether *path* is a file of tests, or for them: by what is there, and by its name where nothing is."""
    if any(_is_below_tests(snapshot, str(folder), path) for folder in PurePosixPath(path).parents if folder.name):
        return True
    if not (is_test(snapshot, path) or is_test_path(path) or is_test_file(path)):
        return False
    return path not in snapshot.files or _lies_among_tests(path) or _holds_tests(snapshot, path)


def _lies_among_tests(path: str) -> bool:
    """Return whether *path* is named like a file of tests in a folder named so: it may hold no test yet."""
    place = PurePosixPath(path)
    return place.parent.name in _TEST_FOLDERS and _TEST_FILE.fullmatch(place.stem) is not None


def _is_below_tests(snapshot: Snapshot, folder: str, path: str) -> bool:
    """Return whether *folder* is one for tests, and *path* below it no module of the product's."""
    here = [one for one in snapshot.files if str(PurePosixPath(one).parent) == folder and is_python(one)]
    modules = [one for one in here if PurePosixPath(one).name not in _AROUND_TESTS]
    n_tests = sum(_holds_tests(snapshot, one) for one in modules)
    if PurePosixPath(folder).name in _TEST_FOLDERS:
        return n_tests > 0 or not modules
    is_product = path in snapshot.files and is_python(path) and PurePosixPath(path).name != "conftest.py"
    return 2 * n_tests > len(modules) and (not is_product or _holds_tests(snapshot, path))


def _holds_tests(snapshot: Snapshot, path: str) -> bool:
    """Return whether a file that exists has a test; of other languages its name tells."""
    if not is_python(path):
        return is_test_file(path)
    return any(one.kind != "variable" and _TEST_NAME.match(one.name) for one in snapshot.files[path].definitions)


def choose_test_path(workspace: Workspace, snapshot: Snapshot, path: str) -> str:
    """Return the test file to extend or to create for *path*.

    An existing one that is named after it wins; then the only one that imports it; else a new one, named and
    placed like the repository's other tests, or ``tests/test_<name>.py`` where there are none.
    """
    stem = PurePosixPath(path).stem.strip("_") or "module"
    if stem == "init":  # what is left of `__init__`
        stem = PurePosixPath(path).parent.name or "package"
    existing = [test for test in tests_of(snapshot, path) if PurePosixPath(test).name != "conftest.py"]
    names = {name.lower() for name in (f"test_{stem}.py", f"{stem}_test.py", name_for_tests(snapshot, stem))}
    named = [test for test in existing if PurePosixPath(test).name.lower() in names]
    if named:
        return named[0]
    others = [test for test in snapshot.files if is_test(snapshot, test)]
    by_name = [test for test in others if PurePosixPath(test).name.lower() in names]
    namesakes = [other for other in snapshot.files if other != path and PurePosixPath(other).stem == stem]
    if len(by_name) == 1 and not namesakes:
        return by_name[0]
    if len(existing) == 1 and len(others) == 1:
        return existing[0]
    return _new_path(workspace, snapshot, others, path, stem)


def choose_style_example(snapshot: Snapshot, path: str, test_path: str) -> str | None:
    """Return the test file that a new one for *path* at *test_path* should look like.

    The best one that tests *path*; else the nearest by folder, of about a page. ``None`` where there are no tests.
    """
    existing = tests_of(snapshot, path)
    if existing:
        return existing[0]
    folder = PurePosixPath(test_path).parent

    def distance(other: str) -> tuple[int, int, str]:
        parts = PurePosixPath(other).parent.parts
        shared = sum(a == b for a, b in zip(parts, folder.parts, strict=False))
        n_tests = sum(definition.kind != "variable" for definition in snapshot.files[other].definitions)
        # The path comes last, so that equals do not hang on the order in which files were read.
        return len(parts) + len(folder.parts) - 2 * shared, abs(n_tests - _TESTS_ON_A_PAGE), other

    return min((other for other in snapshot.files if is_test(snapshot, other)), key=distance, default=None)


def _new_path(workspace: Workspace, snapshot: Snapshot, others: list[str], path: str, stem: str) -> str:
    name = name_for_tests(snapshot, stem)
    tests = [test for test in others if _serves(snapshot, test, path)]
    if not tests:
        return f"tests/{name}"
    folder = (
        _mirrored_folder(tests, path) or Counter(str(PurePosixPath(test).parent) for test in tests).most_common(1)[0][0]
    )
    candidate = str(PurePosixPath(folder) / name)
    if file_exists(workspace, candidate):
        parent = PurePosixPath(path).parent.name
        longer = f"{parent}_{stem}" if parent else f"{stem}_more"
        candidate = str(PurePosixPath(folder) / name_for_tests(snapshot, longer))
    return candidate


def _serves(snapshot: Snapshot, test: str, path: str) -> bool:
    """Return whether the folder of *test* is for the tests of *path*: not where it belongs to other code around it."""
    folders = PurePosixPath(test).parent.parts
    place = next((number for number, folder in enumerate(folders) if folder in _TEST_FOLDERS), 0)
    around = folders[:place]
    if PurePosixPath(path).parts[:place] == around:
        return True
    code = (one for one in snapshot.files if is_python(one) and not is_for_tests(snapshot, one))
    return not any(PurePosixPath(one).parts[:place] == around for one in code)


def _mirrored_folder(tests: list[str], path: str) -> str | None:
    """Return the folder of tests that mirrors the source folder of *path*, if the repository has it."""
    parts = [part for part in PurePosixPath(path).parent.parts if part not in _SOURCE_FOLDERS]
    folders = {str(PurePosixPath(test).parent) for test in tests}
    for start in range(len(parts)):
        tail = "/".join(parts[start:])
        mirrored = sorted(folder for folder in folders if folder.endswith(f"/{tail}"))
        if mirrored:
            return mirrored[0]
    return None
