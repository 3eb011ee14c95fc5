"""Count how often a role is shown the function that has to change, beside BM25's best files cut to 8,000 tokens.

    python packing.py EVALS REPOSITORIES [QUERIES.jsonl [REPOSITORIES.json]] [--only NAME] [--every N]
    python packing.py EVALS REPOSITORIES [TASKS.jsonl [REPOSITORIES.json]] --repairs [--part 0/2] [--each]

EVALS is the folder of the retrieval harness, whose queries are real commits: the message is the brief, the functions
that the commit changed are the truth, and both methods see the commit's parent only. REPOSITORIES holds the clones.

With ``--repairs`` the queries are fixes with their tests, the brief is the description of the fix, and what is
measured is the Engineer's first message: its tokens, the files of the fix of which all that was changed is there, and
whether the test file shown is the fix's own. ``--part 0/2`` takes every second task, ``--part 1/2`` the others.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from first_message import measure, tell

from rolecall_analysis import Index, Snapshot, definitions_in
from rolecall_analysis.retrieval import Corpus
from rolecall_server.context import Focus, PackSource, pack
from rolecall_server.model import estimate_tokens
from rolecall_server.settings import ModelSettings
from rolecall_server.workspace import Workspace, split_lines

BUDGET_TOKENS = 8_000
"""Of BM25's files: about what the pack takes of the room that it has with default settings."""
_RESAMPLES = 1_000

Shown = Mapping[str, list[tuple[int, int]]]
"""The runs of lines that are shown of each file: the first and the last, from 0."""


@dataclass(frozen=True)
class Outcome:
    """Of one query: whether any changed function was shown whole, and the share that was."""

    repository: str
    any_shown: bool
    share: float
    seconds: float


def main() -> None:
    """Run both methods over the queries and print how they differ."""
    arguments = _arguments()
    if arguments.repairs:
        tasks = arguments.queries or arguments.evals / "repair_dev.jsonl"
        table = arguments.table or arguments.evals / "repair_repos.json"
        part, _, parts = arguments.part.partition("/")
        results = measure(arguments.evals, arguments.clones, tasks, table, (int(part), int(parts)))
        tell(results, each=arguments.each)
        return
    sys.path.insert(0, str(arguments.evals))
    outcomes: dict[str, list[Outcome]] = {"pack": [], "BM25": []}
    for query, root, view, ranked in _cases(arguments):
        truth = _places(view.snapshot, query.functions)
        if not truth:
            continue
        methods: dict[str, Callable[[], Shown]] = {
            "pack": lambda view=view, query=query: _packed(view, query.message),
            "BM25": lambda root=root, ranked=ranked: _best_files(root, ranked()),
        }
        for name, show in methods.items():
            started = time.perf_counter()
            shown = show()
            held = [_holds(shown, *place) for place in truth]
            outcomes[name].append(Outcome(query.repo, any(held), sum(held) / len(held), time.perf_counter() - started))
    _print(outcomes)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evals", type=Path)
    parser.add_argument("clones", type=Path)
    parser.add_argument("queries", type=Path, nargs="?")
    parser.add_argument("table", type=Path, nargs="?")
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--repairs", action="store_true")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--each", action="store_true")
    return parser.parse_args()


