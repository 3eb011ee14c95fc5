"""What objects say of themselves: by the method that reads them. Standard library of Python 3.8 only."""

# pyright: basic, reportMissingImports=false
# It looks at objects of which nothing is known.

from __future__ import annotations

from typing import Any

import rolecall_describe as describe

_READERS = (
    *("get", "getvalue", "to", "as", "render", "format", "dumps", "text", "value", "values", "result", "results"),
    *("finish", "build", "items", "keys", "dict", "json", "list", "tolist"),
)
"""First words of methods that read an object, the likeliest first."""
_LATER = 0x2A0
"""The flags of generators and coroutines."""


def reader_of(kind: type) -> str:
    """Return the method of *kind* by which its objects are likeliest read: it takes nothing, and is named so; empty for
    none.
    """
    found = []
    for name in dir(kind):
        first = name.partition("_")[0]
        method: Any = getattr(kind, name, None)
        if first in _READERS and getattr(method, "__code__", None) is not None:
            code = method.__code__
            if code.co_argcount - len(method.__defaults__ or ()) == 1 and not code.co_flags & _LATER:
                given = code.co_kwonlyargcount - len(method.__kwdefaults__ or ())
                found += [name] if not given else []
    return min(found, key=lambda name: (_READERS.index(name.partition("_")[0]), name), default="")


def readings(value: Any, names: dict[str, Any], root: str) -> list[list[str]]:
    """Return what an object of the workspace below *root* says of itself, by a method that reads it: asked last, since
    that may change it.
    """
    if not describe.is_own(value, root):
        return []
    reader = reader_of(type(value))
    asked = [("str({})", str)] if type(value).__str__ is not object.__str__ else []
    asked += [(f"{{}}.{reader}()", lambda one: getattr(one, reader)())] if reader else []
    found = []
    for template, ask in asked:
        try:
            written = describe.literal(ask(value), names)
        except Exception:  # noqa: BLE001 - whatever comes of it, nothing is read after it
            break
        if (
            written is None
            or describe.names_place(written[0], root)
            or describe.names_address(written[0])
            or written[1]
        ):
            break
        found.append([template, written[0]])
    return found
