"""The test files of a proposal in the making, as they lose what is not worth proposing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from rolecall_server.craft.test_quality.reported_calls import WHOLE
from rolecall_server.craft.test_quality.test_text import (
    WrittenTest,
    added_tests,
    function_of,
    without_rows,
    without_tests,
)
from rolecall_server.review.proposals.evidence import DroppedTest


@dataclass
class DraftTests:
    """Test files with the tests that are still in them."""

    files: dict[str, str | None]
    bases: Mapping[str, str | None]
    left_out: list[DroppedTest] = field(default_factory=list[DroppedTest])
    notes: list[str] = field(default_factory=list[str])

    def added(self) -> dict[str, WrittenTest]:
        """Return the new tests by ``path::name``."""
        return {
            f"{path}::{test.name}": test
            for path, text in self.files.items()
            for test in added_tests(text or "", self.bases[path])
        }

    def leave_out(self, reasons: Mapping[str, str]) -> None:
        """Take these tests out, named ``path::name``, each for a reason."""
        self.left_out += [DroppedTest(name, reason) for name, reason in reasons.items()]
        for path, text in list(self.files.items()):
            names = {name.removeprefix(f"{path}::") for name in reasons if name.startswith(f"{path}::")}
            if text is not None and names:
                self._put(path, without_tests(text, names, self.bases[path]))

    def leave_out_rows(self, name: str, rows: Collection[int], reason: str) -> None:
        """Take cases of a test out, or all of it where they are all it has or nobody knows which they are."""
        test = self.added()[name]
        path = name.removesuffix(f"::{test.name}")
        if not rows or WHOLE in rows or len(rows) >= len(test.rows):
            self.leave_out({name: reason})
            return
        n_rows = f"{len(rows)} of its {len(test.rows)} cases"
        self.left_out.append(DroppedTest(name, f"{reason} ({n_rows})"))
        self._put(path, without_rows(self.files[path] or "", {test.name: rows}))

    def _put(self, path: str, text: str) -> None:
        if text == self.bases[path] or not added_tests(text, self.bases[path]):
            del self.files[path]
        else:
            self.files[path] = text


def name_of(test_id: str) -> str:
    """``path::name`` of the test function; of a file that could not be read its path."""
    path, function = test_id.partition("::")[0], function_of(test_id)
    return f"{path}::{function}" if function else path
