"""The test runs of one role's work, with and without its change."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rolecall_analysis import Snapshot
from rolecall_server.craft.trial import select_for_change
from rolecall_server.sandbox import NotRun, TestRun
from rolecall_server.team.request import Desk
from rolecall_server.workspace import file_exists


@dataclass
class Trials:
    """Runs of the tests; those without the change are made once for each set of tests."""

    desk: Desk
    measure: Sequence[str]
    """The files whose coverage is wanted."""
    before: TestRun | NotRun | None = None
    """The latest run without the change; ``None`` where there were no tests to run."""
    _targets_before: frozenset[str] = field(default_factory=frozenset[str])

    async def without_change(self, targets: Sequence[str]) -> None:
        """Run *targets* on the text as it is, unless that was done."""
        existing = frozenset(path for path in targets if file_exists(self.desk.workspace, path))
        if existing <= self._targets_before:
            return
        self.desk.report("running the tests as they are", None)
        self._targets_before |= existing
        self.before = await self.desk.bench.run({}, sorted(self._targets_before), self.measure)

    async def with_change(self, files: Mapping[str, str | None], targets: Sequence[str]) -> TestRun | NotRun:
        """Run those of *targets* that are left with *files* laid over the workspace."""
        left = [path for path in targets if files.get(path, "") is not None]
        if not left:
            return NotRun("The tests that reach the change are gone with it.")
        return await self.desk.bench.run(files, left, self.measure)

    async def of_change(self, files: Mapping[str, str | None]) -> TestRun | NotRun:
        """Run the tests that reach *files*, without the change and with it; the run with it."""
        targets = await asyncio.to_thread(tests_of_change, self.desk.snapshot, files)
        if not targets:
            return NotRun("No test reaches the changed files.")
        await self.without_change(targets)
        return await self.with_change(files, targets)


def tests_of_change(snapshot: Snapshot, files: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the test files that reach *files*, likeliest to fail first."""
    return tuple(one.path for one in select_for_change(snapshot, files))
