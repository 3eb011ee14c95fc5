"""The graph around a symbol, over stdio: what a client that draws it gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.fixture import parse_fixture
from support.frames import FrameClient, connected
from support.workspaces import environment

SHOP = """
    #- shop/price.py
    def rounded(amount):
        return round(amount, 2)

    def total(items):
        return rounded(sum(items))
    #- shop/größe.py
    from shop.price import total

    class Korb:
        def summe(self): "ä𝒳"; return total(self.items)
    #- shop/web.py
    from shop.größe import Korb

    def view(request):
        return Korb().summe()
    #- tests/test_price.py
    from shop.price import total

    def test_total():
        assert total([1]) == 1
    #- notes.md
    Not code.
"""


class Drawer:
    """A client that draws the graph."""

    def __init__(self, client: FrameClient, root: Path) -> None:
        self.client, self.root = client, root

    async def ask(self, path: str, **question: Any) -> dict[str, Any]:
        reply = await self.client.request("rolecall/graph", {"uri": (self.root / path).as_uri(), **question})
        assert "result" in reply, reply
        return reply["result"]


def drawn(answer: dict[str, Any]) -> set[str]:
    """The edges, such as `summe > total`."""
    names = [node["name"] for node in answer["nodes"]]
    signs = {True: ">", False: "?"}
    return {f"{names[edge['from']]} {signs[edge['certain']]} {names[edge['to']]}" for edge in answer["edges"]}


async def drawing(client: FrameClient, tmp_path: Path, **options: Any) -> Drawer:
    root = (tmp_path / "work").resolve()
    await client.initialize(
        capabilities={"general": {"positionEncodings": ["utf-16"]}, **options},
        workspaceFolders=[{"uri": root.as_uri(), "name": "work"}],
    )
    return Drawer(client, root)


def connection(tmp_path: Path) -> Any:
    root = parse_fixture(SHOP).write_to(tmp_path / "work").resolve()
    return connected(root, environment(tmp_path / "home"))


async def test_the_symbol_under_the_cursor_stands_between_its_callers_and_its_callees(tmp_path: Path) -> None:
    async with connection(tmp_path) as client:
        drawer = await drawing(client, tmp_path)
        answer = await drawer.ask("shop/price.py", position={"line": 3, "character": 5})
        assert drawn(answer) == {"Korb.summe > total", "test_total > total", "total > rounded"}
        nodes = {node["name"]: node for node in answer["nodes"]}
        assert answer["nodes"][answer["center"]] is nodes["total"]
        assert {name: node["distance"] for name, node in nodes.items()} == {
            "total": 0,
            "Korb.summe": -1,
            "test_total": -1,
            "rounded": 1,
        }
        korb = nodes["Korb.summe"]
        assert (korb["kind"], korb["path"], korb["test"]) == ("method", "shop/größe.py", False)
        assert korb["uri"] == (drawer.root / "shop" / "größe.py").as_uri()
        assert korb["range"] == {"start": {"line": 3, "character": 8}, "end": {"line": 3, "character": 13}}
        assert nodes["test_total"]["test"]
        assert answer["isComplete"]


async def test_a_use_leads_to_what_is_used_and_a_place_in_no_name_to_the_function_around_it(tmp_path: Path) -> None:
    async with connection(tmp_path) as client:
        drawer = await drawing(client, tmp_path)
        line = '    def summe(self): "ä𝒳"; return total(self.items)'
        units = len(line[: line.index("total")].encode("utf-16-le")) // 2
        at_use = await drawer.ask("shop/größe.py", position={"line": 3, "character": units})
        assert at_use["nodes"][at_use["center"]]["name"] == "total"
        at_words = await drawer.ask("shop/größe.py", position={"line": 3, "character": 0})
        assert at_words["nodes"][at_words["center"]]["name"] == "Korb.summe"


async def test_another_symbol_is_asked_for_by_its_name(tmp_path: Path) -> None:
    async with connection(tmp_path) as client:
        drawer = await drawing(client, tmp_path)
        answer = await drawer.ask("shop/größe.py", symbol="Korb.summe", possible=True)
        assert drawn(answer) == {"view > Korb.summe", "Korb.summe > total"}


async def test_a_limit_is_kept_and_what_it_left_out_is_counted(tmp_path: Path) -> None:
    async with connection(tmp_path) as client:
        drawer = await drawing(client, tmp_path)
        answer = await drawer.ask("shop/price.py", symbol="total", limit=1, tests=True)
        assert drawn(answer) == {"Korb.summe > total", "total > rounded"}
        assert answer["leftOut"] == {"dependents": 1, "dependencies": 0, "possible": 0, "tests": 0}
        assert not answer["isComplete"]
        assert (await drawer.ask("shop/price.py", symbol="total", tests=False))["leftOut"]["tests"] == 1


async def test_the_modules_and_the_impact_are_drawn_too(tmp_path: Path) -> None:
    async with connection(tmp_path) as client:
        drawer = await drawing(client, tmp_path)
        modules = await drawer.ask("shop/größe.py", kind="modules", position={"line": 3, "character": 8})
        assert drawn(modules) == {"web.py > größe.py", "größe.py > price.py"}
        assert {node["kind"] for node in modules["nodes"]} == {"module"}
        impact = await drawer.ask("shop/price.py", kind="impact", symbol="rounded", steps=4)
        assert {"total > rounded", "Korb.summe > total", "test_total > total"} <= drawn(impact)


async def test_an_unsaved_text_counts(tmp_path: Path) -> None:
    async with connection(tmp_path) as client:
        drawer = await drawing(client, tmp_path)
        text = "from shop.price import rounded\n\ndef view(request):\n    return rounded(1)\n"
        item = {"uri": (drawer.root / "shop/web.py").as_uri(), "languageId": "python", "version": 1, "text": text}
        await client.notify("textDocument/didOpen", {"textDocument": item})
        assert "view > rounded" in drawn(await drawer.ask("shop/price.py", symbol="rounded"))


async def test_a_file_that_is_no_code_is_answered_with_why(tmp_path: Path) -> None:
    async with connection(tmp_path) as client:
        drawer = await drawing(client, tmp_path)
        assert "does not read notes.md" in (await drawer.ask("notes.md"))["problem"]
        outside = await drawer.client.request("rolecall/graph", {"uri": "file:///elsewhere/x.py"})
        assert outside["result"]["problem"]
        wrong = await drawer.client.request("rolecall/graph", {"uri": "file:///x.py", "steps": 99})
        assert wrong["error"]["code"] == -32602
        assert "steps" in wrong["error"]["message"]
        nothing = await drawer.client.request("rolecall/graph", None)
        assert nothing["error"]["code"] == -32602


async def test_nobody_need_trust_the_workspace_to_see_its_graph(tmp_path: Path) -> None:
    async with connection(tmp_path) as client:
        drawer = await drawing(client, tmp_path, experimental={"rolecall": {"restricted": True}})
        assert "total > rounded" in drawn(await drawer.ask("shop/price.py", symbol="total"))


async def test_a_model_is_not_told_of_files_that_are_kept_from_it(tmp_path: Path) -> None:
    async with connection(tmp_path) as client:
        drawer = await drawing(client, tmp_path)
        (drawer.root / ".aiignore").write_text("web.py\n")
        everything = await drawer.ask("shop/price.py", symbol="total", steps=3, possible=True)
        told = await drawer.ask("shop/price.py", symbol="total", steps=3, possible=True, forModel=True)
        refused = await drawer.ask("shop/web.py", symbol="view", forModel=True)
    assert {node["path"] for node in everything["nodes"]} - {node["path"] for node in told["nodes"]} == {"shop/web.py"}
    assert "Korb.summe > total" in drawn(told)
    assert refused["nodes"] == []
    assert ".aiignore keeps shop/web.py from any model" in refused["problem"]
