"""``go test``, by its stream of events.

Source: ``go doc test2json``; what a package that does not build says differs before and after Go 1.24.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from rolecall_server.sandbox.event_lines import read_record
from rolecall_server.sandbox.results import NotRun, Outcome, TestResult
from rolecall_server.sandbox.run_folder import RunFolder
from rolecall_server.sandbox.runners.port import Errand, RunnerPackage, Told, find_tool, installation_of

_OWN_CACHE = 'mkdir -p "$GOCACHE" && cp -rs "$0/." "$GOCACHE" 2>/dev/null; exec "$@"'
"""Go writes beside what it has compiled before, the standard library above all, which can only be read."""
_OUTCOMES: dict[str, Outcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}
_CHATTER = re.compile(r"\s*(?:===|---|PASS\b|FAIL\b|ok\b)")
_FAULT = re.compile(r"^(\S+\.go:\d+(?::\d+)?: .+)$", re.MULTILINE)
_SETUP = "[setup failed]"
_NOT_BUILT = re.compile(r"FAIL\t(\S+) \[(?:build|setup) failed\]")
"""The text that Go before 1.24 writes between the events."""


@dataclass(frozen=True)
class GoTests:
    """The tests of the packages of one module."""

    name: str = "go test"

    def prepare(self, package: RunnerPackage, targets: Sequence[str], folder: RunFolder) -> Errand | NotRun:
        """``go test`` for the packages that hold *targets*; modules come from the developer's cache alone."""
        go = find_tool("go", package)
        if isinstance(go, NotRun):
            return go
        folders = dict.fromkeys(str(PurePosixPath(package.relative(target)).parent) for target in targets)
        patterns = [f"./{each}" if each != "." else "." for each in folders] or ["./..."]
        modules, compiled = _module_cache(), _build_cache()
        # Else go would fetch the modules, or the version of itself, that `go.mod` names.
        environment = {
            "GOMODCACHE": str(modules),
            "GOCACHE": str(folder.home / "go-build"),
            "GOPROXY": "off",
            "GOTOOLCHAIN": "local",
        }
        return Errand(
            # `-count=1` has the tests run: go would tell an earlier result from its cache.
            ("/bin/sh", "-c", _OWN_CACHE, str(compiled), str(go), "test", "-json", "-count=1", *patterns),
            (*installation_of(go), modules, compiled),
            (go.parent,),
            environment,
            reports_to_output=True,
        )

    def read(self, package: RunnerPackage, report: str, output: str) -> Told:
        """Read what the events say of each test, and of packages that do not build."""
        events = [*_events(report)]
        started = {event["Package"]: event for event in events if "Package" in event}
        ended = {event["Package"] for event in events if _ends_package(event)}
        outcomes = [*_tests(package, events), *_broken(package, events, output)]
        missing = _missing(events, output)
        return Told(tuple(outcomes), bool(started) and started.keys() <= ended, _running(package, events), missing)


def _events(report: str) -> Iterator[dict[str, Any]]:
    for line in report.splitlines():
        if not_built := _NOT_BUILT.fullmatch(line):
            yield {"Action": "fail", "Package": not_built[1], "Output": line}
        event = read_record(line, "Action", "Package", "ImportPath", "Test", "Output")
        if event is not None and "Action" in event and _is_whole(event):
            yield event


def _is_whole(event: dict[str, Any]) -> bool:
    """Return whether *event* has what its kind of event is read for."""
    has_time = isinstance(event.get("Elapsed", 0), int | float)
    return (
        has_time and ("Test" not in event or "Package" in event) and (event["Action"] != "output" or "Output" in event)
    )


def _ends_package(event: dict[str, Any]) -> bool:
    return "Test" not in event and event["Action"] in _OUTCOMES


def _id(package: RunnerPackage, event: dict[str, Any]) -> str:
    module = re.search(r"^module\s+\"?([^\s\"]+)", package.read("go.mod"), re.MULTILINE)
    name: str = event.get("Package") or str(event.get("ImportPath", "")).partition(" ")[0]
    inside = name.removeprefix(module[1]).strip("/") if module else name
    path = package.path_of(inside) if inside else package.folder or "."
    return f"{path}::{event['Test']}" if "Test" in event else path


def _tests(package: RunnerPackage, events: Sequence[dict[str, Any]]) -> Iterator[TestResult]:
    printed: dict[tuple[str, str], list[str]] = defaultdict(list)
    for event in events:
        if "Test" not in event:
            continue
        key = (event["Package"], event["Test"])
        if event["Action"] == "output" and not _CHATTER.match(event["Output"]):
            printed[key].append(event["Output"])
        elif event["Action"] in _OUTCOMES:
            text = "".join(printed[key])
            message = " ".join((text.strip().splitlines() or [""])[0].split()) if event["Action"] != "pass" else ""
            detail = text if event["Action"] == "fail" else ""
            yield TestResult(
                _id(package, event), _OUTCOMES[event["Action"]], float(event.get("Elapsed", 0)), message, detail
            )


def _broken(package: RunnerPackage, events: Sequence[dict[str, Any]], output: str) -> Iterator[TestResult]:
    """Packages that failed without a test that did: they do not build, or a test ended the process."""
    failed_inside = {event["Package"] for event in events if "Test" in event and event["Action"] == "fail"}
    for event in events:
        if not _ends_package(event) or event["Action"] != "fail" or event["Package"] in failed_inside:
            continue
        said = "".join(_said_of(event["Package"], events)) + output
        fault = _FAULT.search(said)
        lines = [line.strip() for line in said.splitlines() if line.strip() and not _CHATTER.match(line)]
        yield TestResult(
            _id(package, event), "error", message=fault[1] if fault else (lines or ["it failed"])[0], detail=said
        )


def _said_of(name: str, events: Sequence[dict[str, Any]]) -> Iterator[str]:
    for event in events:
        # What concerns the build has `ImportPath` instead, and that may say more: `shop [shop.test]`.
        is_of_it = event.get("Package") == name or str(event.get("ImportPath", "")).partition(" ")[0] == name
        if is_of_it and "Output" in event and "Test" not in event:
            yield event["Output"]


def _missing(events: Sequence[dict[str, Any]], output: str) -> str:
    """Return the reason why nothing could be built at all, a package that nobody installed; else empty."""
    said = "".join(str(event.get("Output", "")) for event in events)
    if _SETUP not in said and events:
        return ""
    lines = [line.strip() for line in (output + said).splitlines() if line.strip()]
    reason = next((line for line in lines if not line.startswith(("#", "FAIL"))), "")
    return reason.partition("; to add it:")[0].rstrip(".")


def _running(package: RunnerPackage, events: Sequence[dict[str, Any]]) -> str:
    """Return the test that began last of those that have not ended."""
    open_tests: dict[tuple[str, str], dict[str, Any]] = {}
    for event in events:
        if "Test" in event:
            key = (event["Package"], event["Test"])
            if event["Action"] == "run":
                open_tests[key] = event
            elif event["Action"] in _OUTCOMES:
                open_tests.pop(key, None)
    return _id(package, [*open_tests.values()][-1]) if open_tests else ""


def _module_cache() -> Path:
    """Return the folder in which Go keeps what it has downloaded."""
    named = os.environ.get("GOMODCACHE")
    paths = os.environ.get("GOPATH", "").split(os.pathsep)[0]
    return Path(named) if named else Path(paths or Path.home() / "go", "pkg", "mod")


def _build_cache() -> Path:
    """Return the folder in which Go keeps what it has compiled."""
    named = os.environ.get("GOCACHE")
    return Path(named or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "go-build"))
