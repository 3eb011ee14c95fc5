"""Measure the wall time of a team's run beside its critical path, with a model of fixed latency.

Prints the ratio of wall time to the sum of the calls that have to follow each other: product manager, architect,
project manager, the slower of task and tests, reviewer. Nothing is run in the sandbox, so that only the order of the
work counts. ``python benchmarks/studies/team.py [LATENCY_S]``
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support.shop_team import BRIEF, shop_speeches
from support.team_model import TeamModel
from support.team_run import team_run

N_ON_PATH = 5


async def measure(latency_s: float) -> tuple[float, int]:
    """The seconds of a run, and how many calls it made."""
    model = TeamModel(shop_speeches(), latency_s)
    with tempfile.TemporaryDirectory() as folder:
        run = team_run(Path(folder), model).begin(BRIEF)
        start = time.perf_counter()
        ended = await run.go_on()
        took_s = time.perf_counter() - start
        run.store.close()
    assert ended.errors == (), ended
    return took_s, len(model.asked)


if __name__ == "__main__":
    latency_s = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    took_s, n_calls = asyncio.run(measure(latency_s))
    path_s = N_ON_PATH * latency_s
    print(f"{n_calls} calls of {latency_s:g} s: {took_s:.2f} s, critical path {path_s:g} s: {took_s / path_s:.3f}")
