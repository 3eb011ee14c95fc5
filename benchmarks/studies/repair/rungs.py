"""How many tokens each rung of `rolecall fix` sends, for failures that `localisation.py collect` kept; no model.

    PYTHONPATH=tests python benchmarks/studies/repair/rungs.py FOLDER PYTHON [--half looked|held] [--only ID,ID]

FOLDER is that of `localisation.py`; PYTHON runs the test whose values are told. The answers are scripted. In the first
course each attempt adds a comment to the next suspect, which mends nothing: the columns are the four requests of such a
course. The last column is the second request where the first answer asks to see the functions that the real fix
changed. Tokens are estimates; what lookups bring, and their descriptions, are not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
from collections.abc import Sequence
from pathlib import Path

import localisation
from localisation import Kept, half_of, read_kept, suspected_in
from rich.table import Table

from rolecall_analysis import Index, find_definition
from rolecall_server.cli.screen import wide_screen
from rolecall_server.craft.attempt import Attempt, Try
from rolecall_server.craft.repair.failure_text import ReportedFailure
from rolecall_server.craft.repair.localisation import Suspect
from rolecall_server.model import ChatMessage, estimate_tokens
from rolecall_server.settings import read_settings
from rolecall_server.store import open_store
from rolecall_server.team.repair.reproducing import Reproduction
from rolecall_server.team.repair.rungs import Climb, first_rung, next_rung
from rolecall_server.team.request import Desk, FailureToMend, Repository
from rolecall_server.team.roles.declarations import our_roles
from rolecall_server.team.run import open_bench
from rolecall_server.team.test_quality.trials import Trials
from rolecall_server.workspace import Workspace, split_lines
from support.scripted_model import ScriptedModel

N_ATTEMPTS = 4


def main() -> None:
    """Print a line for each fix, and the median and the most of all."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("python", type=Path)
    arguments.add_argument("--half", choices=["looked", "held"], default="")
    arguments.add_argument("--only", default="", help="ids, with commas")
    given = arguments.parse_args()
    table = Table("fix", *(f"request {n}" for n in range(1, N_ATTEMPTS + 1)), "in all", "what was asked for")
    rows: list[list[int]] = []
    for place in sorted(path.parent.absolute() for path in given.folder.glob("*/kept.pickle")):
        task = json.loads((place / "task.json").read_text("utf-8"))
        if (given.half and half_of(task["id"]) != given.half) or (given.only and task["id"] not in given.only):
            continue
        sizes = asyncio.run(sizes_of(place, task["functions"], given.python.absolute()))
        rows.append([*sizes[:N_ATTEMPTS], sum(sizes[:N_ATTEMPTS]), sizes[-1]])
        table.add_row(task["id"], *(f"{n:,}" for n in rows[-1]))
    columns = [*zip(*rows, strict=True)]
    for name, summed in (("median", statistics.median), ("most", max)):
        table.add_row(name, *(f"{summed(column):,.0f}" for column in columns))
    wide_screen().print(table)


async def sizes_of(place: Path, right: Sequence[str], python: Path) -> list[int]:
    """Return the tokens of each request of both courses for the failure that is kept at *place*."""
    kept = read_kept(place)
    settings, _ = read_settings({"tests": {"interpreter": str(python), "timeoutSeconds": localisation.TESTS_S}}, {})
    index, store = Index(place / "tree"), open_store(place / "store.sqlite")
    index.scan()
    environ = {"PATH": os.environ["PATH"], "XDG_DATA_HOME": str(place)}
    repository = Repository(Workspace(place / "tree"), index.snapshot(), store, settings, environ)
    async with open_bench(repository, lambda message, fraction: None) as bench:
        workspace, snapshot, model = repository.workspace, repository.snapshot, ScriptedModel([])
        lookups = our_roles()["engineer"].tools
        desk = Desk(workspace, snapshot, settings, model, bench, lambda *_: None, lookups=lookups)
        trials = Trials(desk, (), before=kept.run)
        suspects = suspected_in(kept, snapshot)
        found = Reproduction(trials, kept.failing, suspects, ReportedFailure())
        failure = FailureToMend(tuple(one.test_id for one in kept.failing))
        climb = Climb(found, failure)
        asked = [await first_rung(desk, climb)]
        start, tries = Attempt({}, kept.run, failures=kept.failing), list[Try]()
        for number in range(N_ATTEMPTS - 1):
            tries.append(wrong(desk, suspects[number % len(suspects)] if suspects else None, kept))
            asked.append((await next_rung(desk, climb, tries, start)).messages)
        climb = Climb(found, failure)
        await first_rung(desk, climb)
        told = Try("\n".join(f"No change: {one}" for one in right))
        asked.append((await next_rung(desk, climb, [told], start)).messages)
    index.close()
    store.close()
    return [tokens_of(messages) for messages in asked]


def wrong(desk: Desk, suspect: Suspect | None, kept: Kept) -> Try:
    """Return an attempt at *suspect* that changes nothing but a comment; nothing at all where there is none."""
    files: dict[str, str | None] = {}
    if suspect is not None and (definition := find_definition(desk.snapshot, suspect.path, suspect.name)) is not None:
        lines = split_lines(desk.snapshot.text(suspect.path) or "")
        lines.insert(definition.span.end.line, "# nothing\n")
        files[suspect.path] = "".join(lines)
    said = f"Hypothesis: {suspect.place if suspect else 'nothing'}: it gives the wrong value for the input of the test."
    return Try(said, Attempt(files, kept.run, failures=kept.failing))


def tokens_of(messages: Sequence[ChatMessage]) -> int:
    """Return the estimated tokens of a request."""
    return sum(estimate_tokens(message.text) for message in messages)


if __name__ == "__main__":
    main()
