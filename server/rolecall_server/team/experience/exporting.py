"""Experience as training data: what was verified, in four formats, with secrets covered and licences kept to.

Source: the rewards of trajectories are those of RLEF (Gehring et al., 2024, arXiv 2410.02089) without its penalty for
distance from the first model; bug, explanation and fix are those of LEDEX (Jiang et al., 2024, arXiv 2405.18649).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from rolecall_server.context.kept_back import find_kept_back
from rolecall_server.context.manifest import read_manifest
from rolecall_server.context.redaction import find_secrets
from rolecall_server.craft.edits.edit_blocks import apply_edit_blocks, parse_edit_blocks
from rolecall_server.craft.feedback import fenced
from rolecall_server.review.proposals.anchor import text_with
from rolecall_server.store import CallRow, Store
from rolecall_server.team.experience.answers import edit_blocks, searched_lines
from rolecall_server.team.experience.experiences import Experience, Made
from rolecall_server.team.experience.keeping import PassCount
from rolecall_server.team.experience.licences import allows, marked_in
from rolecall_server.team.experience.training_formats import (
    CalledFunction,
    CalledTool,
    ChatRow,
    PreferenceRow,
    RepairRow,
    Rewarded,
    RewardedTests,
    Row,
    TrainingMessage,
    TrajectoryRow,
    Turns,
)
from rolecall_server.workspace import Workspace, privacy_of

Format = Literal["chat", "preference", "trajectories", "repairs"]
FORMATS: tuple[Format, ...] = get_args(Format)

INVALID = -0.2
"""The reward of a turn that could not be run. Source: RLEF."""
_FROM_PACKAGES = frozenset({"documentation", "search_packages"})
"""Lookups that answer with texts of installed packages, whose licences are their own."""
_LEFT_OUT = "[left out: it is of an installed package]"


@dataclass(frozen=True)
class Exported:
    """The rows of an export, and why others are not among them."""

    rows: tuple[Row, ...]
    left_out: Mapping[str, int]
    """The number of rows left out, by reason."""


@dataclass(frozen=True)
class Case:
    """An experience with the calls it came from and the texts before and after its change."""

    experience: Experience
    calls: Mapping[int, CallRow]

    def request(self, made: Made) -> list[dict[str, Any]]:
        """Return the messages that led to an attempt."""
        return json.loads(self.calls[made.call_id].request)

    @cached_property
    def bases(self) -> dict[str, str | None]:
        """Return the texts that were changed, as they were before; none where the run did more than this step."""
        return {change.path: change.base for change in self._changes}

    @cached_property
    def fixed(self) -> dict[str, str]:
        """Return the texts of the files as they were proposed; none where files were deleted or renamed."""
        taken = {h.id for change in self._changes for h in change.hunks if not h.off}
        texts = {change.path: text_with(change, taken) for change in self._changes}
        moved = any(change.renamed_to for change in self._changes)
        return {} if moved or None in texts.values() else {path: text for path, text in texts.items() if text}

    @cached_property
    def answer(self) -> str:
        """Return the change that worked as one reply: why, then its edits; empty where it cannot be said so."""
        blocks = edit_blocks(self.bases, self.fixed) if self.experience.worked else ""
        return f"{self.experience.best.said}\n\n{blocks}".lstrip() if blocks else ""

    @property
    def _changes(self) -> tuple[Any, ...]:
        proposals = self.experience.proposals
        return proposals[-1].proposal.files if proposals and self.experience.run.role == self.experience.role else ()


def export(
    store: Store, workspace: Workspace, experiences: Sequence[Experience], form: Format, allowed: Sequence[str]
) -> Exported:
    """Return *experiences* in the format *form*.

    Left out is what shows files that are kept from models by now, what is marked with a licence that is not *allowed*,
    and what still holds a secret once secrets are covered.
    """
    covers = find_kept_back(workspace).covers()
    why_private = privacy_of(workspace)
    check = _Check(allowed, covers.cover)
    for experience in experiences:
        calls = {call.id: call for call in store.calls(experience.run.id)}
        if any(map(why_private, _paths_shown(store, experience, calls))):
            check.left_out["a file of it is kept from models by now"] += 1
            continue
        for row in _ROWS[form](Case(experience, calls)):
            check.take(row)
    return Exported(tuple(check.rows), dict(check.left_out))


@dataclass
class _Check:
    """Takes rows that may go out."""

    allowed: Sequence[str]
    cover: Callable[[str], str]
    rows: list[Row] = field(default_factory=list[Row])
    left_out: Counter[str] = field(default_factory=Counter[str])

    def take(self, row: Row) -> None:
        value = row.model_dump(mode="python")
        texts = [*_texts_in(value)]
        if foreign := [one for one in marked_in(texts) if not allows(self.allowed, one)]:
            self.left_out[f"a text of it is marked with {sorted(foreign)[0]}"] += 1
            return
        covered = _changed(value, self.cover)
        if any(find_secrets(text) for text in _texts_in(covered)):
            self.left_out["a secret could not be covered"] += 1
            return
        self.rows.append(type(row).model_validate(covered))


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for one in value.values() for text in _texts_in(one))  # pyright: ignore[reportUnknownVariableType]
    elif isinstance(value, tuple | list):
        yield from (text for one in value for text in _texts_in(one))  # pyright: ignore[reportUnknownVariableType]


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    """Return *value* with each text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _changed(one, change) for key, one in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return tuple(_changed(one, change) for one in value) if isinstance(value, tuple | list) else value  # pyright: ignore[reportUnknownVariableType]


