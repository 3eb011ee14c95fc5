"""A change that no test notices and that breaks a caller: repaired once, then shown for what it is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.chat_server import ChatServer
from support.edits import block
from support.patience import PATIENCE_S
from support.workspaces import FILES, environment, write_workspace


def renamed_in(path: str) -> str:
    """The edit that writes ``sum_of`` for ``total`` all through a file."""
    return block(path, FILES[path], FILES[path].replace("total(", "sum_of(").replace("import total", "import sum_of"))


RENAMED = renamed_in("shop/price.py") + renamed_in("tests/test_price.py")
CALLER = renamed_in("shop/cart.py")
NOTHING_MORE = block("shop/price.py", '"""Prices."""\n', '"""The prices."""\n')


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


def implement(root: Path, replies: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """What the command says of a rename in JSON, and the last words of each request to the model."""
    with ChatServer(list(replies)) as chat:
        ended = subprocess.run(
            [sys.executable, "-I", "-m", "rolecall_server", "implement", "call it sum_of", "--json"],
            cwd=root,
            env=environment(root.parent / "home", chat.base_url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert ended.stdout, ended.stderr
        return json.loads(ended.stdout), [request["messages"][-1]["content"] for request in chat.asked]


def test_a_caller_that_was_forgotten_is_told_to_the_model_which_mends_it(root: Path) -> None:
    said, asked = implement(root, [RENAMED, CALLER])
    assert "- shop/price.py, line 4: 'total' is now 'sum_of', and still used in one place." in asked[1]
    assert "    shop/cart.py, line 1: from shop.price import total" in asked[1]
    assert said["proposal"]["evidence"]["findings"] == []
    assert said["proposal"]["evidence"]["repairs"] == 1
    hunks = {
        hunk["id"]: (change["path"], hunk["symbol"], hunk["needs"])
        for change in said["proposal"]["files"]
        for hunk in change["hunks"]
    }
    (definition,) = (hunk for hunk, (path, *_) in hunks.items() if path == "shop/price.py")
    callers = [hunk for hunk, (path, *_) in hunks.items() if path != "shop/price.py"]
    assert hunks[definition][1:] == ("sum_of", callers)
    assert all(definition in hunks[caller][2] for caller in callers)


def test_a_caller_that_stays_forgotten_is_shown_with_the_proposal(root: Path) -> None:
    said, asked = implement(root, [RENAMED, NOTHING_MORE])
    (found,) = said["proposal"]["evidence"]["findings"]
    assert len(asked) == 2
    assert (found["kind"], found["path"], found["certain"]) == ("missing symbol", "shop/price.py", True)
    assert found["places"] == [{"path": "shop/cart.py", "line": 0, "text": "from shop.price import total"}]
