"""Runs the workspace's tests and examples, and tells how the functions of one module are called there:
``rolecall_record.py REQUEST REPORT``.

Runs in the workspace's own interpreter, so only the standard library of Python 3.8 and later is used. The request is
a JSON object, the report one JSON object a line: a call of a function, or an object that was built.
"""

# pyright: basic, reportMissingImports=false
# It looks at objects of which nothing is known, and finds its other parts beside itself.

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any

from rolecall_functions import NoSourceError
from rolecall_sources import Sources
from rolecall_ways import called, entry_of, is_bound, is_runner

_USAGE_ERROR = 4  # pytest's exit code where it does not know an option
_MAX_OBJECTS = 8
_MAX_LINE = 1500
_MAX_FRAMES = 40
_FOREIGN, _OWN, _TEST, _BUILDER = range(4)
"""Whose code it is: another's, the workspace's, that of its tests and examples; and what builds another's objects."""
_MAX_WAYS = 300
"""So many calls of other functions, through which the module's own code runs, are recorded."""
_TEST_PARTS = ("test", "tests", "testing", "conftest.py")


class CallRecorder:
    """Notes calls of the module at *path*, and where the objects of the workspace come from: for a profile function."""

    def __init__(self, request: dict[str, Any], report: Any) -> None:
        self.root: str = request["root"].rstrip("/") + "/"
        self.path: str = request["path"]
        self.targets: dict[int, str] = {int(line): name for line, name in request["targets"].items()}
        self.limit: int = request["limit"]
        self.report = report
        self.sources = Sources(request["module"], self.root)
        self.kinds: dict[Any, int] = {}
        self.told: dict[str, set[str]] = {}
        self.built: dict[str, set[str]] = {}
        self.pending: dict[Any, Any] = {}
        self.ways: set[Any] = set()
        self.told_ways: set[str] = set()

    def hook(self) -> Any:
        """Return the function that is told of every call, which has to be quick."""
        # Locals, as the function below runs at every call that Python makes.
        kinds, pending, ways = self.kinds, self.pending, self.ways

        def told(frame: Any, event: str, argument: Any) -> None:
            if event == "call":
                kind = kinds.get(frame.f_code)
                if kind is None:
                    kind = kinds[frame.f_code] = self._kind(frame.f_code)
                if kind == _OWN:
                    self._enter(frame)
                elif kind == _BUILDER:
                    self._enter_builder(frame)
            elif event == "return":
                ways.discard(frame)
                if frame in pending:
                    given = pending.pop(frame)
                    with contextlib.suppress(Exception):
                        self._returned(given, argument)

        return told

    def _enter(self, frame: Any) -> None:
        with contextlib.suppress(Exception):  # of an object of the workspace's
            self._called(frame, frame.f_code)
        if frame.f_code.co_filename == self.path:
            with contextlib.suppress(Exception):
                self._note_way(frame)

    def _enter_builder(self, frame: Any) -> None:
        """Note how a test builds an object of another's class."""
        if self._kind_of(frame.f_back) == _TEST:
            with contextlib.suppress(Exception):
                code, local = frame.f_code, dict(frame.f_locals)
                self._build(local[code.co_varnames[0]], self._written(code, local, direct=True))

    def _note_way(self, frame: Any) -> None:
        """Note the call that a test makes of some other function, and that leads to *frame*, of the module."""
        entry = entry_of(frame, lambda caller: self._kind_of(caller) == _TEST)
        if entry is None or entry is frame or entry in self.ways or len(self.told_ways) >= _MAX_WAYS:
            return
        code = entry.f_code
        self.ways.add(entry)
        if code.co_filename == self.path or code.co_flags & 0x2A0 or is_runner(code.co_filename):
            return
        # What the function changed of its arguments since is passed as it is now: the call is tried before it is used.
        local = dict(entry.f_locals)
        if (call := self._written(code, local, direct=True)) is None:
            return
        line = {**call, **called(code, local, self.sources), "optional": sorted(self.sources.defaults_of(code))}
        text = json.dumps(line, sort_keys=True)
        if text not in self.told_ways and len(text) < _MAX_LINE:
            self.told_ways.add(text)
            self.report({**line, "imports": self.sources.imports_in(text)})

    def _kind_of(self, frame: Any) -> int:
        kind = self.kinds.get(frame.f_code)
        if kind is None:
            kind = self.kinds[frame.f_code] = self._kind(frame.f_code)
        return kind

    def _kind(self, code: Any) -> int:
        """Return whose code it is."""
        name = code.co_filename
        if name == "<example>":
            return _TEST
        if not name.startswith(self.root):
            builds = code.co_name == "__init__" and "site-packages" in name and not is_runner(name)
            return _BUILDER if builds else _FOREIGN
        if is_test(name[len(self.root) :]):
            return _TEST
        return _FOREIGN if code.co_name in ("<module>", "<listcomp>", "<genexpr>", "<dictcomp>") else _OWN

    def _called(self, frame: Any, code: Any) -> None:
        outside = self._is_outside(frame.f_back)
        is_target = code.co_filename == self.path and code.co_firstlineno in self.targets
        builds = code.co_name in ("__init__", "__new__")
        if not (outside or is_target or builds):
            return
        local, given = dict(frame.f_locals), _given(code)  # from Python 3.13 on not a dictionary, but a view
        if not local.keys() >= set(given) or (
            code.co_flags & 0x2A0 and len(local) > len(given) + len(code.co_freevars)
        ):
            return  # a generator that goes on
        first = local[given[0]] if given else None
        if outside and first is not None:
            self.sources.notice(first)
        target = self.targets[code.co_firstlineno] if is_target else ""
        told = self.told.setdefault(target, set())
        if not (outside or builds) and len(told) >= self.limit:
            return
        call = self._written(code, local, outside)
        if code.co_name == "__init__" and not self.sources.knows(first):
            self._build(first, call)
        if target and len(told) < self.limit:
            self._tell(target, code, first, call)
        if (outside or code.co_name == "__new__") and not code.co_flags & 0x2A0:
            self.pending[frame] = (code, first, call, self.sources.state(first))

    def _is_outside(self, caller: Any) -> bool:
        """Return whether a test or an example makes the call, be it by way of other libraries."""
        for _ in range(_MAX_FRAMES):
            if caller is None:
                return True
            kind = self._kind_of(caller)
            if kind == _OWN:
                return False
            if kind == _TEST:
                return True
            caller = caller.f_back
        return True

    def _written(self, code: Any, local: dict[str, Any], direct: bool) -> dict[str, Any] | None:
        """Return the arguments as expressions; None where one has none."""
        n_plain, n_words = code.co_argcount, code.co_kwonlyargcount
        names = code.co_varnames
        defaults = self.sources.defaults_of(code)
        skipped = 1 if is_bound(code, names, local) else 0
        given: dict[str, str] = {}
        more: list[str] = []
        words: dict[str, str] = {}
        try:
            for name in names[skipped : n_plain + n_words]:
                if not (name in defaults and defaults[name] is local[name]):
                    given[name] = self.sources.write(local[name])
            place = n_plain + n_words
            if code.co_flags & 0x04:
                more = [self.sources.write(one) for one in local[names[place]]]
                place += 1
            if code.co_flags & 0x08:
                words = {name: self.sources.write(one) for name, one in local[names[place]].items()}
        except NoSourceError:
            return None
        plain = list(names[skipped:n_plain])
        return {"given": given, "more": more, "words": words, "plain": plain, "direct": direct}

    def _tell(self, target: str, code: Any, first: Any, call: dict[str, Any] | None) -> None:
        if call is None:
            return
        receiver = ""
        if "." in target and code.co_name not in ("__init__", "__new__") and not isinstance(first, type):
            try:
                receiver = self.sources.write(first)
            except NoSourceError:
                return
        if code.co_name == "__init__" and type(first).__name__ != target:
            return
        line = {**call, "target": target, "receiver": receiver}
        text = json.dumps(line, sort_keys=True)
        if text not in self.told[target] and len(text) < _MAX_LINE:
            self.told[target].add(text)
            self.report({**line, "imports": self.sources.imports_in(text)})

    def _build(self, value: Any, call: dict[str, Any] | None) -> None:
        kind = type(value)
        if call is not None:
            with contextlib.suppress(NoSourceError):
                self.sources.remember(value, f"{self.sources.write(kind)}({arguments(call)})")

    def _returned(self, pending: tuple[Any, ...], value: Any) -> None:
        code, first, call, state = pending
        if call is None:
            return
        name = code.co_name
        if name == "__new__":
            if isinstance(first, type) and type(value) is first and not self.sources.knows(value):
                self._build(value, call)
            return
        known = self.sources.knows(first)
        if known and state is not None and self.sources.state(first) != state and name != "__init__":
            self._changed(code, first, call)
        elif self.sources.is_own(value) and not self.sources.knows(value):
            with contextlib.suppress(NoSourceError):
                if known or isinstance(first, type):
                    callee = f"{self.sources.write(first)}.{name}"
                else:
                    callee = self.sources.write(self.sources.function_of(code))
                self.sources.remember(value, f"{callee}({arguments(call)})")
        for one in (first, value):
            if self.sources.knows(one):
                self.sources.settle(one)
                self._tell_object(one)

    def _changed(self, code: Any, value: Any, call: dict[str, Any]) -> None:
        member = getattr(type(value), code.co_name, None)
        if isinstance(member, property):
            setter = getattr(member.fset, "__code__", None) is code
            if setter and len(call["given"]) == 1:
                self.sources.add_step(value, f"setattr({{}}, {code.co_name!r}, {next(iter(call['given'].values()))})")
        elif code.co_name == "__setitem__":
            self.sources.add_step(value, f"{{}}.__setitem__({arguments(call)})")
        elif not code.co_name.startswith("__") or code.co_name in ("__call__", "__enter__", "__iadd__"):
            self.sources.add_step(value, f"{{}}.{code.co_name}({arguments(call)})")

    def _tell_object(self, value: Any) -> None:
        kind = type(value).__name__
        told = self.built.setdefault(kind, set())
        if len(told) < _MAX_OBJECTS:
            with contextlib.suppress(NoSourceError):
                source = self.sources.write(value)
                if source not in told:
                    told.add(source)
                    self.report({"object": kind, "source": source, "imports": self.sources.imports_in(source)})


