"""Tests that a model writes may look for secrets and print them in any form: none reaches a model."""

from __future__ import annotations

import base64
import re
import subprocess
from pathlib import Path

import pytest

from rolecall_analysis import Index
from rolecall_server.context.redaction import Covers
from rolecall_server.errors import SecretsSought
from rolecall_server.model import ChatMessage, Chosen
from rolecall_server.settings import Settings
from rolecall_server.team.model_calls.budgeted import StoredCalls
from rolecall_server.team.request import Repository, RoleName, RunRequest
from rolecall_server.team.run import try_selection
from rolecall_server.workspace import Workspace
from support.edits import block
from support.role_run import Finished, ask_role
from support.scripted_model import ScriptedModel
from support.stores import open_store
from support.workspaces import FILES, environment, write_workspace

KEY = "AKIAIOSFODNN7CANARY1"
SECRET = "hunter2-CANARY-x9Z"
WORKSPACE = {
    **FILES,
    ".aiignore": "private/\n",
    ".env": f"DB_PASSWORD={SECRET}\n",
    "private/notes.txt": "AIIGNORED-NOTES-CANARY\n",
    "shop/keys.py": f'AWS = "{KEY}"\n',
}
PATH = "shop/price.py"
SEARCHING = """\
    import pathlib
    import shop.keys

    seen = [shop.keys.AWS.encode().hex()]
    for path in sorted(pathlib.Path(__file__).parents[1].rglob("*")):
        if path.is_file() and path.suffix in ("", ".txt", ".py", ".pyc") and path.name != "price.py":
            seen.append(f"{path.name} {path.read_bytes().hex()}")
    raise AssertionError(" ".join(seen)[:900])
"""
SUM = "    return sum(items)\n"
REPLIES = [block(PATH, SUM, SEARCHING), *["No change: it fails as it should.\n"] * 6]


async def run(folder: Path, model: ScriptedModel) -> tuple[Finished, Repository]:
    root = write_workspace(folder / "work", WORKSPACE)
    for command in (
        ["init", "-q"],
        ["add", "-Af"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "c"],
    ):
        subprocess.run(["git", "-C", str(root), *command], check=True)
    index = Index(root)
    index.scan()
    settings = Settings.model_validate({"tests": {"worthSeconds": 0}})
    store = open_store(folder / "rolecall.db")
    repository = Repository(Workspace(root), index.snapshot(), store, settings, environment(folder / "home"))
    request = RunRequest(RoleName.ENGINEER, PATH, "", "Make the total faster.")
    return await ask_role(request, repository, Chosen(model, "the test names it")), repository


def decoded(text: str) -> str:
    """*text* with what is written in it in hexadecimal digits."""
    return text + "".join(
        bytes.fromhex(run[: len(run) // 2 * 2]).decode("latin-1") for run in re.findall(r"[0-9a-f]{8,}", text)
    )


async def test_a_test_that_looks_for_secrets_finds_none_to_tell(tmp_path: Path) -> None:
    model = ScriptedModel(REPLIES)
    finished, repository = await run(tmp_path, model)
    told = decoded("\n".join(message.text for messages in model.asked for message in messages))
    assert "from shop.price import total" in decoded(model.last_words[1])  # control: it saw a file, and told
    assert "CANARY" not in told
    assert any(
        "without .env, private and with masks for the secrets in shop/keys.py" in note
        for note in finished.proposal.evidence.notes
    )

    # The developer's own run, of which no model hears, is on the files as they are.
    seen = await try_selection(repository, {PATH: FILES[PATH].replace(SUM, SEARCHING)}, lambda *_: None)
    repository.store.close()
    assert "CANARY" in decoded(seen.failures[0].message)


WAYS = [SECRET.encode().hex(), base64.b64encode(SECRET.encode()).decode(), SECRET[::-1], "-".join(SECRET)]


async def test_an_encoded_secret_is_covered_and_the_second_one_stops_the_run(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    model = ScriptedModel(["I try.", "Again.", "And again."])
    calls = StoredCalls(model, store, store.add_run(tmp_path, "engineer", "", ""), covers=Covers(watched=(SECRET,)))
    talk = [ChatMessage("user", f"An example that stands in the code: {WAYS[0]}")]
    talk += [ChatMessage("assistant", (await calls.complete(talk)).text), ChatMessage("user", f"E  {WAYS[1]}")]
    talk += [ChatMessage("assistant", (await calls.complete(talk)).text), ChatMessage("user", "E  nothing")]
    talk += [ChatMessage("assistant", (await calls.complete(talk)).text), ChatMessage("user", f"E  {WAYS[2]}")]
    with pytest.raises(SecretsSought, match="for the second time"):
        await calls.complete(talk)
    assert model.asked[1][-1].text == "E  REDACTED_ENCODED_2"
    assert not any(way in f"{model.asked}{store.calls(calls.run_id)}" for way in WAYS)


async def test_control_other_encoded_texts_stop_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path / "rolecall.db")
    model = ScriptedModel(["I try.", "Again.", "And again."])
    calls = StoredCalls(
        model, store, store.add_run(tmp_path, "engineer", "", ""), covers=Covers(watched=("another one",))
    )
    talk = [ChatMessage("user", "Go.")]
    for way in WAYS[:2]:
        talk += [ChatMessage("assistant", (await calls.complete(talk)).text), ChatMessage("user", f"E  {way}")]
    assert (await calls.complete(talk)).text == "And again."
