"""`rolecall/tests`: the tests of proposals with their results, for an editor that shows tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any, cast

from pygls.exceptions import JsonRpcInvalidParams

from rolecall_server.errors import NotFound
from rolecall_server.lsp.handlers.review.review_text import find_in_folders
from rolecall_server.lsp.server import RolecallServer
from rolecall_server.lsp.session import Folder, Session, uri_of
from rolecall_server.lsp.untyped import fields_of
from rolecall_server.review.claims import claim_of
from rolecall_server.review.proposals.evidence import Evidence, TestEnd
from rolecall_server.review.proposals.proposal import Proposal
from rolecall_server.review.proposals.proposal_store import Reviewed
from rolecall_server.review.proposals.rendering import visible
from rolecall_server.team.proposed_tests import ProposedTest, tests_of_proposal

_LINE = re.compile(r"line (\d{1,9}): ")


def tests(ls: RolecallServer, params: Any) -> dict[str, Any]:
    """Return the tests of the proposals that `proposalIds` names, decided or not; without it of all that wait.

    An id that names none in the opened folders is passed over.
    """
    return {"proposals": [_proposal(ls.session, *one) for one in _wanted(ls.session, params)]}


def _wanted(session: Session, params: Any) -> Iterator[tuple[Folder, Reviewed]]:
    named = fields_of(params).get("proposalIds")
    if named is None:
        yield from ((folder, one) for folder in session.folders.values() for one in folder.proposals.values())
        return
    for proposal_id in read_strings(named, "proposalIds"):
        try:
            yield find_in_folders(session, proposal_id)
        except NotFound:
            continue


def read_strings(value: Any, name: str) -> list[str]:
    """Return *value*, a list of texts.

    Raises:
        JsonRpcInvalidParams: it is something else.
    """
    if not isinstance(value, list) or not all(isinstance(one, str) for one in cast("list[Any]", value)):
        raise JsonRpcInvalidParams(f"`{name}` is a list of texts.")
    return cast("list[str]", value)


def waiting_paths(reviewed: Reviewed) -> set[str]:
    """Return the files of which something is on offer, by their old names and their new ones."""
    on_offer = [change for change, hunk in reviewed.proposal.hunks() if hunk.id in reviewed.offered]
    return {path for change in on_offer for path in (change.path, change.renamed_to) if path}


def _proposal(session: Session, folder: Folder, reviewed: Reviewed) -> dict[str, Any]:
    read_text = partial(session.read_text, folder)
    proposal, claim = reviewed.proposal, claim_of(reviewed, read_text)
    waiting = waiting_paths(reviewed)
    found = tests_of_proposal(reviewed, claim.evidence, read_text)
    return {
        "proposalId": proposal.id,
        "title": visible(proposal.title),
        "root": folder.root.as_uri(),
        "isOpen": bool(reviewed.undecided),
        "misfit": visible(claim.misfit),
        "notRun": [visible(one) for one in claim.evidence.unrun],
        "tests": [_test(folder, one, is_open=one.path in waiting) for one in found],
        "survivors": [*_survivors(folder, proposal, claim.evidence)],
        "coverage": [
            {"path": one.path, "uri": uri_of(folder.root, one.path), "before": one.before, "after": one.after}
            for one in claim.evidence.coverage
        ],
    }


def _test(folder: Folder, test: ProposedTest, *, is_open: bool) -> dict[str, Any]:
    return {
        "testId": test.id,
        "path": test.path,
        "uri": uri_of(folder.root, test.path),
        "isOpen": is_open,
        "isBrought": test.is_brought,
        "lines": test.lines and {"start": test.lines[0], "end": test.lines[1]},
        "cases": [_end(one) for one in test.ends],
    }


def _end(end: TestEnd) -> dict[str, Any]:
    return {
        "testId": end.test_id,
        "outcome": end.outcome,
        "message": visible(end.message),
        "seconds": end.duration_s,
    }


def _survivors(folder: Folder, proposal: Proposal, shown: Evidence) -> Iterator[dict[str, Any]]:
    """Yield the faults in the tested code that no test notices, each with its line."""
    # What tells of a survivor names its line and no file: that is the one under test.
    path = shown.coverage[0].path if len(shown.coverage) == 1 else proposal.origin
    for told in shown.mutants.survivors if shown.mutants is not None and path else ():
        if found := _LINE.match(told):
            line = max(0, int(found[1]) - 1)
            yield {"path": path, "uri": uri_of(folder.root, path), "line": line, "text": visible(told[found.end() :])}
