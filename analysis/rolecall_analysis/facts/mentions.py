"""The files in which an identifier occurs."""

from __future__ import annotations

from collections.abc import Iterable


class Mentions:
    """An inverted index that only grows: each version of a file that is added gets a number of its own.

    One thread adds; any may ask meanwhile, and knows by the numbers which versions it is concerned with.
    """

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._versions: dict[str, int | list[int]] = {}

    def __len__(self) -> int:
        """Return the number of versions."""
        return len(self._paths)

    def add(self, path: str, names: Iterable[str]) -> int:
        """Return the number of the new version of *path*, in which these identifiers occur."""
        version = len(self._paths)
        self._paths.append(path)
        versions = self._versions
        for name in names:
            known = versions.get(name)
            if known is None:
                versions[name] = version  # most identifiers occur in one file only: a list for each would be a waste
            elif isinstance(known, int):
                versions[name] = [known, version]
            else:
                known.append(version)
        return version

    def of(self, name: str) -> list[tuple[str, int]]:
        """Return the path and number of each version that *name* occurs in, the oldest first."""
        known = self._versions.get(name, [])
        numbers = [known] if isinstance(known, int) else known.copy()
        return [(self._paths[number], number) for number in numbers]
