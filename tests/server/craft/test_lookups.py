"""What a model may look up while it works: true answers, none too long, nothing that is kept from models."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rolecall_analysis import Index
from rolecall_server.context import PackSource
from rolecall_server.craft.lookups import LookingUp, LookupSources, tell_lookups, tools_for
from rolecall_server.craft.lookups.sources import MAX_ANSWER_TOKENS
from rolecall_server.craft.trial import Bench
from rolecall_server.model import ChatMessage, Reply, ToolCall, ToolLimits, estimate_tokens, use_tools
from rolecall_server.model.chat_completions.openai_chat import OpenAIChat
from rolecall_server.model.endpoint import Endpoint
from rolecall_server.sandbox import (
    Capabilities,
    Interpreter,
    NotRun,
    TestResult,
    TestRun,
    Unconfined,
    shadow_workspace,
)
from rolecall_server.sandbox.python.places import PythonPlaces
from rolecall_server.workspace import Workspace
from support.chat_server import ChatServer
from support.fixture import parse_fixture
from support.scripted_model import ScriptedModel

SHOP = '''
    #- .aiignore
    shop/keys.py

    #- shop/__init__.py
    #- shop/price.py
    def total(items):
        """The sum of the prices."""
        return sum(items)

    class Basket:
        def worth(self):
            return total(self.items)

    #- shop/cart.py
    from shop.price import total

    def checkout(cart):
        return total(cart)

    #- shop/keys.py
    from shop.price import total

    KEY = total([4, 2])

    def unlock(key):
        return KEY == key

    #- tests/test_price.py
    from shop.price import Basket, total

    def test_total():
        assert total([]) == 0

    class TestBasket:
        def test_worth(self):
            assert Basket().worth() == 0
'''


@dataclass(frozen=True)
class Rehearsed(Bench):
    """A bench on which every run ends with one failure, and which remembers what it ran."""

    ran: list[list[str]] = field(default_factory=list)

    async def run(
        self,
        files: Mapping[str, str | None],
        targets: Sequence[str],
        measure: Sequence[str],
        *,
        whole: bool = False,
        later: Collection[str] = (),
    ) -> TestRun | NotRun:
        assert not files
        self.ran.append(list(targets))
        failed = TestResult(targets[0], "failed", 0.0, "assert 1 == 0", "price.py:3: AssertionError")
        return TestRun("ran", outcomes=(failed,))


@pytest.fixture
def sources(tmp_path: Path) -> LookupSources:
    return sources_at(tmp_path, SHOP)


def sources_at(folder: Path, text: str, interpreter: Interpreter | NotRun | None = None) -> LookupSources:
    root = parse_fixture(text).write_to(folder).resolve()
    index = Index(root)
    index.scan()
    off = NotRun("nothing is run")
    return LookupSources(
        PackSource(Workspace(root), index.snapshot(), estimate_tokens), Rehearsed(off, interpreter or off, 1.0)
    )


def asking(tool: str, /, **arguments: object) -> Reply:
    """A reply in which the model asks a tool."""
    return Reply("", "m", None, None, (ToolCall(f"c-{tool}", tool, json.dumps(arguments)),))


async def ask(sources: LookupSources, tool: str, /, **arguments: object) -> str:
    """What the model is told when it asks a tool."""
    model = ScriptedModel([asking(tool, **arguments), "done"])
    talk = await use_tools(model, [ChatMessage("user", "go")], tools_for(sources))
    return talk.uses[0].result


def hits(told: str) -> list[str]:
    """The lines that a search found, without what it says of itself."""
    return told.splitlines()[1:]


async def test_a_definition_is_shown_with_its_place(sources: LookupSources) -> None:
    assert await ask(sources, "definition", name="total") == (
        'shop/price.py:\n1: def total(items):\n2:     """The sum of the prices."""\n3:     return sum(items)'
    )
    assert "6:     def worth(self):" in await ask(sources, "definition", name="Basket.worth", path="shop/price.py")


async def test_what_is_not_defined_is_said_with_what_is(sources: LookupSources) -> None:
    assert "shop/price.py defines no pay. It defines total, Basket" in await ask(
        sources, "definition", name="pay", path="shop/price.py"
    )
    assert "The repository defines no pay." in await ask(sources, "definition", name="pay")


async def test_callers_and_references_name_places_but_none_in_a_private_file(sources: LookupSources) -> None:
    called = await ask(sources, "callers", name="total")
    assert called.splitlines() == [
        "shop/price.py:7: return total(self.items)",
        "shop/cart.py:4: return total(cart)",
        "tests/test_price.py:4: assert total([]) == 0",
    ]
    named = await ask(sources, "references", name="total")
    assert "shop/cart.py:1: from shop.price import total" in named
    assert "keys.py" not in called + named


async def test_an_outline_a_search_and_lines_show_a_file_from_afar_and_near(sources: LookupSources) -> None:
    assert "    def worth(self)" in await ask(sources, "outline", path="shop/price.py")
    assert hits(await ask(sources, "search", text="sum(")) == ["shop/price.py:3:     return sum(items)"]
    assert hits(await ask(sources, "search", text="total", folder="tests")) == [
        "tests/test_price.py:1: from shop.price import Basket, total",
        "tests/test_price.py:3: def test_total():",
        "tests/test_price.py:4:     assert total([]) == 0",
    ]
    assert await ask(sources, "read_lines", path="shop/cart.py", first=3, last=4) == (
        "3: def checkout(cart):\n4:     return total(cart)\n(lines 3 to 4 of 5; go on with first=5)"
    )


PROJECT = """
    #- .gitignore
    *.log
    /generated/

    #- .aiignore
    private.toml

    #- pyproject.toml
    [project]
    name = "colour-shop"
        [tool.odd]

    #- README
    The colour-shop sells colours.

    #- .github/workflows/check.yml
    name: colour-shop checks

    #- docs/guide/start.md
    # Start

    #- docs/index.md
    # The colour-shop

    #- debug.log
    colour-shop started

    #- generated/code.py
    NAME = "colour-shop"

    #- private.toml
    name = "colour-shop"

    #- venv/pyvenv.cfg
    name = "colour-shop"
