"""What an editor asks about code, over stdio: answered from the graph where a setting turns it on, and nowhere else."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic.alias_generators import to_camel

from rolecall_server.lsp.registration import OPTIONAL_FEATURES
from support.fixture import parse_fixture
from support.frames import FrameClient, connected
from support.workspaces import environment

PAGE = Path(__file__).resolve().parents[2] / "docs" / "protocol.md"

AREAS = {
    "textDocument/definition": ("textDocument", "definition"),
    "textDocument/references": ("textDocument", "references"),
    "textDocument/documentSymbol": ("textDocument", "documentSymbol"),
    "workspace/symbol": ("workspace", "symbol"),
    "textDocument/prepareCallHierarchy": ("textDocument", "callHierarchy"),
    "textDocument/prepareTypeHierarchy": ("textDocument", "typeHierarchy"),
}
SETTINGS = {
    "definition": "textDocument/definition",
    "references": "textDocument/references",
    "documentSymbol": "textDocument/documentSymbol",
    "workspaceSymbol": "workspace/symbol",
    "callHierarchy": "textDocument/prepareCallHierarchy",
    "typeHierarchy": "textDocument/prepareTypeHierarchy",
}
ALL_ON: dict[str, object] = dict.fromkeys(SETTINGS, True)

SHOP = """
    #- shop/price.py
    LIMIT = 3

    class Cart:
        def total(self):
            def add(): ...
            return add()

        @property
        def size(self): ...
