"""Failing tests before the QA Engineer, in a conversation of its own that shows what fails and what it tests."""

from __future__ import annotations

import ast
from pathlib import Path

from rolecall_analysis import Definition, Snapshot, definitions_in
from rolecall_server.craft.attempt import Attempt
from rolecall_server.craft.attempts import EDIT_FORMAT
from rolecall_server.craft.feedback import describe_failing_tests
from rolecall_server.craft.test_quality.test_text import function_of, written_tests
from rolecall_server.model import ChatMessage
from rolecall_server.sandbox import TestRun
from rolecall_server.workspace import Workspace, read_for_model, split_lines

_PROFILE = Path(__file__).with_name("qa_repair.md")
_MAX_CHARACTERS = 12_000
"""Of the code under test."""
_APPLIED = "Your edits so far are applied; the test files are as you left them. Send only what still has to change."


def begin_repair(
    workspace: Workspace, snapshot: Snapshot, path: str, attempt: Attempt, known: str = ""
) -> tuple[ChatMessage, ...]:
    """Return a request to say of each failing test of *attempt* what is wrong, and to mend those that are wrong.

    It shows the definitions of *path* that the tests name, so that the promise is before the model, and what is *known*
    of the other tests.
    """
    assert isinstance(attempt.run, TestRun)
    names = _names_in_failing_tests(attempt)
    code = _code(workspace, snapshot, path, names)
    failing = describe_failing_tests(attempt.run, attempt.failures, attempt.files)
    parts = [f"# From {path}\n\n```\n{code}\n```\n" if code else "", f"# What fails\n\n{failing}", known, _APPLIED]
    return (
        ChatMessage("system", f"{_PROFILE.read_text(encoding='utf-8')}\n# How to answer\n\n{EDIT_FORMAT}"),
        ChatMessage("user", "\n".join(part for part in parts if part)),
    )


def _names_in_failing_tests(attempt: Attempt) -> set[str]:
    failing = {(outcome.test_id.partition("::")[0], function_of(outcome.test_id)) for outcome in attempt.failures}
    nodes = [
        node
        for path, name in failing
        for test in written_tests(attempt.files.get(path) or "")
        if test.name == name
        for node in ast.walk(test.node)
    ]
    named = {node.id for node in nodes if isinstance(node, ast.Name)}
    return named | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def _code(workspace: Workspace, snapshot: Snapshot, path: str, names: set[str]) -> str:
    """Return the functions and methods of *path* with these names, and of the classes what makes their instances."""
    lines = split_lines(read_for_model(workspace, path) or "")
    pieces: list[str] = []
    for definition in definitions_in(snapshot, path):
        if _is_shown(definition, names):
            piece = "".join(lines[definition.span.start.line : definition.span.end.line + 1]).rstrip()
            if sum(map(len, pieces)) + len(piece) <= _MAX_CHARACTERS:
                pieces.append(piece)
    return "\n\n".join(pieces)


def _is_shown(definition: Definition, names: set[str]) -> bool:
    if definition.kind not in ("function", "method"):
        return False
    holder = definition.scope.rpartition(".")[2]
    return definition.name in names or (definition.name in ("__init__", "__new__") and holder in names)
