"""jest and vitest, which write the same report.

Source: jestjs.io/docs/cli (``--json``, ``--outputFile``); vitest.dev/guide/reporters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolecall_server.sandbox.event_lines import GARBLED, read_record
from rolecall_server.sandbox.results import NotRun, Outcome, TestResult
from rolecall_server.sandbox.run_folder import RunFolder
from rolecall_server.sandbox.runners.javascript import find_module, installed_modules
from rolecall_server.sandbox.runners.port import Errand, RunnerPackage, Told, find_tool, installation_of, worst_of

_OUTCOMES: dict[str, Outcome] = {"passed": "passed", "failed": "failed", "pending": "skipped", "skipped": "skipped"}
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class JestLike:
    """A runner from the package's own ``node_modules``."""

    name: str
    program: str
    """Its file in its package."""

    def prepare(self, package: RunnerPackage, targets: Sequence[str], folder: RunFolder) -> Errand | NotRun:
        """Return the call of the runner with its JSON report; its caches go to where the run may write."""
        node = find_tool("node", package)
        program = find_module(package, self.name, self.program)
        for missing in (node, program):
            if isinstance(missing, NotRun):
                return missing
        assert isinstance(node, Path)
        files = [package.relative(target) for target in targets]
        options = self._options(folder, bool(files))
        readable = (
            *installation_of(node),
            *(package.shadow.original / modules for modules in installed_modules(package)),
        )
        # `CI` keeps both from writing a snapshot that is missing, which would pass whatever the code gives.
        return Errand((str(node), str(program), *options, *files), readable, (node.parent,), {"CI": "true"})

    def _options(self, folder: RunFolder, names_files: bool) -> tuple[str, ...]:
        report = f"--outputFile={folder.report}"
        if self.name == "vitest":
            return ("run", "--reporter=json", report, "--no-color", "--passWithNoTests")
        cache = f"--cacheDirectory={folder.temporary / 'jest'}"
        # Without this, jest takes the paths for patterns.
        files = ("--runTestsByPath",) if names_files else ()
        return ("--ci", "--json", report, cache, "--watchman=false", "--colors=false", "--passWithNoTests", *files)

    def read(self, package: RunnerPackage, report: str, output: str) -> Told:
        """Read the outcomes of the tests from the one JSON document."""
        outcomes: list[TestResult] = []
        for file in (read_record(report) or {})["testResults"]:
            with suppress(*GARBLED):
                outcomes += _of_file(package, file)
        return Told(worst_of(outcomes), is_complete=True)


JEST = JestLike("jest", "bin/jest.js")
VITEST = JestLike("vitest", "vitest.mjs")


def _of_file(package: RunnerPackage, file: dict[str, Any]) -> Iterator[TestResult]:
    path = package.path_of(str(file["name"]).removeprefix(f"{package.place}/"))
    tests = file["assertionResults"]
    if file["status"] == "failed" and not any(test["status"] == "failed" for test in tests):
        text = _COLOUR.sub("", file.get("message") or "")
        yield TestResult(path, "error", message=_first_line(text), detail=text)
    for test in tests:
        yield _of_test(path, test)


def _of_test(path: str, test: dict[str, Any]) -> TestResult:
    test_id = f"{path}::{' > '.join([*test['ancestorTitles'], test['title']])}"
    text = _COLOUR.sub("", "\n".join(test.get("failureMessages") or ()))
    duration_s = float(test.get("duration") or 0) / 1000
    return TestResult(test_id, _OUTCOMES.get(test["status"], "skipped"), duration_s, _first_line(text), text)


def _first_line(text: str) -> str:
    """Return the first line that says something, with what was expected and what came instead."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("●")]
    compared = [" ".join(line.split()) for line in lines if line.startswith(("Expected", "Received"))]
    return "; ".join([*lines[:1], *compared[:2]])
