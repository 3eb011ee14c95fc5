"""The surroundings of a definition or a module in the graph, near enough to be drawn."""

from rolecall_analysis.queries.surroundings.neighbours import GraphPlace
from rolecall_analysis.queries.surroundings.search import (
    Connection,
    SurroundingKind,
    Surroundings,
    is_for_tests,
    surroundings,
)

__all__ = ["Connection", "GraphPlace", "SurroundingKind", "Surroundings", "is_for_tests", "surroundings"]
