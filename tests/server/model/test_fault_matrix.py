"""Each fault of an endpoint, again and again, through all the layers of a run's call.

Every call ends in the right typed error; the ledger adds up and keeps within its cap; no file is written.
ROLECALL_MODEL_FAULTS says how often each fault is repeated.
"""

from __future__ import annotations

import asyncio
import json
import os
import tracemalloc
from pathlib import Path

import pytest

from rolecall_server.errors import ConnectionFailed, DeadlinePassed, ReplyMalformed, RolecallError, UserMustAct
from rolecall_server.model import ChatMessage
from rolecall_server.model.chat_completions.openai_chat import OpenAIChat
from rolecall_server.model.endpoint import Endpoint
from rolecall_server.settings import BudgetSettings
from rolecall_server.store import Store
from rolecall_server.team.model_calls.budgeted import StoredCalls
from support.chat_server import ChatServer
from support.stores import open_store
from support.workspaces import contents, write_workspace

from .test_faults import FAULTS, Fault

N_TIMES = int(os.environ.get("ROLECALL_MODEL_FAULTS", "1"))
AT_ONCE = 4
QUESTION = [ChatMessage("user", "Well?")]
MOST_TOKENS = 100_000
HEAVY = [fault for fault in FAULTS if fault.turn.name.startswith("floods")]
LIGHT = [fault for fault in FAULTS if fault not in HEAVY]


async def suffer(fault: Fault, root: Path, store: Store) -> None:
    """One call of a run of its own that ends as *fault* says."""
    run_id = store.add_run(root, "engineer", "", "")
    with ChatServer(fault.turn) as server:
        client = OpenAIChat(Endpoint(server.base_url), "scripted-model", fault.timeout_s)
        calls = StoredCalls(client, store, run_id, BudgetSettings(tokens_per_run=MOST_TOKENS), 1000)
        with pytest.raises(RolecallError) as caught:
            await calls.complete(QUESTION)
        await calls.aclose()
    store.end_run(run_id, "failed", str(caught.value))
    assert type(caught.value) is fault.error
    assert caught.value.next_step
    stored = store.calls(run_id)
    assert stored, "what was asked is stored"
    assert all(call.reply is None and fault.error.__name__ in call.error for call in stored)
    assert all(json.loads(call.request) for call in stored)
    spent = store.spent(run_id)
    assert spent.n_calls == len(stored)
    assert spent.tokens <= MOST_TOKENS
    if isinstance(caught.value, UserMustAct | ConnectionFailed):
        assert spent.tokens == 0, "what was refused costs nothing"
    elif isinstance(caught.value, DeadlinePassed | ReplyMalformed):
        assert spent.tokens > 0, "nobody knows what it cost, so all that was set aside counts"


@pytest.mark.parametrize("fault", LIGHT, ids=lambda fault: fault.name)
async def test_a_fault_ends_in_its_error_with_the_store_in_order(fault: Fault, tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "work")
    before = contents(root)
    store = open_store(tmp_path / "rolecall.db")
    waiting = N_TIMES
    while waiting > 0:
        await asyncio.gather(*(suffer(fault, root, store) for _ in range(min(AT_ONCE, waiting))))
        waiting -= AT_ONCE
    assert contents(root) == before
    assert not store.running()
    (sound,) = store.connection.execute("PRAGMA integrity_check").fetchone()
    assert sound == "ok"


@pytest.mark.parametrize("fault", HEAVY, ids=lambda fault: fault.name)
async def test_a_reply_without_end_takes_little_memory(fault: Fault, tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    for _ in range(max(1, N_TIMES // AT_ONCE)):
        await suffer(fault, tmp_path, store)
    tracemalloc.start()
    await suffer(fault, tmp_path, store)
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most_bytes < 200_000_000


def test_the_matrix_is_as_large_as_it_should_be() -> None:
    assert len(FAULTS) >= 25
    assert len({fault.error for fault in FAULTS}) >= 10
