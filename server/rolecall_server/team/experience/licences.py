"""The licence of a repository, by SPDX identifier, and whether it is among those that may be exported.

Source: the identifiers are SPDX's; the phrases are the first that only one of these licences has.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from rolecall_server.workspace import Workspace, read_text_or_none

NONE = "none"
"""Of a repository that names no licence."""
UNKNOWN = "unknown"
"""Of a licence that is not recognised; nothing allows it but its own name."""

_FILES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "LICENCE.txt", "COPYING", "COPYING.txt", "LICENSE.rst")
_PHRASES = (
    ("AGPL-3.0-only", "gnu affero general public license version 3"),
    ("LGPL-3.0-only", "gnu lesser general public license version 3"),
    ("LGPL-2.1-only", "gnu lesser general public license version 2.1"),
    ("GPL-3.0-only", "gnu general public license version 3"),
    ("GPL-2.0-only", "gnu general public license version 2"),
    ("Apache-2.0", "apache license version 2.0"),
    ("MPL-2.0", "mozilla public license version 2.0"),
    # Before BSD-2-Clause, whose phrase stands in this licence too.
    ("BSD-3-Clause", "neither the name of"),
    ("BSD-2-Clause", "redistributions of source code must retain"),
    ("ISC", "permission to use copy modify and/or distribute this software for any purpose with or without fee"),
    ("MIT", "permission is hereby granted free of charge to any person obtaining a copy of this software"),
    ("Unlicense", "this is free and unencumbered software released into the public domain"),
)
_CLASSIFIED = {
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
_MARKED = re.compile(r"SPDX-License-Identifier:[ \t]{0,4}([A-Za-z0-9.+() -]{1,120})")
_OPERATOR = re.compile(r"\s{1,9}(?:OR|AND)\s{1,9}", re.IGNORECASE)


def licences_of(workspace: Workspace) -> frozenset[str]:
    """Return the licences that the repository names, by its project files and its licence's text; `NONE` where there
    is neither.
    """
    found = {*_declared(workspace), *_written(workspace)}
    return frozenset(found) or frozenset({NONE})


def marked_in(texts: Iterable[str]) -> frozenset[str]:
    """Return the licences that *texts* are marked with, as a file begins that came from elsewhere."""
    return frozenset(found.strip() for text in texts for found in _MARKED.findall(text))


def allows(allowed: Collection[str], licence: str) -> bool:
    """Return whether *licence*, an SPDX expression, is among those *allowed*; of one with brackets all must be."""
    known = {one.casefold() for one in allowed}
    if "(" in licence:
        return all(one.strip("() ").casefold() in known for one in _OPERATOR.split(licence))
    choices = re.split(r"\s{1,9}OR\s{1,9}", licence, flags=re.IGNORECASE)
    return any(
        all(_strip(one) in known for one in re.split(r"\s{1,9}AND\s{1,9}", choice, flags=re.I)) for choice in choices
    )


def named_in(setting: str) -> tuple[str, ...]:
    """Return the licences in the value of the setting: names with commas between."""
    return tuple(one.strip() for one in setting.split(",") if one.strip())


def _strip(licence: str) -> str:
    return licence.strip().casefold()


def _declared(workspace: Workspace) -> Iterator[str]:
    """Yield what pyproject.toml, Cargo.toml and package.json say."""
    project = _toml(workspace, "pyproject.toml").get("project", {})
    licence = project.get("license")
    if isinstance(licence, str):
        yield licence
    elif isinstance(licence, dict) and isinstance(text := licence.get("text"), str):  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
        # It may be the name of the licence or all of its text; no name is as long as a text.
        yield text if len(text) < 60 else _recognised(text)
    for one in project.get("classifiers", []):
        if isinstance(one, str) and one.startswith("License :: ") and " :: " in one:
            yield _CLASSIFIED.get(one.rpartition(" :: ")[2], UNKNOWN)
    if isinstance(crate := _toml(workspace, "Cargo.toml").get("package", {}).get("license"), str):
        yield crate
    try:
        package = json.loads(read_text_or_none(workspace, "package.json") or "{}")
    except ValueError:
        return
    if isinstance(package, dict) and isinstance(package.get("license"), str):  # pyright: ignore[reportUnknownMemberType]
        yield package["license"]


def _toml(workspace: Workspace, path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text_or_none(workspace, path) or "")
    except tomllib.TOMLDecodeError:
        return {}


def _written(workspace: Workspace) -> Iterator[str]:
    for name in _FILES:
        if (text := read_text_or_none(workspace, name)) is not None:
            yield _recognised(text)


def _recognised(text: str) -> str:
    """Return the licence that *text* is, by its words."""
    words = " ".join(re.sub(r"[^a-z0-9./-]++", " ", text.lower()).split())
    return next((name for name, phrase in _PHRASES if phrase in words), UNKNOWN)
