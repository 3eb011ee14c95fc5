"""The base protocol over stdio, frame by frame: what the specification asks for and editors rely on."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from lsprotocol.types import CodeAction
from pygls.protocol.json_rpc import JsonRPCRequestMessage

from rolecall_server.lsp.protocol import MAX_BODY_BYTES, make_converter
from support.chat_server import ChatServer, hangs
from support.edits import block
from support.frames import SERVER, FrameClient, connected
from support.stores import open_store
from support.workspaces import FILES, environment, write_workspace

ADD_NOTHING = block("shop/price.py", "    return sum(items)\n", "    return sum(items, 0)\n")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "protocol.md"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path / "home")


def folders(*roots: Path) -> list[dict[str, str]]:
    return [{"uri": root.as_uri(), "name": root.name} for root in roots]


async def open_document(client: FrameClient, uri: str, text: str) -> None:
    item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    await client.notify("textDocument/didOpen", {"textDocument": item})


async def change(client: FrameClient, uri: str, *changes: object, version: int = 2) -> None:
    params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)}
    await client.notify("textDocument/didChange", params)


async def titles(client: FrameClient, uri: str, line: int = 0, character: int = 0) -> list[str]:
    """The titles of the code actions at a place."""
    place = {"line": line, "character": character}
    params = {"textDocument": {"uri": uri}, "range": {"start": place, "end": place}, "context": {"diagnostics": []}}
    reply = await client.request("textDocument/codeAction", params)
    assert "result" in reply, reply
    return [action["title"] for action in reply["result"]]


def rows(heading: str) -> dict[str, str]:
    """The table under a heading of the protocol's page: the first column without its ticks, and the second."""
    section = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    cells = [line.split("|") for line in section.splitlines() if line.startswith("| `")]
    return {row[1].strip(" `"): row[2].strip() for row in cells}


async def test_the_server_announces_what_the_page_says(root: Path, environ: dict[str, str]) -> None:
    async with connected(root, environ) as client:
        result = await client.initialize(capabilities=RICH)
        announced = result["capabilities"]
    documented = rows("What the server announces")
    workspace = {f"workspace.{name}" for name, value in announced.pop("workspace").items() if value}
    assert {*announced, *workspace} == documented.keys()
    assert announced["executeCommandProvider"]["commands"] == list(rows("Commands"))
    kinds = re.findall(r"`(\w+)`", documented["codeActionProvider"])
    assert announced["codeActionProvider"]["codeActionKinds"] == kinds
    assert announced["textDocumentSync"]["openClose"] is True
    assert announced["textDocumentSync"]["save"] is True
    assert announced["codeActionProvider"]["resolveProvider"] is True
    assert announced["textDocumentSync"]["change"] == 2, "incremental"
    assert result["serverInfo"]["name"] == "rolecall"


@pytest.mark.parametrize(
    "offered", [["utf-16", "utf-8", "utf-32"], ["utf-16", "utf-8"], ["utf-8"], ["utf-7"], [], None]
)
async def test_the_position_encoding_is_the_first_of_the_page_that_the_client_offers(
    root: Path, environ: dict[str, str], offered: list[str] | None
) -> None:
    preferred = re.findall(r"`(utf-\d+)`", rows("What the server announces")["positionEncoding"])[:3]
    wanted = next((encoding for encoding in preferred if encoding in (offered or ())), "utf-16")
    units = {"utf-8": 4, "utf-16": 2, "utf-32": 1}[wanted]
    async with connected(root, environ) as client:
        general = {} if offered is None else {"general": {"positionEncodings": offered}}
        result = await client.initialize(capabilities=general, workspaceFolders=folders(root))
        assert result["capabilities"]["positionEncoding"] == wanted
        uri = (root / "shop" / "odd.py").as_uri()
        await open_document(client, uri, "x = 1  # 𝄞ROLECALL:𝄞\n")
        start, end = ({"line": 0, "character": 9 + at} for at in (0, units))
        await change(client, uri, {"range": {"start": start, "end": end}, "text": " "})
        end_of_line = {"line": 0, "character": 9 + 1 + len("ROLECALL:")}
        await change(client, uri, {"range": {"start": end_of_line, "end": end_of_line}, "text": " play "}, version=3)
        assert "Rolecall: implement “play 𝄞”" in await titles(client, uri)


