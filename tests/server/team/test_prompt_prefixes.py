"""A conversation only grows, so that a provider reads again no more than it must."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rolecall_analysis import Index
from rolecall_server.craft.attempts import work_out
from rolecall_server.craft.trial import Bench
from rolecall_server.model import ChatMessage, estimate_tokens
from rolecall_server.sandbox import NotRun, TestResult, TestRun
from rolecall_server.settings import Settings
from rolecall_server.team.request import Desk, RoleName, RunRequest
from rolecall_server.team.roles import implement
from rolecall_server.workspace import Workspace
from support.edits import block
from support.scripted_model import ScriptedModel
from support.workspaces import FILES, write_workspace

PRICE = "shop/price.py"
BODY = "    return sum(items)\n"


def changed(before: str, after: str) -> str:
    return block(PRICE, f"    return {before}\n", f"    return {after}\n")


REPLIES = [
    block(PRICE, "    return nothing\n", "    return 0\n"),  # fits nowhere, and is asked for again
    changed("sum(items)", "sum(items, 1)"),
    changed("sum(items, 1)", "sum(items, 2)"),
    changed("sum(items, 2)", "sum(items, 3)"),
    changed("sum(items, 3)", "sum(items, 4)"),
]


async def still_fails(files: Mapping[str, str | None]) -> TestRun | NotRun:
    return TestRun("ran", outcomes=(TestResult("tests/test_price.py::test_total", "failed", 0, "assert 1 == 0"),))


def tokens(messages: tuple[ChatMessage, ...]) -> int:
    return sum(estimate_tokens(message.text) for message in messages)


async def test_of_five_calls_most_tokens_are_those_that_the_last_one_began_with(tmp_path: Path) -> None:
    assert BODY in FILES[PRICE]
    root = write_workspace(tmp_path / "work").resolve()
    index = Index(root)
    index.scan()
    off = NotRun("nothing is run")
    model = ScriptedModel(REPLIES)
    desk = Desk(Workspace(root), index.snapshot(), Settings(), model, Bench(off, off, 1.0), lambda *_: None)
    work, _ = await implement(RunRequest(RoleName.ENGINEER, PRICE, brief="Count from a start."), desk)
    await work_out(replace(work, try_out=still_fails), model, lambda *_: None)
    assert len(model.asked) == 5
    n_kept = 0
    for before, after in zip(model.asked, model.asked[1:], strict=False):
        assert after[: len(before)] == before
        n_kept += tokens(before)
    assert n_kept / sum(map(tokens, model.asked)) >= 0.6


async def test_two_runs_on_one_file_begin_alike_up_to_their_tasks(tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "work").resolve()
    index = Index(root)
    index.scan()
    off = NotRun("nothing is run")
    desk = Desk(Workspace(root), index.snapshot(), Settings(), None, Bench(off, off, 1.0), lambda *_: None)
    said = [
        (await implement(RunRequest(RoleName.ENGINEER, PRICE, brief=brief), desk))[0].opening
        for brief in ("Count from a start.", "Round up.")
    ]
    assert said[0][0] == said[1][0]
    first, second = (opening[1].text for opening in said)
    n_same = next(n for n, (one, other) in enumerate(zip(first, second, strict=False)) if one != other)
    assert first[:n_same].endswith("# Your task\n\n")