def _paths_shown(store: Store, experience: Experience, calls: Mapping[int, CallRow]) -> Iterator[str]:
    """Yield the files that an experience is about, and those that its conversations began with."""
    yield from experience.paths
    openings = {calls[made.call_id].opening for made in experience.attempts if made.call_id in calls}
    for opening, body in store.manifests(experience.run.id):
        if opening in openings:
            yield from (entry.path for entry in read_manifest(body).shown)


def _chat(case: Case) -> Iterator[Row]:
    """Yield the first request with the answer that worked: the model's own where it was the first."""
    experience = case.experience
    if not experience.worked:
        return
    first = experience.attempts[0]
    request = case.request(first)
    if experience.best is first and first.kept.built_on == 0 and not _was_corrected(request):
        yield ChatRow(id=experience.id, messages=(*_turns(request), _said(first.text)))
    elif case.answer and _can_be_answered(_opening(request), case.answer):
        yield ChatRow(id=experience.id, messages=(*_turns(_opening(request)), _said(case.answer)))


def _preference(case: Case) -> Iterator[Row]:
    """Yield the answer that worked beside each that failed on the text of the repository, where its prompt shows what
    is to be changed.
    """
    for made in case.experience.failed:
        request = case.request(made)
        if made.kept.built_on or not case.answer or _was_corrected(request):
            continue
        if _can_be_answered(request, case.answer):
            pair = {"chosen": (_said(case.answer),), "rejected": (_said(made.text),)}
            yield PreferenceRow(id=f"{case.experience.id}/{made.kept.number}", prompt=_turns(request), **pair)


def _trajectories(case: Case) -> Iterator[Row]:
    """Yield the attempts as one conversation, each with what its execution showed."""
    attempts = case.experience.attempts
    if not any(made.kept.ran for made in attempts):
        return
    opening = _opening(case.request(attempts[0]))
    turns: list[dict[str, Any]] = []
    rewards: list[Rewarded] = []
    for made in attempts:
        request = case.request(made)
        turns += _new_turns(request, [*opening, *turns])
        turns.append({"role": "assistant", "text": made.text})
        reward = _reward(made, is_last=made is attempts[-1])
        counts = (RewardedTests(**vars(count)) for count in (made.kept.public, made.kept.private))
        public, private = counts
        rewards.append(Rewarded(turn=len(turns) - 1, public=public, private=private, reward=reward))
    yield TrajectoryRow(
        id=case.experience.id,
        prompt=_turns(opening),
        completion=_turns(turns),
        label=attempts[-1].kept.works and attempts[-1].kept.ran,
        rewards=tuple(rewards),
        # A sum of -0.2 is not exact in binary: without the rounding, its noise would stand in the row.
        reward=round(sum(one.reward for one in rewards), 6),
    )


def _repairs(case: Case) -> Iterator[Row]:
    """Yield the fault that a run was to mend, and each that the model made and mended itself."""
    experience, best = case.experience, case.experience.best
    if not (experience.worked and case.fixed):
        return
    mended = experience.proposals[-1].proposal.evidence.mended
    if mended:
        failed = (f"{one.test}: {one.message}" for made in experience.failed for one in made.kept.failures)
        failures = dict.fromkeys([*mended, *(one for one in failed if one.startswith(tuple(mended)))])
        yield from _repair(case, experience.id, case.bases, "\n".join(failures), best)
    for made in () if mended else experience.failed:
        if made.kept.built_on == 0 and made.kept.ran:
            wrong = _tried(case, made)
            failures = "\n".join(f"{one.test}: {one.message}" for one in made.kept.failures)
            yield from _repair(case, f"{experience.id}/{made.kept.number}", wrong, failures, best)


