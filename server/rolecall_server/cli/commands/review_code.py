"""`rolecall review-code`: what looks wrong in files, or in what changed since a commit; a model says what of it is, and
reads the code for promises that it does not keep.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolecall_analysis import Snapshot, is_python
from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.deciding.under_way import UnderWay
from rolecall_server.cli.interrupts import run_until_interrupted
from rolecall_server.cli.repository import find_workspace, open_user_store, read_repository
from rolecall_server.cli.screen import Screen, print_json, say, say_prose, waiting
from rolecall_server.craft.code_review.candidates import ReviewCandidate, ReviewScope, candidates_in_scope, commit_named
from rolecall_server.craft.code_review.judging import Judgement, Verdict
from rolecall_server.errors import FileRefused, NoModelConfigured, RequestRefused
from rolecall_server.settings import Settings, read_settings
from rolecall_server.team.code_review.verdicts import JudgedCode, judged_in, review_request
from rolecall_server.team.engine.scheduler import carry_out_run
from rolecall_server.team.plan.planning import begin_run
from rolecall_server.team.request import Repository
from rolecall_server.team.room import Developer
from rolecall_server.team.run import find_model_for
from rolecall_server.workspace import Workspace, relative_path, resolve

FOUND = 4
"""The exit code where something is reported."""


@dataclass(frozen=True)
class _Reviewed:
    candidates: tuple[ReviewCandidate, ...]
    paths: tuple[str, ...]
    """The files that were looked at."""
    run_id: str = ""
    judged: JudgedCode | None = None
    """None where no model was asked."""
    why_not_judged: str = ""

    def verdict(self, candidate: ReviewCandidate) -> Verdict | None:
        return self.judged.verdicts.get(candidate.id) if self.judged is not None else None

    @property
    def all(self) -> tuple[ReviewCandidate, ...]:
        """Return what the rules found, then what a model found by reading."""
        return (*self.candidates, *(self.judged.found_by_reading if self.judged is not None else ()))

    @property
    def refuted(self) -> tuple[str, ...]:
        """Return the ids of the candidates that a run refuted."""
        return self.judged.refuted if self.judged is not None else ()

    @property
    def told(self) -> tuple[ReviewCandidate, ...]:
        """Return the candidates that no model has turned down, and no run."""
        verdicts = {one.id: self.verdict(one) for one in self.all if one.id not in self.refuted}
        return tuple(
            one
            for one in self.all
            if one.id in verdicts
            and ((verdict := verdicts[one.id]) is None or verdict.judgement is not Judgement.NOT_REAL)
        )


def run_review_code(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall review-code`; the exit code."""
    return exit_code_of(lambda: _review(arguments), as_json=arguments.json, cancelled="Cancelled.")


def _review(arguments: argparse.Namespace) -> int:
    if bool(arguments.files) == bool(arguments.diff):
        raise RequestRefused("It is not said what to review.", "Name files or folders, or a commit with --diff.")
    near = arguments.files[0] if arguments.files else None
    # `find_workspace` takes a path for a file and looks at the folder around it.
    workspace = find_workspace(arguments.root, near / "anything" if near is not None and near.is_dir() else near)
    messages = Screen(stderr=True)
    with waiting(messages, "reading the repository") as status:
        snapshot = read_repository(workspace.root, status)
        scope = _scope(arguments, workspace, snapshot)
        status.tell("looking for faults")
        reviewed = _Reviewed(*candidates_in_scope(workspace.root, snapshot, scope))
    if (reviewed.candidates or (scope.reads and reviewed.paths)) and not arguments.no_model:
        settings, _ = read_settings(arguments.settings, os.environ)
        reviewed = run_until_interrupted(
            _judged(reviewed, scope, workspace=workspace, snapshot=snapshot, settings=settings, messages=messages)
        )
    if arguments.json:
        print_json(_as_json(reviewed))
    else:
        _print(reviewed)
    return FOUND if reviewed.told else 0


def _scope(arguments: argparse.Namespace, workspace: Workspace, snapshot: Snapshot) -> ReviewScope:
    """Return what is to be reviewed.

    Raises:
        NotFound: there is no such commit.
        FileRefused: a file is not in the repository, or is no Python.
    """
    reads = not arguments.rules_only
    if not arguments.diff:
        paths = {path for given in arguments.files for path in _files_in(workspace, snapshot, given)}
        return ReviewScope(tuple(sorted(paths)), reads=reads)
    return ReviewScope(since=commit_named(workspace.root, arguments.diff), reads=reads)


