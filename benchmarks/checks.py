"""Measure the checks of a proposal: what its hunks need of each other, what they touch and what they break.

    python benchmarks/checks.py [FOLDER] [--rounds N]

FOLDER is Django where nothing is named, as `make bench` laid it out. Anchor and engine take turns in one process; each
line is the median of the rounds' ratios, of CPU time.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rolecall_analysis import Index, facts_of
from rolecall_server.review.checks.graph_checks import check_changes
from rolecall_server.review.checks.hunk_needs import link_hunks
from rolecall_server.review.checks.touched import touched_by
from rolecall_server.review.proposals.hunks import file_change, number_hunks
from rolecall_server.review.proposals.proposal import FileChange
from rolecall_server.workspace import TextFile

N_FILES = 50
N_HUNKS = 200
N_SMALL_CHANGES = 40
SEED = 5

_STATEMENT = re.compile(r"    +(self\.)?[a-z_]+ = [\w. ]+$")
"""Lines that can be replaced, or have others before them, and leave code that parses."""

Texts = Mapping[str, str]
Work = Callable[[], object]


def main() -> None:
    """Measure, and print a line for each measure."""
    arguments = argparse.ArgumentParser(description=__doc__)
    bench = Path(os.environ.get("ROLECALL_BENCH", "."))
    arguments.add_argument("folder", type=Path, nargs="?", default=bench / "libraries" / "django-5.2.19")
    arguments.add_argument("--rounds", type=int, default=7)
    given = arguments.parse_args()
    index = Index(given.folder)
    index.scan()
    snapshot = index.snapshot()
    texts = {path: snapshot.text(path) or "" for path in sorted(snapshot.files) if path.startswith("django/")}
    long_enough = [path for path, text in texts.items() if len(_places(text)) >= N_HUNKS // N_FILES]
    chosen = random.Random(SEED)
    base = {path: texts[path] for path in chosen.sample(long_enough, N_FILES)}
    proposed = {path: _edited(text, N_HUNKS // N_FILES, chosen) for path, text in base.items()}
    changes = _hunks(base, proposed)
    n_hunks = sum(len(change.hunks) for change in changes)
    print(f"{n_hunks} hunks in {len(changes)} files, {sum(text.count(chr(10)) for text in base.values()):,} lines")

    def parsing() -> None:
        for path, text in proposed.items():
            facts_of(path, text)

    _tell("symbols and needs", "facts of the new texts", parsing, lambda: link_hunks(changes, snapshot), given.rounds)
    _tell("the check", "facts of the new texts", parsing, lambda: check_changes(snapshot, proposed), given.rounds)
    some = {path: _edited(texts[path], 1, chosen) for path in chosen.sample(long_enough, N_SMALL_CHANGES)}
    _tell_times("check of one hunk", [lambda p=p, t=t: check_changes(snapshot, {p: t}) for p, t in some.items()])
    small = _hunks(texts, some)
    _tell_times("what one hunk touches", [lambda c=c: touched_by(snapshot, c, c.hunks[0]) for c in small])


def _hunks(base: Texts, proposed: Texts) -> tuple[FileChange, ...]:
    return number_hunks([file_change(path, TextFile(path, base[path]), text) for path, text in proposed.items()])


def _edited(text: str, n_places: int, chosen: random.Random) -> str:
    """*text* with lines changed, added and removed at some places, far apart."""
    lines = text.splitlines(True)
    for n, at in enumerate(sorted(chosen.sample(_places(text), n_places), reverse=True)):
        margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        added = f"{margin}changed_{n} = max({n}, len(__name__))\n"
        lines[at : at + 1] = chosen.choice(
            ([added, lines[at]], [added, added, lines[at]], [lines[at].replace("\n", "  # changed\n")])
        )
    return "".join(lines)


def _places(text: str) -> list[int]:
    """The lines that can be edited, no two near each other."""
    found: list[int] = []
    for number, line in enumerate(text.splitlines(True)):
        if _STATEMENT.match(line) and (not found or number > found[-1] + 3):
            found.append(number)
    return found


def _tell(what: str, anchor: str, run_anchor: Work, run_ours: Work, rounds: int) -> None:
    times = [(_cpu_ms(run_anchor), _cpu_ms(run_ours)) for _ in range(rounds)]
    ratio = statistics.median(ours / base for base, ours in times)
    base_ms, ours_ms = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"{what}: {ratio:.2f} x {anchor} ({ours_ms:.0f} ms against {base_ms:.0f} ms)")


def _tell_times(what: str, works: Sequence[Work]) -> None:
    times = sorted(map(_cpu_ms, works))
    print(f"{what}: median {statistics.median(times):.1f} ms, 95th percentile {times[len(times) * 95 // 100]:.1f} ms")


def _cpu_ms(work: Work) -> float:
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


if __name__ == "__main__":
    main()