"""


CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@dataclass
class Asker:
    """An editor in a workspace made of a fixture. It counts by itself, apart from the server's arithmetic."""

    client: FrameClient
    root: Path
    texts: dict[str, str]
    """What the files hold, or the editor where they are open."""
    announced: dict[str, Any]
    encoding: str

    def uri(self, path: str) -> str:
        return (self.root / path).as_uri()

    async def open(self, path: str, text: str | None = None) -> None:
        """Open a file, perhaps with an unsaved text."""
        self.texts[path] = self.texts[path] if text is None else text
        item = {"uri": self.uri(path), "languageId": "python", "version": 1, "text": self.texts[path]}
        await self.client.notify("textDocument/didOpen", {"textDocument": item})

    async def ask(self, method: str, params: object) -> Any:
        reply = await self.client.request(method, params)
        assert "result" in reply, reply
        return reply["result"]

    async def ask_about(self, method: str, path: str, **params: object) -> Any:
        """Ask about a file."""
        return await self.ask(method, {"textDocument": {"uri": self.uri(path)}, **params})

    async def ask_at(self, method: str, path: str, marked: str, **params: object) -> Any:
        """Ask about the place of the bar in the first *marked*, such as ``return tot|al(``."""
        return await self.ask_about(method, path, position=self.position(path, marked), **params)

    def position(self, path: str, marked: str) -> dict[str, int]:
        before, _, after = marked.partition("|")
        assert before + after in self.texts[path]
        offset = self.texts[path].index(before + after) + len(before)
        line = self.texts[path][:offset].rpartition("\n")[2]
        codec, size = CODECS[self.encoding]
        return {"line": self.texts[path].count("\n", 0, offset), "character": len(line.encode(codec)) // size}

    def shown(self, uri: str, where: dict[str, dict[str, int]]) -> str:
        """A place as ``path:line:the text there``, with lines from 1."""
        path = next((path for path in self.texts if self.uri(path) == uri), uri)
        start, end = where["start"], where["end"]
        assert start["line"] == end["line"], "a name is on one line"
        codec, size = CODECS[self.encoding]
        line = self.texts[path].split("\n")[start["line"]].encode(codec)
        text = line[start["character"] * size : end["character"] * size].decode(codec)
        return f"{path}:{start['line'] + 1}:{text}"

    def shown_all(self, locations: Sequence[dict[str, Any]]) -> list[str]:
        return [self.shown(each["uri"], each["range"]) for each in locations]

    async def set(self, **navigation: object) -> None:
        """Change the settings, as an editor does: all of them are sent."""
        settings = {"rolecall": {"navigation": navigation}}
        await self.client.notify("workspace/didChangeConfiguration", {"settings": settings})

    async def answer_registration(self, kind: str = "register") -> list[dict[str, Any]]:
        """Agree to the next (un)registration; what it names."""
        params = await self.client.answer(f"client/{kind}Capability", None)
        self.client.received.clear()
        return params["registrations" if kind == "register" else "unregisterations"]


@contextlib.asynccontextmanager
async def asking(
    root: Path,
    text: str,
    navigation: dict[str, object] | None = None,
    *,
    dynamic: bool = False,
    encoding: str = "utf-16",
    capabilities: Mapping[str, Any] | None = None,
) -> AsyncIterator[Asker]:
    """An editor in the workspace that *text* describes; its folders are those named at the top, if more than one."""
    fixture = parse_fixture(text)
    root = fixture.write_to(root / "work").resolve()
    client_capabilities: dict[str, Any] = {
        "general": {"positionEncodings": [encoding]},
        "textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}},
        **(capabilities or {}),
    }
    if dynamic:
        for area, name in AREAS.values():
            client_capabilities.setdefault(area, {}).setdefault(name, {})["dynamicRegistration"] = True
    tops = {path.partition("/")[0] for path in fixture.files}
    folders = sorted(root / top for top in tops) if all(top.startswith("folder") for top in tops) else [root]
    async with connected(root, environment(root.parent / "home")) as client:
        result = await client.initialize(
            capabilities=client_capabilities,
            workspaceFolders=[{"uri": folder.as_uri(), "name": folder.name} for folder in folders],
            initializationOptions={"navigation": ALL_ON if navigation is None else navigation},
        )
        yield Asker(client, root, dict(fixture.files), result["capabilities"], encoding)


PROVIDERS = {
    "definition": "definitionProvider",
    "references": "referencesProvider",
    "documentSymbol": "documentSymbolProvider",
    "workspaceSymbol": "workspaceSymbolProvider",
    "callHierarchy": "callHierarchyProvider",
    "typeHierarchy": "typeHierarchyProvider",
}


def outline(symbols: Sequence[dict[str, Any]]) -> list[Any]:
    """Names, with what is inside each."""
    return [{each["name"]: outline(each["children"])} if each.get("children") else each["name"] for each in symbols]


# What is sent


def test_the_page_lists_each_setting_with_the_methods_it_turns_on() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Questions about code\n")[2].partition("\n## ")[0]
    rows = [re.findall(r"`([^`]+)`", line) for line in section.splitlines() if line.startswith("| `")]
    assert {row[0]: row[1:] for row in rows} == {
        f"rolecall.navigation.{to_camel(feature.setting.removeprefix('navigation.'))}": list(feature.handlers)
        for feature in OPTIONAL_FEATURES
        if feature.setting.startswith("navigation.")
    }


async def test_nothing_is_announced_or_registered_unless_it_is_turned_on(tmp_path: Path) -> None:
    async with asking(tmp_path, SHOP, {}, dynamic=True) as asker:
        await asker.set()
        assert not set(PROVIDERS.values()) & asker.announced.keys()
        reply = await asker.client.request("textDocument/documentSymbol", {"textDocument": {"uri": "file:///x.py"}})
        assert reply["error"]["code"] == -32601
        assert not [each for each in asker.client.received if each.get("method") == "client/registerCapability"]


async def test_an_editor_that_takes_registrations_is_told_what_is_on_for_which_languages(tmp_path: Path) -> None:
    async with asking(tmp_path, SHOP, {**ALL_ON, "languages": ["python", "go"]}, dynamic=True) as asker:
        registered = {each["method"]: each["registerOptions"] for each in await asker.answer_registration()}
        assert registered.keys() == set(SETTINGS.values())
        assert not set(PROVIDERS.values()) & asker.announced.keys()
        selector = [{"language": name, "scheme": "file"} for name in ("python", "go")]
        assert registered.pop("workspace/symbol") == {}
        assert all(options["documentSelector"] == selector for options in registered.values())


async def test_changing_a_setting_begins_and_ends_what_is_sent(tmp_path: Path) -> None:
    async with asking(tmp_path, SHOP, {}, dynamic=True) as asker:
        for setting, method in SETTINGS.items():
            await asker.set(**{setting: True})
            (begun,) = await asker.answer_registration()
            assert begun["method"] == method
            await asker.set(**{setting: False})
            (ended,) = await asker.answer_registration("unregister")
            assert ended == {"id": begun["id"], "method": method}


async def test_other_languages_replace_the_registration(tmp_path: Path) -> None:
    async with asking(tmp_path, SHOP, {"documentSymbol": True}, dynamic=True) as asker:
        (first,) = await asker.answer_registration()
        await asker.set(documentSymbol=True, languages=["python"])
        (ended,) = await asker.answer_registration("unregister")
        (second,) = await asker.answer_registration()
        assert ended["id"] == first["id"] != second["id"]
        assert second["registerOptions"]["documentSelector"] == [{"language": "python", "scheme": "file"}]


@pytest.mark.parametrize("settings", [SETTINGS.keys(), ["definition", "workspaceSymbol"]], ids=["all", "two"])
async def test_an_editor_without_registrations_is_told_at_the_start(tmp_path: Path, settings: Sequence[str]) -> None:
    async with asking(tmp_path, SHOP, dict.fromkeys(settings, True)) as asker:
        announced = set(PROVIDERS.values()) & asker.announced.keys()
        assert announced == {PROVIDERS[setting] for setting in settings}


async def test_what_is_turned_off_while_it_runs_finds_nothing(tmp_path: Path) -> None:
    async with asking(tmp_path, SHOP) as asker:
        await asker.open("shop/price.py")
        assert await asker.ask_about("textDocument/documentSymbol", "shop/price.py")
        await asker.set(documentSymbol=False)
        assert not await asker.ask_about("textDocument/documentSymbol", "shop/price.py")


async def test_an_editor_that_refuses_is_quoted_to_the_developer_once(tmp_path: Path) -> None:
    async with asking(tmp_path, SHOP, {"documentSymbol": True}, dynamic=True) as asker:
        asked = await asker.client.wait_for(lambda message: message.get("method") == "client/registerCapability")
        error = {"code": -32603, "message": "not today"}
        await asker.client.send({"jsonrpc": "2.0", "id": asked["id"], "error": error})
        await asker.client.wait_for(lambda message: message.get("method") == "window/showMessage")
        (told,) = asker.client.told()
        assert "not today" in told


# The outline of a file


async def test_an_outline_nests_as_the_source_does(tmp_path: Path) -> None:
    async with asking(tmp_path, SHOP) as asker:
        await asker.open("shop/price.py")
        symbols = await asker.ask_about("textDocument/documentSymbol", "shop/price.py")
    assert outline(symbols) == ["LIMIT", {"Cart": [{"total": ["add"]}, "size"]}]
    limit, cart = symbols
    total, size = cart["children"]
    assert [each["kind"] for each in (limit, cart, total, size)] == [14, 5, 6, 7], "constant, class, method, property"
    assert (limit["detail"], total["detail"]) == ("= 3", "(self)")
    assert (size["range"]["start"]["line"], size["selectionRange"]["start"]["line"]) == (7, 8), (
        "decorators belong to it"
    )


async def test_an_editor_that_draws_no_trees_gets_a_list(tmp_path: Path) -> None:
    flat = {"textDocument": {"documentSymbol": {}}}
    async with asking(tmp_path, SHOP, capabilities=flat) as asker:
        await asker.open("shop/price.py")
        symbols = await asker.ask_about("textDocument/documentSymbol", "shop/price.py")
    assert [(each["name"], each.get("containerName")) for each in symbols] == [
        ("LIMIT", None),
        ("Cart", None),
        ("total", "Cart"),
        ("add", "Cart.total"),
        ("size", "Cart"),
    ]


@pytest.mark.parametrize(("encoding", "units"), [("utf-8", 9), ("utf-16", 7), ("utf-32", 6)])
async def test_an_outline_counts_as_the_editor_does_in_unsaved_text(tmp_path: Path, encoding: str, units: int) -> None:
    async with asking(tmp_path, SHOP, encoding=encoding) as asker:
        await asker.open("shop/price.py", '"𝄞"; total = 1\n')
        (total,) = await asker.ask_about("textDocument/documentSymbol", "shop/price.py")
    assert total["selectionRange"]["start"] == {"line": 0, "character": units - 1}


async def test_an_outline_of_code_nested_beyond_reason_still_arrives(tmp_path: Path) -> None:
    depth = 300
    deep = "".join(f"{' ' * level}class C{level}:\n" for level in range(depth)) + " " * depth + "pass\n"
    async with asking(tmp_path, SHOP) as asker:
        await asker.open("shop/price.py", deep)
        symbols = await asker.ask_about("textDocument/documentSymbol", "shop/price.py")
    n_levels = 0
    while symbols:
        n_levels, symbols = n_levels + 1, symbols[0].get("children")
    assert 30 < n_levels < 50


@pytest.mark.parametrize("path", ["missing.py", "notes.txt", "../outside.py"])
async def test_a_file_that_the_graph_does_not_know_has_no_outline(tmp_path: Path, path: str) -> None:
    async with asking(tmp_path, SHOP) as asker:
        assert await asker.ask_about("textDocument/documentSymbol", path) == []
        assert await asker.ask("textDocument/documentSymbol", {"textDocument": {"uri": "untitled:x"}}) == []
        assert asker.client.told() == []


async def test_a_language_that_is_not_asked_for_has_no_outline(tmp_path: Path) -> None:
    async with asking(tmp_path, SHOP, {"documentSymbol": True, "languages": ["go"]}) as asker:
        await asker.open("shop/price.py")
        assert await asker.ask_about("textDocument/documentSymbol", "shop/price.py") == []


# Where it is defined, where it is named

CART = """
    #- shop/__init__.py
    from shop.price import total as sum_up
    #- shop/price.py
    def total(items):
        return sum(items)
    #- shop/cart.py
    import shop.price
    from shop import sum_up

    class Cart:
        def checkout(self):
            return sum_up(self.items())

        def items(self):
            return []

    class Basket(Cart):
        def items(self):
            return [1]

    def pay(thing):
        return thing.items()

    CART = Basket()
    sum_up(CART.items())
"""


@pytest.mark.parametrize("at", ["return sum|_up(", "import sum_up|"])
async def test_a_name_leads_to_its_definition_through_other_files(tmp_path: Path, at: str) -> None:
    async with asking(tmp_path, CART) as asker:
        await asker.open("shop/cart.py")
        found = await asker.ask_at("textDocument/definition", "shop/cart.py", at)
        assert asker.shown_all(found) == ["shop/price.py:1:total"]


async def test_an_editor_that_shows_whole_definitions_gets_them(tmp_path: Path) -> None:
    links = {"textDocument": {"definition": {"linkSupport": True}}}
    async with asking(tmp_path, CART, capabilities=links) as asker:
        await asker.open("shop/cart.py")
        (found,) = await asker.ask_at("textDocument/definition", "shop/cart.py", "return sum|_up(")
        assert asker.shown(found["targetUri"], found["targetSelectionRange"]) == "shop/price.py:1:total"
        assert [found["targetRange"][end]["line"] for end in ("start", "end")] == [0, 1]


async def test_a_module_is_defined_at_the_beginning_of_its_file(tmp_path: Path) -> None:
    async with asking(tmp_path, CART) as asker:
        await asker.open("shop/cart.py", "import shop.price\nshop.price.total([])\n")
        found = await asker.ask_at("textDocument/definition", "shop/cart.py", "\nshop.pr|ice")
        assert asker.shown_all(found) == ["shop/price.py:1:"]


async def test_unsaved_text_counts_on_both_sides(tmp_path: Path) -> None:
    async with asking(tmp_path, CART) as asker:
        await asker.open("shop/price.py", "# typed\n\n" + asker.texts["shop/price.py"])
        await asker.open("shop/cart.py", "# typed\n" + asker.texts["shop/cart.py"])
        found = await asker.ask_at("textDocument/definition", "shop/cart.py", "return sum_up|(")
        assert asker.shown_all(found) == ["shop/price.py:3:total"]


ODD = """
    #- a.py
    TEXT = "𝄞é"; größe = 1
    #- b.py
    from a import größe
    print("😀", größe, größe)
"""


@pytest.mark.parametrize("encoding", CODECS)
async def test_places_are_exact_in_every_position_encoding(tmp_path: Path, encoding: str) -> None:
    async with asking(tmp_path, ODD, encoding=encoding) as asker:
        await asker.open("b.py")
        found = await asker.ask_at("textDocument/definition", "b.py", ", größe, größe|)")
        assert asker.shown_all(found) == ["a.py:1:größe"]
        named = await asker.ask_at("textDocument/references", "b.py", ", |größe", context={"includeDeclaration": True})
        assert sorted(asker.shown_all(named)) == ["a.py:1:größe", "b.py:1:größe", "b.py:2:größe", "b.py:2:größe"]
        (symbol,) = await asker.ask("workspace/symbol", {"query": "größe"})
        assert asker.shown_all([symbol["location"]]) == ["a.py:1:größe"]


async def test_references_are_found_in_all_files_under_all_names(tmp_path: Path) -> None:
    async with asking(tmp_path, CART) as asker:
        await asker.open("shop/cart.py")
        ask = {"context": {"includeDeclaration": False}}
        found = await asker.ask_at("textDocument/references", "shop/cart.py", "return sum|_up(", **ask)
        assert asker.shown_all(found) == [
            "shop/__init__.py:1:total",
            "shop/cart.py:2:sum_up",
            "shop/cart.py:6:sum_up",
            "shop/cart.py:19:sum_up",
        ]
        ask = {"context": {"includeDeclaration": True}}
        found = await asker.ask_at("textDocument/references", "shop/cart.py", "return sum|_up(", **ask)
        assert asker.shown_all(found)[0] == "shop/price.py:1:total"


async def test_what_is_only_possible_is_shown_when_it_is_asked_for_and_last(tmp_path: Path) -> None:
    async with asking(tmp_path, CART) as asker:
        await asker.open("shop/cart.py")
        ask = {"context": {"includeDeclaration": False}}
        certain = await asker.ask_at("textDocument/references", "shop/cart.py", "def it|ems", **ask)
        assert asker.shown_all(certain) == ["shop/cart.py:6:items"]
        await asker.set(**ALL_ON, possible=True)
        both = await asker.ask_at("textDocument/references", "shop/cart.py", "def it|ems", **ask)
        assert asker.shown_all(both) == ["shop/cart.py:6:items", "shop/cart.py:16:items"]


async def test_more_references_than_anybody_reads_are_cut(tmp_path: Path) -> None:
    async with asking(tmp_path, CART) as asker:
        await asker.open("shop/price.py", "def total(): ...\n" + "total()\n" * 6_000)
        ask = {"context": {"includeDeclaration": True}}
        assert len(await asker.ask_at("textDocument/references", "shop/price.py", "def to|tal", **ask)) == 5_000


# Symbols of the workspace


async def test_the_likeliest_symbols_come_first(tmp_path: Path) -> None:
    async with asking(tmp_path, CART) as asker:
        found = await asker.ask("workspace/symbol", {"query": "cart"})
        assert {each["name"] for each in found[:2]} == {"Cart", "CART"}
        (items, other) = await asker.ask("workspace/symbol", {"query": "items"})
        assert {items["containerName"], other["containerName"]} == {"Cart", "Basket"}
        assert asker.shown_all([items["location"], other["location"]]) == [
            "shop/cart.py:8:items",
            "shop/cart.py:12:items",
        ]


TWO_FOLDERS = """
    #- folder1/shop.py
    def total(): ...
    total()
    #- folder2/shop.py
    # The same name in another repository.
    def total(): ...
    total()
"""


async def test_symbols_of_all_folders_are_found_and_the_rest_stays_in_its_folder(tmp_path: Path) -> None:
    async with asking(tmp_path, TWO_FOLDERS) as asker:
        found = await asker.ask("workspace/symbol", {"query": "total"})
        assert asker.shown_all([each["location"] for each in found]) == [
            "folder1/shop.py:1:total",
            "folder2/shop.py:2:total",
        ]
        await asker.open("folder2/shop.py")
        found = await asker.ask_at("textDocument/definition", "folder2/shop.py", "\ntota|l()")
        assert asker.shown_all(found) == ["folder2/shop.py:2:total"]


async def test_a_folder_inside_another_does_not_double_its_symbols(tmp_path: Path) -> None:
    async with asking(tmp_path, CART) as asker:
        inner = {"uri": asker.uri("shop"), "name": "shop"}
        await asker.client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [inner], "removed": []}})
        found = await asker.ask("workspace/symbol", {"query": "checkout"})
        assert asker.shown_all([each["location"] for each in found]) == ["shop/cart.py:5:checkout"]


