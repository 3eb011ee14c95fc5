"""A design whose requirements changed: the parts that trace to them are written anew, and the rest stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rolecall_server.model import ChatMessage
from rolecall_server.model.prompts import prompts_beside
from rolecall_server.store.messages import MessageRow
from rolecall_server.team.documents import Design, FileWork, Kind, Requirement, Requirements, SymbolWork
from rolecall_server.team.documents.design import DesignPart, Paragraph
from rolecall_server.team.messages.board import Pool, content_of
from rolecall_server.team.plan.steps import Step

_PROMPTS = prompts_beside(__file__)
_MOST_CHANGED = 0.5
"""Where more of the requirements changed, the design is written as a whole."""
_ID = re.compile(r"\bR[1-9]\d{0,5}\b")


@dataclass(frozen=True)
class Redesign:
    """A design, and the requirements that are others than those it was made for."""

    design: Design
    before: Mapping[str, Requirement]
    """Those that changed or are gone, as they were."""
    after: Mapping[str, Requirement]
    """Those that changed or are new, as they are."""

    @property
    def ids(self) -> frozenset[str]:
        """Return their ids."""
        return frozenset((*self.before, *self.after))


def find_redesign(step: Step, pool: Pool) -> Redesign | None:
    """Return what is to be designed anew; ``None`` where there is no design, or it rests on more than some requirements
    that changed.
    """
    earlier, now = pool.latest(Kind.DESIGN), step.message(Kind.REQUIREMENTS)
    if step.writes[0][0] != Kind.DESIGN or earlier is None or now is None:
        return None
    rested_on = {message.kind: message for message in map(pool.message, earlier.because)}
    then = rested_on.get(Kind.REQUIREMENTS)
    others = [message for message in step.read if message.kind != Kind.REQUIREMENTS]
    if then is None or any(rested_on.get(message.kind) != message for message in others):
        return None
    return _difference(content_of(earlier, Design), then, now)


def _difference(design: Design, then: MessageRow, now: MessageRow) -> Redesign | None:
    old, new = content_of(then, Requirements), content_of(now, Requirements)
    if old.model_copy(update={"requirements": ()}) != new.model_copy(update={"requirements": ()}):
        return None
    before, after = ({one.id: one for one in each.requirements} for each in (old, new))
    changed = {one for one in {**before, **after} if before.get(one) != after.get(one)}
    if not changed or len(changed) > _MOST_CHANGED * len({**before, **after}):
        return None
    return Redesign(design, *({one: each[one] for one in each if one in changed} for each in (before, after)))


def told_of(redesign: Redesign, system: str, rules: str, how_to_ask: str) -> tuple[ChatMessage, ...]:
    """Return the opening of the conversation about *redesign*: what changed, and the parts that trace to it."""
    part = traced(redesign.design, redesign.ids)
    stays = [work.path for work in _files(redesign.design)] + [work.symbol for work in _symbols(redesign.design)]
    parts = (
        rules,
        f"# The requirements that changed\n\n{_listed(redesign)}",
        f"# The parts of your design that trace to them\n\n```json\n{part.model_dump_json(indent=1)}\n```",
        f"# All that the design names\n\n{', '.join(dict.fromkeys(stays)) or 'nothing'}",
        f"# Your task\n\n{_PROMPTS['anew']}",
        how_to_ask,
    )
    return ChatMessage("system", system), ChatMessage("user", "\n\n".join(one for one in parts if one))


def _listed(redesign: Redesign) -> str:
    lines: list[str] = []
    for one in sorted(redesign.ids, key=lambda one: int(one[1:])):
        for word, each in (("It was", redesign.before.get(one)), ("It is", redesign.after.get(one))):
            said = json.dumps(each.model_dump(mode="json", exclude={"id"}), ensure_ascii=False) if each else "not there"
            lines.append(f"- {one}. {word}: {said}")
    return "\n".join(lines)


def traced(design: Design, ids: Collection[str]) -> DesignPart:
    """Return the part of *design* that serves the requirements *ids*, or names them."""
    wanted = {*ids}

    def serving(works: Iterable[SymbolWork]) -> tuple[SymbolWork, ...]:
        return tuple(work for work in works if wanted.intersection(work.serves))

    change, add = serving(design.symbols_to_change), serving(design.symbols_to_add)
    paths = {work.symbol.partition("::")[0] for work in (*change, *add)}
    return DesignPart(
        paragraphs=tuple(
            Paragraph(number=number, text=text)
            for number, text in enumerate(_paragraphs(design.approach), start=1)
            if wanted.intersection(_ID.findall(text)) or any(path in text for path in paths)
        ),
        files_to_change=tuple(work for work in design.files_to_change if work.path in paths),
        files_to_add=tuple(work for work in design.files_to_add if work.path in paths),
        symbols_to_change=change,
        symbols_to_add=add,
    )


def merged(design: Design, part: DesignPart) -> Design:
    """Return *design* with the items of *part* in the place of those of the same name, and its new ones after them."""
    gone = {*part.gone}
    texts = dict(enumerate(_paragraphs(design.approach), start=1)) | {one.number: one.text for one in part.paragraphs}
    moved_files = {work.path for work in (*part.files_to_change, *part.files_to_add)}
    moved_symbols = {work.symbol for work in (*part.symbols_to_change, *part.symbols_to_add)}

    def files(old: Sequence[FileWork], new: Sequence[FileWork]) -> tuple[FileWork, ...]:
        return _joined(old, new, lambda work: work.path, gone, moved_files)

    def symbols(old: Sequence[SymbolWork], new: Sequence[SymbolWork]) -> tuple[SymbolWork, ...]:
        return _joined(old, new, lambda work: work.symbol, gone, moved_symbols)

    return design.model_copy(
        update={
            # A paragraph that the model gives an empty text is to fall away.
            "approach": "\n\n".join(texts[number] for number in sorted(texts) if texts[number]),
            "files_to_change": files(design.files_to_change, part.files_to_change),
            "files_to_add": files(design.files_to_add, part.files_to_add),
            "symbols_to_change": symbols(design.symbols_to_change, part.symbols_to_change),
            "symbols_to_add": symbols(design.symbols_to_add, part.symbols_to_add),
        }
    )


Work = TypeVar("Work", FileWork, SymbolWork)


def _joined(
    old: Sequence[Work], new: Sequence[Work], name: Callable[[Work], str], gone: Collection[str], said: Collection[str]
) -> tuple[Work, ...]:
    """Return *old* with each of *new* in the place of its namesake; those *gone*, or *said* elsewhere, fall away."""
    fresh = {name(work): work for work in new}
    kept = [fresh.pop(name(work), None if name(work) in said else work) for work in old if name(work) not in gone]
    return tuple(work for work in (*kept, *fresh.values()) if work is not None)


def _paragraphs(text: str) -> list[str]:
    return [part for part in re.split(r"\n{2,}", text) if part.strip()]


def _files(design: Design) -> tuple[FileWork, ...]:
    return (*design.files_to_change, *design.files_to_add)


def _symbols(design: Design) -> tuple[SymbolWork, ...]:
    return (*design.symbols_to_change, *design.symbols_to_add)
