"""The aims of new tests: what no test reaches, most-called first; where all is reached, what no test notices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rolecall_analysis import (
    Definition,
    Position,
    Snapshot,
    callers,
    definitions_in,
    enclosing_definition,
    is_test,
)
from rolecall_server.craft.trial import LinesUnderTest
from rolecall_server.errors import NothingToTest
from rolecall_server.sandbox import FileCoverage, MutationRun, NotRun, TestRun
from rolecall_server.team.request import Desk, RunRequest
from rolecall_server.team.test_quality.proving import target_of
from rolecall_server.workspace import read_text_file, split_lines

GOOD_COVERAGE = 0.9
"""From this part of the lines and branches on, what counts is what the existing tests let pass."""
_ASK_FOR_MORE = "Say with a brief what else to test."
_MAX_PLACES = 30
_MAX_SURVIVORS = 20
_MAX_NAMED = 5


@dataclass(frozen=True)
class Aims:
    """The aims that the tests are to go for."""

    task: tuple[str, ...] = ()
    """Lines of the task."""
    reason: str = ""
    """The choice and its reason, in a sentence for a person."""


@dataclass(frozen=True)
class _Scene:
    """The file under test, with how often its definitions are called."""

    path: str
    target: LinesUnderTest
    source: Sequence[str]
    snapshot: Snapshot
    _calls: dict[str, int] = field(default_factory=dict[str, int])

    def around(self, line: int) -> Definition | None:
        return enclosing_definition(self.snapshot, self.path, Position(line - 1, 0))

    def n_calls(self, definition: Definition | None) -> int:
        """Return the number of places outside tests that call *definition* for certain."""
        if definition is None:
            return 0
        if definition.qualified_name not in self._calls:
            sites = callers(self.snapshot, definition, certain_only=True)
            self._calls[definition.qualified_name] = sum(not is_test(self.snapshot, site.path) for site in sites)
        return self._calls[definition.qualified_name]


async def find_aims(request: RunRequest, desk: Desk, before: TestRun | NotRun | None, existing: Sequence[str]) -> Aims:
    """Find what new tests of *request* should go for, by what the *existing* ones reached when they ran.

    Raises:
        NothingToTest: the existing tests reach all of it and notice every fault that was put into it.
    """
    source = split_lines(read_text_file(desk.workspace, request.path).text)
    scene = _Scene(request.path, target_of(request, desk), source, desk.snapshot)
    if not existing or before is None:
        return _first_tests(scene)
    if not isinstance(before, TestRun) or request.path not in before.coverage:
        return Aims((), f"Tests exist; what they reach was not measured, so {request.path} was chosen as a whole.")
    measured = before.coverage[request.path]
    missing = [line for line in sorted(measured.missing_lines) if line in scene.target.lines and line <= len(source)]
    ratio = measured.ratio if not request.symbol else _ratio(measured, scene.target)
    if ratio < GOOD_COVERAGE:
        return _unreached(scene, missing)
    reached = f"The existing tests reach {ratio:.0%} of {request.symbol or request.path}"
    desk.report("looking for faults that the existing tests would not notice", None)
    limit_s = desk.settings.tests.worth_seconds
    found = await desk.bench.mutate({}, scene.target, existing, limit_s) if limit_s else NotRun("That is switched off.")
    return _unnoticed(scene, reached, missing, found, is_asked=bool(request.brief))


def _ratio(measured: FileCoverage, target: LinesUnderTest) -> float:
    executed, missing = (len(lines & set(target.lines)) for lines in (measured.executed_lines, measured.missing_lines))
    return executed / (executed + missing) if executed + missing else 1.0


def _first_tests(scene: _Scene) -> Aims:
    inside = [
        definition
        for definition in definitions_in(scene.snapshot, scene.path)
        if definition.kind in ("function", "method") and definition.span.start.line + 1 in scene.target.lines
    ]
    called = sorted((one for one in inside if scene.n_calls(one)), key=scene.n_calls, reverse=True)
    names = [f"{one.qualified_name} ({scene.n_calls(one)})" for one in called[:_MAX_NAMED]]
    most = f" Called most in the repository: {', '.join(names)}." if names else ""
    return Aims((f"No existing test imports {scene.path}.{most}",), f"Nothing in {scene.path} was tested.{most}")


def _unreached(scene: _Scene, missing: Sequence[int]) -> Aims:
    runs = sorted(_runs(missing), key=lambda run: (-scene.n_calls(scene.around(run[0])), run[0]))
    places = [_describe(scene, run) for run in runs[:_MAX_PLACES]]
    more = [f"- and {len(runs) - _MAX_PLACES} more places"] if len(runs) > _MAX_PLACES else []
    names = dict.fromkeys(around.qualified_name for run in runs if (around := scene.around(run[0])))
    return Aims(
        (f"The existing tests do not reach these lines of {scene.path}, the most-called first:", *places, *more),
        f"Chosen because no test reaches it, most-called first: {_listed(list(names)) or 'lines outside functions'}.",
    )


def _unnoticed(
    scene: _Scene, reached: str, missing: Sequence[int], found: MutationRun | NotRun, *, is_asked: bool
) -> Aims:
    """Aims for code that is tested well: the faults that its tests let pass, and the few lines they leave out."""
    places = tuple(_describe(scene, run) for run in _runs(missing)[:_MAX_PLACES])
    rest = (f"They do not reach these lines of {scene.path}:", *places) if places else ()
    lived = (*found.survived, *found.unreached) if isinstance(found, MutationRun) else ()
    if not lived and isinstance(found, MutationRun) and not (missing or found.untried or is_asked):
        raise NothingToTest(f"{reached} and notice each of {len(found.killed)} faults put into it.", _ASK_FOR_MORE)
    if not lived or isinstance(found, NotRun):
        return Aims(
            (
                f"{reached}. Add only what they do not check yet, five tests at most beside those that show a finding.",
                *rest,
            ),
            f"{reached}.",
        )
    by_line: dict[int, list[str]] = {}
    for mutant in lived:
        by_line.setdefault(mutant.line, []).append(f"`{mutant.was}` -> `{mutant.became}`")
    shown = [
        f"- line {line}, `{scene.source[line - 1].strip()}`: {'; '.join(faults[:3])}"
        for line, faults in sorted(by_line.items())[:_MAX_SURVIVORS]
    ]
    n_tried = len(lived) + len(found.killed)
    intro = f"{reached}, but let {len(lived)} of {n_tried} faults pass. Write tests that notice these:"
    return Aims((intro, *shown, *rest), f"{reached}; chosen was what they would not notice if it were wrong.")


def _runs(numbers: Iterable[int]) -> list[list[int]]:
    """Ascending *numbers* in runs without gaps."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _describe(scene: _Scene, run: Sequence[int]) -> str:
    """``- lines 30-32, in Cart.total (3 calls), from `if not items:` ``"""
    around = scene.around(run[0])
    n_calls = scene.n_calls(around)
    called = f" ({n_calls} call{'s' if n_calls != 1 else ''})" if n_calls else ""
    where = f", in {around.qualified_name}{called}" if around else ""
    lines = f"line {run[0]}" if len(run) == 1 else f"lines {run[0]}-{run[-1]}"
    return f"- {lines}{where}{', from' if len(run) > 1 else ':'} `{scene.source[run[0] - 1].strip()}`"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more