async def test_requests_out_of_turn_get_the_codes_of_the_specification(root: Path, environ: dict[str, str]) -> None:
    async with connected(root, environ) as client:
        early = await client.request("textDocument/codeAction", {})
        assert early["error"]["code"] in (-32002, -32602)
        early = await client.request("shutdown")
        assert early["error"]["code"] == -32002
        await client.notify("textDocument/didOpen", {"textDocument": {}})
        await client.initialize()
        again = await client.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        assert again["error"]["code"] == -32600
        unknown = await client.request("textDocument/fortuneTelling", {"of": "mine"})
        assert unknown["error"]["code"] == -32601
        assert (await client.request("shutdown"))["result"] is None
        late = await client.request("workspace/executeCommand", {"command": "rolecall.run.cancel"})
        assert late["error"]["code"] == -32600
        assert (await client.request("shutdown"))["error"]["code"] == -32600
        await client.notify("exit")
        assert await client.exit_code() == 0


MISSHAPEN: list[tuple[str, object]] = [
    ("textDocument/codeAction", None),
    ("textDocument/codeAction", {"textDocument": {"uri": 5}, "range": "all"}),
    ("textDocument/codeAction", [1, 2]),
    ("workspace/executeCommand", {"command": ["rolecall.run.cancel"], "arguments": 5}),
    ("workspace/executeCommand", {"arguments": []}),
    ("workspace/executeCommand", {"command": "rolecall.no.such.command"}),
]


async def test_parameters_of_the_wrong_shape_are_refused_under_the_right_id(
    root: Path, environ: dict[str, str]
) -> None:
    async with connected(root, environ) as client:
        refused = await client.request("initialize", {"capabilities": 5}, request_id="the first")
        assert refused["error"]["code"] == -32602
        await client.initialize()
        for number, (method, params) in enumerate(MISSHAPEN):
            reply = await client.request(method, params, request_id=f"ünusual id {number}")
            assert reply["error"]["code"] == -32602, (method, params)
        assert (await client.request("shutdown"))["result"] is None


async def test_no_error_reply_tells_of_paths_or_tracebacks(root: Path, environ: dict[str, str]) -> None:
    broken = (root / "gone").as_uri()
    async with connected(root, environ, command=server_with(FAILING_HANDLER)) as client:
        await client.initialize(workspaceFolders=folders(root))
        await client.request(
            "textDocument/moniker", {"textDocument": {"uri": broken}, "position": {"line": 0, "character": 0}}
        )
        await client.request("textDocument/codeAction", {"textDocument": {"uri": broken}})
        await client.request("workspace/executeCommand", {"command": "test.fail"})
        await client.request("rolecall/nothing", {"uri": broken})
        replies = [message["error"] for message in client.received if "error" in message]
        assert [error["code"] for error in replies] == [-32601, -32602, -32603, -32601]
        for error in replies:
            assert "data" not in error
            assert "Traceback" not in error["message"]
            assert "/" not in error["message"].replace("textDocument/moniker", "").replace("rolecall/nothing", "")


@pytest.mark.parametrize(("says_goodbye", "code"), [(True, 0), (False, 1)])
async def test_exit_ends_with_0_after_shutdown_and_with_1_without(
    root: Path, environ: dict[str, str], says_goodbye: bool, code: int
) -> None:
    async with connected(root, environ) as client:
        await client.initialize()
        if says_goodbye:
            await client.request("shutdown")
        await client.notify("exit")
        assert await client.exit_code() == code


async def test_the_server_goes_when_its_input_is_closed_even_in_the_middle_of_a_run(
    root: Path, environ: dict[str, str]
) -> None:
    with ChatServer(hangs()) as chat:
        async with connected(root, environment(root.parent / "home", chat.base_url)) as client:
            await client.initialize(workspaceFolders=folders(root))
            await start_tests(client, root)
            await asyncio.to_thread(chat.wait_until_asked)
            client.close_input()
            assert await client.exit_code() == 1


async def test_the_server_goes_when_the_editor_is_gone_though_its_input_stays_open(
    root: Path, environ: dict[str, str]
) -> None:
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    async with connected(root, environ) as client:
        await client.initialize(processId=parent.pid)
        assert await titles(client, "untitled:Untitled-1") == []
        parent.communicate(b"\n")
        assert await client.exit_code() == 1


