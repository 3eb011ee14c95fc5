"""The names of modules by the build files of several languages. A broken file says nothing."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import cast

import msgspec

_GO_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)
# Strings are matched as well, first, and put back: `//` in an address begins no comment.
_JSON_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*+"?)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\\n]|\\.)*+"?)|,(?=\s*[}\]])')
_ENTRY_FIELDS = ("source", "types", "module", "main")


def go_module(text: str) -> str:
    """Return the name of the module of a ``go.mod``; empty without one."""
    found = _GO_MODULE.search(text)
    return found[1] if found else ""


def cargo_crate(text: str) -> str:
    """Return the name of the crate of a ``Cargo.toml`` as code writes it; empty without one."""
    try:
        manifest: dict[str, object] = tomllib.loads(text)
    except (ValueError, RecursionError):
        return ""
    names = (_table(manifest.get(section)).get("name") for section in ("lib", "package"))
    return next((name.replace("-", "_") for name in names if isinstance(name, str)), "")


def package_entry(text: str) -> tuple[str, list[str]]:
    """Return the name of an npm package, and the files it may begin at."""
    package = _json(text)
    name = package.get("name")
    entries = [entry for field in _ENTRY_FIELDS if isinstance(entry := package.get(field), str)]
    return name if isinstance(name, str) else "", entries


def typescript_paths(text: str) -> list[tuple[str, str]]:
    """Patterns of module names and of paths, from the folder of the file, that a ``tsconfig.json`` gives."""
    options = _table(_json(text).get("compilerOptions"))
    base = options.get("baseUrl")
    folder = base if isinstance(base, str) else "."
    found = [
        (pattern, f"{folder}/{target}")
        for pattern, targets in _table(options.get("paths")).items()
        for target in (cast("list[object]", targets) if isinstance(targets, list) else ())
        if isinstance(target, str)
    ]
    return [*found, ("*", f"{folder}/*")] if isinstance(base, str) else found


def composer_roots(text: str) -> Iterator[tuple[str, str]]:
    """Namespaces, with a backslash at the end, and their folders, as ``composer.json`` maps them."""
    composer = _json(text)
    for section in ("autoload", "autoload-dev"):
        for namespace, folders in _table(_table(composer.get(section)).get("psr-4")).items():
            for folder in cast("list[object]", folders) if isinstance(folders, list) else [folders]:
                if isinstance(folder, str):
                    yield namespace, folder


def _json(text: str) -> dict[str, object]:
    """Return a JSON object that may have comments and trailing commas; an empty one if *text* is none."""
    plain = _TRAILING_COMMA.sub(lambda found: found[1] or "", _JSON_COMMENT.sub(lambda found: found[1] or "", text))
    try:
        return _table(msgspec.json.decode(plain.encode("utf-8", "replace")))
    except (msgspec.DecodeError, RecursionError):
        return {}


def _table(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
