"""The tests of a proposal run again in the sandbox, on the repository as it would be: nothing of it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rolecall_analysis import is_python, is_test, select_tests
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.review.proposals.proposal import Proposal
from rolecall_server.sandbox import NotRun, TestRun
from rolecall_server.team.request import Report, Repository
from rolecall_server.team.run import open_bench

_MOST_FILES = 50
"""So many test files that reach what is measured run beside those of the proposal."""


@dataclass(frozen=True)
class SandboxRun:
    """A run of tests with a proposal, and the one without it where that was asked for."""

    after: TestRun | NotRun
    before: TestRun | NotRun | None = None


def measured_files(proposal: Proposal, shown: Evidence, repository: Repository) -> tuple[str, ...]:
    """Return the files of code that the proposal's tests are about, or that it changes."""
    paths = [one.path for one in shown.coverage]
    paths += [change.renamed_to or change.path for change in proposal.files]
    return tuple(path for path in dict.fromkeys(paths) if is_python(path) and not is_test(repository.snapshot, path))


async def run_in_sandbox(
    repository: Repository,
    texts: Mapping[str, str | None],
    targets: Sequence[str],
    measure: Sequence[str],
    report: Report,
    *,
    compare: bool = False,
) -> SandboxRun:
    """Run *targets*, tests or their files, with *texts* over the workspace.

    To *compare*, the tests that are there and reach the files in *measure* run without *texts* first, and beside
    *targets* then.
    """
    if not targets:
        return SandboxRun(NotRun("There is no test to run.", "Generate tests for the file first."))
    reaching = await asyncio.to_thread(_reaching, repository, measure) if compare else ()
    async with open_bench(repository, report, for_model=False) as bench:
        before = None
        if reaching:
            report("running the tests without the proposal", None)
            before = await bench.run({}, reaching, measure)
        report("running the tests", None)
        left = [path for path in reaching if texts.get(path, "") is not None]
        after = await bench.run(texts, [*dict.fromkeys((*targets, *left))], measure)
    return SandboxRun(after, before)


def _reaching(repository: Repository, measure: Sequence[str]) -> tuple[str, ...]:
    known = [path for path in measure if path in repository.snapshot.files]
    return tuple(one.path for one in select_tests(repository.snapshot, known)[:_MOST_FILES])
