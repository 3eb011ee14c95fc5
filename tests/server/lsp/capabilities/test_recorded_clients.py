"""What editors say of themselves, as recorded, decides what the server sends them; nothing else is sent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from support.abilities import ability, actions_beyond, beyond
from support.chat_server import ChatServer
from support.edits import block
from support.frames import FrameClient, connected
from support.patience import PATIENCE_S
from support.workspaces import FILES, environment, write_workspace

CART, TAX = "shop/cart.py", "shop/tax.py"
PRICE, CHANGED = "shop/price.py", FILES["shop/price.py"].replace("sum(items)", "sum(items, 0)")
PROPOSAL = "\n".join(
    [
        block(PRICE, "    return sum(items)\n", "    return sum(items, 0)\n"),
        block(CART, "    return total(cart)\n", "    return total(cart) + 1\n"),
        block(TAX, "", "RATE = 0.2\n"),
    ]
)


HERE = Path(__file__).parent / "clients"


@dataclass(frozen=True)
class Expected:
    """What the server should make of a client."""

    encoding: str
    edits: str = "documentChanges"
    creates: bool = True
    """Whether a new file is created by an operation of its own."""
    shows: str = "file"
    """The scheme of the document that a diff is opened as; empty where a message says in which file it is."""


CLIENTS = {
    "vscode_languageclient_v9.0.1": Expected("utf-16"),
    "vscode_languageclient_v10.0.1": Expected("utf-16", shows="rolecall-proposal"),
    "vscode_languageclient_v11.0.0": Expected("utf-16", shows="rolecall-proposal"),
    "visual_studio_code_v1.65.2": Expected("utf-16"),
    "neovim_v0.7.0": Expected("utf-16", shows=""),
    "neovim_v0.10.0": Expected("utf-16"),
    "neovim_v0.11.0": Expected("utf-32"),
    "neovim_v0.11.4": Expected("utf-32"),
    "emacs_v28.2_eglot_v1.9": Expected("utf-16", creates=False, shows=""),
    "emacs_v29.1": Expected("utf-32", creates=False, shows=""),
    "emacs_v30.1": Expected("utf-32", creates=False),
    "helix_v25.01.1": Expected("utf-32", shows=""),
    "zed_2024": Expected("utf-16", shows=""),
}


BARE = "a client that can do nothing"
CLIENTS[BARE] = Expected("utf-16", "changes", creates=False, shows="")


def recorded(name: str) -> dict[str, Any]:
    """The name and the capabilities of a client: recorded here, or by the authors of pytest-lsp."""
    if name not in {path.stem for path in HERE.glob("*.json")}:
        found = resources.files("pytest_lsp") / "clients" / f"{name}.json"
        return json.loads(found.read_text(encoding="utf-8")) if found.is_file() else {"capabilities": {}}
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


class RecordedEditor:
    """A client that answers whatever the server asks: makes its edits in the document it has open, saves the others."""

    def __init__(self, client: FrameClient, root: Path) -> None:
        self.client = client
        self.uri = (root / PRICE).as_uri()
        self.root = root
        self.texts = [FILES[PRICE], CHANGED]
        self.version = 1
        self.n_edits = 0
        self._n_answered = 0

    async def answer_all(self) -> None:
        """Answer each request of the server's as it comes."""
        while True:
            for message in self.client.received[self._n_answered :]:
                self._n_answered += 1
                if "method" in message and "id" in message:
                    await self._answer(message)
            await asyncio.sleep(0.01)

    async def _answer(self, message: Mapping[str, Any]) -> None:
        result: object = None
        if message["method"] == "workspace/applyEdit":
            self.n_edits += 1
            self.version += 1
            self.texts.reverse()
            document = {"uri": self.uri, "version": self.version}
            await self.client.notify(
                "textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": self.texts[0]}]}
            )
            self._save_others(accepted=self.texts[0] == CHANGED)
            result = {"applied": True}
        elif message["method"] == "window/showDocument":
            result = {"success": True}
        elif message["method"] == "workspace/configuration":
            result = [None for _ in message["params"]["items"]]
        await self.client.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _save_others(self, *, accepted: bool) -> None:
        old, new = "return total(cart)\n", "return total(cart) + 1\n"
        (self.root / CART).write_text(FILES[CART].replace(old, new) if accepted else FILES[CART])
        if accepted:
            (self.root / TAX).write_text("RATE = 0.2\n")
        else:
            (self.root / TAX).unlink()

    async def command(self, name: str, **arguments: object) -> Any:
        reply = await self.client.request("workspace/executeCommand", {"command": name, "arguments": [arguments]})
        assert "error" not in (reply["result"] or {}), reply
        return reply["result"]

    async def until_edited(self, n_times: int) -> None:
        """Wait until the server has asked for so many edits."""
        async with asyncio.timeout(PATIENCE_S):
            while self.n_edits < n_times:
                await asyncio.sleep(0.01)

    async def actions(self) -> list[dict[str, Any]]:
        """The code actions on the line of the first hunk."""
        place = {"line": 5, "character": 0}
        params = {
            "textDocument": {"uri": self.uri},
            "range": {"start": place, "end": place},
            "context": {"diagnostics": []},
        }
        return (await self.client.request("textDocument/codeAction", params))["result"]


