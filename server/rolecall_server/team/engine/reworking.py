"""The developer's actions on a run from outside: edit a document, have a step taken again, branch off."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from rolecall_server.errors import DocumentUnusable, NotFound
from rolecall_server.store import Store
from rolecall_server.store.messages import MessageRow
from rolecall_server.team.documents import Kind, parse
from rolecall_server.team.engine.scheduler import take_again
from rolecall_server.team.messages.board import DEVELOPER, Pool, as_draft, body_of, branch, load_pool, publish
from rolecall_server.team.messages.rendering import document_in
from rolecall_server.team.plan.planning import planned_roster
from rolecall_server.team.roles.declarations import Role


def find_message(pool: Pool, code: str) -> MessageRow:
    """Return the message called ``m7``, or the latest version of the document called ``d4`` or by its kind, such as
    ``design``.

    Raises:
        NotFound: the run has none of that name.
    """
    # `isdigit` alone is true of "²" too, which `int` refuses.
    if code[:1] == "m" and code[1:].isascii() and code[1:].isdigit():
        return pool.message(int(code[1:]))
    found = [message for message in pool.messages if code in (message.document_id, message.kind)]
    if not found:
        raise NotFound(f"{pool.run_id} has no message {code}.", f"`rolecall log {pool.run_id}` lists them.")
    return found[-1]


def rerun(store: Store, run_id: str, roles: Mapping[str, Role], code: str) -> None:
    """Have the step taken again that published a message; what rests on it follows where it turns out differently.

    Raises:
        NotFound: there is no such message, or no role published it.
    """
    pool = load_pool(store, run_id)
    take_again(store, pool, planned_roster(pool, roles), find_message(pool, code).id)


def edit_document(store: Store, run_id: str, code: str, text: str) -> int:
    """Publish a document, or the brief, with *text* as its next version; the number of the message.

    Raises:
        NotFound: there is no such document.
        DocumentUnusable: *text* is no such document; the sentence names the line.
    """
    message = find_message(load_pool(store, run_id), code)
    return publish(
        store, run_id, DEVELOPER, as_draft(message.kind, _body(message, text), message.subject), [message.id]
    )


def branch_with(store: Store, root: Path, run_id: str, code: str, text: str) -> str:
    """Add a paused run that goes on from a document with *text* in its place, and return its id; the first run stays
    as it is.

    Raises:
        NotFound: there is no such document.
        DocumentUnusable: *text* is no such document.
    """
    row, pool = store.run(run_id), load_pool(store, run_id)
    message = find_message(pool, code)
    body = _body(message, text)
    new_run_id = store.add_run(root, row.role, row.path, row.brief)
    branch(store, run_id, new_run_id, message.id, body)
    # A run is added as one that this process works on; nobody does before it is taken up.
    store.end_run(new_run_id, "paused")
    return new_run_id


def _body(message: MessageRow, text: str) -> object:
    """Return *text* as the body of another version of *message*."""
    if message.kind == "brief":
        return {**body_of(message), "text": text}
    if message.kind not in set(Kind):
        raise NotFound(f"{message.code} is no document that can be edited.", "Name the brief or a document.")
    document, problems = parse(Kind(message.kind), text, document_in(message))
    if document is None:
        said = "; ".join(f"line {problem.line + 1}: {problem.what}" for problem in problems[:3])
        raise DocumentUnusable(f"That is no {message.kind}: {said}.", "Correct it and save again.")
    content: BaseModel = document.content
    return content
