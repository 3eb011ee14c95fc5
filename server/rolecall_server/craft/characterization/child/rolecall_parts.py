"""The objects of the workspace that a value is, or holds, and how each is reached."""

# pyright: basic, reportMissingImports=false
# It looks at objects of which nothing is known, and finds its other parts beside itself.

from __future__ import annotations

import itertools
from typing import Any

import rolecall_describe as describe

_MAX_LOOKED_AT = 60
_MAX_ITEMS = 4
_MAX_ATTRIBUTES = 12
_MAX_DEPTH = 3
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def parts(value: Any, root: str) -> list[list[str]]:
    """Return a template, the name of the type, and a text that is alike for objects that look alike, for each object of
    the workspace below *root* that is reached from *value* by items and public attributes.
    """
    found: list[list[str]] = []
    start = ("{}", value, 0)
    if describe.is_iterator(value):
        start = ("list({})", list(itertools.islice(value, _MAX_ITEMS)), 0)
    waiting, seen = [start], set()
    for template, each, depth in waiting:
        if id(each) in seen:
            continue
        seen.add(id(each))
        own = describe.is_own(each, root)
        if own:
            found.append([template, type(each).__name__, _look_of(each, root)])
        if depth < _MAX_DEPTH and len(waiting) < _MAX_LOOKED_AT:
            waiting += [(below, part, depth + 1) for below, part in _below(template, each, own)]
    return found


def _look_of(value: Any, root: str) -> str:
    try:
        return repr(describe.views(value, {}, root, 5)[0])[:400]
    except Exception:  # noqa: BLE001
        return ""


def _below(template: str, value: Any, own: bool) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    if isinstance(value, (list, tuple)):
        found += [(f"{template}[{place}]", part) for place, part in enumerate(value[:_MAX_ITEMS])]
    elif isinstance(value, dict):
        keys = [key for key in list(value)[:_MAX_ITEMS] if type(key) in (str, int)]
        found += [(f"{template}[{key!r}]", value[key]) for key in keys]
    if own:
        for name in describe.readable(value)[:_MAX_ATTRIBUTES]:
            try:
                found.append((f"{template}.{name}", getattr(value, name)))
            except Exception:  # noqa: BLE001, S112
                continue
    return [(below, part) for below, part in found if not isinstance(part, _PLAIN)]
