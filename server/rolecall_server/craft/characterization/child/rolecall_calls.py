"""Calls of one module, and what each of them did."""

# pyright: basic, reportMissingImports=false
# It looks at objects of which nothing is known, and finds its other parts beside itself.

from __future__ import annotations

import collections
import contextlib
import dis
import functools
import importlib
import inspect
import io
import linecache
import os
import pathlib
import signal
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

import rolecall_describe as describe
import rolecall_environment as environment
import rolecall_files as files
import rolecall_mocks as mocks
from rolecall_functions import taken_by
from rolecall_guard import Guard, Overtime, Refused, known_places
from rolecall_parts import parts
from rolecall_readings import readings

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_ITEMS = 40
_MAX_CHANGES = 8
_MAX_STATE = 100


class Tracer:
    """The lines of one file in the order they follow each other: what `sys.settrace` calls."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.arcs: set[tuple[int, int]] = set()
        self._last: dict[Any, int] = {}

    def start(self) -> None:
        """Begins anew."""
        self.arcs = set()
        self._last = {}
        sys.settrace(self.enter)

    def stop(self) -> list[tuple[int, int]]:
        """Stop tracing and return the arcs since `start`: pairs of lines, a negative one for the start or the end of a
        function.
        """
        sys.settrace(None)
        self._last = {}
        return sorted(self.arcs)

    def enter(self, frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != self.path:
            return None
        self._last.setdefault(frame, -frame.f_code.co_firstlineno)
        return self.follow

    def follow(self, frame: Any, event: str, argument: Any) -> Any:
        if event == "line":
            self.arcs.add((self._last.get(frame, 0), frame.f_lineno))
            self._last[frame] = frame.f_lineno
        elif event == "return":
            self.arcs.add((self._last.get(frame, 0), -frame.f_code.co_firstlineno))
        return self.follow


class Probe:
    """One module, and all that is needed to call it."""

    def __init__(self, request: dict[str, Any], guard: Guard) -> None:
        self.request = request
        self.guard = guard
        self.path: str = request["path"]
        self.tracer = Tracer(self.path) if request["trace"] else None
        if self.tracer is not None:
            self.tracer.start()
        self.module = importlib.import_module(request["module"])
        self.imported = self.tracer.stop() if self.tracer is not None else []
        self.names = self._names()
        self.caches = [value.cache_clear for value in vars(self.module).values() if _is_cached(value)]
        self.root: str = request["root"]
        self.guard.places = known_places(self.root)
        self.folder = describe.folder

    def _names(self) -> dict[str, Any]:
        names = {}
        for name, (module, attribute) in self.request["imports"].items():
            with contextlib.suppress(Exception):  # without it only the calls that name it fail
                found = importlib.import_module(module)
                names[name] = getattr(found, attribute) if attribute else found
        return {**names, **vars(self.module), files.NAME: describe.folder.path}

    def observe(self, call: dict[str, Any]) -> dict[str, Any]:
        """Make *call* and return what it did, in the form of the report."""
        before = self._state() if self.tracer is not None else None
        # A result that is remembered would be given without the lines that lead to it.
        for clear in self.caches:
            clear()
        self.guard.folder = ""
        if any(files.NAME in source for source in call["operands"]):
            self.folder.clear()
            self.guard.folder = os.path.realpath(self.folder.path)
        limit_s: float = self.request["call_timeout_s"]
        printed = io.StringIO()
        seen: dict[str, Any] = {"id": call["id"]}
        self.guard.tripped = ""
        self.guard.by_chance = False
        self.guard.variables = {}
        started = time.perf_counter()
        # Again after each quarter: a bare `except` may have caught the first alarm.
        signal.setitimer(signal.ITIMER_REAL, limit_s, limit_s / 4)
        self.guard.arm()
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                seen.update(self._evaluate(call))
        except Overtime:
            seen["kind"] = "slow"
        except Refused:
            seen["kind"] = "refused"
        finally:
            self.guard.armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            if self.tracer is not None:
                seen["arcs"] = self.tracer.stop()
        seen["duration_s"] = time.perf_counter() - started
        # The code may have caught the refusal, and come to some other end.
        if self.guard.tripped:
            seen["kind"] = "refused"
        seen["by_chance"] = self.guard.by_chance
        seen["variables"] = list(self.guard.variables)
        seen["printed"] = "" if self.folder.is_named_in(printed.getvalue()) else printed.getvalue()[:400]
        seen["pollutes"] = before is not None and not _is_only_more(before, self._state())
        return seen

    def _evaluate(self, call: dict[str, Any]) -> dict[str, Any]:
        names = dict(self.names)
        operands = []
        for number, source in enumerate(call["operands"]):
            try:
                # A copy: what an operand binds with `:=` on its way is nothing for the others.
                operands.append(eval(source, dict(self.names)))  # noqa: S307
            except Exception as error:  # noqa: BLE001
                return {"kind": "unbuilt", "type": type(error).__name__}
            names[f"_{number}"] = operands[-1]
        variables = [operands[number] for number, place in call["patched"] if place == environment.NAME]
        if not all(map(environment.is_one, variables)):
            return {"kind": "unbuilt", "type": "TypeError"}
        before = [self._before(value) for value in operands]
        code, lazily = compile(call["expression"], "<call>", "eval"), False
        if self.tracer is not None:
            self.tracer.start()
        try:
            with (
                environment.set_to(variables, self.guard),
                self._patched(call, operands),
                warnings.catch_warnings(record=True) as caught,
            ):
                warnings.simplefilter("always")
                value, lazily = eval(code, names), False  # noqa: S307
            lazily = describe.is_iterator(value)
            if self.request.get("harvest"):
                return {"kind": "value", "parts": parts(value, self.root)}
            # An object beside one that is built in the same way says nothing.
            is_built = call["expression"].startswith(f"{type(value).__name__}(")
            seen = self._value(value, lazily, whole=not is_built)
            seen["views"] = [one for one in seen["views"] if not self._names_folder_of(call, one[1])]
            seen["source"] = mocks.source_of(value, operands)
            seen["takes"] = taken_by(value, self.path)
            if call["expression"].startswith("setattr("):
                seen["views"] = []  # only what it changes tells something
            seen["warns"] = self._categories(caught)
            seen["imports"].update((name, module) for name, module in seen["warns"] if module != "builtins")
        except (Exception, SystemExit) as error:  # noqa: BLE001
            seen = {**self._raised(error), "lazily": lazily}
        if self.tracer is not None:
            # What is read from here on is no part of the call.
            sys.settrace(None)
        seen["effects"] = []
        for number, value in enumerate(operands):
            changes = []
            with contextlib.suppress(Exception):  # of an object that cannot be looked at
                changes = self._effects(value, before[number], seen.setdefault("imports", {}))
            if changes:
                seen["effects"].append([number, changes])
        return seen

    @contextlib.contextmanager
    def _patched(self, call: dict[str, Any], operands: list[Any]) -> Iterator[None]:
        """Put operands in the place of names of the module, or of `sys`, while a call runs."""
        patched = [(number, place) for number, place in call["patched"] if place != environment.NAME]
        places = [(number, *place.rpartition(".")[::2]) for number, place in patched]
        # The module itself may be there under another name.
        names = [(number, sys if holder == "sys" else self.module, name) for number, holder, name in places]
        real = [(holder, name, getattr(holder, name)) for _, holder, name in names]
        for number, holder, name in names:
            setattr(holder, name, operands[number])
        try:
            yield
        finally:
            for holder, name, value in real:
                setattr(holder, name, value)

    def _categories(self, caught: list[Any]) -> list[tuple[str, str]]:
        """Return the kinds of the warnings that are about the call, or that the workspace's code gives of itself; those
        about its own use of what is deprecated are gone once that is mended.
        """
        own = [
            one.category
            for one in caught
            if one.filename == "<call>"
            or (one.filename.startswith(self.root) and "warn" in linecache.getline(one.filename, one.lineno))
        ]
        return sorted({(kind.__name__, kind.__module__) for kind in own})

    def _before(self, value: Any) -> tuple[Any, ...]:
        """Return what can be told of an operand before the call: its state, its parts and its views."""
        if mocks.is_mock(value):
            return None, {}, mocks.set_on(value)
        with contextlib.suppress(Exception):  # of an object that cannot be looked at
            state = describe.state(value)
            # Where nothing can change nobody looks; what is read off an iterator is gone.
            views = [] if state is None or describe.is_iterator(value) else self._views(value)[0]
            return state, self._inner(value), views + mocks.set_on(value)
        return None, {}, []

    def _inner(self, value: Any) -> dict[str, Any]:
        if describe.is_own(value, self.root):
            return dict(describe.inner_values(value, self.root))
        if isinstance(value, (io.StringIO, io.BytesIO)) and not value.closed:
            return {"{}.getvalue()": value.getvalue()}
        if isinstance(value, str) and self.names.get("Path", pathlib.Path) is not pathlib.Path:
            return {}
        return self.folder.contents(value)

    def _effects(self, value: Any, before: tuple[Any, ...], imports: dict[str, str]) -> list[list[str]]:
        """Return what the mocks in *value* were asked, and what else can be read off it that is not as it was."""
        views, needed = mocks.asked(value, self.names)
        asked = [one for one in views if not self._names_place(one[1]) and one not in before[2]]
        imports.update(needed if asked else {})
        return asked if mocks.is_mock(value) else [*asked, *self._changes(value, before, imports)]

    def _names_place(self, text: str) -> bool:
        """Return whether *text* names the workspace, the folder of a call or an address, others where a test runs."""
        return describe.names_place(text, self.root) or self.folder.is_named_in(text) or describe.names_address(text)

    def _names_folder_of(self, call: dict[str, Any], text: str) -> bool:
        """Return whether *text* holds the name of the workspace's folder or of the one above, of a *call* that asks for
        them.
        """
        asked = any(source in ("'.'", "'..'") or "('.')" in source or "('..')" in source for source in call["operands"])
        return asked and any(name in text for name in pathlib.Path(os.path.realpath(self.root)).parts[-2:])

    def _changes(self, value: Any, before: tuple[Any, ...], imports: dict[str, str]) -> list[list[str]]:
        """Return what can be read off *value* that is not as it was *before*: its state, its parts and its views."""
        state, inner, viewed = before
        changed = [
            [template, written[0]]
            for template, part in self._inner(value).items()
            if (template not in inner or not describe.same(inner[template], part))
            and (written := describe.literal(part, self.names)) is not None
        ]
        if not changed and (state is None or describe.state(value) == state):
            return []
        views, needed = (changed[:_MAX_CHANGES], {}) if changed else self._views(value)
        views = [one for one in views if one not in viewed or describe.is_of_kind(one)]
        known = {template for template, _ in views}
        read = [one for one in readings(value, self.names, self.root) if one[0] not in known]
        views = [one for one in views if not (read and describe.is_of_kind(one))] + read
        imports.update({**needed, **describe.imports_of(views)})
        return views

    def _value(self, value: Any, lazily: bool, *, whole: bool) -> dict[str, Any]:
        views, imports = [], {}
        try:
            views, imports = ([], {}) if mocks.is_mock(value) else self._views(value, whole=whole)
        except Exception:
            # Of what is used only now this is the call's own end; another object fails at being looked at alone.
            if lazily:
                raise
        return {"kind": "value", "type": type(value).__name__, "views": views, "imports": imports}

    def _views(self, value: Any, *, whole: bool = True) -> tuple[list[list[str]], dict[str, str]]:
        return describe.views(value, self.names, self.root, _MAX_ITEMS, whole=whole)

    def _raised(self, error: BaseException) -> dict[str, Any]:
        kind = type(error)
        frames = list(_frames(error))
        own = [(frame, line) for frame, line in frames if frame.f_code.co_filename.startswith(self.root)]
        # What fails while the exception of a `raise` is made, as an attribute that is not there, nobody raised.
        deliberate = bool(own) and frames[-1] == own[-1] and _is_raised_at_the_end(error)
        return {
            "kind": "raises",
            # Of a class in a class the whole name, by which a test can reach it; one in a function nobody can name.
            "type": kind.__qualname__,
            "module": kind.__module__,
            "message": describe.clean_message(str(error), self.root),
            # Nobody ends a program by mistake.
            "deliberate": (deliberate and "<locals>" not in kind.__qualname__) or kind is SystemExit,
            "inside": bool(own),
            "line": next((line for frame, line in reversed(own) if frame.f_code.co_filename == self.path), 0),
        }

    def _state(self) -> dict[str, tuple[int, Any]]:
        """Return the state of the module's own containers, as far as it costs little to look at them: the size of each
        and its text, and of a mapping or set that grows the text of each entry. What all modules share stands beside.
        """
        containers = (list, dict, set, collections.deque)
        return {"<process>": (0, _state_of_process())} | {
            name: (len(value), _text_of(value))
            for name, value in vars(self.module).items()
            if isinstance(value, containers) and not name.startswith("__")
        }


def _state_of_process() -> str:
    """Return what a call may leave behind for all tests: the finders of modules, hooks, variables and handlers."""
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    return repr((sys.meta_path, sys.path_hooks, sys.excepthook, sys.getrecursionlimit(), dict(os.environ), handlers))


def _text_of(container: Any) -> Any:
    if len(container) >= _MAX_STATE:
        return None if isinstance(container, (dict, set)) else ""
    if isinstance(container, dict):
        return {repr(key): repr(value) for key, value in container.items()}
    return set(map(repr, container)) if isinstance(container, set) else repr(container)


def _is_only_more(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Return whether mappings and sets have at most entries beside those they had, as one that remembers results."""
    if before.keys() != after.keys():
        return False
    for name, (size, text) in before.items():
        new_size, new_text = after[name]
        if text is None or new_text is None:
            same = size <= new_size
        elif isinstance(text, dict) and isinstance(new_text, dict):
            same = text.items() <= new_text.items()
        elif isinstance(text, set) and isinstance(new_text, set):
            same = text <= new_text
        else:
            same = text == new_text and size == new_size
        if not same:
            return False
    return True


