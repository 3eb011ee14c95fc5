"""Files of code and tests that a proposal changes though no test ran with it: nothing writes them unseen."""

from __future__ import annotations

import ast
from collections.abc import Collection

from rolecall_analysis import is_python
from rolecall_server.python_trees import parse_python
from rolecall_server.review.guards.guarded_paths import is_prose
from rolecall_server.review.proposals.anchor import text_with
from rolecall_server.review.proposals.proposal import FileChange, Proposal
from rolecall_server.review.proposals.proposal_store import Reviewed

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def untested_paths(proposal: Proposal, hunk_ids: Collection[str]) -> tuple[str, ...]:
    """Return the files of code and tests that *hunk_ids* change; none where a test ran with the proposal."""
    if proposal.evidence.is_tested:
        return ()
    touched = dict.fromkeys(change.path for change, hunk in proposal.hunks() if hunk.id in hunk_ids)
    changes = {change.path: change for change in proposal.files}
    return tuple(path for path in touched if not _is_documentation(changes[path], hunk_ids))


def untested_open(reviewed: Reviewed) -> tuple[str, ...]:
    """Return the files of code and tests that *reviewed* would still change without a test having run."""
    return untested_paths(reviewed.proposal, reviewed.undecided)


def _is_documentation(change: FileChange, hunk_ids: Collection[str]) -> bool:
    paths = filter(None, (change.path, change.renamed_to))
    return all(map(is_prose, paths)) or (not change.renamed_to and _is_same_code(change, hunk_ids))


def _is_same_code(change: FileChange, hunk_ids: Collection[str]) -> bool:
    """Return whether only comments and docstrings of a Python file change, and no example that is run as a test."""
    before, after = change.base, text_with(change, hunk_ids)
    if not is_python(change.path) or before is None or after is None:
        return False
    try:
        return _code(before) == _code(after)
    except (SyntaxError, ValueError, RecursionError):
        return False


def _code(text: str) -> str:
    tree = parse_python(text)
    for node in ast.walk(tree):
        body: list[ast.stmt] = getattr(node, "body", []) if isinstance(node, _DOCUMENTED) else []
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            said = body[0].value.value
            if isinstance(said, str) and ">>>" not in said:
                body[0].value.value = ""
    return ast.dump(tree)
