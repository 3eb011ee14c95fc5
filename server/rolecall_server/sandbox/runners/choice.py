"""The choice of the runner for a file, by its language and by what its package says."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from rolecall_server.sandbox.results import NotRun
from rolecall_server.sandbox.runners.cargo import CargoTests
from rolecall_server.sandbox.runners.go import GoTests
from rolecall_server.sandbox.runners.javascript import TEST_FILE, framework_of
from rolecall_server.sandbox.runners.jest import JEST, VITEST
from rolecall_server.sandbox.runners.node import NodeTests
from rolecall_server.sandbox.runners.port import Runner, RunnerPackage
from rolecall_server.sandbox.shadow.shadow import Shadow

_JAVASCRIPT = re.compile(r"\.[cm]?[jt]sx?$")
_MANIFESTS = {".go": "go.mod", ".rs": "Cargo.toml"}
_BY_FRAMEWORK: dict[str, Runner] = {"vitest": VITEST, "jest": JEST, "node": NodeTests()}


def runs_tests(path: str) -> bool:
    """Return whether tests of the language of *path* can be run here, Python's left aside."""
    return _manifest(path) != ""


def is_test_file(path: str) -> bool:
    """Return whether *path* holds tests alone, by its name; Rust's have no names of their own."""
    if _JAVASCRIPT.search(path):
        return TEST_FILE.fullmatch(path) is not None
    return path.endswith("_test.go")


def choose_runner(shadow: Shadow, path: str) -> tuple[Runner, RunnerPackage] | NotRun:
    """Return the runner of the tests of or for *path*, and the package that the path belongs to: the nearest folder
    with a manifest.
    """
    name = _manifest(path)
    package = _package(shadow, path, name)
    if package is None:
        return NotRun(f"{path} belongs to no package: no folder above it has a {name}.")
    if name == "go.mod":
        return GoTests(), package
    if name == "Cargo.toml":
        return CargoTests(), package
    framework = framework_of(package)
    return framework if isinstance(framework, NotRun) else (_BY_FRAMEWORK[framework], package)


def _manifest(path: str) -> str:
    """Return the name of the file that says what the package of *path* is."""
    if _JAVASCRIPT.search(path):
        return "package.json"
    return _MANIFESTS.get(PurePosixPath(path).suffix, "")


def _package(shadow: Shadow, path: str, name: str) -> RunnerPackage | None:
    for folder in PurePosixPath(path).parents:
        if shadow.on_disk(str(folder / name)).is_file():
            return RunnerPackage(shadow, "" if str(folder) == "." else str(folder))
    return None
