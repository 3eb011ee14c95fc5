"""Every rule finds what its own examples say, and nothing in those that are clean."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rolecall_analysis import Snapshot
from rolecall_analysis.faults import QUERIES, find_faults
from rolecall_server.craft.code_review.rules import ReviewRule, review_rules


def examples(kind: str) -> Iterator[object]:
    for name, rule in review_rules().items():
        for number, example in enumerate(getattr(rule, kind), 1):
            yield pytest.param(rule, example.code, id=f"{name}-{number}")


def found_in(rule: ReviewRule, code: str) -> tuple[str, ...]:
    snapshot = Snapshot().with_changes({"m.py": code})
    return tuple(one.message for one in find_faults(snapshot, ["m.py"], (rule.query,)))


@pytest.mark.parametrize(("rule", "code"), [*examples("candidate")])
def test_an_example_of_the_fault_is_found(rule: ReviewRule, code: str) -> None:
    assert len(found_in(rule, code)) == 1


@pytest.mark.parametrize(("rule", "code"), [*examples("clean")])
def test_in_a_clean_example_nothing_is_found(rule: ReviewRule, code: str) -> None:
    assert found_in(rule, code) == ()


def test_each_query_has_one_rule() -> None:
    assert sorted(rule.query for rule in review_rules().values()) == sorted(QUERIES)
