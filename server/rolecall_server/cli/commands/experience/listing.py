"""`rolecall experience`: what is kept of earlier attempts in this repository, to look at and to forget."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rolecall_server.cli.boundary import exit_code_of
from rolecall_server.cli.repository import open_repository
from rolecall_server.cli.screen import Screen, print_json, say, say_prose
from rolecall_server.model import estimate_tokens
from rolecall_server.settings import read_settings
from rolecall_server.team.experience.experiences import Experience, Made, find_experience, forget, load_experiences
from rolecall_server.team.experience.replaying import SHARE, Recalled, recall
from rolecall_server.team.plan.briefs import title_of_brief
from rolecall_server.team.request import title_of
from rolecall_server.workspace import Workspace, privacy_of, relative_path, resolve

_STYLES = {"worked": "green", "worked, accepted": "green", "not run": "yellow"}
_MOST_SAID = 600
"""Characters of what a model said of an attempt."""


def run_experience(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall experience`; the exit code."""
    return exit_code_of(lambda: _experience(arguments), as_json=arguments.json, cancelled="Cancelled.")


def _experience(arguments: argparse.Namespace) -> int:
    store, workspace = open_repository(arguments)
    known = load_experiences(store, workspace.root)
    if arguments.forget:
        chosen = known if arguments.forget == "all" else find_experience(known, arguments.forget)
        n_attempts = forget(store, chosen)
        _tell_forgotten(n_attempts, arguments)
    elif arguments.brief or arguments.file is not None:
        _recall(known, workspace, arguments)
    elif arguments.what is not None:
        _show(find_experience(known, arguments.what), arguments)
    else:
        _list(known, arguments)
    return 0


