"""Lookups that run code: with the edits made so far, behind the walls of tests, and marked for what they show."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from rolecall_analysis import Index
from rolecall_server.context import PackSource
from rolecall_server.craft.attempt import AttemptWork
from rolecall_server.craft.attempts import work_out
from rolecall_server.craft.lookups import LookingUp, LookupSources, tools_for
from rolecall_server.craft.lookups.sources import MAX_ANSWER_TOKENS
from rolecall_server.craft.trial import Bench
from rolecall_server.model import ChatMessage, Reply, ToolCall, estimate_tokens, use_tools
from rolecall_server.sandbox import NotRun
from rolecall_server.settings import Settings
from rolecall_server.team.messages.edits import SharedBench
from rolecall_server.team.model_calls.budgeted import StoredCalls
from rolecall_server.team.model_stack import conversation, with_limits
from rolecall_server.team.request import Desk, Repository
from rolecall_server.team.run import open_bench
from rolecall_server.workspace import Workspace
from support.edits import block
from support.scripted_model import ScriptedModel
from support.stores import open_store
from support.workspaces import FILES, contents, environment, write_workspace

PRICE = "shop/price.py"
TESTS = "tests/test_price.py"
TWICE = FILES[PRICE].replace("return sum(items)", "return 2 * sum(items)")
RunnableSources = Callable[..., AbstractAsyncContextManager[LookupSources]]


def asking(tool: str, /, **arguments: object) -> Reply:
    """A reply in which the model asks a tool."""
    return Reply("", "m", None, None, (ToolCall(f"c-{tool}", tool, json.dumps(arguments)),))


async def ask(sources: LookupSources, tool: str, /, **arguments: object) -> str:
    """What the model is told when it asks a tool."""
    model = ScriptedModel([asking(tool, **arguments), "done"])
    talk = await use_tools(model, [ChatMessage("user", "go")], tools_for(sources))
    return talk.uses[0].result


@pytest.fixture
def runnable(tmp_path: Path) -> RunnableSources:
    """Makes sources of a small workspace whose tests can be run."""

    @asynccontextmanager
    async def sources(files: Mapping[str, str] | None = None, **settings: object) -> AsyncIterator[LookupSources]:
        root = write_workspace(tmp_path / "work", {**FILES, **(files or {})})
        index = Index(root)
        index.scan()
        workspace, snapshot = Workspace(root), index.snapshot()
        store = open_store(tmp_path / "rolecall.db")
        try:
            given = Settings.model_validate({"tests": settings})
            repository = Repository(workspace, snapshot, store, given, environment(tmp_path / "home"))
            async with open_bench(repository, lambda *_: None) as bench:
                yield LookupSources(PackSource(workspace, snapshot, estimate_tokens), bench)
        finally:
            store.close()

    return sources


async def test_a_snippet_shows_what_it_prints_and_what_its_last_expression_is_worth(runnable: RunnableSources) -> None:
    async with runnable() as sources:
        told = await ask(sources, "run_python", code="from shop.price import total\nprint('three:')\ntotal([1, 2])")
    assert told.splitlines() == [
        "What the code does today, which says nothing of what it should do.",
        "It ended with exit code 0; it printed:",
        "three:",
        "3",
    ]


async def test_a_snippet_and_a_test_run_with_the_edits_made_so_far(runnable: RunnableSources) -> None:
    async with runnable() as sources:
        drafted = replace(sources, draft={PRICE: TWICE, "shop/cart.py": None})
        told = await ask(drafted, "run_python", code="from shop.price import total; total([1, 2])")
        assert "today with your edits so far" in told
        assert told.splitlines()[-1] == "6"
        gone = await ask(drafted, "run_python", code="import shop.cart")
        assert "ModuleNotFoundError" in gone.splitlines()[-1]
        new = {TESTS: "from shop.price import total\n\n\ndef test_twice():\n    assert total([1]) == 2\n"}
        assert "1 passed, 0 failed" in await ask(replace(sources, draft={PRICE: TWICE, **new}), "run_test", path=TESTS)
        assert "0 passed, 1 failed" in await ask(replace(sources, draft=new), "run_test", path=TESTS)


async def test_a_role_of_the_team_tries_its_snippets_on_top_of_what_its_task_builds_on(
    runnable: RunnableSources,
) -> None:
    async with runnable() as sources:
        bench = sources.bench
        shared = SharedBench(bench.shadow, bench.interpreter, bench.timeout_s, below={PRICE: TWICE})
        told = await ask(replace(sources, bench=shared), "run_python", code="from shop.price import total; total([1])")
    assert told.splitlines()[-1] == "2"


@pytest.mark.parametrize(
    ("code", "last"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("total(", "SyntaxError: "),
        ("import socket\nsocket.create_connection(('192.0.2.1', 80), 2)", "OSError: "),
        ("import os\nos._exit(3)", "It ended with exit code 3; it printed nothing."),
        ("x = 1", "It ended with exit code 0; it printed nothing."),
    ],
)
async def test_how_a_snippet_fails_stands_last(runnable: RunnableSources, code: str, last: str) -> None:
    async with runnable() as sources:
        told = await ask(sources, "run_python", code=code)
    assert last.rstrip() in told.splitlines()[-1]
    assert "rolecall" not in told


async def test_a_snippet_may_define_what_needs_its_module(runnable: RunnableSources) -> None:
    code = "import dataclasses, pickle\n@dataclasses.dataclass\nclass A:\n    x: int\npickle.loads(pickle.dumps(A(1)))"
    async with runnable() as sources:
        assert (await ask(sources, "run_python", code=code)).splitlines()[-1] == "A(x=1)"


async def test_a_snippet_is_python_as_it_stands_without_what_our_own_files_import_from_the_future(
    runnable: RunnableSources,
) -> None:
    async with runnable() as sources:
        said = await ask(sources, "run_python", code="def f(x: int): ...\nf.__annotations__")
        assert "{'x': <class 'int'>}" in said


async def test_a_snippet_that_does_not_end_is_ended(runnable: RunnableSources) -> None:
    async with runnable(timeoutSeconds=2) as sources:
        told = await ask(sources, "run_python", code="while True: pass")
    assert "its time was over" in told


async def test_a_snippet_leaves_the_workspace_as_it_is(runnable: RunnableSources) -> None:
    async with runnable() as sources:
        root = sources.view.workspace.root
        before = contents(root)
        await ask(sources, "run_python", code=f"open({PRICE!r}, 'w').write('gone'); open('new.txt', 'w').write('new')")
        assert contents(root) == before
        assert "return sum(items)" in await ask(sources, "run_python", code=f"print(open({PRICE!r}).read())")


async def test_long_output_is_cut_in_the_middle(runnable: RunnableSources) -> None:
    async with runnable() as sources:
        told = await ask(sources, "run_python", code="for n in range(5000): print('line', n)\nraise SystemExit('end')")
    lines = told.splitlines()
    assert (lines[2], lines[-1]) == ("line 0", "end")
    assert any("lines left out" in line for line in lines)
    assert estimate_tokens(told) <= MAX_ANSWER_TOKENS + 100


async def test_what_is_kept_from_models_is_not_there_for_a_snippet(runnable: RunnableSources) -> None:
    private = {
        ".aiignore": "shop/keys.py\n/secrets/\n",
        ".gitignore": "secrets/\n",
        "shop/keys.py": "KEY = 'the-private-word'\n",
        "secrets/deep/a.txt": "the-private-word\n",
    }
    code = (
        "from pathlib import Path\n"
        "for path in Path().rglob('*'):\n"
        "    if path.is_file(): print(path, path.read_bytes())\n"
        "import shop.keys\n"
    )
    async with runnable(private) as sources:
        told = await ask(sources, "run_python", code=code)
    assert "Not there for it: what is kept from models." in told
    assert "shop/price.py" in told
    assert "the-private-word" not in told
    assert "No module named 'shop.keys'" in told


@pytest.mark.parametrize(
    ("settings", "offered"),
    [({}, ["run_test", "run_python"]), ({"confinement": "off"}, ["run_test"]), ({"run": False}, [])],
)
async def test_a_snippet_is_offered_only_where_tests_run_behind_walls(
    runnable: RunnableSources, settings: Mapping[str, object], offered: list[str]
) -> None:
    async with runnable(**settings) as sources:
        desk = desk_of(sources, lookups=("search", "run_test", "run_python"))
        client = conversation(replace(desk, client=ScriptedModel([]))).client
        assert isinstance(client, LookingUp)
        assert [tool.name for tool in client.tools] == ["search", *offered]
        if "run_python" not in offered:
            assert "Go on without." in await ask(sources, "run_python", code="print('it ran')")


def desk_of(sources: LookupSources, lookups: tuple[str, ...]) -> Desk:
    view = sources.view
    return Desk(view.workspace, view.snapshot, Settings(), None, sources.bench, lambda *_: None, lookups=lookups)


async def test_secrets_are_covered_in_what_a_snippet_prints(runnable: RunnableSources, tmp_path: Path) -> None:
    key = "ghp_" + "Ab3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5"
    model = ScriptedModel([asking("run_python", code="print(open('tests/settings.txt').read())"), "done"])
    store = open_store(tmp_path / "calls.db")
    try:
        run_id = store.add_run(tmp_path, "engineer", "", "")
        async with runnable({"tests/settings.txt": f"VALUE={key}\n"}) as sources:
            client = LookingUp(StoredCalls(model, store, run_id), tools_for(sources))
            await client.complete([ChatMessage("user", "go")])
    finally:
        store.close()
    assert "VALUE=REDACTED_GITHUB_TOKEN_1" in model.last_words[1]
    assert key not in "".join(message.text for message in model.asked[1])


async def test_in_the_loop_of_attempts_lookups_see_the_edits_made_so_far(runnable: RunnableSources) -> None:
    replies = [
        block(PRICE, "    return sum(items)\n", "    return 2 * sum(items)\n") + block("lost.py", "nothing\n", "x\n"),
        asking("run_python", code="from shop.price import total; total([1, 2])"),
        asking("read_lines", path=PRICE, first=6, last=6),
        asking("search", text="2 * sum"),
        asking("definition", name="total"),
        "I leave the other one.",
        "I leave it.",
    ]
    model = ScriptedModel(replies)

    async def try_out(files: Mapping[str, str | None]) -> NotRun:
        return NotRun("nothing is run")

    async with runnable() as sources:
        desk = desk_of(sources, lookups=("run_python", "read_lines", "search", "definition"))
        opening = (ChatMessage("user", "Do it."),)
        work = AttemptWork(opening, FILES.get, lambda path: None, try_out, lambda: None, "Mend it.", draft=desk.draft)
        await work_out(work, conversation(replace(desk, client=model)), lambda *_: None)
    ran, read, found, defined = model.last_words[2:6]
    assert "6\n" in ran
    assert read.startswith("6:     return 2 * sum(items)\n")
    assert "shop/price.py:6:     return 2 * sum(items)" in found
    assert "2 * sum(items)" in defined


def test_the_number_of_rounds_is_told_in_the_opening_where_there_is_anything_to_look_up(tmp_path: Path) -> None:
    off = NotRun("nothing is run")
    root = write_workspace(tmp_path)
    index = Index(root)
    index.scan()
    sources = LookupSources(PackSource(Workspace(root), index.snapshot(), estimate_tokens), Bench(off, off, 1.0))
    told = with_limits("You are X.\n", desk_of(sources, lookups=("search", "run_test")))
    assert "in at most 8 rounds and 24 calls" in told
    assert with_limits("You are X.\n", desk_of(sources, lookups=())) == "You are X.\n"
    assert with_limits("You are X.\n", desk_of(sources, lookups=("run_test",))) == "You are X.\n"