def _cases(arguments: argparse.Namespace) -> Iterator[tuple[Any, Path, PackSource, Callable[[], list[str]]]]:
    """Each query with its folder, a view of it, and the files as BM25 ranks them."""
    repos, baselines, written = (import_module(name) for name in ("repos", "retrieval_baselines", "retrieval_queries"))

    queries = written.load_queries(arguments.queries or arguments.evals / "retrieval_dev.jsonl")
    table = written.load_repo_table(arguments.table or arguments.evals / "retrieval_repos.json")
    with tempfile.TemporaryDirectory(prefix="packing-") as work:
        for name in sorted({query.repo for query in queries if arguments.only in ("", query.repo)}):
            mine = sorted((q for q in queries if q.repo == name and q.functions), key=lambda q: q.date)
            source = repos.find_repository(arguments.clones, table[name].github)
            shared = source.common_ancestor([query.parent for query in mine])
            checkout = repos.PastOnlyCheckout(source, Path(work) / name, shared)
            memory = baselines.RepoMemory(table[name].is_source)
            corpus, index = Corpus(checkout.directory), Index(checkout.directory)
            for query in mine[:: arguments.every]:
                checkout.move_to(query.parent)
                index.scan()
                view = PackSource(Workspace(checkout.directory), index.snapshot(), estimate_tokens, corpus)
                blobs = {path: blob for path, blob in source.blobs(query.parent).items() if table[name].is_source(path)}
                case = baselines.RankingCase(
                    {"message": query.message, "mode": "msg"}, baselines.Snapshot(checkout, blobs, memory)
                )
                yield query, checkout.directory, view, lambda case=case: baselines.best_first(case.text)


def _places(snapshot: Snapshot, functions: list[str]) -> list[tuple[str, int, int]]:
    """The path and the lines of each of *functions* that the graph knows."""
    found: list[tuple[str, int, int]] = []
    for function in functions:
        path, _, name = function.partition("::")
        spans = [d.span for d in definitions_in(snapshot, path) if d.qualified_name == name and d.kind != "variable"]
        found += [(path, span.start.line, span.end.line) for span in spans[:1]]
    return found


def _packed(view: PackSource, message: str) -> Shown:
    shown: dict[str, list[tuple[int, int]]] = {}
    for item in pack(view, Focus("", brief=message), ModelSettings().context_tokens).items:
        shown.setdefault(item.path, []).extend((first - 1, last - 1) for first, last in item.lines)
    return shown


def _best_files(root: Path, ranked: list[str]) -> Shown:
    """The files from the first on, as far as they fit; the last one is cut."""
    shown: dict[str, list[tuple[int, int]]] = {}
    left = BUDGET_TOKENS
    for path in ranked:
        lines = split_lines((root / path).read_text(encoding="utf-8", errors="replace"))
        n_lines = 0
        while n_lines < len(lines) and (tokens := estimate_tokens(lines[n_lines])) <= left:
            left -= tokens
            n_lines += 1
        shown[path] = [(0, n_lines - 1)]
        if n_lines < len(lines):
            break
    return shown


def _holds(shown: Shown, path: str, first: int, last: int) -> bool:
    return any(start <= first and last <= end for start, end in shown.get(path, ()))


def _print(outcomes: Mapping[str, list[Outcome]]) -> None:
    for repository in ("", *sorted({one.repository for one in outcomes["pack"]})):
        for name, all_of_them in outcomes.items():
            mine = [one for one in all_of_them if repository in ("", one.repository)]
            hits, share = sum(one.any_shown for one in mine), statistics.fmean(one.share for one in mine)
            took = statistics.median(one.seconds for one in mine)
            label = repository or "all"
            print(f"{label:<8} {name:<5} any shown {hits}/{len(mine)}  share {share:.3f}  median {took:.2f} s")
    gains = [
        (ours.any_shown - theirs.any_shown, ours.share - theirs.share)
        for ours, theirs in zip(outcomes["pack"], outcomes["BM25"], strict=True)
    ]
    chance = random.Random(1)
    samples = [[chance.choice(gains) for _ in gains] for _ in range(_RESAMPLES)]
    for n, what in enumerate(("any shown", "share")):
        means = sorted(statistics.fmean(gain[n] for gain in sample) for sample in samples)
        low, high = means[len(means) // 40], means[-len(means) // 40]
        print(f"pack minus BM25, {what}: {statistics.fmean(g[n] for g in gains):+.3f} [{low:+.3f}, {high:+.3f}]")


if __name__ == "__main__":
    main()