def _tell_forgotten(n_attempts: int, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print_json({"forgotten": n_attempts})
        return
    counted = f"{n_attempts} attempt{'' if n_attempts == 1 else 's'}"
    say_prose(Screen(), f"Forgot {counted}. What their runs sent and proposed is still in `rolecall log`.")


def _recall(known: tuple[Experience, ...], workspace: Workspace, arguments: argparse.Namespace) -> None:
    """Print what a role would be told of *known* for a brief, as far as its prompt has room."""
    settings, _ = read_settings(arguments.settings, os.environ)
    path = relative_path(workspace, resolve(arguments.file)) if arguments.file is not None else ""
    task = f"{arguments.brief} {path}".strip()
    own = [one for one in known if one.role == arguments.role]
    alpha, privacy = settings.experience.alpha, privacy_of(workspace)
    found = recall(own, task, alpha, time.time(), why_private=privacy)
    if arguments.json:
        print_json([_recalled_json(one) for one in found])
        return
    screen = Screen()
    if settings.experience.use != "replay":
        say_prose(screen, "Nothing is told to a role at present: `rolecall.experience.use` is not `replay`.", "dim")
    if not found:
        say_prose(screen, "Nothing that is kept here is like it.")
    for one in found:
        ranked, tokens = one.ranked, estimate_tokens(one.text)
        figures = f"worth {ranked.value:.2f}, alike {ranked.likeness:.2f}, about {tokens:,} tokens"
        say_prose(screen, f"\n{ranked.experience.id}: {figures}", "bold")
        say(screen, one.text)
    if found:
        say_prose(screen, f"\nWhat fits into {SHARE:.0%} of the prompt is told, in this order.", "dim")


def _recalled_json(one: Recalled) -> dict[str, Any]:
    ranked = one.ranked
    return {
        "experience": ranked.experience.id,
        "value": round(ranked.value, 4),
        "likeness": round(ranked.likeness, 4),
        "tokens": estimate_tokens(one.text),
        "text": one.text,
    }


def _list(known: tuple[Experience, ...], arguments: argparse.Namespace) -> None:
    """Print the experiences, the latest first."""
    shown = known[::-1][: arguments.limit]
    if arguments.json:
        print_json([_as_json(one) for one in shown])
        return
    screen = Screen()
    settings, _ = read_settings(arguments.settings, os.environ)
    if not known:
        say_prose(screen, "Nothing is kept of earlier attempts here.")
    if not settings.experience.kept:
        say_prose(screen, "Attempts are not kept at present: `rolecall.experience.use` is off.", "dim")
    for one in shown:
        say_prose(screen, _line(one), _STYLES.get(one.outcome, "red"))
    if len(known) > len(shown):
        say(screen, f"… {len(known) - len(shown)} earlier (--limit has more)", "dim")


def _line(one: Experience) -> str:
    """``e41  r12  2026-11-25 22:10  Engineer: "Make it pass.": worked, 2 attempts, 1,204 tokens``"""
    n = len(one.attempts)
    asked = f'"{title_of_brief(one.run.brief)}"' if one.run.brief.strip() else one.run.path
    effort = f"{n} attempt{'' if n == 1 else 's'}, {one.tokens:,} tokens"
    return f"{one.id:<5} {one.run.id:<4} {_when(one.at_s)}  {title_of(one.role)}: {asked}: {one.outcome}, {effort}"


def _show(chosen: tuple[Experience, ...], arguments: argparse.Namespace) -> None:
    if arguments.json:
        print_json([_as_json(one) for one in chosen])
        return
    screen = Screen()
    for one in chosen:
        say_prose(screen, _line(one), "bold")
        for reason in one.verdict.reasons:
            say_prose(screen, f"You said: {reason}")
        for made in one.attempts:
            for line in _told(made):
                say_prose(screen, line)


def _told(made: Made) -> Iterator[str]:
    """Yield an attempt in lines: how it ended, and what was said of it."""
    kept = made.kept
    beneath = f", on attempt {kept.built_on}" if kept.built_on else ""
    likely = "" if made.logprob is None else f", mean log-probability {made.logprob:.2f}"
    verdict = "worked" if kept.works else "helped, and did not work yet" if kept.helped else "did not work"
    yield f"\n  attempt {kept.number}{beneath} (call {made.call_id}{likely}): {verdict if kept.ran else 'was not run'}"
    yield f"    changed {', '.join(kept.paths)}"
    if kept.ran:
        known, others = kept.public, kept.private
        yield f"    tests the model knew: {known.passed} passed, {known.failed} failed"
        yield f"    other tests: {others.passed} passed, {others.failed} failed"
    if kept.trouble:
        yield f"    {kept.trouble}"
    for failure in kept.failures:
        yield f"    {failure.test}: {failure.message}"
    if made.said:
        yield f"    it said: {' '.join(made.said.split())[:_MOST_SAID]}"


def _as_json(one: Experience) -> dict[str, Any]:
    return {
        "experience": one.id,
        "run": one.run.id,
        "role": one.role,
        "brief": one.run.brief,
        "path": one.run.path,
        "at": _when(one.at_s),
        "outcome": one.outcome,
        "calls": one.n_calls,
        "tokens": one.tokens,
        "accepted": one.verdict.accepted,
        "rejected": len(one.verdict.against),
        "reasons": list(one.verdict.reasons),
        "attempts": [_attempt_json(made) for made in one.attempts],
    }


def _attempt_json(made: Made) -> dict[str, Any]:
    kept = made.kept
    return {
        "number": kept.number,
        "builtOn": kept.built_on,
        "call": made.call_id,
        "works": kept.works,
        "helped": kept.helped,
        "ran": kept.ran,
        "paths": list(kept.paths),
        "public": vars(kept.public),
        "private": vars(kept.private),
        "passRate": kept.pass_rate,
        "logprob": made.logprob,
        "failures": [vars(failure) for failure in kept.failures],
        "trouble": kept.trouble,
        "said": made.said,
    }


def _when(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s).astimezone():%Y-%m-%d %H:%M}"
