"""Facts as bytes."""

from __future__ import annotations

from rolecall_analysis import Snapshot
from rolecall_analysis.packed import mentioned_names, pack, unpack

TEXT = '''"""Prices."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from shop . money import Money as M
LIMIT: int = 3
class Cart(Base):
    """A cart."""
    def total(self, tax=rate()) -> M:
        return self.lines.sum() + é.漢(tax)
def broken(:
'''


def test_unpacked_facts_are_what_was_packed() -> None:
    facts = Snapshot().with_changes({"m.py": TEXT}).files["m.py"]
    assert facts.problems
    assert unpack("m.py", pack(facts)) == facts


def test_packed_facts_tell_their_identifiers() -> None:
    facts = Snapshot().with_changes({"m.py": TEXT}).files["m.py"]
    assert set(mentioned_names(pack(facts))) == facts.names


def test_packed_facts_can_be_those_of_a_file_that_moved() -> None:
    packed = pack(Snapshot().with_changes({"a.py": TEXT}).files["a.py"])
    assert unpack("b.py", packed) == Snapshot().with_changes({"b.py": TEXT}).files["b.py"]