async def test_an_editor_that_ended_and_was_not_waited_for_is_gone_too(root: Path, environ: dict[str, str]) -> None:
    parent = subprocess.Popen([sys.executable, "-c", ""])
    async with connected(root, environ) as client:
        await client.initialize(processId=parent.pid)
        assert await client.exit_code() == 1
    parent.wait()


@pytest.mark.parametrize(
    "frame",
    [
        b"Content-Length: many\r\n\r\n{}",
        b"Content-Length: -5\r\n\r\n{}",
        b"Content-Length: 2\n\n{}",
        b"\x00\xff\xfe garbage\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b'{"jsonrpc": "2.0", "method": "exit"}\r\n\r\n',
    ],
)
async def test_a_broken_header_ends_the_server_because_nothing_after_it_can_be_read(
    root: Path, environ: dict[str, str], frame: bytes
) -> None:
    async with connected(root, environ) as client:
        await client.initialize()
        await client.send_bytes(frame)
        assert await client.exit_code() == 2
        assert "header" in await client.log()


MALFORMED = [
    b"{",
    b"\xff\xfe",
    b"[]",
    b"5",
    b"null",
    b"{}",
    b'{"jsonrpc": "1.0", "id": 1, "method": "shutdown"}',
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "2.0", "id": [1], "method": "shutdown"}',
    b'{"jsonrpc": "2.0", "id": null, "method": "unknown/method"}',
    b'{"jsonrpc": "2.0", "id": {"a": 1}, "result": null}',
    b'{"jsonrpc": "2.0", "id": "never asked", "result": 5}',
    b'{"jsonrpc": "2.0", "id": "never asked", "error": {"code": 1, "message": "no"}}',
    b'{"jsonrpc": "2.0", "id": "never asked", "error": "no"}',
    b'{"jsonrpc": "2.0", "method": {"not": "a text"}}',
    b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": 5}',
    b"[" * 100_000,
]


async def test_a_malformed_body_leaves_the_server_alive(root: Path, environ: dict[str, str]) -> None:
    async with connected(root, environ) as client:
        await client.initialize(workspaceFolders=folders(root))
        for body in MALFORMED:
            await client.send_body(body)
            assert await titles(client, (root / "shop" / "price.py").as_uri()), body
        assert client.told() == [], "the developer can do nothing about it"


async def test_a_method_that_is_no_text_is_an_invalid_request(root: Path, environ: dict[str, str]) -> None:
    async with connected(root, environ) as client:
        await client.initialize()
        await client.send({"jsonrpc": "2.0", "id": 77, "method": ["shutdown"]})
        assert (await client.reply_to(77))["error"]["code"] == -32600


async def test_a_message_within_the_parameters_of_another_is_not_answered(root: Path, environ: dict[str, str]) -> None:
    within = {"jsonrpc": "2.0", "id": 4711, "method": "textDocument/hover", "params": 5}
    async with connected(root, environ) as client:
        await client.initialize()
        reply = await client.request("rolecall/messages", {"runId": within})
        assert reply["error"]["code"] == -32602
        assert "result" in await client.request("rolecall/status", [within])
        assert not [message for message in client.received if message.get("id") == 4711]


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc": "2.0", "id": 77, "method": "rolecall/status", "params": %s}' % (b"[" * 10**5 + b"]" * 10**5),
        b'{"params": {"id": 1, "method": %s}, "method": "shutdown", "jsonrpc": "2.0", "id": 77}'
        % (b"[" * 10**5 + b"]" * 10**5),
        b'{"jsonrpc": "2.0", "id": 77, "method": "rolecall/status", "params": {"deep": ' + b"[" * 10**5,
        b'{"jsonrpc": "2.0", "id": 77, "method": "rolecall/status", "params": %s}' % (b"9" * 5_000),
        b'{"jsonrpc": "2.0", "id": 77, "method": "rolecall/status", "params": {"type_name": "two words"}}',
        b'{"jsonrpc": "2.0", "id": 77, "method": "rolecall/status"}',
        b'{"jsonrpc": "1.0", "id": 77, "method": "rolecall/status"}',
        b'{"id": 77, "method": "rolecall/status"}',
    ],
)
async def test_a_request_that_can_hardly_be_read_is_answered_under_its_id(
    root: Path, environ: dict[str, str], body: bytes
) -> None:
    async with connected(root, environ) as client:
        await client.initialize()
        await client.send_body(body)
        await client.reply_to(77)
        assert (await client.request("shutdown"))["result"] is None
        assert [message.get("id") for message in client.received if "method" not in message] == [1, 77, 2]


