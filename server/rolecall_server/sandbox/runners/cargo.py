"""``cargo test``: what does not compile by cargo's messages, and each test by libtest's JSON.

Source: doc.rust-lang.org/cargo/reference/external-tools.html and doc.rust-lang.org/rustc/tests. libtest's JSON is not
stable yet; a stable toolchain's test programs write it where they are told to when they are started. Tests in
documentation are compiled by rustdoc, which has no such report, and are left out.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolecall_server.sandbox.event_lines import GARBLED, read_record
from rolecall_server.sandbox.results import NotRun, Outcome, TestResult
from rolecall_server.sandbox.run_folder import RunFolder
from rolecall_server.sandbox.runners.port import Errand, RunnerPackage, Told, find_tool, installation_of, worst_of

_SCRIPT = Path(__file__).parents[1] / "child" / "rolecall_rust.sh"
_OWN_HOME = 'mkdir -p "$CARGO_HOME" && for kept in registry git; do ln -s "$0/$kept" "$CARGO_HOME/"; done && exec "$@"'
"""cargo writes locks beside the packages it has downloaded, which can only be read."""
_OUTCOMES: dict[str, Outcome] = {"ok": "passed", "failed": "failed", "ignored": "skipped"}
# cargo puts a hash behind the name of each program that it builds.
_HASH = re.compile(r"-[0-9a-f]{16}$")
_PANIC = re.compile(r"panicked at (?:'(.{1,300}?)', )?[^\s:]{1,400}:\d+:\d+:?\n?(.*)")
_ERROR = re.compile(r"^error: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class CargoTests:
    """The unit and integration tests of one crate."""

    name: str = "cargo test"

    def prepare(self, package: RunnerPackage, targets: Sequence[str], folder: RunFolder) -> Errand | NotRun:
        """``cargo test`` without network, for the whole crate: its unit tests lie in its sources."""
        cargo = find_tool("cargo", package)
        if isinstance(cargo, NotRun):
            return cargo
        shutil.copyfile(_SCRIPT, folder.plugin / _SCRIPT.name)
        home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
        toolchains = Path(os.environ.get("RUSTUP_HOME", Path.home() / ".rustup"))
        runner = f'target."cfg(all())".runner = ["/bin/sh", "{folder.plugin / _SCRIPT.name}"]'  # `all()` is always true
        test = (
            str(cargo),
            "test",
            "--tests",
            "--no-fail-fast",
            "--offline",
            "--message-format=json",
            "--config",
            runner,
        )
        return Errand(
            ("/bin/sh", "-c", _OWN_HOME, str(home), *test),
            (*installation_of(cargo), toolchains, home / "registry", home / "git", home / "bin"),
            (cargo.parent,),
            {
                "CARGO_HOME": str(folder.home / ".cargo"),
                "RUSTUP_HOME": str(toolchains),
                "CARGO_TERM_COLOR": "never",
                "RUST_BACKTRACE": "0",
            },
            reports_to_output=True,
        )

    def read(self, package: RunnerPackage, report: str, output: str) -> Told:
        """Read what cargo says of the build, and each test program of its tests."""
        records = [*_records(report)]
        outcomes = [*_faults(package, records), *_tests(records)]
        built = [bool(record["success"]) for record in records if record.get("reason") == "build-finished"]
        running = _running(records)
        missing = "" if built else "; ".join(_ERROR.findall(output))
        return Told(worst_of(outcomes), bool(built) and not running, running, missing)


def _records(report: str) -> Iterator[dict[str, Any]]:
    for line in report.splitlines():
        record = read_record(line, "reason", "kind", "path", "type", "event", "name", "stdout")
        if record is not None and (record.get("type") != "test" or "name" in record):
            yield record


def _faults(package: RunnerPackage, records: Sequence[dict[str, Any]]) -> Iterator[TestResult]:
    """Yield an outcome for what does not compile, a file each."""
    for record in records:
        if record.get("reason") != "compiler-message":
            continue
        with suppress(*GARBLED):
            said: dict[str, Any] = record["message"]
            spans: list[dict[str, Any]] = [span for span in said["spans"] if span["is_primary"]]
            if said["level"] == "error" and spans:
                where = f"line {spans[0]['line_start']}: {said['message']}"
                yield TestResult(
                    package.path_of(spans[0]["file_name"]), "error", 0.0, where, str(said.get("rendered") or "")
                )


def _tests(records: Sequence[dict[str, Any]]) -> Iterator[TestResult]:
    program = ""
    for record in records:
        if record.get("kind") == "program":
            program = _program(record)
        elif record.get("type") == "test" and record.get("event") in _OUTCOMES:
            failed = record["event"] == "failed"
            printed = record.get("stdout", "") if failed else ""
            yield TestResult(
                f"{program}::{record['name']}",
                _OUTCOMES[record["event"]],
                float(record.get("exec_time", 0)),
                _message(printed) if failed else str(record.get("message", "")),
                printed,
            )


def _message(printed: str) -> str:
    """Return the panic in one line; where it stands in the text differs before and after Rust 1.73."""
    found = _PANIC.search(printed)
    if found is None:
        return (printed.strip().splitlines() or ["it failed"])[0]
    return " ".join((found[1] or found[2]).split())


def _program(record: dict[str, Any]) -> str:
    return _HASH.sub("", Path(record["path"]).name)


def _running(records: Sequence[dict[str, Any]]) -> str:
    """Return the test that began last of those that have not ended, where its program has not either."""
    program, open_tests = "", dict[str, None]()
    for record in records:
        if record.get("kind") == "program":
            if open_tests:
                break
            program = _program(record)
        elif record.get("type") == "test":
            if record.get("event") == "started":
                open_tests[record["name"]] = None
            else:
                open_tests.pop(record["name"], None)
    return f"{program}::{[*open_tests][-1]}" if open_tests else ""
