"""Tells what each line of the workspace's code computes in a test that is traced: changed names, and how it ended.

No code of the workspace is called to describe its values: an object is told by its class and its attributes as they
are stored, so that a `__repr__` that hangs, raises or never ends does nothing here. Only the beginning and the end of a
long trace are kept. Only the thread that runs the tests is traced.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import datetime
import decimal
import fractions
import re
import sys
import types
import uuid
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import CodeType, FrameType

FIRST_STEPS, LAST_STEPS = 40, 160
_MOST_EVENTS = 100_000
"""Events that are looked at; after them the test goes on untraced."""
_DEPTH = 12
"""Calls of the workspace's functions within each other, the test's own among them."""
_NAMES = 20
_CALLERS = 8
_IN_A_TELLING = 20
_LAST_FRAMES = 3
"""Of an error that goes up through many calls, so many from the inside are told with all their names."""

_TEXT, _ITEMS, _LEVELS, _WHOLE = 80, 6, 3, 160
_SAID = 2_000
_PLAIN = (
    bool,
    int,
    float,
    complex,
    type(None),
    type(...),
    range,
    decimal.Decimal,
    fractions.Fraction,
    datetime.date,
    datetime.timedelta,
    uuid.UUID,
)
"""Types whose own texts run no code of the workspace."""
_MOST_BITS = 512
_MOST_MEMBERS = 200
_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    deque: ("deque([", "])"),
}
_ENDS = (StopIteration, StopAsyncIteration, GeneratorExit)
"""With these a generator ends, which is no failure."""
_SILENT = frozenset({"__repr__", "__str__", "__del__"})
"""Methods that are called to show a value more often than by the code that is tested."""


def describe(value: Any, levels: int = _LEVELS) -> str:
    """Return *value* in one short line, without calling anything that it brings along."""
    try:
        text = _described(value, levels)
    except Exception as error:  # noqa: BLE001 -- a dictionary, say, that another thread changes meanwhile
        return f"<{_class_name(type(value))}, which cannot be read: {_class_name(type(error))}>"
    return text if len(text) <= _WHOLE else f"{text[: _WHOLE - 20]}...{text[-17:]}"


def _described(value: Any, levels: int) -> str:
    kind = type(value)
    # By the exact type: a subclass may bring a `__repr__` of its own.
    if kind in _PLAIN:
        is_long = kind is int and value.bit_length() > _MOST_BITS
        return f"<int of {value.bit_length()} bits>" if is_long else repr(value)
    if kind in (str, bytes, bytearray):
        return _text(value)
    if kind in _BRACKETS:
        opening, closing = _BRACKETS[kind]
        if not value and kind in (set, frozenset):
            return f"{kind.__name__}()"
        closing = ",)" if kind is tuple and len(value) == 1 and levels else closing
        return opening + _listed((_described(one, levels - 1) for one in value), len(value), levels) + closing
    if issubclass(kind, dict):
        # By the methods of `dict` itself, since a subclass may have others in their place.
        pairs = (f"{_described(key, levels - 1)}: {_described(one, levels - 1)}" for key, one in dict.items(value))
        return "{" + _listed(pairs, dict.__len__(value), levels) + "}"
    return _object(value, kind, levels)


def _text(value: Any) -> str:
    if len(value) <= _TEXT:
        return repr(value)
    return f"{value[: _TEXT - 20]!r}...{value[-15:]!r} ({len(value)} long)"


def _listed(items: Iterable[str], n_items: int, levels: int) -> str:
    if not levels:
        return "..." if n_items else ""
    shown = [*islice(items, _ITEMS)]
    return ", ".join([*shown, f"... {n_items - len(shown)} more"] if n_items > len(shown) else shown)


def _object(value: Any, kind: type, levels: int) -> str:
    name = _class_name(kind)
    if issubclass(kind, type):
        return f"<class {_class_name(value)}>"
    if kind in (types.FunctionType, types.BuiltinFunctionType, types.MethodType):
        return f"<function {value.__name__}>"
    if kind is types.ModuleType:
        return f"<module {types.ModuleType.__getattribute__(value, '__name__')}>"
    if kind is re.Pattern:
        return f"<pattern {_described(value.pattern, 1)}>"
    if issubclass(kind, BaseException):
        stored: Any = BaseException.args
        return f"{name}({', '.join(_said(one, levels - 1) for one in stored.__get__(value)[:2])})"
    fields = _fields(value, kind) if levels else []
    said = ", ".join(f"{key}={_described(one, levels - 1)}" for key, one in fields[:_ITEMS])
    more = ", ..." if len(fields) > _ITEMS else ""
    return f"<{name}{' ' if said else ''}{said}{more}>"


def _said(value: Any, levels: int) -> str:
    """Return what an error says; of a text its first line, for pytest writes whole values below it."""
    return _described(value[:_SAID].partition("\n")[0] if type(value) is str else value, max(levels, 0))


def _class_name(kind: type) -> str:
    return type.__getattribute__(kind, "__qualname__")


def _fields(value: Any, kind: type) -> list[tuple[str, Any]]:
    """Return the attributes as they are stored: neither properties nor a `__getattr__` are asked."""
    try:
        stored = object.__getattribute__(value, "__dict__")
    except AttributeError:
        stored = {}
    found = (
        [(key, one) for key, one in islice(stored.items(), _NAMES) if type(key) is str] if type(stored) is dict else []
    )
    for base in type.__getattribute__(kind, "__mro__"):
        for name, member in islice(type.__getattribute__(base, "__dict__").items(), _MOST_MEMBERS):
            if type(member) is types.MemberDescriptorType and not name.startswith("__"):
                try:
                    found.append((name, member.__get__(value)))
                except AttributeError:
                    continue
    return found


class Trace:
    """Follows one test through the functions below *root*, for at most *limit_s* seconds."""

    def __init__(self, root: str, limit_s: float, seconds: Callable[[], float], tell: Callable[..., None]) -> None:
        self._root = root.rstrip("/") + "/"
        self._aside = tuple(f"{prefix}/" for prefix in (sys.prefix, sys.base_prefix))
        self._limit_s, self._seconds, self._tell = limit_s, seconds, tell
        self._ours: dict[str, str] = {}
        self._test, self._until_s, self._n_events, self._n_calls = "", 0.0, 0, 0
        self._forget()

    def _forget(self) -> None:
        self._first: list[list[Any]] = []
        self._last: deque[list[Any]] = deque(maxlen=LAST_STEPS)
        self._n_steps, self._n_frames_told = 0, 0
        self._error: BaseException | None = None
        self._calls: dict[FrameType, _Call] = {}

    def enter(self, test: str) -> None:
        """Trace *test* from now on; empty for none."""
        if self._test:
            self._end("")
        self._forget()
        self._test, self._n_events, self._n_calls = test, 0, 0
        if test:
            self._until_s = self._seconds() + self._limit_s
            sys.settrace(self._begins)

    def _end(self, why: str) -> None:
        """Stop, and tell what was seen; *why* is why it is not all."""
        sys.settrace(None)
        test, self._test = self._test, ""
        steps = [*self._first, *self._last]
        left_out = self._n_steps - len(steps)
        for start in range(0, len(steps) or 1, _IN_A_TELLING):
            part = steps[start : start + _IN_A_TELLING]
            self._tell("trace", test=test, steps=part, first=len(self._first), left_out=left_out, ended=why)
        self._forget()

    def _begins(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Return the function that follows *frame*, where it is the workspace's and not too deep."""
        if not self._test or len(self._calls) >= _DEPTH or not self._place(frame.f_code) or _only_shows(frame):
            return None
        self._n_calls += 1
        call = self._calls[frame] = _Call(self._n_calls, len(self._calls), frame)
        self._note(call, frame.f_lineno, "call", call.changed(frame), "")
        return self._goes_on

    def _goes_on(self, frame: FrameType, event: str, argument: Any) -> Any:
        call = self._calls.get(frame)
        if not self._test or call is None:
            return None
        self._n_events += 1
        if self._n_events > _MOST_EVENTS or self._seconds() > self._until_s:
            self._note(call, call.line, "line", call.changed(frame), "")
            self._end("events" if self._n_events > _MOST_EVENTS else "time")
            return None
        if event == "exception":
            self._raises(call, frame, argument)
        elif event == "return":
            self._returns(call, frame, argument)
        else:
            if changed := call.changed(frame):
                self._note(call, call.line, "line", changed, "")
            call.line, call.raising = frame.f_lineno, ""
        return self._goes_on

    def _raises(self, call: _Call, frame: FrameType, argument: Any) -> None:
        call.raising = describe(argument[1])
        if issubclass(type(argument[1]), _ENDS):
            return
        self._n_frames_told = self._n_frames_told + 1 if argument[1] is self._error else 1
        self._error = argument[1]
        names = call.all(frame) if self._n_frames_told <= _LAST_FRAMES else {}
        self._note(call, frame.f_lineno, "raise", names, call.raising)

    def _returns(self, call: _Call, frame: FrameType, argument: Any) -> None:
        del self._calls[frame]
        # The interpreter tells of a return of None as well where an error leaves the function.
        if not call.raising or argument is not None:
            self._note(call, frame.f_lineno, "return", call.changed(frame), describe(argument))
        elif not call.depth and not call.raising.startswith(tuple(end.__name__ for end in _ENDS)):
            self._end("error")  # what comes after is not of the failure

    def _note(self, call: _Call, line: int, event: str, names: dict[str, str], value: str) -> None:
        step = [call.number, call.depth, self._place(call.code), call.name, line, event, names, value]
        self._n_steps += 1
        if len(self._first) < FIRST_STEPS:
            self._first.append(step)
        else:
            self._last.append(step)

    def _place(self, code: CodeType) -> str:
        """Return the path of *code* below the root; empty where it is not the workspace's, or no function."""
        file = code.co_filename
        if file not in self._ours:
            is_ours = file.startswith(self._root) and not file.startswith(self._aside)
            self._ours[file] = file[len(self._root) :] if is_ours else ""
        return self._ours[file] if code.co_name == "<lambda>" or not code.co_name.startswith("<") else ""


def _only_shows(frame: FrameType | None) -> bool:
    """Return whether *frame* is under way only to show a value."""
    for _ in range(_CALLERS):
        if frame is None:
            return False
        if frame.f_code.co_name in _SILENT:
            return True
        frame = frame.f_back
    return False


class _Call:
    """A function under way, and the names of it as they were last told."""

    def __init__(self, number: int, depth: int, frame: FrameType) -> None:
        self.number, self.depth, self.code = number, depth, frame.f_code
        self.name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name).replace("<locals>.", "")
        self.line = frame.f_lineno
        self.raising = ""
        self._known: dict[str, str] = {}

    def changed(self, frame: FrameType) -> dict[str, str]:
        """Return the names that are new or worth something else, and keep them."""
        now = self.all(frame)
        found = {name: value for name, value in now.items() if self._known.get(name) != value}
        self._known = now
        return found

    def all(self, frame: FrameType) -> dict[str, str]:
        """Return all names of the function, those that pytest adds left out."""
        return {name: describe(value) for name, value in islice(self._names(frame), _NAMES)}

    def _names(self, frame: FrameType) -> Iterator[tuple[str, Any]]:
        return ((name, value) for name, value in frame.f_locals.items() if not name.startswith(("@", "__")))
