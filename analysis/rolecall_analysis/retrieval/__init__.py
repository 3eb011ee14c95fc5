"""The files and functions that a text is about, best first, and as much of them as a budget allows."""

from rolecall_analysis.retrieval.alike import PastChange, changes_alike
from rolecall_analysis.retrieval.corpus import Corpus
from rolecall_analysis.retrieval.pack import PackedItem, Zoom, pack
from rolecall_analysis.retrieval.question import Level, Query
from rolecall_analysis.retrieval.ranking import Ranked, rank
from rolecall_analysis.retrieval.serve import IndexCache, rank_request

__all__ = [
    "Corpus",
    "IndexCache",
    "Level",
    "PackedItem",
    "PastChange",
    "Query",
    "Ranked",
    "Zoom",
    "changes_alike",
    "pack",
    "rank",
    "rank_request",
]