def _frames(error: BaseException) -> Iterator[tuple[Any, int]]:
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename != __file__:
            yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


def _is_raised_at_the_end(error: BaseException) -> bool:
    """Return whether a ``raise`` statement raised *error*, where it came from; an ``assert`` is none."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or type(error) is AssertionError:
        return False
    return traceback.tb_frame.f_code.co_code[traceback.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def _is_cached(value: Any) -> bool:
    return isinstance(value, functools._lru_cache_wrapper)


def outcome(seen: dict[str, Any]) -> list[Any]:
    """Return the parts of an observation that a test could check."""
    if seen["kind"] == "raises":
        return ["raises", seen["type"], [], [], ""]
    return [seen["kind"], "", seen.get("views", []), seen.get("effects", []), seen.get("printed", "")]


def classes_of(module: Any) -> dict[str, Any]:
    """Return the facts that only the imported module knows: how its classes are built, and the members of its
    enumerations.
    """
    found = {}
    for name, value in vars(module).items():
        if isinstance(value, type) and value.__module__ == module.__name__:
            with contextlib.suppress(ValueError, TypeError):
                found[name] = {
                    "parameters": [[p.name, p.kind.name, p.default is not p.empty] for p in _parameters(value)],
                    "abstract": inspect.isabstract(value),
                    "exception": issubclass(value, BaseException),
                    "members": list(value.__members__)[:20] if describe.is_enumeration(value) else [],
                }
    return found


def _parameters(kind: type) -> list[inspect.Parameter]:
    return list(inspect.signature(kind).parameters.values())