@pytest.mark.parametrize("depth", [10**2, 4 * 10**2, 7 * 10**2, 9 * 10**2])
async def test_a_request_whose_values_lie_too_deep_to_be_sent_back_is_refused_under_its_id(
    root: Path, environ: dict[str, str], depth: int
) -> None:
    deep: object = functools.reduce(lambda inner, _: [inner], range(depth), 0)
    async with connected(root, environ) as client:
        await client.initialize()
        refused = await client.request("codeAction/resolve", {"title": "", "data": deep})
        assert refused["error"]["code"] == -32602
        action = {"title": "", "data": [[[[{"a": [[[5]]]}]]]]}
        assert (await client.request("codeAction/resolve", action))["result"] == action


def test_parameters_that_no_type_is_known_for_stay_as_they_were_sent() -> None:
    params = {"many": [{} for _ in range(1_000)], "type_name": "two words"}
    fields = {"jsonrpc": "2.0", "id": 1, "method": "rolecall/status", "params": params}
    assert make_converter().structure(fields, JsonRPCRequestMessage).params is params


def test_a_long_text_in_place_of_a_list_is_one_fault_and_not_one_for_each_letter() -> None:
    with pytest.raises(TypeError):  # a group of errors is none
        make_converter().structure({"title": "", "diagnostics": "x" * 20_000}, CodeAction)


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"jsonrpc": "2.0", "id": 1.5, "method": "shutdown"}'])
async def test_what_cannot_be_told_by_an_id_is_refused_without_one(
    root: Path, environ: dict[str, str], body: bytes
) -> None:
    async with connected(root, environ) as client:
        await client.initialize()
        await client.send_body(body)
        refused = await client.wait_for(lambda message: "error" in message)
        assert refused["id"] is None
        assert refused["error"]["code"] in (-32700, -32600)


async def test_a_message_of_gigabytes_is_passed_over(root: Path, environ: dict[str, str]) -> None:
    n_bytes, piece = MAX_BODY_BYTES + 1, b" " * 2**20
    async with connected(root, environ) as client:
        await client.initialize()
        before = psutil.Process(client.process.pid).memory_info().rss
        await client.send_bytes(b"Content-Length: %d\r\n\r\n" % n_bytes)
        for _ in range(n_bytes // len(piece)):
            await client.send_bytes(piece)
        await client.send_bytes(piece[: n_bytes % len(piece)])
        assert (await client.wait_for(lambda message: "error" in message))["id"] is None
        assert psutil.Process(client.process.pid).memory_info().rss - before < 50 * 2**20
        assert (await client.request("shutdown"))["result"] is None


async def test_a_header_without_an_end_ends_the_server(root: Path, environ: dict[str, str]) -> None:
    async with connected(root, environ) as client:
        await client.initialize()
        await client.send_bytes(b"Content-Type: " + b"x" * 100_000)
        assert await client.exit_code() == 2


async def test_an_editor_that_hears_nothing_any_more_is_served_no_more(root: Path, environ: dict[str, str]) -> None:
    ours, theirs = os.pipe()
    process = subprocess.Popen(SERVER, cwd=root, env=environ, stdin=subprocess.PIPE, stdout=theirs)
    os.close(theirs)
    os.close(ours)
    assert process.stdin is not None
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}).encode()
    with process, contextlib.suppress(BrokenPipeError):
        while process.poll() is None:
            process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(hello), hello))
            process.stdin.flush()
            time.sleep(0.05)
    assert process.returncode == 1


