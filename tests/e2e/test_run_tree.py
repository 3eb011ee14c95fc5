"""A run as a tree, for a client that draws it: steps as they are taken, what they published, what they cost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rolecall_server.model import ChatMessage
from support.chat_server import ChatServer, Turn, fails, says
from support.editor import Editor, editing, rich_capabilities, until, value_of
from support.shop_team import BRIEF, shop_speeches
from support.team_model import who_is_asked
from support.workspaces import environment, write_workspace

EVERYBODY = ["product_manager", "architect", "project_manager", "engineer", "qa_engineer", "reviewer"]
SETTINGS: Mapping[str, Any] = {"tests": {"run": False}, "model": {"promptPrice": 2, "completionPrice": 10}}


def everybody(before: Callable[[str], None] = lambda who: None) -> Callable[[Mapping[str, Any]], Turn]:
    """What the shop's team says, once *before* has returned."""

    def answer(body: Mapping[str, Any]) -> Turn:
        who = who_is_asked([ChatMessage(one["role"], one["content"]) for one in body["messages"]])
        before(who)
        said = shop_speeches()[who]
        assert isinstance(said, str)
        return says(said, usage=(1000, 200))

    return answer


async def asked(editor: Editor, method: str, **params: object) -> Any:
    return await editor.client.protocol.send_request_async(method, params)


async def test_a_run_of_the_team_is_drawn_while_it_is_at_work_and_afterwards(tmp_path: Path) -> None:
    root, goes_on = write_workspace(tmp_path / "work"), threading.Event()

    def wait_for_the_architect(who: str) -> None:
        assert who != "Architect" or goes_on.wait(10)

    with ChatServer(everybody(wait_for_the_architect)) as chat:
        environ = environment(tmp_path / "home", chat.base_url)
        async with editing(root, environ, SETTINGS, rich_capabilities()) as editor:
            editor.open("shop/price.py")
            running = asyncio.create_task(editor.run("rolecall.run.start", brief=BRIEF, roles=EVERYBODY))
            await until(lambda: len(chat.requests) == 2)
            tree = await asked(editor, "rolecall/run/tree", runId="r1")
            assert (value_of(tree, "state"), value_of(tree, "endedAt")) == ("running", None)
            done, *others, working = value_of(tree, "steps")
            assert {value_of(one, "state") for one in others} <= {"done"}, [value_of(one, "title") for one in others]
            assert (value_of(done, "title"), value_of(done, "state"), value_of(done, "tokens")) == (
                "Product Manager",
                "done",
                1200,
            )
            assert value_of(value_of(done, "messages")[0], "kind") == "requirements"
            assert (value_of(working, "title"), value_of(working, "state")) == ("Architect", "working")
            assert [value_of(one, "state") for one in value_of(working, "calls")] == ["working"]
            assert (value_of(tree, "tokens"), value_of(tree, "setAside") > 0) == (1200, True)
            (at_work,) = value_of(await asked(editor, "rolecall/activity"), "runs")
            assert value_of(at_work, "tokens") == 1200, "what is set aside is not used"
            goes_on.set()
            await running
            tree = await asked(editor, "rolecall/run/tree", runId="r1")
            assert {value_of(step, "state") for step in value_of(tree, "steps")} == {"done"}
            subjects = {value_of(step, "subject") for step in value_of(tree, "steps")}
            assert {"S1/T1", "S1/T2"} <= subjects
            assert (value_of(tree, "tokens"), value_of(tree, "setAside")) == (7 * 1200, 0)
            assert round(value_of(tree, "cost"), 6) == 7 * 0.004
            assert value_of(tree, "proposals") == ["p1"]
            assert {"brief", "plan"} <= {value_of(one, "kind") for one in value_of(tree, "messages")}
            (listed,) = value_of(await asked(editor, "rolecall/run/list"), "runs")
            assert (value_of(listed, "about"), value_of(listed, "tokens")) == (BRIEF, 7 * 1200)
            sent = value_of(await editor.execute("rolecall.run.context", runId="r1"), "text")
    assert f"7 calls, {7 * 1200:,} tokens, for 0.0280." in sent
    assert "### Sent as user" in sent
    assert BRIEF in sent
    assert "### The reply" in sent
    assert "I add the argument." in sent
    assert "Nothing of the repository was packed" not in sent


async def test_what_failed_says_why_and_counts_nothing_that_never_came(tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "work")
    with ChatServer([fails(401)]) as chat:
        environ = environment(tmp_path / "home", chat.base_url)
        async with editing(root, environ, SETTINGS, rich_capabilities()) as editor:
            await editor.run("rolecall.brief.implement", uri=editor.open("shop/price.py"), brief="Round it.")
            tree = await asked(editor, "rolecall/run/tree", runId="r1")
            (step,) = value_of(tree, "steps")
            (call,) = value_of(step, "calls")
            assert (value_of(step, "state"), value_of(call, "state"), value_of(tree, "tokens")) == (
                "failed",
                "failed",
                0,
            )
            assert "key" in value_of(step, "error")
            sent = value_of(await editor.execute("rolecall.run.context", runId="r1"), "text")
    assert "1 call, 0 tokens. 1 without a reply" in sent


async def test_pausing_is_answered_at_once_and_again_from_here_takes_a_step_anew(tmp_path: Path) -> None:
    root, goes_on = write_workspace(tmp_path / "work"), threading.Event()

    asked_of: list[str] = []

    def wait_for_the_architect(who: str) -> None:
        asked_of.append(who)
        assert who != "Architect" or goes_on.wait(10)

    with ChatServer(everybody(wait_for_the_architect)) as chat:
        environ = environment(tmp_path / "home", chat.base_url)
        async with editing(root, environ, SETTINGS, rich_capabilities()) as editor:
            editor.open("shop/price.py")
            running = asyncio.create_task(editor.run("rolecall.run.start", brief=BRIEF, roles=EVERYBODY))
            await until(lambda: len(chat.requests) == 2)
            await editor.execute("rolecall.run.pause", runId="r1")
            await until(lambda: any("r1 will pause once" in one for one in editor.messages))
            assert value_of(await asked(editor, "rolecall/run/tree", runId="r1"), "state") == "pausing"
            goes_on.set()
            await running
            tree = await asked(editor, "rolecall/run/tree", runId="r1")
            assert value_of(tree, "state") == "paused"
            (design,) = [
                one
                for step in value_of(tree, "steps")
                for one in value_of(step, "messages")
                if value_of(one, "kind") == "design"
            ]
            await editor.run("rolecall.run.resume", runId="r1", again=value_of(design, "message"))
            await until(lambda: "Reviewer" in asked_of)
            while value_of(tree := await asked(editor, "rolecall/run/tree", runId="r1"), "state") == "running":
                await asyncio.sleep(0.05)
            architects = [one for one in value_of(tree, "steps") if value_of(one, "title") == "Architect"]
            assert [len(value_of(one, "calls")) for one in architects] == [2]
            assert value_of(tree, "state") == "finished"