async def test_symbols_are_bounded_and_those_of_unsaved_text_among_them(tmp_path: Path) -> None:
    async with asking(tmp_path, SHOP) as asker:
        await asker.open("shop/price.py", "".join(f"def step_{n}(): ...\n" for n in range(300)))
        found = await asker.ask("workspace/symbol", {"query": "step"})
        assert len(found) == 200
        assert await asker.ask("workspace/symbol", {"query": "Cart"}) == []


async def test_many_symbols_of_other_languages_do_not_hide_one_that_is_asked_for(tmp_path: Path) -> None:
    others = "".join(f"function step() {{ return {n} }}\n" for n in range(1_000))
    files = f"#- a.js\n{others}#- b.py\ndef step(): ...\n"
    async with asking(tmp_path, files, {"workspaceSymbol": True, "languages": ["python"]}) as asker:
        (found,) = await asker.ask("workspace/symbol", {"query": "step"})
        assert asker.shown_all([found["location"]]) == ["b.py:1:step"]


async def test_symbols_of_languages_that_are_not_asked_for_are_left_out(tmp_path: Path) -> None:
    async with asking(tmp_path, SHOP, {"workspaceSymbol": True, "languages": ["go"]}) as asker:
        await asker.open("shop/price.py")
        assert await asker.ask("workspace/symbol", {"query": "Cart"}) == []


