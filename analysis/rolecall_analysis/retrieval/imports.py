"""Which files each file imports, remembered as long as nothing changes that could change the answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from rolecall_analysis.modules import ModuleTree
from rolecall_analysis.records import Record
from rolecall_analysis.resolve import Module, import_targets
from rolecall_analysis.snapshot import Snapshot
from rolecall_analysis.values import FileFacts


@dataclass
class ImportedFiles:
    """Which files each file imports, worked out once for each of its contents."""

    _known: dict[str, tuple[Record, ModuleTree, frozenset[str]]] = field(
        default_factory=dict[str, tuple[Record, ModuleTree, frozenset[str]]]
    )

    def by(self, snapshot: Snapshot, path: str) -> frozenset[str]:
        """The files that *path* imports, or takes a name of, whichever way the name comes."""
        record = snapshot.files.record(path)
        if record is None:
            return frozenset()
        known = self._known.get(path)
        if known is None or known[0] is not record or known[1] is not snapshot.modules:
            known = self._known[path] = (record, snapshot.modules, _imported(snapshot, snapshot.files[path]))
        return known[2]


def _imported(snapshot: Snapshot, facts: FileFacts) -> frozenset[str]:
    found: set[str | None] = set()
    for imported in facts.imports:
        for target in import_targets(snapshot, facts.path, imported):
            found.add(snapshot.modules.files.get(target.location) if isinstance(target, Module) else target.path)
    return frozenset(path for path in found if path is not None and path != facts.path)
