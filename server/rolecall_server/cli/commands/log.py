"""`rolecall log`: what the team did in this repository, what was decided, and where a line came from."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.repository import check_is_here, open_repository, proposal_here, proposals_of_run
from rolecall_server.cli.screen import Screen, print_json, proposal_json, say, say_prose
from rolecall_server.errors import FileRefused, NotFound
from rolecall_server.review.proposals.evidence import summarise_tests
from rolecall_server.review.proposals.proposal import HunkState
from rolecall_server.review.proposals.proposal_store import Reviewed, load_all, load_run, successor_of
from rolecall_server.review.proposals.provenance import Trace, Traces, describe_trace
from rolecall_server.review.proposals.rendering import describe_hunk, render_evidence
from rolecall_server.store import RunRow, Store
from rolecall_server.store.messages import run_of_message
from rolecall_server.team.messages.board import body_of, load_pool
from rolecall_server.team.messages.rendering import describe_message, describe_pool, messages_json, tell
from rolecall_server.team.plan.briefs import title_of_brief
from rolecall_server.team.request import title_of
from rolecall_server.team.sent import render_sent, sent_calls, sent_json
from rolecall_server.workspace import Workspace, read_text_file, relative_path, resolve, split_lines

_STYLES = {"finished": "green", "running": "cyan"}


def run_log(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall log`; the exit code."""
    return exit_code_of(lambda: _log(arguments), as_json=arguments.json, cancelled="Cancelled.")


def _log(arguments: argparse.Namespace) -> int:
    store, workspace = open_repository(arguments)
    if arguments.at is not None:
        _show_line(store, workspace, arguments)
    elif arguments.what is None and not arguments.sent:
        _list(store, workspace, arguments)
    else:
        _show(store, workspace, arguments)
    return 0


def _list(store: Store, workspace: Workspace, arguments: argparse.Namespace) -> None:
    """The runs, the latest first, each with what became of its proposals."""
    of_run: dict[str, list[Reviewed]] = {}
    for reviewed in load_all(store, workspace.root):
        of_run.setdefault(reviewed.proposal.run_id, []).append(reviewed)
    runs = list(reversed(store.runs(workspace.root)))
    shown = runs[: arguments.limit]
    if arguments.json:
        print_json([_run_json(run, of_run.get(run.id, [])) for run in shown])
        return
    screen = Screen()
    if not runs:
        say(screen, f"Nobody of the team has worked in {workspace.root} yet.")
    for run in shown:
        say_prose(screen, _run_line(run), _STYLES.get(run.state, "yellow"))
        for reviewed in of_run.get(run.id, []):
            counted = f"{_counts(reviewed)}. {summarise_tests(reviewed.proposal.evidence)}"
            say_prose(screen, f"      {reviewed.proposal.id}: {counted}")
    if len(runs) > len(shown):
        say(screen, f"… {len(runs) - len(shown)} earlier (--limit has more)", "dim")


def list_what_waits(arguments: argparse.Namespace) -> int:
    """Print the runs here that `rolecall resume` can go on with, the latest first; the exit code."""
    store, workspace = open_repository(arguments)
    runs = [run for run in reversed(store.runs(workspace.root)) if run.state not in ("finished", "running")]
    if arguments.json:
        print_json([_run_json(run, [*load_run(store, run.id)]) for run in runs])
        return 0
    screen = Screen()
    for run in runs:
        say_prose(screen, _run_line(run), "yellow")
    latest = f"\n`rolecall resume {runs[0].id}` goes on with the latest." if runs else ""
    say(screen, latest or f"No run in {workspace.root} waits to be gone on with.", "dim")
    return 0


def _show(store: Store, workspace: Workspace, arguments: argparse.Namespace) -> None:
    """One run with its messages and proposals, the run of one proposal with that alone, or one message."""
    # A hunk, such as `p7/h2`, stands for its proposal.
    what = arguments.what.partition("/")[0] if arguments.what else _latest(store, workspace)
    if what.startswith("m"):
        _show_message(store, workspace, what, as_json=arguments.json)
        return
    if what.startswith("r"):
        proposals = proposals_of_run(store, workspace, what)
        run = store.run(what)
    else:
        proposals = (proposal_here(store, workspace, what),)
        run = store.run(proposals[0].proposal.run_id)
    if arguments.sent:
        _print_sent(store, run, as_json=arguments.json)
        return
    if arguments.json:
        messages = messages_json(load_pool(store, run.id))
        details = [_details(store, workspace, one) for one in proposals]
        print_json({**_run_json(run, list(proposals)), "messages": messages, "details": details})
        return
    screen = Screen()
    pool = load_pool(store, run.id)
    say_prose(screen, _run_line(run), _STYLES.get(run.state, "yellow"))
    if run.error:
        say_prose(screen, run.error, "red")
    if run.brief:
        say_prose(screen, f"Asked for: {run.brief}")
    n_calls = len(store.calls(run.id))
    say(screen, f"The model was asked {n_calls} time{'s' if n_calls != 1 else ''}.")
    for line in describe_pool(pool):
        say_prose(screen, line)
    for reviewed in reversed(proposals):
        _print_proposal(screen, store, reviewed)


def _latest(store: Store, workspace: Workspace) -> str:
    """Return the run that began last.

    Raises:
        NotFound: there was none.
    """
    runs = store.runs(workspace.root)
    if not runs:
        raise NotFound(f"Nobody of the team has worked in {workspace.root} yet.", "There is nothing to show.")
    return runs[-1].id


def _print_sent(store: Store, run: RunRow, *, as_json: bool) -> None:
    calls = sent_calls(store, run.id)
    if as_json:
        print_json({"run": run.id, "calls": sent_json(calls)})
    else:
        say(Screen(), render_sent(run, calls).rstrip())


