"""Tests of requirements that fail in the end: offered marked to fail, off until chosen, as the proof of a finding."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rolecall_server.craft.test_quality.expected_failures import ExpectedFailure, expected_failure, standing_alone
from rolecall_server.craft.test_quality.test_text import (
    WrittenTest,
    added_tests,
    failing_rows,
    function_of,
    without_rows,
    without_tests,
)
from rolecall_server.review.proposals.evidence import Defect, Evidence, Failure
from rolecall_server.sandbox import TestRun
from rolecall_server.team.messages.edits import Edits
from rolecall_server.team.request import Desk
from rolecall_server.team.sprint.integration import checked_anew
from rolecall_server.team.test_quality.draft import name_of
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

    *tests* are the files that hold such tests, *verifies* has the requirements of each. Of a test that fails in some of
    the cases written with it, these are set aside and the others stay. A test that was there before, or that does not
    fail as it is marked to, stays as it is.
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
    """Return the first failure of each test in the files *tests*."""
    first: dict[str, Failure] = {}
    for one in shown.new_failures:
        if function_of(one.test_id) and one.test_id.partition("::")[0] in tests:
            first.setdefault(name_of(one.test_id), one)
    return [*first.values()]


async def _set_aside(desk: Desk, unmet: _Unmet, failure: Failure, verifies: Sequence[str]) -> None:
    """Move what fails of the test of *failure* from *unmet*'s files to what is off, if it fails there as marked."""
    path, name = failure.test_id.partition("::")[0], function_of(failure.test_id)
    base, text = read_for_model(desk.workspace, path), unmet.files.get(path) or ""
    test = next((one for one in added_tests(text, base) if one.name == name), None)
    if test is None:
        return
    rows = await _some_rows(desk, unmet.files, path, test)
    more = f" (and {len(rows) - 1} more of its cases)" if len(rows) > 1 else ""
    reason = f"{', '.join(verifies) or 'not as required'}: {failure.message}{more}"
    marked = expected_failure(text, name, rows, reason)
    assert marked is not None
    left = without_rows(text, {name: rows}) if rows else without_tests(text, {name}, base)
    block = standing_alone(marked.text, left, text)
    # Run once more as it will be offered: alone and marked it may pass, break, or not be collected at all.
    if not await _fails_as_marked(
        desk, {**unmet.files, path: f"{left.rstrip()}\n\n\n{block}".lstrip("\n")}, path, marked
    ):
        return
    unmet.files[path] = left
    if left.strip() == (base or "").strip():
        del unmet.files[path]
    unmet.off.setdefault(path, []).append(block)
    offered = f"{path}::{marked.name}"
    unmet.defects.append(Defect(path, name, 0, reason, test=f"{path}::{name}", seen=failure.message, offered=offered))


async def _some_rows(desk: Desk, files: Mapping[str, str | None], path: str, test: WrittenTest) -> tuple[int, ...]:
    """Return the numbers of the cases of *test* that fail; none where all do, or where they cannot be told apart."""
    if not test.rows:
        return ()
    desk.report("running the cases of a requirement test that fails", None)
    run = await desk.bench.run(files, [path], ())
    rows = failing_rows(test, run, path) if isinstance(run, TestRun) else ()
    return rows if len(rows) < len(test.rows) else ()


async def _fails_as_marked(desk: Desk, files: Mapping[str, str | None], path: str, marked: ExpectedFailure) -> bool:
    desk.report("running a requirement test that fails, marked to", None)
    run = await desk.bench.run(files, [path], ())
    ended = (
        [one for one in run.outcomes if name_of(one.test_id) == f"{path}::{marked.name}"]
        if isinstance(run, TestRun)
        else []
    )
    return bool(ended) and all(one.outcome == "xfailed" for one in ended)
