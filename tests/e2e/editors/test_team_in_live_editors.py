"""The whole team in editors that people use: a brief written in a document, a plan and a larger change asked about."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rolecall_server.lsp.writing import HOLD
from rolecall_server.model import ChatMessage
from support.chat_server import ChatServer
from support.live_editor import PRICE, LiveEditor, Program, files, running, write_commented
from support.patience import PATIENCE_S
from support.shop_team import BRIEF, large_speeches
from support.team_model import who_is_asked
from support.workspaces import environment

LONG_BRIEF = f"{BRIEF}\n\n" + "- with a tax\n" * 9


def page_of(editor: LiveEditor) -> Path:
    """The document in which the editor was asked to write, which it shows or is told of."""
    found: list[str] = []

    def look() -> bool:
        seen = f"{editor.ask('shown')}\n{editor.ask('messages')}".replace("\n", " ")
        found[:] = re.findall(r"/[^\s'`]*brief[\w-]*\.md", seen)
        return bool(found)

    editor.until(look)
    return Path(found[0])


def test_a_task_of_a_larger_change_is_left_out_before_anybody_writes_code(program: Program, tmp_path: Path) -> None:
    root = write_commented(tmp_path / "work")
    speeches, asked, tasks_may_be_cut = large_speeches(), list[str](), threading.Event()

    def answer(body: Mapping[str, Any]) -> str:
        who = who_is_asked([ChatMessage(one["role"], one["content"]) for one in body["messages"]])
        asked.append(who)
        if who == "Project Manager":
            assert tasks_may_be_cut.wait(PATIENCE_S)
        said = speeches[who]
        assert isinstance(said, str)
        return said

    before = files(root)
    with ChatServer(answer) as chat, running(program, root, environment(tmp_path / "home", chat.base_url)) as editor:
        editor.open(root / PRICE)
        editor.ask("reply_next", "The whole team")
        editor.ask("command", "run.start")
        page = page_of(editor)
        below = [line for line in page.read_text().splitlines() if not line.startswith(HOLD)]
        editor.ask("write", str(page), LONG_BRIEF + "\n".join(below))
        editor.until(lambda: "the middle way" in editor.ask("question"))
        editor.ask("reply_next", "leave out T3")
        tasks_may_be_cut.set()
        editor.until(lambda: "S1 changes 4 files in 4 tasks." in editor.ask("question"))
        assert "T3 carts with tax: shop/cart.py" in editor.ask("question")
        editor.until(lambda: set(editor.hunks(root / PRICE)) >= {"p1/h1"})
    assert {who for who in asked if who.startswith("Engineer T")} == {"Engineer T1", "Engineer T2", "Engineer T4"}
    assert files(root) == before
