"""The messages of a run: what is stored by itself is one of them too."""

from __future__ import annotations

from pathlib import Path

from rolecall_server.team.documents import Kind
from rolecall_server.team.documents.document_store import DEVELOPER, revise
from rolecall_server.team.documents.requirements import Priority, Requirement, Requirements
from rolecall_server.team.messages.board import as_draft, load_pool, publish
from support.stores import open_store

WANTED = Requirements(
    title="Fair prices",
    goals=("Nobody pays too much.",),
    requirements=(Requirement(id="R1", title="A total is rounded", priority=Priority.P0, consequence="0.111 is 0.11"),),
)


def test_of_the_versions_that_the_developer_saved_the_last_counts_whatever_the_clock_said(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    run_id = store.add_run(tmp_path, "team", "", "")
    publish(store, run_id, "product_manager", as_draft(Kind.REQUIREMENTS, WANTED))
    (message,) = load_pool(store, run_id).messages
    for title in ("Fairer prices", "The fairest prices"):
        revise(store, message.document_id, DEVELOPER, WANTED.model_copy(update={"title": title}))
    with store.connection as connection:
        connection.execute("UPDATE document SET at = at - 3600 WHERE version = 3")  # the clock was set back before
    pool = load_pool(store, run_id)
    assert [one.version for one in pool.messages] == [1, 2, 3]
    latest = pool.latest(Kind.REQUIREMENTS)
    assert latest is not None
    assert "The fairest prices" in latest.body
