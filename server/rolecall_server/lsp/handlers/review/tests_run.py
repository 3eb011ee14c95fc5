"""`rolecall/tests/run`: tests of a proposal run again in the sandbox, with coverage where that is asked for."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pygls.exceptions import JsonRpcInvalidParams

from rolecall_server.errors import NotFound, RolecallError, UserMustAct
from rolecall_server.lsp.handlers.review.review_text import find_in_folders
from rolecall_server.lsp.handlers.review.tests import read_strings, waiting_paths
from rolecall_server.lsp.runs.progress import Progress
from rolecall_server.lsp.runs.running import repository_of
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder, uri_of
from rolecall_server.lsp.untyped import fields_of
from rolecall_server.review.claims import claim_of
from rolecall_server.review.proposals.proposal_store import Reviewed
from rolecall_server.review.proposals.rendering import visible
from rolecall_server.review.selection import texts_with
from rolecall_server.sandbox import FileCoverage, NotRun, TestResult, TestRun, runs_tests
from rolecall_server.team.proposed_tests import ProposedTest, tests_of_proposal
from rolecall_server.team.sandbox_run import SandboxRun, measured_files, run_in_sandbox


async def tests_run(ls: RolecallServer, params: Any) -> dict[str, Any]:
    """Run `testIds` of the proposal `proposalId`, or all its tests; with `coverage` measure what they reach."""
    fields = fields_of(params)
    proposal_id = fields.get("proposalId")
    if not isinstance(proposal_id, str):
        raise JsonRpcInvalidParams("`proposalId` names a proposal.")
    wanted = read_strings(fields.get("testIds") or [], "testIds")
    try:
        folder, reviewed = find_in_folders(ls.session, proposal_id)
    except NotFound as error:
        raise JsonRpcInvalidParams(str(error)) from error
    try:
        return await _run(ls, folder, reviewed, wanted, with_coverage=fields.get("coverage") is True)
    except NotFound as error:
        raise JsonRpcInvalidParams(str(error)) from error
    except RolecallError as error:
        return _answer(folder, reviewed, SandboxRun(NotRun(error.what, error.next_step)), ())


async def _run(
    ls: RolecallServer, folder: Folder, reviewed: Reviewed, wanted: Sequence[str], *, with_coverage: bool
) -> dict[str, Any]:
    if ls.session.client.restricted:
        raise UserMustAct("This workspace is not trusted.", "Trust it in your editor, then try again.")
    read_text = partial(ls.session.read_text, folder)
    shown = claim_of(reviewed, read_text).evidence
    targets = _targets(reviewed, tests_of_proposal(reviewed, shown, read_text), wanted)
    texts = texts_with(reviewed, reviewed.offered, read_text)
    key = f"{reviewed.proposal.id}-tests-{uuid.uuid4().hex[:8]}"
    progress = Progress(ls, f"Rolecall: tests of {reviewed.proposal.id}", key)
    if (task := asyncio.current_task()) is not None:
        ls.session.runs[key] = task  # ended with the server, and by the button beside its progress
    try:
        await progress.begin()
        repository = await repository_of(ls, folder)
        measure = measured_files(reviewed.proposal, shown, repository) if with_coverage else ()
        compare = with_coverage and not wanted and bool(texts)
        ended = await run_in_sandbox(repository, texts, targets, measure, progress.report, compare=compare)
        return _answer(folder, reviewed, ended, measure)
    finally:
        ls.session.runs.pop(key, None)
        progress.end("done")


def _targets(reviewed: Reviewed, known: Sequence[ProposedTest], wanted: Sequence[str]) -> list[str]:
    """Return what is to be run: tests, or files of them.

    Raises:
        NotFound: one of *wanted* is no test of the proposal.
    """
    paths, names = {one.path for one in known}, {one.id for one in known}
    for one in wanted:
        if one not in paths and one.partition("[")[0] not in names:
            raise NotFound(f"{one} is no test of {reviewed.proposal.id} as it stands.", "Ask for its tests anew.")
    chosen = wanted or [one.path for one in known]
    return [*dict.fromkeys(one.partition("::")[0] if runs_tests(one.partition("::")[0]) else one for one in chosen)]


def _answer(folder: Folder, reviewed: Reviewed, ended: SandboxRun, measure: Sequence[str]) -> dict[str, Any]:
    after = ended.after if isinstance(ended.after, TestRun) else None
    told = [] if after is None else [after.reason, *map(str, after.without)]
    return {
        "proposalId": reviewed.proposal.id,
        "ran": after is not None and after.status == "ran",
        "reason": visible(" ".join(one for one in told if one) if after is not None else str(ended.after)),
        "where": visible(after.confinement) if after is not None else "",
        "output": visible_lines(after.output) if after is not None else "",
        "tests": [_result(one) for one in after.outcomes] if after is not None else [],
        "coverage": [*_coverage(folder, reviewed, ended, measure)],
        "coverageReason": visible(after.coverage_reason) if after is not None else "",
    }


def visible_lines(text: str) -> str:
    """Return *text* with what cannot be seen spelled out, line by line."""
    return "\n".join(visible(line) for line in text.splitlines())


def _result(result: TestResult) -> dict[str, Any]:
    return {
        "testId": result.test_id,
        "outcome": result.outcome,
        "message": visible(result.message),
        "detail": visible_lines(result.detail),
        "seconds": round(result.duration_s, 3),
    }


def _coverage(folder: Folder, reviewed: Reviewed, ended: SandboxRun, measure: Sequence[str]) -> list[dict[str, Any]]:
    if not isinstance(ended.after, TestRun):
        return []
    before: Mapping[str, FileCoverage] = ended.before.coverage if isinstance(ended.before, TestRun) else {}
    waiting = waiting_paths(reviewed)
    return [
        {
            "path": path,
            "uri": uri_of(folder.root, path),
            "isOpen": path in waiting,
            "before": _lines(before, path),
            "after": _lines(ended.after.coverage, path),
        }
        for path in measure
        if path in ended.after.coverage
    ]


def _lines(measured: Mapping[str, FileCoverage], path: str) -> dict[str, Any] | None:
    """Return the lines of a file, from 0, that tests reach and do not reach; ``None`` where it was not measured."""
    one = measured.get(path)
    return one and {
        "reached": sorted(line - 1 for line in one.executed_lines),
        "missed": sorted(line - 1 for line in one.missing_lines),
        "branches": {"reached": one.branches_covered, "total": one.branches_total},
        "ratio": one.ratio,
    }
