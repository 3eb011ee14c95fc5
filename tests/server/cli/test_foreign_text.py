"""Text that others wrote is never markup in a terminal, and no module prints it in a way of its own."""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table
from rich.tree import Tree

import rolecall_server
from rolecall_server.cli.arguments import parser
from rolecall_server.cli.commands.documents import run_documents
from rolecall_server.cli.reading import progress_bar
from rolecall_server.cli.screen import Screen, say, say_prose, say_question, show_markdown, shown, waiting
from support.workspaces import write_workspace

SERVER = Path(rolecall_server.__file__).parent
THE_SCREEN = "cli/screen.py"
RUN_BY_TESTS = "/child/"
"""Scripts of a tested process: what they print is read by a program."""

ASKS_THE_SCREEN = {
    *("rich.table.Table", "rich.tree.Tree", "rich.live.Live", "rich.text.Text", "rich.console.RenderableType"),
    *("rich.progress.BarColumn", "rich.progress.MofNCompleteColumn", "rich.progress.Progress"),
    *("rich.progress.RenderableColumn", "rich.progress.TimeElapsedColumn"),
}
"""What is used of rich elsewhere: it has the screen show each string, or is a type."""


def other_ways(source: str) -> Iterator[str]:
    """Yield what in *source* shows text otherwise than through the screen."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module=module, names=names) if (module or "").partition(".")[0] == "rich":
                yield from (f"{module}.{one.name}" for one in names if f"{module}.{one.name}" not in ASKS_THE_SCREEN)
            case ast.Import(names=names):
                yield from (one.name for one in names if one.name.partition(".")[0] == "rich")
            case ast.Call(func=ast.Name(id="print" | "Text" as name)):
                yield name
            case ast.Call(func=ast.Attribute(attr="print", value=screen), args=[ast.Constant() | ast.JoinedStr(), *_]):
                yield f"{ast.unparse(screen)}.print of a string"
            case ast.Call(func=ast.Attribute(attr="from_markup" | "from_ansi" | "assemble" as name)):
                yield name
            case _:
                pass


def sources() -> list[Path]:
    found = sorted(SERVER.rglob("*.py"))
    own = [path for path in found if path.relative_to(SERVER).as_posix() not in (THE_SCREEN, "__main__.py")]
    return [path for path in own if RUN_BY_TESTS not in path.as_posix()]


def test_only_the_screen_makes_text_for_a_terminal() -> None:
    found = {path.relative_to(SERVER).as_posix(): [*other_ways(path.read_text("utf-8"))] for path in sources()}
    assert {path: ways for path, ways in found.items() if ways} == {}


@pytest.mark.parametrize(
    "way",
    [
        "from rich.console import Console",
        "from rich import print",
        "import rich.markup",
        "from rich.prompt import Prompt",
        "from rich.panel import Panel",
        "print(path)",
        "Text(path)",
        "Text.from_markup(path)",
        "screen.print(f'{path} is new')",
    ],
)
def test_another_way_would_be_seen(way: str) -> None:
    assert [*other_ways(way)]
    assert [*other_ways(f"def show():\n    {way}\n")]


HOSTILE = (
    "[link=https://example.org]x[link].py",
    "sub[/x]",
    "[/]",
    "[bold red]y[/bold red].py",
    "[@click=evil]z",
    ":skull:.py",
    "a\x1b]8;;https://example.org\x1b\\b\x1b]8;;\x1b\\.py",
    "c\x9b2Jd",
    "e\u202ef.py",
)


def _table(text: str) -> Table:
    table = Table(box=None)
    table.add_column("x", overflow="fold")
    table.add_row(text)
    return table


def _tree(text: str) -> Tree:
    tree = Tree(text)
    tree.add(text)
    return tree


def _moved(screen: Screen, text: str) -> None:
    with waiting(screen, text) as moving:
        moving.tell(f"now {text}")
        screen.print(moving.status.renderable)


def _progress(screen: Screen, text: str) -> None:
    with progress_bar(screen, text, patience_s=0.0) as report:
        report(1, 2)


WAYS: dict[str, Callable[[Screen, str], object]] = {
    "a line": say,
    "a sentence": say_prose,
    "a question": lambda screen, text: say_question(screen, text, {"y": "yes"}),
    "a cell": lambda screen, text: screen.print(_table(text)),
    "a heading": lambda screen, text: screen.print(Table(text, title=text, caption=text)),
    "a tree": lambda screen, text: screen.print(_tree(text)),
    "a rule": lambda screen, text: screen.rule(text),
    "a string": lambda screen, text: screen.print(text),
    "something that moves": _moved,
    "a bar": _progress,
}


def on_a_terminal(show: Callable[[Screen, str], object], text: str) -> str:
    """Return what *show* sends to a terminal, without colours and without what moves the cursor."""
    sent = io.StringIO()
    show(Screen(file=sent, force_terminal=True, width=200), text)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sent.getvalue())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_is_shown_as_it_is_written(text: str, way: str) -> None:
    sent = on_a_terminal(WAYS[way], text)
    assert shown(text).plain in sent
    assert not re.search(r"[\x1b\x9b\u202e]", sent)


def test_elsewhere_the_same_name_would_be_a_link_or_an_error() -> None:
    sent = io.StringIO()
    Console(file=sent, force_terminal=True).print(HOSTILE[0])
    assert "\x1b]8;" in sent.getvalue()
    with pytest.raises(Exception, match="closing tag"):
        Console(file=sent).print(HOSTILE[1])


@given(st.text())
def test_no_text_makes_a_terminal_do_anything(text: str) -> None:
    for way in (say, WAYS["a cell"], WAYS["a rule"], show_markdown):
        assert "\x1b" not in on_a_terminal(way, text)


def test_a_link_in_a_document_is_told_and_not_made() -> None:
    sent = on_a_terminal(show_markdown, "See [the guide](https://example.org/x).\n")
    assert "https://example.org/x" in sent
    assert "\x1b]" not in sent


@pytest.mark.parametrize("sign", ["\u202e", "\u200b", "\u2066"])
def test_names_in_what_is_understood_of_a_repository_are_spelled_out_in_a_pipe_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sign: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    root = write_workspace(tmp_path / "work", {"pyproject.toml": "", f"shop/c{sign}x.py": "def f():\n    return 1\n"})
    given = parser().parse_args(["documents", "--understand", "--root", str(root)])
    assert run_documents(given) == 0
    said = capsys.readouterr().out
    assert f"<U+{ord(sign):04X}>" in said
    assert sign not in said