@dataclass(frozen=True)
class Conversation:
    """What came of asking for a change of three files, looking at it, accepting it and taking that back."""

    root: Path
    capabilities: Mapping[str, Any]
    announced: Mapping[str, Any]
    actions: list[dict[str, Any]]
    lenses: list[dict[str, Any]]
    received: list[dict[str, Any]]
    """All that the server sent, in order."""

    def sent(self, method: str) -> list[dict[str, Any]]:
        """The parameters of each message of that method."""
        return [message["params"] for message in self.received if message.get("method") == method]


def conversation(name: str) -> Conversation:
    """The conversation with the client of that name."""
    return conversations()[name]


@cache
def conversations() -> dict[str, Conversation]:
    """One with each client, a few at a time: most of it is waiting."""

    async def converse() -> list[Conversation | BaseException]:
        turns = asyncio.Semaphore(4)
        talks = (_converse(recorded(name), turns) for name in CLIENTS)
        return await asyncio.gather(*talks, return_exceptions=True)

    held: dict[str, Conversation] = {}
    for name, ended in zip(CLIENTS, asyncio.run(converse()), strict=True):
        if isinstance(ended, BaseException):
            raise ended
        held[name] = ended
    return held


async def _converse(known: Mapping[str, Any], turns: asyncio.Semaphore) -> Conversation:
    async with turns:
        with tempfile.TemporaryDirectory() as folder:
            return await _converse_in(Path(folder), known)


async def _converse_in(folder: Path, known: Mapping[str, Any]) -> Conversation:
    root, capabilities = write_workspace(folder / "work"), known["capabilities"]
    info = {"clientInfo": known["clientInfo"]} if "clientInfo" in known else {}
    with ChatServer(PROPOSAL) as chat:
        async with connected(root, environment(folder / "home", chat.base_url)) as client:
            editor = RecordedEditor(client, root)
            initialized = await client.initialize(
                capabilities=capabilities,
                workspaceFolders=[{"uri": root.as_uri(), "name": "work"}],
                initializationOptions={"tests": {"run": False}},
                **info,
            )
            async with answering(editor):
                item = {"uri": editor.uri, "languageId": "python", "version": 1, "text": FILES[PRICE]}
                await client.notify("textDocument/didOpen", {"textDocument": item})
                await editor.command("rolecall.brief.implement", uri=editor.uri, brief="Begin at nought.")
                await client.wait_for(lambda message: "p1/h1" in str(message.get("params")))
                actions = await editor.actions()
                lenses = await client.request("textDocument/codeLens", {"textDocument": {"uri": editor.uri}})
                await editor.command("rolecall.proposal.show")
                await editor.command("rolecall.proposal.accept")
                await client.wait_for(lambda message: '"diagnostics": []' in json.dumps(message))
                await editor.command("rolecall.decision.undo", proposalId="p1", hunkId="h1")
                await editor.until_edited(2)
    return Conversation(
        root, capabilities, initialized["capabilities"], actions, lenses.get("result") or [], client.received
    )


