"""Documents of the team in an editor: names lead somewhere, what is saved is kept, and drift is shown. No model."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from rolecall_server.review.proposals.proposal_store import save_proposal
from rolecall_server.store import Store
from rolecall_server.team.documents import (
    CaseKind,
    Design,
    Document,
    FileWork,
    Priority,
    Requirement,
    Requirements,
    SymbolWork,
    Task,
    TaskList,
    TestCase,
    TestPlan,
)
from rolecall_server.team.documents.document_store import load_document, publish, revise
from support.editor import Editor, editing, rich_capabilities, until, value_of
from support.proposals import propose, store_of
from support.workspaces import environment, write_workspace

WANTED = Requirements(
    title="Fair prices",
    goals=("Nobody pays too much.",),
    requirements=(
        Requirement(id="R1", title="A total is rounded", priority=Priority.P0, consequence="total([0.111]) is 0.11"),
        Requirement(id="R2", title="A discount has a limit", priority=Priority.P1, consequence="a half at most"),
    ),
)
DESIGN = Design(
    title="Fair prices",
    approach="As R1 says, `shop/price.py::total` rounds.",
    files_to_change=(FileWork(path="shop/price.py", what="rounding"),),
    symbols_to_change=(
        SymbolWork(symbol="shop/price.py::total", serves=("R1",), what="rounds"),
        SymbolWork(symbol="shop/price.py::totals", serves=("R1",), what="does not exist"),
    ),
    symbols_to_add=(SymbolWork(symbol="shop/price.py::limit", serves=("R1",), what="the most there is"),),
)
TASKS = TaskList(
    title="Fair prices",
    tasks=(
        Task(id="T1", title="Round", serves=("R1",), files=("shop/price.py",), acceptance=("two places",)),
        Task(id="T2", title="Limit", serves=("R1",), needs=("T1",), files=("shop/price.py",)),
    ),
)
TESTS = TestPlan(
    title="Fair prices",
    cases=(
        TestCase(
            id="C1", title="nothing costs nothing", kind=CaseKind.BASIC, verifies=("R1",), expects="0",
            target="shop/price.py::total", test="tests/test_price.py::test_total_of_nothing",
        ),
        TestCase(id="C2", title="something costs something", kind=CaseKind.BASIC, verifies=(), expects="more"),
    ),
)  # fmt: skip
ROUNDED = '"""Prices."""\n\n\ndef total(items):\n    """The sum of the prices."""\n    return round(sum(items), 2)\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")


def stored_run(store: Store, root: Path) -> dict[str, Document]:
    """A run with a proposal, whose hunk serves T1 and R1, and with four documents; those by name."""
    text = (root / "shop/price.py").read_text(encoding="utf-8")
    after = text.replace("return sum(items)", "return round(sum(items), 2)")
    reviewed = propose(store, root, {"shop/price.py": after})
    (change,) = reviewed.proposal.files
    hunks = tuple(dataclasses.replace(hunk, serves=("T1", "R1")) for hunk in change.hunks)
    files = (dataclasses.replace(change, hunks=hunks),)
    save_proposal(store, dataclasses.replace(reviewed.proposal, files=files))
    run_id = reviewed.proposal.run_id
    contents = {"wanted": WANTED, "design": DESIGN, "tasks": TASKS, "tests": TESTS}
    return {name: publish(store, run_id, "team", content) for name, content in contents.items()}


def abilities() -> types.ClientCapabilities:
    known = rich_capabilities()
    assert known.text_document
    known.text_document.definition = types.DefinitionClientCapabilities(dynamic_registration=True)
    known.text_document.references = types.ReferenceClientCapabilities(dynamic_registration=True)
    known.text_document.rename = types.RenameClientCapabilities(dynamic_registration=True, prepare_support=True)
    known.text_document.document_symbol = types.DocumentSymbolClientCapabilities(
        dynamic_registration=True, hierarchical_document_symbol_support=True
    )
    return known


@dataclasses.dataclass
class Desk:
    """An editor with the documents of a run."""

    root: Path
    editor: Editor
    store: Store
    ids: dict[str, str]
    paths: dict[str, Path]

    def at(self, name: str, found: str) -> dict[str, Any]:
        """Return the document and the first place below its head where *found* stands.

        The head holds the time of writing, in which an id such as T2 can be seen from 20:00 on.
        """
        lines = self.editor.text(str(self.paths[name])).split("\n")
        below = lines.index("---", 1)
        line = next(number for number, line in enumerate(lines) if number > below and found in line)
        place = types.Position(line, lines[line].index(found) + 1)
        return {"text_document": types.TextDocumentIdentifier(self.paths[name].as_uri()), "position": place}

    def lines(self, found: Any) -> list[tuple[str, str]]:
        """The file and the line of each location."""
        named = [(Path(str(each.uri).removeprefix("file://")), each.range.start.line) for each in found]
        return [(path.name, path.read_text(encoding="utf-8").split("\n")[line].strip()) for path, line in named]

    def problems(self, name: str) -> list[tuple[str, str]]:
        """The line and the message of each diagnostic."""
        lines = self.editor.text(str(self.paths[name])).split("\n")
        found = self.editor.client.diagnostics.get(self.paths[name].as_uri(), [])
        return [(lines[each.range.start.line], each.message) for each in found]

    def save(self, name: str) -> None:
        self.editor.save(str(self.paths[name]))
        identifier = types.TextDocumentIdentifier(self.paths[name].as_uri())
        self.editor.client.text_document_did_save(types.DidSaveTextDocumentParams(identifier))


@contextlib.asynccontextmanager
async def desk(root: Path) -> AsyncIterator[Desk]:
    """A session in which every document of a run is open."""
    home = root.parent / "home"
    environ = environment(home)
    store = store_of(home)
    ids = {name: document.id for name, document in stored_run(store, root).items()}
    async with editing(root, environ, {"tests": {"run": False}}, abilities()) as editor:
        editor.open("shop/price.py")
        paths: dict[str, Path] = {}
        for name, document_id in ids.items():
            reply = await editor.execute("rolecall.document.show", documentId=document_id)
            paths[name] = Path(str(value_of(reply, "uri")).removeprefix("file://"))
            editor.open(str(paths[name]))
        yield Desk(root, editor, store, ids, paths)


async def test_a_document_is_shown_as_markdown_beside_the_store_and_never_in_the_workspace(root: Path) -> None:
    async with desk(root) as at:
        shown = [each.uri for each in at.editor.client.shown_documents]
        assert shown == [path.as_uri() for path in at.paths.values()]
        assert at.paths["wanted"].name == "d1-requirements.md"
        assert "### R1: A total is rounded" in at.paths["wanted"].read_text(encoding="utf-8")
        assert not at.paths["wanted"].is_relative_to(root)
        assert at.editor.registered >= {
            "textDocument/definition", "textDocument/references", "textDocument/rename", "textDocument/documentSymbol"
        }  # fmt: skip


async def test_a_requirement_says_what_serves_it_wherever_it_is_named(root: Path) -> None:
    async with desk(root) as at:
        for place in (at.at("wanted", "R1"), at.at("design", "R1 says"), at.at("tasks", "R1"), at.at("tests", "R1")):
            found = await at.editor.client.text_document_hover_async(types.HoverParams(**place))
            assert found is not None
            assert isinstance(found.contents, types.MarkupContent)
            assert found.contents.value.split("\n\n") == [
                "**R1: A total is rounded** (P0)",
                "total([0.111]) is 0.11",
                "Design: `shop/price.py::total`, `shop/price.py::totals`, `shop/price.py::limit`",
                "Tasks: T1 Round; T2 Limit",
                "Hunks: p1/h1 pending",
                "Tests: C1 nothing costs nothing (`tests/test_price.py::test_total_of_nothing`)",
            ]


async def test_what_a_docstring_says_is_no_link_no_image_and_no_html(root: Path) -> None:
    text = (
        (root / "shop/price.py")
        .read_text()
        .replace(
            "The sum of the prices.", "See ![x](https://example.org/x.png) and <img src=y> \\[z](https://example.org)."
        )
    )
    (root / "shop/price.py").write_text(text)
    async with desk(root) as at:
        place = at.at("design", "shop/price.py::total` (")
        answer = await at.editor.client.text_document_hover_async(types.HoverParams(**place))
        assert answer is not None
        assert isinstance(answer.contents, types.MarkupContent)
        assert answer.contents.value.partition("```\n\n")[2] == (
            "See ![x\\](https://example.org/x.png) and \\<img src=y> \\\\[z\\](https://example.org)."
        )


async def test_code_that_a_document_names_says_what_it_is(root: Path) -> None:
    async with desk(root) as at:

        async def said(found: str) -> str:
            answer = await at.editor.client.text_document_hover_async(types.HoverParams(**at.at("design", found)))
            assert answer is not None
            assert isinstance(answer.contents, types.MarkupContent)
            return answer.contents.value

        assert await said("shop/price.py::total` (") == "```python\ndef total(items)\n```\n\nThe sum of the prices."
        assert await said("shop/price.py::limit") == "`shop/price.py::limit` is to be added."
        assert (await said("shop/price.py::totals")).startswith(
            "shop/price.py defines no totals; is it shop/price.py::total"
        )


async def test_a_name_leads_to_where_it_is_explained_or_defined(root: Path) -> None:
    async with desk(root) as at:

        async def leads(name: str, found: str) -> list[tuple[str, str]]:
            place = at.at(name, found)
            return at.lines(await at.editor.client.text_document_definition_async(types.DefinitionParams(**place)))

        assert await leads("tasks", "R1") == [("d1-requirements.md", "### R1: A total is rounded")]
        assert await leads("tasks", "T1: Round") == [("d3-task-list.md", "### T1: Round")]
        assert await leads("design", "shop/price.py::total` (") == [("price.py", "def total(items):")]
        assert await leads("tests", "tests/test_price.py") == [("test_price.py", "def test_total_of_nothing():")]
        assert await leads("wanted", "Nobody") == []


async def test_references_of_a_requirement_are_documents_hunks_and_tests(root: Path) -> None:
    async with desk(root) as at:
        params = types.ReferenceParams(types.ReferenceContext(include_declaration=False), **at.at("wanted", "R1"))
        found = at.lines(await at.editor.client.text_document_references_async(params))
        assert found == [
            ("d2-design.md", "As R1 says, `shop/price.py::total` rounds."),
            ("d2-design.md", "- `shop/price.py::total` (R1): rounds"),
            ("d2-design.md", "- `shop/price.py::totals` (R1): does not exist"),
            ("d2-design.md", "- `shop/price.py::limit` (R1): the most there is"),
            ("d3-task-list.md", "- **Serves:** R1"),
            ("d3-task-list.md", "- **Serves:** R1"),
            ("d4-test-plan.md", "- **Verifies:** R1"),
            ("price.py", "return sum(items)"),
            ("test_price.py", "def test_total_of_nothing():"),
        ]


async def test_an_accepted_line_says_which_requirement_and_task_it_serves(root: Path) -> None:
    async with desk(root) as at:
        await at.editor.execute("rolecall.proposal.accept", proposalId="p1")
        await until(lambda: not at.editor.hunks("shop/price.py"))
        said = await at.editor.hover("shop/price.py", 5)
        assert "Serves T1, R1." in said
        assert said.endswith("T1: Round\nR1: A total is rounded (P0)")
        params = types.ReferenceParams(types.ReferenceContext(include_declaration=False), **at.at("tasks", "T1: Round"))
        found: Any = await at.editor.client.text_document_references_async(params)
        assert [(each.uri.rpartition("/")[2], each.range.start.line) for each in found][-1] == ("price.py", 5)


async def test_a_renamed_id_is_renamed_in_every_document_and_only_there(root: Path) -> None:
    async with desk(root) as at:
        place = at.at("tasks", "T2")
        prepared = await at.editor.client.text_document_prepare_rename_async(types.PrepareRenameParams(**place))
        assert prepared.placeholder == "T2"  # pyright: ignore
        edit = await at.editor.client.text_document_rename_async(types.RenameParams(new_name="T7", **place))
        assert edit is not None
        assert at.editor.apply(edit).applied
        assert "### T7: Limit" in at.editor.text(str(at.paths["tasks"]))
        at.save("tasks")
        await until(lambda: load_document(at.store, at.ids["tasks"]).version == 2)
        tasks = load_document(at.store, at.ids["tasks"]).content
        assert isinstance(tasks, TaskList)
        assert [task.id for task in tasks.tasks] == ["T1", "T7"]


@pytest.mark.parametrize(
    ("found", "new_name", "why"),
    [("T2", "T1", "T1 is taken"), ("T2", "R9", "T and a number"), ("T1: Round", "T9", "p1/h1 serves T1")],
)
async def test_an_id_that_cannot_be_renamed_says_why(root: Path, found: str, new_name: str, why: str) -> None:
    async with desk(root) as at:
        params = types.RenameParams(new_name=new_name, **at.at("tasks", found))
        with pytest.raises(JsonRpcException, match=why):
            await at.editor.client.text_document_rename_async(params)


async def test_the_outline_of_a_document_is_its_sections_and_entries(root: Path) -> None:
    async with desk(root) as at:
        identifier = types.TextDocumentIdentifier(at.paths["wanted"].as_uri())
        found: Any = await at.editor.client.text_document_document_symbol_async(types.DocumentSymbolParams(identifier))
        (title,) = found
        assert title.name == "Fair prices"
        assert [each.name for each in title.children] == ["Goals", "Requirements"]
        assert [each.name for each in title.children[1].children] == [
            "R1: A total is rounded",
            "R2: A discount has a limit",
        ]


async def test_drift_is_shown_on_the_entries_that_drifted(root: Path) -> None:
    async with desk(root) as at:
        orphan = ("### R2: A discount has a limit", "R2 has no design element and no task and no test case")
        await until(lambda: at.problems("wanted") == [orphan])
        await until(lambda: at.problems("tasks") == [("### T2: Limit", "T2 has no hunk")])
        uncovered = ("### C2: something costs something", "C2 verifies no requirement")
        await until(lambda: at.problems("tests") == [uncovered])
        missing = [what for _, what in at.problems("design") if "totals" in what]
        assert missing == ["shop/price.py defines no totals; is it shop/price.py::total?"]


async def test_code_that_changed_since_it_was_accepted_is_drift_until_it_is_back(root: Path) -> None:
    async with desk(root) as at:
        await at.editor.execute("rolecall.proposal.accept", proposalId="p1")
        await until(lambda: not at.editor.hunks("shop/price.py"))
        accepted = at.editor.text("shop/price.py")
        at.editor.replace_text("shop/price.py", accepted.replace("round(sum(items), 2)", "sum(items) * 3"))
        changed = ("### T1: Round", "T1: shop/price.py changed since p1/h1 was accepted")
        await until(lambda: changed in at.problems("tasks"))
        at.editor.replace_text("shop/price.py", accepted)
        await until(lambda: changed not in at.problems("tasks"))


async def test_what_is_missing_once_a_sprint_is_decided_is_shown_where_it_is_described(root: Path) -> None:
    gone = "shop/price.py::limit was to be added, and does not exist"
    undone = ("### T2: Limit", "T2 is not done: shop/limit.py does not exist")
    async with desk(root) as at:
        page = str(at.paths["tasks"])
        files = "- **Needs:** T1\n- **Files:** `shop/price.py`"
        at.editor.replace_text(page, at.editor.text(page).replace(files, files.replace("price", "limit")))
        at.save("tasks")
        await until(lambda: ("### T2: Limit", "T2 has no hunk") in at.problems("tasks"))
        assert gone not in [what for _, what in at.problems("design")], "nothing is decided yet"
        await at.editor.execute("rolecall.proposal.accept", proposalId="p1")
        await until(lambda: undone in at.problems("tasks"))
        await until(lambda: gone in [what for _, what in at.problems("design")])
        assert ("### T2: Limit", "T2 has no hunk") not in at.problems("tasks"), "one thing is told once"


async def test_what_is_saved_is_the_next_version_and_its_links_are_checked_at_once(root: Path) -> None:
    async with desk(root) as at:
        text = at.editor.text(str(at.paths["tasks"]))
        at.editor.replace_text(str(at.paths["tasks"]), text.replace("- **Needs:** T1", "- **Needs:** T5"))
        await until(lambda: ("### T2: Limit", "T5 does not exist") in at.problems("tasks"))
        assert load_document(at.store, at.ids["tasks"]).version == 1, "nothing is saved yet"
        at.save("tasks")
        await until(lambda: load_document(at.store, at.ids["tasks"]).version == 2)
        assert load_document(at.store, at.ids["tasks"]).author == "developer"


async def test_a_document_that_cannot_be_read_is_not_taken_and_says_where(root: Path) -> None:
    async with desk(root) as at:
        text = at.editor.text(str(at.paths["wanted"]))
        at.editor.replace_text(str(at.paths["wanted"]), text.replace("- **Priority:** P0", "- **Priority:** soon"))
        at.save("wanted")
        await until(lambda: any("is not taken, see line" in message for message in at.editor.messages))
        problem = ("- **Priority:** soon", "Priority: input should be 'P0', 'P1' or 'P2'")
        await until(lambda: problem in at.problems("wanted"))
        assert load_document(at.store, at.ids["wanted"]).version == 1


async def test_a_newer_version_of_a_role_is_not_overwritten_unless_the_developer_says_so(root: Path) -> None:
    async with desk(root) as at:
        newer = WANTED.model_copy(update={"goals": ("Another goal.",)})
        revise(at.store, at.ids["wanted"], "Product Manager", newer)
        text = at.editor.text(str(at.paths["wanted"])).replace("Nobody pays too much.", "Everybody pays.")
        at.editor.replace_text(str(at.paths["wanted"]), text)
        at.save("wanted")
        await until(lambda: any("the Product Manager wrote version 2" in message for message in at.editor.messages))
        assert load_document(at.store, at.ids["wanted"]).version == 2
        at.editor.replace_text(str(at.paths["wanted"]), text.replace("version: 1", "version: 2"))
        at.save("wanted")
        await until(lambda: load_document(at.store, at.ids["wanted"]).version == 3)


async def test_showing_a_document_again_brings_it_up_to_date_but_not_over_an_edit(root: Path) -> None:
    async with desk(root) as at:
        newer = WANTED.model_copy(update={"goals": ("Another goal.",)})
        revise(at.store, at.ids["wanted"], "Product Manager", newer)
        await at.editor.execute("rolecall.document.show", documentId=at.ids["wanted"])
        assert "Another goal." in at.paths["wanted"].read_text(encoding="utf-8")
        typed = at.editor.text(str(at.paths["design"])).replace("rounds.", "rounds half up.")
        at.editor.replace_text(str(at.paths["design"]), typed)
        at.editor.save(str(at.paths["design"]))
        await at.editor.execute("rolecall.document.show", documentId=at.ids["design"])
        assert at.paths["design"].read_text(encoding="utf-8") == typed


@pytest.mark.parametrize("named", ["h1", "r1", "d01", "D1", "d 1", "1"])
async def test_the_id_of_something_else_is_no_document(root: Path, named: str) -> None:
    async with desk(root) as at:
        reply = await at.editor.execute("rolecall.document.show", documentId=named)
        assert value_of(reply, "error") == "NotFound"
        named_page = types.TextDocumentIdentifier(at.paths["wanted"].with_name("d01-requirements.md").as_uri())
        place = types.HoverParams(named_page, types.Position(0, 0))
        assert await at.editor.client.text_document_hover_async(place) is None


async def test_without_a_document_the_command_says_so(root: Path) -> None:
    async with editing(root, environment(root.parent / "home")) as editor:
        reply = await editor.execute("rolecall.document.show")
        assert value_of(reply, "error") == "NotFound"
