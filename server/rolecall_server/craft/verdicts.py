"""The cause of a failing test: the test, the code, or the environment.

The model says which, in lines of a fixed form; that something is missing around the code is read off the report. What
is delivered is decided elsewhere, by how the tests ended: a model never says that a test passed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rolecall_server.craft.attempts import text_beside_edits
from rolecall_server.craft.test_quality.test_text import function_of
from rolecall_server.sandbox import TestResult

_MARKUP = r"[\s>*_`-]{0,40}"
_FINDING = re.compile(rf"^{_MARKUP}Finding:{_MARKUP}([^\s:`*]{{1,400}}\.py)::([\w.]{{1,400}}){_MARKUP}:[\s*]*(\S.*)$")
_SHOWN_BY = re.compile(r"Shown by\b(.*)$", re.IGNORECASE)
_ENVIRONMENT = re.compile(
    rf"^{_MARKUP}Environment:{_MARKUP}(?:\S{{1,400}}::)?(test\w{{0,400}})(?:\[.{{0,400}}\])?{_MARKUP}:{_MARKUP}(\S.*)$"
)
# `test_price.py` and `tests/` name a file and a folder, no test.
_TEST_NAME = re.compile(r"\btest\w*\b(?!\.py|/)")
_MISSING_MODULE = re.compile(r"^(?:ModuleNotFoundError|ImportError): No module named '([\w.]+)'")
_FRAME = re.compile(r"^(\S+\.py):\d+: ", re.MULTILINE)
_ANY_FINDING = re.compile(r"^[ \t>*_`-]*+Finding[\s*_`]*+:[\s*_`]*+\S.*$", re.MULTILINE | re.IGNORECASE)
"""Begins what a role says of a test or of code that it may not change."""
_UNREACHABLE = re.compile(
    r"\b(?:gaierror|ConnectionRefusedError|ConnectError|ConnectionError|NewConnectionError|URLError|NameResolutionError)\b"
    r"|Network is unreachable|Temporary failure in name resolution|Name or service not known"
)


@dataclass(frozen=True)
class Suspicion:
    """A fault that a model suspects in the code under test."""

    path: str
    symbol: str
    """A dotted name in that file."""
    sentence: str
    tests: tuple[str, ...]
    """The names of the functions that it says show it, without a class."""

    def shown_by(self, test: str) -> bool:
        """Return whether the finding names *test*, which is a function's name as pytest joins it, or a node id."""
        return _bare(test) in self.tests


def findings_in(said: str) -> tuple[str, ...]:
    """Return the lines beside the edits of *said* that begin with ``Finding:``, each once."""
    return tuple(dict.fromkeys(line.strip(" \t>*_`-") for line in _ANY_FINDING.findall(text_beside_edits(said))))


def to_mend(failures: tuple[TestResult, ...], said: str) -> tuple[TestResult, ...]:
    """Return those of *failures* that no finding in *said* names: a test that somebody else has to correct is named."""
    named = {word for line in findings_in(said) for word in re.findall(r"\w+", line)}
    return tuple(one for one in failures if function_of(one.test_id).rpartition("::")[2] not in named)


def read_suspicions(said: str) -> tuple[Suspicion, ...]:
    """Return the findings in *said*: its lines of the form ``Finding: path::symbol: sentence. Shown by test_name.``,
    each once.
    """
    found: list[Suspicion] = []
    for line in said.splitlines():
        if match := _FINDING.match(line):
            shown = _SHOWN_BY.search(match[3])
            sentence = match[3][: shown.start()] if shown else match[3]
            names = tuple(dict.fromkeys(_TEST_NAME.findall(shown[1]))) if shown else ()
            found.append(Suspicion(match[1], match[2], sentence.strip(), names))
    return tuple(dict.fromkeys(found))


def without_suspicions(said: str) -> str:
    """Return *said* without the lines that have the form of a finding."""
    return "\n".join(line for line in said.splitlines() if not _FINDING.match(line)).strip()


def read_missing(said: str) -> dict[str, str]:
    """Return, by test, what the environment lacks by the lines of *said* with the form ``Environment: test_name:
    what``.
    """
    matches = (_ENVIRONMENT.match(line) for line in said.splitlines())
    return {match[1]: match[2].strip("` ") for match in matches if match}


def why_environment(outcome: TestResult, said: str, is_own_module: Callable[[str], bool]) -> str:
    """Return a sentence on what the environment lacks for the failing test *outcome*; empty if it lacks nothing.

    A package that only the test itself imports is the test's fault. *is_own_module* tells the repository's modules.
    """
    path = outcome.test_id.partition("::")[0]
    if match := _MISSING_MODULE.match(outcome.message):
        frames = _FRAME.findall(outcome.detail)
        own = is_own_module(match[1].partition(".")[0])
        return "" if own or not frames or frames[-1] == path else f"The package {match[1]} is not installed."
    if _UNREACHABLE.search(outcome.message):
        return f"It needs the network, which tests do not have: {outcome.message}"
    return read_missing(said).get(_bare(outcome.test_id), "")


def unexplained(
    failures: Sequence[TestResult], said: str, is_own_module: Callable[[str], bool]
) -> tuple[TestResult, ...]:
    """Return those of *failures* that neither a finding nor the environment explains: somebody should mend them."""
    suspicions = read_suspicions(said)
    return tuple(
        outcome
        for outcome in failures
        if not any(suspicion.shown_by(outcome.test_id) for suspicion in suspicions)
        and not why_environment(outcome, said, is_own_module)
    )


def _bare(test: str) -> str:
    name = function_of(test) if ".py::" in test else test.partition("[")[0]
    return name.rpartition("::")[2]
