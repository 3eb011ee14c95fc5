"""Tests of requirements that fail in the end: offered marked to fail, off until chosen, as the proof of a finding."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rolecall_server.craft.expected_failures import ExpectedFailure, expected_failure, standing_alone
from rolecall_server.craft.test_text import added_tests, function_of, without_tests
from rolecall_server.review.evidence import Defect, Evidence, Failure
from rolecall_server.sandbox import TestRun
from rolecall_server.team.draft import name_of
from rolecall_server.team.edits import Edits
from rolecall_server.team.joining import checked_anew
from rolecall_server.team.request import Desk
from rolecall_server.workspace import read_for_model


@dataclass
class _Unmet:
    """Edits that lose tests, and these tests by file."""

    files: dict[str, str | None]
    off: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    defects: list[Defect] = field(default_factory=list[Defect])


async def without_unmet(
    desk: Desk, edits: Edits, tests: Collection[str], verifies: Mapping[str, Sequence[str]]
) -> tuple[Edits, Mapping[str, Sequence[str]]]:
    """Return *edits* without the requirement tests that fail, checked anew, and these marked to fail, by file.

    *tests* are the files that hold such tests, *verifies* has the requirements of each. A test that was there before,
    or that does not fail as it is marked to, stays as it is.
    """
    shown = edits.evidence or Evidence(ran=False)
    unmet = _Unmet(dict(edits.files))
    for failure in _one_for_each_test(shown, tests):
        await _set_aside(desk, unmet, failure, verifies.get(name_of(failure.test_id), ()))
    if not unmet.off:
        return edits, {}
    left = edits.model_copy(update={"files": unmet.files})
    found = await checked_anew(desk, left, shown.repairs)
    notes = tuple(dict.fromkeys((*shown.notes, *found.notes)))
    evidence = replace(found, model=shown.model, notes=notes, defects=(*shown.defects, *unmet.defects))
    return left.model_copy(update={"evidence": evidence}), unmet.off


def _one_for_each_test(shown: Evidence, tests: Collection[str]) -> list[Failure]:
    failing = [one for one in shown.new_failures if function_of(one.test_id)]
    return [*{name_of(one.test_id): one for one in failing if one.test_id.partition("::")[0] in tests}.values()]


async def _set_aside(desk: Desk, unmet: _Unmet, failure: Failure, verifies: Sequence[str]) -> None:
    """Move the test of *failure* from the files of *unmet* to what is off, if it fails there as it is marked to."""
    path, name = failure.test_id.partition("::")[0], function_of(failure.test_id)
    base, text = read_for_model(desk.workspace, path), unmet.files.get(path) or ""
    reason = f"{', '.join(verifies) or 'not as required'}: {failure.message}"
    is_new = name in {test.name for test in added_tests(text, base)}
    marked = expected_failure(text, name, (), reason) if is_new else None
    if marked is None:
        return
    left = without_tests(text, {name}, base)
    block = standing_alone(marked.text, left, text)
    if not await _fails_as_marked(
        desk, {**unmet.files, path: f"{left.rstrip()}\n\n\n{block}".lstrip("\n")}, path, marked
    ):
        return
    unmet.files[path] = left
    if left.strip() == (base or "").strip():
        del unmet.files[path]
    unmet.off.setdefault(path, []).append(block)
    test = f"{path}::{name}"
    unmet.defects.append(
        Defect(path, name, 0, reason, test=test, seen=failure.message, offered=f"{path}::{marked.name}")
    )


async def _fails_as_marked(desk: Desk, files: Mapping[str, str | None], path: str, marked: ExpectedFailure) -> bool:
    desk.report("running a requirement test that fails, marked to", None)
    run = await desk.bench.run(files, [path], ())
    ended = (
        [one for one in run.outcomes if name_of(one.test_id) == f"{path}::{marked.name}"]
        if isinstance(run, TestRun)
        else []
    )
    return bool(ended) and all(one.outcome == "xfailed" for one in ended)
