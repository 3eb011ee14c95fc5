"""The calls in Python code, found by following values: functions that are passed, returned, stored and called
elsewhere.

``call_graph`` tells of a whole workspace; ``callees_at`` and ``callers_of`` answer an editor, and read only what the
answer needs. Each edge is certain, when what the code does was followed from the definition to the call, or possible:
a type annotation, a guess by name, or a call that something other than a call expression makes.
"""

from __future__ import annotations

from rolecall_analysis.flow.answers.calls import CallEdge, edges_as_dotted
from rolecall_analysis.flow.answers.mentioning import EVERYWHERE, NEARBY, Reach
from rolecall_analysis.flow.answers.questions import call_graph, callees_at, callers_of
from rolecall_analysis.flow.rules import FlowRule

__all__ = [
    "EVERYWHERE",
    "NEARBY",
    "CallEdge",
    "FlowRule",
    "Reach",
    "call_graph",
    "callees_at",
    "callers_of",
    "edges_as_dotted",
]