def _files_in(workspace: Workspace, snapshot: Snapshot, given: Path) -> Sequence[str]:
    path = relative_path(workspace, resolve(given))
    below = "" if path == "." else f"{path}/"
    found = [path] if path in snapshot.files else [one for one in snapshot.files if one.startswith(below)]
    python = [one for one in found if is_python(one)]
    if not python:
        raise FileRefused(f"{given} has no Python that can be read.", "Name a Python file, or a folder with some.")
    return python


async def _judged(
    reviewed: _Reviewed,
    scope: ReviewScope,
    *,
    workspace: Workspace,
    snapshot: Snapshot,
    settings: Settings,
    messages: Screen,
) -> _Reviewed:
    """Return *reviewed* with the verdicts of a run; without a model as it is, with the reason."""
    store, request = open_user_store(), review_request(scope)
    try:
        model = await find_model_for(request, settings, os.environ, store=store)
    except NoModelConfigured as missing:
        return _Reviewed(reviewed.candidates, reviewed.paths, why_not_judged=missing.what)
    assert not isinstance(model, NoModelConfigured)
    try:
        run_id = begin_run(store, workspace.root, request)
        with UnderWay(messages, store, run_id, settings.team.question_seconds) as shown:
            repository = Repository(workspace, snapshot, store, settings, os.environ)
            ended = await carry_out_run(run_id, repository, model, Developer(shown.report))
    finally:
        await model.client.aclose()
    if ended.error is not None:
        raise ended.error
    return _Reviewed(reviewed.candidates, reviewed.paths, run_id, judged_in(store, run_id))


def _print(reviewed: _Reviewed) -> None:
    screen = Screen()
    for candidate in reviewed.told:
        fault, verdict = candidate.fault, reviewed.verdict(candidate)
        place = f"{fault.path}:{fault.span.start.line + 1}:{fault.span.start.column + 1}"
        say(screen, f"{place}: {candidate.rule.name}: {fault.message}", "bold")
        for step in fault.way:
            say(screen, f"    {step.span.start.line + 1:>5}  {step.text}")
        if verdict is None:
            say(screen, f"    safe if: {candidate.rule.post_condition}")
        else:
            say(screen, f"    {verdict.judgement}: {verdict.reason}")
        for line in candidate.test.splitlines():
            say(screen, f"    | {line}".rstrip())
    say_prose(Screen(stderr=True), _summary(reviewed))


def _summary(reviewed: _Reviewed) -> str:
    n_found, n_files = len(reviewed.all), len(reviewed.paths)
    found = f"{n_found} possible fault{'s' * (n_found != 1)} in {n_files} file{'s' * (n_files != 1)}"
    if reviewed.told:
        one = reviewed.told[0].fault
        hint = f" `rolecall tests {one.path} --fault {one.span.start.line + 1}` has a test written that shows one."
    else:
        hint = ""
    if reviewed.judged is None:
        why = f" {reviewed.why_not_judged}" if reviewed.why_not_judged else ""
        return f"{found}, not judged by a model: some may be none.{why}{hint}" if n_found else f"{found}."
    return f"{found}: {reviewed.judged.in_short} ({reviewed.run_id}).{hint}"


def _as_json(reviewed: _Reviewed) -> dict[str, Any]:
    return {
        "candidates": [
            {
                **_candidate_json(one),
                "verdict": _verdict_json(reviewed.verdict(one)),
                "refuted": one.id in reviewed.refuted,
            }
            for one in reviewed.all
        ],
        "files": list(reviewed.paths),
        "judgedBy": reviewed.judged.model if reviewed.judged is not None else None,
        "run": reviewed.run_id or None,
    }


def _verdict_json(verdict: Verdict | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    return {"judgement": verdict.judgement, "reason": verdict.reason, "votes": list(verdict.votes)}


def _candidate_json(candidate: ReviewCandidate) -> dict[str, Any]:
    fault = candidate.fault
    return {
        "id": candidate.id,
        "rule": candidate.rule.name,
        "title": candidate.rule.title,
        "path": fault.path,
        "line": fault.span.start.line + 1,
        "column": fault.span.start.column + 1,
        "endLine": fault.span.end.line + 1,
        "endColumn": fault.span.end.column + 1,
        "scope": fault.scope,
        "message": fault.message,
        "postCondition": candidate.rule.post_condition,
        "test": candidate.test or None,
        "way": [{"path": one.path, "line": one.span.start.line + 1, "text": one.text} for one in fault.way],
    }
