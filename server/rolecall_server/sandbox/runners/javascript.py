"""The declarations of a JavaScript or TypeScript package about its tests, and what is installed for it."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import Any, cast

from rolecall_server.sandbox.results import NotRun
from rolecall_server.sandbox.runners.port import NEVER_INSTALLED, RunnerPackage
from rolecall_server.sandbox.walls.confinement import Unconfined

TEST_FILE = re.compile(
    r"\A(?=.*\.[cm]?[jt]sx?\Z)(?:(?:.*/)?(?:__tests__|tests?)/.*|.*[.\-_](?:test|spec)\.[^./]*"
    r"|(?:.*/)?test(?:-[^/]*)?\.[^./]*)"
)
"""The names that Node, jest and vitest know tests by."""

_OTHERS = ("mocha", "ava", "tap", "jasmine", "karma", "cypress", "playwright", "bun test", "deno test")


def script_of_tests(package: RunnerPackage) -> str:
    """Return the package's ``test`` script; empty where it has none."""
    scripts = _table(manifest(package).get("scripts"))
    return str(scripts.get("test", ""))


def manifest(package: RunnerPackage) -> dict[str, Any]:
    """Return the package's ``package.json``; empty where it has none that can be read."""
    try:
        return _table(json.loads(package.read("package.json")))
    except (ValueError, RecursionError):
        return {}


def _table(said: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", said) if isinstance(said, dict) else {}


def framework_of(package: RunnerPackage) -> str | NotRun:
    """``vitest``, ``jest`` or ``node``: what the script names, else what is configured, else what is depended on."""
    script = script_of_tests(package)
    for name in ("vitest", "jest"):
        if re.search(rf"\b{name}\b", script):
            return name
    node = re.search(r"\bnode\b", script)
    if node and re.search(r"--test\b", script[node.end() :]):
        return "node"
    if other := next((name for name in _OTHERS if re.search(rf"\b{name}\b", script)), ""):
        return NotRun(f"{package.path_of('package.json')} runs its tests by {other}, which Rolecall cannot.")
    said = manifest(package)
    wanted: set[str] = set()
    for kind in ("dependencies", "devDependencies"):
        wanted |= _table(said.get(kind)).keys()
    return next((name for name in ("vitest", "jest") if name in wanted or name in said), "node")


def find_module(package: RunnerPackage, name: str, program: str) -> str | NotRun:
    """Return the path of *program* in the package *name* of the nearest ``node_modules``, as a command finds it."""
    for folder in (PurePosixPath(package.folder), *PurePosixPath(package.folder).parents):
        if (package.shadow.original / folder / "node_modules" / name / program).is_file():
            unconfined = isinstance(package.shadow.confinement, Unconfined)
            if unconfined:
                _link(package, folder)
            place = package.shadow.root if unconfined else package.shadow.original
            return str(place / folder / "node_modules" / name / program)
    return NotRun(
        f"{name}, which {package.path_of('package.json')} names, is not in node_modules.",
        f"Install what the package depends on. {NEVER_INSTALLED}",
    )


def _link(package: RunnerPackage, folder: PurePosixPath) -> None:
    """A copy has no ``node_modules``; the workspace's own serves."""
    link = package.shadow.root / folder / "node_modules"
    if not link.exists():
        link.symlink_to(package.shadow.original / folder / "node_modules", target_is_directory=True)


def installed_modules(package: RunnerPackage) -> tuple[str, ...]:
    """Return the folders ``node_modules`` of the package and those above it, relative to the workspace."""
    folders = (PurePosixPath(package.folder), *PurePosixPath(package.folder).parents)
    found = (folder / "node_modules" for folder in folders)
    return tuple(str(path) for path in found if (package.shadow.original / path).is_dir())
