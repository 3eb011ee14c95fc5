"""The parts of a draft that are worth keeping when it is given up: what passing tests ran of it, and no failing one.

Source: CodeChain (Le et al., ICLR 2024, arXiv 2310.08992) has drafts written in modules and offers the best of them
again. It chooses by likeness among many drafts; here what ran decides, and the repository's own functions come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from rolecall_analysis import Definition, Snapshot, find_definition, is_python, is_test, uses
from rolecall_server.craft.history import NOTHING_KNOWN, learned_from, name_of
from rolecall_server.craft.repair.spectrum import Place, Spectrum, spectrum_of
from rolecall_server.craft.trial import changed_parts
from rolecall_server.sandbox import NotRun, TestRun
from rolecall_server.workspace import split_lines

_RUN = frozenset({"function", "method"})


@dataclass(frozen=True)
class KeptFunction:
    """A function that the draft brought or changed."""

    path: str
    name: str
    """Dotted, within its file."""
    text: str
    n_passed: int
    """The number of tests that ran it; all of them passed."""


@dataclass(frozen=True)
class KeptParts:
    """The parts of one draft that nothing speaks against."""

    functions: tuple[KeptFunction, ...] = ()
    """Those that the most passing tests ran first."""
    helpers: tuple[Definition, ...] = ()
    """The repository's own functions that these call, and that passing tests ran with them."""


def kept_parts(snapshot: Snapshot, files: Mapping[str, str | None], run: TestRun | NotRun) -> KeptParts:
    """Return the parts of the draft *files* that are worth keeping by *run*; none unless it is known what each test
    that failed in it ran.
    """
    if isinstance(run, NotRun) or run.status != "ran":
        return KeptParts()
    after = snapshot.with_changes(files)
    # From this run alone: what earlier ones saw is about other texts than the draft's.
    spectrum = spectrum_of(run, learned_from(NOTHING_KNOWN, run, after), [one.test_id for one in run.failed])
    # A failing test that was not watched may have run any part of the draft.
    if {*spectrum.failing} != {name_of(one.test_id) for one in run.failed}:
        return KeptParts()
    passed = _passed(spectrum)
    changed = {place: part for place, part in _changed(snapshot, after, files).items() if passed[place]}
    kept = sorted(changed, key=lambda place: -passed[place])
    functions = tuple(KeptFunction(*place, _text(after, changed[place]), passed[place]) for place in kept)
    return KeptParts(functions, _helpers(snapshot, after, changed, spectrum))


def _passed(spectrum: Spectrum) -> Counter[Place]:
    """Return by how many passing tests each function was run that no failing test ran."""
    blamed = {place for ran in spectrum.failing.values() for place in ran}
    return Counter(place for ran in spectrum.passing.values() for place in ran - blamed)


def _changed(snapshot: Snapshot, after: Snapshot, files: Mapping[str, str | None]) -> dict[Place, Definition]:
    """Return the functions outside of tests that are new in *after*, or have another text there."""
    code = (path for path, text in files.items() if text is not None and is_python(path) and not is_test(after, path))
    parts = (part for path in code for part in changed_parts(snapshot, after, path))
    return {_place(part): part for part in parts if isinstance(part, Definition) and part.kind in _RUN}


def _helpers(
    snapshot: Snapshot, after: Snapshot, kept: Mapping[Place, Definition], spectrum: Spectrum
) -> tuple[Definition, ...]:
    """Return the functions of *snapshot* that those of *kept* name, and that a passing test ran together with one."""
    passed = _passed(spectrum)
    beside = {place for ran in spectrum.passing.values() if not ran.isdisjoint(kept) for place in ran if passed[place]}
    named = {_place(one): one for part in kept.values() for one in uses(after, part.path, part)}
    return tuple(
        one
        for place, one in named.items()
        if place in beside and place not in kept and one.kind in _RUN and find_definition(snapshot, *place) is not None
    )


def _place(definition: Definition) -> Place:
    return definition.path, definition.qualified_name


def _text(snapshot: Snapshot, definition: Definition) -> str:
    lines = split_lines(snapshot.text(definition.path) or "")
    return "".join(lines[definition.span.start.line : definition.span.end.line + 1]).rstrip()
