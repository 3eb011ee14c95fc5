"""The main job over stdio: a command, a proposal with evidence, accept or reject."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lsprotocol import types

from support.chat_server import ChatServer, Script, Turn, holds, says
from support.editor import Editor, Encoding, capabilities, editing, until, value_of
from support.edits import block
from support.workspaces import FILES, GOOD_TESTS, contents, environment, write_workspace

ADD_TAX = """\
I add `tax`.

FILE: shop/price.py
<<<<<<< SEARCH
    return sum(items)
=======
    return sum(items)


def tax(price):
    \"\"\"A fifth of the price.\"\"\"
    return price * 0.2
>>>>>>> REPLACE
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


@contextlib.asynccontextmanager
async def session(root: Path, script: Script) -> AsyncIterator[tuple[Editor, ChatServer]]:
    with ChatServer(script) as chat:
        async with editing(root, environment(root.parent / "home", chat.base_url)) as editor:
            yield editor, chat


async def test_tests_for_a_file_become_hunks_with_evidence_and_one_is_accepted_exactly(root: Path) -> None:
    before = contents(root)
    async with session(root, GOOD_TESTS) as (editor, chat):
        uri = editor.open("shop/price.py")
        editor.open("tests/test_price.py")
        ended = await editor.run("rolecall.tests.generate", uri=uri)
        assert ended["state"] == "finished", editor.messages
        hunks = editor.hunks("tests/test_price.py")
        assert list(hunks) == ["p1/h1", "p1/h2", "p1/h3", "p1/h4"]
        message = hunks["p1/h2"].message
        assert "4 passed, 0 failed (before: 1 passed, 0 failed)" in message
        assert "coverage of shop/price.py 38% -> 100%" in message
        assert contents(root) == before, "nothing is written before a decision"
        assert "shop/price.py (the file to work on)" in chat.asked[0]["messages"][1]["content"]

        line = hunks["p1/h2"].range.start.line
        actions = await editor.actions("tests/test_price.py", line)
        accept = next(action for title, action in actions.items() if title.startswith("Rolecall: accept h2"))
        await editor.choose(accept)
        await until(lambda: "p1/h2" not in editor.hunks("tests/test_price.py"))
        expected = FILES["tests/test_price.py"] + "\n\ndef test_total_adds():\n    assert total([1, 2]) == 3\n"
        assert editor.text("tests/test_price.py") == expected
        assert contents(root) == before, "the editor saves, not the server"


async def test_a_hunk_brings_the_import_it_needs_and_says_so(root: Path) -> None:
    async with session(root, GOOD_TESTS) as (editor, chat):
        uri = editor.open("shop/price.py")
        editor.open("tests/test_price.py")
        await editor.run("rolecall.tests.generate", uri=uri)
        line = editor.hunks("tests/test_price.py")["p1/h4"].range.start.line
        actions = await editor.actions("tests/test_price.py", line)
        title = next((title for title in actions if title.startswith("Rolecall: accept h4")), str(list(actions)))
        assert title.endswith(", with h1, which it needs")
        await editor.choose(actions[title])
        await until(lambda: set(editor.hunks("tests/test_price.py")) == {"p1/h2", "p1/h3"})
        assert editor.text("tests/test_price.py").startswith(
            "import pytest\n\nfrom shop.price import discount, total\n"
        )
        assert editor.text("tests/test_price.py").endswith("        discount(1, 2)\n")


async def test_a_rejected_hunk_leaves_every_byte(root: Path) -> None:
    before = contents(root)
    async with session(root, GOOD_TESTS) as (editor, chat):
        uri = editor.open("shop/price.py")
        editor.open("tests/test_price.py")
        await editor.run("rolecall.tests.generate", uri=uri)
        for hunk_id in ("h1", "h2", "h3", "h4"):
            await editor.execute("rolecall.hunk.reject", proposalId="p1", hunkId=hunk_id)
        await until(lambda: not editor.hunks("tests/test_price.py"))
        assert editor.text("tests/test_price.py") == FILES["tests/test_price.py"]
        assert not editor.edits
    assert contents(root) == before


async def test_a_change_under_a_proposal_makes_its_hunk_stale_and_undoing_it_brings_the_hunk_back(root: Path) -> None:
    async with session(root, GOOD_TESTS) as (editor, chat):
        uri = editor.open("shop/price.py")
        editor.open("tests/test_price.py")
        await editor.run("rolecall.tests.generate", uri=uri)
        original = editor.text("tests/test_price.py")
        editor.replace_text("tests/test_price.py", original.replace("import total", "import total as t"))
        await until(lambda: "p1/h1" not in editor.hunks("tests/test_price.py"))
        reply = await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        assert value_of(reply, "error") is None
        await until(lambda: any("changed since it was proposed" in message for message in editor.messages))
        assert not editor.edits
        editor.replace_text("tests/test_price.py", original)
        await until(lambda: "p1/h1" in editor.hunks("tests/test_price.py"))