async def test_notifications_about_nothing_are_harmless(root: Path, environ: dict[str, str]) -> None:
    uri = (root / "shop" / "price.py").as_uri()
    place = {"line": 0, "character": 0}
    async with connected(root, environ) as client:
        await client.initialize(workspaceFolders=folders(root))
        await client.notify("$/cancelRequest", {"id": "nobody asked"})
        await client.notify("$/cancelRequest", {"id": 4711})
        await client.notify("$/setTrace", {"value": "verbose"})
        await client.notify("$/unknown", {"id": 4711})
        await client.notify("window/workDoneProgress/cancel", {"token": "nobody's"})
        await client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        await change(client, uri, {"range": {"start": place, "end": place}, "text": "x"})
        await change(client, uri, {"text": "# ROLECALL: nothing\n"})
        assert not any("nothing" in title for title in await titles(client, uri)), "what is not open has no text"
        await open_document(client, uri, "# ROLECALL: sing\n")
        assert "Rolecall: implement “sing”" in await titles(client, uri)


async def test_both_whole_texts_and_ranges_are_taken_even_thousands_at_once(
    root: Path, environ: dict[str, str]
) -> None:
    n_lines = 10_000
    uri = (root / "shop" / "long.py").as_uri()
    async with connected(root, environ) as client:
        await client.initialize(workspaceFolders=folders(root))
        await open_document(client, uri, "x = 1\n")
        await change(client, uri, {"text": "ROLECALL: hum é𝄞\n" * n_lines})
        starts = ({"line": line, "character": 0} for line in range(n_lines))
        await change(client, uri, *({"range": {"start": at, "end": at}, "text": "# "} for at in starts), version=3)
        assert "Rolecall: implement “hum é𝄞”" in await titles(client, uri, n_lines - 1)


NOISY_COMMAND = """
import os, subprocess, sys
@server.command("test.shout")
def shout(ls, *arguments):
    print("a stray print")
    sys.__stdout__.write("another"); sys.__stdout__.flush()
    os.write(1, b"Content-Length: 3\\r\\n\\r\\nraw")
    subprocess.run([sys.executable, "-c", "print('a child')"])
    return {"shouted": True}
"""

UNWRITABLE_ANSWER = """
@server.command("test.answer")
def answer(ls, *arguments):
    return [object()]
"""


async def test_an_answer_that_cannot_be_written_is_an_error_all_the_same(root: Path, environ: dict[str, str]) -> None:
    async with connected(root, environ, command=server_with(UNWRITABLE_ANSWER)) as client:
        await client.initialize()
        reply = await client.request("workspace/executeCommand", {"command": "test.answer"})
        assert reply["error"]["code"] == -32603
        assert (await client.request("shutdown"))["result"] is None


FAILING_HANDLER = """
@server.command("test.fail")
def fail(ls, *arguments):
    open("/no/such/place/at/all")
"""


def server_with(handlers: str) -> list[str]:
    """The command of a server with a few more handlers, started as `rolecall serve` is."""
    program = (
        "from rolecall_server.lsp import stdio\n"
        "def register(server, ours=stdio.register):\n"
        "    ours(server)\n"
        f"    exec({handlers!r}, {{'server': server}})\n"
        "stdio.register = register\n"
        "raise SystemExit(stdio.serve())\n"
    )
    return [sys.executable, "-I", "-c", program]


async def test_what_a_handler_or_its_child_prints_lands_in_the_log_and_not_in_the_protocol(
    root: Path, environ: dict[str, str]
) -> None:
    async with connected(root, environ, command=server_with(NOISY_COMMAND)) as client:
        await client.initialize()
        reply = await client.request("workspace/executeCommand", {"command": "test.shout"})
        assert reply["result"] == {"shouted": True}
        await client.request("shutdown")
        await client.notify("exit")
        assert await client.exit_code() == 0
        errors = await client.log()
    for text in ("a stray print", "another", "raw", "a child"):
        assert text in errors


async def test_a_reply_of_the_wrong_shape_does_not_keep_an_acceptance_waiting_for_ever(root: Path) -> None:
    with ChatServer(ADD_NOTHING) as chat:
        async with connected(root, environment(root.parent / "home", chat.base_url)) as client:
            await client.initialize(workspaceFolders=folders(root), initializationOptions={"tests": {"run": False}})
            uri = (root / "shop" / "price.py").as_uri()
            await command(client, "rolecall.brief.implement", uri=uri, brief="Add nothing.")
            await client.wait_for(lambda message: "p1" in str(message.get("params", {}).get("diagnostics")), 20)
            for result in ("yes", None, {"failureReason": 5}):
                client.received.clear()
                await command(client, "rolecall.hunk.accept", proposalId="p1", hunkId="h1")
                await client.answer("workspace/applyEdit", result)
                await client.wait_for(lambda message: "Nothing was decided" in str(message.get("params")))


