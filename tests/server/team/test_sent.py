"""What was sent can be looked up: each item with its reason, what was left out, what was covered and used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rolecall_server.context.items import ContextItem, LeftOut
from rolecall_server.context.manifest import MANIFEST_JSON, manifest_of
from rolecall_server.context.pack import ContextPack
from rolecall_server.errors import ReplyCut
from rolecall_server.model import ChatMessage, Reply
from rolecall_server.store import Store
from rolecall_server.team.model_calls.budgeted import StoredCalls, fingerprint
from rolecall_server.team.model_calls.prices import Prices
from rolecall_server.team.sent import render_sent, sent_calls, sent_json
from support.scripted_model import ScriptedModel
from support.stores import open_store

SECRET = "ghp_" + "a1B2" * 9
OPENING = (ChatMessage("system", "You are the Engineer."), ChatMessage("user", f"KEY = '{SECRET}'\n" * 2))
AGAIN = (ChatMessage("assistant", "Done."), ChatMessage("user", "One test fails."))
PACKED = ContextPack(
    (ContextItem("shop/price.py", "the file to work on", "file", "x = 1\n", 1, 2),),
    (LeftOut("keys.py", "calls total", "body", 7, 0, ".aiignore keeps keys.py from any model."),),
    900,
)


async def asked(tmp_path: Path, *replies: str | Reply | BaseException) -> StoredCalls:
    """A run in which the model was asked once for each of *replies*, the second time with a turn more."""
    store = open_store(tmp_path / "rolecall.db")
    run_id = store.add_run(tmp_path, "engineer", "shop/price.py", "")
    calls = StoredCalls(ScriptedModel(replies), store, run_id, reply_tokens=100, prices=Prices(1_000, 2_000))
    manifest = MANIFEST_JSON.dump_json(manifest_of("Engineer", PACKED)).decode()
    store.add_manifest(run_id, manifest, fingerprint(OPENING))
    for n in range(len(replies)):
        try:
            await calls.complete([*OPENING, *(AGAIN * n)])
        except ReplyCut:
            continue
    return calls


def page(calls: StoredCalls) -> str:
    return render_sent(calls.store.run(calls.run_id), sent_calls(calls.store, calls.run_id))


async def test_a_call_is_told_with_its_items_what_was_left_out_and_what_it_used(tmp_path: Path) -> None:
    calls = await asked(tmp_path, Reply("Done.", "gpt-x", 300, 20))
    text = page(calls)
    assert "Engineer, shop/price.py. 1 call, 320 tokens, for 0.00034." in text
    assert "| shop/price.py | file | 2 | the file to work on |" in text
    assert "| keys.py:7 | body | ? | calls total | .aiignore keeps keys.py from any model. |" in text
    assert "The endpoint counted 300 tokens and 20 of its reply, for 0.00034." in text
    assert "1 secret was replaced by a name before it was sent: 1 GITHUB_TOKEN." in text
    assert SECRET not in text


async def test_a_call_that_goes_on_shows_only_what_is_new(tmp_path: Path) -> None:
    first, second = sent_calls(*where(await asked(tmp_path, "Done.", "Mended.")))
    assert (first.begun_by, second.begun_by) == (1, 1)
    assert [turn.is_new for turn in first.turns] == [True, True]
    assert [turn.is_new for turn in second.turns] == [False, False, True, True]
    assert first.kept_share == 0
    assert second.kept_share > 0.5
    assert second.manifest == first.manifest


async def test_a_call_that_failed_says_so_and_what_is_set_down_for_it(tmp_path: Path) -> None:
    text = page(await asked(tmp_path, ReplyCut("half")))
    assert "It failed: ReplyCut: half" in text
    assert "No reply came;" in text


async def test_conversations_of_one_run_have_manifests_of_their_own(tmp_path: Path) -> None:
    calls = await asked(tmp_path, "Done.")
    await replace(calls, client=ScriptedModel(["Yes."])).complete([ChatMessage("user", "something else")])
    first, other = sent_calls(*where(calls))
    assert first.manifest is not None
    assert other.manifest is None


async def test_programs_get_the_same(tmp_path: Path) -> None:
    calls = await asked(tmp_path, Reply("Done.", "gpt-x", 300, 20))
    (call,) = sent_json(sent_calls(*where(calls)))
    assert call["covered"] == {"GITHUB_TOKEN": 1}
    assert (call["promptTokens"], call["completionTokens"], call["cost"]) == (300, 20, 0.00034)
    assert call["manifest"]["shown"][0]["path"] == "shop/price.py"
    assert call["manifest"]["left_out"][0]["why"] == ".aiignore keeps keys.py from any model."


def where(calls: StoredCalls) -> tuple[Store, str]:
    return calls.store, calls.run_id