def _given(code: Any) -> list[str]:
    n_given = code.co_argcount + code.co_kwonlyargcount
    n_given += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return list(code.co_varnames[:n_given])


def arguments(call: dict[str, Any]) -> str:
    """Return what stands in the parentheses of a call."""
    written: list[str] = []
    by_position = True
    for name, source in call["given"].items():
        # A name that was left out before it makes a keyword of it.
        by_position = by_position and name in call["plain"] and call["plain"].index(name) == len(written)
        written.append(source if by_position or call["more"] else f"{name}={source}")
    written += call["more"]
    written += [f"{name}={source}" for name, source in call["words"].items()]
    return ", ".join(written)


def is_test(path: str) -> bool:
    """Return whether a file of the workspace belongs to its tests."""
    parts = path.split("/")
    return any(part in _TEST_PARTS for part in parts) or parts[-1].startswith("test_") or path.endswith("_test.py")


def run_examples(examples: list[str], recorder: CallRecorder) -> None:
    """Runs the examples of the documentation, each as far as it goes."""
    for text in examples:
        names: dict[str, Any] = {"__name__": "example"}
        for piece in text.split("\0"):
            # An example may well end in `sys.exit()`.
            with contextlib.suppress(BaseException), contextlib.redirect_stdout(io.StringIO()):
                code = compile(piece, "<example>", "exec", dont_inherit=True)
                sys.setprofile(recorder.hook())
                exec(code, names)  # noqa: S102
        sys.setprofile(None)


