"""What a reviewer is told was checked."""

from __future__ import annotations

from pydantic import TypeAdapter

from rolecall_server.review.proposals.evidence import Evidence, GraphFinding, SourceLine, Tally, summarise
from rolecall_server.review.proposals.rendering import render_evidence

GONE = GraphFinding(
    "missing symbol",
    "price.py",
    5,
    "'total' is gone, and still used in one place.",
    (SourceLine("shop.py", 1, "from price import total"),),
)
PERHAPS = GraphFinding("name without meaning", "shop.py", 8, "Nothing gives self an attribute 'prise'.", certain=False)
EVIDENCE = Evidence(ran=True, after=Tally(3, 0), findings=(GONE, PERHAPS), model="a script")


def test_what_is_broken_is_told_with_its_places_and_what_may_be_is_told_apart() -> None:
    assert render_evidence(EVIDENCE)[1:4] == [
        "Breaks: price.py, line 6: 'total' is gone, and still used in one place.",
        "  shop.py, line 2: from price import total",
        "Look at: shop.py, line 9: Nothing gives self an attribute 'prise'.",
    ]


def test_the_summary_counts_what_is_certainly_broken() -> None:
    assert summarise(EVIDENCE) == "3 passed, 0 failed; breaks 1 thing in the code graph"


def test_findings_are_stored_and_evidence_from_before_there_were_any_is_read() -> None:
    as_json = TypeAdapter(Evidence)
    assert as_json.validate_json(as_json.dump_json(EVIDENCE)) == EVIDENCE
    assert as_json.validate_json('{"ran": true, "model": "m"}') == Evidence(ran=True, model="m")