async def test_a_run_cancelled_before_the_editor_shows_its_progress_is_stored_as_cancelled(root: Path) -> None:
    home = root.parent / "home"
    with ChatServer(ADD_NOTHING) as chat:
        async with connected(root, environment(home, chat.base_url)) as client:
            await client.initialize(workspaceFolders=folders(root), capabilities={"window": {"workDoneProgress": True}})
            run_id = (await start_tests(client, root))["runId"]
            asked = await client.wait_for(lambda message: message.get("method") == "window/workDoneProgress/create")
            assert await command(client, "rolecall.run.cancel", runId=run_id) == {"runIds": [run_id]}
            await client.send({"jsonrpc": "2.0", "id": asked["id"], "result": None})
            assert await titles(client, (root / "shop" / "price.py").as_uri()), "a late answer is harmless"
            again = await command(client, "rolecall.run.cancel", runId=run_id)
            assert again["error"] == "NotFound"
        assert not chat.asked
    store = open_store(home / "data" / "rolecall" / "rolecall.db")
    assert store.run(run_id).state == "cancelled"
    store.close()


async def command(client: FrameClient, name: str, **arguments: object) -> Any:
    reply = await client.request("workspace/executeCommand", {"command": name, "arguments": [arguments]})
    return reply["result"]


async def start_tests(client: FrameClient, root: Path) -> Any:
    return await command(client, "rolecall.tests.generate", uri=(root / "shop" / "price.py").as_uri())


async def start_brief(client: FrameClient, root: Path) -> Any:
    return await command(client, "rolecall.brief.implement", uri=(root / "shop" / "price.py").as_uri(), brief="Round.")


async def test_changed_settings_count_from_then_on(root: Path, environ: dict[str, str], tmp_path: Path) -> None:
    async with connected(root, environ) as client:
        await client.initialize(workspaceFolders=folders(root))
        assert (await start_brief(client, root))["error"] == "NoModelConfigured"
        missing = {"rolecall": {"model": {"replay": str(tmp_path / "missing.jsonl")}}}
        await client.notify("workspace/didChangeConfiguration", {"settings": missing})
        assert (await start_tests(client, root))["error"] == "FileRefused"
        for nothing in (None, {}, [], {"python": {"pythonPath": "x"}}, {"rolecall": None}):
            await client.notify("workspace/didChangeConfiguration", {"settings": nothing})
        assert (await start_tests(client, root))["error"] == "FileRefused", "what says nothing of ours changes nothing"


async def test_a_bad_setting_is_told_once_and_the_others_count(
    root: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    bad = {"model": {"timeoutSeconds": "soon", "replay": str(tmp_path / "missing.jsonl")}, "tests": [], "other": 5}
    async with connected(root, environ) as client:
        await client.initialize(workspaceFolders=folders(root), initializationOptions=bad)
        assert (await start_tests(client, root))["error"] == "FileRefused"
        for _ in range(2):
            await client.notify("workspace/didChangeConfiguration", {"settings": {"rolecall": bad}})
        assert await titles(client, (root / "shop" / "price.py").as_uri())
        about = [message for message in client.told() if "timeoutSeconds" in message or "timeout_seconds" in message]
        assert len(about) == 1


@pytest.mark.parametrize("options", [[], "text", {"model": {"name": {"a": [1]}, "timeoutSeconds": -1}}])
async def test_options_of_any_shape_do_not_keep_the_server_from_starting(
    root: Path, environ: dict[str, str], options: object
) -> None:
    async with connected(root, environ) as client:
        await client.initialize(initializationOptions=options, workspaceFolders=folders(root))
        assert await titles(client, (root / "shop" / "price.py").as_uri())


async def test_folders_come_and_go_and_what_is_open_in_them_stays_in_step(
    root: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    other = write_workspace(tmp_path / "other")
    uri = (other / "shop" / "price.py").as_uri()
    text = "def first():\n    pass\n"
    async with connected(root, environ) as client:
        await client.initialize(workspaceFolders=folders(root))
        await open_document(client, uri, text)
        assert await titles(client, uri) == [], "outside of what is open"
        for version in (2, 3):
            await client.notify(
                "workspace/didChangeWorkspaceFolders", {"event": {"added": folders(other), "removed": []}}
            )
            name = f"renamed_{version}"
            await change(client, uri, {"text": text.replace("first", name)}, version=version)
            assert f"Rolecall: generate tests for {name}" in await titles(client, uri)
            await client.notify(
                "workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": folders(other)}}
            )
            assert await titles(client, uri) == []
        await client.notify(
            "workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": folders(other, tmp_path)}}
        )
        assert await titles(client, (root / "shop" / "price.py").as_uri()), "the first folder is not concerned"