# Calls and types


async def test_callers_and_callees_can_be_walked(tmp_path: Path) -> None:
    async with asking(tmp_path, CART) as asker:
        await asker.open("shop/cart.py")
        (total,) = await asker.ask_at("textDocument/prepareCallHierarchy", "shop/cart.py", "return sum|_up(")
        assert (total["name"], total["detail"]) == ("total", "shop/price.py")
        checkout, module = await asker.ask("callHierarchy/incomingCalls", {"item": total})
        assert checkout["from"]["name"] == "Cart.checkout"
        assert (module["from"]["name"], module["from"]["kind"]) == ("cart.py", 1), "the file itself"
        shown = [asker.shown(each["from"]["uri"], *each["fromRanges"]) for each in (checkout, module)]
        assert shown == ["shop/cart.py:6:sum_up", "shop/cart.py:19:sum_up"]
        assert await asker.ask("callHierarchy/incomingCalls", {"item": module["from"]}) == []
        called = await asker.ask("callHierarchy/outgoingCalls", {"item": checkout["from"]})
        assert [each["to"]["name"] for each in called] == ["total", "Cart.items"]
        shown = [asker.shown(checkout["from"]["uri"], *each["fromRanges"]) for each in called]
        assert shown == ["shop/cart.py:6:sum_up", "shop/cart.py:6:items"]


