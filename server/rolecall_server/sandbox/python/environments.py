"""The places where the tools that make Python environments keep the one of a workspace.

Source: docs.astral.sh/uv (``UV_PROJECT_ENVIRONMENT``); python-poetry.org/docs/configuration (``virtualenvs.path``, and
the name, which holds a hash of the project's folder); docs.conda.io (``environment.yml``, ``~/.conda``); pyenv's
README.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from rolecall_server.workspace import MAX_FILE_BYTES, read_beginning

_IN_THE_WORKSPACE = (".venv", "venv", ".conda")
_CONDA_FILES = ("environment.yml", "environment.yaml")
_CONDA_NAME = re.compile(r"^name:\s*[\"']?([^\s\"'#/\\]+)", re.MULTILINE)


def environments_of(root: Path, environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Yield the folders of environments for the workspace at *root* that exist, and what named each; the best comes
    first.

    Those inside of it; uv's; the one that is active; those that poetry, conda and pyenv keep for it elsewhere.
    """
    for name in _IN_THE_WORKSPACE:
        if (root / name).is_dir():
            yield root / name, name
    for folder, source in _elsewhere(root, environ):
        if folder.is_absolute() and folder.is_dir():
            yield folder, source


def _elsewhere(root: Path, environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    if named := environ.get("UV_PROJECT_ENVIRONMENT"):
        yield root / named, "UV_PROJECT_ENVIRONMENT"
    yield Path(environ.get("VIRTUAL_ENV", "")), "VIRTUAL_ENV"
    yield from ((folder, "poetry") for folder in _of_poetry(root, environ))
    yield from ((folder, "environment.yml") for folder in _of_conda(root, environ))
    yield Path(environ.get("CONDA_PREFIX", "")), "CONDA_PREFIX"
    yield from ((folder, ".python-version") for folder in _of_pyenv(root, environ))


def _of_poetry(root: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the project's environments, the one that poetry uses first, then the newest Python."""
    project = _read_toml(root / "pyproject.toml")
    poetry = _table(_table(project.get("tool")).get("poetry"))
    if not poetry and not (root / "poetry.lock").is_file():
        return
    # poetry's own rule: the name in short, and a hash of the folder by which projects of one name are told apart.
    name = str(_table(project.get("project")).get("name") or poetry.get("name") or root.name)
    digest = hashlib.sha256(os.fsencode(os.path.normcase(root.resolve()))).digest()
    base = f"{_sanitized(name)}-{base64.urlsafe_b64encode(digest).decode()[:8]}"
    kept = _poetry_folder(environ)
    used = str(_table(_read_toml(kept / "envs.toml").get(base)).get("minor", ""))
    found = [(version, folder) for folder in kept.glob(f"{base}-py*") if (version := _version(folder))]
    for _, folder in sorted(found, key=lambda each: (each[1].name == f"{base}-py{used}", each[0]), reverse=True):
        yield folder


def _sanitized(name: str) -> str:
    return re.sub(r'[ $`!*@"\\\r\n\t]', "_", name.lower())[:42]


def _version(folder: Path) -> tuple[int, ...]:
    found = re.search(r"-py(\d+)\.(\d+)$", folder.name)
    return tuple(map(int, found.groups())) if found else ()


def _poetry_folder(environ: Mapping[str, str]) -> Path:
    if named := environ.get("POETRY_VIRTUALENVS_PATH"):
        return Path(named)
    if named := environ.get("POETRY_CACHE_DIR"):
        return Path(named, "virtualenvs")
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA", ""), "pypoetry", "Cache", "virtualenvs")
    caches = _home(environ) / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(environ.get("XDG_CACHE_HOME") or caches, "pypoetry", "virtualenvs")


def _of_conda(root: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the environment that the workspace's own file names, among those that conda knows."""
    said = (_CONDA_NAME.search(_read(root / name)) for name in _CONDA_FILES)
    named = next((found[1] for found in said if found), "")
    if not named.strip("."):  # `..` would lead to another folder
        return
    known = _read(_home(environ) / ".conda" / "environments.txt").splitlines()
    active = environ.get("CONDA_PREFIX", "")
    beside = [Path(prefix).parent / named for prefix in known if Path(prefix).parent.name == "envs"]
    yield from (Path(prefix) for prefix in (active, *known) if Path(prefix).name == named)
    yield from beside


def _of_pyenv(root: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the versions that the nearest ``.python-version`` names."""
    versions = Path(environ.get("PYENV_ROOT") or _home(environ) / ".pyenv", "versions")
    text = next((text for folder in (root, *root.parents) if (text := _read(folder / ".python-version"))), "")
    for name in re.findall(r"^[ \t]*+([\w.+-]++)[ \t\r]*+$", text, re.M):
        exact = versions / name
        # A version in part stands for the latest that begins so.
        begun = sorted(
            versions.glob(f"{name}.*"), key=lambda path: [int(part) for part in re.findall(r"\d+", path.name)]
        )
        yield from (exact, *reversed(begun))


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or Path.home())


def _read(path: Path) -> str:
    return read_beginning(path, MAX_FILE_BYTES).decode("utf-8", "replace")


def _table(said: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", said) if isinstance(said, dict) else {}


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_read(path))
    except (ValueError, RecursionError):
        return {}
