"""Node's own test runner, by a reporter of ours.

Source: nodejs.org/api/test.html, "Custom reporters" (Node 18.15, 19.6 and later).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolecall_server.sandbox.event_lines import GARBLED, records_in
from rolecall_server.sandbox.results import NotRun, TestResult
from rolecall_server.sandbox.run_folder import RunFolder
from rolecall_server.sandbox.runners.javascript import script_of_tests
from rolecall_server.sandbox.runners.port import Errand, RunnerPackage, Told, find_tool, installation_of, worst_of

_REPORTER = Path(__file__).parents[1] / "child" / "rolecall_node.mjs"
_KEPT_OPTION = re.compile(r"(?:--import|--loader|--require|-r|--experimental-loader)(?:=|\s+)\S+|--experimental-\S+")
"""Options of the repository's own script that say how its files are read."""
_RAISED = re.compile(r"^(\w*(?:Error|Exception)\b.*)$", re.MULTILINE)


@dataclass(frozen=True)
class NodeTests:
    """Tests that import ``node:test``."""

    name: str = "node --test"

    def prepare(self, package: RunnerPackage, targets: Sequence[str], folder: RunFolder) -> Errand | NotRun:
        """``node --test`` with the loaders that the package's own script names."""
        node = find_tool("node", package)
        if isinstance(node, NotRun):
            return node
        shutil.copyfile(_REPORTER, folder.plugin / _REPORTER.name)
        loaders = [word for option in _KEPT_OPTION.findall(script_of_tests(package)) for word in option.split()]
        reporting = (
            f"--test-reporter={folder.plugin / _REPORTER.name}",
            f"--test-reporter-destination={folder.report}",
        )
        files = [package.relative(target) for target in targets]
        return Errand(
            (str(node), *loaders, "--test", *reporting, *files), installation_of(node), programs=(node.parent,)
        )

    def read(self, package: RunnerPackage, report: str, output: str) -> Told:
        """Read what the reporter told, a line for each test."""
        outcomes: list[TestResult] = []
        running, is_complete = "", False
        for record in records_in(report):
            with suppress(*GARBLED):
                test_id = _id(package, record)
                match record["kind"]:
                    case "start":
                        running = test_id
                    case "end":
                        is_complete, running = True, ""
                    case _ if _counts(record):
                        outcomes.append(_outcome(test_id, record))
                    case _:
                        pass
        return Told(worst_of(outcomes), is_complete, running)


def _counts(record: dict[str, Any]) -> bool:
    """Return whether the record counts as a test; one of a suite or a file does where it failed for another reason than
    its tests.
    """
    is_file = len(record["names"]) == 1 and record["file"].endswith(record["names"][0])
    if record["kind"] == "pass":
        return not record["suite"] and not is_file
    return record["failure"] != "subtestsFailed"


def _id(package: RunnerPackage, record: dict[str, Any]) -> str:
    if record["kind"] == "end":
        return ""
    names: list[str] = record["names"]
    file: str = record["file"] or names[0]
    inside = [name for name in names if name != file and not file.endswith(name)]
    path = file.removeprefix(f"{package.place}/")
    path = package.path_of(path) if not path.startswith("/") else path
    return f"{path}::{' > '.join(inside)}" if inside else path


def _outcome(test_id: str, record: dict[str, Any]) -> TestResult:
    skipped, todo = record["skipped"], record["todo"]
    if skipped is not False:
        return TestResult(test_id, "skipped", message=skipped if isinstance(skipped, str) else "")
    failed = record["kind"] == "fail"
    if todo is not False:
        return TestResult(test_id, "xfailed" if failed else "skipped", record["duration_s"])
    if not failed:
        return TestResult(test_id, "passed", record["duration_s"])
    kind = "failed" if "::" in test_id and record["failure"] == "testCodeFailure" else "error"
    message = " ".join(f"{record['name']}: {record['message']}".split()).removeprefix(": ")
    if kind == "error" and (raised := _RAISED.findall(record["printed"])):
        message = raised[-1]  # a file that cannot be read tells no more than that it failed
    return TestResult(test_id, kind, record["duration_s"], message, record["detail"] or record["printed"])
