"""Where new tests of a file belong: with the tests it has, else where the repository keeps tests."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath

from rolecall_analysis import Snapshot, is_test_path, tests_of
from rolecall_server.workspace import Workspace, file_exists

_SOURCE_FOLDERS = ("src", "lib")
_TESTS_ON_A_PAGE = 8


def choose_test_path(workspace: Workspace, snapshot: Snapshot, path: str) -> str:
    """The test file to extend or to create for *path*.

    An existing one that is named after it wins; then the only one that imports it; else a new one, named and
    placed like the repository's other tests, or ``tests/test_<name>.py`` where there are none.
    """
    stem = PurePosixPath(path).stem.strip("_") or "module"
    if stem == "init":
        stem = PurePosixPath(path).parent.name or "package"
    existing = [test for test in tests_of(snapshot, path) if PurePosixPath(test).name != "conftest.py"]
    named = [test for test in existing if _names(test, stem)]
    if named:
        return named[0]
    others = [test for test in snapshot.files if is_test_path(test) and PurePosixPath(test).name != "conftest.py"]
    by_name = [test for test in others if _names(test, stem)]
    namesakes = [other for other in snapshot.files if other != path and PurePosixPath(other).stem == stem]
    if len(by_name) == 1 and not namesakes:
        return by_name[0]
    if len(existing) == 1 and len(others) == 1:
        return existing[0]
    return _new_path(workspace, others, path, stem)


def choose_style_example(snapshot: Snapshot, path: str, test_path: str) -> str | None:
    """The test file that a new one for *path* at *test_path* should look like.

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
        return len(parts) + len(folder.parts) - 2 * shared, abs(n_tests - _TESTS_ON_A_PAGE), other

    return min((other for other in snapshot.files if is_test_path(other)), key=distance, default=None)


def _names(test: str, stem: str) -> bool:
    return PurePosixPath(test).stem.lower() in (f"test_{stem}".lower(), f"{stem}_test".lower())


def _new_path(workspace: Workspace, tests: list[str], path: str, stem: str) -> str:
    suffixed = sum(PurePosixPath(test).stem.endswith("_test") for test in tests) > len(tests) / 2
    name = f"{stem}_test.py" if suffixed else f"test_{stem}.py"
    if not tests:
        return f"tests/{name}"
    folder = (
        _mirrored_folder(tests, path) or Counter(str(PurePosixPath(test).parent) for test in tests).most_common(1)[0][0]
    )
    candidate = str(PurePosixPath(folder) / name)
    if file_exists(workspace, candidate):
        parent = PurePosixPath(path).parent.name
        candidate = str(PurePosixPath(folder) / name.replace(stem, f"{parent}_{stem}" if parent else f"{stem}_more"))
    return candidate


def _mirrored_folder(tests: list[str], path: str) -> str | None:
    """The folder of tests that mirrors the source folder of *path*, if the repository has it."""
    parts = [part for part in PurePosixPath(path).parent.parts if part not in _SOURCE_FOLDERS]
    folders = {str(PurePosixPath(test).parent) for test in tests}
    for start in range(len(parts)):
        tail = "/".join(parts[start:])
        mirrored = sorted(folder for folder in folders if folder.endswith(f"/{tail}"))
        if mirrored:
            return mirrored[0]
    return None
