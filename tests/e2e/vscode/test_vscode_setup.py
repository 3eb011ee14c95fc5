"""Beginning in a real VS Code: from no model to one that was chosen, and a question of the team answered late."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rolecall_server.model import ChatMessage
from support.chat_server import MODEL, ChatServer
from support.shop_team import BRIEF, REQUIREMENTS, shop_speeches
from support.team_model import fenced, who_is_asked
from support.workspaces import write_workspace

KEY = "sk-kept-in-the-editor-0123456789"
QUESTION = {"id": "Q1", "title": "Is the tax in the price?", "options": ["yes", "no"], "recommended": "no"}
ANSWER = "only for books"


def test_from_no_model_to_a_proposal_of_the_team_whose_question_was_answered_late(
    machine: Path,
    play: Callable[[str, Mapping[str, object]], Mapping[str, str]],
    start_code_server: Callable[[Mapping[str, object], Mapping[str, str]], str],
) -> None:
    root, heard = write_workspace(machine / "work"), list[str]()
    speeches: Mapping[str, Any] = shop_speeches(
        Product_Manager=[fenced({**REQUIREMENTS, "questions": [QUESTION]}), fenced(REQUIREMENTS)]
    )
    asked: list[str] = []

    def answer(body: Mapping[str, Any]) -> str:
        heard.extend(str(one["content"]) for one in body["messages"])
        messages = [ChatMessage(one["role"], str(one["content"])) for one in body["messages"]]
        if "You are" not in messages[0].text:
            return "ok"  # it is tried what the model can do
        who = who_is_asked(messages)
        asked.append(who)
        said: Any = speeches[who]
        return said[min(asked.count(who), len(said)) - 1] if isinstance(said, list) else said

    with ChatServer(answer) as model:
        address = start_code_server(
            {
                "rolecall.server.interpreter": sys.executable,
                "rolecall.tests.run": False,
                "rolecall.model.probeLocal": False,
                "rolecall.team.questionSeconds": 0.01,
            },
            {},
        )
        created = [root / "shop" / "receipt.py", root / "tests" / "test_tax.py"]
        report = play(
            "setup.mjs",
            {
                "url": f"{address}/?folder={root}",
                "open": ["shop", "price.py"],
                "address": model.base_url,
                "key": KEY,
                "model": MODEL,
                "brief": f"{BRIEF}\n\n" + "- with a tax\n" * 9,
                "question": QUESTION["title"],
                "answer": ANSWER,
                "created": [str(file) for file in created],
            },
        )
        assert {request.headers.get("authorization") for request in model.requests} == {f"Bearer {KEY}"}
    assert any(ANSWER in words for words in heard)
    assert report["written"].splitlines() == [str(file) for file in created]
    assert all(file.read_text() for file in created), "a file that was accepted is never empty on disk"
    kept = [file for file in machine.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
    assert [file for file in kept if file.suffix in {".json", ".log"}] == []
