"""Facts as bytes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rolecall_analysis import Call, Definition, FileFacts, Import, Position, Problem, Reference, Snapshot, Span
from rolecall_analysis.facts.packed import mentioned_names, mentions, pack, unpack

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


def test_packed_facts_say_whether_they_mention_a_name() -> None:
    packed = pack(Snapshot().with_changes({"m.py": TEXT}).files["m.py"])
    assert all(mentions(packed, name) for name in ("Cart", "lines", "漢", "M", "Money"))
    assert not any(mentions(packed, name) for name in ("Car", "art", "", "A cart.", "cart"))


def span(*numbers: int) -> Span:
    """From line and column to line and column."""
    return Span(Position(*numbers[:2]), Position(*numbers[2:]))


def test_facts_that_were_made_without_source_can_be_packed() -> None:
    facts = FileFacts(
        "a.js",
        definitions=(
            Definition(
                "a.js", "a b", "C.a b", "method", "'a b'()", "é", (), ("B",), span(0, 9, 3, 1), span(1, 0, 1, 5), "C"
            ),
        ),
        imports=(Import("m", "x", None, 0, "", span(7, 0, 7, 20), span(7, 9, 7, 10)),),
        calls=(Call("f", span(2, 4, 2, 7), "C.a b"), Call("g", span(2, 6, 9, 300), "")),
        references=(
            Reference("no.place", "", ""),
            Reference("a.b", "C", "C", (1, 3, 2, 0, 5, 1, 5, 3)),
            Reference("c", "C", "C", (1, 7)),
        ),
        local_names=frozenset({("C", "x"), ("", "y")}),
        problems=(Problem("a.js", "Syntax error.", span(2, 0, 2, 9)), Problem("a.js", "Left out.")),
        exported=("x",),
    )
    packed = pack(facts)
    assert unpack("a.js", packed) == facts
    assert mentioned_names(packed) == facts.names


def test_facts_that_were_replaced_in_part_are_packed_as_they_are_now() -> None:
    facts = Snapshot().with_changes({"m.py": TEXT}).files["m.py"]
    problem = Problem("m.py", "The file is not in the encoding it declares.")
    changed = replace(unpack("m.py", pack(facts)), problems=(problem, *facts.problems))
    assert unpack("m.py", pack(changed)) == changed
    assert changed.problems[0] == problem


@pytest.mark.parametrize("nothing", [b"", b"\n\n", b"\n\nx", b"\na\n\n\x91", b"\x00" * 20])
def test_bytes_that_are_no_packed_facts_are_refused(nothing: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        unpack("m.py", nothing)
