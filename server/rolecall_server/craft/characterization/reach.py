"""The calls that may tell a mutant from the module, the likeliest first."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from rolecall_server.craft.characterization.inputs.literals import looks_like_pattern
from rolecall_server.craft.characterization.inputs.related import related_nodes
from rolecall_server.craft.characterization.inputs.survey import CallTarget, Survey
from rolecall_server.craft.characterization.observation import CandidateCall, Observation
from rolecall_server.sandbox import Mutant

_SHORTEST_TEXT = 3


class CallReach:
    """The calls by the lines they run and by what they read."""

    def __init__(
        self,
        survey: Survey,
        targets: Sequence[CallTarget],
        import_lines: Collection[int],
        pool: Mapping[CandidateCall, Observation],
    ) -> None:
        self._import_lines = import_lines
        self._by_line: dict[int, list[CandidateCall]] = {}
        self._by_target: dict[str, list[CandidateCall]] = {}
        for call in sorted(pool, key=CandidateCall.cost):
            self._by_target.setdefault(call.target, []).append(call)
            for line in pool[call].lines:
                self._by_line.setdefault(line, []).append(call)
        self._texts = _texts_by_line(survey.tree)
        self._members: dict[str, list[str]] = {}
        for target in targets:
            if target.is_of_object:
                self._members.setdefault(target.owner, []).append(target.qualified_name)
        self._readers: dict[int, list[tuple[int, str]]] = {}
        for target in targets:
            for node, distance in related_nodes(survey, target).items():
                for line in _lines_of(node):
                    self._readers.setdefault(line, []).append((distance, target.qualified_name))

    def of(self, mutant: Mutant, limit: int) -> Sequence[CandidateCall]:
        """At most *limit* calls that run its line; for what runs at import, those that read what is made there.

        Those that share a text with the line come first, then the simplest.
        """
        reach = self._by_line.get(mutant.line) or self._by_line.get(mutant.statement)
        if reach is None and mutant.statement in self._import_lines:
            columns = [self._by_target[name] for name in self._nearest(mutant.statement) if name in self._by_target]
            rows = range(max(map(len, columns), default=0))
            reach = [column[row] for row in rows for column in columns if row < len(column)]
        if not reach:
            return ()
        texts = self._texts.get(mutant.line, ())
        return sorted(reach, key=lambda call: not _shares(call, texts))[:limit] if texts else reach[:limit]

    def _nearest(self, line: int) -> Iterable[str]:
        """Return the targets that lead to what is on *line* through the fewest names; all targets where none does."""
        readers = self._readers.get(line)
        if not readers:
            return self._by_target
        nearest = min(distance for distance, _ in readers)
        names = [name for distance, name in readers if distance == nearest]
        # What stands in the body of a class is read by its methods.
        return dict.fromkeys([*names, *(member for name in names for member in self._members.get(name, ()))])


def _texts_by_line(tree: ast.Module) -> dict[int, list[re.Pattern[str]]]:
    """Return a pattern for each string, by line: a string that is a pattern stands for what it matches, another for the
    texts that hold it.
    """
    found: dict[int, list[re.Pattern[str]]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) >= _SHORTEST_TEXT:
            text = node.value if looks_like_pattern(node.value) else re.escape(node.value)
            try:
                found.setdefault(node.lineno, []).append(re.compile(text, re.IGNORECASE))
            except (re.error, OverflowError):
                continue
    return found


def _shares(call: CandidateCall, texts: Sequence[re.Pattern[str]]) -> bool:
    return any(text.search(operand.strip("'\"")) for text in texts for operand in call.operands)


def _lines_of(node: ast.AST) -> range:
    return range(node.lineno, (node.end_lineno or 0) + 1) if isinstance(node, ast.stmt) else range(0)
