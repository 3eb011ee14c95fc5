"""The message pool of a run: what was published, in order, and what is the latest of each document.

Messages are stored before anyone acts on them, and never change. A document is known by its kind and its subject: the
requirements of a run are ``requirements``, the edits for its second task ``edits`` about ``S1/T2``. Publishing it
anew makes its next version; publishing what its latest version says makes none, so that nobody works in vain.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from pydantic import BaseModel

from rolecall_server.errors import NotFound
from rolecall_server.store import Store
from rolecall_server.store.messages import (
    MessageRow,
    NewMessage,
    StepRow,
    copy_run,
    messages_of,
    post,
    readings_of,
    steps_of,
    take_in_edits,
)

DEVELOPER = "developer"
"""The sender of briefs, answers, decisions and of documents that were edited by hand."""
TEAM = "team"
"""The sender of what code works out: the understanding of the repository, a plan, a sprint review."""


@dataclass(frozen=True)
class Pool:
    """All messages of a run at one moment, and the steps that were taken."""

    run_id: str
    messages: tuple[MessageRow, ...]
    steps: Mapping[str, StepRow]
    readers: Mapping[int, tuple[str, ...]]
    """The roles that read each message, by its number."""

    @cached_property
    def _latest(self) -> dict[tuple[str, str], MessageRow]:
        return {(message.kind, message.subject): message for message in self.messages}

    def latest(self, kind: str, subject: str = "") -> MessageRow | None:
        """Return the latest version of a document; ``None`` where nobody published one."""
        return self._latest.get((kind, subject))

    def of_kind(self, kind: str, within: str = "") -> tuple[MessageRow, ...]:
        """Return the latest versions of all documents of *kind* about *within* (``S1``) or a part of it (``S1/T2``)."""
        return tuple(
            message
            for (one, subject), message in self._latest.items()
            if one == kind and (not within or subject == within or subject.startswith(f"{within}/"))
        )

    def message(self, number: int) -> MessageRow:
        """Return one message.

        Raises:
            NotFound: the run has none of that number.
        """
        found = next((message for message in self.messages if message.id == number), None)
        if found is None:
            raise NotFound(f"{self.run_id} has no message m{number}.", f"`rolecall log {self.run_id}` lists them.")
        return found

    def led_to_by(self, number: int) -> frozenset[int]:
        """Return the number of the message and of all messages that followed from it."""
        found = {number}
        for message in self.messages:  # in order: whatever led to a message stands before it
            if found.intersection(message.because):
                found.add(message.id)
        return frozenset(found)


def load_pool(store: Store, run_id: str) -> Pool:
    """Publish the documents that the developer edited, then return the pool of a run as it is stored."""
    take_in_edits(store, run_id)
    readers: dict[int, tuple[str, ...]] = {}
    for reading in readings_of(store, run_id):
        readers[reading.message_id] = (*readers.get(reading.message_id, ()), reading.role)
    return Pool(run_id, messages_of(store, run_id), steps_of(store, run_id), readers)


def publish(store: Store, run_id: str, sender: str, draft: NewMessage, because: Collection[int] = ()) -> int:
    """Store a document as a message; its number."""
    return post(store, run_id, sender, [draft], because)[0]


def as_draft(kind: str, body: Any, subject: str = "") -> NewMessage:
    """Return a document to be published; *body* is its content or, for the pool's own kinds, a value that JSON can
    hold.
    """
    if isinstance(body, BaseModel):
        return NewMessage(kind, subject, body.model_dump_json(), is_document=True)
    # Sorted, as the store compares texts: a body that says the same must not become a new version.
    return NewMessage(kind, subject, json.dumps(body, ensure_ascii=False, sort_keys=True))


ContentType = TypeVar("ContentType", bound=BaseModel)


def content_of(message: MessageRow, content_type: type[ContentType]) -> ContentType:
    """Return the content of a document that a message brings."""
    return content_type.model_validate_json(message.body)


def body_of(message: MessageRow) -> Any:
    """Return the content of a message, as JSON has it."""
    return json.loads(message.body)


def step_key(role: str, verb: str, subject: str, read: Iterable[MessageRow]) -> str:
    """Return the fingerprint of one step: who does what with which versions of which documents.

    Numbers of messages are not in it, so that it is the same in a run that branched off.
    """
    inputs = sorted((message.kind, message.subject, message.version) for message in read)
    return hashlib.sha256(json.dumps([role, verb, subject, inputs]).encode()).hexdigest()[:32]


def branch(store: Store, run_id: str, new_run_id: str, number: int, body: Any) -> int:
    """Give *new_run_id* all of *run_id* that does not rest on a message, with *body* in the place of that message.

    The number of the message in the new run; what rests on it is worked out anew there.

    Raises:
        NotFound: the run has no such message.
    """
    pool = load_pool(store, run_id)
    edited = pool.message(number)
    resting = pool.led_to_by(number) - {number}
    copy_run(store, run_id, new_run_id, resting)
    return publish(store, new_run_id, DEVELOPER, as_draft(edited.kind, body, edited.subject))
