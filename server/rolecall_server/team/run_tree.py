"""A run as a tree: the steps of its roles, each with what it published, its calls of a model, tokens, money, time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from rolecall_server.store import RunRow, Store
from rolecall_server.store.messages import MessageRow, StepRow
from rolecall_server.store.usage import NANOS, CallInShort, calls_in_short, tokens_by_run
from rolecall_server.team.messages.board import Pool, body_of, load_pool
from rolecall_server.team.plan.steps import Step
from rolecall_server.team.request import title_of


def list_runs(store: Store, rows: Sequence[RunRow], most: int) -> list[dict[str, Any]]:
    """Return the latest *most* of *rows*, the newest first, each with what it used."""
    used = tokens_by_run(store)
    latest = sorted(rows, key=lambda row: int(row.id[1:]), reverse=True)[:most]
    return [{**_head(row), "tokens": used.get(row.id, 0)} for row in latest]


def run_tree(store: Store, row: RunRow, under_way: Sequence[Step]) -> dict[str, Any]:
    """Return the steps of a run in the order in which they began, those *under_way* among them; beside these the
    messages of nobody's step, such as the brief.
    """
    pool, calls = load_pool(store, row.id), calls_in_short(store, row.id)
    by_step: dict[str, list[CallInShort]] = defaultdict(list)
    for call in calls:
        by_step[call.purpose.partition("#")[0]].append(call)
    working = {step.key: StepRow(step.key, step.role.name, step.subject, "working", 0, "") for step in under_way}
    steps = [_step(known, pool, by_step.get(key, [])) for key, known in {**pool.steps, **working}.items()]
    steps += [_lost(made) for key, made in by_step.items() if key not in pool.steps and key not in working]
    published = {one["message"] for step in steps for one in step["messages"]}
    return {
        **_head(row),
        **_sums(calls),
        "steps": sorted(steps, key=lambda step: step["startedAt"] or row.started_at_s),
        "messages": [_message(one) for one in pool.messages if one.code not in published],
        "proposals": [body_of(one)["proposalId"] for one in pool.of_kind("proposal")],
    }


def _head(row: RunRow) -> dict[str, Any]:
    return {
        "runId": row.id,
        "role": row.role,
        "title": title_of(row.role),
        "about": " ".join((row.brief or row.path).split()),
        "path": row.path,
        "state": row.state,
        "error": row.error,
        "startedAt": row.started_at_s,
        "endedAt": row.ended_at_s,
    }


def _step(known: StepRow, pool: Pool, calls: Sequence[CallInShort]) -> dict[str, Any]:
    published = _published(known, pool.messages)
    times = [*(call.at_s for call in calls), *(one.at_s for one in published)]
    return {
        "role": known.role,
        "title": title_of(known.role),
        "subject": known.subject,
        "state": known.state,
        "error": known.error,
        "startedAt": min(times, default=None),
        "endedAt": None if known.state == "working" else max(times, default=None),
        "read": [f"m{number}" for number in known.read],
        "messages": [_message(one) for one in published],
        **_calls(calls),
    }


def _lost(calls: Sequence[CallInShort]) -> dict[str, Any]:
    """Return a step that only its calls tell of: its process ended before it did, or what it read was changed."""
    row = StepRow("", calls[0].role, "", "unfinished", 0, "")
    return {**_step(row, Pool("", (), {}, {}), calls), "state": "unfinished"}


def _published(known: StepRow, messages: Sequence[MessageRow]) -> list[MessageRow]:
    # By what led to it, as a message does not say which step it came from.
    because = tuple(sorted(known.read))
    return [one for one in messages if because and one.sender == known.role and one.because == because]


def _message(message: MessageRow) -> dict[str, Any]:
    return {
        "message": message.code,
        "kind": message.kind,
        "subject": message.subject,
        "version": message.version,
        "documentId": message.document_id,
        "sender": message.sender,
        "at": message.at_s,
    }


def _calls(calls: Sequence[CallInShort]) -> dict[str, Any]:
    shown: list[Mapping[str, Any]] = [
        {
            "call": call.number,
            "role": call.role,
            "model": call.model,
            "state": call.state,
            "error": call.error,
            "startedAt": call.at_s,
            "tokens": call.tokens,
            "cost": call.nanos / NANOS,
        }
        for call in calls
    ]
    return {"calls": shown, "tokens": _sums(calls)["tokens"], "cost": _sums(calls)["cost"]}


def _sums(calls: Sequence[CallInShort]) -> dict[str, Any]:
    return {
        "tokens": sum(call.tokens for call in calls),
        "setAside": sum(call.set_aside for call in calls),
        "cost": sum(call.nanos for call in calls) / NANOS,
    }