async def test_typing_elsewhere_moves_the_hunks_along(root: Path) -> None:
    async with session(root, ADD_TAX) as (editor, chat):
        uri = editor.open("shop/price.py")
        await editor.run("rolecall.brief.implement", uri=uri, brief="Add a tax of a fifth.")
        editor.type_at("shop/price.py", '"""Prices."""', "# typed 𝄞 above\n")
        await editor.execute("rolecall.proposal.accept", proposalId="p1")
        await until(lambda: "def tax" in editor.text("shop/price.py"))
        expected = FILES["shop/price.py"].replace(
            "sum(items)\n", 'sum(items)\n\n\ndef tax(price):\n    """A fifth of the price."""\n    return price * 0.2\n'
        )
        assert editor.text("shop/price.py") == "# typed 𝄞 above\n" + expected


async def test_cancelling_in_the_middle_of_a_model_call_leaves_nothing_behind(root: Path) -> None:
    before, temporary = contents(root), root.parent / "home" / "tmp"
    never = threading.Event()
    async with session(root, [holds(GOOD_TESTS, never)]) as (editor, chat):
        uri = editor.open("shop/price.py")
        reply = await editor.execute("rolecall.tests.generate", uri=uri)
        await asyncio.to_thread(chat.wait_until_asked)
        editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(editor.progress_token))
        run_id = value_of(reply, "runId")
        await until(lambda: run_id in editor.ended_runs)
        assert editor.ended_runs[run_id]["state"] == "cancelled"
        assert await asyncio.to_thread(chat.disconnected.wait, 5)
        assert editor.process.children(recursive=True) == []
        assert not list(temporary.iterdir())
        assert len(chat.asked) == 1
        assert not editor.messages, "the developer cancelled and need not be told"
        assert not editor.hunks("shop/price.py")
    assert contents(root) == before


async def test_a_run_can_be_cancelled_by_its_id_and_the_next_one_works(root: Path) -> None:
    async with session(root, [holds(GOOD_TESTS, threading.Event()), GOOD_TESTS]) as (editor, chat):
        uri = editor.open("shop/price.py")
        reply = await editor.execute("rolecall.tests.generate", uri=uri)
        await asyncio.to_thread(chat.wait_until_asked)
        await editor.execute("rolecall.run.cancel", runId=value_of(reply, "runId"))
        await until(lambda: editor.ended_runs)
        assert (await editor.run("rolecall.tests.generate", uri=uri))["state"] == "finished"


async def test_failing_tests_are_repaired_before_anything_is_shown(root: Path) -> None:
    wrong = GOOD_TESTS.replace("== 9", "== 8")
    repair = block("tests/test_price.py", "    assert discount(10) == 8\n", "    assert discount(10) == 9\n")
    async with session(root, [wrong, repair]) as (editor, chat):
        await editor.run("rolecall.tests.generate", uri=editor.open("shop/price.py"))
        message = editor.hunks("tests/test_price.py")["p1/h3"].message
        assert "4 passed, 0 failed" in message
        feedback = chat.asked[1]["messages"][-1]["content"]
        assert "test_discount_takes_a_tenth" in feedback
        assert "assert 9.0 == 8" in feedback
        assert str(root) not in feedback


async def test_what_cannot_be_repaired_is_left_out_and_said(root: Path) -> None:
    wrong = GOOD_TESTS.replace("== 9", "== 8")
    again = block("tests/test_price.py", "    assert discount(10) == {}\n", "    assert discount(10) == {}\n")
    script: list[str | Turn] = [wrong, *(again.format(n, n - 1) for n in (8, 7, 6))]
    async with session(root, script) as (editor, chat):
        await editor.run("rolecall.tests.generate", uri=editor.open("shop/price.py"))
        assert len(chat.asked) == 4, "one attempt and three repairs"
        hunks = editor.hunks("tests/test_price.py")
        assert "3 passed, 0 failed" in hunks["p1/h3"].message
        assert not any("test_discount_takes_a_tenth" in hunk.message for hunk in hunks.values())
        shown = await editor.execute("rolecall.proposal.show", proposalId="p1")
        assert "# Left out: tests/test_price.py::test_discount_takes_a_tenth: fails: " in value_of(shown, "text")


async def test_unsaved_text_is_what_the_model_sees_and_what_is_run(root: Path) -> None:
    async with session(root, GOOD_TESTS.replace("== 9", "== 5")) as (editor, chat):
        uri = editor.open("shop/price.py", FILES["shop/price.py"].replace("rate=0.1", "rate=0.5"))
        ended = await editor.run("rolecall.tests.generate", uri=uri)
        assert ended["state"] == "finished"
        assert "rate=0.5" in chat.asked[0]["messages"][1]["content"]
        assert "4 passed, 0 failed" in editor.hunks("tests/test_price.py")["p1/h1"].message


