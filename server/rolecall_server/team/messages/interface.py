"""A change as others may use it: names, signatures and docstrings, without the bodies of its functions."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from rolecall_analysis import Definition, Position, facts_of, is_test_path, text_in
from rolecall_server.team.messages.edits import Edits
from rolecall_server.workspace import Workspace, read_text_or_none

_MOST_OF_A_VALUE = 100
"""Characters of the line that defines a variable."""
_FUNCTIONS = frozenset(("function", "method", "macro"))


def interface_of(edits: Edits, workspace: Workspace) -> str:
    """Return the public names that *edits* bring or change, by file: signatures and docstrings, no bodies.

    Of a file that is there, what stays word for word is left out. Tests are named only.
    """
    moved = {new: old for old, new in edits.renames.items()}
    parts: list[str] = []
    for path, text in edits.files.items():
        if text is None:
            parts += [] if path in edits.renames else [f"## {path}\n\nIt is deleted.\n"]
            continue
        before = read_text_or_none(workspace, moved.get(path, path))
        how = f"renamed from {moved[path]}" if path in moved else "new" if before is None else "changed"
        lines = () if is_test_path(path) else tuple(_lines(path, text, before or ""))
        shown = "\n".join(("", "````", *lines, "````", "")) if lines else ""
        parts.append(f"## {path}, {how}\n{shown}")
    return "\n".join(parts)


def _lines(path: str, text: str, before: str) -> Iterator[str]:
    facts = facts_of(path, text)
    old = {(one.qualified_name, text_in(before, one.span)) for one in facts_of(path, before).definitions}
    public = [one for one in _outside_functions(facts.definitions) if _is_public(one)]
    fresh = {one.qualified_name for one in public if (one.qualified_name, text_in(text, one.span)) not in old}
    if path.rpartition("/")[2] == "__init__.py":
        given = [one.alias or one.name for one in facts.imports if one.name]
        yield from [f"# gives away: {', '.join(given)}"] if given else []
    for one in public:
        if one.qualified_name in fresh:  # a class whose method changed has another text too
            yield from _described(one)


def _outside_functions(definitions: Iterable[Definition]) -> Iterator[Definition]:
    """Yield, in their order in the file, the *definitions* that do not lie in a function."""
    end = Position(0, 0)
    for one in sorted(definitions, key=lambda one: one.span):
        if one.span.start >= end:
            yield one
            end = one.span.end if one.kind in _FUNCTIONS else end


def _is_public(one: Definition) -> bool:
    return not any(name.startswith("_") and not name.endswith("__") for name in one.qualified_name.split("."))


def _described(one: Definition) -> Iterator[str]:
    indent = "    " * one.qualified_name.count(".")
    yield from (f"{indent}@{decorator}" for decorator in one.decorators)
    yield f"{indent}{textwrap.shorten(one.signature, _MOST_OF_A_VALUE) if one.kind == 'variable' else one.signature}"
    if one.docstring:
        yield textwrap.indent(f'"""{one.docstring}"""', f"{indent}    ")
