"""Runs the workspace's tests by unittest, and tells what happens to each.

Its arguments are files, or node ids as pytest writes them (``tests/test_price.py::Prices::test_large``), relative to
the folder it is started in; without any, every file is taken that unittest would find by its name.
"""

# ruff: noqa: N802, PTH100, PTH110, PTH113, PTH118 -- unittest's names; texts, because modules name their files so.

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import importlib
import math
import os
import random
import sys
import time
import traceback
import unittest
from itertools import compress
from typing import TYPE_CHECKING, Any

from rolecall_session import (
    Session,
    message_of,
    seconds,
    tell,
    tell_report,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import ModuleType, TracebackType

    ErrorInfo = tuple[type[BaseException], BaseException, TracebackType]

# The code for no tests is pytest's: what is told here is read as a report of pytest's.
_SKIPPED, _FAILED, _NO_TESTS = "skipped", "failed", 5


class Teller(unittest.TestResult):
    """Tells of each test when it begins and when it has ended."""

    def __init__(self, session: Session, ids: dict[int, str]) -> None:
        super().__init__()
        self._session = session
        self._ids = ids
        self._until_s = math.inf
        self._began = 0.0

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._began = time.monotonic()
        self._session.enter(self._id(test))
        tell("start", test=self._id(test))

    def stopTest(self, test: unittest.TestCase) -> None:
        self._session.enter("")
        duration_s = time.monotonic() - self._began
        # Whatever came before: by pytest's word for the last phase the reader knows that the test has ended.
        tell_report(self._id(test), "teardown", "passed", message="", detail="", duration_s=duration_s)
        super().stopTest(test)
        self.shouldStop |= seconds() >= self._until_s

    def run_until(self, until_s: float, tests: Sequence[unittest.TestCase]) -> None:
        """Run *tests*, none of which begins later than *until_s*."""
        self._until_s = until_s
        self.shouldStop = seconds() >= until_s
        unittest.TestSuite(tests).run(self)

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._tell(test, "passed")

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addFailure(test, err)
        self._tell(test, _FAILED, err)

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        super().addError(test, err)
        self._tell(test, _FAILED, err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._tell(test, _FAILED, err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        tell_report(self._id(test), "call", _SKIPPED, message=reason, detail="")

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:
        super().addExpectedFailure(test, err)
        tell_report(self._id(test), "call", _SKIPPED, message=message_of(err[1]), detail="", expected=True)

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        super().addUnexpectedSuccess(test)
        tell_report(self._id(test), "call", _FAILED, message="It was expected to fail, and passed.", detail="")

    def _tell(self, test: unittest.TestCase, outcome: str, error: ErrorInfo | None = None) -> None:
        # What is no test case stands for a class or a module whose preparation failed.
        when = "call" if isinstance(test, unittest.TestCase) else "setup"
        message, detail = (message_of(error[1]), _detail(error)) if error else ("", "")
        tell_report(self._id(test), when, outcome, message=message, detail=detail)

    def _id(self, test: unittest.TestCase) -> str:
        return self._ids.get(id(test)) or test.id()


def _detail(error: ErrorInfo) -> str:
    """Return the traceback without the frames of unittest itself."""
    kind, raised, frame = error
    while frame is not None and "__unittest" in frame.tb_frame.f_globals:
        frame = frame.tb_next
    shown = [entry for entry in traceback.extract_tb(frame) if f"{os.sep}unittest{os.sep}" not in entry.filename]
    return "".join([*traceback.format_list(shown), *traceback.format_exception_only(kind, raised)])


def main(targets: Sequence[str]) -> int:
    """Run the tests and return the exit code: 0 when every test passed, 1 when one did not, 5 when there was none."""
    session = Session()
    session.start()
    ids: dict[int, str] = {}
    suite = session.request.get("suite")
    ranks = {path: rank for rank, path in enumerate(suite["first"])} if suite else {}
    if suite and suite["is_alone"]:
        targets, suite = suite["first"], None  # that a test has another name than most says nothing here
    files = targets or sorted(_files(), key=lambda path: (ranks.get(path, len(ranks)), path))
    tests = [test for target in files for test in _load(target, ids)]
    if suite:
        tell(
            "collected",
            tests=len(tests),
            left_out={path: "unittest does not find it" for path in ranks if path not in files},
        )
    if (seed := session.request["order_seed"]) is not None:
        chance = random.Random(seed)  # noqa: S311
        places: dict[object, float] = {}
        tests.sort(key=lambda test: [places.setdefault(part, chance.random()) for part in _parts(ids[id(test)])])
    result = Teller(session, ids)
    if suite:
        is_first = [ids[id(test)].partition("::")[0] in ranks for test in tests]
        result.run_until(suite["first_s"], list(compress(tests, is_first)))
        result.run_until(suite["rest_s"], list(compress(tests, [not first for first in is_first])))
    else:
        result.run_until(math.inf, tests)
    session.finish()
    code = _NO_TESTS if not result.testsRun and not result.errors else int(not result.wasSuccessful())
    tell("end", exit_code=code)
    return code


def _parts(test_id: str) -> Iterator[str]:
    """Yield the ids of what *test_id* lies in, from the file down to itself."""
    for end, character in enumerate(test_id):
        if character == ":" and test_id[end + 1 : end + 2] == ":":
            yield test_id[:end]
    yield test_id


def _files() -> Iterator[str]:
    """Yield the files that have the names of tests, as unittest's discovery knows them."""
    for folder, folders, names in os.walk("."):
        inner = [name for name in folders if not name.startswith(".") and name != "node_modules"]
        folders[:] = [name for name in inner if not os.path.exists(f"{folder}/{name}/pyvenv.cfg")]
        for name in names:
            if name.endswith(".py") and (name.startswith("test") or name.endswith("_test.py")):
                yield os.path.normpath(os.path.join(folder, name))


def _load(target: str, ids: dict[int, str]) -> Iterable[unittest.TestCase]:
    """Load the tests of *target*, each with an id; report a file that cannot be imported, which has none."""
    path, _, name = target.partition("::")
    try:
        module = _import(path)
    except unittest.SkipTest as skip:
        tell_report(path, "collect", _SKIPPED, message=str(skip), detail="")
        return []
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- whatever the module raises
        tell_report(path, "collect", _FAILED, message=message_of(error), detail=traceback.format_exc())
        return []
    loader = unittest.defaultTestLoader
    try:
        suite = (
            loader.loadTestsFromName(name.replace("::", "."), module) if name else loader.loadTestsFromModule(module)
        )
    except (AttributeError, TypeError) as error:
        tell_report(target, "collect", _FAILED, message=message_of(error), detail="")
        return []
    found = list(_flat(suite))
    ids.update((id(test), f"{path}::{_name(test)}") for test in found)
    return found


def _import(path: str) -> ModuleType:
    """Import the file *path* by the name it has in its package, and return the module."""
    location = os.path.abspath(path)
    folder, name = os.path.split(location.rpartition(".")[0])
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        name = f"{package}.{name}"
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = importlib.import_module(name)
    if os.path.realpath(module.__file__ or "") != os.path.realpath(location):
        raise ImportError(f"{name} is the name of another module, {module.__file__}.")
    return module


def _flat(suite: Any) -> Iterator[unittest.TestCase]:
    if isinstance(suite, unittest.TestCase):
        yield suite
    else:
        for part in suite:
            yield from _flat(part)


def _name(test: unittest.TestCase) -> str:
    method = getattr(test, "_testMethodName", "")
    own = type(test).__module__.partition(".")[0] != "unittest"
    return f"{type(test).__qualname__}::{method}" if method and own else test.id()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
