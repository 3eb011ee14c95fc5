"""What a model was told and what it used: in an editor of any kind, and on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from support.chat_server import ChatServer, Script, calls_tools, says
from support.editor import capabilities, editing, rich_capabilities, until, value_of
from support.edits import block
from support.frames import connected
from support.patience import PATIENCE_S
from support.terminal import in_terminal
from support.workspaces import environment, write_workspace

ROLECALL = (sys.executable, "-I", "-m", "rolecall_server")
SECRET = "ghp_" + "a1B2" * 9
EDIT = block("shop/price.py", "    return sum(items)\n", "    return sum(items) * 2\n")
ANSWER = says(EDIT, usage=(1000, 200))
PRICED = {"model": {"promptPrice": 2, "completionPrice": 10}, "tests": {"run": False}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = write_workspace(tmp_path / "work")
    (root / ".aiignore").write_text("shop/cart.py\n")
    (root / "shop" / "price.py").write_text((root / "shop" / "price.py").read_text() + f'\nTOKEN = "{SECRET}"\n')
    return root


async def test_an_editor_that_reads_documents_from_us_opens_what_was_sent(root: Path) -> None:
    with ChatServer([ANSWER]) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        async with editing(root, environ, PRICED, rich_capabilities()) as editor:
            await editor.run("rolecall.brief.implement", uri=editor.open("shop/price.py"), brief="Double it.")
            reply = await editor.execute("rolecall.run.context", proposalId="p1")
            await until(lambda: editor.client.shown_documents)
            (shown,) = editor.client.shown_documents
            assert shown.uri == "rolecall-run:/r1/sent.md"
            page = await editor.client.workspace_text_document_content_async(types.TextDocumentContentParams(shown.uri))
    assert page.text == value_of(reply, "text")
    assert "| shop/price.py | file |" in page.text
    assert "| .aiignore keeps shop/cart.py from any model. |" in page.text
    assert "1 secret was replaced by a name before it was sent: 1 GITHUB_TOKEN." in page.text
    assert "The endpoint counted 1,000 tokens and 200 of its reply, for 0.0040." in page.text
    assert SECRET not in page.text


async def test_any_other_editor_gets_a_file_and_a_code_action_leads_there(root: Path) -> None:
    with ChatServer([ANSWER]) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        async with editing(root, environ, PRICED, capabilities()) as editor:
            await editor.run("rolecall.brief.implement", uri=editor.open("shop/price.py"), brief="Double it.")
            actions = await editor.actions("shop/price.py", 5)
            await editor.choose(actions["Rolecall: what was the model told for p1?"])
            await until(lambda: any("what was sent is in" in message for message in editor.messages))
            (told,) = (message for message in editor.messages if "what was sent is in" in message)
    assert "# What was sent in r1" in Path(told.rpartition(" is in ")[2]).read_text()


async def test_a_run_of_another_folder_is_not_shown(root: Path) -> None:
    with ChatServer([ANSWER]) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        async with editing(root, environ, PRICED) as editor:
            await editor.run("rolecall.brief.implement", uri=editor.open("shop/price.py"), brief="Double it.")
        other = write_workspace(root.parent / "other")
        async with editing(other, environ, PRICED) as editor:
            reply = await editor.execute("rolecall.run.context", runId="r1")
    assert value_of(reply, "error") == "NotFound"


async def test_a_client_may_ask_what_was_used_today(root: Path) -> None:
    with ChatServer([ANSWER]) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        async with editing(root, environ, PRICED) as editor:
            await editor.run("rolecall.brief.implement", uri=editor.open("shop/price.py"), brief="Double it.")
        async with connected(root, environ) as client:
            await client.initialize(initializationOptions={"budget": {"tokensPerDay": 5000}})
            reply = await client.request("rolecall/usage", {})
    used = reply["result"]
    assert used["text"] == "1,200 tokens today, for 0.0040"
    assert used["day"] == {"calls": 1, "tokens": 1200, "cost": 0.004}
    assert (used["runs"], used["limits"]["tokensPerDay"]) == ([], 5000)


async def test_what_is_selected_and_what_other_tools_say_goes_along_with_a_code_action(root: Path) -> None:
    with ChatServer([ANSWER]) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        async with editing(root, environ, PRICED) as editor:
            editor.open("shop/price.py")
            where = types.Range(types.Position(4, 0), types.Position(6, 4))
            said = types.Diagnostic(where, "items may be None", source="a checker")
            actions = await editor.actions("shop/price.py", where=where, said=[said])
            action = actions["Rolecall: implement…"]
            assert action.command is not None
            assert action.command.arguments
            arguments: Any = action.command.arguments[0]
            await editor.run("rolecall.brief.implement", **{**arguments, "brief": "Double it."})
        told = chat.asked[0]["messages"][1]["content"]
    assert "line 5: items may be None (a checker)" in told
    assert "The developer had selected lines 5 to 7 of shop/price.py." in told


def rolecall(root: Path, script: Script, *arguments: str) -> subprocess.CompletedProcess[str]:
    with ChatServer(script) as chat:
        ended = subprocess.run(
            [*ROLECALL, *arguments],
            cwd=root,
            env=environment(root.parent / "home", chat.base_url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended


SETTINGS = ("--set", "tests.run=false", "--set", "model.promptPrice=2", "--set", "model.completionPrice=10")
IMPLEMENT = ("implement", "Double it.", "--in", "shop/price.py", *SETTINGS)


def test_the_command_line_shows_what_was_sent_and_what_was_used(root: Path) -> None:
    assert rolecall(root, [ANSWER], *IMPLEMENT).returncode == 0
    page = rolecall(root, [], "log", "r1", "--sent").stdout
    assert "| shop/price.py | file |" in page
    assert rolecall(root, [], "log", "--sent").stdout == page, "the latest run where none is named"
    (call,) = json.loads(rolecall(root, [], "log", "p1", "--sent", "--json").stdout)["calls"]
    assert (call["promptTokens"], call["covered"]) == (1000, {"GITHUB_TOKEN": 1})
    table = rolecall(root, [], "usage", "--by", "role,run").stdout
    assert [line.split() for line in table.splitlines()[1:]] == [
        ["Engineer", "r1", "1", "1,000", "200", "0", "1,200", "0.0040"],
        ["all", "1", "1,000", "200", "0", "1,200", "0.0040"],
    ]
    told = json.loads(rolecall(root, [], "usage", "--json", "--days", "1").stdout)
    assert told["total"]["tokens"] == sum(row["tokens"] for row in told["rows"]) == 1200
    assert rolecall(root, [], "usage", "--by", "weekday").returncode == 1


def test_a_model_looks_things_up_before_it_answers_and_that_is_shown_too(root: Path) -> None:
    lookups = calls_tools(("search", '{"text": "checkout"}'), ("read_lines", '{"path": "shop/price.py", "last": 2}'))
    ended = rolecall(root, [lookups, ANSWER], *IMPLEMENT)
    assert ended.returncode == 0, ended.stderr
    page = rolecall(root, [], "log", "r1", "--sent").stdout
    assert "It goes on from call 1;" in page
    assert "No file holds 'checkout'." in page, "the one that does is kept from models"
    assert '1: """Prices."""' in page


def test_a_model_may_have_a_test_run_which_runs_behind_walls_and_without_its_edits(root: Path) -> None:
    lookup = calls_tools(
        ("run_test", '{"path": "tests/test_price.py", "name": "test_total_of_nothing"}'),
        ("documentation", '{"name": "json.dumps"}'),
    )
    ended = rolecall(root, [lookup, ANSWER], "implement", "Double it.", "--in", "shop/price.py")
    assert ended.returncode == 0, ended.stderr
    page = rolecall(root, [], "log", "r1", "--sent").stdout
    assert "1 passed, 0 failed, 0 skipped" in page, page
    assert "json: def dumps(obj" in page


CORRECTED = [says("I forgot the edit.", usage=(1000, 200)), ANSWER]


@pytest.mark.parametrize(("typed", "proposed"), [("y\n", True), ("n\n", False)])
def test_at_a_limit_the_developer_at_the_terminal_is_asked(root: Path, typed: str, proposed: bool) -> None:
    command = [*ROLECALL, *IMPLEMENT, "--yes", "--untested", "--set", "budget.callsPerRun=1"]
    with (
        ChatServer(CORRECTED) as chat,
        in_terminal(command, root, environment(root.parent / "home", chat.base_url), columns=200) as terminal,
    ):
        assert "The run has used 1,200 tokens in 1 call for 0.0040" in terminal.wait_for("Go on? [y,n,?]")
        terminal.type(typed)
        assert (terminal.wait_for_end() == 0) == proposed
    assert ("* 2" in (root / "shop" / "price.py").read_text()) == proposed


def test_without_a_terminal_a_limit_ends_the_run_and_what_there_was_is_kept(root: Path) -> None:
    again = [ANSWER, says("An edit that fits nowhere.", usage=(1000, 200))]
    broken = [says(EDIT.replace("* 2", "* ("), usage=(1000, 200)), *again]
    ended = rolecall(root, broken, *IMPLEMENT, "--set", "budget.callsPerRun=1")
    assert ended.returncode == 1
    assert "BudgetSpent: cut short; this is the best of what there was." in ended.stderr
    assert "r1" in rolecall(root, [], "log").stdout
    assert "p1" in rolecall(root, [], "review").stdout