@contextlib.asynccontextmanager
async def answering(editor: RecordedEditor) -> AsyncIterator[None]:
    """The server's requests are answered meanwhile."""
    task = asyncio.create_task(editor.answer_all())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture(params=CLIENTS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_the_server_asks_for_nothing_that_the_client_does_not_offer(name: str) -> None:
    talk = conversation(name)
    asked = {what for message in talk.received for what in beyond(message, talk.capabilities)}
    # A client that says nothing of edits may make them all the same; its answer tells.
    assert asked == ({"workspace.applyEdit"} if name == BARE else set())


def test_the_position_encoding_is_one_that_the_client_offers(name: str) -> None:
    talk = conversation(name)
    offered = ability(talk.capabilities, "general.positionEncodings") or []
    assert talk.announced["positionEncoding"] == CLIENTS[name].encoding
    assert talk.announced["positionEncoding"] in [*offered, "utf-16"]


def test_an_acceptance_is_an_edit_of_a_form_that_the_client_takes(name: str) -> None:
    talk = conversation(name)
    edit = talk.sent("workspace/applyEdit")[0]["edit"]
    assert [form for form in ("changes", "documentChanges") if edit.get(form)] == [CLIENTS[name].edits]
    changes = edit.get("documentChanges") or ()
    created = [change["uri"] for change in changes if change.get("kind") == "create"]
    assert created == ([(talk.root / "shop" / "tax.py").as_uri()] if CLIENTS[name].creates else [])
    versions = [each["textDocument"]["version"] for each in changes if "textDocument" in each]
    assert versions == ([1, None, None] if changes else []), "the one that is open has a version"


def test_the_edit_comes_after_the_reply_to_the_command(name: str) -> None:
    order = [message.get("method") or [*(message.get("result") or ())] for message in conversation(name).received]
    assert order.index(["proposalId", "hunkIds"]) < order.index("workspace/applyEdit")


def test_a_diff_is_opened_where_the_client_can_and_named_in_a_message_elsewhere(name: str) -> None:
    talk = conversation(name)
    schemes = [params["uri"].partition(":")[0] for params in talk.sent("window/showDocument")]
    assert schemes == [scheme for scheme in [CLIENTS[name].shows] if scheme]
    told = [params["message"] for params in talk.sent("window/showMessage")]
    assert any("p1.diff" in message for message in told) == (not schemes)
    reads = ability(talk.capabilities, "workspace.textDocumentContent")
    assert bool(talk.announced["workspace"].get("textDocumentContent")) == bool(reads)


def test_code_actions_are_ones_that_the_client_can_choose_from(name: str) -> None:
    talk = conversation(name)
    assert any("accept h1" in action["title"] for action in talk.actions)
    assert not [*actions_beyond(talk.actions, talk.capabilities)]


def test_every_command_of_an_action_or_a_lens_is_announced(name: str) -> None:
    talk = conversation(name)
    named = [each["command"] for each in (*talk.actions, *talk.lenses) if each.get("command")]
    commands = {command if isinstance(command, str) else command["command"] for command in named}
    assert all("command" in action or "data" in action for action in talk.actions), "what is not there can be asked for"
    assert commands <= {*talk.announced["executeCommandProvider"]["commands"]}


def test_every_recording_says_where_it_is_from_and_is_tried() -> None:
    for path in HERE.glob("*.json"):
        known = json.loads(path.read_text(encoding="utf-8"))
        assert known["provenance"].startswith(("Recorded from", "What", "Composed from")), path.name
        assert path.stem in CLIENTS