def run_tests(request: dict[str, Any], recorder: CallRecorder) -> None:
    """Runs the test files with pytest, else with unittest."""
    if not request["tests"]:
        return
    try:
        import pytest
    except ImportError:
        _run_unittest(request["tests"], recorder)
        return
    if hasattr(gc, "freeze"):  # PyPy has none
        gc.freeze()  # at its end pytest looks for garbage five times, and nothing that was imported is some
    fixed = ["-q", "-p", "no:cacheprovider", "--tb=no", "--continue-on-collection-errors", "-W", "ignore"]
    fixed += [
        f"--rootdir={request['root']}",
        f"--basetemp={Path(tempfile.gettempdir(), 'recorded')}",
        *request["flags"],
    ]
    # Options and settings of the repository may be those of a plug-in that is not there.
    for more in ([], ["-o", "addopts=", "-o", "strict_config=false"]):
        sys.setprofile(recorder.hook())
        code = pytest.main([*fixed, *more, *request["tests"]])
        sys.setprofile(None)
        if code != _USAGE_ERROR:
            return


def _run_unittest(tests: list[str], recorder: CallRecorder) -> None:
    for path in tests:
        name = path[: -len(".py")].replace("/", ".")
        sys.setprofile(recorder.hook())
        with contextlib.suppress(Exception), contextlib.redirect_stderr(io.StringIO()):
            unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromName(name))
        sys.setprofile(None)


def main(request_path: str, report_path: str) -> int:
    """Runs what is asked for; the exit code."""
    request = json.loads(Path(request_path).read_text("utf-8"))
    sys.path[:] = [entry for entry in sys.path if entry != str(Path(__file__).parent)]
    sys.dont_write_bytecode = True
    out = Path(report_path).open("w", encoding="utf-8")  # noqa: SIM115 - tests may end the process

    def report(line: dict[str, Any]) -> None:
        out.write(json.dumps(line) + "\n")
        out.flush()

    # At its end what was seen so far has to do: a test may well wait for a network that is not there.
    watch = threading.Timer(request["time_s"], os._exit, (0,))
    watch.daemon = True
    watch.start()
    recorder = CallRecorder(request, report)
    with contextlib.suppress(BaseException):
        run_examples(request["examples"], recorder)
    with contextlib.suppress(BaseException):
        run_tests(request, recorder)
    sys.setprofile(None)
    report({"ended": True})
    out.close()
    os._exit(0)  # threads that the tests left behind are not waited for


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