"""


async def test_a_search_reads_every_text_file_that_git_would(tmp_path: Path) -> None:
    sources = sources_at(tmp_path, PROJECT)
    (tmp_path / "picture.bin").write_bytes(b"colour-shop\0")
    (tmp_path / "old.txt").write_bytes("Größe: colour-shop\n".encode("latin-1"))
    told = await ask(sources, "search", text="colour-shop")
    assert [hit.partition(": ")[0] for hit in hits(told)] == [
        ".github/workflows/check.yml:1",
        "README:1",
        "docs/index.md:1",
        "old.txt:1",
        "pyproject.toml:2",
    ]
    assert told.splitlines()[0] == (
        "5 lines in 5 of them. Searched 8 text files; left out: what git ignores or tools installed, "
        "what .aiignore names, 1 binary."
    )


async def test_a_search_keeps_indentation(tmp_path: Path) -> None:
    assert hits(await ask(sources_at(tmp_path, PROJECT), "search", text="[tool.odd]")) == [
        "pyproject.toml:3:     [tool.odd]"
    ]


@pytest.mark.parametrize("folder", ["pyproject.toml", "./pyproject.toml", "/pyproject.toml"])
async def test_a_search_takes_a_file_where_a_folder_is_asked_for(tmp_path: Path, folder: str) -> None:
    told = await ask(sources_at(tmp_path, PROJECT), "search", text="colour-shop", folder=folder)
    assert hits(told) == ['pyproject.toml:2: name = "colour-shop"']


async def test_a_search_finds_text_of_several_lines_and_long_lines_in_part(tmp_path: Path) -> None:
    sources = sources_at(tmp_path, "    #- a.txt\n    one\n    two\n")
    (tmp_path / "b.txt").write_bytes(b"zero\r\none\r\ntwo\r\n")
    (tmp_path / "c.js").write_text("x" * 5000 + "needle" + "y" * 5000)
    assert hits(await ask(sources, "search", text="one\ntwo")) == ["a.txt:1: one", "b.txt:2: one"]
    (hit,) = hits(await ask(sources, "search", text="needle"))
    assert "needle" in hit
    assert len(hit) < 1_200


async def test_a_text_that_stands_only_in_another_case_is_found_and_told_so(tmp_path: Path) -> None:
    sources = sources_at(tmp_path, "    #- a.txt\n    def Total():\n    #- b.txt\n    TOTAL\n    total_of\n")
    told = await ask(sources, "search", text="total()")
    assert told.startswith("No file holds 'total()'.")
    assert "1 line with letters of another case:" in told
    assert hits(told) == ["a.txt:1: def Total():"]
    assert hits(await ask(sources, "search", text="total")) == ["b.txt:2: total_of"]


async def test_that_no_file_holds_a_text_is_said_only_where_each_was_searched(tmp_path: Path) -> None:
    sources = sources_at(tmp_path, PROJECT)
    nothing = await ask(sources, "search", text="a word that is nowhere")
    assert nothing.startswith("No file holds 'a word that is nowhere'. Searched 7 text files;")
    (tmp_path / "big.csv").write_text("1,2,3\n" * 400_000)
    told = await ask(sources, "search", text="a word that is nowhere")
    assert told.startswith("None of the files that were searched holds 'a word that is nowhere'.")
    assert "larger than 2,000,000 bytes: big.csv" in told


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("nowhere", "There is no folder or file nowhere."),
        ("generated", "generated is left out: git ignores it"),
        ("debug.log", "debug.log is left out: git ignores it"),
        ("venv", "venv is left out"),
        ("private.toml", ".aiignore keeps private.toml from any model."),
        ("../elsewhere", "../elsewhere lies outside the repository."),
    ],
)
async def test_where_a_search_cannot_look_is_said(tmp_path: Path, folder: str, said: str) -> None:
    sources = sources_at(tmp_path, PROJECT)
    assert said in await ask(sources, "search", text="colour-shop", folder=folder)
    assert said in await ask(sources, "list_files", folder=folder)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (".env", ".env is kept from any model: files of that name hold secrets."),
        ("debug.log", "Git ignores debug.log"),
        ("private.toml", ".aiignore keeps private.toml from any model."),
        ("README", "1: "),
    ],
)
async def test_lines_are_read_of_what_git_would_read_and_no_private_file_alone(
    tmp_path: Path, path: str, said: str
) -> None:
    sources = sources_at(tmp_path, PROJECT)
    (tmp_path / ".env").write_text("PASSWORD=1\n")
    assert said in await ask(sources, "read_lines", path=path)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("README.md", "There is no file README.md. There is: README."),
        ("docs/INDEX.rst", "There is no file docs/INDEX.rst. There is: docs/index.md."),
        ("absent/nowhere.py", "There is no file absent/nowhere.py."),
    ],
)
async def test_a_file_that_is_not_there_is_said_with_those_of_its_name(tmp_path: Path, path: str, said: str) -> None:
    sources = sources_at(tmp_path, PROJECT)
    (tmp_path / "readme.env").write_text("PASSWORD=1\n")  # which no model is told of
    assert (await ask(sources, "read_lines", path=path)).startswith(said)


async def test_files_are_listed_by_folder_and_by_pattern(tmp_path: Path) -> None:
    sources = sources_at(tmp_path, PROJECT)
    assert (await ask(sources, "list_files")).splitlines() == [
        ".github/ (1 file)",
        "docs/ (2 files)",
        ".aiignore",
        ".gitignore",
        "README",
        "pyproject.toml",
    ]
    assert await ask(sources, "list_files", folder="docs") == "docs/guide/ (1 file)\ndocs/index.md"
    assert await ask(sources, "list_files", pattern="*.md") == "docs/guide/start.md\ndocs/index.md"
    assert await ask(sources, "list_files", folder="docs", pattern="/*.md") == "docs/index.md"
    assert await ask(sources, "list_files", pattern="*.toml") == "pyproject.toml"
    assert "None of the 7 files below the root matches '*.rs'." in await ask(sources, "list_files", pattern="*.rs")


async def test_a_long_list_of_files_says_how_many_are_left(tmp_path: Path) -> None:
    sources = sources_at(tmp_path, PROJECT)
    (tmp_path / "many").mkdir()
    for number in range(230):
        (tmp_path / "many" / f"{number:03}.txt").touch()
    listed = (await ask(sources, "list_files", folder="many")).splitlines()
    assert (len(listed), listed[-1]) == (201, "… and 30 more. Name a folder, or a narrower pattern.")


async def test_reading_says_its_limit_and_where_to_go_on(tmp_path: Path) -> None:
    sources = sources_at(tmp_path, "    #- empty.py\n    #- big.py\n" + "    VALUE = [1, 2, 3]\n" * 400)
    first = (await ask(sources, "read_lines", path="big.py", first=1, last=100)).splitlines()
    assert first[-2:] == ["100: VALUE = [1, 2, 3]", "(lines 1 to 100 of 400; go on with first=101)"]
    cut = (await ask(sources, "read_lines", path="big.py", first=1, last=400)).splitlines()
    last = len(cut) - 1
    assert cut[-1] == f"(lines 1 to {last} of 400; no more fit into one answer; go on with first={last + 1})"
    assert (await ask(sources, "read_lines", path="big.py", first=399, last=900)).endswith("(lines 399 to 400 of 400)")
    assert "big.py has 400 lines." in await ask(sources, "read_lines", path="big.py", first=401, last=410)
    assert await ask(sources, "read_lines", path="empty.py") == "empty.py is empty."


async def test_the_limit_of_reading_is_told_before_anything_is_read(sources: LookupSources) -> None:
    (read,) = (tool for tool in tools_for(sources) if tool.name == "read_lines")
    assert "150 lines" in json.dumps(read.arguments.model_json_schema())


async def test_tests_are_listed_and_one_is_run_without_any_edit(sources: LookupSources) -> None:
    assert (await ask(sources, "list_tests", path="shop/price.py")).splitlines() == [
        "tests/test_price.py: test_total",
        "tests/test_price.py: TestBasket::test_worth",
    ]
    told = await ask(sources, "run_test", path="tests/test_price.py", name="TestBasket.test_worth")
    assert told.splitlines() == [
        "0 passed, 1 failed, 0 skipped",
        "tests/test_price.py::TestBasket::test_worth: assert 1 == 0",
        "price.py:3: AssertionError",
    ]
    assert isinstance(sources.bench, Rehearsed)
    assert sources.bench.ran == [["tests/test_price.py::TestBasket::test_worth"]]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_lines", {"path": "shop/keys.py"}),
        ("outline", {"path": "shop/keys.py"}),
        ("definition", {"name": "unlock", "path": "shop/keys.py"}),
        ("definition", {"name": "unlock"}),
        ("search", {"text": "return KEY"}),
        ("read_lines", {"path": "../secret.py"}),
        ("read_lines", {"path": "/etc/passwd"}),
        ("read_lines", {"path": "shop/../../secret.py"}),
        ("run_test", {"path": "shop/price.py"}),
        ("run_test", {"path": "-p no:cacheprovider"}),
        ("documentation", {"name": "../../etc/passwd"}),
    ],
)
async def test_nothing_private_and_nothing_outside_is_told(
    sources: LookupSources, name: str, arguments: Mapping[str, object]
) -> None:
    (sources.view.workspace.root.parent / "secret.py").write_text("SECRET = 1\n")
    told = await ask(sources, name, **arguments)
    assert not any(word in told for word in ("KEY ==", "KEY =", "SECRET", "root:", "unlock(key)"))
    assert isinstance(sources.bench, Rehearsed)
    assert sources.bench.ran == []


async def test_no_answer_is_longer_than_it_may_be_and_it_says_so(tmp_path: Path) -> None:
    sources = sources_at(tmp_path, "    #- big.py\n" + "    VALUE = [1, 2, 3]\n" * 3000)
    for told, said in (
        (await ask(sources, "read_lines", path="big.py", first=1, last=3000), "go on with"),
        (await ask(sources, "search", text="VALUE"), "narrower"),
    ):
        assert estimate_tokens(told) <= MAX_ANSWER_TOKENS + 50
        assert said in told.splitlines()[-1]


PACKAGE = {
    "acme/__init__.py": '"""Acme\'s tools."""\nfrom .core import *\nfrom acme.core import Anvil as Heavy\n',
    "acme/core.py": (
        'raise RuntimeError("imported")\n\n\nclass Base:\n    def drop(self, height):\n        """Let it fall."""\n\n\n'
        'class Anvil(Base):\n    """A weight."""\n\n    def lift(self):\n        """Not easily."""\n'
    ),
}


