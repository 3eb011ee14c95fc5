"""The edits that the Engineer and the QA Engineer pass on: whole texts of files, and the texts they were made for."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict

from rolecall_server.craft.edits.edit_blocks import joined_renames
from rolecall_server.craft.edits.notes import Note
from rolecall_server.craft.trial import Bench, is_of_all
from rolecall_server.review.proposals.evidence import Evidence
from rolecall_server.sandbox import NotRun, ProcessEnd, TestRun
from rolecall_server.team.request import Desk
from rolecall_server.workspace import Workspace, read_text_or_none, sha256


class Edits(BaseModel):
    """A change of some files."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    files: Mapping[str, str | None] = {}
    """The whole text of each file that changes; ``None`` where it is gone."""
    renames: Mapping[str, str] = {}
    """New paths by old ones; under the old ones the files are gone."""
    bases: Mapping[str, str] = {}
    """The fingerprint of each file's text in the workspace, for which it was made; empty where there was none."""
    rationale: str = ""
    widened: Mapping[str, str] = {}
    """Files that the design does not name, and why they change all the same."""
    tasks: Mapping[str, tuple[str, ...]] = {}
    """The tasks for which each file changes."""
    notes: tuple[Note, ...] = ()
    """The words of a model, from memory, about names that no lookup found."""
    evidence: Evidence | None = None
    """What was checked of it; ``None`` where nothing was."""
    answers: tuple[str, ...] = ()
    """What the Engineer did about the findings of the review, a sentence each."""


def joined(parts: Iterable[Edits]) -> Edits:
    """Return the edits of *parts* as one, each made on top of the earlier ones that change the same files."""
    files: dict[str, str | None] = {}
    renames: dict[str, str] = {}
    bases: dict[str, str] = {}
    widened: dict[str, str] = {}
    tasks: dict[str, tuple[str, ...]] = {}
    rationale: list[str] = []
    notes: dict[str, Note] = {}
    for part in parts:
        files |= part.files
        renames = dict(joined_renames(renames, part.renames))
        bases = {**part.bases, **bases}
        widened |= part.widened
        notes |= {note.name: note for note in part.notes}
        rationale += [part.rationale] if part.rationale else []
        for path, served in part.tasks.items():
            tasks[path] = tuple(dict.fromkeys((*tasks.get(path, ()), *served)))
    return Edits(
        files=files,
        renames=renames,
        bases=bases,
        widened=widened,
        tasks=tasks,
        notes=tuple(notes.values()),
        rationale="\n\n".join(rationale),
    )


def fingerprints(workspace: Workspace, paths: Iterable[str]) -> dict[str, str]:
    """Return the fingerprint of each file's text as it is; empty where there is none that can be read."""
    texts = {path: read_text_or_none(workspace, path) for path in paths}
    return {path: "" if text is None else sha256(text) for path, text in texts.items()}


def moved_files(edits: Edits, workspace: Workspace) -> tuple[str, ...]:
    """Return the files whose text is no longer the one that *edits* were made for."""
    now = fingerprints(workspace, edits.bases)
    return tuple(path for path, before in edits.bases.items() if now[path] != before)


def desk_with(desk: Desk, edits: Edits) -> Desk:
    """Return *desk* as it is once *edits* are made: what is read, what the graph says, where tests run."""
    if not edits.files:
        return desk
    texts = {path: text for path, text in edits.files.items() if text is not None}
    workspace = Workspace(desk.workspace.root, {**desk.workspace.buffers, **texts})
    bench = desk.bench
    if isinstance(bench, SharedBench):
        # The copy has the same lock and the same known runs, so that all desks still take turns.
        bench = replace(bench, below={**bench.below, **edits.files})
    return replace(desk, workspace=workspace, snapshot=desk.snapshot.with_changes(edits.files), bench=bench)


@dataclass(frozen=True)
class SharedBench(Bench):
    """A bench that roles at work at the same time share: one run after the other, each on top of its own edits."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    below: Mapping[str, str | None] = field(default_factory=lambda: MappingProxyType({}))
    """The texts that are laid over the workspace, below those that are tried."""
    as_it_is: dict[object, TestRun | NotRun] = field(default_factory=dict[object, "TestRun | NotRun"])
    """The runs with nothing laid over the workspace: they tell every role the same, so each is made once."""

    async def run(
        self,
        files: Mapping[str, str | None],
        targets: Sequence[str],
        measure: Sequence[str],
        *,
        whole: bool = False,
        later: Collection[str] = (),
    ) -> TestRun | NotRun:
        """Run the tests in *targets* (all where empty) with *files* laid over what lies below."""
        laid, wanted = {**self.below, **files}, (tuple(targets), tuple(measure), whole, frozenset(later))
        everything = ((), tuple(measure), True)
        async with self.turn:
            # Looked up when it is our turn: who waited may find that the run before was the one wanted.
            known = self.as_it_is.get(wanted) or (self.as_it_is.get(everything) if whole else None)
            if not laid and known is not None:
                return known
            ended = await super().run(laid, targets, measure, whole=whole, later=later)
            if not laid:
                self.as_it_is[everything if whole and is_of_all(ended) else wanted] = ended
            return ended

    async def snippet(self, files: Mapping[str, str | None], code: str, timeout_s: float) -> ProcessEnd | NotRun:
        """Return how the Python *code* ends with *files* laid over what lies below, and what it printed."""
        async with self.turn:
            return await super().snippet({**self.below, **files}, code, timeout_s)
