"""The whole team from an editor: a plan, questions, messages one can look at, documents one can edit."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from rolecall_server.model import ChatMessage
from rolecall_server.team.sprint.change_plan import STOP
from support.chat_server import ChatServer
from support.editor import Editor, editing, rich_capabilities, until, value_of
from support.shop_team import BRIEF, REQUIREMENTS, large_speeches, shop_speeches
from support.team_model import fenced, who_is_asked
from support.workspaces import contents, environment, write_workspace

EVERYBODY = "product_manager,architect,project_manager,engineer,qa_engineer,reviewer"
LONG_BRIEF = f"{BRIEF}\n\n" + "- with a tax\n" * 9
QUESTION = {"id": "Q1", "title": "Is the tax in the price?", "options": ["yes", "no"], "recommended": "no"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


@contextlib.asynccontextmanager
async def session(
    root: Path,
    speeches: Mapping[str, Any] | None = None,
    *,
    keeps_questions: bool = False,
    heard: list[str] | None = None,
    **others: Any,
) -> AsyncIterator[tuple[Editor, list[str]]]:
    """An editor on the shop, whose team says what `shop_team` has them say; and who was asked."""
    speeches, asked = speeches or shop_speeches(**others), list[str]()

    def answer(body: Mapping[str, Any]) -> str:
        who = who_is_asked([ChatMessage(one["role"], one["content"]) for one in body["messages"]])
        asked.append(who)
        if heard is not None:
            heard.extend(str(one["content"]) for one in body["messages"])
        said = speeches[who]
        said = said[min(asked.count(who), len(said)) - 1] if isinstance(said, list) else said
        assert isinstance(said, str)
        return said

    with ChatServer(answer) as chat:
        environ = environment(root.parent / "home", chat.base_url)
        settings: dict[str, Any] = {"tests": {"run": False}}
        able = rich_capabilities()
        if keeps_questions:
            able.experimental, settings["team"] = {"rolecall": {"questions": True}}, {"questionSeconds": 0.01}
        async with editing(root, environ, settings, able) as editor:
            editor.open("shop/price.py")
            yield editor, asked


async def test_a_brief_becomes_a_proposal_whose_messages_can_be_read(root: Path) -> None:
    before = contents(root)
    async with session(root) as (editor, asked):
        ended = await editor.run("rolecall.run.start", brief=BRIEF, roles=EVERYBODY.split(","))
        assert (ended["state"], ended["proposalId"]) == ("finished", "p1")
        assert len(asked) == 7
        assert set(editor.hunks("shop/price.py")) == {"p1/h1"}
        told = await editor.client.protocol.send_request_async("rolecall/messages", {"runId": ended["runId"]})
        kinds = [value_of(one, "kind") for one in value_of(told, "messages")]
        assert kinds[:4] == ["plan", "brief", "understanding", "requirements"]
        page = await editor.client.workspace_text_document_content_async(
            types.TextDocumentContentParams(f"rolecall-proposal:/{ended['runId']}.txt")
        )
        assert [one["kind"] for one in editor.team_messages][:2] == ["requirements", "answers"]
        assert "architect: design v1 (d3), because of m2, m3, m4, m5; read by project_manager" in page.text
    assert contents(root) == before


async def test_a_small_brief_goes_straight_to_the_engineer(root: Path) -> None:
    async with session(root, Engineer=shop_speeches()["Engineer T1"]) as (editor, asked):
        ended = await editor.run("rolecall.run.start", brief="Let total take a tax.")
        assert (ended["state"], asked) == ("finished", ["Engineer"])
        assert any("straight to the Engineer" in message for message in editor.messages)


async def test_a_large_brief_is_begun_only_once_the_developer_has_seen_the_plan(root: Path) -> None:
    async with session(root) as (editor, asked):
        editor.answer_to_question = lambda question: "Nobody"
        reply = await editor.execute("rolecall.run.start", brief=LONG_BRIEF)
        assert value_of(reply, "runId") == ""
        assert asked == []
        (question,) = editor.questions
        assert "The brief is beyond a page (51 words, 9 wishes): the middle way" in question
        assert "middle 5 calls, " in question
        editor.answer_to_question = lambda question: "The whole team"
        ended = await editor.run("rolecall.run.start", brief=LONG_BRIEF)
        assert ended["state"] == "finished"
        assert "Architect" in asked


async def test_a_way_that_is_named_is_gone_without_a_question(root: Path) -> None:
    async with session(root, Engineer=shop_speeches()["Engineer T1"]) as (editor, asked):
        ended = await editor.run("rolecall.run.start", brief=LONG_BRIEF, way="middle")
        assert (ended["state"], editor.questions) == ("finished", [])
        assert asked[:3] == ["Product Manager", "Engineer", "QA Engineer"]
        reply = await editor.execute("rolecall.run.start", brief=BRIEF, way="around")
        assert value_of(reply, "message") == "There is no way around. There are engineer, middle, team."


async def test_of_a_brief_of_some_length_the_plan_is_seen_first_too(root: Path) -> None:
    async with session(root, Engineer=shop_speeches()["Engineer T1"]) as (editor, asked):
        editor.answer_to_question = lambda question: "The Engineer alone"
        ended = await editor.run("rolecall.run.start", brief=f"{BRIEF} Round nothing. Keep what is there.")
        assert "straight to the Engineer. Each way may take about: engineer 1 call" in editor.questions[0]
        assert (ended["state"], asked) == ("finished", ["Engineer"])


async def test_questions_are_asked_in_the_editor_and_silence_is_said(root: Path) -> None:
    asks = fenced({**REQUIREMENTS, "questions": [QUESTION]})
    async with session(root, Product_Manager=[asks, fenced(REQUIREMENTS)]) as (editor, asked):
        editor.answer_to_question = lambda question: "yes"
        await editor.run("rolecall.run.start", brief=BRIEF, roles=EVERYBODY)
        assert "Is the tax in the price? (recommended: no)" in editor.questions[0]
        assert asked.count("Product Manager") == 2
    (root.parent / "home").rename(root.parent / "earlier")
    async with session(root, Product_Manager=asks) as (editor, asked):
        await editor.run("rolecall.run.start", brief=BRIEF, roles=EVERYBODY)
        assert asked.count("Product Manager") == 1
        assert any("what was recommended holds" in message for message in editor.messages)


async def test_an_editor_that_keeps_questions_brings_the_developers_own_words_however_late(root: Path) -> None:
    asks = fenced({**REQUIREMENTS, "questions": [QUESTION]})
    heard: list[str] = []
    async with session(root, heard=heard, keeps_questions=True, Product_Manager=[asks, fenced(REQUIREMENTS)]) as (
        editor,
        asked,
    ):
        running = asyncio.ensure_future(editor.run("rolecall.run.start", brief=BRIEF, roles=EVERYBODY))
        await until(lambda: editor.answered is not None)
        assert editor.kept_questions == [
            {"question": "Is the tax in the price?", "answers": ["no", "yes"], "recommended": "no"}
        ]
        assert not editor.ended_runs
        assert editor.answered is not None
        editor.answered.set_result("only for books")
        await running
        assert any("only for books" in words for words in heard)
        assert asked.count("Product Manager") == 2
        assert not any("nobody answered" in message for message in editor.messages)


async def test_a_task_of_a_larger_change_is_left_out_in_the_editor(root: Path) -> None:
    async with session(root, speeches=large_speeches()) as (editor, asked):
        editor.answer_to_question = lambda question: "leave out T3"
        ended = await editor.run("rolecall.run.start", brief=BRIEF, roles=EVERYBODY)
        assert "S1 changes 4 files in 4 tasks. T1 tax in total: shop/price.py;" in editor.questions[0]
        assert "T3 carts with tax: shop/cart.py" in editor.questions[0]
        assert (ended["state"], ended["proposalId"]) == ("finished", "p1")
        assert sorted(who for who in asked if who.startswith("Engineer T")) == [
            "Engineer T1",
            "Engineer T2",
            "Engineer T4",
        ]
        assert not editor.hunks("shop/cart.py")


async def test_a_larger_change_waits_while_the_developer_edits_its_tasks(root: Path) -> None:
    async with session(root, speeches=large_speeches()) as (editor, asked):
        editor.answer_to_question = lambda question: STOP
        ended = await editor.run("rolecall.run.start", brief=BRIEF, roles=EVERYBODY)
        assert ended["state"] == "paused"
        assert any("--drop T2" in message for message in editor.messages)
        assert not [who for who in asked if who.startswith("Engineer")]
        del editor.ended_runs[ended["runId"]]
        ended = await editor.run("rolecall.run.resume", runId=ended["runId"], drop=["T2", "T3"])
        assert ended["state"] == "finished"
        assert sorted(who for who in asked if who.startswith("Engineer T")) == ["Engineer T1", "Engineer T4"]


async def test_a_document_that_is_edited_has_its_readers_work_again(root: Path) -> None:
    async with session(root) as (editor, asked):
        ended = await editor.run("rolecall.run.start", brief=BRIEF, roles=EVERYBODY)
        told = await editor.client.protocol.send_request_async("rolecall/messages", {"runId": ended["runId"]})
        design = next(value_of(m, "document") for m in value_of(told, "messages") if value_of(m, "kind") == "design")
        shown = await editor.execute("rolecall.document.show", documentId=design)
        page = Path(str(value_of(shown, "uri")).removeprefix("file://"))
        page.write_text(page.read_text().replace("A keyword argument", "An optional argument"))
        identifier = types.TextDocumentIdentifier(page.as_uri())
        editor.client.text_document_did_save(types.DidSaveTextDocumentParams(identifier))
        await until(lambda: any("rolecall.run.resume" in message for message in editor.messages))
        n_before = len(asked)
        del editor.ended_runs[ended["runId"]]
        await editor.run("rolecall.run.resume", runId=ended["runId"])
        assert sorted(asked[n_before:]) == ["Engineer T1", "Engineer T2", "Project Manager", "QA Engineer", "Reviewer"]


async def test_a_run_is_paused_and_taken_up_again(root: Path) -> None:
    async with session(root) as (editor, asked):
        reply = await editor.execute("rolecall.run.start", brief=BRIEF, roles=EVERYBODY)
        run_id = value_of(reply, "runId")
        await editor.execute("rolecall.run.pause", runId=run_id)
        await until(lambda: run_id in editor.ended_runs)
        assert editor.ended_runs.pop(run_id)["state"] == "paused"
        ended = await editor.run("rolecall.run.resume")
        assert (ended["runId"], ended["state"]) == (run_id, "finished")
        assert len(asked) == 7


async def test_reasons_wait_as_rules_once_everything_is_decided(root: Path) -> None:
    async with session(root) as (editor, _):
        await editor.run("rolecall.run.start", brief=BRIEF, roles=EVERYBODY)
        await editor.execute("rolecall.proposal.reject", proposalId="p1", reason="Round the tax.")
        await until(lambda: any("your reasons can be rules" in message for message in editor.messages))
        rules = root / ".rolecall/rules/engineer.md"
        assert not rules.exists()
        editor.answer_to_question = lambda question: "Change it"
        await editor.execute("rolecall.proposal.accept", proposalId="p2")
        await until(lambda: any("engineer.md, which is guarded" in question for question in editor.questions))
        await until(lambda: rules.as_uri() in editor.buffers or rules.exists())


async def decide_without_the_receipt(editor: Editor) -> str:
    """Have the team without its QA Engineer do both tasks, and accept one; the run."""
    ended = await editor.run("rolecall.run.start", brief=BRIEF, roles=EVERYBODY.partition(",qa")[0])
    await editor.execute("rolecall.file.reject", proposalId="p1", path="shop/receipt.py")
    await editor.execute("rolecall.proposal.accept", proposalId="p1")
    await until(lambda: not editor.hunks("shop/price.py"))
    return str(editor.ended_runs.pop(ended["runId"])["runId"])


async def test_a_task_that_is_missing_is_asked_about_and_done_where_that_is_wanted(root: Path) -> None:
    async with session(root) as (editor, asked):
        run_id = await decide_without_the_receipt(editor)
        n_before = len(asked)
        editor.answer_to_question = lambda question: "Leave it"
        await editor.run("rolecall.run.resume")
        assert "T2 is not done: shop/receipt.py does not exist" in editor.questions[-1]
        assert asked[n_before:] == []
        editor.answer_to_question = lambda question: "Have it done"
        del editor.ended_runs[run_id]
        ended = await editor.run("rolecall.run.resume")
        assert (ended["runId"], ended["proposalId"], asked[n_before:]) == (run_id, "p2", ["Engineer T2"])


async def test_a_task_that_is_missing_is_taken_up_where_its_document_describes_it(root: Path) -> None:
    async with session(root) as (editor, asked):
        run_id = await decide_without_the_receipt(editor)
        n_before, n_asked = len(asked), len(editor.questions)
        told = await editor.client.protocol.send_request_async("rolecall/messages", {"runId": run_id})
        tasks = next(value_of(m, "document") for m in value_of(told, "messages") if value_of(m, "kind") == "task list")
        shown = await editor.execute("rolecall.document.show", documentId=tasks)
        page = str(value_of(shown, "uri")).removeprefix("file://")
        editor.open(page)
        lines = editor.text(page).splitlines()
        done, missing = (lines.index(next(one for one in lines if one.startswith(f"### T{n}"))) for n in (1, 2))
        assert await editor.actions(page, done) == {}
        actions = await editor.actions(page, missing)
        offered = actions[f"Rolecall: have done what is missing in {run_id} (T2)"]
        await editor.choose(await editor.client.code_action_resolve_async(offered))
        await until(lambda: run_id in editor.ended_runs)
        assert (editor.ended_runs[run_id]["proposalId"], asked[n_before:]) == ("p2", ["Engineer T2"])
        assert len(editor.questions) == n_asked, "the action says that it is wanted"
