"""The distributions that are installed: what each offers to import, and what it needs.

Source: packaging.python.org, "Recording installed projects" and "Core metadata specifications".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_MOST_BYTES = 8_000_000
_REQUIRED = re.compile(r"^Requires-Dist:[ \t]*+([\w.-]++)", re.MULTILINE)
_RUNS_OF_MARKS = re.compile(r"[-_.]+")


@dataclass(frozen=True, slots=True)
class Distribution:
    """One installed distribution."""

    name: str
    """In its normal form: lower case, with single dashes."""
    version: str
    packages: tuple[str, ...]
    """The folders and files of its packages, by their whole paths."""
    needs: frozenset[str]
    """The names of distributions that it may need, in their normal form."""


def distributions_in(places: Iterable[str]) -> tuple[Distribution, ...]:
    """Return the distributions whose files lie in *places*."""
    return tuple(_distribution(folder) for place in places for folder in sorted(Path(place).glob("*.dist-info")))


def reached_from(distributions: Iterable[Distribution], packages: Iterable[str]) -> frozenset[str]:
    """Return *packages* with those of all distributions that theirs need, and that these need."""
    known = {one.name: one for one in distributions}
    holding = {package: one for one in known.values() for package in one.packages}
    found = set(packages)
    waiting = [holding[package] for package in found if package in holding]
    seen = {one.name for one in waiting}
    while waiting:
        one = waiting.pop()
        found.update(one.packages)
        fresh = [known[name] for name in one.needs if name in known and name not in seen]
        seen.update(each.name for each in fresh)
        waiting += fresh
    return frozenset(found)


def _distribution(folder: Path) -> Distribution:
    name, _, version = folder.name.removesuffix(".dist-info").partition("-")
    # Behind the first empty line comes the description, which may say anything.
    needs = _REQUIRED.findall(_read(folder / "METADATA").partition("\n\n")[0])
    tops = dict.fromkeys(_top_level(_read(folder / "RECORD")))
    packages = tuple(f"{folder.parent.as_posix()}/{top}" for top in tops)
    return Distribution(_normal(name), version, packages, frozenset(map(_normal, needs)))


def _top_level(record: str) -> Iterator[str]:
    for line in record.splitlines():
        # RECORD is a CSV file, in which a path with a comma is quoted; of each only the first part matters.
        first, slash, _ = line.partition(",")[0].lstrip('"').partition("/")
        is_code = first.endswith((".py", ".so", ".pyd")) or (slash and not first.endswith((".dist-info", ".data")))
        if is_code and first not in ("..", "__pycache__"):
            yield first


def _normal(name: str) -> str:
    return _RUNS_OF_MARKS.sub("-", name).lower()


def _read(file: Path) -> str:
    try:
        with file.open("rb") as content:
            return content.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
