"""Values that were asked for lately."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

_Value = TypeVar("_Value")


class Latest:
    """Values by key, up to a number: what was not asked for during half a filling goes.

    A reader takes no lock: at worst two compute the same value.
    """

    __slots__ = ("_earlier", "_limit", "_recent")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._recent: dict[Hashable, object] = {}
        self._earlier: dict[Hashable, object] = {}

    def value(self, key: Hashable, compute: Callable[[], _Value]) -> _Value:
        """Return the value for *key*, from *compute* where it was not asked for lately."""
        recent, earlier = self._recent, self._earlier
        if key in recent:
            return cast("_Value", recent[key])
        value = earlier[key] if key in earlier else compute()
        if len(self._recent) >= self._limit // 2:
            self._earlier, self._recent = self._recent, {}
        return cast("_Value", self._recent.setdefault(key, value))
