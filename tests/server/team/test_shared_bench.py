"""The bench that the roles of a run share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rolecall_analysis import Snapshot
from rolecall_server.sandbox import TestRun
from rolecall_server.settings import Settings
from rolecall_server.team.messages.edits import SharedBench
from rolecall_server.team.request import Repository
from rolecall_server.team.run import open_bench
from rolecall_server.workspace import Workspace
from support.stores import open_store
from support.workspaces import environment, write_workspace

TESTS = "tests/test_clock.py"
CLOCK = "import time\n\n\ndef test_clock():\n    raise ValueError(time.time_ns())\n"


async def said(bench: SharedBench, files: Mapping[str, str | None]) -> str:
    run = await bench.run(files, [TESTS], [])
    assert isinstance(run, TestRun), run
    return run.outcomes[0].message


async def test_the_tests_as_they_are_run_once_for_all_roles_and_with_each_change_anew(tmp_path: Path) -> None:
    workspace = Workspace(write_workspace(tmp_path / "work", {TESTS: CLOCK, "a.py": ""}))
    store = open_store(tmp_path / "rolecall.db")
    repository = Repository(workspace, Snapshot(), store, Settings(), environment(tmp_path / "home"))
    async with open_bench(repository, lambda *_: None) as bench:
        shared = SharedBench(bench.shadow, bench.interpreter, bench.timeout_s)
        assert await said(shared, {}) == await said(shared, {})
        changed = {"a.py": "b = 1\n"}
        assert await said(shared, changed) != await said(shared, changed)