async def test_two_folders_are_two_repositories(root: Path, environ: dict[str, str], tmp_path: Path) -> None:
    other = write_workspace(tmp_path / "other")
    async with connected(root, environ) as client:
        await client.initialize(workspaceFolders=folders(root, other))
        for folder in (root, other):
            uri = (folder / "shop" / "price.py").as_uri()
            await open_document(client, uri, FILES["shop/price.py"])
            assert "Rolecall: generate tests for discount" in await titles(client, uri, 10)


async def test_files_without_any_folder_each_bring_the_project_around_them(
    root: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    other = write_workspace(tmp_path / "other")
    async with connected(tmp_path, environ) as client:
        await client.initialize()
        for folder in (root, other):
            uri = (folder / "shop" / "price.py").as_uri()
            await open_document(client, uri, FILES["shop/price.py"])
            assert "Rolecall: generate tests for discount" in await titles(client, uri, 10)


async def test_an_editor_that_refuses_to_watch_files_still_sees_the_hunks_of_earlier_sessions(root: Path) -> None:
    watching = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}
    with ChatServer(ADD_NOTHING) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        async with connected(root, environ) as client:
            await client.initialize(workspaceFolders=folders(root), initializationOptions={"tests": {"run": False}})
            uri = (root / "shop" / "price.py").as_uri()
            await command(client, "rolecall.brief.implement", uri=uri, brief="Add nothing.")
            await client.wait_for(lambda message: "p1" in str(message.get("params", {}).get("diagnostics")), 20)
        async with connected(root, environ) as client:
            await client.initialize(workspaceFolders=folders(root), capabilities=watching)
            asked = await client.wait_for(lambda message: message.get("method") == "client/registerCapability")
            refusal = {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}
            await client.send(refusal)
            await client.wait_for(lambda message: "p1" in str(message.get("params", {}).get("diagnostics")))
            assert client.told() == []


NAMES = ["with space & (brackets).py", "größe 𝄞.py", "100%41.py", "a;b#c?d.py", "+@=,'!~.py", "UPPER.py"]


async def test_any_file_name_is_found_however_the_editor_encodes_it(root: Path, environ: dict[str, str]) -> None:
    async with connected(root, environ) as client:
        await client.initialize(workspaceFolders=folders(root))
        for name in NAMES:
            (root / name).write_text("", encoding="utf-8")
            escaped = root.as_uri() + "/" + "".join(f"%{byte:02x}" for byte in name.encode())
            for uri in ((root / name).as_uri(), escaped):
                await open_document(client, uri, "def f():\n    pass\n")
                assert "Rolecall: generate tests for f" in await titles(client, uri), uri
                await client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


ODD = [
    "",
    "untitled:Untitled-1",
    "git:/x.py?ref=HEAD",
    "vscode-notebook-cell:/x.ipynb#W0",
    "file:",
    "file:relative.py",
    "file://[",
    "file:///%00.py",
    "file:///{root}/%00.py",
    "file:///{root}/%ff.py",
    "file:///{root}/loop/loop.py",
    "file:///{root}/shop/../../outside.py",
    "file:///{root}/" + "a" * 5000,
    "file:///{root}/\ud800.py",
    "\ud800",
]


