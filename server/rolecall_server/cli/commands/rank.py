"""`rolecall rank`: the files or functions that some words are about; for programs, a line in and a line out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from rich.table import Table

from rolecall_analysis.retrieval.corpus import Corpus
from rolecall_analysis.retrieval.question import Query
from rolecall_analysis.retrieval.ranking import Ranked, rank
from rolecall_analysis.retrieval.serve import IndexCache, rank_request
from rolecall_server.cli.interrupts import STOPPED, end_like_ctrl_c
from rolecall_server.cli.reading import read_code
from rolecall_server.cli.screen import Screen, print_json, say, wide_screen
from rolecall_server.errors import BriefMissing, NotFound, RolecallError


def run_rank(arguments: argparse.Namespace) -> int:
    """Carry out `rolecall rank`; the exit code."""
    end_like_ctrl_c()
    messages = Screen(stderr=True)
    try:
        if arguments.serve:
            return answer_lines(sys.stdin, sys.stdout)
        _print(arguments, _ranked(arguments, messages))
    except RolecallError as error:
        say(messages, f"{error.code}: {error.what}", "bold red")
        say(messages, error.next_step)
        return 1
    except KeyboardInterrupt:
        say(messages, "Cancelled.")
        return STOPPED
    return 0


def answer_lines(questions: Iterable[str], answers: TextIO) -> int:
    """For each line ``{"repo_dir": ..., "query": {...}}`` a line with a JSON list, best first, until there is no more.

    A line that is no such question is answered with ``{"error": why}``; the exit code.
    """
    indexes = IndexCache()
    for line in questions:
        if line.strip():
            answers.write(json.dumps(_answer(indexes, line)) + "\n")
            # Who asks may wait for this answer before the next question.
            answers.flush()
    return 0


def _answer(indexes: IndexCache, line: str) -> list[str] | Mapping[str, str]:
    try:
        request = json.loads(line)
        if not isinstance(request["repo_dir"], str) or not isinstance(request["query"], dict):
            return {"error": "repo_dir is to be a string and query an object"}
        return rank_request(indexes, request)
    except (ValueError, KeyError, TypeError, OSError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _ranked(arguments: argparse.Namespace, messages: Screen) -> Sequence[Ranked]:
    if arguments.folder is None or not (arguments.words or arguments.seed):
        raise BriefMissing("It is not said what to look for.", "Name a folder and some words, or a --seed file.")
    code = read_code(arguments.folder, messages)
    seed = code.path_of(arguments.seed) if arguments.seed is not None else None
    if seed is not None and seed not in code.snapshot.files:
        raise NotFound(f"{arguments.seed} is no file the graph knows.", "Name a source file in the folder.")
    level = "function" if arguments.functions else "file"
    query = Query(arguments.words or "", seed=seed, level=level, limit=arguments.limit)
    return rank(Corpus(code.root), code.snapshot, query)


def _print(arguments: argparse.Namespace, found: Sequence[Ranked]) -> None:
    if arguments.json:
        body: list[dict[str, Any]] = [
            {"item": one.item, "score": round(one.score, 6), "reasons": one.reasons} for one in found
        ]
        print_json(body)
        return
    screen = wide_screen()
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", style="dim")
    table.add_column(overflow="fold", style="bold")
    table.add_column(overflow="fold", style="dim")
    for number, one in enumerate(found, start=1):
        table.add_row(str(number), one.item, "; ".join(one.reasons))
    screen.print(table)
    if not found:
        say(screen, "Nothing speaks for any file.")
