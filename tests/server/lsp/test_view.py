"""What the graph says of any text is told in places that exist in it, in every encoding an editor may count in."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from rolecall_analysis import Snapshot, definitions_in
from rolecall_server.lsp.text.documents import OpenDocument
from rolecall_server.lsp.text.positions import Encoding
from rolecall_server.lsp.view import View
from rolecall_server.settings import NavigationSettings

PIECES = (
    *("\n", "\r\n", "\r", "\f", "\u2028", "\t", "    ", " "),
    *("class A:", "def f(x):", "def größe():", "x = 1", "@𝄞", "x", "import x", "from a import x as y", "f(x)"),
    *("é", "e\u0301", "日本", "😀", "'", '"""', "(", ")", ":", "\ud800"),
)
texts = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
encodings = st.sampled_from((Encoding.Utf8, Encoding.Utf16, Encoding.Utf32))
positions = st.builds(types.Position, st.integers(0, 12), st.integers(0, 30))


def view_of(text: str, encoding: Encoding) -> View:
    documents = {"a.py": OpenDocument("file:///shop/a.py", "python", 1, text)}
    return View(Path("/shop"), Snapshot().with_changes({"a.py": text}), NavigationSettings(), encoding, documents)


@given(text=texts, encoding=encodings)
def test_a_definition_told_to_the_editor_and_back_is_at_the_same_place(text: str, encoding: Encoding) -> None:
    view = view_of(text, encoding)
    for definition in definitions_in(view.snapshot, "a.py"):
        whole, name = view.ranges_of(definition)
        assert whole.start <= name.start <= name.end <= whole.end, "VS Code refuses a name outside of its definition"
        assert view.place("a.py", name.start) == definition.name_span.start
        assert view.place("a.py", name.end) == definition.name_span.end


@given(text=texts, encoding=encodings, position=positions)
def test_any_place_leads_somewhere_that_exists_or_nowhere(
    text: str, encoding: Encoding, position: types.Position
) -> None:
    view = view_of(text, encoding)
    for found in view.destinations("a.py", position):
        assert found.path == "a.py"
        assert found.definition is None or found.definition in definitions_in(view.snapshot, "a.py")


def test_a_file_that_is_not_open_is_counted_by_its_text_on_disk(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('"𝄞"; x = 1\n', encoding="utf-8")
    snapshot = Snapshot().with_changes({"a.py": '"𝄞"; x = 1\n'})
    view = View(tmp_path, snapshot, NavigationSettings(), Encoding.Utf16, {})
    (x,) = definitions_in(snapshot, "a.py")
    assert view.ranges_of(x)[1].start == types.Position(0, 6)
    (tmp_path / "a.py").unlink()
    later = View(tmp_path, snapshot, NavigationSettings(), Encoding.Utf16, {})
    assert later.ranges_of(x)[1].start.line == 0, "it went while somebody asked"
