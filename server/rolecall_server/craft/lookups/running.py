"""Lookups that run code of the repository: a test of it, or a few lines that try it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import BaseModel, Field

from rolecall_analysis import is_test
from rolecall_server.craft.lookups.sources import MAX_ANSWER_TOKENS, LookupSources, bounded, shortened, shown_lines
from rolecall_server.errors import CodeNotRun, NotFound
from rolecall_server.sandbox import NotRun, ProcessEnd, TestRun

_MAX_OUTPUT_LINES = 60
_SNIPPET_TIMEOUT_S = 20.0
"""Of one snippet: what takes longer is no question but work."""
_TOLD_FROM_S = 2.0
"""A shorter time is not told: it is another one each time, and most of it is Python's own start."""
_WHAT_IT_SHOWS = "What the code does today{edits}, which says nothing of what it should do."


class TestName(BaseModel):
    """A test, or all of a file."""

    __test__ = False  # pytest would collect the name

    path: str = Field(description="the test file", min_length=1)
    name: str = Field("", description="a test in it, such as test_total or TestCart::test_total; empty: all")


class Snippet(BaseModel):
    """A few lines of Python."""

    code: str = Field(
        description="run at the root of the repository, with its Python and packages; print what you want to see, or "
        f"end with an expression. At most {_SNIPPET_TIMEOUT_S:g} seconds, no network",
        min_length=1,
        max_length=8_000,
    )


async def run_test(sources: LookupSources, test: TestName) -> str:
    """Return how a test ends, run in the sandbox with the edits so far.

    Raises:
        NotFound: that is no test file.
        FileRefused: it cannot be read, or is kept from models.
    """
    shown_lines(sources, test.path)
    if not is_test(sources.view.snapshot, test.path):
        raise NotFound(f"{test.path} is no test file.", "List the tests of a file first.")
    target = f"{test.path}::{test.name.replace('.', '::')}" if test.name else test.path
    run = await sources.bench.run(sources.draft, [target], ())
    return bounded(sources, _told(run) if isinstance(run, TestRun) else [str(run)], "Nothing was run.")


def _told(run: TestRun) -> Iterator[str]:
    if run.status != "ran":
        yield f"It did not come to its end: {run.reason}"
        yield from run.output.splitlines()[-_MAX_OUTPUT_LINES:]
        return
    yield f"{len(run.passed)} passed, {len(run.failed)} failed, {len(run.skipped)} skipped"
    for outcome in run.failed:
        yield f"{outcome.test_id}: {outcome.message}"
        yield from outcome.detail.splitlines()


async def run_python(sources: LookupSources, snippet: Snippet) -> str:
    """Return what a snippet prints, run in the sandbox with the edits so far and without what is kept from models.

    Raises:
        CodeNotRun: nothing may be run here.
    """
    end = await sources.bench.snippet(sources.draft, snippet.code, _SNIPPET_TIMEOUT_S)
    if isinstance(end, NotRun):
        raise CodeNotRun(str(end), "Go on without.")
    edits = " with your edits so far" if sources.draft else ""
    said = [_WHAT_IT_SHOWS.format(edits=edits), _how_it_ended(end)]
    return "\n".join([*said, *_hidden(sources), *both_ends(sources, end.output.splitlines())])


def _hidden(sources: LookupSources) -> list[str]:
    """Return what a model is told of what was not there for its snippet."""
    return ["Not there for it: what is kept from models."] if sources.bench.kept_back.private else []


def _how_it_ended(end: ProcessEnd) -> str:
    took = f" after {end.duration_s:.0f} seconds" if end.duration_s >= _TOLD_FROM_S else ""
    if end.timed_out:
        return f"It was ended{took}: its time was over."
    if end.exceeded is not None:
        return f"It was ended{took}: it took too much ({end.exceeded})."
    return f"It ended{took} with exit code {end.exit_code}; " + ("it printed:" if end.output else "it printed nothing.")


def both_ends(sources: LookupSources, lines: Sequence[str]) -> list[str]:
    """Return *lines*, or as many from both ends as fit into an answer: how a program fails stands last."""
    left = [MAX_ANSWER_TOKENS // 2, MAX_ANSWER_TOKENS // 2]
    told: tuple[list[str], list[str]] = [], []
    begin, end = 0, len(lines)
    while begin < end:
        at_the_end = int(left[1] >= left[0])
        line = shortened(lines[end - 1] if at_the_end else lines[begin])
        left[at_the_end] -= sources.view.count_tokens(line) + 1
        if left[at_the_end] < 0:
            break
        told[at_the_end].append(line)
        begin, end = begin + 1 - at_the_end, end - at_the_end
    gap = [f"… {end - begin:,} lines left out …"] if begin < end else []
    return [*told[0], *gap, *reversed(told[1])]
