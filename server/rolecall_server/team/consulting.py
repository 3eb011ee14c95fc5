"""A role that lacks a fact asks the role that owns it: one question and one answer a step, both in the pool.

Which documents a role may ask about is declared with its duty; whoever publishes them answers, from the documents of
the whole run. So questions go up the order of the work only, and never in a circle.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from rolecall_server.model import NO_WISHES, ChatMessage, Reply, Wishes
from rolecall_server.model.hidden_turns import Interludes
from rolecall_server.store.messages import MessageRow
from rolecall_server.team.messages.board import Pool, as_draft, publish
from rolecall_server.team.messages.rendering import tell
from rolecall_server.team.model_calls.budgeted import StoredCalls
from rolecall_server.team.plan.steps import Step
from rolecall_server.team.roles.declarations import SCOPES, Role, Scope
from rolecall_server.workspace import Workspace

_ASK = re.compile(r"^[\s>*`-]*+ASK\s++([^:\s][^:\n]{0,80}):\s*+(\S.*)$")
_HOW_TO_ANSWER = Path(__file__).parent / "roles" / "consulted.md"
_MAX_QUESTION_CHARACTERS = 500
_MAX_ANSWER_CHARACTERS = 2_000


def owners_of(step: Step, roster: Mapping[str, Role]) -> tuple[Role, ...]:
    """Return the roles that *step* may ask: those who publish what its duty asks about, as far as that is there."""
    kinds = {message.kind for message in step.read} & {*step.duty.asks}
    others = (role for role in roster.values() if role.name != step.role.name and role.prompt)
    return tuple(role for role in others if any(map(role.publishes, kinds)))


def how_to_ask(owners: Sequence[Role]) -> str:
    """Return the instructions for a role on how to ask others; empty if nobody can be asked."""
    if not owners:
        return ""
    titles = " or the ".join(role.title for role in owners)
    return (
        f"If you lack a fact that the {titles} must know, and would have to guess, you may ask once: end your reply "
        f"with a line such as `ASK {owners[-1].title}: your question` in place of the answer. Do not ask what stands "
        "above."
    )


@dataclass
class Consulting:
    """A model client whose model may ask the owners of what it read; who asks the client sees its answer alone."""

    client: StoredCalls
    client_of: Callable[[Role], StoredCalls]
    """The model as another role asks it."""
    step: Step
    pool: Pool
    owners: Sequence[Role]
    workspace: Workspace
    has_asked: bool = False
    _interludes: Interludes = field(default_factory=Interludes)

    @property
    def label(self) -> str:
        """Return the label of the client that answers."""
        return self.client.label

    async def complete(self, messages: Sequence[ChatMessage], wishes: Wishes = NO_WISHES) -> Reply:
        """Return the client's reply, after the one question it may have asked was answered.

        Raises:
            RolecallError: there is none; the error says who acts next.
        """
        asked = tuple(messages)
        told = self._interludes.restore(asked)
        reply = await self.client.complete(told, wishes)
        # In a reply of a given shape, or one that calls a tool, no last line can ask.
        may_ask = self.owners and not self.has_asked and wishes.shape is None and not reply.calls
        question = question_in(reply.text) if may_ask else None
        if question is None:
            return reply
        self.has_asked = True
        answer = ChatMessage("user", await self._answered(*question))
        told = (*told, ChatMessage("assistant", reply.text), answer)
        reply = await self.client.complete(told, wishes)
        said = ChatMessage("assistant", reply.text, reply.calls)
        # Who asks next sends what it saw, without question and answer: these are put back in their place.
        self._interludes.keep((*asked, said), (*told, said))
        return reply

    async def aclose(self) -> None:
        """Close the client."""
        await self.client.aclose()

    async def _answered(self, title: str, question: str) -> str:
        """Ask the role called *title*, and return its answer for the one who asked."""
        owner = next((role for role in self.owners if title.casefold() in (role.title.casefold(), role.name)), None)
        if owner is None:
            there = " or the ".join(role.title for role in self.owners)
            return f"Only the {there} can be asked. Decide, say what you assumed, and give the whole answer now."
        store, run_id = self.client.store, self.client.run_id
        subject = "/".join(part for part in (self.step.role.name, self.step.subject) if part)
        asked = as_draft("question", {"to": owner.name, "question": question}, subject)
        number = publish(store, run_id, self.step.role.name, asked, [message.id for message in self.step.read])
        reply = await self.client_of(owner).complete(self._opening(owner, question))
        said = reply.text.strip()[:_MAX_ANSWER_CHARACTERS]
        answer = as_draft("answer", {"question": question, "answer": said}, subject)
        publish(store, run_id, owner.name, answer, [number])
        return f"The {owner.title} answers:\n\n{said}\n\nGive the whole answer now; nobody can be asked again."

    def _opening(self, owner: Role, question: str) -> tuple[ChatMessage, ...]:
        told = (
            f"{tell(self._documents, self.workspace)}\n# A question\n\nThe {self.step.role.title} asks you:\n\n"
            f"{question}\n\n# Your task\n\n{_HOW_TO_ANSWER.read_text(encoding='utf-8')}"
        )
        return ChatMessage("system", owner.system_prompt()), ChatMessage("user", told)

    @cached_property
    def _documents(self) -> list[MessageRow]:
        """Return the documents of the run so far, whoever asks: the brief and what was made of it."""
        found = (self.pool.latest(kind) for kind, scope in SCOPES.items() if scope is Scope.RUN)
        return [message for message in found if message is not None]


def question_in(said: str) -> tuple[str, str] | None:
    """Return the role that a reply asks and its question, where its last line asks one; ``None`` where it
    asks nobody.
    """
    lines = said.strip().splitlines()
    found = _ASK.match(lines[-1]) if lines else None
    return (found[1].strip("`* \t"), found[2].rstrip("`* \t\r\n")[:_MAX_QUESTION_CHARACTERS]) if found else None
