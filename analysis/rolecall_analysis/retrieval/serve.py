"""Answering many requests about folders whose contents change between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolecall_analysis.indexing.index import Index
from rolecall_analysis.retrieval.corpus import Corpus
from rolecall_analysis.retrieval.question import Query
from rolecall_analysis.retrieval.ranking import rank
from rolecall_analysis.snapshot import Snapshot

MAX_ANSWERS = 200


@dataclass(frozen=True, slots=True)
class _Folder:
    corpus: Corpus
    index: Index


class IndexCache:
    """The folders that were asked about, each indexed once and then kept up."""

    def __init__(self) -> None:
        self._folders: dict[Path, _Folder] = {}

    def current(self, root: Path) -> tuple[Corpus, Snapshot]:
        """Scan *root* and return its words and its graph as they are on disk now."""
        folder = self._folders.get(root)
        if folder is None:
            folder = self._folders[root] = _Folder(Corpus(root), Index(root))
        folder.index.scan()
        return folder.corpus, folder.index.snapshot()


def rank_request(indexes: IndexCache, request: Mapping[str, Any]) -> list[str]:
    """Return the answer to ``{"repo_dir": ..., "query": {...}}``: paths, or ``path::qualified.name``, best first.

    Of the query, ``message``, ``seed``, ``candidates``, ``level`` and ``limit`` are read; all may be absent.
    """
    corpus, snapshot = indexes.current(Path(request["repo_dir"]))
    asked: Mapping[str, Any] = request["query"]
    query = Query(
        text=asked.get("message") or "",
        seed=asked.get("seed"),
        level="function" if asked.get("level") == "function" else "file",
        candidates=asked.get("candidates"),
        limit=asked.get("limit") or MAX_ANSWERS,
    )
    return [ranked.item for ranked in rank(corpus, snapshot, query)]
