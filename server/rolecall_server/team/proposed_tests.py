"""The tests of a proposal as it stands: those that it brings, and those that were seen to run with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rolecall_analysis import is_python
from rolecall_server.craft.test_quality.test_text import WrittenTest, changed_tests, function_of, written_tests
from rolecall_server.review.proposals.anchor import path_now
from rolecall_server.review.proposals.evidence import Evidence, TestEnd
from rolecall_server.review.proposals.proposal_store import ReadText, Reviewed
from rolecall_server.review.sides import sides_of
from rolecall_server.sandbox import is_test_file


@dataclass(frozen=True)
class ProposedTest:
    """A test with all its cases."""

    id: str
    """``path::TestClass::test_name``; the path alone where the file could not be read."""
    path: str
    lines: tuple[int, int] | None
    """Where it stands in the file as it would be: from 0, without the last; ``None`` where that is not known."""
    is_brought: bool
    """The proposal adds or changes it."""
    ends: tuple[TestEnd, ...]
    """The ends of its cases; none where they did not run."""


def tests_of_proposal(reviewed: Reviewed, shown: Evidence, read_text: ReadText) -> tuple[ProposedTest, ...]:
    """Return the tests that the hunks on offer and accepted bring, then the others of which *shown* tells the end."""
    ends = _by_test(shown)
    texts = _texts(reviewed, read_text)
    brought = [one for path, (base, text) in texts.items() for one in _brought(path, base, text, ends)]
    known = {one.id for one in brought}
    return (*brought, *_others(ends, texts, known, read_text))


def _by_test(shown: Evidence) -> dict[str, list[TestEnd]]:
    told = {one.test_id for one in shown.tests}
    failed = [TestEnd(one.test_id, "failed", one.message) for one in shown.failures if one.test_id not in told]
    ends: dict[str, list[TestEnd]] = {}
    for end in (*shown.tests, *failed):
        ends.setdefault(end.test_id.partition("[")[0], []).append(end)
    return ends


def _texts(reviewed: Reviewed, read_text: ReadText) -> dict[str, tuple[str, str | None]]:
    """Return the base of each changed file, and its text as it would be, by its path then."""
    found: dict[str, tuple[str, str | None]] = {}
    for change in reviewed.proposal.files:
        sides = sides_of(reviewed, change, read_text(path_now(change, reviewed.accepted)))
        found[sides.right_path] = change.base or "", sides.right
    return found


def _brought(path: str, base: str, text: str | None, ends: Mapping[str, list[TestEnd]]) -> Iterator[ProposedTest]:
    """Yield the tests of the file that its base has in another form, or not at all."""
    if text is None:
        return
    if not is_python(path):
        names = [test for test in ends if is_test_file(path) and test.partition("::")[0] == path]
        yield from (ProposedTest(test, path, None, is_brought=True, ends=tuple(ends[test])) for test in names)
        return
    differing = {*changed_tests(base, text)}
    for test in written_tests(text):
        if test.name in differing and (f"{path}::{test.name}" in ends or _looks_like_tests(path)):
            yield _written(path, test, ends, is_brought=True)


def _looks_like_tests(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith("test") or name.endswith("_test.py")


def _written(path: str, test: WrittenTest, ends: Mapping[str, list[TestEnd]], *, is_brought: bool) -> ProposedTest:
    test_id = f"{path}::{test.name}"
    return ProposedTest(test_id, path, (test.start, test.end), is_brought, tuple(ends.get(test_id, ())))


def _others(
    ends: Mapping[str, list[TestEnd]],
    texts: Mapping[str, tuple[str, str | None]],
    known: Iterable[str],
    read_text: ReadText,
) -> Iterator[ProposedTest]:
    """Yield the tests that *ends* has besides, where they are still there."""
    left = [test for test in ends if test not in {*known}]
    for path in dict.fromkeys(test.partition("::")[0] for test in left):
        text = texts[path][1] if path in texts else read_text(path)
        if text is None:
            continue
        written = {test.name: test for test in written_tests(text)} if is_python(path) else {}
        for test_id in (test for test in left if test.partition("::")[0] == path):
            name = function_of(test_id)
            if name in written:
                yield _written(path, written[name], ends, is_brought=False)
            elif path not in texts or not is_python(path) or not name:
                yield ProposedTest(test_id, path, None, is_brought=False, ends=tuple(ends[test_id]))
