"""A module with a fault in it, imported in place of the module, and the calls that tell the two apart."""

# pyright: basic, reportMissingImports=false
# It looks at objects of which nothing is known, and finds its other parts beside itself.

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import signal
import sys
from pathlib import Path
from typing import Any

from rolecall_calls import Probe, outcome
from rolecall_guard import Guard, Overtime
from rolecall_in_place import LiveFunctions


class Altered(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from another text, and what was imported before from the code that was compiled then."""

    def __init__(self, root: str) -> None:
        self.root = root
        own = self._own()
        self.codes = {name: _code_of(module) for name, module in own.items()}
        self.specs = {name: module.__spec__ for name, module in own.items()}
        self.path = ""
        self.code: Any = None

    def _own(self) -> dict[str, Any]:
        return {
            name: module
            for name, module in list(sys.modules.items())
            if str(getattr(module, "__file__", None) or "").startswith(self.root) and name != "__main__"
        }

    def forget(self, path: str, code: Any) -> None:
        """From here on the modules of the workspace are imported anew, the one at *path* from *code*."""
        for name in self._own():
            del sys.modules[name]
        self.path, self.code = path, code
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        known = self.specs.get(fullname)
        if known is None or not str(known.origin).endswith(".py"):
            return None
        folders = known.submodule_search_locations
        return importlib.util.spec_from_file_location(
            fullname, known.origin, loader=self, submodule_search_locations=None if folders is None else list(folders)
        )

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        origin = module.__spec__.origin
        code = self.codes.get(module.__name__)
        if origin == self.path:
            code = self.code
        if code is None:
            code = compile(Path(origin).read_bytes(), origin, "exec", dont_inherit=True)
        exec(code, vars(module))  # noqa: S102


def _code_of(module: Any) -> Any:
    with contextlib.suppress(Exception):
        return module.__spec__.loader.get_code(module.__name__)
    return None


class Mutations:
    """Runs calls on mutants of the module until one of them shows a difference."""

    def __init__(self, request: dict[str, Any], guard: Guard) -> None:
        self.request = request
        self.guard = guard
        # Line ends as they are: the place of a mutant is counted in characters.
        with Path(request["path"]).open(encoding="utf-8", newline="") as text:
            self.text = text.read()
        self.calls = {call["id"]: call for call in request["calls"]}
        # Made once without a fault: what the calls import and compile is then there in every fork.
        rehearsal = Probe({**request, "trace": False}, guard)
        for call in request["calls"]:
            rehearsal.observe(call)
        self.altered = Altered(request["root"])
        self.altered.forget(request["path"], compile(self.text, request["path"], "exec", dont_inherit=True))
        self.live = LiveFunctions(request["path"], self.text)
        self.live.watch()
        self.fresh = Probe({**request, "trace": False}, guard)
        self.live.look()

    def judge(self, mutant: dict[str, Any]) -> dict[str, Any]:
        """Return the verdict on *mutant*, with the call that tells it from the original: ``call`` is None where its
        import fails.

        Every mutant has a process of its own: what it does to other modules stays.
        """
        start, end = mutant["span"]
        # `pollutes` has `serve` end this process: the next mutant gets one of its own.
        verdict = {"id": mutant["id"], "killed": True, "call": None, "pollutes": True}
        text = self.text[:start] + mutant["became"] + self.text[end:]
        try:
            # Not inherited: the future imports of this file would hold for the module, too.
            code = compile(text, self.request["path"], "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            return verdict
        probe = self.fresh
        if not self.live.replace(text):  # it differs in what runs at import
            self.altered.forget(self.request["path"], code)
            probe = self._import()
        if probe is None:
            return verdict
        for number in mutant["calls"]:
            seen = probe.observe(self.calls[number])
            known = self.calls[number]
            if outcome(seen) != known["outcome"] or known["said"] not in seen.get("message", ""):
                return {**verdict, "call": number}
        return {**verdict, "killed": False}

    def _import(self) -> Probe | None:
        limit_s = self.request["mutant_timeout_s"]
        signal.setitimer(signal.ITIMER_REAL, limit_s, limit_s / 4)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                return Probe({**self.request, "trace": False}, self.guard)
        except (Exception, Overtime, SystemExit):  # noqa: BLE001
            return None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
