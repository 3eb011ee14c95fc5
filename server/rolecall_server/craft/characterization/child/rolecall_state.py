"""The state of a module that calls may leave behind: its containers, and the objects it has. Standard library of Python
3.8 only.
"""

# pyright: basic
# It looks at objects of which nothing is known.

from __future__ import annotations

import collections
import logging
import re
import types
from typing import Any

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_CONTAINERS = (list, dict, set, collections.deque)
_PLAIN = (bool, int, float, complex, str, bytes, tuple, frozenset)
_NO_STATE = (type, types.ModuleType, types.FunctionType, logging.Logger)
"""Objects whose attributes are no state of the module; a logger remembers which levels it was asked for."""
_MAX_ENTRIES = 100
"""Of a larger container only the length is looked at."""
_MAX_PARTS = 200
_MAX_DEPTH = 3


def state_of(module: Any) -> dict[str, Any]:
    """Return the state of the containers of *module*, and of what its objects hold, as far as it costs little to look
    at: for each its size and its text, or the text of each entry; None for what has no value yet.
    """
    found: dict[str, Any] = {}
    for name, value in list(vars(module).items()):
        if name.startswith("__"):
            continue
        if isinstance(value, _CONTAINERS):
            found[name] = (len(value), _text_of(value))
        elif not isinstance(value, _PLAIN):
            _look_inside(name, value, found, 1)
    return found


def _look_inside(name: str, value: Any, found: dict[str, Any], depth: int) -> None:
    """Add to *found* what the attributes of an object are, and those of the objects that it holds."""
    inside = getattr(value, "__dict__", None)
    if not isinstance(inside, dict) or isinstance(value, _NO_STATE):
        return
    for attribute, part in list(inside.items()):
        place = f"{name}.{attribute}"
        if len(found) >= _MAX_PARTS:
            return
        if part is None:
            found[place] = None
        elif isinstance(part, _CONTAINERS):
            found[place] = (len(part), _text_of(part))
        elif isinstance(part, _PLAIN):
            found[place] = (0, _shown(part))
        elif depth < _MAX_DEPTH:
            _look_inside(place, part, found, depth + 1)


def _text_of(container: Any) -> Any:
    if len(container) >= _MAX_ENTRIES:
        return None if isinstance(container, (dict, set)) else ""
    if isinstance(container, dict):
        return {_shown(key): _shown(value) for key, value in container.items()}
    return set(map(_shown, container)) if isinstance(container, set) else _shown(container)


def _shown(value: Any) -> str:
    try:
        return _ADDRESS.sub("", repr(value))
    except Exception:  # noqa: BLE001 - a `__repr__` of the workspace's
        return ""


def is_only_more(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Return whether mappings and sets have at most entries beside those they had, as one that remembers results, and
    objects at most attributes that had no value.
    """
    if any("." not in name for name in before.keys() ^ after.keys()):
        return False
    return all(value is None or (name in after and _is_as_before(value, after[name])) for name, value in before.items())


def _is_as_before(before: tuple[int, Any], after: tuple[int, Any] | None) -> bool:
    if after is None:
        return False
    (size, text), (new_size, new_text) = before, after
    if text is None or new_text is None:
        return size <= new_size
    if isinstance(text, dict) and isinstance(new_text, dict):
        return text.items() <= new_text.items()
    if isinstance(text, set) and isinstance(new_text, set):
        return text <= new_text
    return text == new_text and size == new_size