async def test_a_call_that_only_may_happen_says_so(tmp_path: Path) -> None:
    async with asking(tmp_path, CART, {**ALL_ON, "possible": True}) as asker:
        await asker.open("shop/cart.py")
        (items,) = await asker.ask_at("textDocument/prepareCallHierarchy", "shop/cart.py", "def |items")
        found = await asker.ask("callHierarchy/incomingCalls", {"item": items})
        assert [each["from"]["name"] for each in found] == ["Cart.checkout", "pay"]
        assert [each["from"]["detail"] for each in found] == ["shop/cart.py", "shop/cart.py, possibly: same name"]


async def test_types_above_and_below_can_be_walked(tmp_path: Path) -> None:
    async with asking(tmp_path, CART) as asker:
        await asker.open("shop/cart.py")
        (basket,) = await asker.ask_at("textDocument/prepareTypeHierarchy", "shop/cart.py", "CART = Bask|et")
        (cart,) = await asker.ask("typeHierarchy/supertypes", {"item": basket})
        assert asker.shown(cart["uri"], cart["selectionRange"]) == "shop/cart.py:4:Cart"
        assert await asker.ask("typeHierarchy/supertypes", {"item": cart}) == []
        (again,) = await asker.ask("typeHierarchy/subtypes", {"item": cart})
        assert again["name"] == "Basket"


