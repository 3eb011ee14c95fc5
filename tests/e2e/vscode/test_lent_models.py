"""The editor's own models in a real VS Code: an extension lends them, and no endpoint is set anywhere."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from support.chat_server import ChatServer, Turn, Wire, fails, stalls_after
from support.patience import PATIENCE_S
from support.workspaces import GOOD_TESTS, contents, write_workspace

LENDER = Path(__file__).parent / "lender"


@pytest.fixture(scope="session")
def lender(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lending extension, packaged."""
    package = tmp_path_factory.mktemp("lender") / "lender.vsix"
    with zipfile.ZipFile(package, "w") as archive:
        for file in LENDER.iterdir():
            archive.write(file, f"extension/{file.name}")
    return package


def says_once_seen(text: str, sign: Path) -> Turn:
    """Half of *text*, and the rest once *sign* is there: when the developer has seen that it is being written."""

    def perform(wire: Wire) -> None:
        half = len(text) // 2
        wire.start_stream()
        wire.send_chunk(text[:half])
        while not sign.exists():
            wire.pause(0.1)
        wire.send_chunk(text[half:])
        wire.send_chunk(finish_reason="stop")
        wire.end_stream()

    return Turn("says once seen", perform)


@pytest.fixture
def open_vscode(machine: Path, lender: Path, start_code_server: Callable[..., str]) -> Callable[..., dict[str, object]]:
    """Starts a VS Code in which the vendors that are named lend models; the beginning of a scenario in it."""

    def open_with(
        settings: Mapping[str, object], *, environ: Mapping[str, str] = MappingProxyType({}), **vendors: ChatServer
    ) -> dict[str, object]:
        root = write_workspace(machine / "work")
        usual = {"rolecall.server.interpreter": sys.executable, "rolecall.tests.run": False}
        environment = {
            **environ,
            "LENDER_ENDPOINTS": json.dumps({name: server.base_url for name, server in vendors.items()}),
        }
        address = start_code_server({**usual, **settings}, environment, lender)
        return {"url": f"{address}/?folder={root}", "open": ["shop", "price.py"]}

    return open_with


def test_with_the_developers_consent_an_editors_model_writes_tests_and_its_words_are_followed(
    machine: Path, play: Callable[[str, Mapping[str, object]], object], open_vscode: Callable[..., dict[str, object]]
) -> None:
    sign = machine / "seen"
    with ChatServer([fails(429), says_once_seen(GOOD_TESTS, sign)]) as model:
        scenario = open_vscode({}, lender=model)
        before = contents(machine / "work")
        asked = ["Rolecall", "language models provided by Lender", "about the code you point them at"]
        steps = [
            {"does": "generate"},
            {"does": "consent", "says": asked},
            {"does": "answer", "button": "Cancel"},
            {"does": "message", "says": "Allow it when your editor asks"},
            {"does": "generate"},
            {"does": "consent", "says": asked},
            {"does": "answer", "button": "Allow"},
            {"does": "message", "says": "Run the command again later"},
            {"does": "generate"},
            {"does": "writing", "sign": str(sign)},
            {"does": "proposal", "lines": ["import discount, total", "test_total_adds"]},
        ]
        play("lent.mjs", {**scenario, "steps": steps})
        assert len(model.asked) == 2, "what was refused consent was never asked"
    assert contents(machine / "work") == before


def test_a_cancelled_run_hangs_up_on_the_vendors_model_that_is_named(
    machine: Path, play: Callable[[str, Mapping[str, object]], object], open_vscode: Callable[..., dict[str, object]]
) -> None:
    with ChatServer([]) as other, ChatServer(stalls_after("I begin with `total`.\n")) as named:
        scenario = open_vscode({"rolecall.model.name": "usurer/lent-1"}, lender=other, usurer=named)
        steps = [
            {"does": "generate"},
            {"does": "consent", "says": ["Rolecall"]},
            {"does": "answer", "button": "Allow"},
            {"does": "writing", "sign": str(machine / "seen")},
            {"does": "cancel"},
        ]
        play("lent.mjs", {**scenario, "steps": steps})
        assert named.disconnected.wait(PATIENCE_S)
        assert not other.requests


def test_a_model_of_the_editor_that_was_chosen_is_asked_though_a_key_for_another_is_set(
    play: Callable[[str, Mapping[str, object]], object], open_vscode: Callable[..., dict[str, object]]
) -> None:
    with ChatServer([GOOD_TESTS] * 9) as lent, ChatServer([GOOD_TESTS] * 9) as other:
        keys = {"OPENAI_API_KEY": "sk-somebody-elses", "OPENAI_BASE_URL": other.base_url}
        scenario = open_vscode({}, environ=keys, lender=lent)
        steps = [
            {"does": "choose", "model": "Lent by lender"},
            {"does": "message", "says": "Lent by lender (lender) in your editor"},
            {"does": "generate"},
            {"does": "consent", "says": ["Rolecall"]},
            {"does": "answer", "button": "Allow"},
            {"does": "proposal", "lines": ["import discount, total", "test_total_adds"]},
        ]
        play("lent.mjs", {**scenario, "steps": steps})
        assert lent.requests
        assert not other.requests
