"""`rolecall.review` in an editor: possible faults as diagnostics, judged when the run ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from support.chat_server import ChatServer
from support.editor import Editor, editing, until, value_of
from support.edits import block
from support.workspaces import TWO_FAULTS, environment, write_workspace

JUDGED = "c1: real\nbecause: with an empty text nothing matches\n\nc2: not real\nbecause: nobody calls it twice"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work", {"price.py": TWO_FAULTS, "notes.txt": "nothing\n"})


def told(editor: Editor) -> dict[str, types.Diagnostic]:
    shown = editor.client.diagnostics.get((editor.root / "price.py").as_uri(), ())
    return {str(one.code): one for one in shown}


async def test_what_a_model_calls_real_becomes_a_warning_with_the_way_to_it(root: Path) -> None:
    with ChatServer([JUDGED, JUDGED, "none"]) as chat:
        async with editing(root, environment(root.parent / "home", chat.base_url)) as editor:
            uri = editor.open("price.py")
            reply = await editor.execute("rolecall.review", uri=uri)
            assert (value_of(reply, "candidates"), value_of(reply, "runId")) == (2, "r1")
            await until(lambda: {*told(editor)} == {"none_dereferenced"})
            found = told(editor)["none_dereferenced"]
    assert (found.severity, found.range.start.line) == (types.DiagnosticSeverity.Warning, 7)
    assert found.message.splitlines()[1] == "real: with an empty text nothing matches"
    way = [(one.location.range.start.line, one.message) for one in found.related_information or ()]
    assert way == [
        (4, '`re.match("[0-9]+", text)` gives None where nothing matches'),
        (5, "`strict` does not hold"),
        (7, "`found.group` fails where `found` is None"),
    ]


async def test_a_test_and_a_fix_are_offered_where_a_fault_is_told(root: Path) -> None:
    fix = block("price.py", "    return int(found.group())\n", "    return int(found.group()) if found else 0\n")
    with ChatServer([JUDGED, JUDGED, "none", fix]) as chat:
        settings = {"tests": {"run": False}}
        async with editing(root, environment(root.parent / "home", chat.base_url), settings) as editor:
            await editor.execute("rolecall.review", uri=editor.open("price.py"))
            await until(lambda: {*told(editor)} == {"none_dereferenced"})
            editor.replace_text("price.py", f"# Prices.\n{TWO_FAULTS}")
            await until(lambda: told(editor)["none_dereferenced"].range.start.line == 8)
            actions = await editor.actions("price.py", 8)
            offered = [title for title in actions if "found" in title]
            assert [title.partition(" “")[0] for title in offered] == [
                "Rolecall: write a test that shows",
                "Rolecall: propose a fix of",
            ]
            for_test, for_fix = (actions[title].command for title in offered)
            assert for_test is not None
            assert for_fix is not None
            assert for_test.command == "rolecall.tests.generate"
            assert for_fix.arguments
            arguments: Any = for_fix.arguments[0]
            assert arguments["symbol"] == "number"
            assert "line 9: " in arguments["brief"], "it stands a line further down by now"
            await editor.run(for_fix.command, **arguments)
            assert set(editor.hunks("price.py")) == {"p1/h1"}
    asked = chat.asked[3]["messages"][-1]["content"]
    assert "Why somebody judged it real: with an empty text nothing matches" in asked
    assert "The code is safe if: On every way to the use the value is not None." in asked


async def test_who_wants_the_rules_alone_has_no_model_read_the_code(root: Path) -> None:
    with ChatServer([JUDGED] * 2) as chat:
        async with editing(root, environment(root.parent / "home", chat.base_url)) as editor:
            await editor.execute("rolecall.review", uri=editor.open("price.py"), rulesOnly=True)
            await until(lambda: {*told(editor)} == {"none_dereferenced"})
    assert len(chat.asked) == 2


async def test_a_promise_that_is_not_kept_is_marked_once_a_run_has_shown_it(root: Path) -> None:
    shorten = 'def shorten(text, limit=0):\n    """0 means all."""\n    return " ".join(text.split()[:limit])\n'
    write_workspace(root, {"price.py": shorten, "conftest.py": ""})
    shows = 'from price import shorten\n\n\ndef test_all():\n    assert shorten("a b") == "a b"\n'
    named = f"p1, line 3: the docstring says that 0 means all\nbecause: it gives nothing\n```python\n{shows}```\n"
    with ChatServer([named, "p1: real\nbecause: the text is lost"]) as chat:
        async with editing(root, environment(root.parent / "home", chat.base_url)) as editor:
            reply = await editor.execute("rolecall.review", uri=editor.open("price.py"))
            assert (value_of(reply, "candidates"), value_of(reply, "runId")) == (0, "r1")
            await until(lambda: {*told(editor)} == {"broken_promise"})
            found = told(editor)["broken_promise"]
            actions = await editor.actions("price.py", 2)
    assert (found.severity, found.range.start.line) == (types.DiagnosticSeverity.Warning, 2)
    assert found.message.splitlines()[:2] == ["the docstring says that 0 means all", "real: the text is lost"]
    (fix,) = (one.command for title, one in actions.items() if "propose a fix of “the docstring says" in title)
    assert fix is not None
    assert fix.arguments
    arguments: Any = fix.arguments[0]
    assert arguments["symbol"] == "shorten"
    assert shows.strip() in arguments["brief"]


async def test_without_a_model_candidates_are_shown_as_not_judged_and_follow_their_lines(root: Path) -> None:
    async with editing(root, environment(root.parent / "home")) as editor:
        uri = editor.open("price.py")
        assert value_of(await editor.execute("rolecall.review", uri=uri), "candidates") == 2
        await until(lambda: {*told(editor)} == {"none_dereferenced", "changed_default"})
        found = told(editor)["none_dereferenced"]
        assert found.severity is types.DiagnosticSeverity.Information
        assert found.message.splitlines()[1] == "Not judged by a model."
        kept = TWO_FAULTS.replace("    names.append(name)\n", "    names = [*names, name]\n")
        editor.replace_text("price.py", "# Prices.\n" + kept)
        await until(lambda: {*told(editor)} == {"none_dereferenced"})
        assert told(editor)["none_dereferenced"].range.start.line == 8


async def test_what_is_no_python_is_refused(root: Path) -> None:
    async with editing(root, environment(root.parent / "home")) as editor:
        uri = editor.open("notes.txt")
        assert value_of(await editor.execute("rolecall.review", uri=uri), "error") == "FileRefused"