async def test_an_item_whose_definition_is_gone_leads_nowhere(tmp_path: Path) -> None:
    async with asking(tmp_path, CART) as asker:
        await asker.open("shop/cart.py")
        (basket,) = await asker.ask_at("textDocument/prepareTypeHierarchy", "shop/cart.py", "class Bask|et")
        (pay,) = await asker.ask_at("textDocument/prepareCallHierarchy", "shop/cart.py", "def pa|y")
        whole = {
            "textDocument": {"uri": asker.uri("shop/cart.py"), "version": 2},
            "contentChanges": [{"text": "x = 1\n"}],
        }
        await asker.client.notify("textDocument/didChange", whole)
        for item, methods in ((basket, ("supertypes", "subtypes")), (pay, ("incomingCalls", "outgoingCalls"))):
            for method in methods:
                area = "typeHierarchy" if item is basket else "callHierarchy"
                for data in (item["data"], "", 5, None, {"name": 1}):
                    assert await asker.ask(f"{area}/{method}", {"item": {**item, "data": data}}) == []


# What cannot be answered

PLACED = [method for method in SETTINGS.values() if method not in ("workspace/symbol", "textDocument/documentSymbol")]


async def test_a_place_where_nothing_is_named_gives_nothing(tmp_path: Path) -> None:
    extra = {"context": {"includeDeclaration": True}}
    outside = ({"line": 10_000, "character": 0}, {"line": 2**31 - 1, "character": 2**31 - 1})
    unknown = ("untitled:x", "file:///nowhere/x.py", "file:///x.py", "missing.py", "notes.txt")
    async with asking(tmp_path, CART) as asker:
        await asker.open("shop/cart.py")
        for method in PLACED:
            for marked in ("retu|rn sum_up", "def checkout(self)|:", "\n|\n"):
                assert not await asker.ask_at(method, "shop/cart.py", marked, **extra), (method, marked)
            for position in outside:
                assert not await asker.ask_about(method, "shop/cart.py", position=position, **extra), (method, position)
            for name in unknown:
                uri = name if ":" in name else asker.uri(name)
                params = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}, **extra}
                assert not await asker.ask(method, params), (method, uri)
        assert asker.client.told() == []


