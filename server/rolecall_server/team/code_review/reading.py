"""Code is read for promises that it does not keep, and what the model names is run before it is told."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath

from rolecall_analysis import Snapshot, definitions_in, is_python, is_test
from rolecall_server.craft.code_review.candidates import ReviewScope, changed_lines, changed_since
from rolecall_server.craft.code_review.judging import Verdict
from rolecall_server.craft.code_review.pieces import CodePiece, pieces_of
from rolecall_server.craft.code_review.promises import (
    BrokenPromise,
    PromiseEnd,
    PromiseReader,
    Shown,
    find_broken_promises,
)
from rolecall_server.model import ModelClient
from rolecall_server.sandbox import NotRun, TestResult, TestRun
from rolecall_server.team.model_stack import with_limits
from rolecall_server.team.request import Desk
from rolecall_server.team.test_quality.test_placement import choose_test_path
from rolecall_server.workspace import read_for_model, split_lines

_MOST_PIECES = 4
"""Read in one run: each is a request or two."""
_SHARE = 0.5
"""Of the tokens that a model may be shown."""
_FRAME = re.compile(r"^(\S+\.py):\d+: ", re.MULTILINE)
_OWN_MISTAKE = re.compile(
    r"NameError|ImportError|ModuleNotFoundError|SyntaxError|IndentationError|fixture "
    r"|AttributeError: module |TypeError: .*\b(takes|missing|unexpected keyword)\b"
)
"""Begins what pytest says of a test that names or calls what is not there."""


@dataclass(frozen=True)
class ReadCode:
    """What came of reading the code of a review."""

    verdicts: Mapping[BrokenPromise, Verdict] = field(default_factory=dict[BrokenPromise, Verdict])
    n_kept: int = 0
    """Promises that a model held for broken, and a run showed to be kept."""
    n_unread: int = 0
    """Pieces of code for which one run has no room."""


async def read_code(desk: Desk, scope: ReviewScope, begin: Callable[[], ModelClient]) -> ReadCode:
    """Return the promises that the code in *scope* does not keep; *begin* opens a conversation.

    Raises:
        RolecallError: the model failed.
    """
    pieces = await asyncio.to_thread(lambda: [*_pieces(desk, scope)])
    found: dict[BrokenPromise, Verdict] = {}
    n_kept = 0
    for number, piece in enumerate(pieces[:_MOST_PIECES]):
        desk.report(f"reading {piece.path} for promises it does not keep", number / len(pieces))
        module = _module(piece.path)
        reader = PromiseReader(begin, _Runs(desk, piece.path).run, partial(with_limits, desk=desk))
        reading = await find_broken_promises(piece, module, reader, len(found) + 1)
        found |= {_placed(desk.snapshot, one): verdict for one, verdict in reading.verdicts.items()}
        n_kept += reading.n_kept
    return ReadCode(found, n_kept, max(0, len(pieces) - _MOST_PIECES))


def _pieces(desk: Desk, scope: ReviewScope) -> Iterator[CodePiece]:
    snapshot, most_tokens = desk.snapshot, int(_SHARE * desk.settings.model.context_tokens)
    for path, changed in _to_read(desk.workspace.root, snapshot, scope):
        text = read_for_model(desk.workspace, path)
        if text is not None:
            yield from pieces_of(snapshot, path, split_lines(text), most_tokens, changed)


def _to_read(root: Path, snapshot: Snapshot, scope: ReviewScope) -> Iterator[tuple[str, frozenset[int] | None]]:
    """Yield the Python files of *scope* that are no tests, with the lines that changed where it is about a change."""
    if not scope.since:
        yield from ((path, None) for path in scope.paths if not is_test(snapshot, path))
        return
    for path, before in sorted(changed_since(root, snapshot, scope.since).items()):
        if is_python(path) and path in snapshot.files and not is_test(snapshot, path):
            yield path, changed_lines(before, snapshot.text(path))


def _placed(snapshot: Snapshot, promise: BrokenPromise) -> BrokenPromise:
    """Return *promise* with the innermost function around its line."""
    around = [
        one
        for one in definitions_in(snapshot, promise.path)
        if one.kind in ("function", "method") and one.span.start.line <= promise.line <= one.span.end.line
    ]
    scope = max(around, key=lambda one: one.span.start).qualified_name if around else ""
    return replace(promise, scope=scope)


def _module(path: str) -> str:
    """Return the name under which tests are likely to import the file *path*."""
    place = PurePosixPath(path)
    folders = place.parent.parts[1:] if place.parent.parts[:1] in (("src",), ("lib",)) else place.parent.parts
    return ".".join(folders if place.stem == "__init__" and folders else (*folders, place.stem))


@dataclass(frozen=True)
class _Runs:
    """Runs of the tests that a model wrote to show that promises of one file are not kept."""

    desk: Desk
    path: str

    async def run(self, claimed: Sequence[BrokenPromise]) -> dict[str, Shown]:
        """Return how the test of each of *claimed* ends, each in a file of its own."""
        if not claimed:
            return {}
        folder = PurePosixPath(choose_test_path(self.desk.workspace, self.desk.snapshot, self.path)).parent
        files = {one.id: str(folder / f"test_promise_{one.id}.py") for one in claimed}
        texts: dict[str, str | None] = {files[one.id]: one.test for one in claimed}
        run = await self.desk.bench.run(texts, [*texts], ())
        if isinstance(run, TestRun) and run.status != "ran" and len(claimed) > 1:
            # One that does not end, or ends the process, says nothing about the others.
            return {one.id: (await self.run([one]))[one.id] for one in claimed}
        return {one.id: _shown(run, files[one.id]) for one in claimed}


def _shown(run: TestRun | NotRun, path: str) -> Shown:
    if isinstance(run, NotRun):
        return Shown(PromiseEnd.NOT_RUN, str(run))
    if run.status != "ran":
        return Shown(PromiseEnd.NOT_RUN, "It did not end in its time." if run.status == "timed out" else run.reason)
    mine = [one for one in run.outcomes if one.test_id.partition("::")[0] == path]
    failed = [one for one in mine if one.outcome in ("failed", "error")]
    if failed:
        is_own = all(_fails_by_itself(one, path) for one in failed)
        return Shown(PromiseEnd.BY_ITSELF if is_own else PromiseEnd.BROKEN, failed[0].message)
    if not any(one.outcome == "passed" for one in mine):
        return Shown(PromiseEnd.NOT_RUN, "No test of it ran.")
    return Shown(PromiseEnd.KEPT)


def _fails_by_itself(outcome: TestResult, path: str) -> bool:
    """Return whether the test could not be set up, or names or calls what is not there on a line of its own.

    Another error on such a line may be what the code does: built-in and generated code leaves no line in a traceback.
    """
    frames = _FRAME.findall(outcome.detail)
    is_alone = bool(frames) and all(frame == path for frame in frames)
    return outcome.outcome == "error" or (is_alone and _OWN_MISTAKE.match(outcome.message) is not None)
