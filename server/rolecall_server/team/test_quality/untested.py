"""The functions and classes that no test calls, by the code graph."""

from __future__ import annotations

from rolecall_analysis import Definition, Snapshot, callers, definitions_in, is_test

_KINDS = ("function", "class")


def untested_in(snapshot: Snapshot, path: str) -> tuple[Definition, ...]:
    """Return the public functions and classes at the top of *path* that certainly no test calls.

    A class is called where one of its methods is.
    """
    inside = definitions_in(snapshot, path)
    top = [one for one in inside if not one.scope and one.kind in _KINDS and not one.name.startswith("_")]
    return tuple(one for one in top if not any(_is_tested(snapshot, each) for each in (one, *_methods(inside, one))))


def _methods(inside: tuple[Definition, ...], holder: Definition) -> list[Definition]:
    return [one for one in inside if one.kind == "method" and one.scope == holder.qualified_name]


def _is_tested(snapshot: Snapshot, definition: Definition) -> bool:
    sites = callers(snapshot, definition, reach=None)
    return any(is_test(snapshot, site.path) for site in sites)
