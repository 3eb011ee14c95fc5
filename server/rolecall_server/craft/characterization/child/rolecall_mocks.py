"""Mocks of the standard library: what they were asked, and which of them a result came from. Python 3.8."""

# pyright: basic, reportMissingImports=false
# It looks at objects of which nothing is known.

from __future__ import annotations

import contextlib
import sys
from typing import Any

import rolecall_describe as describe

_MAX_LITERAL = 600
_MAX_VIEWS = 4


def is_mock(value: Any) -> bool:
    """Return whether *value* is an object of `unittest.mock`."""
    mock = sys.modules.get("unittest.mock")
    # By its type: a mock may say of itself that it is of the class it stands for.
    return mock is not None and issubclass(type(value), mock.NonCallableMock)


def held(value: Any) -> dict[str, Any]:
    """Return the mocks that an object holds, by the templates that read them: ``{}._client``; itself, if it is one."""
    if is_mock(value):
        return {"{}": value}
    if type(value) in (list, tuple):
        return {f"{{}}[{place}]": part for place, part in enumerate(value[:_MAX_VIEWS]) if is_mock(part)}
    inside = None
    with contextlib.suppress(Exception):  # of an object that cannot be looked at
        inside = value.__dict__
    # The names of a class or module are in no `dict` of its own.
    parts = inside.items() if type(inside) is dict and not issubclass(type(value), (type, type(sys))) else ()
    return {f"{{}}.{name}": part for name, part in parts if is_mock(part)}


def asked(value: Any, names: dict[str, Any]) -> tuple[list[list[str]], dict[str, str]]:
    """Return views of the mocks in *value*, and what these import: the calls that each got, and the plain values that
    are set on it.
    """
    found: list[list[str]] = []
    imports: dict[str, str] = {}
    for template, mock in held(value).items():
        found += _calls(template, mock, names, imports)
    found += set_on(value)
    return [view for view in found if len(view[1]) <= _MAX_LITERAL][:_MAX_VIEWS], imports


def set_on(value: Any) -> list[list[str]]:
    """Return views of the plain values that are set on the mocks in *value*."""
    kinds = (bool, int, str, type(None))
    return [
        [f"{template}.{name}", repr(part)]
        for template, mock in held(value).items()
        for name, part in vars(mock).items()
        if not name.startswith("_") and name != "method_calls" and type(part) in kinds
    ]


def _calls(template: str, mock: Any, names: dict[str, Any], imports: dict[str, str]) -> list[list[str]]:
    """Return a view of the calls that a *mock* got: of their names alone where an argument has no literal."""
    calls, attribute = list(mock.mock_calls), "mock_calls"
    # `call.total.__len__()` is the length of `call.total`; and that something was asked for its length is no news.
    if any(_is_taken(name) for name, _, _ in calls) and all(name.strip("()") for name, _, _ in calls):
        calls, attribute = list(mock.method_calls), "method_calls"
    written = [_written(name, given, words, names, imports) for name, given, words in calls]
    if "" in written or any(_is_taken(name) for name, _, _ in calls):
        return [[f"[name for name, _, _ in {template}.{attribute}]", repr([name for name, _, _ in calls])]]
    imports.update({"call": "unittest.mock"} if written else {})
    return [[f"{template}.{attribute}", f"[{', '.join(written)}]"]] if written else []


def _is_taken(name: str) -> bool:
    """Return whether `call` has a method of its own of a name in *name*."""
    return any(part.startswith("__") and hasattr(tuple, part) for part in name.replace("()", "").split("."))


def _written(
    name: str, given: tuple[Any, ...], words: dict[str, Any], names: dict[str, Any], imports: dict[str, str]
) -> str:
    """Return a call as source, with ``ANY`` for what has no literal, and add what that imports to *imports*; empty
    where ``ANY`` means something else.
    """
    arguments = []
    for word, value in [*(("", one) for one in given), *((f"{word}=", one) for word, one in words.items())]:
        literal = describe.literal(value, names)
        if literal is None and "ANY" in names:
            return ""
        written, imported = literal or ("ANY", {"ANY": "unittest.mock"})
        arguments.append(word + written)
        imports.update(imported)
    # What a mock that was called gives is called ``()``, as in ``call().read(1)``.
    callee = name if name.startswith("()") else f".{name}" if name else ""
    return f"call{callee}({', '.join(arguments)})"


def source_of(value: Any, operands: list[Any]) -> str:
    """Return the expression that gives the mock *value*, with ``{0}``, ``{1}`` for *operands*; empty if none does."""
    if not is_mock(value):
        return ""
    path: list[str] = []
    places = {
        id(mock): template.replace("{}", "{%d}" % number)  # noqa: UP031 - the braces are for another
        for number, operand in enumerate(operands)
        for template, mock in held(operand).items()
    }
    while is_mock(value):
        if id(value) in places:
            return places[id(value)] + "".join(reversed(path))
        parent = value._mock_new_parent
        name = value._mock_new_name
        if parent is None or not name:
            break
        path.append(".return_value" if name == "()" else f".{name}")
        value = parent
    return ""