def _repair(case: Case, row_id: str, wrong: Mapping[str, str | None], failure: str, best: Made) -> Iterator[Row]:
    """Yield the texts *wrong* of files that the fix changes, why they are, and the fix; none where one of them lacks.

    Tests that the fix adds say nothing of the fault, and are in the fix alone.
    """
    changed = [path for path, text in case.fixed.items() if wrong.get(path) and wrong[path] != text]
    if not changed or not best.said or not failure:
        return
    bug, fix = (_shown({path: texts[path] or "" for path in changed}) for texts in (wrong, case.fixed))
    asked = TrainingMessage(role="user", content=f"This code is wrong.\n\n{bug}\n\nIt fails:\n\n{fenced(failure)}")
    answered = TrainingMessage(role="assistant", content=f"{best.said}\n\n{fix}")
    tests = RewardedTests(**vars(best.kept.public + best.kept.private))
    told = {"bug": bug, "failure": failure, "explanation": best.said, "fix": fix}
    yield RepairRow(id=row_id, **told, tests=tests, prompt=(asked,), completion=(answered,))


_ROWS: Mapping[Format, Callable[[Case], Iterator[Row]]] = {
    "chat": _chat,
    "preference": _preference,
    "trajectories": _trajectories,
    "repairs": _repairs,
}


def _tried(case: Case, made: Made) -> dict[str, str | None]:
    """Return the texts as an attempt on those of the repository left them; none where its edits no longer fit."""
    edited = apply_edit_blocks(parse_edit_blocks(made.text), case.bases.get)
    return {} if edited.problems else {**case.bases, **edited.files}


def _reward(made: Made, *, is_last: bool) -> float:
    """Return the reward of one turn: whether all tests pass counts at the end, those unknown to the model too."""
    kept = made.kept
    if is_last:
        tests = kept.public + kept.private
        # Where no test ran, nothing showed that the change is right.
        return 1.0 if kept.works and kept.ran and tests != PassCount() and not tests.failed else -1.0
    return 0.0 if kept.ran else INVALID


def _opening(request: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return what was said before the model first spoke."""
    first = next((n for n, message in enumerate(request) if message["role"] == "assistant"), len(request))
    return [*request[:first]]


def _was_corrected(request: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the model had spoken before, but for lookups: edits of that reply may lie beneath."""
    return any(message["role"] == "assistant" and not message.get("calls") for message in request)


def _new_turns(request: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what *request* says after *before*; of a conversation begun anew, what it tells the model."""
    n_same = 0
    for one, other in zip(request, before, strict=False):
        if (one["role"], one["text"]) != (other["role"], other["text"]):
            break
        n_same += 1
    return [dict(message) for message in request[n_same:] if message["role"] != "system"]


def _can_be_answered(request: Sequence[Mapping[str, Any]], answer: str) -> bool:
    """Return whether *request* shows every line that *answer* searches for."""
    shown = {line.strip() for message in request for line in message["text"].splitlines()}
    return searched_lines(answer) <= shown


def _said(text: str) -> TrainingMessage:
    return TrainingMessage(role="assistant", content=text)


def _turns(messages: Sequence[Mapping[str, Any]]) -> Turns:
    """Return stored *messages* as turns; what lookups brought of installed packages is left out."""
    names = {call["id"]: call["name"] for message in messages for call in message.get("calls", ())}
    return tuple(_turn(message, names) for message in messages)


def _turn(message: Mapping[str, Any], names: Mapping[str, str]) -> TrainingMessage:
    calls = tuple(
        CalledTool(id=call["id"], function=CalledFunction(name=call["name"], arguments=call["arguments"]))
        for call in message.get("calls", ())
    )
    answers = message.get("answers", "")
    name = names.get(answers)
    content = _LEFT_OUT if name in _FROM_PACKAGES else message["text"]
    return TrainingMessage(
        role=message["role"], content=content, tool_calls=calls or None, tool_call_id=answers or None, name=name
    )


def _shown(texts: Mapping[str, str]) -> str:
    return "\n\n".join(f"{path}\n{fenced(text)}" for path, text in texts.items())
