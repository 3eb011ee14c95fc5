"""The test runs of one role's work, with and without its change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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

    async def with_change(self, files: Mapping[str, str], targets: Sequence[str]) -> TestRun | NotRun:
        """Run *targets* with *files* laid over the workspace."""
        return await self.desk.bench.run(files, targets, self.measure)