async def test_a_packages_symbol_is_documented_without_running_a_line_of_it(
    sources: LookupSources, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path_factory.mktemp("site-packages")
    for path, text in PACKAGE.items():
        (installed / path).parent.mkdir(exist_ok=True)
        (installed / path).write_text(text)

    async def capabilities(bench: Rehearsed) -> Capabilities:
        places = PythonPlaces((), ())
        return Capabilities(Path(sys.executable), (3, 12, 0), frozenset(), (), (installed,), places, None, {})

    monkeypatch.setattr(Rehearsed, "capabilities", capabilities)
    off = NotRun("nothing is run")
    there = LookupSources(sources.view, Rehearsed(off, Interpreter(Path("/usr/bin/python3"), "PATH"), 1.0))
    assert "Acme's tools." in await ask(there, "documentation", name="acme")
    assert await ask(there, "documentation", name="acme.Heavy") == (
        "acme.core: class Anvil(Base)\nA weight.\n    def lift(self)"
    )
    assert "Not easily." in await ask(there, "documentation", name="acme.Anvil.lift")
    assert "Let it fall." in await ask(there, "documentation", name="acme.Heavy.drop")
    assert "No installed package has nothing.here" in await ask(there, "documentation", name="nothing.here")


async def test_words_find_what_a_package_and_the_repository_offer_by_the_names_they_offer_it_under(
    sources: LookupSources, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path_factory.mktemp("site-packages")
    in_a_ring = {
        "ring/__init__.py": "from ring.one import *\n",
        "ring/one.py": "from ring.two import *\ndef first(): ...\n",
        "ring/two.py": "from ring.one import *\ndef second(): ...\n",
    }
    for path, text in {**PACKAGE, **in_a_ring}.items():
        (installed / path).parent.mkdir(exist_ok=True)
        (installed / path).write_text(text)

    async def capabilities(bench: Rehearsed) -> Capabilities:
        places = PythonPlaces((), ())
        return Capabilities(Path(sys.executable), (3, 12, 0), frozenset(), (), (installed,), places, None, {})

    monkeypatch.setattr(Rehearsed, "capabilities", capabilities)
    off = NotRun("nothing is run")
    there = LookupSources(sources.view, Rehearsed(off, Interpreter(Path("/usr/bin/python3"), "PATH"), 1.0))
    assert "ring.second()" in await ask(there, "search_packages", words="second", package="ring")
    found = (await ask(there, "search_packages", words="let a weight fall", package="acme")).splitlines()
    assert found == ["acme.Base.drop(self, height) - Let it fall.", "acme.Heavy(Base) - A weight."]
    assert "shop.price.total(items) - The sum of the prices." in await ask(there, "search_packages", words="sum prices")
    assert "about these words" in await ask(there, "search_packages", words="the key that unlocks")
    assert "No installed package is called shop" in await ask(there, "search_packages", words="sum", package="shop")


async def test_a_link_to_what_is_private_tells_nothing(
    sources: LookupSources, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = sources.view.workspace.root
    (root / ".env").write_text("WORD = 'CANARY'\n")
    (root / "AGENTS.md").symlink_to(".env")
    installed = tmp_path_factory.mktemp("site-packages")
    (installed / "plain.py").write_text("WORD = 'open'\n")
    (installed / "leak.py").symlink_to(root / ".env")

    async def capabilities(bench: Rehearsed) -> Capabilities:
        places = PythonPlaces((), ())
        return Capabilities(Path(sys.executable), (3, 12, 0), frozenset(), (), (installed,), places, None, {})

    monkeypatch.setattr(Rehearsed, "capabilities", capabilities)
    off = NotRun("nothing is run")
    there = LookupSources(sources.view, Rehearsed(off, Interpreter(Path("/usr/bin/python3"), "PATH"), 1.0))
    assert "kept from any model" in await ask(there, "read_lines", path="AGENTS.md")
    assert "kept from any model" in await ask(there, "search", text="CANARY", folder="AGENTS.md")
    assert "No installed package has leak" in await ask(there, "documentation", name="leak.WORD")
    assert "open" in await ask(there, "documentation", name="plain.WORD")


async def test_what_was_looked_up_stays_at_its_place_so_that_a_conversation_only_grows(sources: LookupSources) -> None:
    model = ScriptedModel([asking("outline", path="shop/cart.py"), "first", "second"])
    client = LookingUp(model, tools_for(sources))
    opening = (ChatMessage("system", "s"), ChatMessage("user", "u"))
    assert (await client.complete(opening)).text == "first"
    assert (await client.complete([*opening, ChatMessage("assistant", "first"), ChatMessage("user", "more")])).text
    for before, after in zip(model.asked, model.asked[1:], strict=False):
        assert after[: len(before)] == before
    assert [message.role for message in model.asked[2]] == ["system", "user", "assistant", "tool", "assistant", "user"]


IN_A_FENCE = '```tool\n{"name": "outline", "arguments": {"path": "shop/cart.py"}}\n```'


async def test_in_words_a_model_is_sent_no_form_for_its_tools_and_asks_for_them_in_its_text(
    sources: LookupSources,
) -> None:
    with ChatServer([IN_A_FENCE, "first", "second"]) as chat:
        endpoint = OpenAIChat(Endpoint(chat.base_url), "m", 5)
        client = LookingUp(endpoint, tools_for(sources), ToolLimits(in_words=True))
        opening = (ChatMessage("system", "s"), ChatMessage("user", "u"))
        assert (await client.complete(opening)).text == "first"
        more = [*opening, ChatMessage("assistant", "first"), ChatMessage("user", "more")]
        assert (await client.complete(more)).text == "second"
        await client.aclose()
    assert not any("tools" in body for body in chat.asked)
    roles = [[message["role"] for message in body["messages"]] for body in chat.asked]
    with_answers = ["system", "user", "assistant", "user"]
    assert roles[1:] == [with_answers, [*with_answers, "assistant", "user"]]
    assert "def checkout(cart)" in chat.asked[1]["messages"][3]["content"]
    assert chat.asked[0]["messages"][0]["content"] == "s", "who asks has told of the tools already"


def test_each_lookup_is_told_with_its_arguments() -> None:
    told = tell_lookups(["search", "read_lines"])
    assert told.splitlines() == [
        "- search(text, folder=''): The lines of all text files that hold a text.",
        "- read_lines(path, first=1, last=200): Some lines of a file, numbered.",
    ]


async def test_the_standard_library_is_documented_by_its_own_source(sources: LookupSources) -> None:
    async with shadow_workspace(sources.view.workspace, Unconfined()) as shadow:
        there = LookupSources(sources.view, Rehearsed(shadow, Interpreter(Path(sys.executable), "PATH"), 1.0))
        told = await ask(there, "documentation", name="json.dumps")
    assert told.startswith("json: def dumps(obj")
    assert "Serialize ``obj`` to a JSON formatted" in told