async def test_a_question_the_editor_takes_back_is_answered_as_cancelled_and_the_next_one_is_answered(
    tmp_path: Path,
) -> None:
    async with asking(tmp_path, SHOP) as asker:
        await asker.open("shop/price.py", "".join(f"def step_{n}(): ...\n" for n in range(5_000)))
        for number in range(20):
            request = {"jsonrpc": "2.0", "id": f"q{number}", "method": "workspace/symbol", "params": {"query": "s"}}
            await asker.client.send(request)
            await asker.client.notify("$/cancelRequest", {"id": f"q{number}"})
        replies = [await asker.client.reply_to(f"q{number}") for number in range(20)]
        assert {reply["error"]["code"] for reply in replies if "error" in reply} == {-32800}
        assert len(await asker.ask("workspace/symbol", {"query": "step_7"})) > 1


async def test_other_requests_are_answered_while_a_question_is_worked_on(tmp_path: Path) -> None:
    async with asking(tmp_path, CART) as asker:
        await asker.open("shop/cart.py")
        await asker.open("shop/price.py", "".join(f"def step_{n}(): ...\n" for n in range(20_000)))
        assert await asker.ask("workspace/symbol", {"query": "step_7"})
        place = {"line": 0, "character": 0}
        action = {
            "textDocument": {"uri": asker.uri("shop/cart.py")},
            "range": {"start": place, "end": place},
            "context": {"diagnostics": []},
        }
        send = asker.client.send
        await send({"jsonrpc": "2.0", "id": "long", "method": "workspace/symbol", "params": {"query": "s"}})
        await send({"jsonrpc": "2.0", "id": "short", "method": "textDocument/codeAction", "params": action})
        for name in ("long", "short"):
            assert "result" in await asker.client.reply_to(name)
        order = [each["id"] for each in asker.client.received if each.get("id") in ("long", "short")]
        assert order == ["short", "long"]