def _show_message(store: Store, workspace: Workspace, code: str, *, as_json: bool) -> None:
    """Print the content of one message.

    Raises:
        NotFound: there is none, or it belongs to a run in another repository.
    """
    number = int(code[1:]) if code[1:].isascii() and code[1:].isdigit() else 0
    run_id = run_of_message(store, number)
    check_is_here(store, workspace, code, run_id)
    pool = load_pool(store, run_id)
    message = pool.message(number)
    if as_json:
        one = next(one for one in messages_json(pool) if one["message"] == code)
        print_json({**one, "body": body_of(message)})
        return
    screen = Screen()
    say_prose(screen, describe_message(message, pool), "bold")
    say(screen, tell([message], workspace).strip())


def _show_line(store: Store, workspace: Workspace, arguments: argparse.Namespace) -> None:
    """Print where a line of a file came from, if it was accepted.

    Raises:
        FileRefused: there is no such file or line.
    """
    path, line = _place(workspace, arguments.at)
    text = read_text_file(workspace, path).text
    if not 1 <= line <= len(split_lines(text)):
        raise FileRefused(f"{path} has no line {line}.", "Name one that it has: FILE:LINE.")
    trace = Traces(store, workspace.root).lines(path, text).get(line - 1)
    if arguments.json:
        print_json({"path": path, "line": line, "trace": None if trace is None else _trace_json(trace)})
        return
    screen = Screen()
    say(screen, f"{path}:{line}  {split_lines(text)[line - 1].strip()}", "bold")
    for sentence in ("No accepted hunk brought this line.",) if trace is None else describe_trace(trace):
        say_prose(screen, sentence)


def _place(workspace: Workspace, place: str) -> tuple[str, int]:
    """Return the path within the workspace and the line, counted from 1, of ``FILE:LINE``."""
    # From the right: a path may have a colon of its own, as that of a drive.
    file, _, line = place.rpartition(":")
    # `isdigit` holds for "²" as well, which `int` refuses.
    if not file or not line.isascii() or not line.isdigit():
        raise FileRefused(f"{place} names no line.", "Write it as FILE:LINE.")
    return relative_path(workspace, resolve(Path(file))), int(line)


def _trace_json(trace: Trace) -> dict[str, Any]:
    return {
        "hunk": trace.code,
        "run": trace.proposal.run_id,
        "role": trace.proposal.role,
        "model": trace.proposal.evidence.model,
        "brief": trace.brief,
        "serves": list(trace.hunk.serves),
        "edited": trace.edited,
        "acceptedAt": _when(trace.accepted_at_s),
        "checked": summarise_tests(trace.proposal.evidence),
    }


def _print_proposal(screen: Screen, store: Store, reviewed: Reviewed) -> None:
    proposal = reviewed.proposal
    say_prose(screen, f"\n{proposal.id}: {proposal.title}", "bold")
    for line in render_evidence(proposal.evidence):
        say_prose(screen, line)
    for line in _decisions(store, reviewed):
        say_prose(screen, line)


def _decisions(store: Store, reviewed: Reviewed) -> Iterator[str]:
    """Yield each hunk with its state, and below it the decisions that led to that state."""
    rows = store.decisions(reviewed.proposal.id)
    for change, hunk in reviewed.proposal.hunks():
        serves = f", serves {', '.join(hunk.serves)}" if hunk.serves else ""
        yield f"  {hunk.id}  {_standing(reviewed, hunk.id)}: {describe_hunk(change, hunk)}{serves}"
        for row in rows:
            if row.hunk_id == hunk.id:
                yield f"      {_when(row.at_s)}  {row.state}{f': {row.reason}' if row.reason else ''}"


def _details(store: Store, workspace: Workspace, reviewed: Reviewed) -> dict[str, Any]:
    rows = store.decisions(reviewed.proposal.id)
    decisions = [
        {"hunk": row.hunk_id, "state": row.state, "reason": row.reason, "at": _when(row.at_s), "text": row.text}
        for row in rows
    ]
    return {**proposal_json(workspace, reviewed), "decisions": decisions}


def _run_json(run: RunRow, proposals: list[Reviewed]) -> dict[str, Any]:
    return {
        "run": run.id,
        "role": run.role,
        "path": run.path,
        "brief": run.brief,
        "state": run.state,
        "error": run.error,
        "startedAt": _when(run.started_at_s),
        "proposals": [{"proposal": one.proposal.id, "states": dict(one.states)} for one in proposals],
    }


def _run_line(run: RunRow) -> str:
    """``r12  2026-11-22 01:40  Engineer, shop/price.py: finished``"""
    role = title_of(run.role)
    where = f", {run.path}" if run.path else ""
    asked = f': "{title_of_brief(run.brief)}"' if run.brief.strip() else ""
    return f"{run.id:<5} {_when(run.started_at_s)}  {role}{where}{asked}: {run.state}"


def _counts(reviewed: Reviewed) -> str:
    """``2 accepted, 1 rejected``"""
    standing = Counter(_standing(reviewed, hunk_id) for hunk_id in reviewed.states)
    # A hunk that another took the place of was turned down by nobody; those come last.
    named = [
        *(state for state in HunkState if state in standing),
        *(one for one in standing if one not in {*HunkState}),
    ]
    return ", ".join(f"{standing[one]} {one}" for one in named)


def _standing(reviewed: Reviewed, hunk_id: str) -> str:
    """Return the state of a hunk, or what it was replaced by."""
    successor = successor_of(reviewed, hunk_id)
    return f"replaced by {successor}" if successor else reviewed.states[hunk_id]


def _when(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s).astimezone():%Y-%m-%d %H:%M}"