async def test_a_new_test_file_is_offered_on_the_tested_file_and_created_by_the_editor(root: Path) -> None:
    (root / "tests" / "test_price.py").unlink()
    reply = block(
        "tests/test_price.py", "", "from shop.price import total\n\n\ndef test_total():\n    assert total([1]) == 1\n"
    )
    async with session(root, reply) as (editor, chat):
        await editor.run("rolecall.tests.generate", uri=editor.open("shop/price.py"))
        assert set(editor.hunks("shop/price.py")) == {"p1/h1", "p1/h2"}
        await editor.execute("rolecall.file.accept", proposalId="p1", path="tests/test_price.py")
        await until(lambda: not editor.hunks("shop/price.py"))
        assert (
            editor.text("tests/test_price.py")
            == "from shop.price import total\n\n\ndef test_total():\n    assert total([1]) == 1\n"
        )


@pytest.mark.parametrize("encoding", [Encoding.Utf8, Encoding.Utf16, Encoding.Utf32])
async def test_edits_are_exact_in_every_position_encoding_and_line_ending(root: Path, encoding: Encoding) -> None:
    text = 'NAME = "𝄞é"\r\nx = 1\r\nTAIL = "ünï"  # 😀 no newline at the end'
    (root / "shop" / "odd.py").write_bytes(b"\xef\xbb\xbf" + text.encode())
    reply = block("shop/odd.py", 'TAIL = "ünï"  # 😀 no newline at the end\n', 'TAIL = "𝄞"  # 😀\n')
    with ChatServer(reply) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        async with editing(root, environ, client_capabilities=capabilities(encodings=[encoding])) as editor:
            assert editor.encoding == encoding
            uri = editor.open("shop/odd.py")
            editor.type_at("shop/odd.py", "é", "😀")
            await editor.run("rolecall.brief.implement", uri=uri, brief="Another tail.")
            await editor.execute("rolecall.proposal.accept")
            await until(lambda: not editor.hunks("shop/odd.py"))
            assert editor.text("shop/odd.py") == 'NAME = "𝄞😀é"\r\nx = 1\r\nTAIL = "𝄞"  # 😀'


async def test_an_editor_that_refuses_the_edit_is_told_and_the_hunk_stays(root: Path) -> None:
    async with session(root, ADD_TAX) as (editor, chat):
        uri = editor.open("shop/price.py")
        await editor.run("rolecall.brief.implement", uri=uri, brief="Add a tax.")
        editor.answer_to_edit = lambda edit: types.ApplyWorkspaceEditResult(applied=False, failure_reason="read-only")
        await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
        await until(lambda: any("read-only" in message for message in editor.messages))
        assert "p1/h1" in editor.hunks("shop/price.py")


async def test_an_editor_without_document_changes_gets_plain_ones(root: Path) -> None:
    with ChatServer(ADD_TAX) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        async with editing(root, environ, client_capabilities=capabilities(document_changes=False)) as editor:
            uri = editor.open("shop/price.py")
            await editor.run("rolecall.brief.implement", uri=uri, brief="Add a tax.")
            await editor.execute("rolecall.proposal.accept")
            await until(lambda: "def tax" in editor.text("shop/price.py"))
            assert editor.edits[0].document_changes is None


async def test_asking_again_puts_the_earlier_proposal_for_the_same_thing_aside(root: Path) -> None:
    async with session(root, GOOD_TESTS) as (editor, chat):
        uri = editor.open("shop/price.py")
        editor.open("tests/test_price.py")
        await editor.run("rolecall.tests.generate", uri=uri)
        await editor.run("rolecall.tests.generate", uri=uri, symbol="total")
        await editor.run("rolecall.tests.generate", uri=uri)
        shown = {code.partition("/")[0] for code in editor.hunks("tests/test_price.py")}
        assert shown == {"p2", "p3"}, "p2 is about something else"


async def test_a_proposal_outlives_the_server(root: Path) -> None:
    async with session(root, ADD_TAX) as (editor, chat):
        await editor.run("rolecall.brief.implement", uri=editor.open("shop/price.py"), brief="Add a tax.")
        editor.kill()
    with ChatServer("") as chat:
        async with editing(root, environment(root.parent / "home", chat.base_url)) as editor:
            editor.open("shop/price.py")
            await until(lambda: "p1/h1" in editor.hunks("shop/price.py"))
            await editor.execute("rolecall.hunk.accept", proposalId="p1", hunkId="h1")
            await until(lambda: "def tax" in editor.text("shop/price.py"))


async def test_the_engineer_asks_for_a_brief_or_finds_it_in_a_comment(root: Path) -> None:
    async with session(root, says(ADD_TAX)) as (editor, chat):
        text = FILES["shop/price.py"] + "\n# ROLECALL: add a tax of a fifth\n"
        uri = editor.open("shop/price.py", text)
        line = text.count("\n") - 1
        actions = await editor.actions("shop/price.py", line)
        assert "Rolecall: implement “add a tax of a fifth”" in actions
        await editor.choose(actions["Rolecall: implement “add a tax of a fifth”"])
        await until(lambda: len(editor.ended_runs) == 1)
        assert "add a tax of a fifth" in chat.asked[0]["messages"][1]["content"].rpartition("# Your task")[2]
        editor.brief = "typed by the developer"
        await editor.run("rolecall.brief.implement", uri=uri)
        assert "typed by the developer" in chat.asked[1]["messages"][1]["content"]
