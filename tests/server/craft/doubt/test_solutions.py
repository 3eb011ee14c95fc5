"""Several solutions in one reply: each on the repository as it is, or left out."""

from __future__ import annotations

import ast

from rolecall_server.craft.doubt.solutions import ShortSolution, read_solutions
from support.edits import block

PATH = "shop/price.py"
TEXT = "def total(items):\n    return sum(items)\n"
ROUND = block(PATH, "    return sum(items)\n", "    return round(sum(items))\n")
TWICE = block(PATH, "    return sum(items)\n", "    return sum(items) * 2\n")


def read(reply: str, refusal: str | None = None) -> tuple[ShortSolution, ...]:
    return read_solutions(reply, {PATH: TEXT}.get, lambda path: refusal)


def test_each_solution_has_its_reading_and_starts_from_the_files_as_they_are() -> None:
    first, second = read(f"Here:\n\n## Solution 1: to whole numbers\n\n{ROUND}\n### **Solution 2** - doubled.\n{TWICE}")
    assert (first.reading, second.reading) == ("to whole numbers", "doubled")
    assert first.files == {PATH: TEXT.replace("sum(items)", "round(sum(items))")}
    assert second.files == {PATH: TEXT.replace("sum(items)", "sum(items) * 2")}


def test_a_solution_whose_edits_do_not_fit_or_do_not_parse_is_left_out() -> None:
    elsewhere = block(PATH, "    return max(items)\n", "    return 1\n")
    broken = block(PATH, "    return sum(items)\n", "    return (sum(items)\n")
    unchanged = block(PATH, "    return sum(items)\n", "    return sum(items)\n")
    heads = ["## Solution 1: a", elsewhere, "## Solution 2: b", broken, "## Solution 3: c", unchanged]
    assert read("\n".join(heads)) == ()


def test_a_solution_that_changes_what_may_not_be_changed_is_left_out() -> None:
    assert read(f"## Solution 1: a\n{ROUND}", refusal="it is guarded") == ()


def test_the_calls_that_a_solution_names_are_read_and_what_is_no_call_is_passed_over() -> None:
    (found,) = read(f"## Solution 1: rounded\nCall: total([0.5])\n**Call:** `total([])`\nCall: total(\n\n{ROUND}")
    assert [ast.unparse(call) for call in found.calls] == ["total([0.5])", "total([])"]
    (found,) = read(f"## Solution 1: rounded\nCall: 1 + 1\n\n{ROUND}\nCall: total([1])")
    assert found.calls == ()


def test_a_fourth_solution_is_not_looked_at() -> None:
    assert len(read("\n".join(f"## Solution {number}: a\n{ROUND}" for number in range(1, 6)))) == 3


def test_a_reply_without_a_solution_has_none() -> None:
    assert read("The brief is clear.") == ()
    assert read(ROUND) == ()