async def test_an_odd_address_is_no_file_of_ours_and_breaks_nothing(root: Path, environ: dict[str, str]) -> None:
    (root / "loop").symlink_to(root / "loop")
    async with connected(root, environ) as client:
        await client.initialize(workspaceFolders=folders(root))
        for template in ODD:
            uri = template.replace("{root}", root.as_posix()[1:])
            await open_document(client, uri, "x = 1\n")
            await change(client, uri, {"text": "y = 1\n"})
            await client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]})
            assert [title for title in await titles(client, uri) if "%ff" not in uri] == [], uri
            await client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            refused = await command(client, "rolecall.brief.implement", uri=uri, brief="Add a tax.")
            assert refused["error"] in ("FileRefused", "UserMustAct", "NoModelConfigured"), uri
        assert await titles(client, (root / "shop" / "price.py").as_uri())
        assert "ERROR" not in await ended(client)


async def ended(client: FrameClient) -> str:
    """The log of the server, which is asked to go."""
    await client.request("shutdown")
    await client.notify("exit")
    assert await client.exit_code() == 0
    return await client.log()


async def test_half_a_character_in_a_document_breaks_nothing(root: Path, environ: dict[str, str]) -> None:
    uri = (root / "shop" / "half.py").as_uri()
    async with connected(root, environ) as client:
        await client.initialize(workspaceFolders=folders(root))
        await open_document(client, uri, 'def f():\n    return "\ud800"\n')
        place = {"line": 1, "character": 13}
        await change(client, uri, {"range": {"start": place, "end": place}, "text": "\udc00"})
        assert "Rolecall: generate tests for f" in await titles(client, uri, 1)


RICH = {
    "window": {"showDocument": {"support": True}},
    "workspace": {
        "codeLens": {"refreshSupport": True},
        "textDocumentContent": {},
        "workspaceEdit": {"documentChanges": True, "changeAnnotationSupport": {}},
    },
    "textDocument": {
        "hover": {},
        "codeLens": {},
        "codeAction": {"dataSupport": True, "resolveSupport": {"properties": ["command", "diagnostics"]}},
    },
}


async def test_all_that_a_rich_editor_is_sent_about_a_hunk_is_well_formed(root: Path) -> None:
    uri = (root / "shop" / "price.py").as_uri()
    with ChatServer(ADD_NOTHING) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        async with connected(root, environ) as client:
            await client.initialize(
                capabilities=RICH,
                workspaceFolders=folders(root),
                initializationOptions={"tests": {"run": False}, "review": {"trace": "hoverAndLens"}},
            )
            await open_document(client, uri, FILES["shop/price.py"])
            await command(client, "rolecall.brief.implement", uri=uri, brief="Add nothing.")
            await client.answer("workspace/codeLens/refresh", None)
            await command(client, "rolecall.proposal.show", proposalId="p1")
            await client.answer("window/showDocument", {"success": True})
            content = await client.request("workspace/textDocumentContent", {"uri": "rolecall-proposal:/p1.diff"})
            assert "sum(items, 0)" in content["result"]["text"]
            where = {"start": {"line": 5, "character": 0}, "end": {"line": 5, "character": 0}}
            params = {"textDocument": {"uri": uri}, "range": where, "context": {"diagnostics": []}}
            for action in (await client.request("textDocument/codeAction", params))["result"]:
                assert "command" not in action
                assert (await client.request("codeAction/resolve", action))["result"]["command"]["command"]
            assert len((await client.request("textDocument/codeLens", {"textDocument": {"uri": uri}}))["result"]) == 4
            hover = {"textDocument": {"uri": uri}, "position": where["start"]}
            assert (await client.request("textDocument/hover", hover))["result"] is None
            await command(client, "rolecall.hunk.accept", proposalId="p1", hunkId="h1")
            await client.answer("workspace/applyEdit", {"applied": True})
            edited = FILES["shop/price.py"].replace("sum(items)", "sum(items, 0)")
            await change(client, uri, {"text": edited})
            await client.answer("workspace/textDocumentContent/refresh", None)
            assert "Add nothing." in (await client.request("textDocument/hover", hover))["result"]["contents"]["value"]
            [lens, told] = (await client.request("textDocument/codeLens", {"textDocument": {"uri": uri}}))["result"]
            assert lens["command"]["title"].startswith("Rolecall p1: Engineer")
            assert told["command"]["command"] == "rolecall.run.context"
